"""The rows that the simulator expects of a universal decoder: the chapter's table, after the machine's description.

The machine is the one that stands in the prompt. Nothing here is taken from the compiler.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Self

import numpy as np

from tm2tfr.contract.specification import Specification
from tm2tfr.sources.turing.columns import OUTCOME_OF_TOKEN, Row
from tm2tfr.sources.turing.simulator import Result
from tm2tfr.sources.turing.spec import Outcome
from tm2tfr.sources.turing.specification import TuringSpecification
from tm2tfr.sources.turing.tokens import HALT, Triple
from tm2tfr.sources.turing.truth import TuringTruth
from tm2tfr.sources.turing.universal.model import universal_model
from tm2tfr.sources.turing.universal.program import VERDICT_STATES, Universal


class UniversalSpecification(TuringSpecification):
    """The specification of a run of the machine in the prompt: `rows` are the reference's, from position 0 on."""

    @classmethod
    def of_prompt(cls, universal: Universal, rows: Sequence[Row]) -> Self:
        """Return the specification of a run of the machine in the prompt."""
        model = universal_model(universal.names, universal.tapes, two_way=universal.two_way, walled=universal.walled)
        return cls(model, rows)

    def remark(self, what: str, i: int) -> None:
        """Return None: the answers of a universal decoder keep to the left end."""

    def about(self, i: int) -> str | None:
        """Return which rule position `i` uses, in words."""
        row, tokens = self._rows[i], self.tokens
        state, symbol = (self.model.by_name[name].decoded(self.columns[name][:i]) for name in ("r_q", "r_a"))
        found = np.flatnonzero((state == row.q) & (symbol == row.a))
        if row.q is None or not len(found):
            return None
        return f"the rule {tokens[found[0] - 1]} {tokens[found[0]]}, at position {found[0]}"


GIVEN = {state: verdict for verdict, state in VERDICT_STATES.items()}
"""A state of the machine as it stands in the prompt -> the verdict that has been given in it."""


class UniversalTruth(TuringTruth):
    """A run of the machine that stands in the prompt, see `tm2tfr.contract.source.Truth`.

    Args:
        max_steps: stop after this many steps of the machine; None: run until it halts.

    Raises:
        CompileError: if there is no machine.
        InputError: if `word` is not over its input alphabet.
    """

    outcomes: tuple[Outcome, ...] = ("accept", "reject", "halt")

    def __init__(self, universal: Universal, word: str, *, max_steps: int | None = None) -> None:
        super().__init__(universal.standing, universal.right.check_input(word), max_steps=max_steps)
        self.universal, self.unruled = universal, universal.unruled

    def on(self, word: str) -> Self:
        """Return the run of the same machine on another word."""
        return type(self)(self.universal, word, max_steps=self._max_steps)

    @property
    def lead(self) -> tuple[str, ...]:
        """The tokens of the machine's description."""
        return self.universal.description

    @property
    def prompt(self) -> tuple[str, ...]:
        """The tokens of the machine's description, and those of the input."""
        return (*self.lead, *self.input)

    @property
    def first(self) -> str:
        """The answer to BOS: the triple of the start state, whose verdict would be a rule's."""
        return Triple(self.machine.start, self.under, 0).token

    def entered(self, state: str) -> str | None:
        """Return the verdict of the rule that enters one of `VERDICT_STATES`; None: it answers a triple."""
        return GIVEN.get(state)

    def stopped(self, state: str, symbol: str) -> str:
        """Return HALT, as there is no rule, or the verdict of one that stands in the prompt alone."""
        return self.universal.unruled.get((state, symbol), HALT)

    def judged(self, found: Result, state: str, symbol: str) -> Result:
        """Return the result with the verdict of the prompt's rules, if they gave one."""
        verdict = GIVEN.get(state) or self.universal.unruled.get((state, symbol))
        return found if verdict is None else replace(found, outcome=_outcome(verdict))

    def specification(self, upto: int) -> Specification:
        """Return the specification of the run up to position `upto`."""
        return UniversalSpecification.of_prompt(self.universal, self.rows_upto(upto))


def _outcome(verdict: str) -> Outcome:
    return "accept" if OUTCOME_OF_TOKEN[verdict] == "accept" else "reject"
