"""Weights answer every node at every position as the evaluator says: shipped ones and random ones, on all short words."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from tests.sources.logic.compiling import all_to, compared, weights
from tests.sources.logic.random_formulas import PAST_LTL, Kinds, random_programs
from tests.sources.logic.test_shipped import words
from tests.strategies import DEPTH, tries
from tm2tfr.base.choices import LogicCompare
from tm2tfr.base.errors import CompileError
from tm2tfr.base.text.words import written
from tm2tfr.contract.options import LogicOptions
from tm2tfr.engines.decode import run_whole
from tm2tfr.engines.dense import Dense
from tm2tfr.engines.exact import Exact
from tm2tfr.engines.reading import answered
from tm2tfr.runs.batches.labelled import checked_words
from tm2tfr.sources.logic.library import load, shipped
from tm2tfr.sources.logic.truth import LogicLabels, LogicTruth
from tm2tfr.transformer.claims import sections

NAMES = shipped()
LONGEST = {2: 8, 3: 6, 4: 5, 5: 4, 6: 3}
"""The number of tokens -> all words of up to so many are compared: 510 of two tokens."""
OPTIONS = {
    "ours": LogicOptions(),
    "sign": LogicOptions(compare="sign"),
    "whole words": LogicOptions(mask="none"),
}


@pytest.mark.slow
@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("name", NAMES)
def test_shipped_ones_on_all_short_words(name: str, options: str) -> None:
    program = load(name).program
    for dtype in ("float64", "float32"):
        found = compared(program, all_to(program, LONGEST[len(program.alphabet)]), OPTIONS[options], dtype=dtype)
        assert found.failure is None, (name, dtype, found.failure)
        assert found.runs >= 250
        assert found.cells > 5_000


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_shipped_ones_in_exact_arithmetic(name: str) -> None:
    program = load(name).program
    decoder, engine, cells = weights(program), Exact(), 0
    longest = LONGEST[len(program.alphabet)]
    for length in range(1, 1 + (longest if DEPTH == 1 else max(2, longest - 3))):
        for word in product(program.alphabet, repeat=length):
            truth = LogicTruth(program, written(word), decoder)
            passed = run_whole(decoder, [decoder.numbers[token] for token in truth.prompt], engine=engine)
            found = zip(*(answered(decoder, each.logits) for each in passed), strict=True)
            assert dict(zip(truth.values, found, strict=True)) == truth.values, word
            cells += len(truth.prompt) * len(truth.values)
    assert cells > 200


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_two_thousand_random_formulas_over_all_operators_on_all_words_to_length_6(part: int) -> None:
    cells, formulas = 0, tries(500)
    for program in random_programs(formulas, start=500 * part):
        found = compared(program, all_to(program, 6))
        assert (found.failure, found.runs) == (None, 126), program
        cells += found.cells
    assert cells > formulas * 3_000


KINDS = {
    "three tokens": (LogicOptions(), Kinds(alphabet="abc", size=12), 4),
    "large": (LogicOptions(), Kinds(size=40), 5),
    "sign": (LogicOptions(compare="sign"), Kinds(with_retrieve=False), 6),
    "past": (LogicOptions(), Kinds(past_only=True), 6),
    "whole words": (LogicOptions(mask="none"), Kinds(past_only=True), 5),
    "steep": (LogicOptions(steep=True), PAST_LTL, 8),
    "as printed": (LogicOptions(variant="paper"), PAST_LTL, 8),
    "unique-hard": (LogicOptions(variant="unique"), Kinds(with_counts=False), 6),
    "unique-hard, about the past": (LogicOptions(variant="unique"), PAST_LTL, 8),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_random_formulas_of_other_kinds(kind: str) -> None:
    options, kinds, longest = KINDS[kind]
    for program in random_programs(40, kinds, start=20_000):
        for dtype in ("float64", "float32"):
            assert compared(program, all_to(program, longest), options, dtype=dtype).failure is None, (program, dtype)


@pytest.mark.slow
@pytest.mark.parametrize("compare", ["lookup", "sign"])
def test_random_sums_are_right_or_refused(compare: LogicCompare) -> None:
    compiled = cells = 0
    for program in random_programs(80, Kinds(size=10, with_any_sums=True), start=30_000):
        for dtype in ("float64", "float32"):
            try:
                found = compared(program, all_to(program, 5), LogicOptions(compare=compare), dtype=dtype)
            except CompileError:
                continue
            assert found.failure is None, (program, dtype)
            compiled, cells = compiled + 1, cells + found.cells
    assert compiled > 80
    assert cells > 100_000


@pytest.mark.slow
@pytest.mark.parametrize("name", ["dyck-1-by-depth", "dyck-2-by-depth", "dyck-3-by-depth"])
def test_brackets_in_words_of_40_to_100(name: str) -> None:
    program = load(name).program
    places = {token: place for place, token in enumerate(program.alphabet)}
    given = [words(program, 30, length) for length in (40, 70, 100)]
    found = checked_words(weights(program), program, [np.array([[places[t] for t in w] for w in each]) for each in given])
    assert (found.failure, found.runs) == (None, 90)


@pytest.mark.slow
def test_brackets_in_a_word_of_ten_thousand() -> None:
    program = load("dyck-2-by-depth").program
    decoder, places = weights(program), {token: place for place, token in enumerate(program.alphabet)}
    batch = np.array([[places[token] for token in words(program, 1, 10_000)[0]]])
    labels = LogicLabels(program, decoder)
    _, wanted = labels(batch)
    session = Dense("float64").start(decoder)
    for i, token in enumerate(labels.fed(batch)[0].tolist()):
        session.feed(token)
        logits = session.logits
        for n, (output, cut) in enumerate(sections(decoder.outputs)):
            due = wanted[n, 0, i]
            hot = logits[cut] if output.labels is None else np.flatnonzero(logits[cut])
            assert np.isnan(due) or (hot.tolist() == [due] and (output.labels is None or logits[cut].max() == 1)), (
                i,
                output,
            )
    assert i == 10_000
