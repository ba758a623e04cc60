"""Every machine of a kind, by number, given the numbers of states and symbols, the moves and the ends.

The possible rules of a cell are the products of (state to go to, symbol to write, move) in this order; the rules of
machine number n are the digits of n, those of the first state and symbol being the most significant. Where δ may be
partial, the digit 0 stands for no rule, and the others are one larger.
"""

from __future__ import annotations

import random
import string
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Literal, overload

from tm2tfr.sources.turing.formats.bbchallenge import UNDEFINED
from tm2tfr.sources.turing.spec import MOVE_LETTERS, Machine, Rule, TapeKind

Ends = Literal["halt", "verdict"]

MOST_STATES = 25
"""The states are the letters before Z; Z halts."""
MOST_SYMBOLS = 10
"""The symbols are digits, 0 the blank."""
HALT = "Z"
VERDICTS = ("accept", "reject")
_SHOWN = {"accept": "+", "reject": "-"}


@dataclass(frozen=True)
class Family:
    """All machines with `states` states that have rules, and `symbols` symbols, where every cell of δ is filled.

    Args:
        moves: -1, 0, +1 or some of them, in order.
        ends: a rule goes to one of the states or to Z, which halts; or, with ``verdict``, to accept or to reject.
        partial: whether cells of δ may be empty, too; a machine halts, or rejects, where it has no rule.
    """

    states: int
    symbols: int
    moves: tuple[int, ...] = (-1, 1)
    tape: TapeKind = "two-way"
    ends: Ends = "halt"
    partial: bool = False

    @cached_property
    def size(self) -> int:
        """The number of machines."""
        return int(len(self.choices) ** len(self._cells))

    @property
    def input_alphabet(self) -> tuple[str, ...]:
        """Σ of each machine: every symbol but the blank."""
        return tuple(string.digits[1 : self.symbols])

    def machine(self, number: int) -> Machine:
        """Return machine number `number`, from 0."""
        rules: list[Rule | None] = []
        for _ in self._cells:
            number, digit = divmod(number, len(self.choices))
            rules.append(self.choices[digit])
        rules.reverse()
        names = self._names
        return Machine(
            transitions={cell: rule for cell, rule in zip(self._cells, rules, strict=True) if rule is not None},
            start=names[0],
            blank="0",
            states=(*names, *self._end_states),
            input_alphabet=self.input_alphabet,
            tape_alphabet=tuple(string.digits[: self.symbols]),
            accept=VERDICTS[:1] if self.ends == "verdict" else None,
            reject=VERDICTS[1:] if self.ends == "verdict" else None,
            tape=self.tape,
            name=self._name(rules),
        )

    def number(self, digits: Iterable[int]) -> int:
        """Return the number of the machine whose rules are these of the `choices`, by state and symbol."""
        number = 0
        for digit in digits:
            number = number * len(self.choices) + digit
        return number

    def _name(self, rules: Sequence[Rule | None]) -> str:
        """Return the machine as bbchallenge text, with S for a stay, and + and - for the verdicts."""
        cells = [(r and f"{r.write}{MOVE_LETTERS[r.move]}{_SHOWN.get(r.state, r.state)}") or UNDEFINED for r in rules]
        rows = ["".join(cells[n : n + self.symbols]) for n in range(0, len(cells), self.symbols)]
        return "_".join(rows) + (" one-way" if self.tape == "one-way" else "")

    @property
    def _names(self) -> str:
        return string.ascii_uppercase[: self.states]

    @property
    def _end_states(self) -> tuple[str, ...]:
        return VERDICTS if self.ends == "verdict" else (HALT,)

    @cached_property
    def _cells(self) -> list[tuple[str, str]]:
        return list(product(self._names, string.digits[: self.symbols]))

    @cached_property
    def choices(self) -> tuple[Rule | None, ...]:
        """What a cell of δ may contain, in order."""
        to = (*self._names, *self._end_states)
        rules = (Rule(*rule) for rule in product(to, string.digits[: self.symbols], self.moves))
        return (None, *rules) if self.partial else tuple(rules)


@dataclass(frozen=True)
class Members(Sequence[Machine]):
    """Machines of a family, made on demand."""

    family: Family
    numbers: Sequence[int]

    def __len__(self) -> int:
        return len(self.numbers)

    @overload
    def __getitem__(self, at: int) -> Machine: ...
    @overload
    def __getitem__(self, at: slice) -> Members: ...
    def __getitem__(self, at: int | slice) -> Machine | Members:
        if isinstance(at, slice):
            return Members(self.family, self.numbers[at])
        return self.family.machine(self.numbers[at])


def drawn(family: Family, count: int, seed: str) -> Members:
    """Return `count` different machines of `family`, drawn at random, in the order in which they were drawn."""
    chance, found = random.Random(seed), dict[int, None]()
    while len(found) < count:
        found[chance.randrange(family.size)] = None
    return Members(family, tuple(found))
