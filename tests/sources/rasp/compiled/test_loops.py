"""Weights of programs with loops have the interpreter's values, on every engine that runs them."""

from __future__ import annotations

import dataclasses
import json
import random
import re
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import tm2tfr
from tests.sources.rasp.language.test_loops import PROGRAMS
from tm2tfr.api.subject import Subject
from tm2tfr.base.errors import CompileError, Tm2tfrError
from tm2tfr.engines.dense import DenseDecoder
from tm2tfr.runs.told import Cause
from tm2tfr.sources.rasp.evaluate import Undefined, evaluate
from tm2tfr.sources.rasp.read import read
from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.weights import Decoder, matrices, replaced


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_values_are_right_on_every_engine(name: str) -> None:
    program = read(PROGRAMS[name], file=f"{name}.rasp").program
    decoder = tm2tfr.compile(program, max_length=5)
    assert decoder.outputs[0].name == program.chosen
    rng, compared = random.Random(name), 0
    for length in (1, 2, 5):
        every = list(product(program.alphabet, repeat=length))
        for word in rng.sample(every, min(6, len(every))):
            try:
                evaluate(program.sops.values(), word)
            except Undefined:
                continue
            for engine, dtype in (("dense", "float64"), ("dense", "float32"), ("exact", None)):
                found = tm2tfr.check(decoder, json.dumps(word), engine=engine, dtype=dtype)
                assert found.agrees, (word, engine, dtype, found.divergence)
                compared += 1
    assert compared >= 12


def test_layers_are_shared_by_passes() -> None:
    """The number of layers is that of a pass, whatever the number of passes."""
    made = [tm2tfr.compile(read(PROGRAMS["parity"], file="p.rasp").program, max_length=n) for n in (3, 30)]
    assert [len(decoder.layers) for decoder in made] == [2, 2]
    (loop,) = made[0].loops
    assert (loop.first, loop.last, loop.times) == (1, 2, None)
    assert loop.until is not None
    assert loop.until.nonzero == 1
    two = tm2tfr.compile(read(PROGRAMS["two loops"], file="p.rasp").program, max_length=4)
    assert [(loop.times, loop.until is None) for loop in two.loops] == [(None, False), (2, False)]


def test_the_mask_is_that_of_a_program_without_looking_ahead() -> None:
    decoder = tm2tfr.compile(read(PROGRAMS["parity"], file="p.rasp").program, max_length=4)
    assert {head.mask for layer in decoder.layers for head in layer.heads} == {"future"}
    decoder = tm2tfr.compile(read(PROGRAMS["minimum"], file="p.rasp").program, max_length=4)
    assert {head.mask for layer in decoder.layers for head in layer.heads} == {"none"}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "x = 1;\nrepeat 40 { x = x + 1; }",
            "text.rasp:3:13: 'x before each pass' can have more than 20 values in the passes",
        ),
        ("x = indices;\nrepeat until x > 3 { x = x; }", "text.rasp:3:1: the condition of this loop never holds"),
        (
            "x = indices;\nrepeat 2 until x { x = x; }",
            "the condition of a loop is true or false, and 'x before each pass' can be 2",
        ),
    ],
)
def test_loops_that_cannot_be_compiled_are_refused_with_their_place(text: str, problem: str) -> None:
    program = read(f"# alphabet: ab\n{text}\nz = x + 0 * indices;", file="text.rasp").program
    with pytest.raises(CompileError) as caught:
        tm2tfr.compile(program, max_length=3, max_values=20)
    assert problem in str(caught.value)


def test_a_stated_number_of_passes_bounds_what_a_state_can_be() -> None:
    program = read("# alphabet: ab\nx = 1;\nrepeat 12 { x = x + 1; }\nz = x + 0 * indices;", file="text.rasp").program
    assert tm2tfr.check(tm2tfr.compile(program, max_length=3, max_values=20), "ab").agrees


