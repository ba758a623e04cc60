"""A machine is put into the prompt of a universal decoder, however that is given; whatever makes no sense is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import tm2tfr
from tm2tfr.base.errors import CompileError, InputError, SpecError, WeightFileError
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
    with pytest.raises(
        CompileError, match="and this decoder runs machines with at most 3 and 4: use the size 5,3 or a larger one"
    ):
        tm2tfr.check(tm2tfr.compile(tm2tfr.Universal(states=3, symbols=4)), machine="chapter")


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


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "too small": (
        {"universal": (2, 2)},
        "chapter: it has 5 states with rules and 3 symbols, and this decoder runs machines with at most 2 and 2: "
        "use the size 5,3 or a larger one",
    ),
    "no states": ({"universal": "0,4"}, "a universal decoder cannot have 0 states: use a whole number from 1 on"),
    "too many": (
        {"universal": "1000000,4"},
        "a universal decoder of 1,000,000 states and 4 symbols has more than 28,000,000 tokens: use fewer states",
    ),
    "many symbols": ({"universal": (8, 63)}, "a universal decoder cannot have 63 symbols: use a whole number from 1 to 62"),
    "words": (
        {"universal": "large"},
        "'large' is not the size of a universal decoder, nor weights of one: use for example 8,4 for 8 states and 4 "
        "symbols, or a weight file",
    ),
    "a number": ({"universal": 8}, "8 is not the size of a universal decoder, nor weights of one: use for example 8,4"),
    "other weights": (
        {"universal": tm2tfr.compile("busy-beaver-2")},
        "busy-beaver-2: these weights are not those of a universal decoder: make some with tm2tfr compile --universal 8,4",
    ),
    "a tape that there is not": ({"universal": (8, 4), "tape": "uni"}, "unknown tape 'uni': use both, one-way, two-way"),
    "the other tape": (
        {"universal": (8, 4), "tape": "two-way"},
        "chapter: its tape is one-way, and this decoder is for machines with a two-way tape: use one for both",
    ),
    "a tape beside weights": (
        {"universal": EVERY, "tape": "one-way"},
        "universal-8-4 is for the tape 'both', not 'one-way': omit --tape",
    ),
    "a tape alone": (
        {"tape": "one-way"},
        "chapter: --tape is for the prompt of a universal decoder: omit it, or say which decoder with "
        "--universal, for example 8,4",
    ),
    "a seed alone": ({"seed": 1}, "chapter: --seed is for the prompt of a universal decoder: omit it"),
    "a seed that is none": (
        {"universal": (8, 4), "seed": "x"},
        "the seed of the order of the rules cannot be 'x': use a whole number",
    ),
    "the chapter's left boundary": (
        {"universal": (8, 4), "left_boundary": "chapter"},
        "chapter: in a universal decoder the left boundary is the repaired one: omit --left-boundary",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_makes_no_sense_is_refused(case: str) -> None:
    options, words = REFUSED[case]
    with pytest.raises(CompileError) as caught:
        tm2tfr.compile("chapter", **options)
    assert str(caught.value).startswith(words)


@pytest.mark.parametrize(
    ("subject", "words"),
    [
        (
            "full-adder",
            "full-adder is a circuit, and a universal decoder runs Turing machines, which are in its prompt: omit",
        ),
        ("reverse.rasp", "reverse.rasp is a program, and a universal decoder runs Turing machines"),
        ("dyck-1", "dyck-1 is a program, and a universal decoder runs Turing machines"),
        (EVERY, "universal-8-4: these weights are already compiled: give the machine, and weights as its universal option"),
        (tm2tfr.compile("busy-beaver-2"), "busy-beaver-2: these weights are already compiled: give the machine"),
        (CLASS, "universal-8-4 is for a universal decoder already, of at most 8 states and 4 symbols: omit the universal"),
    ],
)
def test_a_universal_decoder_is_for_machines_alone(subject: Any, words: str) -> None:
    with pytest.raises(CompileError) as caught:
        tm2tfr.compile(subject, universal=(8, 4))
    assert str(caught.value).startswith(words)


def test_weights_must_be_those_of_their_class(tmp_path: Path) -> None:
    swapped = (*EVERY.vocabulary[1:], EVERY.vocabulary[0])
    with pytest.raises(CompileError, match="they are for 8 states and 4 symbols, and their tokens say otherwise: compile"):
        tm2tfr.compile("chapter", universal=replace(EVERY, vocabulary=swapped))
    for ends in ({"stop": ("(q0,1,+1)",)}, {"stop": ()}, {"bos": "ACC"}, {"bos": None}):
        with pytest.raises(CompileError, match="they are for 8 states and 4 symbols, and their tokens say otherwise"):
            tm2tfr.compile("busy-beaver-2", universal=replace(EVERY, **ends))
    other = {**EVERY.provenance, "source": EVERY.provenance["source"].replace("8", "7")}
    with pytest.raises(CompileError, match="they are for 7 states and 4 symbols, and their tokens say otherwise"):
        tm2tfr.compile("chapter", universal=replace(EVERY, provenance=other))
    with pytest.raises(SpecError, match="what is stored with these weights is not a class of machines"):
        tm2tfr.compile("chapter", universal=replace(EVERY, provenance={**other, "source": "{}"}))
    with pytest.raises(WeightFileError, match="there is no such file"):
        tm2tfr.compile("chapter", universal=tmp_path / "none.safetensors")
    held = CLASS.holding(CHAPTER)
    with pytest.raises(
        CompileError, match="of at most 8 states and 4 symbols, and these weights are one of at most 2 states"
    ):
        tm2tfr.compile(held, universal=tm2tfr.compile(tm2tfr.Universal(states=2, symbols=4)))
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
        r": a universal decoder runs the machine in its prompt, and no machine is given: put one there with "
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


def test_prompts_are_refused_with_what_is_wrong() -> None:
    with pytest.raises(SpecError, match="1:9: token 2: "):
        tm2tfr.read_prompt("one-way q9,1 →(q0,1,+1)", (2, 2))
    with pytest.raises(InputError, match="a prompt must be text, not 3: write for example 'one-way q0,1"):
        tm2tfr.read_prompt(3, (2, 2))  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"a prompt must be text, not \{'machine': .{60,70}: write for example"):
        tm2tfr.read_prompt(tm2tfr.prompt_of("chapter").as_dict(), (8, 4))  # type: ignore[arg-type]
    with pytest.raises(CompileError, match="the tokens of a prompt depend on its decoder: give its size too, for example"):
        tm2tfr.read_prompt("one-way BOS")
    with pytest.raises(CompileError, match="full-adder: prompt_of takes a Turing machine, and this is a circuit"):
        tm2tfr.prompt_of("full-adder")
    with pytest.raises(CompileError, match="chapter is in the prompt of a universal decoder already: omit universal, tape"):
        tm2tfr.prompt_of(CLASS.holding(CHAPTER), seed=1)
    with pytest.raises(InputError, match="input"):
        tm2tfr.prompt_of("chapter", "abc")
