"""The prompt of RASP: what a session prints, and that it prints the values of the authors' interpreter."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tm2tfr.base.errors import SpecError
from tm2tfr.base.text.source import SourceText
from tm2tfr.sources.rasp.prompt import Ended, RaspPrompt, is_complete, pieces_of

SESSION = Path(__file__).with_name("session.txt")
CHECKOUT = os.environ.get("TM2TFR_RASP", "")
VALUE = re.compile(r"(?:Example: .*?\) =|^\t =|(?:value|list|dict):)\s*([^\s].*)$")
"""A line of output that has values."""


def transcript(text: str) -> Iterator[str]:
    """Yield the lines of a session: what is typed, behind its prompts, and what is printed."""
    session = RaspPrompt(file="session")
    for piece in pieces_of(SourceText(text, "session")):
        typed = [line for line in piece.splitlines() if line]
        yield from (f"{'..' if n else '>>'}{line[2:]}" for n, line in enumerate(typed))
        try:
            yield from session.answers(piece)
        except SpecError as error:
            yield from str(error).splitlines()
        except Ended:
            return


def test_a_transcript_is_read_and_gives_itself() -> None:
    text = SESSION.read_text(encoding="utf-8")
    assert [*transcript(text)] == text.splitlines()


@pytest.mark.parametrize(
    ("text", "complete"),
    [
        ("", True),
        ("# only a comment;", True),
        ("a = indices", False),
        ("a = indices;", True),
        ("a = (indices", False),
        ("a = (indices;", True),
        ('a = "(";', True),
        ("def f(a) {\n  return a;", False),
        ("def f(a) {\n  return a;\n}", True),
        ("for i in [1] {\n}", True),
        ("repeat 3 {\n  x = x + 1;", False),
        ("repeat until done {\n  x = x + 1;\n}", True),
        ("repeat = 2;", True),
        ('d = {"a": 1}', False),
        ('set example "abc"', True),
        ("examples off", True),
        ("a = # what it is\n", False),
        (":check", True),
    ],
)
def test_a_statement_is_complete_or_goes_on(text: str, complete: bool) -> None:
    assert is_complete(text) == complete


def test_a_session_is_a_program() -> None:
    session = RaspPrompt()
    for piece in pieces_of(SourceText(SESSION.read_text(encoding="utf-8"), "session")):
        try:
            [*session.answers(piece)]
        except (SpecError, Ended):
            continue
    program = session.program("c")
    assert (program.chosen, program.alphabet) == ("c", tuple("12345"))
    assert [*program.sops] == ["c", "half", "y"] == [*session.sops]
    assert {"hist_bos", "c", "foo", "tokens"} <= {*session.known}


def values(lines: Iterator[str]) -> list[str]:
    kept = (line for line in lines if not line.startswith("session:"))
    found = (VALUE.search(re.sub(r"^((>>|\.\.) ?)+| \[skipped full display: .*", "", line)) for line in kept)
    return [re.sub(r"\s+", " ", match[1].replace("'", '"')).strip() for match in found if match]


@pytest.mark.skipif(
    not CHECKOUT, reason="the authors' scripts are not here: set TM2TFR_RASP=CHECKOUT, a clone of tech-srl/RASP"
)
def test_the_scripts_of_the_authors_give_their_values(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(CHECKOUT)
    folder = Path(CHECKOUT) / "tests"
    scripts = sorted((folder / "in").iterdir())
    for script in scripts:
        own = values(transcript(script.read_text(encoding="utf-8")))
        theirs = values(iter((folder / "tgt" / script.name).read_text(encoding="utf-8").splitlines()))
        assert own == theirs, script
    assert len(scripts) == 21


def test_a_loop_is_typed_and_shown_with_the_values_of_its_last_pass() -> None:
    session = RaspPrompt()
    list(session.answers('set example "aab"'))
    assert list(session.answers("x = 0;")) == ["     value: x = 0"]
    shown = list(session.answers("repeat 3 { s = select(indices, x, ==); x = x + indices; }"))
    assert shown == ["     s-op: x", ' \t Example: x("aab") = [0, 3, 6] (ints)']
    assert "".join(session.statements).endswith("x = x + indices; }\n")
