"""A decoder survives its weight file whole, the file is the same bit for bit, and other programs can read it."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from safetensors import safe_open
from safetensors.numpy import load as load_tensors
from safetensors.numpy import load_file
from safetensors.numpy import save as save_tensors

from tests.strategies import machines
from tests.tables.examples import NASTY_SYMBOLS, chapter, nasty
from tm2tfr.base.errors import OutputError, WeightFileError
from tm2tfr.engines import engine, generate
from tm2tfr.sources.turing.compiler import compile_machine
from tm2tfr.sources.turing.spec import Machine, Rule
from tm2tfr.transformer.claims import Claim
from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.residual import Residual, Subspace
from tm2tfr.transformer.storage import dumps, load, loads, save
from tm2tfr.transformer.stored import DENSE
from tm2tfr.transformer.weights import Decoder, FeedForward, Head, Layer, matrices


def document(data: bytes) -> dict[str, Any]:
    """Return the metadata object of a weight file, read by hand."""
    header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    found: dict[str, Any] = json.loads(header["__metadata__"]["tm2tfr"])
    return found


def digest(about: dict[str, Any], tensors: dict[str, Any]) -> str:
    """Return the digest as the docstring of the format defines it, written down a second time."""
    rest = {k: v for k, v in about.items() if k != "digest"}
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode("ascii")
    for name in sorted(tensors):
        array = tensors[name]
        text += b"\n%s %s %s\n" % (name.encode(), array.dtype.name.encode(), " ".join(str(n) for n in array.shape).encode())
        text += array.tobytes()
    return hashlib.sha256(text).hexdigest()


def wide(cells: int, entries: dict[tuple[int, int], float]) -> Decoder:
    """Return a decoder of width 2 with a head whose queries and keys have `cells` components."""
    layout = Residual((Subspace("1"), Subspace("e", ("a",), holds="a \ud800", share=True)))
    some, none = Matrix.from_entries((cells, 2), entries), Matrix.from_entries((2, 1), {})
    value = Matrix.from_entries((1, 2), {(0, 0): 0.1})
    head = Head(name="h", source="s", query=some, key=some, value=value, output=none, claim=Claim(attends="", gap=1e-9))
    return Decoder(
        layout=layout,
        vocabulary=("a", "BOS"),
        bos="BOS",
        stop=(),
        features=("1",),
        token_embedding=Matrix.from_entries((2, 2), {(1, 0): 1.0}),
        position_embedding=Matrix.from_entries((2, 1), {(0, 0): 1.0}),
        layers=(Layer(name="l", meaning="m", source="s", heads=(head,)),),
        unembedding=Matrix.from_entries((2, 2), {}),
        unembedding_bias=Matrix.from_entries((2, 1), {}),
    )


# ── there and back ──────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.slow
@settings(max_examples=30)
@given(machines())
def test_every_decoder_survives(machine: Machine) -> None:
    decoder = compile_machine(replace(machine, yaml="x"))
    again = loads(dumps(decoder))
    assert again == decoder
    assert dict(again.provenance) == dict(decoder.provenance)
    assert dumps(again) == dumps(decoder)


def test_every_name_survives() -> None:
    decoder = compile_machine(nasty())
    again = loads(dumps(decoder))
    assert again == decoder
    assert again.layout.directions == decoder.layout.directions
    assert again.vocabulary == decoder.vocabulary
    assert again.layers == decoder.layers
    ffns = [layer.feed_forward for layer in decoder.layers]
    assert [f and f.units for f in ffns] == [layer.feed_forward and layer.feed_forward.units for layer in again.layers]


def test_what_no_machine_compiles_to_survives() -> None:
    decoder = wide(2, {(0, 1): -0.3, (1, 0): 1e300})
    layer = FeedForward(
        input=Matrix.from_entries((0, 2), {}),
        input_bias=Matrix.from_entries((0, 1), {}),
        output=Matrix.from_entries((2, 0), {}),
        output_bias=Matrix.from_entries((2, 1), {(0, 0): 5e-324}),
        units=(),
    )
    odd = Layer(name="", meaning="", source="", heads=(), feed_forward=layer)
    decoder = replace(decoder, layers=(*decoder.layers, odd, Layer(name="n", meaning="\n", source="\ud800")))
    again = loads(dumps(decoder))
    assert again == decoder
    assert dict(again.provenance) == {}


@pytest.mark.parametrize("name", ["dense", "exact"])
@pytest.mark.parametrize(("machine", "word"), [(chapter, "11"), (nasty, NASTY_SYMBOLS[:9])])
def test_a_decoder_from_a_file_answers_the_same(machine: Any, word: str, name: str, tmp_path: Path) -> None:
    decoder = compile_machine(machine())
    save(decoder, tmp_path / "w.safetensors")
    again = load(tmp_path / "w.safetensors")
    first, second = (
        [(step.output, list(step.residual)) for step in generate(d, word, engine=engine(name))] for d in (decoder, again)
    )
    assert second == first
    assert first[-1][0] == "ACC"


# ── the file ────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.slow
def test_the_same_decoder_gives_the_same_file_in_every_process() -> None:
    program = (
        "import hashlib; from tests.tables.examples import *; from tm2tfr.transformer.storage import dumps;"
        "print(hashlib.sha256(dumps(compile_machine(nasty()))).hexdigest())"
    )
    want = hashlib.sha256(dumps(compile_machine(nasty()))).hexdigest()
    for _ in range(3):
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, encoding="utf-8", check=True)
        assert done.stdout.strip() == want


def test_other_programs_read_it(tmp_path: Path) -> None:
    decoder = compile_machine(chapter())
    save(decoder, tmp_path / "w.safetensors")
    tensors = load_file(tmp_path / "w.safetensors")
    assert sorted(tensors) == sorted(matrices(decoder))
    for path, matrix in matrices(decoder).items():
        assert tensors[path].dtype == np.float64
        np.testing.assert_array_equal(tensors[path], matrix.dense())
    assert tensors["layers.3.heads.0.query"].shape == (2, decoder.layout.width)
    with safe_open(tmp_path / "w.safetensors", framework="np") as file:
        assert list(file.metadata()) == ["tm2tfr"]


def test_the_metadata_is_all_there_is_beside_the_weights() -> None:
    decoder = compile_machine(chapter())
    about = document(dumps(decoder))
    assert list(about) == [
        "format",
        "version",
        "layout",
        "vocabulary",
        "bos",
        "stop",
        "features",
        "layers",
        "provenance",
        "sparse",
        "digest",
    ]
    assert (about["format"], about["version"], about["bos"]) == ("tm2tfr-weights", "2", "BOS")
    assert about["layout"][:2] == [
        {"name": "e_x", "labels": list(decoder.vocabulary), "holds": "e_x", "share": False},
        {"name": "1/(i+1)", "labels": None, "holds": "1/(i+1)", "share": True},
    ]
    assert about["provenance"] == dict(decoder.provenance)
    assert about["sparse"] == {}
    assert [layer["name"] for layer in about["layers"]] == [layer.name for layer in decoder.layers]
    assert about["layers"][1] == {
        "name": "head position",
        "meaning": decoder.layers[1].meaning,
        "source": decoder.layers[1].source,
        "heads": [
            {
                "name": "sum of moves",
                "source": decoder.layers[1].heads[0].source,
                "mask": "future",
                "weighting": "average-hard",
                "claim": {"attends": "all", "gap": None, "lookup": False},
            }
        ],
        "feed_forward": None,
        "equation": "h/(i+1) = 1/(i+1) · Σ_{j≤i} m_{j-1}",
    }
    assert about["layers"][2]["heads"][0]["claim"] == {"attends": "h", "gap": 1.0, "lookup": True}
    assert about["layers"][3]["heads"][0]["claim"] == {"attends": "j*", "gap": 0.5, "lookup": False}


def test_the_digest_is_as_documented() -> None:
    for decoder in (compile_machine(nasty()), wide(DENSE, {(DENSE - 1, 1): 2.0})):
        data = dumps(decoder)
        assert document(data)["digest"] == digest(document(data), load_tensors(data))


@pytest.mark.parametrize(("cells", "stored"), [(DENSE // 2, "dense"), (DENSE // 2 + 1, "sparse")])
def test_large_matrices_are_stored_by_their_entries(cells: int, stored: str) -> None:
    decoder = wide(cells, {(cells - 1, 1): 2.5, (7, 0): -1.0})
    data = dumps(decoder)
    tensors = load_tensors(data)
    path = "layers.1.heads.0.query"
    if stored == "dense":
        assert tensors[path].shape == (cells, 2)
        assert document(data)["sparse"] == {}
    else:
        assert path not in tensors
        assert [tensors[f"{path}.{part}"].tolist() for part in ("rows", "columns", "values")] == [
            [7, cells - 1],
            [0, 1],
            [-1.0, 2.5],
        ]
        assert document(data)["sparse"] == {path: [cells, 2], "layers.1.heads.0.key": [cells, 2]}
        assert len(data) < 10_000
    assert loads(data) == decoder


def test_too_large_a_matrix_is_not_written() -> None:
    with pytest.raises(WeightFileError) as caught:
        dumps(wide(2**24 + 1, {}))
    assert str(caught.value) == (
        "layers.1.heads.0.query: shape (16777217, 2): a weight file can have at most 2^24 rows or columns"
    )
    with pytest.raises(WeightFileError) as caught:
        dumps(wide(2**24, {}))
    assert str(caught.value) == (
        "its heads have 16,777,217 components (d_k and d_v) for 3 entries that are not 0, but at most 2,097,152 "
        "are allowed: "
        "remove components that are 0"
    )
    assert loads(dumps(wide(2**21 - 1, {}))) == wide(2**21 - 1, {})


@pytest.mark.slow
def test_too_long_a_source_is_not_written(tmp_path: Path) -> None:
    decoder = replace(wide(1, {}), provenance={"source": '"' * 25_000_000})  # four bytes each: escaped, and once more
    with pytest.raises(
        WeightFileError, match=r"^what is stated beside the matrices takes 100,000,\d+ bytes, and safetensors"
    ):
        save(decoder, tmp_path / "x.safetensors")
    assert not list(tmp_path.iterdir())


def test_a_small_file_cannot_ask_for_long_vectors() -> None:
    """A file of a few kilobytes with d_v = 2^24 would keep an engine busy for minutes."""
    about, tensors = (
        document(dumps(wide(2**20 + 1, {(0, 0): 1.0}))),
        dict(load_tensors(dumps(wide(2**20 + 1, {(0, 0): 1.0})))),
    )
    for path in ("query", "key"):
        about["sparse"][f"layers.1.heads.0.{path}"] = [2**24, 2]
    about["digest"] = digest(about, tensors)
    data = save_tensors(tensors, {"tm2tfr": json.dumps(about)})
    assert len(data) < 10_000
    with pytest.raises(WeightFileError) as caught:
        loads(data, file="w")
    assert str(caught.value) == (
        "w: its heads have 16,777,217 components (d_k and d_v) for 5 entries that are not 0, but at most 2,097,152 "
        "are allowed: "
        "make it again with 'tm2tfr compile'"
    )


def test_save_writes_whole_files_or_says_why_not(tmp_path: Path) -> None:
    path = tmp_path / "no" / "w.safetensors"
    with pytest.raises(OutputError) as caught:
        save(compile_machine(chapter()), path)
    assert str(caught.value) == f"{path}: there is no folder {tmp_path}/no: make it first"


def test_a_large_machine() -> None:
    symbols = "_012345678"
    rules = {
        (f"q{n}", a): Rule(f"q{(7 * n + k) % 300}", symbols[(k + n) % 10], (n + k) % 3 - 1)
        for n in range(300)
        for k, a in enumerate(symbols)
    }
    decoder = compile_machine(Machine(name="large", transitions=rules, start="q0", blank="_", yaml="x"))
    start = time.perf_counter()
    data = dumps(decoder)
    again = loads(data)
    assert time.perf_counter() - start < 5
    assert len(data) < 40_000_000
    assert again == decoder
    assert document(data)["sparse"]
