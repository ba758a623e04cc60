"""Inputs as other programs have them: blanks within, symbols that only wildcards read, tapes and states to begin with."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.sources.turing.formats.test_complaints import read, warned
from tests.sources.turing.formats.test_jflap import ENDS, document, step
from tests.strategies import machines
from tm2tfr.base.errors import InputError
from tm2tfr.sources.turing.formats import native, registry
from tm2tfr.sources.turing.simulator import result
from tm2tfr.sources.turing.spec import Machine, Rule

ADDER = """\
; adds two binary numbers with a space between them, as the site's sample does
0 _ _ r second
0 * * r 0
second _ _ l take
second * * r second
take 0 _ l zero
take 1 _ l one
take _ _ l clean
zero _ _ l add0
zero * * l zero
one _ _ l add1
one * * l one
add0 0 o r 0
add0 1 i r 0
add0 _ o r 0
add0 * * l add0
add1 0 i r 0
add1 _ i r 0
add1 1 o l carry
add1 * * l add1
carry 0 1 r back
carry _ 1 r back
carry 1 0 l carry
back _ _ * 0
back * * r back
clean o 0 l clean
clean i 1 l clean
clean _ _ r halt
clean * * l clean
"""


def plain(rules: Mapping[tuple[str, str], Rule], start: str, tape: str, limit: int) -> tuple[str, int, str]:
    """Run rules, of which all symbols but the blank are other than '_', on a tape that has blanks in it."""
    cells, state, head = dict(enumerate(tape.replace(" ", "_"))), start, 0
    steps = 0
    while steps < limit and (rule := rules.get((state, cells.get(head, "_")))) is not None:
        state, cells[head], head = rule.state, rule.write, head + rule.move
        steps += 1
    text = "".join(cells.get(k, "_") for k in range(min(cells, default=0), max(cells, default=0) + 1))
    return state, steps, text.strip("_")


def without(machine: Machine, letter: str) -> dict[tuple[str, str], Rule]:
    """The rules of a machine but for those that read a letter."""
    return {(q, a): rule for (q, a), rule in machine.transitions.items() if a != letter}


def same(machine: Machine, letter: str, limit: int = 400) -> None:
    """Hold the run on the machine's input against the one on a tape that has blanks in its place."""
    assert machine.input is not None
    word = machine.input.replace(letter, machine.blank)
    state, steps, tape = plain(without(machine, letter), machine.start, word, limit)
    got = result(machine, machine.input, max_steps=limit)
    assert (got.steps, got.tape.replace(letter, "_").strip("_")) == (steps, tape)
    assert (got.outcome == "limit") == (steps == limit)
    assert state in machine.states


# ── Morphett ────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_initial_tape_is_the_input_and_its_spaces_are_blanks() -> None:
    machine, _ = warned(f"{ADDER}; This is a hack to load a tape. $INITIAL_TAPE: 110110 101011  \n", "morphett")
    assert machine.input == "110110 101011"
    assert " " in (machine.input_alphabet or ())
    assert {machine.transitions[q, " "] for q in machine.states if (q, " ") in machine.transitions} == {
        machine.transitions[q, "_"] for q in machine.states if (q, "_") in machine.transitions
    }
    same(machine, " ", 2_000)
    assert result(machine, machine.input, max_steps=2_000).tape.strip("_") == "1100001"
    assert result(machine, "1 1").tape.strip("_") == "10"


@pytest.mark.parametrize(
    ("header", "word", "spaces"),
    [
        ("; input: 10 1", "10 1", True),
        ("; input: 10_1", "10 1", True),
        ("; $INITIAL_TAPE: 10 1", "10 1", True),
        ("; $INITIAL_TAPE 10", "10", False),
        ("; $INITIAL_TAPE: *10", "10", False),
        ("; input: 101\n; $INITIAL_TAPE: 1", "101", False),
        ("; input: two numbers\n; $INITIAL_TAPE: 1", "1", False),
        ("; input: a word, perhaps", None, False),
        ("; input alphabet: 0 1 _\n; input: 1 1", "1 1", None),
    ],
)
def test_what_the_input_is(header: str, word: str | None, spaces: bool | None) -> None:
    machine, said = warned(f"{header}\n{ADDER}", "morphett")
    assert machine.input == word
    assert bool(said) == bool(spaces)
    assert (" " in machine.tape_alphabet) == (spaces is not False)


def test_a_space_where_no_input_has_one() -> None:
    machine = read(f"; input alphabet: 0 1 _\n{ADDER}", "morphett")
    assert (machine.input_alphabet, machine.check_input("1 1")) == (("0", "1", " "), "1 1")


def test_symbols_that_only_a_wildcard_reads() -> None:
    text = "0 * * r 0\n0 _ _ * halt\n"
    assert result(read(f"; input alphabet: a b\n{text}", "morphett"), "ab").steps == 3
    assert read(f"; $INITIAL_TAPE: ab\n{text}", "morphett").check_input("ba") == "ba"


