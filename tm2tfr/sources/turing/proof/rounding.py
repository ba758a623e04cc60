r"""How far floats carry the proof: one condition on N (positions) and H (largest |h|) for each place that rounds.

Standard model: fl(x ∘ y) = (x ∘ y)(1 + δ) with |δ| ≤ u = 2^-p, rounding monotone, p = 24 for float32 and 53 for
float64. No overflow: `overflow` is a separate condition on all computed numbers. No underflow: products with
1/(i+1) are at least 2^-106 · 2^-32 in float64 and 2^-48 · 2^-32 in float32, factors that are powers of two included
(`power_of_two` bounds them), all others multiples of the 2^-2g of `feed_forward.Sums`, where 2g ≤ 2p. Powers of two
commute with rounding, so that every score below is divided by its B. v is 1/(i+1).

**Counts** (layer 2). A sum of moves is an integer below N, in any order; i, j ≤ N - 1 and the number i + 1 must be
floats: N ≤ 2^p. Then v̂ = fl(v) = v(1 + δ); in float32 it is rounded twice, which for a quotient of 24-digit numbers
through 53 ≥ 2·24 + 2 digits gives the same (Figueroa 1995). ĉ = fl(h/(i+1)) = hv(1 + δ), one division.

**h_{i-1}/(i+1)**: fl(ĉ - m·v̂) = (hv + hvδ₁ - mv - mvδ₂)(1 + δ₃), off by at most E·v where, as |h| ≤ H, |h - m| ≤ H,

    E(H) = u((H + 1)(1 + u) + H).                     For h/(i+1) itself E(H) = uH.

The positive part of a number is off by no more than the number (and 0 for h < 0, whose sign is right).

**Lookup** of t ≤ H (layer 3). q̂ = 2(tv + e), |e| ≤ Ev; ĵ² = j²(1 + δ), rounded above 2^p. The computed score is
S_j = (q̂j(1 + δ) - v̂ĵ²(1 + δ'))(1 + δ''), the exact one s_j = v(2tj - j²). Term by term

    |fl(q̂j) - 2tvj| ≤ vj·a,     a = 2E(1 + u) + 2tu
    |fl(v̂ĵ²) - vj²|  ≤ vj²·b,    b = (1 + u)³ - 1
    |S_j - s_j| ≤ v((ja + j²b)(1 + u) + u|2tj - j²|).

With j = t + d, d ≠ 0 an integer: s_t - s_j = vd², j ≤ |d|(t + 1), |2tj - j²| = |t² - d²| ≤ d²·max(t², 1). Errors of
S_t and S_j together, divided by vd², and d² ≥ |d| ≥ 1:

    g(t, E) = ((2t + 1)a + (t² + (t + 1)²)b)(1 + u) + u(t² + max(t², 1)) < 1

makes S_t > S_j for all j at once; g grows with t and E, so t = H settles every case. It does not depend on N.

**Squares, keys** (layers 3, 4): h, k, h², 2hk, k² and 2hk - k² are integers of absolute value at most 3H²: exact
while 3H² ≤ 2^p.

**Latest write, different keys** (layer 4). A = 2hk - k² is exact; the tie-break P = fl(ρv̂·j), ρ = T/B ≤ 1 a power
of two, is at least 0 and below r = ρ(1 + u)². The right key (written cell: A = h²; unwritten: A = h² - 1) gets
S ≥ A by monotonicity, any other at most fl(A - 1 + r) ≤ A - 1 + r + u(H² + 1), also by monotonicity:

    r + u(H² + 1) < 1.

**Latest write, equal keys.** For j' < j, x = ρv̂: P_j - P_j' ≥ x(j - j') - ux(j + j') ≥ x(1 - 2uN), and adding A
(0 ≤ A ≤ H²) rounds each by at most u(H² + r). With x ≥ ρ(1 - u)/N the later one is strictly higher if

    2u(H² + r)·N < ρ(1 - u)(1 - 2uN).

The fast engine keeps the latest of equal keys apart, by the sign of the tie-break's query, and needs no such condition
where its guard on keys holds at every position (`Proof._kept_apart`); where it can fail, the head is scanned.
Among different keys, and in lookups, it takes the highest of the same rounded scores, or skips keys that it shows to
be lower whatever the rounding; so everything else holds for it as well.

**Integers elsewhere**: `feed_forward.Sums`. Ties between keys, and averages of values, do not occur.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tm2tfr.certificates.kit import DIGITS, roundoff
from tm2tfr.certificates.kit import largest as largest_number
from tm2tfr.sources.turing.proof.attention import Lookups, Retrieval
from tm2tfr.sources.turing.proof.feed_forward import Sums
from tm2tfr.transformer.matrix import Floats, Matrix
from tm2tfr.transformer.weights import Decoder, FeedForward, Head

LONGEST_FAST = 2**31 - 1
"""The number of positions that the fast engine can number."""


@dataclass(frozen=True)
class Condition:
    """One condition: `use` of what is available, at N and H, must be below 1 (or at most 1, unless `strict`).

    Args:
        layer, part, where: the layer from 1, its part, and the head, unit or direction.
        claim: the statement that the condition guarantees; `formula`: the condition itself.

    Raises:
        ValueError: for a negative layer.
    """

    layer: int
    part: str
    where: str
    claim: str
    formula: str
    use: Callable[[int, int], Fraction]
    strict: bool = False

    def __post_init__(self) -> None:
        if self.layer < 0:
            raise ValueError(f"{self.claim}: layer {self.layer} is negative: layers count from 1")

    def holds(self, positions: int, head: int) -> bool:
        """Return whether the condition holds for N = `positions` and H = `head`."""
        used = self.use(positions, head)
        return used < 1 or (used == 1 and not self.strict)


def lookup_use(t: int, error: Fraction, u: Fraction) -> Fraction:
    """Return g(t, E) of the module's docstring."""
    a = 2 * error * (1 + u) + 2 * t * u
    b = (1 + u) ** 3 - 1
    return ((2 * t + 1) * a + (t * t + (t + 1) ** 2) * b) * (1 + u) + u * (t * t + max(t * t, 1))


