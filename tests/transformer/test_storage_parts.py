"""Weight files of decoders with a position table, layer norms or no BOS: whole, and never taken for something else."""

from __future__ import annotations

import dataclasses
import json
import pickle
import random
import re
from typing import Any

import pytest
from safetensors.numpy import load as load_tensors

from tests.engines.lookups import looking, random_looks
from tests.handmade import HANDMADE, normed, tabled
from tests.transformer.test_storage import document
from tests.transformer.test_storage_errors import refusal, signed, small
from tm2tfr.base.errors import WeightFileError
from tm2tfr.transformer.claims import OVER, Claim
from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.storage import dumps, loads
from tm2tfr.transformer.stored import DENSE
from tm2tfr.transformer.weights import Decoder, Norm, digest, matrices, replaced

NORM = Norm(gain=Matrix.from_entries((5, 1), {(0, 0): 0.1}), bias=Matrix.from_entries((5, 1), {}), epsilon=0.1)
MADE: dict[str, Decoder] = {
    "table": tabled(5),
    "empty table": tabled(0),
    "norms": normed(1e-5),
    "no epsilon": normed(),
    "both": dataclasses.replace(tabled(5), norm=NORM),
    "lookups": looking(random_looks(40)),
}


@pytest.mark.parametrize("name", MADE)
def test_a_decoder_survives_with_all_its_parts(name: str) -> None:
    decoder = MADE[name]
    data = dumps(decoder)
    again = loads(data)
    assert again == decoder
    assert (again.bos, again.stop, again.positions) == (decoder.bos, decoder.stop, decoder.positions)
    assert matrices(again) == matrices(decoder)
    assert digest(again) == digest(decoder)
    assert dumps(again) == data
    assert document(data)["version"] == "3"
    assert pickle.loads(pickle.dumps(decoder)) == decoder
    assert repr(again) == repr(decoder)


@pytest.mark.parametrize("name", HANDMADE)
def test_other_decoders_are_still_of_version_2(name: str) -> None:
    decoder = HANDMADE[name][0]()
    about = document(dumps(decoder))
    if decoder.bos is not None:
        assert about["version"] == "2"
        assert "parts" not in about


def test_what_the_parts_say() -> None:
    assert document(dumps(normed(1e-5)))["parts"] == {
        "position_table": False,
        "norms": {"layers.1.attention_norm": 1e-5, "layers.1.feed_forward_norm": 1e-5, "norm": 1e-5},
    }
    assert document(dumps(tabled()))["parts"] == {"position_table": True, "norms": {}}
    assert document(dumps(tabled()))["bos"] is None
    assert {"norm.gain", "norm.bias", "layers.1.attention_norm.gain"} <= set(load_tensors(dumps(normed())))


def test_a_large_table_is_stored_by_its_entries() -> None:
    positions = DENSE // 19 + 1
    decoder = looking(random_looks(4))
    wide = Matrix.from_entries((decoder.layout.width, positions), {(7, 3): 0.25, (0, positions - 1): -1.0})
    data = dumps(dataclasses.replace(decoder, position_table=wide))
    assert document(data)["sparse"] == {"position_table": [19, positions]}
    assert loads(data).position_table == wide


def changed(data: bytes, **said: Any) -> bytes:
    return signed({**document(data), **said}, dict(load_tensors(data)))


def test_parts_that_are_missing_or_too_many_are_refused() -> None:
    data, parts = dumps(tabled()), {"position_table": True, "norms": {}}
    again = "make it again with 'tm2tfr compile'"
    remake = "make the file again with 'tm2tfr compile'"
    assert refusal(changed(data, parts={**parts, "position_table": False})) == (
        f"w: nothing uses the tensors 'position_table': {again}"
    )
    assert refusal(changed(data, parts={**parts, "rotary": 1})) == (
        f"w: its parts have 'rotary', which this tm2tfr does not know: {again}"
    )
    assert refusal(changed(data, parts={**parts, "norms": {"norm": 0.5}})) == (
        f"w: the tensor 'norm.gain' is missing: {again}"
    )
    assert refusal(changed(data, parts={**parts, "norms": {"layers.9.attention_norm": 0.5}})) == (
        f"w: there is no place for the norms 'layers.9.attention_norm': {again}"
    )
    assert refusal(changed(data, parts={"norms": {}})) == f"w: parts in the metadata has no 'position_table': {remake}"
    norms = document(dumps(normed()))["parts"]["norms"]
    assert refusal(changed(dumps(normed()), parts={"position_table": False, "norms": {**norms, "norm": -1.0}})) == (
        f"w: the epsilon of a layer norm must be a number from 0 on, not -1: {again}"
    )
    assert refusal(changed(dumps(normed()), parts={"position_table": True, "norms": norms})) == (
        f"w: the tensor 'position_table' is missing: {again}"
    )


