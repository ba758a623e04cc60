"""What loads on turingmachine.io loads here and means the same, as far as its documentation says what loads there.

Each document uses what the site's guide and its examples describe; what comes of it there is written beside it.
"""

from __future__ import annotations

import pytest

from tm2tfr.sources.turing.formats import native, registry
from tm2tfr.sources.turing.library import shipped, shipped_text
from tm2tfr.sources.turing.simulator import result

HEAD = "blank: ' '\nstart state: a\n"
ONE = f"{HEAD}table:\n  a:\n"

LOADS = [
    ("a list of symbols", ONE + "    [0, 1]: R\n    ' ': {L: b}\n  b:\n", "101", 4, "101"),
    ("a key with a comma", ONE + "    '0,1': R\n    ' ': {L: b}\n  b:\n", "101", 4, "101"),
    ("a key with commas and a blank", ONE + "    '0,1, ': {write: x, R: b}\n  b:\n    0,1: {write: y, R}\n", "11", 2, "xy"),
    ("a bare key with a comma", ONE + "    0,1: {write: 'x', R}\n", "10", 2, "xx"),
    ("several symbols within braces", f"{HEAD}table:\n  a: {{[0,1]: R, ' ': {{L: b}}}}\n  b:\n", "0", 2, "0"),
    ("a state that is kept", ONE + "    1: {write: 0, R}\n", "11", 2, "00"),
    ("a state that is kept by nothing", ONE + "    1: {write: 0, R: }\n", "11", 2, "00"),
    ("the move N", ONE + "    1: {write: 0, N: b}\n  b:\n    0: N\n", "1", 9, "0"),
    ("N alone", ONE + "    1: N\n", "1", 9, "1"),
    ("a synonym", f"synonyms:\n  go: {{write: x, R: b}}\n{ONE}    1: go\n  b:\n", "1", 1, "x"),
    ("a synonym for a move", f"{HEAD}synonyms: {{back: L}}\ntable:\n  a: {{1: back}}\n", "1", 1, "1"),
    ("no synonyms", f"{HEAD}synonyms:\ntable:\n  a: {{1: R}}\n", "1", 1, "1"),
    ("numbers as states", "blank: 0\nstart state: 1\ntable:\n  1: {1: {R: 2}}\n  2: {1: {write: 0, L: 1}}\n", "11", 3, "1"),
    ("numbers as symbols", "blank: '0'\nstart state: a\ntable:\n  a:\n    1: {write: 2, R}\n", "11", 2, "22"),
    ("an empty state", f"{HEAD}table:\n  a: {{1: {{R: done}}}}\n  done:\n", "1", 1, "1"),
    ("an empty mapping", f"{HEAD}table:\n  a: {{1: {{R: done}}}}\n  done: {{}}\n", "1", 1, "1"),
    ("names with spaces", "blank: ' '\nstart state: go on\ntable:\n  go on: {1: R}\n", "11", 2, "11"),
    ("accepting by name", f"{HEAD}table:\n  a: {{1: {{R: accept}}}}\n  accept:\n", "1", 1, "1"),
    ("no input", ONE + "    ' ': {write: 1, R: b}\n  b:\n", "", 1, "1"),
    ("an empty input", f"input: ''\n{ONE}    ' ': {{write: 1, R: b}}\n  b:\n", "", 1, "1"),
    ("an input that looks like a number", f"input: 0011\n{ONE}    [0, 1]: R\n", "0011", 4, "0011"),
    (
        "a blank within the input",
        f"input: '1 1'\n{ONE}    1: R\n    ' ': {{R: b}}\n  b:\n    1: {{write: x, R}}\n",
        "1_1",
        3,
        "1 x",
    ),
    ("comments", f"# first\n{ONE}    1: R # and last\n\n# end\n", "1", 1, "1"),
    ("other keys", f"final state: b\nauthor: somebody\n{ONE}    1: R\n", "1", 1, "1"),
    ("quotes of both kinds", ONE + "    '1': {\"write\": \"x\", 'R': 'b'}\n  \"b\":\n", "1", 1, "x"),
    ("signs as symbols", ONE + "    '#': R\n    +: {write: '*', R}\n", "#+", 2, "#*"),
    ("letters beyond ASCII", ONE + "    •: {write: ✓, R}\n", "••", 2, "✓✓"),
    ("a block", "? blank\n: ' '\nstart state: a\ntable: {a: {1: R}}\n", "1", 1, "1"),
]


@pytest.mark.parametrize(("text", "word", "steps", "tape"), [each[1:] for each in LOADS], ids=[each[0] for each in LOADS])
def test_what_loads_there_loads_here(text: str, word: str, steps: int, tape: str) -> None:
    for document in (text, downloaded(text)):
        machine = native.read(document, file="f.yaml").machine
        found = result(machine, word, max_steps=9)
        assert (found.steps, found.tape) == (steps, tape)
        assert machine.tape == "two-way"


def downloaded(text: str) -> str:
    """A document as the site saves it."""
    lines = "".join(f"  {line}\n" for line in text.splitlines())
    return f"name: mine\nsource code: |\n{lines}positions:\n  a: {{x: 1.5, y: 2}}\n"


def test_a_comma_alone_is_a_symbol() -> None:
    assert result(native.read(f"{ONE}    ',': R\n", file="f.yaml").machine, ",,").steps == 2


@pytest.mark.parametrize("name", shipped())
def test_shipped_documents_are_taken_for_nothing_else(name: str) -> None:
    for file in ("f", "f.yaml", "<stdin>"):
        assert registry.read(shipped_text(name), file=file).machine.yaml is not None