def different_keys_use(head: int, ratio: Fraction, u: Fraction) -> Fraction:
    """Return u(H² + 1)/(1 - r); 2 if r ≥ 1."""
    room = 1 - ratio * (1 + u) ** 2
    return u * (head * head + 1) / room if room > 0 else Fraction(2)


def equal_keys_use(positions: int, head: int, ratio: Fraction, u: Fraction) -> Fraction:
    """Return 2u(H² + r)·N / (ρ(1 - u)(1 - 2uN)); 2 if 2uN ≥ 1."""
    room = ratio * (1 - u) * (1 - 2 * u * positions)
    return 2 * u * (head * head + ratio * (1 + u) ** 2) * positions / room if room > 0 else Fraction(2)


def conditions(
    dtype: str, lookups: Lookups, retrieval: Retrieval, sums: Sequence[Sums], *, numbered: bool, apart: bool
) -> tuple[Condition, ...]:
    """Return the conditions for floats of `dtype`, in the order of the layers.

    Args:
        numbered: the engine refuses more than 2**31 - 1 positions.
        apart: the engine keeps the latest of equal keys apart without comparing rounded scores.
    """
    u, top = roundoff(dtype), 2 ** DIGITS[dtype]
    found = [*_places(top, u, lookups, retrieval), *(_sum(s, top) for s in sums)]
    if not apart:
        found.append(_equal_keys(retrieval, u))
    if numbered:
        text = f"N ≤ {LONGEST_FAST:,}"
        claim = "the engine can number the positions"
        found.append(Condition(0, "embedding", "positions", claim, text, lambda n, _: Fraction(n, LONGEST_FAST)))
    return tuple(sorted(found, key=lambda c: c.layer))


def _places(top: int, u: Fraction, lookups: Lookups, retrieval: Retrieval) -> Iterator[Condition]:
    def before(h: int) -> Fraction:
        return u * ((h + 1) * (1 + u) + h)

    claim = "positions and the sum of the moves are exact"
    yield Condition(2, "attention", lookups.moves, claim, f"N ≤ {top:,}", lambda n, _: Fraction(n, top))
    claim = "the score of position h is the highest after rounding"
    formula = "about 16·H²·u < 1"
    yield Condition(3, "attention", lookups.here, claim, formula, lambda _, h: lookup_use(h, u * h, u), strict=True)
    claim, formula = claim.replace("h is", "h_{i-1} is"), "about 20·H²·u < 1"
    yield Condition(3, "attention", lookups.before, claim, formula, lambda _, h: lookup_use(h, before(h), u), strict=True)
    claim = "squares of head positions and 2hk - k² are exact"
    yield Condition(4, "attention", retrieval.name, claim, f"3·H² ≤ {top:,}", lambda _, h: Fraction(3 * h * h, top))
    ratio, formula = retrieval.ratio, f"u·(H² + 1) < 1 - {retrieval.ratio}"
    claim = "no tie-break lifts another cell's write to the score of this cell's"
    use = different_keys_use
    yield Condition(4, "attention", retrieval.name, claim, formula, lambda _, h: use(h, ratio, u), strict=True)


