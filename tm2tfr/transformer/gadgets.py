"""Small pieces of a transformer, each with the statement that it satisfies and the domain on which it holds.

A feed-forward gadget is one or a few ReLU `Unit`s; a unit reads a linear form of the residual stream, adds a
bias, cuts off at 0 and adds multiples of the result to directions. An attention gadget is a `Head`. Neither
multiplies two unbounded numbers, and no weight is larger than 2. A *bit* is a linear form with values in {0, 1}.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from tm2tfr.transformer.claims import Claim, Over
from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.residual import Linear, Residual
from tm2tfr.transformer.weights import FeedForward, Head, Mask


@dataclass(frozen=True)
class Unit:
    """One hidden unit: adds ``writes · ReLU(reads · x + bias)`` to the residual stream."""

    name: str
    reads: Linear
    writes: Linear
    bias: float = 0.0


# ── feed-forward gadgets ────────────────────────────────────────────────────────────────────────────────────
def rectified(name: str, value: Linear, writes: Linear) -> tuple[Unit, ...]:
    """Add ``writes · max(0, value)``. Domain: every real value; for a bit or a natural number that is itself."""
    return (Unit(name, value, writes),)


def conjunction(name: str, bits: Sequence[Linear], writes: Linear) -> tuple[Unit, ...]:
    """Add `writes` iff all k bits are 1: ``ReLU(b_1 + … + b_k - (k - 1))``. Domain: bits."""
    reads: dict[str, float] = {}
    for bit in bits:
        for direction, coefficient in bit.items():
            reads[direction] = reads.get(direction, 0.0) + coefficient
    return (Unit(name, reads, writes, bias=1.0 - len(bits)),)


def gated(name: str, value: Linear, shut: Linear, writes: Linear) -> tuple[Unit, ...]:
    """Add ``writes · value`` if the bit `shut` is 0, otherwise nothing: ``ReLU(value - shut)``.

    Domain: 0 ≤ value ≤ 1. Only a *bounded* number can be gated by a fixed ReLU layer (construction, repair 2).
    The gate is given as the bit that shuts it, so that an open gate adds only zeros to the value: it passes
    unrounded, where ``ReLU(value + open - 1)`` would lose the last digits of a small value.
    """
    return (Unit(name, {**value, **{d: -c for d, c in shut.items()}}, writes),)


def unless(name: str, bit: Linear, natural: str, writes: Linear) -> tuple[Unit, ...]:
    """Add `writes` iff the bit is 1 and the number is 0: ``ReLU(bit - n)``. Domain: a bit, an integer n ≥ 0."""
    return (Unit(name, {**bit, natural: -1.0}, writes),)


def is_zero(name: str, natural: str, writes: Linear) -> tuple[Unit, ...]:
    """Add `writes` iff n = 0: ``ReLU(1 - n)``, which on n ≥ 0 is repair 4's 1 - ReLU(n) + ReLU(n - 1).

    Domain: the integers n ≥ 0.
    """
    return (Unit(name, {natural: -1.0}, writes, bias=1.0),)


def equal(name: str, left: str, right: str, flag: str) -> tuple[Unit, ...]:
    """Add 1 to `flag` iff left = right: the hat ``ReLU(d+1) - 2 ReLU(d) + ReLU(d-1)`` of d = left - right.

    Domain: integers, of either sign.
    """
    d = {left: 1.0, right: -1.0}
    return (
        Unit(f"{name}: d+1", d, {flag: 1.0}, bias=1.0),
        Unit(f"{name}: d", d, {flag: -2.0}),
        Unit(f"{name}: d-1", d, {flag: 1.0}, bias=-1.0),
    )


# ── attention gadgets: with `attends`, a head is claimed to attend there by the gap that its docstring states ─
Transport = Sequence[tuple[Linear, Linear]]
"""What a head carries: (linear form read where it attends, linear form of the directions it is added to)."""


def mean(layout: Residual, name: str, source: str, carries: Transport, *, attends: str | None = None) -> Head:
    """Carry the mean over all positions j ≤ i: queries and keys are 0, all scores tie (Eq. 8.6)."""
    claim = None if attends is None else Claim(attends=attends, gap=None)
    return head(layout, name, source, query=[], key=[], carries=carries, claim=claim)


def lookup(
    layout: Residual,
    name: str,
    source: str,
    *,
    scaled: Linear,
    carries: Transport,
    inverse: str = "1/(i+1)",
    attends: str | None = None,
    constant: bool = False,
) -> Head:
    """Attend to the position j = h alone, given ``scaled`` = h/(i+1) (Eq. 8.8, after Barceló et al. 2024).

    The score is ``(2h·j - j²)/(i+1) = (h² - (h-j)²)/(i+1)``: maximal at j = h, by a gap of 1/(i+1).
    Domain: integers h ≤ i. For h < 0 it attends to position 0.
    Where `scaled` is h itself and `inverse` 1, the score is ``2h·j - j²`` and the gap `constant`: 1.
    """
    query = [{d: 2.0 * c for d, c in scaled.items()}, {inverse: -1.0}]
    over: Over = "constant" if constant else "position"
    claim = None if attends is None else Claim(attends=attends, gap=1.0, lookup=True, over=over)
    return head(layout, name, source, query=query, key=[{"i": 1.0}, {"i^2": 1.0}], carries=carries, claim=claim)


def latest(
    layout: Residual,
    name: str,
    source: str,
    *,
    wanted: str,
    key: tuple[str, str],
    carries: Transport,
    attends: str | None = None,
) -> Head:
    """Attend to the latest position j ≤ i whose key k_j is the integer `wanted` (Eq. 8.15).

    `key` names k_j and its square. The score is ``2h·k_j - k_j² + j/(2(i+1))``: the first two terms are
    h² - (h-k_j)², and equal keys are told apart by the third, which is at most 1/2. Gap: at least 1/(2(i+1)).
    If no key is `wanted`, one of the nearest keys is attended to: the gap can be claimed only where all of these are
    equal. Domain: integers of either sign.
    """
    query: list[Linear] = [{wanted: 2.0}, {"1": -1.0}, {"1/(i+1)": 0.5}]
    return head(
        layout,
        name,
        source,
        query=query,
        key=[{key[0]: 1.0}, {key[1]: 1.0}, {"i": 1.0}],
        carries=carries,
        claim=None if attends is None else Claim(attends=attends, gap=0.5),
    )


# ── from named directions to matrices ───────────────────────────────────────────────────────────────────────
def head(
    layout: Residual,
    name: str,
    source: str,
    *,
    query: Sequence[Linear],
    key: Sequence[Linear],
    carries: Transport,
    claim: Claim | None = None,
    mask: Mask = "future",
) -> Head:
    """Return the head whose matrices have the given linear forms as rows (for the output: as columns).

    Args:
        mask: to which positions it attends, see `tm2tfr.transformer.weights.MASKS`.
    """
    return Head(
        name=name,
        source=source,
        query=stacked(layout, query),
        key=stacked(layout, key),
        value=stacked(layout, [read for read, _ in carries]),
        output=stacked(layout, [write for _, write in carries]).transposed,
        claim=claim,
        mask=mask,
    )


def feed_forward(layout: Residual, units: Iterable[Unit]) -> FeedForward:
    """Return the feed-forward layer made of `units`."""
    units = tuple(units)
    return FeedForward(
        input=stacked(layout, [unit.reads for unit in units]),
        input_bias=_column(tuple(unit.bias for unit in units)),
        output=Matrix.from_columns([layout.form(unit.writes) for unit in units], layout.width),
        output_bias=_zeros(layout.width),
        units=tuple(unit.name for unit in units),
    )


@lru_cache(maxsize=256)
def _column(values: tuple[float, ...]) -> Matrix:
    """Return the matrix with these values: (len(values), 1)."""
    return Matrix.from_entries((len(values), 1), {(n, 0): value for n, value in enumerate(values)})


@lru_cache(maxsize=256)
def _zeros(width: int) -> Matrix:
    return Matrix.from_entries((width, 1), {})


def stacked(layout: Residual, forms: Sequence[Linear]) -> Matrix:
    """Return the matrix with one linear form per row: (len(forms), width)."""
    return Matrix.from_rows([layout.form(form) for form in forms], layout.width)
