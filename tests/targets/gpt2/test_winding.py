"""The path on which cells are compared: what the latest write rests on."""

from __future__ import annotations

from itertools import pairwise, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tm2tfr.targets.gpt2.recipe import Gpt2Recipe, Winding

Point = tuple[int, int]


def apart(one: Point, other: Point) -> int:
    """Return the squared distance."""
    return sum((a - b) ** 2 for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("head", [*range(40), 127, 128, 400, 1023, 2047])
def test_all_cells_are_apart_and_neighbours_at_a_distance_of_1(head: int) -> None:
    path = Winding(head)
    points = [path.point(cell) for cell in range(-head, head + 1)]
    assert points[head] == (0, 0)
    assert len(set(points)) == 2 * head + 1
    assert {apart(one, other) for one, other in pairwise(points)} <= {1}
    assert points == [(-u, -v) for u, v in reversed(points)]
    assert path.reach == (max(u for u, _ in points), max(v for _, v in points))
    assert path.square == path.reach[0] ** 2 + path.reach[1] ** 2
    assert path.point(head + 1) == path.point(-head - 1) == (0, 0)


def test_the_picture_of_the_path() -> None:
    path = Winding(18)
    assert path.turn == 3
    assert [path.point(cell) for cell in (3, 4, 5, 7, 10, 11, 17, 18)] == [
        (0, 3), (1, 3), (1, 2), (1, 0), (1, -3), (2, -3), (2, 3), (3, 3),
    ]  # fmt: skip


@given(st.integers(0, 10**9))
def test_the_bound_grows_with_the_head_and_stays_near_it(head: int) -> None:
    assert Winding(head).square <= Winding(head + 1).square <= head + 2 * int(head**0.5) + 3


def test_a_bound_below_0_is_refused() -> None:
    with pytest.raises(ValueError, match="a bound on .* cannot be negative, as -1 is"):
        Winding(-1)


@pytest.mark.parametrize(("n", "h"), [(2048, 2047), (4096, 1350), (1024, 1023), (5318, 100)])
def test_scores_in_float32_are_whole_numbers_in_every_order(n: int, h: int) -> None:
    """At the limits of what is granted: four terms in all 24 orders, one after the other and in pairs."""
    recipe, chance = Gpt2Recipe(positions=n, max_head=h, dtype="float32"), np.random.default_rng(n)
    path, s = recipe.winding, recipe.span
    cells = np.array([0, 1, -1, h, -h, h - 1, 1 - h, *chance.integers(-h, h + 1, 200)])
    here, there = (np.array([path.point(int(cell)) for cell in chance.permutation(cells)]) for _ in range(2))
    j = chance.integers(0, n, len(cells))
    j[:10] = n - 1
    terms = [2 * s * here[:, 0] * there[:, 0], 2 * s * here[:, 1] * there[:, 1], -s * (there**2).sum(axis=1), j]
    assert max(abs(term).max() for term in terms) < 2**24
    right = sum(terms)
    for a, b, c, d in permutations(np.array(term, dtype=np.float32) for term in terms):
        assert np.array_equal(((a + b) + c) + d, right)
        assert np.array_equal((a + b) + (c + d), right)
