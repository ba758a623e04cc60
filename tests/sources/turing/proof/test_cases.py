"""Piecewise-linear comparison against brute force, and the evaluation with a shared part against the plain one."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.strategies import tries
from tm2tfr.sources.turing.proof.cases import Case, Neurons, Woken
from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.weights import FeedForward

WIDTH = 3
small = st.integers(-3, 3)
HALVES = [-1.5, -1.0, -0.5, 0.0, 0.0, 0.5, 1.0, 2.0]


@st.composite
def layers(draw: st.DrawFn, units: int = 4) -> FeedForward:
    def matrix(rows: int, columns: int) -> Matrix:
        entries = {(r, c): draw(st.sampled_from(HALVES)) for r in range(rows) for c in range(columns)}
        return Matrix.from_entries((rows, columns), entries)

    shapes = (units, WIDTH), (units, 1), (WIDTH, units), (WIDTH, 1)
    one, two, three, four = (matrix(*shape) for shape in shapes)
    return FeedForward(input=one, input_bias=two, output=three, output_bias=four, units=tuple("abcd"[:units]))


def plain(layer: FeedForward, x: list[Fraction]) -> list[Fraction]:
    """What a layer adds, by the formula."""
    rows = [[Fraction(v) for v in row] for row in layer.input.dense().tolist()]
    bias = [Fraction(v) for (v,) in layer.input_bias.dense().tolist()]
    hidden = [
        max(Fraction(0), sum((w * v for w, v in zip(row, x, strict=True)), b)) for row, b in zip(rows, bias, strict=True)
    ]
    out = zip(layer.output.dense().tolist(), layer.output_bias.dense().tolist(), strict=True)
    return [sum((Fraction(w) * v for w, v in zip(row, hidden, strict=True)), Fraction(b)) for row, (b,) in out]


def vectors() -> st.SearchStrategy[list[int]]:
    return st.lists(small, min_size=WIDTH, max_size=WIDTH)


@pytest.mark.slow
@settings(max_examples=tries(100))
@given(
    layers(), vectors(), vectors(), st.sampled_from([(0, 0), (-2, 3), (None, 2), (-1, None), (None, None)]), st.booleans()
)
def test_a_case_misses_exactly_where_brute_force_finds_a_difference(
    layer: FeedForward, at: list[int], along: list[int], ends: tuple[int | None, int | None], integers: bool
) -> None:
    low, high = ends
    first = [-40 if low is None else low, 40 if high is None else high]
    step = Fraction(1) if integers else Fraction(1, 12)  # all kinks of these layers are multiples of 1/12 … or missed
    points = [first[0] + n * step for n in range(int((first[1] - first[0]) / step) + 1)]
    lines = [plain(layer, [Fraction(a) + s * b for a, b in zip(at, along, strict=True)]) for s in points]
    # what is wanted: the straight line through the first two points
    rise = [
        (y - x) / step if len(lines) > 1 else Fraction(0)
        for x, y in zip(lines[0], lines[min(1, len(lines) - 1)], strict=True)
    ]
    start = [value - points[0] * r for value, r in zip(lines[0], rise, strict=True)]
    case = Case(
        "c", dict(enumerate(at)), dict(enumerate(start)), dict(enumerate(along)), dict(enumerate(rise)), low, high, integers
    )
    missed = Neurons(layer).miss(case)
    differs = any(
        value != start[row] + s * rise[row] for s, line in zip(points, lines, strict=True) for row, value in enumerate(line)
    )
    assert differs <= (missed is not None)
    if missed is not None:
        s = Fraction(missed.s)
        truth = plain(layer, [Fraction(a) + s * b for a, b in zip(at, along, strict=True)])[missed.row]
        assert missed.found == truth
        assert missed.wanted == start[missed.row] + s * rise[missed.row] != truth
        assert low is None or s >= low
        assert high is None or s <= high
        assert s.denominator == 1 or not integers


@pytest.mark.slow
@given(layers(), vectors(), st.integers(0, WIDTH))
def test_sharing_a_part_of_the_input_changes_no_answer(layer: FeedForward, x: list[int], cut: int) -> None:
    neurons = Neurons(layer)
    whole, shared, rest = dict(enumerate(x)), dict(enumerate(x[:cut])), dict(enumerate(x[cut:], start=cut))
    found = neurons.added(Woken(neurons, shared).lines(rest), 0)
    one, others = dict([*rest.items()][:1]), dict([*rest.items()][1:])
    assert neurons.added(Woken(neurons, shared).lines(one, others), 0) == found
    assert [found.get(row, 0) for row in range(WIDTH)] == plain(layer, [Fraction(v) for v in x])
    again = neurons.added(neurons.lines(whole, {}), 0)
    assert [again.get(row, 0) for row in range(WIDTH)] == [found.get(row, 0) for row in range(WIDTH)]


def test_a_kink_between_two_integers_is_seen_from_both_sides() -> None:
    # ReLU(2s - 1): 0 at s ≤ 0, 1 at s = 1: on the integers {0, 1} it is s, on the reals it is not
    layer = FeedForward(
        input=Matrix.from_entries((1, 1), {(0, 0): 2.0}),
        input_bias=Matrix.from_entries((1, 1), {(0, 0): -1.0}),
        output=Matrix.from_entries((1, 1), {(0, 0): 1.0}),
        output_bias=Matrix.from_entries((1, 1), {}),
        units=("a",),
    )
    integers = Case("c", {}, {}, {0: 1}, {0: 1}, 0, 1)
    assert Neurons(layer).miss(integers) is None
    reals = Neurons(layer).miss(Case("c", {}, {}, {0: 1}, {0: 1}, 0, 1, integers=False))
    assert reals is not None
    assert (reals.s, reals.found, reals.wanted) == (Fraction(1, 2), 0, Fraction(1, 2))
    beyond = Neurons(layer).miss(Case("c", {}, {}, {0: 1}, {0: 1}, 0, None))
    assert beyond is not None
    assert (beyond.s, beyond.found, beyond.wanted) == (2, 3, 2)


def test_a_layer_without_units_adds_nothing() -> None:
    assert Neurons(None).miss(Case("c", {0: 1}, {})) is None
    assert Neurons(None).miss(Case("c", {0: 1}, {0: 1})) is not None


def test_a_case_checks_its_range() -> None:
    with pytest.raises(ValueError, match="h: the range from 2 to 1 is empty"):
        Case("h", {}, {}, low=2, high=1)
