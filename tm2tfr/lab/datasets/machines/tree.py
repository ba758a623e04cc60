"""Machines in tree normal form: one of each kind of run from the blank tape, found by running them.

A machine begins without rules. Where its run from the blank tape needs one, it halts there, or it gets each rule that
is possible: of the states and symbols not met yet only the first, since the others differ from it by name, and the first
move goes right, since every other machine has a mirror image. Whatever the run does not need stays undefined. Source:
Brady, *The determination of the value of Radó's noncomputable function Σ(k) for four-state Turing machines* (1983); the
name is Marxen and Buntrock's, *Attacking the busy beaver 5* (1990).

Some enumerations also let every machine begin with ``1RB``, which takes a proof; this one does not, as that of Coq-BB5:
without the complete machines, those with two symbols are its 61 with two states (19 of them halt), and its 5,417 with
three (1,772 halt). Of three symbols and more it has all orders, where here the one of first use is left.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from tm2tfr.base.errors import DatasetError, counted
from tm2tfr.lab.datasets.machines.family import Family, Members

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
        steps: a machine that has made so many steps is taken for one that does not halt: it gets no further rules.
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
