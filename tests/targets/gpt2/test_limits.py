"""What fits into a GPT-2: pinned numbers, refusals that name what would fit, and scores computed at the limits."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tm2tfr.base.errors import ExportError
from tm2tfr.certificates.kit import DIGITS
from tm2tfr.sources.turing.compiler import compile_machine
from tm2tfr.sources.turing.library import load, shipped
from tm2tfr.sources.turing.proof.prove import prove
from tm2tfr.sources.turing.proof.rounding import largest
from tm2tfr.targets.common.reference import reference_of
from tm2tfr.targets.gpt2.limits import Errors, conditions, fitted
from tm2tfr.targets.gpt2.recipe import Compared, Gpt2Recipe, Winding, carried, compared, fetched, sharpened
from tm2tfr.transformer.weights import matrices, replaced


def most(name: str, dtype: str, head: int | None, *, stock: bool = False) -> int:
    machine = load(name)
    found = conditions(prove(compile_machine(machine), machine), dtype, stock=stock)
    return largest(found, 2 ** DIGITS[dtype], head)


def test_the_numbers_that_fit() -> None:
    """In float32 3·S·Q + S ≤ 2^24 decides, S the span: with S = 4,096 there is room for H ≤ 1,365; else the lookups do."""
    assert [most("chapter", "float32", head) for head in (None, 100, 1000, 1350, 1400)] == [2048, 5318, 4096, 3771, 3696]
    assert [most("busy-beaver-5", "float32", head) for head in (None, 1400)] == [2048, 3703]
    assert most("chapter", "float64", 4000) > 10**7
    assert most("chapter", "float64", None) == 44745800
    assert most("chapter", "float64", None, stock=True) == 4194304
    assert most("chapter", "float32", None, stock=True) == 128


@pytest.mark.parametrize("name", shipped())
def test_every_shipped_machine_fits_with_any_head(name: str) -> None:
    assert most(name, "float32", None) >= 1024
    assert most(name, "float64", None) >= 10**7
    assert most(name, "float64", None, stock=True) >= 10**6


@pytest.mark.parametrize("stock", [False, True])
def test_every_use_grows_with_positions_and_head(stock: bool) -> None:
    machine = load("busy-beaver-5")
    for condition in conditions(prove(compile_machine(machine), machine), "float32", stock=stock):
        for n in (16, 17, 100, 1000, 3000):
            uses = [condition.use(n, h) for h in (0, 1, 2, 10, 15)]
            assert uses == sorted(uses), condition
            assert condition.use(n, 10) <= condition.use(n + 1, 10)


def test_how_much_each_place_uses() -> None:
    """In float32, in units of u, for N = 1,000 and H = 100, of which only some decide what fits.

    By the formulas, with c = 50, G = 50, S = 1,024, R = 14, F = 3 and Q = 7² + 7²; B counts 21 + 2 + 8 directions.
    """
    machine = load("chapter")
    found, u = conditions(prove(compile_machine(machine), machine), "float32"), Fraction(1, 2**24)
    m = 64 + 4 * 31
    alpha, more = 4 * m * u, Fraction(101, 100)
    e = more * (302_500 - 5_000 + 3_000) + 28 * (2 + 14 * m * u * 1000) * 1000 + 16 * 151 + 4 * alpha * 1000 * 51
    rest = 10_000 + 5_100 + 2_601 + 2_500 + 4 + 4 * alpha * (100 * 1024 + 1024**2)
    assert [(c.layer, c.where, c.use(1000, 100) * 2**24) for c in found] == [
        (1, "m/(i+1)", 4 * 25),
        (2, "sum of moves", 1000),
        (3, "cell h", (2 * e + more * rest) * Fraction(16, 15)),
        (3, "[h=0]", 4 * (1 + 100)),
        (4, "latest write", 100 * 100),
        (4, "latest write", 1024 * (3 * 98 + 1)),
        (4, "latest write", 4 * m * 1024),
        (4, "[h_{j*-1}=h]", 4 * (2 + 8 * 100)),
        (5, "e_a[_]", 4 * 17),
        (6, "e_y[REJ]", 4 * 9),
        (6, "logits", 3 * (72 * 104 + 80 * 14 * (1 + 14 * m * u) + 72 * alpha * (1024 + 14))),
        (7, "logits", 4),
    ]


def test_what_does_not_fit_is_refused_with_what_would() -> None:
    machine = load("busy-beaver-4")
    decoder = compile_machine(machine)
    with pytest.raises(ExportError, match=r"3,000 positions with \|h\| ≤ 2,999 do not fit into float32") as caught:
        fitted(decoder, reference_of(machine, decoder), positions=3000, dtype="float32")
    assert "use positions=2048, or max_head=1404, or dtype='float64'" in str(caught.value)
    assert fitted(decoder, reference_of(machine, decoder), positions=2048, dtype="float32").positions == 2048
    assert fitted(decoder, reference_of(machine, decoder), positions=3000, max_head=1404, dtype="float32").max_head == 1404
    with pytest.raises(ExportError, match="do not fit into float32"):
        fitted(decoder, reference_of(machine, decoder), positions=3000, max_head=1405, dtype="float32")
    with pytest.raises(ExportError, match=r"float32 with GPT-2's own epsilon and GELU .*or omit stock"):
        fitted(decoder, reference_of(machine, decoder), positions=200, dtype="float32", stock=True)


def test_without_a_wish_it_is_1024_or_what_fits() -> None:
    machine = load("chapter")
    decoder = compile_machine(machine)
    assert fitted(decoder, reference_of(machine, decoder)) == Gpt2Recipe(positions=1024, max_head=1023)
    assert fitted(decoder, reference_of(machine, decoder), dtype="float32", stock=True).positions == 128


def test_weights_that_are_not_proved_right_are_refused() -> None:
    machine = load("left-edge")
    with pytest.raises(ExportError, match="not be proved right, see tm2tfr certify: layout: a move left at"):
        fitted(odd := compile_machine(machine, left_boundary="chapter"), reference_of(machine, odd))
    with pytest.raises(ExportError, match="in float64 or float32, not in 'float16'"):
        fitted(made := compile_machine(machine), reference_of(machine, made), dtype="float16")


@pytest.mark.parametrize(("n", "h"), [(2048, 2047), (3696, 1400), (4096, 1000), (5318, 100)])
def test_scores_of_lookups_at_the_limit_are_as_far_apart_as_claimed(n: int, h: int) -> None:
    """In float32, with the vertex off by the whole of e, in both directions."""
    recipe = Gpt2Recipe(positions=n, max_head=h, dtype="float32")
    c, one = recipe.centre, np.float32
    off = float(Errors(compile_machine(load("chapter")), "float32", stock=False).vertex(n, h))
    k = np.arange(n) - c
    keys, squares = k.astype(one), (k * k).astype(one)
    v = one(1 / n)
    for target in {0, 1, c, c + 1, h // 3, h - 1, h}:
        for e in (-off, off):
            q = one(recipe.temperature) * one(2 * (target + e - c) / n)
            scores = q * keys + one(-recipe.temperature) * v * squares
            gap = scores[target] - np.max(np.delete(scores, target))
            assert gap > 1000, (target, e)


def test_the_worst_order_of_a_sum_of_moves_is_within_the_bound() -> None:
    n, up = 3000, 2000
    w = np.float32(1) / np.float32(n)
    total = np.add.accumulate(np.repeat([w, -w], [up, n - up]), dtype=np.float32)[-1]
    h = 2 * up - n
    errors = Errors(compile_machine(load("chapter")), "float32", stock=False)
    assert abs(Fraction(float(total)) * n - h) < errors.vertex(n, h)


@pytest.mark.parametrize(
    ("path", "row", "column", "value"),
    [
        ("layers.4.heads.0.query", 2, "1/(i+1)", -0.5),  # a tie-break that prefers the earliest write
        ("layers.4.heads.0.query", 0, "h", 4.0),
        ("layers.2.heads.0.output", "h", 0, 1.0),  # something beside a lookup writes h
    ],
)
def test_a_head_that_is_not_the_latest_write_is_not_rewritten(
    path: str, row: int | str, column: int | str, value: float
) -> None:
    decoder = compile_machine(load("chapter"))
    at = [decoder.layout.index(place) if isinstance(place, str) else place for place in (row, column)]
    changed = replaced(decoder, {path: matrices(decoder)[path].with_entry(at[0], at[1], value)})
    assert compared(decoder) == Compared("h", "h_{i-1}")
    assert compared(changed) is None
    head = changed.layers[3].heads[0]
    assert len(sharpened(changed, head, 5, 16).components) == 3
    assert fetched(changed.layers[2].heads[0], changed) == carried(changed.layers[2].heads[0], changed.layout)
    with pytest.raises(ExportError, match="there is not exactly one such head that gets h and"):
        Errors(changed, "float32", stock=False)


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
