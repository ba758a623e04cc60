"""Simple searches for the role of a head: by names, sizes, zeros, ranks and norms. In grade 3 they find none.

The statistic: a search picks, in each of many disguises, the head of which some feature is largest (or smallest; among
equals at random). How often that head has the role, less how often a head drawn at random has it, divided by the standard
deviation of the latter, is a z-score. Of all searches none may be above 4.2: with 44 searches and two roles, chance alone
gets there once in 800 times.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tm2tfr
from tests.strategies import tries
from tm2tfr.lab.hidden.build import built
from tm2tfr.lab.hidden.dead_code import profiled
from tm2tfr.lab.hidden.wide import written
from tm2tfr.transformer.weights import Head

Feature = Callable[[Head], float]
MATRICES = ("query", "key", "value", "output")
FEATURES: dict[str, Feature] = {
    "name": lambda h: float(sum(map(ord, h.name.partition(".")[2]))),
    "claim": lambda h: -1.0 if h.claim is None else float(h.claim.gap or 0.0),
    **{f"size of {m}": lambda h, m=m: float(min(getattr(h, m).shape)) for m in MATRICES},  # type: ignore[misc]
    **{f"zeros of {m}": lambda h, m=m: 1.0 - _share(h, m) for m in MATRICES},  # type: ignore[misc]
    **{f"rank of {m}": lambda h, m=m: float(np.linalg.matrix_rank(getattr(h, m).dense())) for m in MATRICES},  # type: ignore[misc]
    **{f"norm of {m}": lambda h, m=m: float(np.linalg.norm(getattr(h, m).values)) for m in MATRICES},  # type: ignore[misc]
    **{f"largest of {m}": lambda h, m=m: float(np.abs(getattr(h, m).values).max(initial=0)) for m in MATRICES},  # type: ignore[misc]
}


def _share(head: Head, name: str) -> float:
    matrix = getattr(head, name)
    return float(matrix.nonzero / max(1, matrix.shape[0] * matrix.shape[1]))


def models(name: str, grade: int, seeds: int) -> Iterator[tuple[list[Head], list[Head | None]]]:
    """Yield the heads of disguises, and what each is."""
    decoder = tm2tfr.compile(name)
    seen: Any = profiled(decoder, tm2tfr.load(name))
    for seed in range(seeds):
        made = built(decoder, seen, grade, random.Random(f"{name} {seed}"))
        hidden = written(made.wide, decoder, None, {})
        heads = [head for layer in hidden.layers for head in layer.heads]
        places = [of for layer in made.layers for of in layer.heads]
        yield heads, [None if of is None else decoder.layers[of[0]].heads[of[1]] for of in places]


def scores(grade: int, seeds: int) -> dict[tuple[str, int, str], float]:
    """Return the z-score of every search, by feature, direction and role."""
    draw = random.Random(0)
    hits: dict[tuple[str, int, str], float] = {}
    expected, variance = {"mean": 0.0, "decoy or not": 0.0}, {"mean": 0.0, "decoy or not": 0.0}
    for name in ("parity", "busy-beaver-2"):
        for heads, what in models(name, grade, seeds):
            roles = {
                "mean": [each is not None and each.uniform for each in what],
                "decoy or not": [each is not None for each in what],
            }
            for role, has in roles.items():
                share = sum(has) / len(has)
                expected[role] += share
                variance[role] += share * (1 - share)
            for feature, value in FEATURES.items():
                values = [round(value(head), 9) for head in heads]
                for direction, best in ((1, max(values)), (-1, min(values))):
                    picked = draw.choice([n for n, v in enumerate(values) if v == best])
                    for role, has in roles.items():
                        hits[feature, direction, role] = hits.get((feature, direction, role), 0.0) + has[picked]
    return {
        key: (found - expected[key[2]]) / math.sqrt(variance[key[2]]) if variance[key[2]] else 0.0
        for key, found in hits.items()
    }


@pytest.mark.slow
def test_simple_searches_find_no_role_in_grade_3() -> None:
    found = scores(3, tries(30))
    assert len(found) == 2 * 2 * len(FEATURES) == 88
    assert {key: z for key, z in found.items() if z > 4.2} == {}


@pytest.mark.slow
@pytest.mark.parametrize("grade", [1, 2])
def test_the_same_searches_find_the_mean_in_lower_grades(grade: int) -> None:
    found = scores(grade, tries(30))
    assert max(z for (_, _, role), z in found.items() if role == "mean") > 6
