"""Weight files damaged at random: refused with words, or harmless, and then the same decoder."""

from __future__ import annotations

import json
import random
import re
from typing import Any

import pytest
from safetensors.numpy import load as load_tensors

from tests.transformer.test_storage import document
from tests.transformer.test_storage_errors import signed, small
from tm2tfr.base.errors import WeightFileError
from tm2tfr.transformer.storage import loads
from tm2tfr.transformer.weights import Decoder


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
