"""A machine is put into the prompt of a universal decoder, however that is given; whatever makes no sense is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tm2tfr
from tm2tfr.base.errors import CompileError, WeightFileError
from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.weights import matrices, replaced

CLASS = tm2tfr.Universal(states=8, symbols=4)
EVERY = tm2tfr.compile(CLASS)
CHAPTER = tm2tfr.load("chapter")


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "universal.safetensors"
    tm2tfr.save_weights(EVERY, path)
    return str(path)


def forms(file: str) -> dict[str, Any]:
    of_another = tm2tfr.compile("busy-beaver-5", universal=EVERY)
    return {
        "pair": (8, 4),
        "list": [8, 4],
        "text": "8,4",
        "text with a space": " 8, 4",
        "class": CLASS,
        "class with a machine": CLASS.holding(tm2tfr.load("binary-increment")),
        "weights": EVERY,
        "weights with a machine": of_another,
        "file": file,
        "path": Path(file),
    }


@pytest.mark.slow
def test_a_universal_decoder_is_given_in_every_form_with_one_meaning(file: str) -> None:
    right = tm2tfr.compile(CLASS.holding(CHAPTER))
    for form, given in forms(file).items():
        found = tm2tfr.compile("chapter", universal=given)
        assert found == right, form
        assert tm2tfr.prompt_of("chapter", "11", universal=given).text.startswith("one-way q0,1 →(q1,0,+1) "), form
    assert tm2tfr.check(right, "11").result == tm2tfr.simulate("chapter", "11")
    assert list(matrices(right)) == list(matrices(EVERY))


@pytest.mark.slow
def test_the_weights_that_are_given_are_the_ones_that_run() -> None:
    """Damaged weights stay damaged in the machine's own names: nothing is compiled anew."""
    name, unembedding = next((name, matrix) for name, matrix in matrices(EVERY).items() if name == "unembedding")
    damaged = replaced(EVERY, {name: Matrix.from_entries(unembedding.shape, {})})
    trace = tm2tfr.check(tm2tfr.compile("chapter", universal=damaged), "11")
    assert trace.divergence is not None
    assert trace.machine == "chapter"
    assert tm2tfr.check(damaged, "11", machine="chapter") == trace
    soft = tm2tfr.soften(EVERY, temperature=1e-6)
    placed = tm2tfr.compile("chapter", universal=soft)
    assert (placed.soft, placed.provenance["temperature"]) == (True, "1e-06")
    assert tm2tfr.check(placed, "11").agrees


def test_a_machine_to_compare_with_is_put_into_the_prompt() -> None:
    for weights in (EVERY, tm2tfr.compile("busy-beaver-5", universal=EVERY)):
        trace = tm2tfr.check(weights, "11", machine="chapter")
        assert (trace.agrees, trace.machine, trace.answer) == (True, "chapter", "accept")


def test_the_subject_has_the_machine_in_the_prompt() -> None:
    subject = tm2tfr.Subject.of("chapter", options={"universal": EVERY, "seed": 3})
    assert (subject.machine, subject.noun, subject.name, subject.lacks_machine) == (CHAPTER, "machine", "chapter", False)
    assert subject.right == CLASS.holding(CHAPTER, seed=3)
    assert subject.decoder.vocabulary == subject.right.vocabulary
    assert tm2tfr.machine_of(subject.decoder) == CHAPTER
    assert tm2tfr.simulate(subject.decoder, "11") == tm2tfr.simulate("chapter", "11")
    assert tm2tfr.Subject.of(subject.decoder).right == subject.right
    assert tm2tfr.Subject.of(EVERY).lacks_machine


@pytest.mark.slow
def test_the_machines_description_counts_for_the_choice_of_the_engine() -> None:
    pytest.importorskip("numba", reason="pip install 'tm2tfr[fast]'")
    forever = tm2tfr.read_prompt("two-way q0,0 →(q0,0,+1) BOS", (2, 2))
    assert tm2tfr.check(forever, max_steps=1_019).engine == "dense"  # 3 tokens, BOS, and one for each step: 1,024
    for long in (tm2tfr.check(forever, max_steps=1_020), tm2tfr.run(forever, max_steps=1_020)):
        assert long.engine == "fast"


