"""Our interpreter against the recorded one of the authors: every value of every s-op, and the analysis."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import pytest

from tests.sources.rasp.headers import shown, theirs
from tests.sources.rasp.repl.record import FLOATS, recorded
from tests.sources.rasp.running import columns, read, shipped_program


def same(ours: tuple[Any, ...] | None, theirs: list[Any] | str) -> bool:
    """Return whether values and kinds are the same: floats are fractions, compared at 1e-9; text is a complaint."""
    if ours is None or isinstance(theirs, str):
        return ours is None and isinstance(theirs, str)
    return len(ours) == len(theirs) and all(map(_same_value, ours, theirs))


def _same_value(ours: Any, theirs: Any) -> bool:
    if isinstance(theirs, float):
        return isinstance(ours, Fraction) and abs(ours - theirs) <= 1e-9
    return type(ours) is type(theirs) and ours == theirs


@pytest.mark.slow
@pytest.mark.parametrize("name", theirs())
def test_every_value(name: str) -> None:
    head, rows = recorded()[name]
    program = shipped_program(name)
    assert set(program.sops) == set(head["sops"])
    different = []
    for word, row in rows:
        ours = columns(program, word)
        different += [
            (word, sop, ours[sop], found)
            for sop, found in zip(head["sops"], row, strict=True)
            if not same(ours[sop], found)
        ]
    assert different == []


def test_rationals_are_right_where_floats_are_not() -> None:
    for case in json.loads(FLOATS.read_text(encoding="utf-8")):
        word = tuple(Fraction(str(token)) if isinstance(token, float) else token for token in case["input"])
        ours = columns(read(case["text"]), word)[case["sop"]]
        assert ours is not None
        assert [shown(value) for value in ours] == case["right"], case["text"]
