"""Formulas and programs that cannot be read, or may not be meant: every complaint, word by word.

The title of a case says which language it is in.
"""

from __future__ import annotations

from pathlib import Path

from tests.golden import Case, Golden
from tm2tfr.base.errors import SpecError
from tm2tfr.sources.logic.read import read


def complaints(title: str, text: str) -> str:
    """Return the messages about a text, warnings too."""
    file = "x.srasp" if title.startswith("program") else "x.tl"
    try:
        return "\n".join(map(str, read(text, file=file).warnings))
    except SpecError as error:
        return str(error)


def answer(case: Case) -> str:
    return complaints(case.title, case.text)


GOLDEN = Golden(Path(__file__).with_name("malformed.txt"), answer)
test_the_complaints_about_a_text = GOLDEN.test()


def test_there_are_many_and_each_has_a_place_and_a_remedy() -> None:
    assert len(GOLDEN.cases) >= 90
    for case in GOLDEN.cases:
        assert case.says.startswith(("x.tl:", "x.srasp:"))
        heads = [message for message in case.says.splitlines() if message.startswith("x.")]
        assert all(message.count(": ") >= 2 for message in heads)


def test_a_text_of_nothing_but_mistakes_is_left_after_a_hundred_complaints() -> None:
    messages = complaints("formula", "Q[a] &\n;" * 500)
    assert messages.count("an operand is missing") == 20
    assert "… and 80 more: fix those above first" in messages