def test_as_version_2_such_a_file_is_refused() -> None:
    assert refusal(changed(dumps(tabled()), version="2")) == (
        "w: bos in the metadata should be text, is null: make the file again with 'tm2tfr compile'"
    )
    assert refusal(changed(dumps(tabled()), version="2", bos="0")) == (
        "w: nothing uses the tensors 'position_table': make it again with 'tm2tfr compile'"
    )
    assert "nothing uses the tensors" in refusal(changed(dumps(normed()), version="2"))
    assert json.dumps(document(dumps(normed()))["parts"])


def test_every_part_can_be_replaced_and_counts_in_the_digest() -> None:
    for decoder in (tabled(), normed(0.5)):
        for path, matrix in matrices(decoder).items():
            if 0 in matrix.shape:
                continue
            other = replaced(decoder, {path: matrix.with_entry(0, 0, 7.0)})
            assert matrices(other)[path] != matrix
            assert {p for p, m in matrices(other).items() if m != matrices(decoder)[p]} == {path}
            assert digest(other) != digest(decoder)
            assert digest(other, without=(path,)) == digest(decoder, without=(path,))
            assert replaced(other, {path: matrix}) == decoder
    assert digest(normed(0.5)) != digest(normed(0.25))
    named = dataclasses.replace(tabled(), bos="0")
    assert digest(named) != digest(tabled())


def test_claims_of_every_kind_survive() -> None:
    decoder = looking(random_looks(9))
    for claim in (
        *(Claim(attends="a", gap=0.5, over=over) for over in OVER),
        Claim(attends="a", gap=2, over="length", margin=4),
        Claim(attends="a", gap=1, lookup=True, over="constant", margin=7),
    ):
        (layer,) = decoder.layers
        heads = tuple(dataclasses.replace(head, claim=claim) for head in layer.heads)
        claiming = dataclasses.replace(decoder, layers=(dataclasses.replace(layer, heads=heads),))
        assert loads(dumps(claiming)) == claiming
        plain = {"attends": "a", "gap": claim.gap, "lookup": claim.lookup}
        over: dict[str, Any] = {"position": {}, "constant": {"constant": True}}.get(claim.over, {"over": claim.over})
        margin = {} if claim.margin is None else {"margin": claim.margin}
        assert document(dumps(claiming))["layers"][0]["heads"][0]["claim"] == {**plain, **over, **margin}


# ── weight files damaged at random: refused with words, or harmless, and then the same decoder
@pytest.mark.slow
def test_random_damage() -> None:
    """5,000 mutations: refused with words, or harmless (white space in the JSON), and then the same decoder."""
    data, dice = small(), random.Random(8)
    whole, header = loads(data), 8 + int.from_bytes(data[:8], "little")
    harmless = 0
    for _ in range(5_000):
        damaged = bytearray(data)
        for _ in range(dice.choice((1, 1, 1, 2, 8))):
            at = dice.randrange(min(len(damaged), dice.choice((8, header, len(data)))) or 1)
            match dice.randrange(5):
                case 0:
                    damaged[at : at + 1] = bytes(value ^ 1 << dice.randrange(8) for value in damaged[at : at + 1])
                case 1:
                    damaged[at : at + 1] = bytes([dice.choice(b' {}[]",:0919\\ue-\n\0\xff')])
                case 2:
                    del damaged[at : at + dice.choice((1, 1, 8, 1000))]
                case 3:
                    damaged[at:at] = dice.randbytes(dice.choice((1, 8)))
                case 4:
                    del damaged[at:]
        again = _loaded(bytes(damaged))
        if again is not None:
            harmless += 1
            assert again == whole
            assert again.provenance == whole.provenance
    assert harmless < 200


def _loaded(data: bytes) -> Decoder | None:
    """Return the decoder, None if it was refused in the words that a refusal needs."""
    try:
        return loads(data, file="w")
    except WeightFileError as error:
        if not re.fullmatch(r"w: .+: (make|use) .+", str(error), re.DOTALL):
            raise
    return None


@pytest.mark.slow
def test_random_damage_behind_a_right_digest() -> None:
    """Values of the metadata swapped for others of every kind, with the digest made right."""
    dice = random.Random(9)
    odd: list[Any] = [None, True, -1, 2**70, 1.5, "", "1", [], {}, [[]], {"name": "x"}, "\ud800"]
    about, tensors = document(small()), load_tensors(small())
    whole = loads(small())
    for _ in range(1_000):
        changed = json.loads(json.dumps(about))
        places = _places(changed)
        parent, key = places[dice.randrange(len(places))]
        match dice.randrange(3):
            case 0:
                parent[key] = dice.choice(odd)
            case 1 if isinstance(parent, list):
                parent.insert(key, dice.choice(odd))
            case _:
                del parent[key]
        again = _loaded(signed(changed, tensors))
        if again is not None:
            assert again.unembedding == whole.unembedding
            assert again.layout.width == whole.layout.width


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Return every (container, key) of a JSON value, but for the format, version and digest."""
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    found = [(value, key) for key in keys if key not in ("format", "version", "digest")]
    return found + [place for parent, key in found for place in _places(parent[key])]
