"""Each gadget does what its docstring says: by an evaluator of its own, by the exact engine, on a whole domain.

All numbers are rationals and all comparisons ``==``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tm2tfr.engines.exact import Exact
from tm2tfr.transformer.gadgets import (
    Unit,
    conjunction,
    equal,
    feed_forward,
    gated,
    head,
    is_zero,
    latest,
    lookup,
    mean,
    rectified,
    stacked,
    unless,
)
from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.positions import POSITION_FEATURES
from tm2tfr.transformer.residual import Residual, Subspace, total
from tm2tfr.transformer.weights import Decoder, Head, Layer

Values = Mapping[str, Any]
FEATURES = tuple(POSITION_FEATURES)


def decoder_of(layout: Residual, tokens: Sequence[Values], layers: tuple[Layer, ...]) -> Decoder:
    """Return a decoder whose token n puts the values ``tokens[n]`` into the directions of their names."""
    names = tuple(str(n) for n in range(len(tokens)))
    used = [f for f in FEATURES if f in layout]
    embedded = {(layout.index(d), n): float(v) for n, token in enumerate(tokens) for d, v in token.items()}
    places = {(layout.index(f), n): 1.0 for n, f in enumerate(used)}
    return Decoder(
        layout=layout,
        vocabulary=names,
        bos=names[0],
        stop=(),
        features=tuple(used),
        token_embedding=Matrix.from_entries((layout.width, len(names)), embedded),
        position_embedding=Matrix.from_entries((layout.width, len(used)), places),
        layers=layers,
        unembedding=Matrix.from_entries((len(names), layout.width), {}),
        unembedding_bias=Matrix.from_entries((len(names), 1), {}),
    )


# ── feed-forward gadgets ────────────────────────────────────────────────────────────────────────────────────
def by_hand(units: Sequence[Unit], x: Values) -> dict[str, Fraction]:
    """Return what `units` add to the stream x: Σ writes · max(0, reads · x + bias)."""
    added: dict[str, Fraction] = {}
    for unit in units:
        before = Fraction(unit.bias) + sum(Fraction(c) * Fraction(x[d]) for d, c in unit.reads.items())
        for direction, coefficient in unit.writes.items():
            added[direction] = added.get(direction, Fraction(0)) + Fraction(coefficient) * max(before, Fraction(0))
    return added


def by_engine(units: Sequence[Unit], cases: Sequence[Values]) -> list[dict[str, Fraction]]:
    """Return the same for each case, from the weights of a one-layer decoder in the exact engine."""
    written = list(dict.fromkeys(d for unit in units for d in unit.writes))
    layout = Residual(tuple(map(Subspace, dict.fromkeys([*cases[0], *written]))))
    layer = Layer(name="", meaning="", source="", feed_forward=feed_forward(layout, units))
    decoder = decoder_of(layout, cases, (layer,))
    answers = []
    for token in range(len(cases)):
        session = Exact().start(decoder)
        session.feed(token)
        answers.append({d: session.residual[layout.index(d)] for d in written})
    return answers


def check(units: Sequence[Unit], cases: Sequence[Values], wanted: Callable[[Values], dict[str, Any]]) -> None:
    """Compare two runs of the weights with the statement `wanted`, in all `cases`; no weight exceeds 2."""
    statement = [wanted(x) for x in cases]
    assert [by_hand(units, x) for x in cases] == statement
    assert by_engine(units, cases) == statement
    for unit in units:
        assert all(abs(w) <= 2 for w in (*unit.reads.values(), *unit.writes.values(), unit.bias))


def test_rectified_is_the_positive_part() -> None:
    cases = [{"a": Fraction(n, 4), "b": m} for n in range(-12, 13) for m in (-2, 0, 3)]
    units = rectified("r", {"a": 1, "b": -2}, {"out": 1, "minus": -1})
    check(units, cases, lambda x: {d: s * max(0, x["a"] - 2 * x["b"]) for d, s in (("out", 1), ("minus", -1))})
    check(rectified("r", {"a": 1}, {"out": 2}), [{"a": n} for n in range(5)], lambda x: {"out": 2 * x["a"]})


@pytest.mark.parametrize("k", [0, 1, 2, 3])
def test_conjunction_is_one_iff_all_bits_are(k: int) -> None:
    cases = [{f"b{n}": bit for n, bit in enumerate(bits)} for bits in product((0, 1), repeat=k)]
    units = conjunction("and", [{f"b{n}": 1} for n in range(k)], {"out": 1, "minus": -1})
    check(units, cases, lambda x: {"out": int(0 not in x.values()), "minus": -int(0 not in x.values())})


def test_conjunction_of_bits_that_are_sums_and_share_a_direction() -> None:
    one_hot = [{"p": p, "q": q, "r": r, "s": s} for p, q, r, s in product((0, 1), repeat=4) if p + q + r <= 1]
    units = conjunction("and", [total("pq"), total("qr"), {"s": 1}], {"out": 1})
    check(units, one_hot, lambda x: {"out": int(x["q"] == 1 and x["s"] == 1)})


def test_gated_passes_a_bounded_number_iff_the_gate_is_open() -> None:
    cases = [{"v": Fraction(n, 16), "s0": a, "s1": b} for n in range(17) for a, b in ((0, 0), (0, 1), (1, 0))]
    units = gated("gate", {"v": 1}, total(["s0", "s1"]), {"out": -1})
    check(units, cases, lambda x: {"out": 0 if x["s0"] or x["s1"] else -x["v"]})


def test_unless_is_the_bit_where_the_number_is_zero() -> None:
    cases = [{"b": b, "n": n} for b in (0, 1) for n in range(12)]
    check(unless("u", {"b": 1}, "n", {"out": 1}), cases, lambda x: {"out": int(x["b"] == 1 and x["n"] == 0)})


def test_is_zero_on_the_natural_numbers_as_repair_4_has_it() -> None:
    cases = [{"n": n} for n in range(50)]
    check(is_zero("z", "n", {"out": 1}), cases, lambda x: {"out": int(x["n"] == 0)})
    check(is_zero("z", "n", {"out": 1}), cases, lambda x: {"out": 1 - max(0, x["n"]) + max(0, x["n"] - 1)})


def test_equal_on_the_integers() -> None:
    cases = [{"l": a, "r": b} for a in range(-6, 7) for b in range(-6, 7)]
    check(equal("e", "l", "r", "flag"), cases, lambda x: {"flag": int(x["l"] == x["r"])})


integers = st.integers(-(2**50), 2**50)


@given(integers, st.one_of(integers, st.integers(-2, 2)), st.booleans())
def test_equal_unless_and_is_zero_on_large_numbers(left: int, offset: int, near: bool) -> None:
    right = left + offset if near else offset
    assert by_hand(equal("e", "l", "r", "flag"), {"l": left, "r": right}) == {"flag": int(left == right)}
    assert by_hand(is_zero("z", "n", {"out": 1}), {"n": abs(offset)}) == {"out": int(offset == 0)}
    case = {"b": int(near), "n": abs(offset)}
    assert by_hand(unless("u", {"b": 1}, "n", {"out": 1}), case) == {"out": int(near and offset == 0)}


# ── attention gadgets ───────────────────────────────────────────────────────────────────────────────────────
class Seen:
    """What heads did at one position: per (layer, head) its scores and the positions attended to."""

    def __init__(self) -> None:
        self.heads: dict[tuple[int, int], tuple[list[Fraction], list[int]]] = {}

    def stage(self, layer: int, part: str, residual: Any) -> None:
        pass

    def head(self, layer: int, head: int, scores: Any, attended: Any) -> None:
        self.heads[layer, head] = (list(scores), list(attended))


def run(decoder: Decoder, tokens: Sequence[int]) -> list[tuple[Seen, list[Fraction]]]:
    """Return what was seen, and the last residual stream, at each position of `tokens`."""
    session, rows = Exact().start(decoder), []
    for token in tokens:
        seen = Seen()
        session.feed(token, seen)
        rows.append((seen, session.residual))
    return rows


def gap(scores: Sequence[Fraction], attended: Sequence[int]) -> Fraction | None:
    """Return the best score less the best of the positions not attended to; None if there are none."""
    rest = [s for j, s in enumerate(scores) if j not in attended]
    return max(scores) - max(rest) if rest else None


def attention(name: str, heads: tuple[Head, ...]) -> Layer:
    assert all(abs(m.values).max(initial=0) <= 2 for h in heads for m in (h.query, h.key, h.value, h.output))
    return Layer(name=name, meaning="", source="", heads=heads)


NUMBERS = range(-4, 16)
NUMBER = {k: token for token, k in enumerate(NUMBERS)}
LAYOUT = Residual(tuple(map(Subspace, ("k", "k^2", *FEATURES, "h/(i+1)", "seen", "seen^2"))))
MEAN = mean(LAYOUT, "mean", "", [({"k": 1}, {"h/(i+1)": 1})])
LOOKUP = lookup(
    LAYOUT, "lookup", "", scaled={"h/(i+1)": 1}, carries=[({"i": 1}, {"seen": 1}), ({"i^2": 1}, {"seen^2": -1})]
)
LOOKED_UP = decoder_of(
    LAYOUT, [{"k": k, "k^2": k * k} for k in NUMBERS], (attention("mean", (MEAN,)), attention("lookup", (LOOKUP,)))
)


def read(residual: Sequence[Fraction], layout: Residual, *names: str) -> list[Fraction]:
    return [residual[layout.index(name)] for name in names]


@pytest.mark.parametrize("length", [1, 2, 3])
def test_mean_is_the_mean_of_all_positions_so_far(length: int) -> None:
    for numbers in product(range(-2, 3), repeat=length):
        rows = run(LOOKED_UP, [NUMBER[k] for k in numbers])
        got = [(*seen.heads[0, 0], *read(x, LAYOUT, "h/(i+1)")) for seen, x in rows]
        sums = [sum(numbers[: i + 1]) for i in range(length)]
        assert got == [([0] * (i + 1), list(range(i + 1)), Fraction(s, i + 1)) for i, s in enumerate(sums)]


@pytest.mark.parametrize("i", range(13))
def test_lookup_attends_to_position_h_alone_by_a_gap_of_one_over_i_plus_one(i: int) -> None:
    for h in range(-4, i + 1):  # the mean of h, 0, …, 0 over i + 1 positions is h/(i+1)
        seen, x = run(LOOKED_UP, [NUMBER[h]] + [NUMBER[0]] * i)[-1]
        scores, attended = seen.heads[1, 0]
        assert scores == [Fraction(2 * h * j - j * j, i + 1) for j in range(i + 1)]
        assert attended == [max(h, 0)]  # outside the domain, for h < 0, it is position 0
        assert read(x, LAYOUT, "h/(i+1)", "seen", "seen^2") == [Fraction(h, i + 1), max(h, 0), -(max(h, 0) ** 2)]
        if h >= 0:
            assert gap(scores, attended) == (Fraction(1, i + 1) if i else None)


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(st.integers(0, 90), st.data())
def test_lookup_among_more_positions(i: int, data: st.DataObject) -> None:
    # h = 15a + b, as a sum of numbers that tokens carry
    h = data.draw(st.integers(0, i))
    numbers = [15] * (h // 15) + [h % 15]
    seen, _ = run(LOOKED_UP, [NUMBER[k] for k in (numbers + [0] * i)[: i + 1]])[-1]
    scores, attended = seen.heads[1, 0]
    assert (attended, gap(scores, attended)) == ([h], Fraction(1, i + 1) if i else None)


WANTED = range(-4, 5)
LATEST_LAYOUT = Residual(tuple(map(Subspace, ("k", "k^2", *FEATURES, *(f"h={h}" for h in WANTED), "found", "at"))))
LATEST = [
    latest(
        LATEST_LAYOUT,
        f"latest {h}",
        "",
        wanted=f"h={h}",
        key=("k", "k^2"),
        carries=[({"k": 1}, {"found": 1}), ({"i": 1}, {"at": 1})] if h == 0 else [],
    )
    for h in WANTED
]
KEYS = range(-4, 5)
KEY = {k: token for token, k in enumerate(KEYS)}
FOUND = decoder_of(
    LATEST_LAYOUT,
    [{"k": k, "k^2": k * k, **{f"h={h}": h for h in WANTED}} for k in KEYS],
    (attention("latest", tuple(LATEST)),),
)


def check_latest(keys: Sequence[int]) -> None:
    """Check all heads at all positions of a sequence of keys: one head for each number wanted."""
    for i, (seen, x) in enumerate(run(FOUND, [KEY[k] for k in keys])):
        prefix = keys[: i + 1]
        for n, h in enumerate(WANTED):
            scores, attended = seen.heads[0, n]
            assert len(attended) == 1
            distances = [abs(k - h) for k in prefix]
            # the latest of the nearest keys; of the wanted ones, if there are any
            assert attended == [i - distances[::-1].index(min(distances))]
            assert i == 0 or gap(scores, attended) >= Fraction(1, 2 * (i + 1))
            if h == 0:
                assert read(x, LATEST_LAYOUT, "found", "at") == [prefix[attended[0]], attended[0]]


@pytest.mark.slow
@pytest.mark.parametrize("first", range(-2, 3))
def test_latest_attends_to_the_latest_wanted_key_or_a_nearest_one(first: int) -> None:
    for rest in product(range(-2, 3), repeat=4):
        check_latest([first, *rest])


def test_latest_gap_is_exactly_that_of_two_equal_keys_in_a_row() -> None:
    seen, _ = run(FOUND, [KEY[1]] * 7)[-1]
    scores, attended = seen.heads[0, WANTED.index(1)]
    assert (attended, gap(scores, attended)) == ([6], Fraction(1, 14))


@settings(max_examples=25, deadline=None)
@given(st.lists(st.sampled_from(KEYS), min_size=6, max_size=40))
def test_latest_in_longer_sequences(keys: list[int]) -> None:
    check_latest(keys)


# ── from named directions to matrices ───────────────────────────────────────────────────────────────────────
def test_a_head_has_the_linear_forms_as_rows_and_for_the_output_as_columns() -> None:
    layout = Residual((Subspace("a"), Subspace("b"), Subspace("c")))
    made = head(
        layout,
        "name",
        "source",
        query=[{"a": 1, "b": 2}],
        key=[{"c": -1}],
        carries=[({"a": 1}, {"b": 1, "c": 2}), ({"b": 0.5}, {"a": -1})],
    )
    assert (made.name, made.source, made.mask, made.weighting) == ("name", "source", "future", "average-hard")
    assert [m.dense().tolist() for m in (made.query, made.key, made.value, made.output)] == [
        [[1, 2, 0]],
        [[0, 0, -1]],
        [[1, 0, 0], [0, 0.5, 0]],
        [[0, -1], [1, 0], [2, 0]],
    ]
    uniform = mean(layout, "mean", "", [({"a": 1}, {"b": 1})])
    assert (uniform.query.shape, uniform.key.shape) == ((0, 3), (0, 3))


def test_a_feed_forward_layer_has_one_row_a_unit() -> None:
    layout = Residual((Subspace("a"), Subspace("b")))
    layer = feed_forward(layout, iter([Unit("u", {"a": 1, "b": -1}, {"b": 2}, bias=-1), Unit("v", {}, {"a": 1})]))
    assert layer.units == ("u", "v")
    parts = (layer.input, layer.input_bias, layer.output, layer.output_bias)
    assert [m.dense().tolist() for m in parts] == [[[1, -1], [0, 0]], [[-1], [0]], [[0, 1], [2, 0]], [[0], [0]]]
    assert feed_forward(layout, []).input.shape == (0, 2)
    assert stacked(layout, []).shape == (0, 2)
