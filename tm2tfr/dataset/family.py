"""Every machine of a kind, by number, given the numbers of states and symbols, the moves and the ends.

The possible rules of a cell are the products of (state to go to, symbol to write, move) in this order; the rules of
machine number n are the digits of n, those of the first state and symbol being the most significant.
"""

from __future__ import annotations

import random
import string
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Literal, overload

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
    """

    states: int
    symbols: int
    moves: tuple[int, ...] = (-1, 1)
    tape: TapeKind = "two-way"
    ends: Ends = "halt"

    @cached_property
    def size(self) -> int:
        """The number of machines."""
        return int(len(self._rules) ** len(self._cells))

    @property
    def input_alphabet(self) -> tuple[str, ...]:
        """Σ of each machine: every symbol but the blank."""
        return tuple(string.digits[1 : self.symbols])

    def machine(self, number: int) -> Machine:
        """Return machine number `number`, from 0."""
        rules = []
        for _ in self._cells:
            number, digit = divmod(number, len(self._rules))
            rules.append(self._rules[digit])
        rules.reverse()
        names = self._names
        return Machine(
            transitions=dict(zip(self._cells, rules, strict=True)),
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

    def _name(self, rules: Sequence[Rule]) -> str:
        """Return the machine as bbchallenge text, with S for a stay, and + and - for the verdicts."""
        cells = [f"{r.write}{MOVE_LETTERS[r.move]}{_SHOWN.get(r.state, r.state)}" for r in rules]
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
    def _rules(self) -> list[Rule]:
        to = (*self._names, *self._end_states)
        return [Rule(*rule) for rule in product(to, string.digits[: self.symbols], self.moves)]


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
