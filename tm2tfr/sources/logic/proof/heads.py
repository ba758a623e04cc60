"""That a head is tieless: its best score is ahead of the next one by what it claims, for words of any length.

A score is a sum of products of a direction at the query and one at the key, read from the weights. With whole numbers where
they are claimed, these shapes are known:

- **neighbour**: c(2(i∓1)j - j²) = c((i∓1)² - (j - (i∓1))²), ahead by c;
- **lookup**: s(2yj - j²)/d with d = i + 1 (or N - i) and 2sy in c + gℤ: two neighbours differ by |2sy - s(2j + 1)|/d, so
  that it is ahead by the distance of c + gℤ from the odd multiples of s, divided by d;
- **nearest**: a whole number and ±t·j/d, t ≤ ½, with d = i + 1 > j or d = N: whole numbers that differ do so by 1 and the
  rest by less than ½, and equal ones are told apart by t/d;
- **steep**: (i + 1)·(a whole number) ± j: ahead by 1;
- **sign**: y/d at BOS with y in c + gℤ, 0 at position 1, and -1 or less behind: ahead by the distance of c + gℤ from 0,
  over d.

Rounding: with unit roundoff u, m operations and shares of at most 1, a computed score is off by at most 1.01·m·u times the
sum of the absolute values of its terms, which must be less than half of the lead. Terms that cancel in exact arithmetic are
such terms as well: none of them is left out, neither of the shape nor of the sum.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import gcd

from tm2tfr.certificates.kit import Refused
from tm2tfr.sources.logic.proof.quantities import Directed, Fits, MatrixRow, kind_of, size_of
from tm2tfr.transformer.claims import Over
from tm2tfr.transformer.weights import Head

_SLACK = Fraction(101, 100)
_HALF = Fraction(1, 2)
_LARGEST = 2**40
"""Weights of scores are at most this, and at least 1 over it: then no term overflows, and underflow adds far less to the
error than the 1 % above it allows, since i² is exact: positions are less than 2^12 in float32, 2^27 in float64."""


@dataclass(frozen=True)
class ShownGap:
    """By how much the best score of a head is ahead: `gap`, divided by what `over` says; None: all scores are 0."""

    gap: Fraction | None
    over: Over
    fits: Fits


@dataclass(frozen=True)
class HeadScores:
    """The scores of a head.

    Args:
        components: for each component the row of the query and that of the key.
        known: the kind of each direction.
    """

    head: Head
    components: tuple[tuple[MatrixRow, MatrixRow], ...]
    known: Directed

    def name(self, at: int) -> str:
        """Return the name of a direction; empty if the proof does not know it."""
        quantity = self.known[at]
        return "" if quantity is None else quantity.name

    def kind(self, at: int) -> str:
        """Return the kind of a direction; empty if the proof does not know it."""
        return kind_of(self.known, at)

    @property
    def products(self) -> dict[tuple[str, str], Fraction]:
        """The factor of each product of a direction at the query and one at the key, by their names; 0 of what cancels."""
        found: dict[tuple[str, str], Fraction] = {}
        for query, key in self.components:
            for a, left in query.items():
                for b, right in key.items():
                    pair = self.name(a), self.name(b)
                    found[pair] = found.get(pair, Fraction(0)) + left * right
        return found

    @property
    def total(self) -> Fraction:
        """The sum of the absolute values of the factors, before any of them cancel."""
        sums = ((sum(map(abs, row.values()), Fraction(0)) for row in pair) for pair in self.components)
        return sum((query * key for query, key in sums), Fraction(0))

    @property
    def kinds(self) -> dict[str, str]:
        """The kind of each direction of a query, by its name."""
        return {self.name(at): self.kind(at) for query, _ in self.components for at in query}

    @property
    def operations(self) -> int:
        """A bound on the roundings that a term of a score goes through, those of shares included."""
        rows = [len(query) + len(key) for query, key in self.components]
        return max(rows, default=0) + len(self.components) + 8

    def size(self, positions: int) -> Fraction:
        """Return how large the sum of the absolute values of a score's terms can get."""
        sizes = (size_of(q, self.known, positions) * size_of(k, self.known, positions) for q, k in self.components)
        return sum(sizes, Fraction(0))

    @property
    def whole(self) -> bool:
        """Whether all rows but those that read shares have whole weights."""
        rows = (row for query, key in self.components for row in (query, key))
        return all(w.denominator == 1 for row in rows for at, w in row.items() if self.kind(at) == "whole")


