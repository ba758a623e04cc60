"""Random interventions for tests: how many agree, of a subject, on one seed."""

from __future__ import annotations

import random
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

import tm2tfr
from tests.strategies import DEPTH
from tm2tfr.api.interventions import bases, intervene_many
from tm2tfr.lab.interventions.draws import Draws
from tm2tfr.lab.interventions.tried import Tried
from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.weights import Decoder, matrices, replaced

EACH = 400 if DEPTH >= 1 else 30
"""The number of random interventions on a subject: on the four or five of a source 2,000 in a thorough run."""


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


def without(subject: Any, path: str, number: int = 0) -> Any:
    """Return the subject with a weight of a matrix set to 0: what is left is wired in another way."""
    found = tm2tfr.Subject.of(subject)
    row, column, _ = list(matrices(found.decoder)[path].entries())[number]
    changed = matrices(found.decoder)[path].with_entry(row, column, 0.0)
    return tm2tfr.Subject.of(replaced(found.decoder, {path: changed}))


def moved(subject: Any, count: int, words: list[str]) -> tuple[int, int]:
    """Set random weights to 0, one at a time, and draw interventions on what is left.

    Returns:
        How many of the interventions are expected to come to something else than with all weights, and of how many
        decoders some differ from what is expected.
    """
    found, chance = tm2tfr.Subject.of(subject), random.Random(0)
    intact = bases(found, engine="dense", dtype=None, max_positions=30)
    some = list(map(Draws(words, intact, 0).draw, range(20)))
    due = [intact(run.input).intervened(settings).expected for run, settings in some]
    every = [path for path, matrix in matrices(found.decoder).items() if path.startswith("layers") and matrix.nonzero]
    other = wrong = 0
    for _ in range(count):
        path = chance.choice(every)
        bad = without(found, path, chance.randrange(matrices(found.decoder)[path].nonzero))
        base = bases(bad, engine="dense", dtype=None, max_positions=30)
        done = [base(run.input).intervened(settings) for run, settings in some]
        other += sum(each.expected != right for each, right in zip(done, due, strict=True))
        wrong += any(not each.agrees for each in done)
    return other, wrong


def differing(subject: Any, weights: int, count: int = 40, words: list[str] | None = None) -> int:
    """Return of how many sabotaged decoders some interventions differ from what the causal model says."""
    found = tm2tfr.Subject.of(subject)
    wrong = 0
    for seed in range(weights):
        bad = replace(found, weights=sabotaged(found.decoder, seed))
        base = bases(bad, engine="dense", dtype=None, max_positions=30)
        some = map(Draws(words or [found.word(None)], base, seed).draw, range(count))
        # by the causal model alone, and not by the check of the run without any intervention
        wrong += any(not replace(run, check=str).intervened(settings).agrees for run, settings in some)
    return wrong
