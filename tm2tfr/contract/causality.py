"""What a causal model of a source brings: variables at every position, and runs in which some of them are set.

The values of a run are equations of each other: each variable at a position is a function of variables at this position and
others. An intervention sets one, ``do(q at 5 = q3)`` (Pearl 2009): it has that value from the stage on after which it is
written. What is computed from it afterwards sees the new value; what was computed before does not. A causal model knows no
weights: what it says of an intervention is what weights must do when the subspace of that variable is overwritten.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from tm2tfr.contract.model import ModelVariable
from tm2tfr.contract.specification import VariableValue

CausalValue = VariableValue
"""The value of a variable; a mixture can be seen but not set."""

Settings = Mapping[tuple[str, int], CausalValue]
"""(variable, position) -> the value that it is set to."""


@dataclass(frozen=True)
class CausalRun:
    """A run of a causal model.

    Args:
        tokens: those fed, from position 0 on.
        answers: what is answered at each position: the token, or of a labeller each output.
        cells: for each position the value of every variable.
        doubts: (variable, position) -> why its value in the weights is not known: nothing like it occurs in any run.
        unanswered: position -> the numbers of the outputs whose answer is not known there, with why.
    """

    tokens: tuple[str, ...]
    answers: tuple[CausalValue, ...]
    cells: tuple[Mapping[str, CausalValue], ...]
    doubts: Mapping[tuple[str, int], str] = field(default_factory=dict)
    unanswered: Mapping[int, Mapping[int, str]] = field(default_factory=dict)


class CausalModel(Protocol):
    """A run on one input, as equations: see the module."""

    @property
    def variables(self) -> Mapping[str, ModelVariable]:
        """The variables that can be set, by name."""

    @property
    def aliases(self) -> Mapping[str, str]:
        """What else variables are called, such as the columns of the table: name -> variable."""

    @property
    def fixed(self) -> Mapping[str, str]:
        """What subspaces hold beside the variables, with the reason why that cannot be set."""

    def run(self, settings: Settings, max_positions: int) -> CausalRun:
        """Return the run in which variables have these values, of at most `max_positions` positions."""

    def runs(self, settings: Sequence[Settings], max_positions: int) -> list[CausalRun]:
        """Return the run for each of the settings, in their order."""
