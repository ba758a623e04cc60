"""The shipped programs as weights: every label at every position of short inputs, beside the interpreter."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.sources.sequence.shipped import names, shipped_program, some
from tm2tfr.base.choices import Float
from tm2tfr.engines.decode import run_whole
from tm2tfr.engines.dense import DenseDecoder
from tm2tfr.engines.exact import Exact
from tm2tfr.sources.rasp.analyse import analyse
from tm2tfr.sources.rasp.compiler.lower import lowered
from tm2tfr.sources.rasp.evaluate import Undefined, evaluate
from tm2tfr.sources.rasp.program import Program, shown_atom
from tm2tfr.sources.rasp.read import read
from tm2tfr.sources.sequence.compiler import compile_graph
from tm2tfr.transformer.claims import Output
from tm2tfr.transformer.weights import Decoder

LENGTH, MOST = 7, 400
"""The longest inputs of the thorough comparison, and the most of one length."""
DTYPES: tuple[Float, ...] = ("float64", "float32")
UNDEFINED = "sort-unique"
"""The program that is undefined on most inputs: those on which a token occurs twice."""


def compiled(program: Program, outputs: dict[str, Any], length: int) -> Decoder:
    """Return the weights of a program with these outputs."""
    return compile_graph(lowered(program, list(outputs.items())), length=length)


def wanted(program: Program, outputs: dict[str, Any], length: int, most: int) -> dict[tuple[Any, ...], list[list[str]]]:
    """Return some inputs of this length, with the label of each output at each position; undefined inputs left out."""
    found = {}
    for word in some(program.alphabet, length, most):
        try:
            values = evaluate(list(outputs.values()), word).values
        except Undefined:
            continue
        found[word] = [[shown_atom(value) for value in values[sop]] for sop in outputs.values()]
    return found


def compared(
    program: Program, outputs: dict[str, Any], dtypes: tuple[Float, ...], *, length: int, most: int
) -> tuple[int, int]:
    """Compare all logits on at most `most` inputs of each length up to `length`.

    Returns:
        The number of inputs, and that of values, each with all of its logits, that were compared.
    """
    decoder = compiled(program, outputs, length)
    engines = [DenseDecoder(decoder, dtype) for dtype in dtypes]
    inputs = cells = 0
    for n in range(1, length + 1):
        runs = wanted(program, outputs, n, most)
        if not runs:
            continue
        tokens = np.array([[decoder.numbers[shown_atom(token)] for token in word] for word in runs])
        columns = np.array(list(runs.values()), dtype=object).transpose(1, 0, 2)  # (outputs, batch, n)
        answers = [_logits(output, own) for output, own in zip(decoder.outputs, columns, strict=True)]
        expected = np.concatenate(answers)
        for engine in engines:
            logits = engine.run(tokens).logits
            assert logits.shape == expected.shape
            wrong = np.argwhere((logits != expected).any(axis=0)).tolist()
            assert wrong == [], (list(runs)[wrong[0][0]], wrong[0][1])
            inputs += len(runs)
            cells += columns.size
    return inputs, cells


def _logits(output: Output, texts: Any) -> Any:
    """Return the logits of one output that shows `texts`, (batch, n): (rows, batch, n)."""
    if output.labels is None:
        return texts[None].astype(float)
    found = np.array([texts == label for label in output.labels])
    assert (found.sum(axis=0) == 1).all()
    return found.astype(float)


def planned(program: Program, length: int, most: int) -> tuple[int, int]:
    """Return how many inputs there are to compare, and how many positions of them."""
    number = [len(some(program.alphabet, n, most)) for n in range(1, length + 1)]
    return sum(number), sum(n * many for n, many in enumerate(number, start=1))


@pytest.mark.slow
@pytest.mark.parametrize("name", names())
def test_answers_are_the_interpreters(name: str) -> None:
    """On up to 60 inputs, in floats of either width."""
    program = shipped_program(name)
    inputs, cells = compared(program, {program.chosen: program.sop}, DTYPES, length=5, most=12)
    if name == UNDEFINED:
        assert (inputs, cells) == (2 * 9, 2 * 15)
    else:
        assert (inputs, cells) == tuple(2 * number for number in planned(program, 5, 12))


@pytest.mark.similar
@pytest.mark.slow
@pytest.mark.parametrize("name", names())
def test_everything_that_has_a_name(name: str) -> None:
    """Each s-op of the program is an output, on hundreds of inputs."""
    program = shipped_program(name)
    inputs, cells = compared(program, dict(program.sops), DTYPES, length=LENGTH, most=MOST)
    if name == UNDEFINED:
        assert (inputs, cells) == (2 * 15, 2 * 2 * 33)
    else:
        many, positions = planned(program, LENGTH, MOST)
        assert (inputs, cells) == (2 * many, 2 * positions * len(program.sops))


def test_how_much_that_is() -> None:
    """All programs together: inputs, and values with all of their logits, in each of the two widths."""
    inputs = cells = 0
    for name in names():
        if name != UNDEFINED:
            program = shipped_program(name)
            many, positions = planned(program, LENGTH, MOST)
            inputs, cells = inputs + many, cells + positions * len(program.sops)
    assert inputs >= 25_000
    assert 2 * cells >= 1_000_000


@pytest.mark.parametrize("name", names())
def test_layers_and_heads_are_those_of_the_analysis(name: str) -> None:
    """As many attention layers, and in each as many heads, as the authors' interpreter draws; equal selectors share one."""
    program = shipped_program(name)
    decoder = compiled(program, {program.chosen: program.sop}, 3)
    assert tuple(len(layer.heads) for layer in decoder.layers if layer.heads) == analyse(program).merged_heads


@pytest.mark.parametrize("name", ["reverse", "histogram", "majority", "sort", "dyck-1"])
def test_in_exact_arithmetic(name: str) -> None:
    program = shipped_program(name)
    one = {program.chosen: program.sop}
    decoder = compiled(program, one, 4)
    (output,) = decoder.outputs
    runs = wanted(program, one, 4, 5)
    assert len(runs) >= 3
    for word, (labels,) in runs.items():
        passed = run_whole(decoder, [decoder.numbers[shown_atom(token)] for token in word], engine=Exact())
        for label, at in zip(labels, passed, strict=True):
            assert list(at.logits) == [int(own == label) for own in output.labels or ()]


# ── where nothing is selected, a head brings a mixture, which no table may take for a value, however it is rounded
PROGRAM = """
# alphabet: abcde
five_on = aggregate(select(indices, indices + 5, ==), tokens, "-");
is_early = indicator(five_on in ["a", "b", "c", "d"]);
mean = aggregate(select(is_early, is_early, >=), indices);
"""


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_shares_whose_sum_is_rounded_up_are_no_value(dtype: Float) -> None:
    program = read(PROGRAM, file="five.rasp").program
    decoder = compile_graph(lowered(program, [("mean", program.sop)]), length=10)
    word = "aabbbbcccd"
    shares = np.array([word.count(letter) for letter in "abcd"], dtype=dtype) / np.dtype(dtype).type(10)
    if dtype == "float64":
        assert float(np.add.accumulate(shares)[-1]) > 1
    tokens = np.array([[decoder.numbers[letter] for letter in word]])
    residual = DenseDecoder(decoder, dtype).run(tokens).residual[:, 0]
    own = decoder.layout["is_early"]
    assert residual[own].tolist() == [[0.0] * 5 + [1.0] * 5, [1.0] * 5 + [0.0] * 5]
