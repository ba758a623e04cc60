"""Changed weights: wherever a certificate is granted, the engine is right on words up to the length that it names."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.sources.logic.compiling import all_to, weights
from tests.sources.logic.proof import mutants
from tests.sources.logic.proof.mutants import Draw
from tests.strategies import DEPTH, tries
from tm2tfr.base.choices import Float
from tm2tfr.base.errors import EngineError
from tm2tfr.contract.options import LogicOptions
from tm2tfr.engines.reading import right_answers
from tm2tfr.engines.whole import WholeDense
from tm2tfr.sources.logic.library import load
from tm2tfr.sources.logic.program import LogicProgram
from tm2tfr.sources.logic.proof.certificate import LogicProof
from tm2tfr.sources.logic.truth import LogicLabels
from tm2tfr.transformer.weights import Decoder

PROGRAMS = (
    ("since-b", LogicOptions()),
    ("more-as-than-bs", LogicOptions(compare="sign")),
    ("never-behind", LogicOptions()),
    ("two-to-three", LogicOptions()),
    ("successor", LogicOptions()),
    ("token-at-count", LogicOptions()),
    ("every-a-answered", LogicOptions()),
    ("since-b", LogicOptions(steep=True)),
)
"""Formulas and programs whose heads have scores of all shapes."""
LONGEST, FAR = 200, 13
"""The most tokens of the words that a mutant is run on, but for one in `FAR`, which is run on words as long as certified in
float32."""
LEAST: dict[Callable[[Draw], Decoder], tuple[int, int]] = {
    mutants.heads: (8, 8),
    mutants.scores: (10, 12),
    mutants.units: (10, 10),
    mutants.rows: (15, 8),
    mutants.embeddings: (5, 3),
    mutants.biases: (20, 10),
    mutants.scaled_scores: (12, 3),
    mutants.scaled_values: (10, 0),
    mutants.twins: (12, 10),
    mutants.reordered: (80, 0),
    mutants.weights: (0, 40),
}
"""How many of 100 mutants are certified, and how many are wrong and refused, at the least."""


@cache
def compiled(n: int) -> tuple[LogicProgram, Decoder]:
    name, options = PROGRAMS[n]
    return load(name).program, weights(load(name).program, options)


def right(program: LogicProgram, decoder: Decoder, dtype: Float, words: Iterator[NDArray[np.int64]]) -> bool:
    """Return whether weights answer what the evaluator says at every position of these words, in floats."""
    labels = LogicLabels(program, decoder)
    try:
        engine = WholeDense(decoder, dtype)
        return all(right_answers(decoder, engine.run(labels.fed(each)).logits, labels(each)[1]).all() for each in words)
    except EngineError:
        return False


def words_of(program: LogicProgram, longest: int, seed: int) -> Iterator[NDArray[np.int64]]:
    """Yield all short words, and some as long as that: of one token, of two halves, of two in turn, and at random."""
    letters, places = len(program.alphabet), np.arange(longest)
    yield from all_to(program, min(longest, 5 if letters < 3 else 3))
    drawn = np.random.default_rng(seed).integers(0, letters, longest)
    yield np.stack([0 * places, (2 * places < longest).astype(np.int64), places % 2, drawn])


@pytest.mark.slow
@pytest.mark.parametrize("change", LEAST, ids=lambda change: change.__name__)
def test_what_is_certified_is_right(change: Callable[[Draw], Decoder]) -> None:
    found, wrong = Counter[str](), []
    for seed in range(tries(100)):
        program, decoder = compiled(seed % len(PROGRAMS))
        drawn = random.Random(seed)
        dtype: Float = drawn.choice(("float32", "float32", "float64"))
        changed = change(Draw(decoder, drawn))
        most = LogicProof(changed, program).certificate("dense", dtype).most_tokens
        longest = LONGEST if most is None or dtype == "float64" or seed % FAR else most
        is_right = right(program, changed, dtype, words_of(program, min(longest, most or longest), seed))
        found[f"{'refused' if most is None else 'certified'}, {'right' if is_right else 'wrong'}"] += 1
        if most is not None and not is_right:
            wrong.append((seed, program.name, dtype, most))
    assert wrong == [], found
    assert found["certified, right"] >= DEPTH * LEAST[change][0], found
    assert found["refused, wrong"] >= DEPTH * LEAST[change][1], found
