"""The shipped programs in our interpreter: their examples, and a plain function for each on every short input."""

from __future__ import annotations

import pytest

from tests.sources.rasp.headers import header, names
from tests.sources.rasp.plain import MEANT, PLAIN
from tests.sources.rasp.repl.inputs import all_inputs
from tests.sources.rasp.running import columns, shipped_program
from tm2tfr.base.resources import PROGRAMS, shipped_text
from tm2tfr.sources.rasp.program import shown_atom
from tm2tfr.sources.rasp.read import read


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
