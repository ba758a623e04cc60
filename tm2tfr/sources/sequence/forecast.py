"""Whether the analysis of all lengths of the input fits into memory, told after a small share of the lengths."""

from __future__ import annotations

import time
from datetime import timedelta
from math import isqrt

from tm2tfr.base import memory

LARGE = 1_000
"""Up to this length of the input, nothing is foreseen."""
SHARE = 8
"""Foreseen from the lengths up to this part of the longest: a 64th of all positions."""


class Forecast:
    """The time and memory of an analysis of all positions of inputs of up to `length` tokens, the longest ones first.

    Both grow with the number of positions, and what the shorter inputs took is what the first positions took. The memory
    is the peak of the process, which grows as that does.
    """

    def __init__(self, length: int) -> None:
        self._length, self._fits = length, length
        self._began, self._before = time.monotonic(), memory.peak()

    @property
    def remedy(self) -> str:
        """What to do where it does not fit."""
        return f"use a smaller --max-length, such as {self._fits:,}"

    def after(self, n: int) -> str | None:
        """Return what is wrong, if it is foreseen now that inputs of n tokens are analysed; None if nothing is.

        Inputs of n tokens come right after those of n - 1; those of `length` tokens come first.
        """
        if self._length <= LARGE or self._before is None or n not in (self._length, self._length // SHARE):
            return None
        now, there = memory.peak(), memory.of_machine()
        if n == self._length or now is None or there is None:
            self._began, self._before = time.monotonic(), now
            return None
        positions, told = self._length * (self._length + 1) // 2, n * (n + 1) // 2
        most = now + (now - self._before) * positions / told
        if most <= there:
            return None
        self._fits = n + isqrt(int((self._length - n) ** 2 * max(there - now, 0) / (most - now)))
        left = timedelta(seconds=round((time.monotonic() - self._began) * positions / told))
        what = f"inputs of up to {self._length:,} tokens have {positions:,} positions, whose values would take"
        return f"{what} about {most:,.0f} MB and {left} to analyse, and this machine has {there:,.0f} MB"