def test_weights_must_be_those_of_their_class(tmp_path: Path) -> None:
    with pytest.raises(WeightFileError, match="there is no such file"):
        tm2tfr.compile("chapter", universal=tmp_path / "none.safetensors")
    held = CLASS.holding(CHAPTER)
    assert tm2tfr.compile(held, universal=EVERY) == tm2tfr.compile(held)


NEED_A_MACHINE: dict[str, Callable[[Any], Any]] = {
    "check": tm2tfr.check,
    "run": tm2tfr.run,
    "simulate": tm2tfr.simulate,
    "machine_of": tm2tfr.machine_of,
    "explore": tm2tfr.explore,
    "measure_softness": tm2tfr.measure_softness,
    "to_graph": tm2tfr.to_graph,
    "convert": lambda s: tm2tfr.convert(s, "yaml"),
    "attention_of": tm2tfr.attention_of,
    "prompt_of": tm2tfr.prompt_of,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", NEED_A_MACHINE)
def test_without_a_machine_it_is_said_that_one_is_needed(name: str, file: str) -> None:
    words = (
        r": a universal decoder runs the machine in its prompt, and there is none: put one there with "
        r"tm2tfr.compile\(machine, universal=\(8, 4\)\), or read a prompt with tm2tfr.read_prompt\(text, \(8, 4\)\)$"
    )
    for form in (CLASS, EVERY, file):
        with pytest.raises(CompileError, match=words):
            NEED_A_MACHINE[name](form)


# ── prompts ─────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_prompt_has_tokens_ids_and_names() -> None:
    found = tm2tfr.prompt_of("busy-beaver-2")
    tokens = ["two-way", "q0,0", "→(q1,1,+1)", "q0,1", "→(q1,1,-1)", "q1,0", "→(q0,1,-1)", "q1,1", "→(halt,1,+1)", "BOS"]
    assert found.as_dict() == {
        "machine": "busy-beaver-2",
        "input": "",
        "universal": {"states": 2, "symbols": 2, "tape": "both"},
        "tokens": tokens,
        "ids": [48, 23, 38, 24, 36, 25, 30, 26, 44, 1],
        "states": {"A": "q0", "B": "q1", "Z": "halt"},
        "symbols": {"0": "0", "1": "1"},
    }
    assert found.text == " ".join(tokens)
    decoder = tm2tfr.compile(tm2tfr.Universal(states=2, symbols=2))
    assert [decoder.vocabulary[n] for n in found.ids] == tokens


@pytest.mark.slow
def test_a_prompt_is_read_again_and_runs_the_same() -> None:
    for name, word in (("chapter", "11"), ("palindromes", "aba"), ("busy-beaver-4", "")):
        found = tm2tfr.prompt_of(name, word, universal=EVERY, seed=5)
        again = tm2tfr.read_prompt(found.text, EVERY)
        assert str(found) == found.text
        assert again == tm2tfr.read_prompt(found) == tm2tfr.read_prompt(found.tokens, (8, 4))
        assert again == tm2tfr.read_prompt(found.ids, (8, 4)) == tm2tfr.read_prompt(" ".join(map(str, found.ids)), (8, 4))
        assert again == tm2tfr.read_prompt(json.dumps(found.as_dict(), indent=2), EVERY)
        assert tm2tfr.prompt_of(again).tokens == found.tokens
        trace = tm2tfr.check(tm2tfr.compile(again, universal=EVERY))
        assert (trace.agrees, trace.T) == (True, tm2tfr.check(name, word).T)


def test_the_names_say_what_gives_a_verdict() -> None:
    found = tm2tfr.prompt_of("palindromes", "a")
    assert (
        found.names()
        == """\
        palindromes  in the prompt
state   first        q0
state   have-a       q1
state   have-b       q2
state   match-a      q3
state   match-b      q4
state   return       q5
state   accept       →ACC
state   reject       →REJ
symbol  _            0
symbol  a            1
symbol  b            2"""
    )


@pytest.mark.slow
def test_the_smallest_class_is_the_smallest() -> None:
    for name in tm2tfr.shipped():
        machine = tm2tfr.load(name)
        least = tm2tfr.prompt_of(machine).universal
        for sizes in ((least.states - 1, least.symbols), (least.states, least.symbols - 1)):
            with pytest.raises(CompileError, match=f"use the size {least.states},{least.symbols} or|cannot have 0"):
                tm2tfr.prompt_of(machine, universal=sizes)
