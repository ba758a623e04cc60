"""Small pieces of a transformer, each with the statement that it satisfies and the domain on which it holds.

A feed-forward gadget is one or a few ReLU `Unit`s; a unit reads a linear form of the residual stream, adds a
bias, cuts off at 0 and adds multiples of the result to directions. An attention gadget is a `Head`. Neither
multiplies two unbounded numbers, and no weight is larger than 2, but for slopes and γ, which are chosen. A *bit* is a
linear form with values in {0, 1}.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

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


def equal(name: str, left: str, right: str, flag: str, *, one: str | None = None) -> tuple[Unit, ...]:
    """Add 1 to `flag` iff left = right: the hat ``ReLU(d+1) - 2 ReLU(d) + ReLU(d-1)`` of d = left - right.

    Domain: integers, of either sign.

    Args:
        one: the direction of a positive number that both are multiples of, which is added instead of 1; None: 1 itself.
    """

    def unit(step: float) -> Unit:
        reads = {left: 1.0, right: -1.0} | ({one: step} if one is not None and step else {})
        return Unit(
            f"{name}: d{step:+g}" if step else f"{name}: d", reads, {flag: 1.0 if step else -2.0}, bias=0.0 if one else step
        )

    return unit(1.0), unit(0.0), unit(-1.0)


def ramp(start: float, end: float) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return a function of x that is 0 up to `start`, 1 from `end` on, and linear between: ``Σ slope · ReLU(x - edge)``.

    Lemma 9 of Yang et al., which turns approximate Booleans into exact ones, is ``ramp(1/4, 3/4)``.

    Returns:
        the edge and the slope of each of its two units.
    """
    slope = 1 / (end - start)
    return (start, slope), (end, -slope)


def stepped(name: str, value: Linear, start: float, end: float, writes: Linear) -> tuple[Unit, ...]:
    """Add ``writes · ramp(start, end)(value)``: two units. Domain: every real value."""
    return tuple(
        Unit(f"{name}: {edge:g}", value, {d: slope * c for d, c in writes.items()}, bias=-edge)
        for edge, slope in ramp(start, end)
    )


def truncated(name: str, value: Linear, result: str, *, bits: int, to: int, deep: bool = False) -> list[tuple[Unit, ...]]:
    """Add to `result`, which is 0, the first `to` bits of a number with `bits` bits (Lemma 27 of Yang et al.).

    Lemma 27: a ReLU network of ℓ layers and width m that rounds such numbers has ``(2m)^ℓ ≥ 2^to``, since each of the 2^to
    results needs a piece of its own. One layer has ``2·(2^to - 1)`` units here; `to` layers have 2 units each.

    Args:
        value: a linear form that is a multiple of ``2^-bits``, from 0 to 1 - 2^-bits.
        to: at most `bits`.
        deep: a layer for each bit, which reads what earlier layers have left of the number; otherwise one layer.

    Returns:
        the units of each layer, in order.
    """
    fine, coarse = 2.0**-bits, 2.0**-to
    if not deep:
        edges = [k * coarse for k in range(1, 2**to)]
        return [tuple(unit for edge in edges for unit in stepped(name, value, edge - fine, edge, {result: coarse}))]
    left = {**value, result: -1.0}
    halves = [2.0**-k for k in range(1, to + 1)]
    return [stepped(name, left, half - fine, half, {result: half}) for half in halves]


# ── attention gadgets: with `attends`, a head is claimed to attend there by the gap that its docstring states ─
Transport = Sequence[tuple[Linear, Linear]]
"""The value map of a head: (linear form read where it attends, linear form of the directions it is added to)."""


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


TieBreakCase = Literal["a", "b", "c"]
"""Of Lemma 8: the rightmost of the best positions by -1/j, the rightmost by j/(2n), or the leftmost by -j/(2n)."""


@dataclass(frozen=True)
class TieBreak:
    """What makes softmax attend to one of the positions with the best score s: the score ``query · (s + key)``.

    Args:
        query, key: linear forms of position features.
        gap: γ: the next score is behind by γ divided by what `over` says.
        over: as of `tm2tfr.transformer.claims.Claim`.
    """

    query: Linear
    key: Linear
    gap: float
    over: Over


def tie_break(case: TieBreakCase, gamma: float = 3.0, *, scaled: bool = False) -> TieBreak:
    """Return the tie-break of Lemma 8 of Yang et al., for scores s whose best one is ahead of lower ones by at least 1.

    At a temperature of 1/n, or of 1/(i+1)² in case (a), the weights are within ``4·e^-γ``, as in Lemma 6, of all weight on
    the position that is wanted. The printed n² and 1/j are (i+1)² and 1/(j+1) here: positions count from 0, and under a
    future mask position i sees i + 1 of them. Domain: any number n of positions.

    Args:
        gamma: γ.
        scaled: multiply the query by n, or by (i+1)², as printed in the lemma, so that the temperature is 1.
    """
    if case == "a":
        query: Linear = {"i^2": gamma, "i": 2 * gamma, "1": gamma} if scaled else {"1": gamma}
        return TieBreak(query, {"1/(i+1)": -1.0}, gamma, "constant" if scaled else "square")
    sign = 0.5 if case == "b" else -0.5
    return TieBreak({"n" if scaled else "1": 2 * gamma}, {"i/n": sign}, gamma, "constant" if scaled else "length")


def end_mark(layout: Residual, name: str, mean_of: str, mark: str, *, last: bool = False) -> tuple[Head, tuple[Unit, ...]]:
    """Write 1 to `mark` at the first position of a word, or at the last, and 0 elsewhere (Proposition 11 of Yang et al.).

    A mean of n values 1, -1, 1, … is ±1 for n = 1, and otherwise from -1/3 to 1/3: that is the mean of (-1)^j over the
    positions up to i, or over those from i on. Uniform attention has the same weights under softmax, so there is no gap.

    Args:
        mean_of: the direction that the head writes the mean to; it is 0 before, and so is `mark`.
        last: mark the last position, by a past mask; otherwise the first, by a future mask.

    Returns:
        the head, and the units after it.
    """
    carries: Transport = [({"(-1)^i": 1.0}, {mean_of: 1.0})]
    marking = head(layout, name, "Proposition 11", query=[], key=[], carries=carries, mask="past" if last else "future")
    signs = (1.0, -1.0) if last else (1.0,)
    return marking, tuple(Unit(f"{mark}: {sign:+g}", {mean_of: sign}, {mark: 2.0}, bias=-0.5) for sign in signs)


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
        output_bias=zero_column(layout.width),
        units=tuple(unit.name for unit in units),
    )


@lru_cache(maxsize=256)
def _column(values: tuple[float, ...]) -> Matrix:
    """Return the matrix with these values: (len(values), 1)."""
    return Matrix.from_entries((len(values), 1), {(n, 0): value for n, value in enumerate(values)})


@lru_cache(maxsize=256)
def zero_column(width: int) -> Matrix:
    """Return a bias of zeros: (width, 1)."""
    return Matrix.from_entries((width, 1), {})


def stacked(layout: Residual, forms: Sequence[Linear]) -> Matrix:
    """Return the matrix with one linear form per row: (len(forms), width)."""
    return Matrix.from_rows([layout.form(form) for form in forms], layout.width)
