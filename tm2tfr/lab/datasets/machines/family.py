"""Every machine of a kind, by number, given the numbers of states and symbols, the moves and the ends.

The possible rules of a cell are the products of (state to go to, symbol to write, move) in this order; the rules of
machine number n are the digits of n, those of the first state and symbol being the most significant. Where δ may be
partial, the digit 0 stands for no rule, and the others are one larger.
"""

from __future__ import annotations

import random
import string
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Literal, NamedTuple, overload

from tm2tfr.base.errors import DatasetError, counted
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
        """The possible entries of δ, in order."""
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


# ── Machines in tree normal form: one of each kind of run from the blank tape, found by running them.
MOST_CELLS = 8
"""The most pairs of a state and a symbol: with 8, there are about a million machines."""
MOST_COMPLETE = 6
"""The same with complete machines: with 6, there are about 20,000."""
LEFT, RIGHT = range(2)


@dataclass(frozen=True, kw_only=True)
class NormalForm:
    """The machines with `states` states and `symbols` symbols in tree normal form, two-way tape, 0 the blank.

    A machine that halts within the limit has the rule ``1RZ`` where it does, so that its last step counts. All others
    have a cell without a rule, which their runs have not come to; `complete` ones, whose last rule is one that does not
    halt, never will.

    Args:
        steps: a machine still running after this many steps counts as non-halting: it gets no further rules.
        complete: whether machines are listed whose rules are all there and do not halt.

    Raises:
        DatasetError: if there are too many machines, or no steps.
    """

    states: int
    symbols: int = 2
    steps: int = 1_000
    complete: bool = False

    def __post_init__(self) -> None:
        size = f"{counted(self.states, 'state')} and {counted(self.symbols, 'symbol')}"
        if self.states < 1 or self.symbols < 2 or self.steps < 1:
            what = f"there are no machines with {size} in tree normal form for {counted(self.steps, 'step')}"
            raise DatasetError(f"{what}: use at least 1 state, 2 symbols and 1 step")
        if (many := too_many(self.states, self.symbols, complete=self.complete)) is not None:
            raise DatasetError(f"{many}: use fewer, or random machines")

    @property
    def family(self) -> Family:
        """The family that the machines are of."""
        return Family(self.states, self.symbols, partial=True)

    def machines(self) -> Members:
        """Return the machines, in the order in which a search in depth first finds them."""
        return Members(self.family, tuple(self.numbers()))

    def numbers(self) -> Iterator[int]:
        """Yield the number of each machine in `family`."""
        family, per_state = self.family, 2 * self.symbols
        halt = 1 + self.states * per_state + 2 + RIGHT  # 1RZ
        waiting = [_Run((0,) * (self.states * self.symbols), {}, 0, 0, 0, 1, 1)]
        while waiting:
            run = self._continued(waiting.pop())
            cell = run.state * self.symbols + run.tape.get(run.head, 0)
            before, after = run.rules[:cell], run.rules[cell + 1 :]
            if run.rules[cell] or run.step == self.steps:
                yield family.number(run.rules)
                continue
            yield family.number((*before, halt, *after))
            rules = [
                (1 + state * per_state + 2 * symbol + move, state, symbol)
                for state in range(min(run.states + 1, self.states))
                for symbol in range(min(run.symbols + 1, self.symbols))
                for move in ((LEFT, RIGHT) if run.step else (RIGHT,))
            ]
            if 0 not in (*before, *after):
                yield from (family.number((*before, rule, *after)) for rule, _, _ in rules if self.complete)
                continue
            waiting += (
                run._replace(
                    rules=(*before, rule, *after),
                    tape=run.tape.copy(),
                    states=max(run.states, state + 1),
                    symbols=max(run.symbols, symbol + 1),
                )
                for rule, state, symbol in reversed(rules)
            )

    def _continued(self, run: _Run) -> _Run:
        """Return a run where it needs a rule that is not there, or at the limit; its tape is changed."""
        rules, tape, head, state, step, *met = run
        symbols, steps = self.symbols, self.steps
        while step < steps and (rule := rules[state * symbols + tape.get(head, 0)]):
            to, said = divmod(rule - 1, 2 * symbols)
            tape[head], move = divmod(said, 2)
            head += 2 * move - 1
            state, step = to, step + 1
        return _Run(rules, tape, head, state, step, *met)


class _Run(NamedTuple):
    """A run from the blank tape that has come to a rule; states and symbols are numbers, `rules` choices of the family."""

    rules: tuple[int, ...]
    tape: dict[int, int]
    head: int
    state: int
    step: int
    states: int
    """The number of states met so far; so for symbols."""
    symbols: int


def too_many(states: int, symbols: int, *, complete: bool) -> str | None:
    """Return why machines of this size cannot be listed; None: they can."""
    if states * symbols <= (MOST_COMPLETE if complete else MOST_CELLS):
        return None
    size = f"{counted(states, 'state')} and {counted(symbols, 'symbol')}"
    return f"there are too many {'complete ' if complete else ''}machines with {size} in tree normal form"