def lead(scores: HeadScores, layer: int) -> ShownGap:
    """Return by how much the best score is ahead, from the weights.

    Raises:
        Refused: if the scores have none of the shapes above, or the head claims more.
    """
    head, claim = scores.head, scores.head.claim
    if claim is None:
        raise Refused("attention", "a head claims nothing", head.name, layer=layer)
    weights = [abs(weight) for pair in scores.components for row in pair for weight in row.values()]
    if weights and not (max(weights) <= _LARGEST and min(weights) * _LARGEST >= 1):
        raise Refused("attention", "a weight of a score is not between 2^-40 and 2^40", head.name, layer=layer)
    if not scores.components:
        found: ShownGap | None = ShownGap(None, "position", lambda positions, u: True)
    else:
        shapes = (_neighbour, _lookup, _sign, _nearest, _steep)
        found = next((each for shape in shapes if (each := shape(scores)) is not None), None)
    if found is None:
        raise Refused("attention", "the scores of a head have no shape that the proof knows", head.name, layer=layer)
    if (claim.gap is None) != (found.gap is None):
        raise Refused(
            "attention", "a head claims a gap where all scores are 0, or none where they are not", head.name, layer=layer
        )
    if claim.gap is not None and found.gap is not None and (claim.over != found.over or Fraction(claim.gap) > found.gap):
        what = f"γ = {float(found.gap):g} over the {found.over} is shown, {claim.gap:g} over the {claim.over} is claimed"
        raise Refused("attention", "a head claims a larger gap than is shown", f"{head.name}: {what}", layer=layer)
    return found


def _neighbour(scores: HeadScores) -> ShownGap | None:
    # 2c·(i∓1)·j - c·j² is c·(i∓1)² - c·(j - (i∓1))²: the key i∓1 is best, and any other loses c or more.
    found = scores.products
    c = -found.get(("1", "i^2"), Fraction(0))
    for mask, sign in (("future", -2), ("none", 2)):
        if c > 0 and scores.head.mask == mask and found == {("i", "i"): 2 * c, ("1", "i"): sign * c, ("1", "i^2"): -c}:
            return ShownGap(c, "constant", _exactly(scores)) if scores.whole else None
    return None


def _lookup(scores: HeadScores) -> ShownGap | None:
    found, kinds = scores.products, scores.kinds
    ends = {"future": ("1/(i+1)", "share"), "none": ("at all past: eos", "rest")}
    if scores.head.mask not in ends:
        return None
    inverse, kind = ends[scores.head.mask]
    scale = -found.pop((inverse, "i^2"), Fraction(0))
    if scale <= 0 or any(b != "i" for _, b in found):
        return None
    if any(a != "1" and kinds[a] != kind for a, _ in found):
        return None
    factors = {a: factor for (a, _), factor in found.items()}
    # Keys j and j + 1 differ by 2sy - s(2j + 1), over d. With y and j whole, that is in c - s + gℤ + 2sℤ, of which `apart`
    # has the element nearest to 0, and that is 0 where neighbours may tie. Scores are concave in j: others are further off.
    gap = apart(factors.pop(inverse, Fraction(0)) - scale, [*factors.values(), 2 * scale])

    def fits(positions: int, u: Fraction) -> bool:
        # A term is at most its factor times N²/d, and the lead is gap/d: the d cancel. Two scores are off, hence the 2.
        return 2 * _error(scores, u) * scores.total * positions**2 < gap

    return ShownGap(gap, "position" if scores.head.mask == "future" else "length", fits) if gap > 0 else None


