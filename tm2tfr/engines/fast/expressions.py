"""The lines of a function of positions while they grow, and expressions of what is known about the stream at that point."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import isfinite
from typing import NamedTuple

import numpy as np

from tm2tfr.engines.fast import arrays as k
from tm2tfr.engines.fast.arrays import Rows, Terms3
from tm2tfr.transformer.matrix import Floats, Ints, Ints32

# ── integers that numbers are going to be: the straight-line code continues with them and need not wait for divisions
# The position that a head attends to is the maximum of a parabola, -γ/2δ, rounded: a division, of means that were divided
# before. Each waits for the one before, and the next token waits for all. Nearly always that position is a sum of
# integers, as the weights show: a mean is a running sum times 1/(i+1), δ is a multiple of 1/(i+1) too, and 1/(i+1)
# cancels out. So the code continues with that integer, as does the processor, which predicts branches. The divisions are
# carried out all the same, and where they say something else, that counts: without a guess, or with a wrong one, the
# result is the same, but later.
LONGEST = 400
"""No guess is longer than this many signs."""
LARGEST = 2**31
"""The largest factor in a guess."""
NONE = np.zeros(1, dtype=np.int64)


@dataclass(frozen=True)
class Guess:
    """The value of an expression: `times` · `text` / (i+1) if it is a `share`, without the division otherwise.

    Args:
        text: an expression of integers.
        by: where the token determines it, (a, b) with `text` = a · (i+1) + b: of one token each, or of all the same.
    """

    text: str
    times: Fraction = Fraction(1)
    share: bool = False
    by: tuple[Ints, Ints] | None = None

    @property
    def sound(self) -> bool:
        """Whether it is short enough, and its factor not too large."""
        return len(self.text) <= LONGEST and 0 < abs(self.times) < LARGEST

    def shared(self) -> Guess:
        """Return the same as a share."""
        if self.share:
            return self
        by = None if self.by is None or self.by[0].any() else (self.by[1], self.by[0])
        return replace(self, text=f"({self.text}) * (i + 1)", share=True, by=by)

    def rectified(self) -> Guess:
        """Return the guess of the larger of this and 0."""
        by = None
        if self.by is not None:
            a, b = (column if self.times > 0 else -column for column in np.broadcast_arrays(*self.by))
            below, above = (a <= 0) & (a + b <= 0), (a >= 0) & (a + b >= 0)  # at every position
            if (below | above).all():
                by = np.where(below, 0, self.by[0]), np.where(below, 0, self.by[1])
        return replace(self, text=f"{'max' if self.times > 0 else 'min'}({self.text}, 0)", by=by)

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
    return Guess("1", Fraction(number), by=(NONE, NONE + 1)) if number else Guess("0")


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
    by = None
    if all(guess.by is not None for guess in found):
        columns = [
            (int(factor) * guess.by[0], int(factor) * guess.by[1])
            for guess, factor in zip(found, factors, strict=True)
            if guess.by
        ]
        by = sum((a for a, _ in columns), NONE), sum((b for _, b in columns), NONE)
    together = Guess(" + ".join(f"({word})" for word in words) if len(words) > 1 else words[0], unit, found[0].share, by)
    return together if together.sound else None


def guess_of_maximum(linear: Guess | None, square: Guess | None) -> str | None:
    """Return the integer where linear · j + square · j² is largest, -linear / (2 · square); None if there is no guess."""
    if linear is None or square is None or square.text != "1" or (linear.share and not square.share):
        return None
    there = linear if linear.share == square.share else linear.shared()
    return Guess(there.text, -there.times / (2 * square.times)).integer


# ── Straight-line code for many runs, one after the other: the lines around those of one run.
#
# They do what `kernel.advance_many` does, and read and fill the same arrays. Where the code gives up, in the middle of a
# run, they return LEFT: the kernel runs that position.
FED = ("        if i < fed:", "            token = np.int64(given[np.uint64(first + i)])")
"""At the beginning of a position: a token that is fed is not an answer."""
_BEFORE = f"""def run(s, pools, control, given, runs, answers, codes, numbers, room, tables, heads, places):
    table, whole, given_by = tables.by_token, tables.whole, tables.given
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


ZERO, ONE = "0.0", "1.0"
_POSITIONS = re.compile(r"(?:j\d+|\* -1|[-+() ])+")
_NAME = re.compile(r"\b[A-Za-z_]\w*")
_EVERYWHERE = {"table", "columns", "given_by", "np", "uint64", "max", "min", "abs"}
"""Names in expressions that do not depend on the position."""