def _equal_keys(retrieval: Retrieval, u: Fraction) -> Condition:
    ratio, claim = retrieval.ratio, "of the writes to one cell, the latest scores highest after rounding"
    formula = f"2·u·N·(H² + {ratio}) < {ratio}"
    return Condition(
        4, "attention", retrieval.name, claim, formula, lambda n, h: equal_keys_use(n, h, ratio, u), strict=True
    )


def _sum(sums: Sums, top: int) -> Condition:
    text = f"{sums.constant:,} + {sums.slope:,}·H ≤ {top:,}"
    claim = "every sum of this layer is exact"
    constant, slope = sums.constant, sums.slope
    return Condition(sums.layer, sums.part, sums.where, claim, text, lambda _, h: Fraction(constant + slope * h, top))


def largest(found: Sequence[Condition], most: int, head: int | None) -> int:
    """Return the largest N ≤ `most` for which all conditions hold with H = min(`head`, N - 1); `head` None: H = N - 1.

    Each `use` grows with N and with H, so the conditions are monotone.
    """

    def granted(n: int) -> bool:
        h = n - 1 if head is None else min(head, n - 1)
        return all(condition.holds(n, h) for condition in found)

    return largest_number(granted, most)


# ── No number overflows: a bound on everything that an engine computes, from the weights and the largest of its inputs.
#
# In a run of N positions the stream holds what it should (`prove` shows it), and (N - 1)² is the largest value: all |x|
# are at most X = N². Then a row of a matrix gives at most X times the sum of its absolute values, a score the sum of
# products of two of those, a sum of values N of them, and N ≤ X: everything, partial sums included, is at most G·X²,
# where G is the largest of the same sums for X = N = 1. Heads and units that write nothing are computed like all others,
# and an infinite score in one of them could become NaN: they count.
#
# Rounding, a factor of 1 + u for each operation, is far less than the factor of 2^8 left below the largest float.
EXPONENT = {"float32": 119, "float64": 1015}
"""dtype -> k: no number may exceed 2^k, which is 2^-8 times the power of two above the largest float."""


def overflow(decoder: Decoder, dtype: str) -> Condition:
    """Return the condition that no number is too large for floats of `dtype`: G·N⁴ ≤ 2^k."""
    with np.errstate(over="ignore", invalid="ignore"):
        largest = max(float(size.max(initial=0.0)) for size in _sizes(decoder))
    top, claim = 2 ** EXPONENT[dtype], "no number is too large for the dtype"
    if not np.isfinite(largest):
        return Condition(0, "weights", "all", claim, "G is finite", lambda _n, _h: Fraction(2))
    factor = Fraction(largest) / top
    text = f"{largest:.3g}·N⁴ ≤ 2^{EXPONENT[dtype]}"
    return Condition(0, "weights", "all", claim, text, lambda n, _: factor * n**4)


def _sizes(decoder: Decoder) -> Iterator[Floats]:
    """Yield the largest numbers in each part for X = N = 1."""
    yield _rows(decoder.token_embedding)
    yield _rows(decoder.position_embedding)
    for layer in decoder.layers:
        for head in layer.heads:
            yield from _head(head)
        if layer.feed_forward is not None:
            yield from _units(layer.feed_forward)
    yield _rows(decoder.unembedding) + _rows(decoder.unembedding_bias)


def _head(head: Head) -> Iterator[Floats]:
    query, key, value = (_rows(matrix) for matrix in (head.query, head.key, head.value))
    yield from (query, key, np.array([(query * key).sum()]), value)
    yield 1.0 + _rows(head.output, value)


def _units(layer: FeedForward) -> Iterator[Floats]:
    hidden = _rows(layer.input) + _rows(layer.input_bias)
    yield hidden
    yield 1.0 + _rows(layer.output, hidden) + _rows(layer.output_bias)


def _rows(matrix: Matrix, x: Floats | None = None) -> Floats:
    """Return Σ|w||x| for each row, x: (columns,) or 1 everywhere."""
    sizes = np.abs(matrix.values) * (1.0 if x is None else x[matrix.columns])
    total: Floats = np.bincount(matrix.rows, sizes, minlength=matrix.shape[0]).astype(np.float64)
    return total
