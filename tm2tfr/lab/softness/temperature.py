"""What each word for a temperature stands for."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import isfinite
from statistics import linear_regression

from tm2tfr.base.choices import AUTO, LOCAL, NO_TEMPERATURE, THEOREM_26, Temperature
from tm2tfr.base.errors import CompileError
from tm2tfr.engines.decode import Engine
from tm2tfr.transformer.soft import (
    any_length,
    bounded,
    local_temperature,
    locally_softened,
    power_of_two,
    smallest_gap,
    softened,
    theorem_26,
)
from tm2tfr.transformer.weights import Decoder


def softened_by(decoder: Decoder, temperature: float | Temperature, n: int) -> Decoder:
    """Return `decoder` with softmax attention.

    Args:
        temperature: ``local``: each head by its local bound; ``none``: likewise, in runs of any length; ``theorem-26``: the
            largest power of two that Theorem 26 guarantees; ``auto``: local bounds where every head that is not uniform has
            one, otherwise Theorem 26; or a number.
        n: the number of positions that the words are right for; any, where no local bound depends on it.

    Raises:
        CompileError: if there is no such temperature, and the reason; for weights that are already soft.
    """
    if temperature == AUTO:
        temperature = LOCAL if bounded(decoder) else THEOREM_26
    if temperature in (LOCAL, NO_TEMPERATURE):
        return locally_softened(decoder, None if temperature == NO_TEMPERATURE or any_length(decoder) else n)
    return softened(decoder, one_temperature(decoder, temperature, n))


def one_temperature(decoder: Decoder, temperature: float | Temperature, n: int) -> float:
    """Return the one temperature for all heads that `softened_by` stands for: of local bounds the worst head's.

    Raises:
        CompileError: if there is none: for ``none`` always, and for ``local`` where all heads are uniform.
    """
    if isinstance(temperature, float):
        return temperature
    if temperature == NO_TEMPERATURE:
        raise CompileError("the temperature 'none' is no number to measure at: use local, theorem-26, or a number")
    if temperature == LOCAL or (temperature == AUTO and bounded(decoder)):
        if not isfinite(found := local_temperature(decoder, n)):
            raise CompileError("softmax changes nothing, since every head is uniform: give any number as the temperature")
        return found
    return power_of_two(theorem_26(decoder, n, smallest_gap(decoder, n)))


def parsed_word(temperature: object) -> float | Temperature:
    """Return a temperature that is given as a word or a number.

    Raises:
        CompileError: if it is neither.
    """
    for word in (AUTO, LOCAL, THEOREM_26, NO_TEMPERATURE):
        if temperature == word:
            return word
    if isinstance(temperature, bool) or not isinstance(temperature, int | float):
        raise CompileError(f"{temperature!r} is not a temperature: use auto, local, theorem-26, none, or a positive number")
    return float(temperature)


# ── The largest temperature at which every token of a run is right, found by search, and how it shrinks with the length.
#
# At each temperature tried, the decoder with softmax is fed the average-hard run's tokens until it answers a wrong one:
# up to that position it would have generated the same. A run that is right at some temperature need not be right at every
# lower one; the search takes the largest power of two that is right together with the next `STREAK` below, and looks
# between it and the next above. Temperatures further up are not tried again.
HIGHEST, STREAK, HALVINGS = 10, 3, 5
"""The first power of two tried; how many must be right; how often the interval of a factor 2 is then halved."""


class Search:
    """The temperatures tried so far, each with the first position that goes wrong.

    Args:
        decoder: with average-hard attention.
        tokens, answers: its run.
    """

    def __init__(self, decoder: Decoder, tokens: Sequence[str], answers: Sequence[str], *, engine: Engine) -> None:
        self._decoder, self._engine = decoder, engine
        self._pairs = [(decoder.numbers[x], decoder.numbers[y]) for x, y in zip(tokens, answers, strict=True)]
        self._known: dict[float, int] = {}

    def first_wrong(self, power: float) -> int:
        """Return the first position with a wrong answer at the temperature ``2^power``; the run's length if none."""
        if power not in self._known:
            session = self._engine.start(softened(self._decoder, 2.0**power))
            wrong = (n for n, (x, y) in enumerate(self._pairs) if session.feed(x) != y)
            self._known[power] = next(wrong, len(self._pairs))
        return self._known[power]

    def largest(self, n: int, least: float) -> float | None:
        """Return the largest temperature found at which the first `n` positions are right; None: none above `least`."""
        return warmest(lambda power: self.first_wrong(power) >= n, least)


def warmest(right: Callable[[float], bool], least: float) -> float | None:
    """Return the largest temperature found at which a run is right; None: none above `least`.

    Args:
        right: whether the run is right at the temperature ``2^power``.
    """
    best: int | None = None
    for power in range(HIGHEST, math.floor(math.log2(least)) - 1, -1):
        if not right(power):
            best = None
            continue
        best = power if best is None else best
        if best - power == STREAK:
            break
    if best is None:
        return None
    low, high = float(best), float(best + 1)
    for _ in range(HALVINGS if best < HIGHEST else 0):
        middle = (low + high) / 2
        low, high = (middle, high) if right(middle) else (low, middle)
    return float(2.0**low)


class LargestFound:
    """The largest temperature found in runs of so many positions; `found` is None where none was right."""

    positions: int
    found: float | None

    @property
    def unbounded(self) -> bool:
        """Whether even the first temperature tried was right, so that the largest is not known."""
        return self.found == 2.0**HIGHEST

    @property
    def known(self) -> bool:
        """Whether the largest temperature is known."""
        return self.found is not None and not self.unbounded

    def times(self, proved: float | None) -> float | None:
        """Return how many times colder than needed a proven temperature is; None: one of the two is not known."""
        return None if self.found is None or proved is None or self.unbounded else self.found / proved


@dataclass(frozen=True)
class Warmest(LargestFound):
    """At `positions` positions: the largest temperature found (None: none), and the one that Theorem 26 guarantees."""

    positions: int
    found: float | None
    guaranteed: float


def lengths(n: int, shortest: int = 8) -> list[int]:
    """Return the lengths at which a run of `n` positions is examined: n and its halves, from `shortest` on."""
    found = [n]
    while found[-1] // 2 >= shortest:
        found.append(found[-1] // 2)
    return found[::-1]


def exponent(points: Sequence[tuple[int, float]]) -> float | None:
    """Return the slope of log(1/τ) over log n for points (n, τ), by least squares; None for fewer than two lengths."""
    if len({n for n, _ in points}) < 2:
        return None
    x, y = [math.log(n) for n, _ in points], [-math.log(tau) for _, tau in points]
    return linear_regression(x, y).slope


def growth_exponent(growth: Iterable[LargestFound]) -> float | None:
    """Return the exponent of 1/τ, as found, in the number of positions; None for fewer than two lengths."""
    return exponent([(at.positions, at.found) for at in growth if at.found is not None and at.known])
