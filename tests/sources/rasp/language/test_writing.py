"""Any graph of s-ops as text, read back: the same values, layers and heads, and the same text again."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from pathlib import Path

import pytest

from tests.sources.rasp.headers import FOLDER, theirs
from tests.sources.rasp.language.running import program
from tm2tfr.sources.rasp.analyse import analyse
from tm2tfr.sources.rasp.program import Program
from tm2tfr.sources.rasp.read import read
from tm2tfr.sources.rasp.sops import made_alike, needed
from tm2tfr.sources.rasp.write import literal, write


def shape(made: Program) -> list[int]:
    return sorted(Counter(made_alike(needed(made.sops.values())).values()).values())


@pytest.mark.slow
@pytest.mark.parametrize("name", theirs())
def test_a_shipped_program_is_written_and_read_back(name: str) -> None:
    made = read(Path(FOLDER, f"{name}.rasp").read_text(encoding="utf-8"), file=name).program
    again = read(write(made), file=name).program
    assert (list(again.sops), again.chosen, again.alphabet, again.examples) == (
        list(made.sops), made.chosen, made.alphabet, made.examples,
    )  # fmt: skip
    assert write(again) == write(made)
    for sop in made.sops:
        before, after = analyse(made.choosing(sop)), analyse(again.choosing(sop))
        assert (after.heads, after.merged_heads) == (before.heads, before.merged_heads)
    assert shape(again) == shape(made)


def test_variables_are_assigned_in_their_order() -> None:
    text = "late = indices + 1;\ns = select(indices, 0, ==);\nearly = late * 2;\nlate = late;\nagain = late;\n"
    made = program(text)
    again = program(write(made))
    assert list(again.sops) == list(made.sops) == ["early", "late", "again"]
    assert (write(again), write(made).splitlines()[-2:]) == (write(made), ["late = again;", "again = again;"])


def test_values_as_text() -> None:
    values = [1, -1, True, "a", Fraction(1, 2), Fraction(-3, 8), Fraction(2), Fraction(1, 3), Fraction(-1, 3)]
    assert [literal(value) for value in values] == [
        "1", "(-1)", "True", '"a"', "0.5", "(-0.375)", "2.0", "(1 / 3)", "(-1 / 3)",
    ]  # fmt: skip
