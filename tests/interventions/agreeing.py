"""Random interventions for tests: how many agree, of a subject, on one seed."""

from __future__ import annotations

import random
from dataclasses import replace
from functools import cache
from itertools import islice
from typing import Any

import numpy as np

import tm2tfr
from tm2tfr.api.interventions import bases, intervene_many
from tm2tfr.interventions.drawn import drawn
from tm2tfr.interventions.pairs import Tried
from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.weights import Decoder, matrices, replaced


@cache
def subject(name: str, **options: Any) -> tm2tfr.Subject:
    """Return a subject, compiled once for all tests of a process."""
    found = tm2tfr.Subject.of(name, options=options)
    return replace(found, weights=found.decoder)


def agreeing(subject: Any, count: int, *, seed: int = 0, engine: str = "dense", max_positions: int = 60) -> Tried:
    """Carry out random interventions, all of which must agree, and return what came of them."""
    tried = intervene_many(subject, count, seed=seed, engine=engine, max_positions=max_positions)
    assert tried.agrees, str(tried)
    assert tried.number == count
    return tried


def sabotaged(decoder: Decoder, seed: int) -> Decoder:
    """Return the decoder with one weight of its layers changed to something else."""
    chance = random.Random(seed)
    path = chance.choice(
        [path for path, matrix in matrices(decoder).items() if path.startswith("layers") and matrix.nonzero]
    )
    matrix = matrices(decoder)[path]
    values = np.array(matrix.values)
    values[chance.randrange(len(values))] *= -1
    return replaced(decoder, {path: Matrix(matrix.shape, matrix.rows, matrix.columns, values)})


def differing(subject: Any, weights: int, count: int = 40, words: list[str] | None = None) -> int:
    """Return of how many sabotaged decoders some interventions differ from what the causal model says."""
    found = tm2tfr.Subject.of(subject)
    wrong = 0
    for seed in range(weights):
        bad = replace(found, weights=sabotaged(found.decoder, seed))
        base = bases(bad, engine="dense", dtype=None, max_positions=30)
        some = islice(drawn(words or [found.word(None)], base, seed=seed), count)
        wrong += any(not each.base.intervened(each.settings).agrees for each in some)
    return wrong
