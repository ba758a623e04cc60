"""Weight files that are none: every one is refused with a `WeightFileError` that says where, what, what to do."""

from __future__ import annotations

import json
import os
import re
import tracemalloc
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load as load_tensors
from safetensors.numpy import save as save_tensors

from tests.tables.examples import chapter
from tests.transformer.test_storage import digest, document, wide
from tm2tfr.base.errors import WeightFileError
from tm2tfr.sources.turing.compiler import compile_machine
from tm2tfr.sources.turing.spec import Machine, Rule
from tm2tfr.transformer.storage import dumps, load, loads
from tm2tfr.transformer.stored import DENSE

ROOT = hasattr(os, "geteuid") and os.geteuid() == 0
AGAIN = "make it again with 'tm2tfr compile'"
GIVE = "use a file made by 'tm2tfr compile'"
QUERY = "layers.1.heads.0.query"


@cache
def small() -> bytes:
    """Return the weight file of a machine with one rule."""
    machine = Machine(transitions={("q", "1"): Rule("q", "1", +1)}, start="q", blank="_", yaml="x")
    return dumps(compile_machine(machine))


@cache
def sparse() -> bytes:
    """Return a weight file in which a query is stored by its entries."""
    return dumps(wide(DENSE, {(0, 0): 1.0, (5, 1): 2.0}))


def signed(about: dict[str, Any], tensors: dict[str, Any]) -> bytes:
    """Return a weight file whose digest is right, whatever else is wrong."""
    return save_tensors(tensors, {"tm2tfr": json.dumps({**about, "digest": digest(about, tensors)})})