def test_another_initial_state() -> None:
    program = "go 1 1 r go\ngo _ _ l halt\n"
    assert read(f"; initial state: go\n{program}", "morphett").start == "go"
    assert result(read(f"; initial state: go\n{program}", "morphett"), "11").steps == 3
    assert "; initial state" not in registry.write(read(f"; initial state: go\n{program}", "morphett"), "morphett").text


# ── what the site saves ─────────────────────────────────────────────────────────────────────────────────────
SAVED: dict[str, object] = {
    "program": "go 1 1 r go\ngo _ _ l halt\n",
    "state": "go",
    "tape": "11",
    "tapeoffset": 0,
    "headposition": 0,
    "steps": 0,
    "initialtape": "11",
    "initialstate": "go",
    "fullspeed": True,
    "variant": 0,
    "version": 1,
}


def saved(**changes: object) -> str:
    return json.dumps({key: value for key, value in {**SAVED, **changes}.items() if value is not None}, indent=1)


@pytest.mark.parametrize("file", ["f", "machine.json", "<stdin>"])
def test_a_snapshot_is_the_machine_with_its_settings(file: str) -> None:
    machine = read(saved(), file=file)
    assert (machine.start, machine.input, machine.tape) == ("go", "11", "two-way")
    assert result(machine, "11").steps == 3
    assert read(saved(variant=1), file=file).tape == "one-way"
    assert read(saved(initialtape="", initialstate=" go  x "), file=file).input is None


def test_what_a_snapshot_leaves_open() -> None:
    assert read(saved(program="0 _ _ l halt", initialstate=None, initialtape=None, variant=None)).start == "0"


# ── turingmachine.io and our YAML ───────────────────────────────────────────────────────────────────────────
def yaml(blank: str, word: str, table: str) -> str:
    return f"blank: '{blank}'\nstart state: a\ninput: '{word}'\ntable:\n{table}"


TO_THE_SECOND = "  a: {[1, 0]: R, ' ': {write: ' ', R: b}}\n  b: {[1, 0]: R, ' ': {L: end}}\n  end:\n"


def test_a_blank_within_the_input_has_a_letter_of_its_own() -> None:
    machine, _ = warned(yaml(" ", "10 1", TO_THE_SECOND))
    assert (machine.input, result(machine, "10_1").steps) == ("10_1", 5)
    assert (machine.transitions["a", "_"], machine.transitions["b", "_"]) == (Rule("b", " ", 1), Rule("end", " ", -1))
    assert registry.read(native.write(machine), file="f").machine.transitions == machine.transitions


def test_the_letter_is_one_that_is_not_in_use() -> None:
    table = TO_THE_SECOND.replace("[1, 0]", "[1, _]")
    assert registry.read(yaml(" ", "1 1", table), file="f").machine.input == "1␣1"
    assert registry.read(yaml("0", "101", "  a: {1: R, 0: {R: end}}\n  end:\n"), file="f").machine.input == "1_1"


@pytest.mark.slow
@given(machine=machines(), words=st.lists(st.integers(0, 5), min_size=1, max_size=6))
def test_no_run_differs(machine: Machine, words: list[int]) -> None:
    symbols = [machine.blank, *(a for a in machine.tape_alphabet if a != machine.blank)]
    word = "".join(symbols[k % len(symbols)] for k in words)
    text = native.write(Machine(transitions=machine.transitions, start=machine.start, blank=machine.blank, name="m"))
    with_word = registry.read(text.replace("table:", f"input: {json.dumps(word)}\ntable:", 1), file="f.yaml").machine
    trimmed = word.rstrip(machine.blank)
    letter = next((b for a, b in zip(trimmed, with_word.input or "", strict=True) if a != b), None)
    cells = trimmed.replace(machine.blank, "_") if machine.blank != "_" else trimmed
    names = {machine.blank: "_"}
    rules = {
        (q, names.get(a, a)): Rule(r.state, names.get(r.write, r.write), r.move)
        for (q, a), r in machine.transitions.items()
    }
    _, steps, tape = plain(rules, machine.start, cells, 60)
    got = result(with_word, with_word.input or "", max_steps=60)
    assert got.steps == steps
    assert got.tape.replace(letter or machine.blank, machine.blank).replace(machine.blank, "_").strip("_") == tape


# ── JFLAP ───────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("reads", ["~", "!1"])
def test_symbols_that_only_a_wildcard_of_jflap_reads(reads: str) -> None:
    text = document(ENDS, step(0, 0, reads, "~"), *([step(0, 1, "1", "1")] if reads != "~" else []))
    machine = registry.read(text, file="f.jff").machine
    with pytest.raises(InputError, match=r"or list others in the file, as in '<!-- input alphabet: (1 )?x -->'"):
        machine.check_input("a1")
    named = registry.read(text.replace("<structure>", "<!-- input alphabet: a 1 --><structure>", 1), file="f.jff").machine
    assert named.check_input("a1") == "a1"