def test_inputs_of_any_length_are_refused() -> None:
    program = read(PROGRAMS["parity"], file="p.rasp").program
    with pytest.raises(CompileError, match="p.rasp:5:1: loops .* compile it for inputs of up to some length"):
        tm2tfr.compile(program, unbounded=True)


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        (
            lambda made, folder: tm2tfr.export_to("gpt2", made, folder, verify=False),
            "loops over layers, which an export to GPT-2",
        ),
        (
            lambda made, folder: tm2tfr.export_to("lens", made, folder, verify=False),
            "loops over layers, which an export to Transf",
        ),
        (
            lambda made, folder: tm2tfr.export_to("bert", made, folder, verify=False),
            "loops over layers, which an export to BERT",
        ),
        (lambda made, folder: tm2tfr.make_labels(made, folder, random=3), "labels are of a single pass over the layers"),
        (lambda made, _: tm2tfr.intervene(made, "ab", {("n", 0): "1"}), "interventions are on values of a single pass"),
        (lambda made, _: tm2tfr.soften(made, temperature=0.01), "loops, in whose passes the errors of softmax add up"),
        (lambda made, _: tm2tfr.disguise(made), "weights with loops are not disguised"),
        (lambda made, _: tm2tfr.check(made, "ab", engine="fast"), "the fast engine runs position by position"),
        (lambda made, _: tm2tfr.certify(made), "no certificates of RASP programs"),
    ],
)
def test_what_does_not_know_loops_says_so(call: Callable[[Subject, Path], object], problem: str, tmp_path: Path) -> None:
    made = tm2tfr.Subject.of(read(PROGRAMS["minimum"], file="p.rasp").program, options={"max_length": 3})
    with pytest.raises(Tm2tfrError, match=re.escape(problem)):
        call(made, tmp_path / "x")


def cause(decoder: Decoder, word: str) -> Cause:
    """Return the cause of the first difference on a word, with the program as the reference."""
    found = tm2tfr.check(decoder, word, machine=read(PROGRAMS["parity"], file="p.rasp").program)
    assert not found.agrees
    assert found.divergence is not None
    assert found.divergence.cause is not None
    return found.divergence.cause


@pytest.mark.slow
def test_the_cause_of_a_difference_names_the_pass() -> None:
    program = read(PROGRAMS["parity"], file="p.rasp").program
    right = tm2tfr.compile(program, max_length=5)
    right = dataclasses.replace(right, loops=(dataclasses.replace(right.loops[0], times=6),))  # wrong weights may not end
    path, passes = "layers.2.feed_forward.output", set()
    matrix = matrices(right)[path]
    for place in range(0, matrix.nonzero, 2):
        entries = {(row, column): value for row, column, value in matrix.entries()}
        entries[list(entries)[place]] = 0.0
        wrong = replaced(right, {path: Matrix.from_entries(matrix.shape, entries)})
        if not tm2tfr.check(wrong, "01101", machine=program).agrees:
            told = cause(wrong, "01101")
            assert (told.layer, told.part) == (2, "feed_forward")
            assert f"pass {told.made}, feed-forward" in str(told)
            assert told.as_dict()["made"] == told.made
            passes.add(told.made)
    assert passes >= {1, 2}


@pytest.mark.parametrize("until", [{(0, 0): 0.0}, "always"])
def test_a_loop_that_ends_too_early_or_too_late_is_the_cause(until: Any) -> None:
    right = tm2tfr.compile(read(PROGRAMS["parity"], file="p.rasp").program, max_length=5)
    one = right.layout["1"].start
    row = Matrix.from_entries((1, right.layout.width), {(0, one): 1.0} if until == "always" else until)
    wrong = dataclasses.replace(right, loops=(dataclasses.replace(right.loops[0], until=row, times=3),))
    told = cause(wrong, "01101")
    assert told.subspace == "the passes of loop 1"
    assert (told.expected, told.found) == ("4", "1" if until == "always" else "3")
    assert tm2tfr.check(wrong, "0" if until == "always" else "0110", machine=None).agrees


@pytest.mark.slow
@pytest.mark.parametrize("name", ["looped-parity", "looped-addition"])
def test_inputs_of_many_lengths_are_answered_right(name: str) -> None:
    """All lengths to 200 are tried by ``benchmarks/loops.py``; here a few of them, up to 60."""
    program, rng = tm2tfr.load(name), random.Random(name)
    decoder = tm2tfr.compile(program, max_length=60)
    labels = [int(label) for label in decoder.outputs[0].labels or ()]
    for dtype in ("float64", "float32"):
        dense = DenseDecoder(decoder, dtype)  # type: ignore[arg-type]
        for n in (1, 2, 3, 7, 20, 41, 60):
            plus = rng.randrange(n)
            bits = "".join(rng.choices("01", k=n))
            digits = "".join(rng.choices("0123456789", k=plus)) + "+" + "9" * (n - 1 - plus)
            word = bits if name == "looped-parity" else digits
            left, _, right = digits.partition("+")
            total = str(int(left or "0") + int(right or "0")).zfill(n)
            wanted = [bits[: i + 1].count("1") % 2 for i in range(n)] if word == bits else [*map(int, total)]
            logits = dense.run([[decoder.numbers[token] for token in word]]).logits[: len(labels), 0]
            assert [labels[k] for k in logits.argmax(axis=0)] == wanted
