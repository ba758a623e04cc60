"""Whole numbers without bound, as linear forms of the stream: counts, lengths, positions, and what is made of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tm2tfr.sources.sequence.compiler.codes import ONE, BitForm, Time, added


@dataclass(frozen=True)
class WholeNumber:
    """A whole number without bound.

    Args:
        form: it, as a linear form, from `time` on.
        square: its square, if that is a linear form too.
        terms: (a, b, c) if it is a·n + b·i + c, where n is the length and i the position.
    """

    form: BitForm
    time: Time
    square: BitForm | None = None
    terms: tuple[int, int, int] | None = None


@dataclass(frozen=True)
class Share:
    """1/w for the number w of positions that a selector selects, from `time` on; w itself where it is known already."""

    form: BitForm
    time: Time
    count: WholeNumber | None = None


EDGES = {
    "==": ((1, 1, 1), (1, 0, -2), (1, -1, 1)),
    ">": ((1, 0, 1), (1, -1, -1)),
    ">=": ((1, 1, 1), (1, 0, -1)),
    "<": ((-1, 0, 1), (-1, -1, -1)),
    "<=": ((-1, 1, 1), (-1, 0, -1)),
}
"""Comparison -> (sign of the difference, bias, weight) of each hidden unit that says whether it holds."""


def summed(counts: Sequence[WholeNumber], factors: Sequence[int]) -> WholeNumber:
    """Return the sum of counts, each times a factor; its square is known if that of one is and the other is constant."""
    form = added([count.form for count in counts], times=factors)
    time, terms = max(count.time for count in counts), None
    known_terms = [count.terms for count in counts if count.terms is not None]
    if len(known_terms) == len(counts):
        pairs = list(zip(known_terms, factors, strict=True))
        terms = tuple(sum(factor * each[n] for each, factor in pairs) for n in range(3))
    square = None
    constants = [n for n, each in enumerate(counts) if each.terms is not None and each.terms[:2] == (0, 0)]
    if len(counts) == 1:
        square = None if counts[0].square is None else added([counts[0].square], times=[factors[0] ** 2])
    elif len(counts) == 2 and constants:
        n = 1 - constants[0]
        own, other, shift = counts[n], counts[1 - n], 0
        shift = factors[1 - n] * (other.terms or (0, 0, 0))[2]
        if own.square is not None:
            square = added([own.square, own.form, ONE], times=[factors[n] ** 2, 2 * factors[n] * shift, shift * shift])
    return WholeNumber(form, time, square, terms)  # type: ignore[arg-type]


def inside(key: WholeNumber, query: WholeNumber) -> bool:
    """Return whether there is always a position whose key is the query: for every length n ≥ 1 and position 0 ≤ i < n."""
    if query.terms is None or key.terms is None:
        return False
    _, slope, start = key.terms
    a, b, c = ((each - own) * slope for each, own in zip(query.terms, (0, 0, start), strict=True))
    ends = ((a, c), (a + b, c - b))  # the position at i = 0 and at i = n - 1, as at_n · n + at_1
    return all(0 <= at_n <= 1 and at_n + at_1 == 0 for at_n, at_1 in ends)