class Tables(NamedTuple):
    """The inputs of the code besides the session's arrays.

    Args:
        by_token, whole, given: (vocabulary · columns,) numbers and integers that a token determines, and
            `Heads.value_of_token`, of one dimension: so the code knows how long a row is.
        contexts, following, bits, codes, numbers: what the memo said last, by the tokens attended to: these tokens as one
            number, or -1; the answer; the rest of the memo's key; the probes that the memo has. All but the first two in
            rows, one after the other.
    """

    by_token: Floats
    whole: Ints
    given: Floats
    contexts: Ints
    following: Ints
    bits: Ints
    codes: Ints32
    numbers: Floats


class Expressions:
    """Lines, and expressions of numbers, with guesses of what they are going to be.

    Args:
        held: by token, the directions that it determines and their values.
    """

    def __init__(self, vocabulary: int, held: Sequence[dict[int, float]]) -> None:
        self.lines, self.indent = list[str](), 8
        self._vocabulary, self._held = vocabulary, list(held)
        self._moved: dict[int, str] = {}  # direction -> the variable that holds it; all others go by the token
        self._columns: dict[bytes, tuple[str, Floats]] = {}
        self._whole: dict[bytes, tuple[str, Ints]] = {}
        self._guesses = {
            "f0": Guess("1", share=True, by=(NONE, NONE + 1)),
            "f2": Guess("i"),
            "f3": Guess("i * i"),
        }  # by expression
        self._guessed, self._kept = 1, (0, 0, 0)  # the number of rows in `Tables`, and of bits, codes, numbers in each
        self._by_tokens = {"t"}  # variables that follow from the tokens attended to
        self._definitions: dict[str, str] = {}
        self._names = 0

    def add(self, *lines: str) -> None:
        self.lines += [" " * self.indent + line for line in lines]

    def let(self, expression: str) -> str:
        """Add a variable and return its name; one that is just another name is not needed."""
        if expression.isidentifier():
            return expression
        name = f"a{self._names}"
        self._names += 1
        self.add(f"{name} = {expression}")
        self.guess(name, self.guess_of(expression))
        self._definitions[name] = expression
        if self.by_tokens(expression):
            self._by_tokens.add(name)
        return name

    def definition(self, name: str) -> str:
        """Return the expression of a variable that is a place in a table, which is read where it is used, or its name."""
        found = self._definitions.get(name, name)
        return found if found.startswith("given_by[") else name

    def constant(self, name: str) -> float | None:
        """Return the value of a variable that is a sum of literals; None for another one."""
        found = self._definitions.get(name, name)
        return None if _NAME.search(found) else float(eval(found))

    def by_tokens(self, expression: str) -> bool:
        """Return whether an expression follows from the tokens attended to, without the position."""
        return set(_NAME.findall(expression)) <= self._by_tokens | _EVERYWHERE

    def guess(self, expression: str, guess: Guess | None) -> str:
        """Remember the guess of an expression, and return the expression."""
        if guess is not None and guess.by is not None and not guess.by[0].any() and guess.text != "0":
            column = np.broadcast_to(guess.by[1], self._vocabulary)
            guess = replace(guess, text=str(column[0]) if (column == column[0]).all() else self.whole_by_token(column))
        if guess is not None and guess.sound:
            self._guesses[expression] = guess
        return expression

    def guess_of(self, expression: str) -> Guess | None:
        return self._guesses.get(expression) or guess_of_literal(expression)

    def leave_if(self, condition: str) -> None:
        self.add(f"if {condition}:", "    break")

    def read(self, direction: int) -> str:
        """Return the expression of a direction's current value."""
        if direction in self._moved:
            return self._moved[direction]
        return self.by_token(np.array([held.get(direction, 0.0) for held in self._held]))

    def by_token(self, column: Floats) -> str:
        """Return the expression of a number that the token determines."""
        column = column + 0.0
        if (column == column[0]).all():
            return as_literal(column[0])
        known = self._columns.get(column.tobytes())
        if known is None:
            known = (self.let(f"table[t * columns + {place_of(len(self._columns))}]"), column)
            self._columns[column.tobytes()] = known
            if (column == np.rint(column)).all() and abs(column).max() < LARGEST:
                whole = column.astype(np.int64)
                self.guess(known[0], Guess(self.whole_by_token(whole), by=(NONE, whole)))
        return known[0]

    def whole_by_token(self, column: Ints) -> str:
        """Return the expression of an integer that the token determines."""
        place = f"whole[t * wholes + {place_of(len(self._whole))}]"
        known = self._whole.setdefault(column.tobytes(), (place, column))
        return known[0]

    def labels(self, start: int, stop: int) -> Ints:
        """Return by token the label of directions that it determines, as `tail._label` finds it: (vocabulary,)."""
        found = []
        for held in self._held:
            some = [(c - start, held[c]) for c in range(start, stop) if held.get(c, 0.0) != 0.0]
            found.append(-1 if not some else some[0][0] if len(some) == 1 and some[0][1] == 1.0 else -2)
        return np.array(found, dtype=np.int64)

    def widths(self) -> str:
        """Return the line of the numbers of columns in the tables."""
        return f"    columns, wholes = {place_of(len(self._columns))}, {place_of(len(self._whole))}"

    def tables(self, given: Floats) -> Tables:
        """Return the inputs of the code."""
        columns, whole = ([column for _, column in found.values()] for found in (self._columns, self._whole))
        shape = self._vocabulary
        return Tables(
            np.array(columns, dtype=np.float64).reshape(len(columns), shape).T.reshape(-1),
            np.array(whole, dtype=np.int64).reshape(len(whole), shape).T.reshape(-1),
            given.reshape(-1),
            np.full(self._guessed, -1, dtype=np.int64),
            np.zeros(self._guessed, dtype=np.int64),
            np.zeros(self._guessed * self._kept[0], dtype=np.int64),
            np.zeros(self._guessed * self._kept[1], dtype=np.int32),
            np.zeros(self._guessed * self._kept[2]),
        )

    def total(self, terms: Iterable[tuple[str, float]], start: str = ZERO) -> str:
        """Return the sum of (expression, weight) from left to right; it is never -0.0 if no expression is."""
        text, terms = start, list(terms)
        for value, weight in terms:
            if ZERO in (value, term := product_of(weight, value)):
                continue
            alone = text == ZERO and weight >= 1.0 and "-" not in value
            text = term if alone else f"{text} + {term}"
        begun = [(self.guess_of(start), 1.0)]
        return self.guess(text, guess_of_sum(begun + [(self.guess_of(value), weight) for value, weight in terms]))

    def plus(self, first: str, second: str) -> str:
        return self.guess(sum_of(first, second), guess_of_sum((self.guess_of(e), 1.0) for e in (first, second)))

    def row(self, table: Rows, r: int) -> str:
        return self.total((self.read(c), weight) for c, weight in entries_of(table, r).items())

    def pure(self, table: Terms3, r: int, features: tuple[str, ...]) -> str:
        """Return a combination of position features."""
        cut = slice(int(table.start[r]), int(table.start[r + 1]))
        columns = (table.feature, table.embedded, table.weight)
        terms = zip(*(column[cut].tolist() for column in columns), strict=True)
        products = ((self.guess(product_of(e, features[f]), self.total_guess(features[f], e)), w) for f, e, w in terms)
        return self.total(products)

    def total_guess(self, expression: str, weight: float) -> Guess | None:
        return guess_of_sum([(self.guess_of(expression), weight)])


