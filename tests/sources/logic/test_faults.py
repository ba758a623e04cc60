"""Every single wrong weight that changes a node, or any number of the stream, on short words is named with its layer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from tests.sources.logic.compiling import all_to, weights
from tests.sources.rasp.compiled.faults import faults, layer_of
from tests.strategies import DEPTH
from tm2tfr.engines.decode import run_whole
from tm2tfr.engines.dense import Dense
from tm2tfr.engines.exact import Exact
from tm2tfr.engines.reading import answered
from tm2tfr.engines.whole import WholeDense
from tm2tfr.runs.batches.labelled import checked_words
from tm2tfr.runs.cause import find_cause
from tm2tfr.runs.streams import checked_streams
from tm2tfr.sources.logic.library import load
from tm2tfr.sources.logic.program import LogicProgram
from tm2tfr.sources.logic.read import formula
from tm2tfr.sources.logic.truth import LogicLabels, LogicTruth
from tm2tfr.transformer.weights import Decoder

NAMES = {
    "since-b": 4,
    "ends-in-110": 7,
    "after-a-until-b": 7,
    "more-as-than-bs": 7,
    "odd-ones": 7,
    "never-behind": 7,
    "successor": 7,
    "token-at-count": 7,
    "last-write": 4,
    "nearest-mark": 4,
    "odd-ones-without-predicates": 7,
}
"""Which are sabotaged, and the longest words on which they are compared."""


class Runs:
    """Runs of some weights on all short words of a program."""

    def __init__(self, program: LogicProgram, decoder: Decoder, longest: int) -> None:
        self._labels = LogicLabels(program, decoder)
        self._fed = [self._labels.fed(batch) for batch in all_to(program, longest)]
        self._words = list(all_to(program, longest))
        self._right = list(self._numbers(decoder))

    def changed(self, decoder: Decoder) -> str | None:
        """Return the first word on which a number of the last stream, or a logit, differs; None if there is none."""
        for words, right, found in zip(self._words, self._right, self._numbers(decoder), strict=True):
            different = (found != right).any(axis=(0, 2))
            if different.any():
                return self._labels.written(words[different][0].tolist())
        return None

    def _numbers(self, decoder: Decoder) -> Iterator[np.ndarray]:
        engine = WholeDense(decoder)
        for fed in self._fed:
            passed = engine.run(fed)
            yield np.concatenate([passed.residual, passed.logits])


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_wrong_weight_is_named_with_its_layer(name: str) -> None:
    program = load(name).program
    decoder = weights(program)
    runs, longest = Runs(program, decoder, NAMES[name]), NAMES[name]
    total = changed = 0
    for matrix, faulty in faults(decoder, every=1 if DEPTH == 1 else 3):
        total += 1
        word = runs.changed(faulty)
        if word is None:
            continue
        changed += 1
        if matrix.startswith("unembedding"):
            found = checked_words(faulty, program, all_to(program, 4))
            assert found.failure is not None
            difference = found.failure.divergence
            assert difference is not None
            cause = difference.cause
        else:
            specification = LogicTruth(program, word, faulty).specification(longest + 1)
            cause = find_cause(faulty, specification, 0, engine=Dense("float64"))
        assert cause is not None, matrix
        assert cause.layer == layer_of(matrix, decoder), (matrix, str(cause))
    assert changed > total / 2


def test_a_head_that_looks_elsewhere_than_it_claims_is_named_though_all_numbers_are_right() -> None:
    """In (a | b) S b all that since may look at holds the same, and back would do as well."""
    program = formula("(Q[a] | Q[b]) S Q[b]", alphabet=("a", "b"))
    decoder = weights(program)
    *before, last = decoder.layers
    (head,) = last.heads
    assert head.claim is not None
    assert checked_streams(decoder, program, longest=3).agrees
    lying = replace(head, claim=replace(head.claim, attends="back"))
    found = checked_streams(replace(decoder, layers=(*before, replace(last, heads=(lying,)))), program, longest=3)
    assert (found.agrees, found.input) == (False, "b")
    assert found.cause is not None
    assert (found.cause.layer, found.cause.position, found.cause.subspace) == (3, 1, "where a head looks")
    assert (found.cause.expected, found.cause.found) == ("position 0", "position 1")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["since-b", "never-behind", "last-write"])
def test_engines_give_the_same_wrong_answers(name: str) -> None:
    program = load(name).program
    decoder = weights(program)
    runs, wrong = Runs(program, decoder, 4), 0
    for _, faulty in faults(decoder, every=5):
        word = runs.changed(faulty)
        if word is None:
            continue
        prompt = [faulty.numbers[token] for token in LogicTruth(program, word, faulty).prompt]
        found = [
            [answered(faulty, each.logits) for each in run_whole(faulty, prompt, engine=engine)]
            for engine in (Dense("float64"), Exact())
        ]
        assert found[0] == found[1], word
        wrong += found[0] != [answered(faulty, each.logits) for each in run_whole(decoder, prompt, engine=Exact())]
    assert wrong > 10
