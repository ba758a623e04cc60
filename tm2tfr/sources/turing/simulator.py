"""The ground truth: a Turing machine run as in the textbook, one configuration after the other.

Written for clarity, sharing nothing with the compiler. The tape is a zipper of immutable cells (Huet 1997):
the cells left of the head, nearest first, the symbol under the head, and the cells right of it. A step makes one
new cell and leaves the old tape intact, so every configuration stays valid for as long as it is kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from tm2tfr.base.errors import addressed, counted
from tm2tfr.sources.turing.spec import Example, Machine, Outcome, Rule

Cells = tuple[str, "Cells"] | None  # a linked list: (nearest symbol, the rest)


class Tape(NamedTuple):
    """A two-way infinite tape: the cells left of the head, the symbol under it, the cells right of it."""

    left: Cells
    symbol: str
    right: Cells
    blank: str

    @classmethod
    def holding(cls, word: str, blank: str) -> Tape:
        """Return the tape with `word` from the head on, and blanks everywhere else."""
        right: Cells = None
        for symbol in reversed(word[1:]):
            right = (symbol, right)
        return cls(None, word[0] if word else blank, right, blank)

    def write_and_move(self, symbol: str, move: int) -> Tape:
        """Return the tape after writing `symbol` under the head and moving it by `move`: -1, 0 or +1."""
        left, _, right, blank = self
        if move > 0:
            under, rest = right or (blank, None)
            return Tape((symbol, left), under, rest, blank)
        if move < 0:
            under, rest = left or (blank, None)
            return Tape(rest, under, (symbol, right), blank)
        return Tape(left, symbol, right, blank)

    def cells(self) -> tuple[list[str], int]:
        """Return every cell that was visited or written, left to right, and the index of the head's cell."""
        left = list(_walk(self.left))[::-1]
        return [*left, self.symbol, *_walk(self.right)], len(left)

    # a tuple's own methods would recurse once per cell
    def __repr__(self) -> str:
        cells, at = self.cells()
        return f"<Tape {''.join(cells)!r}, head at index {at}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tape) and (self.blank, self.cells()) == (other.blank, other.cells())

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        cells, at = self.cells()
        return hash((self.blank, *cells, at))


def _walk(cells: Cells) -> Iterator[str]:
    while cells is not None:
        symbol, cells = cells
        yield symbol


class Configuration(NamedTuple):
    """The machine between two steps.

    `step` counts the steps made so far; `head` is the cell under the head, 0 where the input begins; `rule`
    is the rule that the next step uses, None if the machine stops here.
    """

    step: int
    state: str
    head: int
    tape: Tape
    rule: Rule | None

    @property
    def symbol(self) -> str:
        """The symbol read: the one under the head."""
        return self.tape.symbol

    def cells(self) -> tuple[str, int]:
        """Return the tape's contents as text and the number of its first cell (0 or less)."""
        cells, at = self.tape.cells()
        return "".join(cells), self.head - at


@dataclass(frozen=True, kw_only=True)
class Result:
    """The result of a run. `outcome` is ``limit`` if the machine was still running after `steps` steps.

    `tape` is the final tape without the blanks at its right end (and, on a two-way tape, its left end);
    `cells_visited` counts the cells that the head stood on. `ones` is the busy beaver's score: the number of cells
    that are not blank at the end. `stuck` is the state and the symbol that have no rule, if that is where the run ended.
    """

    outcome: Outcome
    steps: int
    tape: str
    cells_visited: int
    ones: int
    stuck: tuple[str, str] | None = field(default=None, compare=False)

    @property
    def shown(self) -> str:
        """The outcome."""
        return self.outcome

    @property
    def own(self) -> dict[str, object]:
        """What there is to say of it beside the outcome, as plain data."""
        return {"steps": self.steps, "final_tape": self.tape, "ones": self.ones}

    def unmet(self, example: Example) -> list[str]:
        """Return the differences from an example, as text."""
        if self.outcome == "limit" != example.outcome:
            cut = f"the run was cut off after {counted(self.steps, 'step')}: raise --max-steps"
            return [f"{example.outcome}, but {addressed(cut)}"]
        pairs = {name: (getattr(example, name), getattr(self, name)) for name in ("outcome", "steps", "tape")}
        return [f"{k} {v!r}, the simulator {got!r}" for k, (v, got) in pairs.items() if v is not None and v != got]


