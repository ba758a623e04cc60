"""Prompts: what stands in them, as text and back, and as what is stored with weights."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tm2tfr
from tests.sources.turing.universal.cases import (
    EVERY,
    SIZES,
    compiled,
    described,
    random_machine,
    random_programs,
    random_prompt,
    random_word,
)
from tests.strategies import machines_with_inputs, tries
from tm2tfr.base.errors import SpecError
from tm2tfr.sources.turing.library import load, shipped
from tm2tfr.sources.turing.simulator import result
from tm2tfr.sources.turing.spec import Machine
from tm2tfr.sources.turing.universal import prompt, spelled
from tm2tfr.sources.turing.universal.compiler import renamed
from tm2tfr.sources.turing.universal.names import size_of
from tm2tfr.sources.turing.universal.program import Universal
from tm2tfr.sources.turing.universal.truth import UniversalTruth
from tm2tfr.transformer.provenance import SOURCE

SMALL = Universal(states=3, symbols=2)
CHAPTER = EVERY.holding(load("chapter"))


# ── what stands in a prompt ─────────────────────────────────────────────────────────────────────────────────


def test_a_class_with_one_tape_does_not_name_it() -> None:
    one = Universal(states=5, symbols=3, tape="one-way").holding(load("chapter"))
    assert ["one-way", *prompt.prompt(one, "11")] == list(prompt.prompt(CHAPTER, "11"))
    assert f"one-way {prompt.text(one, '11')}" == prompt.text(CHAPTER, "11")


def test_the_input_is_in_the_machines_symbols_or_in_any_others() -> None:
    assert prompt.prompt(CHAPTER, "11")[-2:] == ("1", "1")
    assert prompt.prompt(EVERY.holding(load("palindromes")), "ab")[-2:] == ("a", "b")
    assert prompt.text(EVERY.holding(load("palindromes")), "ab").split()[-3:] == ["1", "2", "BOS"]


# ── there and back ──────────────────────────────────────────────────────────────────────────────────────────
def agree(program: Universal, word: str) -> None:
    """Read the text of a prompt: it has the same rules and input, and is written as the same text."""
    text = prompt.text(program, word)
    back = prompt.read(text, program.empty)
    assert back.entries == program.entries
    assert back.right.tape == program.right.tape
    numbers = [program.names.symbols.index(a) for a in word]
    assert [back.names.symbols.index(a) for a in back.right.input or ""] == numbers
    assert prompt.text(back, back.right.input or "") == text
    assert prompt.read(text, program.empty) == back
    here, there = (run(program, word), run(back, back.right.input or ""))
    assert abs(len(here) - len(there)) <= 1  # a verdict without a rule of the machine's own takes no step
    assert here[: len(there)] == there[: len(here)]


def run(program: Universal, word: str) -> list[int]:
    """Return the answers of a run of 20 steps as numbers in the vocabulary."""
    numbers = {token: n for n, token in enumerate(program.vocabulary)}
    return [numbers[row.y] for row in UniversalTruth(program, word, max_steps=20).rows()]


@pytest.mark.slow
@settings(max_examples=tries(250))
@given(machines_with_inputs(), st.none() | st.integers(0, 99))
def test_a_machine_in_a_prompt_is_read_from_its_text(case: tuple[Machine, str], seed: int | None) -> None:
    machine, word = case
    states, symbols = size_of(machine)
    for universal in (EVERY, Universal(states=states, symbols=symbols, tape=machine.tape)):
        agree(universal.holding(machine, seed=seed), word)


def test_what_is_read_is_written_in_the_same_way() -> None:
    chance = random.Random(1)
    for states, symbols in (*SIZES, (2, 62), (30, 3)):
        universal = Universal(states=states, symbols=symbols)
        text = random_prompt(chance, states, symbols, "one-way")
        program, word = described(text, universal)
        assert prompt.text(program, word) == text
        agree(program, word)


def test_the_arrow_and_the_input_may_be_written_in_other_ways() -> None:
    text = "two-way q0,1 →(q1,1,+1) q1,1 →ACC 1 2 1 BOS"
    right = prompt.read(text, EVERY)
    for other in (text.replace("→", "->"), text.replace("1 2 1 BOS", "121"), text.replace(" ", "\n"), text.encode()):
        assert prompt.read(other, EVERY) == right


# ── stored with weights ─────────────────────────────────────────────────────────────────────────────────────
def kept(program: Universal, folder: Path) -> Universal:
    """Return the program that is found in a weight file with `program` in it."""
    path = folder / "weights.safetensors"
    decoder = renamed(compiled(program.empty), program)
    tm2tfr.save_weights(decoder, path)
    loaded = tm2tfr.load_weights(path)
    assert loaded == decoder
    return spelled.restored(loaded.provenance[SOURCE], str(path))


@pytest.mark.slow
def test_weight_files_have_the_class_and_the_machine(tmp_path: Path) -> None:
    for program in (
        EVERY,
        Universal(states=2, symbols=3, tape="one-way"),
        CHAPTER,
        EVERY.holding(load("palindromes"), seed=4),
        prompt.read("two-way q1,1 →REJ q0,0 ->(q1,1,-1) 2 1", EVERY),
        replace(prompt.read("two-way q1,1 →REJ q0,0 ->(q1,1,-1)", EVERY), seed=5),
    ):
        back = kept(program, tmp_path)
        assert (back.empty, back.entries, back.vocabulary) == (program.empty, program.entries, program.vocabulary)
        assert back.seed == (None if program.described is not None else program.seed)
        if program.machine is not None:
            assert back.right == program.right


def test_what_is_stored_is_the_machine_that_is_there() -> None:
    """A random machine has no text that it was read from; that of a shipped one is kept, with its comments."""
    chance = random.Random(4)
    for program, _ in random_programs(chance, 64):
        back = spelled.restored(spelled.written(program), "f")
        assert (back.entries, back.names, back.right.tape) == (program.entries, program.names, program.right.tape)
    for name in (name for name in shipped() if size_of(load(name)) <= (8, 4) and size_of(load(name))[1] <= 4):
        program = EVERY.holding(load(name))
        assert spelled.restored(spelled.written(program), "f") == program
        assert spelled.restored(spelled.written(program), "f").right.yaml == program.right.yaml


def test_a_machine_that_was_changed_is_not_stored_as_it_was() -> None:
    chapter = load("chapter")
    other = replace(chapter, tape="two-way")
    assert spelled.restored(spelled.written(EVERY.holding(other)), "f").right.tape == "two-way"


@pytest.mark.slow
def test_a_damaged_text_is_a_program_or_refused() -> None:
    chance, read = random.Random(6), 0
    machine = random_machine(chance, 3, 2, "two-way")
    assert result(machine, random_word(chance, machine), max_steps=9).steps >= 0
    texts = [spelled.written(p) for p in (SMALL, SMALL.holding(machine, seed=1), prompt.read("one-way q0,1 →ACC 1", SMALL))]
    for _ in range(tries(3_000)):
        text = chance.choice(texts)
        at = chance.randrange(len(text))
        text = chance.choice(
            (text[:at] + text[at + chance.randrange(1, 5) :], text[:at] + chance.choice('09"{[,:') + text[at:])
        )
        try:
            spelled.restored(text, "w")
        except SpecError as error:
            assert error.diagnostics  # noqa: PT017
        else:
            read += 1
    assert read > tries(3_000) / 30
