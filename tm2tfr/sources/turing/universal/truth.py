"""The rows that the simulator expects of a universal decoder: the chapter's table, after the machine's description.

The machine is the one that stands in the prompt. Nothing here is taken from the compiler.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice, pairwise

from tm2tfr.contract import AnyRow, Column
from tm2tfr.sources.turing.columns import OUTCOME_OF_TOKEN, TURING, Row
from tm2tfr.sources.turing.simulator import Result, Simulation
from tm2tfr.sources.turing.spec import Outcome, Rule
from tm2tfr.sources.turing.tokens import BOS, HALT
from tm2tfr.sources.turing.truth import TuringTruth, triple_token
from tm2tfr.sources.turing.universal.program import VERDICT_STATES, Universal
from tm2tfr.sources.turing.universal.specification import UniversalSpecification

GIVEN = {state: verdict for verdict, state in VERDICT_STATES.items()}
"""A state of the machine as it stands in the prompt -> the verdict that has been given in it."""


class UniversalTruth(TuringTruth):
    """A run of the machine that stands in the prompt, see `tm2tfr.contract.Truth`.

    Args:
        max_steps: stop after this many steps of the machine; None: run until it halts.

    Raises:
        CompileError: if there is no machine.
        InputError: if `word` is not over its input alphabet.
    """

    outcomes: tuple[Outcome, ...] = ("accept", "reject", "halt")

    def __init__(self, universal: Universal, word: str, *, max_steps: int | None = None) -> None:
        super().__init__(universal.standing, universal.right.check_input(word), max_steps=max_steps)
        self.universal = universal

    @property
    def prompt(self) -> tuple[str, ...]:  # type: ignore[override]
        """The tokens of the machine's description, and those of the input."""
        return (*self.universal.description, *self.input)

    def rows(self, columns: tuple[Column, ...] = TURING) -> Iterator[AnyRow]:
        """Yield the rows of the chapter's table; it has no other columns."""
        return universal_rows(self.universal, self.input, self._simulation)

    def result(self) -> Result:
        """Return the simulator's result, as far as its rows have been taken, with the verdict of the prompt's rules."""
        found = self._simulation.result()
        last = self._simulation.last
        verdict = GIVEN.get(last.state) or self.universal.unruled.get((last.state, last.symbol))
        return found if verdict is None else replace(found, outcome=_outcome(verdict))

    def specification(self, upto: int) -> UniversalSpecification:  # type: ignore[override]
        """Return the specification of the run up to position `upto`."""
        simulation = Simulation(self.machine, self.input, max_steps=self._max_steps)
        rows = list(islice(universal_rows(self.universal, self.input, simulation), upto + 1))
        return UniversalSpecification.of(self.universal, self.input, rows)


def _outcome(verdict: str) -> Outcome:
    return "accept" if OUTCOME_OF_TOKEN[verdict] == "accept" else "reject"


def universal_rows(universal: Universal, word: str, simulation: Simulation) -> Iterator[Row]:
    """Yield the rows of the chapter's table for the machine in the prompt, from the configurations of `simulation`.

    The configuration at which a step limit cuts the run off has no row.
    """
    machine, lead = universal.standing, universal.description
    for n, token in enumerate(lead):
        yield Row(n, token, None, None, 0, 0, machine.blank, token)
    under = word[0] if word else machine.blank
    for n, symbol in enumerate(word, start=len(lead)):
        yield Row(n, symbol, None, None, 0, 0, under, symbol)
    token, written, move, i = triple_token(machine.start, under, 0), under, 0, len(lead) + len(word)
    yield Row(i, BOS, None, None, 0, 0, under, token)
    for here, after in pairwise(simulation):
        i += 1
        answer, said = _answer(here.rule, after.head - here.head)
        yield Row(i, token, here.state, written, move, here.head, here.symbol, answer)
        if answer in GIVEN.values():
            return
        token, written, move = answer, said, after.head - here.head
    if simulation.stopped:
        end = simulation.last
        verdict = universal.unruled.get((end.state, end.symbol), HALT)
        yield Row(i + 1, token, end.state, written, move, end.head, end.symbol, verdict)


def _answer(rule: Rule | None, move: int) -> tuple[str, str]:
    """Return the token that a rule answers if the head moves by `move`, and the symbol that it writes."""
    if rule is None:  # a configuration that has a successor has a rule
        raise RuntimeError("the simulator continued without a rule")
    return GIVEN.get(rule.state) or triple_token(rule.state, rule.write, move), rule.write