def entries_of(table: Rows, r: int) -> dict[int, float]:
    cut = slice(int(table.start[r]), int(table.start[r + 1]))
    return dict(zip(table.number[cut].tolist(), table.weight[cut].tolist(), strict=True))


def place_of(number: int) -> str:
    """Return a place in an array as an unsigned literal: one that may be below 0 costs two instructions more."""
    return f"np.uint64({number})"


def in_floats(text: str) -> str:
    """Return the float of a guess: of a sum of positions j1, j2, … that of their floats g1, g2, …, which is exact."""
    return re.sub(r"\bj(\d+)", r"g\1", text) if _POSITIONS.fullmatch(text) else f"np.float64({text})"


def as_literal(number: float) -> str:
    return repr(float(number))


def product_of(weight: float, value: str) -> str:
    """Return the product of a weight and an expression that is a name, a call or a literal."""
    if value == ZERO or weight == 1.0:
        return value
    if value == ONE:
        return as_literal(weight)
    return f"{as_literal(weight)} * ({value})" if "*" in value else f"{as_literal(weight)} * {value}"


def sum_of(first: str, second: str) -> str:
    """Return the sum of two expressions that are never -0.0."""
    if ZERO in (first, second):
        return first if second == ZERO else second
    return f"{first} + ({second})"


def in_row(array: str, row: str, columns: int, column: int) -> str:
    """Return the expression of a place in an array of rows that has one dimension."""
    return f"{array}[{row} * {place_of(columns)} + {place_of(column)}]"


def stretches(numbers: Iterable[int]) -> list[tuple[int, int]]:
    """Return ascending numbers as ranges (first, last + 1)."""
    found: list[tuple[int, int]] = []
    for number in numbers:
        if found and found[-1][1] == number:
            found[-1] = (found[-1][0], number + 1)
        else:
            found.append((number, number + 1))
    return found


def placed(table: Rows) -> Ints:
    """Return the directions that the position table writes, in order; see `tm2tfr.transformer.matrix.occurring`."""
    return np.flatnonzero(np.bincount(table.number))


def by_position(table: Rows) -> Floats:
    """Return the position table as numbers: (positions, directions that it writes)."""
    directions = placed(table)
    places = np.searchsorted(directions, table.number)
    numbers = np.zeros((len(table.start) - 1, len(directions)))
    numbers[np.repeat(np.arange(len(numbers)), np.diff(table.start)), places] = table.weight
    return numbers