def configurations(machine: Machine, word: str = "", *, max_steps: int | None = None) -> Iterator[Configuration]:
    """Yield the configurations of `machine` on `word`, the initial one first, at most `max_steps` steps.

    The last one yielded has ``rule is None`` if the machine stopped; otherwise the limit was reached.

    Raises:
        InputError: if `word` has symbols outside the input alphabet.
    """
    state, head, tape = machine.start, 0, Tape.holding(machine.check_input(word), machine.blank)
    one_way, halting, delta = machine.tape == "one-way", machine.halting_states, machine.transitions
    step, limit = 0, None if max_steps is None else max(0, max_steps)
    while True:
        rule = None if state in halting else delta.get((state, tape.symbol))
        yield Configuration(step, state, head, tape, rule)
        if rule is None or step == limit:
            return
        move = 0 if one_way and head == 0 and rule.move < 0 else rule.move  # Sipser: stay at the left end
        state, head, tape, step = rule.state, head + move, tape.write_and_move(rule.write, move), step + 1


class Simulation:
    """A run that can be watched: iterate over its configurations, then ask for the result.

    Raises:
        InputError: if `word` has symbols outside the input alphabet.
    """

    def __init__(self, machine: Machine, word: str = "", *, max_steps: int | None = None) -> None:
        self._machine = machine
        self._rest = configurations(machine, machine.check_input(word), max_steps=max_steps)
        self._last = next(self._rest)
        self._lowest = self._highest = 0

    def __iter__(self) -> Iterator[Configuration]:
        """Yield the configurations, the initial one first. This can be done only once."""
        yield self._last
        for here in self._rest:
            self._last = here
            self._lowest, self._highest = min(self._lowest, here.head), max(self._highest, here.head)
            yield here

    @property
    def last(self) -> Configuration:
        """The configuration reached so far."""
        return self._last

    @property
    def stopped(self) -> bool:
        """Whether the machine has stopped, rather than being in mid-run or cut off by the limit."""
        return self._last.rule is None

    def result(self) -> Result:
        """Continue to the end, or to the limit, and return the result of the run."""
        for _ in iter(self):
            pass
        last, machine = self._last, self._machine
        text, _ = last.cells()
        return Result(
            outcome=outcome_at(machine, last),
            steps=last.step,
            tape=trimmed(machine, text),
            cells_visited=self._highest - self._lowest + 1,
            ones=len(text) - text.count(machine.blank),
            stuck=stuck_at(machine, last.state, last.symbol) if last.rule is None else None,
        )


def result(machine: Machine, word: str = "", *, max_steps: int | None = None) -> Result:
    """Run `machine` on `word` to its end, or for `max_steps` steps, and return the result.

    Raises:
        InputError: if `word` has symbols outside the input alphabet.
    """
    return Simulation(machine, word, max_steps=max_steps).result()


def outcomes(machine: Machine, words: Sequence[str], max_steps: int | None) -> list[str | None]:
    """Return the outcome of each run, see `Source.outcomes`."""
    found = (result(machine, word, max_steps=max_steps).outcome for word in words)
    return [None if outcome == "limit" else outcome for outcome in found]


def outcome_at(machine: Machine, last: Configuration) -> Outcome:
    """Return the outcome of a run that ended in the configuration `last`."""
    if last.rule is not None:
        return "limit"
    return machine.outcome_of(last.state) or machine.missing_outcome


def stuck_at(machine: Machine, state: str, symbol: str) -> tuple[str, str] | None:
    """Return the state and the symbol in which a run ended if they have no rule, None if the state is a halting one."""
    return None if state in machine.halting_states else (state, symbol)


def trimmed(machine: Machine, cells: str) -> str:
    """Return the tape's text without its outer blanks: at the right, and on a two-way tape also at the left."""
    cells = cells.rstrip(machine.blank)
    return cells if machine.tape == "one-way" else cells.lstrip(machine.blank)
