"""The shipped formulas and programs: what they say on every short word, beside plain functions of it."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

from tests.sources.logic.language.test_reading import shown
from tests.sources.logic.plain import AT_THE_END, FORMULAS, PLAIN, PROGRAMS
from tm2tfr.base import resources
from tm2tfr.base.errors import NotFoundError
from tm2tfr.sources.circuit.library import GENERATORS
from tm2tfr.sources.logic.evaluate import evaluate
from tm2tfr.sources.logic.library import from_text, is_logic, load, looks_like, shipped
from tm2tfr.sources.logic.read import read
from tm2tfr.sources.logic.write import write

ROOT = Path(__file__).parents[3]
NAMES = shipped()


def test_there_are_many_and_all_are_tested() -> None:
    PLAIN.check(NAMES)
    assert len(FORMULAS) >= 20
    assert len(PROGRAMS) >= 8


def test_their_names_are_theirs_alone() -> None:
    others = {
        *resources.shipped(resources.MACHINES),
        *resources.shipped(resources.PROGRAMS),
        *resources.shipped(resources.SPECS),
        *GENERATORS,
    }
    assert len({*NAMES}) == len(NAMES)
    assert not {*NAMES} & others


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_what_it_says_on_all_short_words(name: str) -> None:
    program = load(name).program
    longest = {1: 9, 2: 6, 3: 5, 4: 4}.get(len(program.alphabet), 3)
    for length in range(1, longest + 1):
        for word in product(program.alphabet, repeat=length):
            found = list(evaluate(program.root, word)[program.root])
            start = length - 1 if name in AT_THE_END else 0
            assert found[start:] == PLAIN[name](word)[start:], word


@pytest.mark.parametrize("name", NAMES)
def test_its_headers_and_examples(name: str) -> None:
    loaded = load(name)
    program = loaded.program
    assert loaded.warnings == ()
    assert program.title
    assert program.alphabet
    assert program.examples
    for example in program.examples:
        node = program.definitions[example.of or program.chosen]
        values = [{True: "T", False: "F"}.get(value, value) for value in evaluate(node, example.word)[node]]
        wanted = list(example.values)
        assert (values if len(wanted) == len(values) else values[-1:]) == wanted


@pytest.mark.parametrize("name", NAMES)
def test_it_reads_back_as_it_is_written(name: str) -> None:
    program = load(name).program
    again = read(write(program), file=f"x.{program.language}").program
    assert shown(again.root) == shown(program.root)
    assert (again.alphabet, again.examples, again.title) == (program.alphabet, program.examples, program.title)
    assert {name: shown(node) for name, node in again.definitions.items()} == {
        name: shown(node) for name, node in program.definitions.items()
    }


def test_a_file_or_a_name_is_loaded(tmp_path: Path) -> None:
    path = tmp_path / "mine.tl"
    path.write_text("once Q[a]")
    assert load(path).program.name == "mine"
    assert load("hop-1").program.name == load("hop-1.srasp").program.name == "hop-1"
    assert load("since-b").program.language == "tl"
    assert is_logic("since-b")
    assert is_logic("x/y.SRASP")
    assert not is_logic("dyck-1")
    with pytest.raises(NotFoundError, match="no formula of that name is shipped .did you mean 'since-b'"):
        load("since-d")


def test_what_looks_like_a_formula_or_a_program() -> None:
    for name in NAMES:
        assert looks_like(load(name).program.text.encode()), name
    for text in (b"odd(count(Q[a]))", b"x = 3\ny := x since x", b"# a comment\n\nf(s) = s = 'a'\nx(i) = f(in(i))", b"Q[a"):
        assert looks_like(text)
    for folder, ending in (("machines", ".yaml"), ("programs", ".rasp"), ("specs", ".yaml")):
        for path in (ROOT / folder).glob(f"*{ending}"):
            assert not looks_like(path.read_bytes()), path
    for text in (b"", b"INPUT(Q_1)\nOUTPUT(y)\ny = NOT(Q_1)\n", b"aag 1 1 0 1 0\n2\n2\n", b".model x\n", b"\xff\xfe"):
        assert not looks_like(text)


def test_standard_input_is_read() -> None:
    assert from_text(b"once Q[a]").program.name == "stdin"
