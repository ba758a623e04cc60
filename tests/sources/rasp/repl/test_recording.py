"""What was recorded of the authors' interpreter: enough, of the programs as they are, and what they are meant to say."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import pytest

from tests.sources.rasp.headers import header, shown, theirs
from tests.sources.rasp.plain import MEANT, PLAIN
from tests.sources.rasp.repl.record import ANALYSIS, AUTHORS, FLOATS, VALUES, digest, recorded, recordings


def same(found: Any, wanted: Any) -> bool:
    """Return whether a recorded value is the wanted one: of the same kind, and numbers at 1e-9."""
    if isinstance(found, float):
        return not isinstance(wanted, bool | str) and abs(found - wanted) <= 1e-9
    return found == wanted and isinstance(found, bool) == isinstance(wanted, bool)


def test_it_is_enough() -> None:
    assert len(recorded()) == 54
    assert sum(len(rows) for _, rows in recorded().values()) == 18_950
    assert sum(len(head["sops"]) for head, _ in recorded().values()) == 143
    columns = [values for _, rows in recorded().values() for _, row in rows for values in row]
    assert sum(len(values) for values in columns if isinstance(values, list)) == 236_023
    assert sum(isinstance(values, str) for values in columns) == 372
    assert sum(len(sops) for sops in json.loads(ANALYSIS.read_text(encoding="utf-8")).values()) == 201
    assert VALUES.stat().st_size < 2**20


def test_it_is_of_the_programs_as_they_are() -> None:
    recorded().check(theirs())
    recordings(json.loads(ANALYSIS.read_text(encoding="utf-8"))).check([*theirs(), *AUTHORS])
    again = "record them anew: python -m tests.sources.rasp.repl.record CHECKOUT"
    assert {name: head["digest"] for name, (head, _) in recorded().items()} == {
        n: digest(header(n).text) for n in theirs()
    }, again


@pytest.mark.parametrize("name", theirs())
def test_a_program_says_what_a_plain_function_does(name: str) -> None:
    head, rows = recorded()[name]
    place = head["sops"].index(header(name).chosen)
    meant = [(word, row[place]) for word, row in rows if MEANT.get(name, lambda _: True)(word)]
    assert len(meant) >= 60
    for word, found in meant:
        wanted = PLAIN[name](word)
        if wanted is None:
            assert isinstance(found, str), word
        else:
            assert len(found) == len(wanted), word
            assert all(map(same, found, wanted)), (word, found, wanted)


@pytest.mark.parametrize("name", theirs())
def test_its_examples_are_what_the_authors_interpreter_says(name: str) -> None:
    head, rows = recorded()[name]
    answers = {word: dict(zip(head["sops"], row, strict=True)) for word, row in rows}
    examples = header(name).examples
    assert len(examples) >= 2
    for sop, word, wanted in examples:
        found = answers[word][sop]
        if wanted is None:
            assert isinstance(found, str)
        else:
            assert tuple(shown(Fraction(v).limit_denominator(99) if isinstance(v, float) else v) for v in found) == wanted


def test_where_floats_make_it_wrong() -> None:
    cases = json.loads(FLOATS.read_text(encoding="utf-8"))
    assert len(cases) == 14
    for case in cases:
        found = [shown(value) for value in case["repl"]]
        assert len(found) == len(case["right"]) == len(case["input"])
        assert found != case["right"], case["text"]