def framed(header: object, data: bytes = b"") -> bytes:
    """Return a safetensors file by hand; a header that is text is not encoded again."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


def refusal(data: bytes) -> str:
    with pytest.raises(WeightFileError) as caught:
        loads(data, file="w")
    return str(caught.value)


# ── no file at all ──────────────────────────────────────────────────────────────────────────────────────────
def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    want = {
        tmp_path / "no": f"{tmp_path}/no: there is no such file: check the name",
        tmp_path: f"{tmp_path}: it is a folder: name the weight file in it",
        tmp_path / "a\0": f"{str(tmp_path / 'a') + chr(0)!r}: it cannot be read (embedded null byte): use a weight file",
    }
    for path, message in want.items():
        with pytest.raises(WeightFileError) as caught:
            load(path)
        assert str(caught.value) == message


@pytest.mark.skipif(ROOT, reason="root may read everything: run the tests as another user")
def test_no_permission(tmp_path: Path) -> None:
    path = tmp_path / "w"
    path.write_bytes(small())
    path.chmod(0)
    with pytest.raises(WeightFileError, match="no permission to read it: change its permissions"):
        load(path)


def test_out_of_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_: Path) -> bytes:
        raise MemoryError

    monkeypatch.setattr(Path, "read_bytes", fails)
    with pytest.raises(WeightFileError, match=re.escape("'w': it cannot be read (out of memory): use a weight file")):
        load("w")


# ── no weight file ──────────────────────────────────────────────────────────────────────────────────────────
HUGE = 10**30
FOREIGN = f"w: this safetensors file is from another program (its metadata has no 'tm2tfr'): {GIVE}"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", f"w: it is empty: {AGAIN}"),
        (b"name: increment\nblank: _\n", f"w: it is not a safetensors file: {GIVE}"),
        (b"\x93NUMPY\1\0\x76\0", f"w: it is not a safetensors file: {GIVE}"),
        (b"{", f"w: it is not a safetensors file: {GIVE}"),
        (bytes(100), f"w: it is not a safetensors file: {GIVE}"),
        (
            (2**62).to_bytes(8, "little") + b"{}",
            f"w: its header claims to be {2**62} bytes long, so it is damaged: {AGAIN}",
        ),
        ((1000).to_bytes(8, "little") + b"{}", f"w: it ends in the middle of its header, so it is truncated: {AGAIN}"),
        (framed({}), FOREIGN),
        (framed({"__metadata__": {"format": "pt"}}), FOREIGN),
        (framed({"__metadata__": {"tm2tfr": 3}}), FOREIGN),
        (framed({"__metadata__": ["tm2tfr"]}), FOREIGN),
        (save_tensors({"a": np.zeros(3)}), FOREIGN),
        (
            framed(b'{"a'),
            "w: its metadata is not JSON (Unterminated string starting at: line 1 column 2 (char 1)), "
            f"so it is damaged: {AGAIN}",
        ),
        (
            framed({"__metadata__": {"tm2tfr": "{"}}),
            "w: its metadata is not JSON (Expecting property name enclosed in double quotes: "
            f"line 1 column 2 (char 1)), so it is damaged: {AGAIN}",
        ),
        (framed({"__metadata__": {"tm2tfr": "[]"}}), "w: the metadata should be an object, is a list: make the file again"),
        (framed({"__metadata__": {"tm2tfr": "{}"}}), "w: the metadata has no 'format': make the file again with"),
        (
            framed({"__metadata__": {"tm2tfr": '{"format": "tm2tfr-weight"}'}}),
            "w: format in the metadata should be tm2tfr-weights, is 'tm2tfr-weight' (did you mean 'tm2tfr-weights'?): "
            "make the file again with 'tm2tfr compile'",
        ),
        (
            framed({"__metadata__": {"tm2tfr": '{"format": "tm2tfr-weights", "version": "4"}'}}),
            "w: this weight file has version '4', but this tm2tfr reads the versions 1, 2 and 3: make it again with this "
            "tm2tfr, or load it with the one that made it",
        ),
        (
            framed({"__metadata__": {"tm2tfr": '{"format": "tm2tfr-weights", "version": 1}'}}),
            "w: version in the metadata should be text, is a whole number: make the file again with",
        ),
    ],
)
def test_what_is_no_weight_file(data: bytes, message: str) -> None:
    assert refusal(data).startswith(message)


@pytest.mark.slow
def test_deep_and_odd_json() -> None:
    for text in (b"[" * 200_000, b'{"a":' * 100_000, b'{"a":' + b"9" * 10_000 + b"}", b'{"\xff":1}'):
        assert refusal(framed(b"{" + text[1:] if text[:1] == b"{" else b'{"a":' + text)).endswith(f"damaged: {AGAIN}")
    for depth in range(300, 1100, 7):  # somewhere here it can be read and not be written again
        deep = json.dumps({**document(small()), "a": 0}).replace('"a": 0', f'"a": {"[" * depth}{"]" * depth}')
        assert refusal(save_tensors(load_tensors(small()), {"tm2tfr": deep})).endswith(AGAIN)
    deep = '{"format":"tm2tfr-weights","version":"1","digest":"","a":' + "[" * 100_000 + "]" * 100_000 + "}"
    assert refusal(framed({"__metadata__": {"tm2tfr": deep}})).endswith(f"damaged: {AGAIN}")


def test_every_truncation_is_noticed() -> None:
    data = small()
    header = 8 + int.from_bytes(data[:8], "little")
    for size in [*range(1, 9), *range(9, header, 97), header - 1]:
        assert refusal(data[:size]).startswith(
            ("w: it is not a safetensors file", "w: it ends in the middle of its header")
        )
    for size in [header, *range(header + 1, len(data), 1013), len(data) - 1]:
        assert refusal(data[:size]).startswith("w: it is damaged or truncated (Error while deserializing: ")
    assert refusal(data + b"\0").startswith("w: it is damaged or truncated (Error while deserializing: ")


# ── a changed one ───────────────────────────────────────────────────────────────────────────────────────────
CHANGED = f"w: its contents do not match its digest, so it is damaged or was changed: {AGAIN}"


def test_a_changed_weight_or_word_is_noticed() -> None:
    data, about, tensors = small(), document(small()), load_tensors(small())
    assert loads(save_tensors(tensors, {"tm2tfr": json.dumps(about)}), file="w") == loads(data)
    assert refusal(data[:-1] + bytes([data[-1] ^ 1])) == CHANGED
    path = "layers.3.heads.0.query"
    for changed in (tensors[path] + 1, -tensors[path], tensors[path].T.copy()):
        assert refusal(save_tensors({**tensors, path: changed}, {"tm2tfr": json.dumps(about)})) == CHANGED
    for key, value in {"bos": "1", "extra": 1, "provenance": {}, "stop": [], "digest": "0" * 64}.items():
        assert refusal(save_tensors(tensors, {"tm2tfr": json.dumps({**about, key: value})})) == CHANGED


# ── a wrong one with the right digest ───────────────────────────────────────────────────────────────────────
Change = Callable[[dict[str, Any], dict[str, Any]], object]


def _set(*path: Any) -> Change:
    """Return the change that sets the metadata at ``path[:-1]`` to ``path[-1]``."""
    *way, last, value = path

    def change(about: dict[str, Any], _: dict[str, Any]) -> None:
        at: Any = about
        for key in way:
            at = at[key]
        at[last] = value

    return change


def _tensor(name: str, value: Any) -> Change:
    return lambda _, tensors: tensors.update({name: value}) if value is not None else tensors.pop(name)


METADATA: list[tuple[Change, str]] = [
    (_set("vocabulary", "abc"), "vocabulary in the metadata should be a list, is text"),
    (_set("vocabulary", 1, ["x"]), "vocabulary[1] in the metadata should be text, is a list"),
    (_set("vocabulary", 1, None), "vocabulary[1] in the metadata should be text, is null"),
    (_set("bos", 1.5), "bos in the metadata should be text, is a number"),
    (_set("bos", {}), "bos in the metadata should be text, is an object"),
    (_set("layout", {}), "layout in the metadata should be a list, is an object"),
    (_set("layout", 0, "e_x"), "layout[0] in the metadata should be an object, is text"),
    (_set("layout", 0, {"name": "e_x"}), "layout[0] in the metadata has no 'labels'"),
    (_set("layout", 0, "labels", "ab"), "layout[0].labels in the metadata should be a list, is text"),
    (_set("layout", 0, {"name": "e_x", "labels": None}), "layout[0] in the metadata has no 'holds'"),
    (_set("layout", 0, "holds", None), "layout[0].holds in the metadata should be text, is null"),
    (_set("layout", 0, "share", 1), "layout[0].share in the metadata should be true or false, is a whole number"),
    (_set("layers", 10**9), "layers in the metadata should be a list, is a whole number"),
    (_set("layers", 2, {}), "layers[2] in the metadata has no 'feed_forward'"),
    (_set("layers", 2, "name", True), "layers[2].name in the metadata should be text, is true or false"),
    (_set("layers", 2, "heads", None), "layers[2].heads in the metadata should be a list, is null"),
    (_set("layers", 2, "heads", 0, "name", 7), "layers[2].heads[0].name in the metadata should be text, is a whole number"),
    (
        _set("layers", 2, "heads", 0, "claim", "over", "width"),
        "layers[2].heads[0].claim.over in the metadata should be position or square or length or constant, is 'width'",
    ),
    (
        _set("layers", 2, "heads", 0, "mask", "futur"),
        "layers[2].heads[0].mask in the metadata should be future or past or none, is 'futur' (did you mean 'future'?)",
    ),
    (
        _set("layers", 2, "heads", 0, "weighting", "sparsemax"),
        "layers[2].heads[0].weighting in the metadata should be average-hard or softmax or leftmost or rightmost, "
        "is 'sparsemax'",
    ),
    (_set("layers", 2, "equation", None), "layers[2].equation in the metadata should be text, is null"),
    (_set("layers", 2, "heads", 0, "claim", "h"), "layers[2].heads[0].claim in the metadata should be an object, is text"),
    (_set("layers", 2, "heads", 0, "claim", {"attends": "h"}), "layers[2].heads[0].claim in the metadata has no 'gap'"),
    (
        _set("layers", 2, "heads", 0, "claim", "attends", 3),
        "layers[2].heads[0].claim.attends in the metadata should be text, is a whole number",
    ),
    (
        _set("layers", 2, "heads", 0, "claim", "gap", 1),
        "layers[2].heads[0].claim.gap in the metadata should be a number, is a whole number",
    ),
    (
        _set("layers", 2, "heads", 0, "claim", "lookup", None),
        "layers[2].heads[0].claim.lookup in the metadata should be true or false, is null",
    ),
    (lambda about, _: about["layers"][2].pop("equation"), "layers[2] in the metadata has no 'equation'"),
    (lambda about, _: about["layers"][2]["heads"][0].pop("claim"), "layers[2].heads[0] in the metadata has no 'claim'"),
    (_set("layers", 2, "feed_forward", 5), "layers[2].feed_forward in the metadata should be an object, is a whole number"),
    (
        _set("layers", 2, "feed_forward", {"units": {}}),
        "layers[2].feed_forward.units in the metadata should be a list, is an object",
    ),
    (_set("provenance", []), "provenance in the metadata should be an object, is a list"),
    (_set("provenance", "source", 1), "provenance.source in the metadata should be text, is a whole number"),
    (_set("sparse", []), "sparse in the metadata should be an object, is a list"),
    (lambda about, _: about.pop("layers"), "the metadata has no 'layers'"),
    (lambda about, _: about.pop("sparse"), "the metadata has no 'sparse'"),
]


@pytest.mark.parametrize(("change", "message"), METADATA)
def test_wrong_metadata(change: Change, message: str) -> None:
    about, tensors = document(small()), load_tensors(small())
    change(about, tensors)
    assert refusal(signed(about, tensors)) == f"w: {message}: make the file again with 'tm2tfr compile'"


WEIGHTS: list[tuple[Change, str]] = [
    (_tensor("unembedding", None), "the tensor 'unembedding' is missing"),
    (_tensor("more", np.zeros((1, 1))), "nothing uses the tensors 'more'"),
    (_tensor("unembedding_bias", np.zeros((1, 1))), "unembedding_bias has shape (1, 1), expected (8, 1)"),
    (_tensor("unembedding_bias", np.zeros(8)), "the tensor 'unembedding_bias' should be a matrix of float64"),
    (
        _tensor("unembedding_bias", np.zeros((8, 1), dtype=np.int64)),
        "the tensor 'unembedding_bias' should be a matrix of float64",
    ),
    (
        _tensor("unembedding_bias", np.zeros((8, 1), dtype=np.float32)),
        "the tensor 'unembedding_bias' has the dtype float32",
    ),
    (_tensor("unembedding_bias", np.zeros((8, 1, 1))), "the tensor 'unembedding_bias' has the shape (8, 1, 1)"),
    (_tensor("unembedding_bias", np.full((8, 1), np.nan)), "a weight is not a finite number: weights must be finite"),
    (_tensor("unembedding_bias", np.full((8, 1), np.inf)), "a weight is not a finite number: weights must be finite"),
    (_set("vocabulary", 1, "1"), "the vocabulary contains a token twice"),
    (_set("bos", "EOS"), "'EOS' is a special token but not in the vocabulary"),
    (_set("features", 0, "i^x"), "unknown position feature 'i^x': use 1/(i+1), 1, i, i^2, "),
    (_set("layout", 1, "name", "1"), "the residual stream has two directions or subspaces called '1'"),
    (_set("layers", []), "nothing uses the tensors "),
    (
        _set("layers", 2, "heads", 0, "claim", "gap", float("nan")),
        "a claimed gap must be a positive number, not nan: claim none for uniform attention",
    ),
    (
        _set("layers", 2, "heads", 0, "claim", "gap", -0.5),
        "a claimed gap must be a positive number, not -0.5: claim none for uniform attention",
    ),
    (_set("layers", 2, "heads", 0, "claim", "margin", 0.5), "a claimed margin must be above 1, not 0.5"),
    (_set("layers", 2, "heads", 0, "claim", "gap", None), "a lookup has a gap: claim it, or claim no lookup"),
]


@pytest.mark.parametrize(("change", "message"), WEIGHTS)
def test_wrong_weights(change: Change, message: str) -> None:
    about, tensors = document(small()), load_tensors(small())
    change(about, tensors)
    found = refusal(signed(about, tensors))
    assert found.startswith(f"w: {message}")
    assert found.endswith(f": {AGAIN}")


SPARSE: list[tuple[Change, str]] = [
    (_tensor(f"{QUERY}.rows", None), f"the tensor '{QUERY}.rows' is missing"),
    (_tensor(f"{QUERY}.values", None), f"the tensor '{QUERY}.values' is missing"),
    (_tensor(f"{QUERY}.rows", np.array([0.0, 5.0])), f"the tensor '{QUERY}.rows' should be a vector of int64"),
    (_tensor(f"{QUERY}.values", np.array([1, 2])), f"the tensor '{QUERY}.values' should be a vector of float64"),
    (_tensor(f"{QUERY}.rows", np.array([[0, 5]])), f"the tensor '{QUERY}.rows' should be a vector of int64"),
    (_tensor(f"{QUERY}.rows", np.array([0, 5, 6])), "a sparse matrix needs equally many rows, columns and values"),
    (_tensor(f"{QUERY}.rows", np.array([-1, 5])), "entry (-1, 0) lies outside a matrix of shape (1048576, 2)"),
    (_tensor(f"{QUERY}.rows", np.array([0, DENSE])), "entry (1048576, 1) lies outside a matrix of shape (1048576, 2)"),
    (_tensor(f"{QUERY}.columns", np.array([2**62, 1])), f"entry (0, {2**62}) lies outside a matrix of shape"),
    (_tensor(f"{QUERY}.values", np.array([np.nan, 1.0])), "a weight is not a finite number: weights must be finite"),
    (_set("sparse", QUERY, [DENSE]), f"sparse.{QUERY} in the metadata should be two numbers"),
    (_set("sparse", QUERY, [DENSE, 2, 1]), f"sparse.{QUERY} in the metadata should be two numbers"),
    (_set("sparse", QUERY, [DENSE, "2"]), f"sparse.{QUERY}[1] in the metadata should be a whole number, is text"),
    (_set("sparse", QUERY, [DENSE, 2.0]), f"sparse.{QUERY}[1] in the metadata should be a whole number, is a number"),
    (_set("sparse", QUERY, [DENSE, True]), f"sparse.{QUERY}[1] in the metadata should be a whole number, is true or false"),
    (_set("sparse", QUERY, [-1, 2]), f"sparse.{QUERY}[0] in the metadata should be a number from 0 to 16777216, is -1"),
    (
        _set("sparse", QUERY, [HUGE, 2]),
        f"sparse.{QUERY}[0] in the metadata should be a number from 0 to 16777216, is {HUGE}",
    ),
    (_set("sparse", QUERY, [DENSE + 1, 2]), "layers.1.heads.0.key has shape (1048576, 2), expected (1048577, 2)"),
    (_set("sparse", QUERY, [DENSE, 3]), f"{QUERY} has shape (1048576, 3), expected (1048576, 2)"),
    (_set("sparse", "more", [1, 1]), "nothing uses the tensors 'more'"),
    (lambda about, _: about["sparse"].pop(QUERY), f"the tensor '{QUERY}' is missing"),
]


@pytest.mark.parametrize(("change", "message"), SPARSE)
def test_wrong_sparse_matrices(change: Change, message: str) -> None:
    about, tensors = document(sparse()), load_tensors(sparse())
    change(about, tensors)
    found = refusal(signed(about, tensors))
    assert found.startswith(f"w: {message}")
    assert found.endswith("again with 'tm2tfr compile'")


# ── hostile headers ─────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("dtype", "shape"),
    [
        ("F64", [10**9, 10**9]),
        ("F64", [2**63, 2]),
        ("F64", [0, 10**18]),
        ("F64", [10**15, 0]),
        ("F64", [-1, 5]),
        ("F64", [2**32, 2**32, 0]),
        ("BF16", [4]),
        ("F8_E4M3", [8]),
        ("nonsense", [1]),
        ("F64", "many"),
        ("F64", [1.5]),
    ],
)
def test_hostile_shapes_cost_nothing(dtype: str, shape: Any) -> None:
    size = 0 if isinstance(shape, list) and 0 in shape else 8
    tensor = {"dtype": dtype, "shape": shape, "data_offsets": [0, size]}
    data = framed({"__metadata__": {"tm2tfr": json.dumps(document(small()))}, "a": tensor}, bytes(size))
    tracemalloc.start()
    try:
        found = refusal(data)
        assert tracemalloc.get_traced_memory()[1] < 2_000_000
    finally:
        tracemalloc.stop()
    assert found.startswith(("w: it is damaged or truncated (", "w: the tensor 'a' has the "))


def test_tensors_over_each_other_are_refused() -> None:
    one = {"dtype": "F64", "shape": [1], "data_offsets": [0, 8]}
    data = framed({"__metadata__": {"tm2tfr": json.dumps(document(small()))}, "a": one, "b": one}, bytes(8))
    assert refusal(data).startswith("w: it is damaged or truncated (Error while deserializing: ")


def test_a_machine_is_no_weight_file(tmp_path: Path) -> None:
    path = tmp_path / "w.safetensors"
    path.write_text(chapter().yaml or "name: x", encoding="utf-8")
    with pytest.raises(WeightFileError) as caught:
        load(path)
    assert str(caught.value) == f"{path}: it is not a safetensors file: {GIVE}"