def _sign(scores: HeadScores) -> ShownGap | None:
    found, kinds = scores.products, scores.kinds
    far = found.pop(("1", "1"), Fraction(0))
    if far > -1 or found.pop(("1", "early"), None) != -far or scores.head.mask != "future":
        return None
    if any(b != "token[BOS]" or (a != "1" and kinds[a] != "share") for a, b in found):
        return None
    factors = {a: factor for (a, _), factor in found.items()}
    # Position 1 has the score 0, since `far` and `early` cancel there; so y/d must not be 0. Positions behind have `far`.
    gap = min(apart(factors.pop("1/(i+1)", Fraction(0)), list(factors.values())), Fraction(1))

    def fits(positions: int, u: Fraction) -> bool:
        # A term is at most its factor times N/d, and the lead is gap/d: the d cancel, as in a lookup.
        return 2 * _error(scores, u) * scores.total * positions < gap

    return ShownGap(gap, "position", fits) if gap > 0 else None


def _nearest(scores: HeadScores) -> ShownGap | None:
    found, kinds = scores.products, scores.kinds
    ties = {pair: factor for pair, factor in found.items() if kinds[pair[0]] != "whole"}
    if len(ties) != 1 or not scores.whole:
        return None
    (((divided, key), tie),) = ties.items()
    known = {"1/(i+1)": "position", "at all none: bos": "length"}
    right = key == "i" and divided in known and (divided != "1/(i+1)" or scores.head.mask == "future")
    if not right or abs(tie) > _HALF or any(factor.denominator != 1 for pair, factor in found.items() if pair not in ties):
        return None
    mixed = [query for query, _ in scores.components if any(scores.kind(at) != "whole" for at in query)]
    if [len(query) for query in mixed] != [1]:
        return None
    if any(scores.kind(at) != "whole" for _, key_row in scores.components for at in key_row):
        return None

    def fits(positions: int, u: Fraction) -> bool:
        # The smallest lead is that of two keys with equal whole parts, |t|/d, where d is at most N.
        return 2 * _error(scores, u) * (_whole_size(scores, positions) + 1) * positions < abs(tie)

    return ShownGap(abs(tie), "position" if divided == "1/(i+1)" else "length", fits)


def _steep(scores: HeadScores) -> ShownGap | None:
    # (i + 1)·w ± j: a larger w is ahead by i + 1, more than the i by which two j in sight differ; equal w leave 1.
    # The factor i + 1 is in two products with equal weights, that with i and that with 1.
    found = scores.products
    tie = found.pop(("1", "i"), Fraction(0))
    steep = {b: factor for (a, b), factor in found.items() if a == "i"}
    flat = {b: factor for (a, b), factor in found.items() if a == "1"}
    whole = scores.whole and all(kind == "whole" for kind in scores.kinds.values())
    keys = [scores.kind(at) for _, key in scores.components for at in key]
    if abs(tie) != 1 or steep != flat or len(found) != 2 * len(steep) or "i" in steep or scores.head.mask != "future":
        return None
    if not whole or any(kind != "whole" for kind in keys) or any(factor.denominator != 1 for factor in steep.values()):
        return None
    return ShownGap(Fraction(1), "constant", _exactly(scores))


def _exactly(scores: HeadScores) -> Fits:
    """Return whether all terms and sums are whole numbers that the dtype has."""
    return lambda positions, u: scores.size(positions) * u <= 1


def _error(scores: HeadScores, u: Fraction) -> Fraction:
    return _SLACK * scores.operations * u


def _whole_size(scores: HeadScores, positions: int) -> Fraction:
    """Return the size of the whole part of a score: that of all components but the one that tells equal keys apart."""
    parts = [(q, k) for q, k in scores.components if all(scores.kind(at) == "whole" for at in q)]
    return sum((size_of(q, scores.known, positions) * size_of(k, scores.known, positions) for q, k in parts), Fraction(0))


def apart(start: Fraction, steps: list[Fraction]) -> Fraction:
    """Return the least absolute value of ``start + Σ k·step`` over whole numbers k."""
    step = Fraction(0)
    for each in steps:
        step = _common(step, each)
    if not step:
        return abs(start)
    rest = start % step
    return min(rest, step - rest)


def _common(a: Fraction, b: Fraction) -> Fraction:
    """Return the greatest number of which both are multiples."""
    below = a.denominator * b.denominator
    return Fraction(gcd(int(a * below), int(b * below)), below)
