"""Integers that numbers are going to be: the straight-line code goes on with them and need not wait for divisions.

The position that a head attends to is the maximum of a parabola, -γ/2δ, rounded: a division, of means that were divided
before. Each waits for the one before, and the next token waits for all. Nearly always that position is a sum of integers,
as the weights show: a mean is a running sum times 1/(i+1), δ is a multiple of 1/(i+1) too, and 1/(i+1) cancels out. So the
code goes on with that integer, as does the processor, which predicts branches. The divisions are carried out all the same,
and where they say something else, that counts: without a guess, or with a wrong one, the result is the same, but later.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from math import isfinite

from tm2tfr.engines.fast import state as k

LONGEST = 400
"""No guess is longer than this many signs."""
LARGEST = 2**31
"""The largest factor in a guess."""


@dataclass(frozen=True)
class Guess:
    """The value of an expression: `times` · `text` / (i+1) if it is a `share`, without the division otherwise.

    Args:
        text: an expression of integers.
    """

    text: str
    times: Fraction = Fraction(1)
    share: bool = False

    @property
    def sound(self) -> bool:
        """Whether it is short enough, and its factor not too large."""
        return len(self.text) <= LONGEST and 0 < abs(self.times) < LARGEST

    def shared(self) -> Guess:
        """Return the same as a share."""
        return self if self.share else replace(self, text=f"({self.text}) * (i + 1)", share=True)

    def rectified(self) -> Guess:
        """Return the guess of the larger of this and 0."""
        return replace(self, text=f"{'max' if self.times > 0 else 'min'}({self.text}, 0)")

    @property
    def integer(self) -> str | None:
        """The expression of an integer; None if it may be another number."""
        if self.share or self.times.denominator != 1 or not self.sound:
            return None
        return self.text if self.times == 1 else f"({self.text}) * {self.times}"


def guess_of_literal(text: str) -> Guess | None:
    """Return the guess of a literal; None if it is not one."""
    try:
        number = float(text)
    except ValueError:
        return None
    if not isfinite(number):
        return None
    return Guess("1", Fraction(number)) if number else Guess("0")


def guess_of_sum(terms: Iterable[tuple[Guess | None, float]]) -> Guess | None:
    """Return the guess of a sum of multiples; None if one of them has none, or they have no common factor."""
    found = list[Guess]()
    for guess, weight in terms:
        if guess is None:
            return None
        if weight and guess.text != "0":
            found.append(replace(guess, times=guess.times * Fraction(weight)))
    if not found:
        return Guess("0")
    if any(guess.share for guess in found):
        found = [guess.shared() for guess in found]
    unit = min((guess.times for guess in found), key=abs)
    factors = [guess.times / unit for guess in found]
    if any(factor.denominator != 1 or abs(factor) >= LARGEST for factor in factors):
        return None
    words = [
        guess.text if factor == 1 else f"({guess.text}) * {factor}" for guess, factor in zip(found, factors, strict=True)
    ]
    together = Guess(" + ".join(f"({word})" for word in words) if len(words) > 1 else words[0], unit, found[0].share)
    return together if together.sound else None


def guess_of_maximum(linear: Guess | None, square: Guess | None) -> str | None:
    """Return the integer where linear · j + square · j² is largest, -linear / (2 · square); None if there is no guess."""
    if linear is None or square is None or square.text != "1" or (linear.share and not square.share):
        return None
    there = linear if linear.share == square.share else linear.shared()
    return Guess(there.text, -there.times / (2 * square.times)).integer


# ── Straight-line code for many runs, one after the other: the lines around those of one run.
#
# They do what `in_turn.advance_many` does, and read and fill the same arrays. Where the code gives up, in the middle of a
# run, they return LEFT: the kernel runs that position.
FED = ("        if i < fed:", "            token = np.int64(given[np.uint64(first + i)])")
"""At the beginning of a position: what is fed is no answer."""
_BEFORE = f"""def run(s, pools, control, given, runs, answers, codes, numbers, room, tables, heads, places):
    table, whole = tables.by_token, tables.whole
    while True:
        r = runs.at[0]
        first, most = runs.start[r], runs.most[r]
        fed = runs.start[r + 1] - first
        end = control[{k.COUNT}] + min(most, np.int64(len(s.tokens))) - control[{k.POSITION}]
        end = min(end, np.int64(room))
        limit = end"""
_AFTER = f"""        if not stopped and i < most:
            return {k.LEFT} if n < end else {k.DONE}
        runs.row[r + 1], runs.how[r] = n, {k.STOPPED} if stopped else {k.DONE}
        runs.at[0] = r + 1
        if r + 1 == len(runs.most):
            return {k.DONE}
        again(s, pools, control)"""


def in_turns(lines: Iterable[str]) -> list[str]:
    """Return the lines of the function ``run`` for many runs.

    Args:
        lines: those of one run up to `limit`, without what it returns; `fed` tokens are given, from `first` on.
    """
    return [_BEFORE, *(f"    {line}" for line in lines), _AFTER]
