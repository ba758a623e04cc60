"""The shipped programs: enough of them, and each with a header that says what it is for."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.sources.rasp.headers import header, names
from tests.sources.rasp.plain import MEANT, PLAIN
from tests.sources.rasp.repl.inputs import all_inputs
from tests.sources.rasp.running import columns, shipped_program
from tm2tfr.base.resources import PROGRAMS, shipped, shipped_text
from tm2tfr.sources.rasp.library import looks_like
from tm2tfr.sources.rasp.program import shown_atom
from tm2tfr.sources.rasp.read import read

RESERVED = {
    "full_s", "length", "selector_width", "has_focus", "count", "contains", "max", "min", "average", "load_from_location",
    "shift", "mark_last_instance", "mark_first_instance", "select_from_last", "select_from_first", "sort",
    "select_next_identical",
}  # fmt: skip
"""The names of the library, which no program may assign to."""


def test_they_are_shipped() -> None:
    assert shipped(PROGRAMS) == names()
    assert len(names()) >= 32
    PLAIN.check(names())
    assert shipped_text(PROGRAMS, "reverse") == header("reverse").text


def test_they_are_recognised_by_their_text_and_nothing_else_is() -> None:
    assert all(looks_like(shipped_text(PROGRAMS, name).encode()) for name in names())
    others = [
        path
        for folder in ("machines", "specs")
        for path in (Path(__file__).parents[3] / folder).iterdir()
        if path.is_file()
    ]
    assert others
    assert not any(looks_like(path.read_bytes()) for path in others)
    assert not looks_like(b"# c17\nG1 = NAND(a, b)  # one; of two\n")


@pytest.mark.parametrize("name", names())
def test_its_header(name: str) -> None:
    """It has a title, an alphabet of different tokens, two examples at least, and its inputs are made of these tokens."""
    about = header(name)
    assert re.fullmatch(r"[A-Z].{20,110}[^.]", about.title)
    assert len(set(about.alphabet)) == len(about.alphabet) >= 2
    assert len(about.examples) >= 2
    for _, word, wanted in about.examples:
        assert set(word) <= set(about.alphabet)
        assert wanted is None or len(wanted) == len(word)


@pytest.mark.parametrize("name", names())
def test_it_reads_like_a_slide(name: str) -> None:
    """It has few lines, none of them wide, a comment that explains, and no name that the library has taken."""
    lines = header(name).text.splitlines()
    assert len(lines) <= 32
    assert max(map(len, lines)) <= 124
    assert sum(line.startswith(("# ", "\t# ")) for line in lines) > 3
    assigned = re.findall(r"^(?:def )?(\w+)(?: = |\()", header(name).text, re.MULTILINE)
    assert RESERVED.isdisjoint(set(assigned))


# ── the shipped programs in our interpreter: their examples, and a plain function for each on every short input
@pytest.mark.slow
@pytest.mark.parametrize("name", names())
def test_it_is_read_without_a_warning(name: str) -> None:
    loaded = read(shipped_text(PROGRAMS, name), file=f"{name}.rasp")
    about = header(name)
    assert loaded.warnings == ()
    assert loaded.program.name == name
    assert loaded.program.title == about.title
    assert loaded.program.alphabet == about.alphabet
    assert loaded.program.chosen == about.chosen
    assert [
        (e.sop, e.input, None if e.error else tuple(map(shown_atom, e.output))) for e in loaded.program.examples
    ] == list(about.examples)


@pytest.mark.parametrize("name", names())
def test_its_examples(name: str) -> None:
    program = shipped_program(name)
    for example in program.examples:
        found = columns(program, example.input)[example.sop]
        wanted = None if example.error else tuple(map(shown_atom, example.output))
        assert (None if found is None else tuple(map(shown_atom, found))) == wanted


@pytest.mark.slow
@pytest.mark.parametrize("name", names())
def test_every_short_input(name: str) -> None:
    """With ==, on rationals: 400 inputs at most."""
    _compare(name, 400)


@pytest.mark.slow
@pytest.mark.parametrize("name", names())
def test_every_input_that_is_not_long(name: str) -> None:
    _compare(name, 3_000)


def _compare(name: str, most: int) -> None:
    program, plain, meant = shipped_program(name), PLAIN[name], MEANT.get(name, lambda _: True)
    words = [word for word in all_inputs(program.alphabet, most) if meant(word)]
    assert len(words) > 30
    for word in words:
        found, wanted = columns(program, word)[program.chosen], plain(word)
        assert found == (None if wanted is None else tuple(wanted)), word
        assert [isinstance(v, bool) for v in found or ()] == [isinstance(v, bool) for v in wanted or ()], word
