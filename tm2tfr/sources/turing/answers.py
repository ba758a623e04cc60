"""Step 4 of the chapter: the copy of the prompt, the answer to BOS, δ and its verdicts, as votes for tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tm2tfr.contract.model import Equation, ModelColumns, VariableValues, each, settled, votes_of
from tm2tfr.contract.specification import VariableValue
from tm2tfr.sources.turing.spec import Machine
from tm2tfr.sources.turing.tokens import BOS, VERDICTS, Triple


def votes(c: ModelColumns, machine: Machine, *, walled: bool) -> VariableValues:
    """Return a vote for each token that step 4 names.

    Args:
        walled: whether a move left at cell 0 is answered as no move (repair 4).
    """
    sigma = machine.input_alphabet or ()

    def said(token: str | None, state: str | None, symbol: str | None, at_zero: int) -> VariableValue:
        answers: list[str | None] = [token] if token in sigma else []
        if token == BOS and symbol in (*sigma, machine.blank):
            verdict = machine.outcome_of(machine.start)
            answers.append(VERDICTS[verdict] if verdict else Triple(machine.start, symbol or "", 0).token)
        answers.append(after(machine, state, symbol, stays=walled and at_zero == 1))
        found: dict[str, int] = {}
        for answer in filter(None, answers):
            found[answer] = found.get(answer, 0) + 1
        return settled(found)

    return c.each(said, "e_x", "e_q", "e_a", "[h=0]")


def after(machine: Machine, state: str | None, symbol: str | None, *, stays: bool) -> str | None:
    """Return what step 4 answers in a state on a symbol: δ, or a verdict (repair 7); None where it says nothing.

    Args:
        stays: whether a move left is answered as no move (repair 4).
    """
    if state is None:
        return None
    missing = VERDICTS[machine.outcome_of(state) or machine.missing_outcome]
    if state in machine.halting_states:
        return None if machine.decides else missing
    if symbol is None:
        return None
    rule = machine.transitions.get((state, symbol))
    if rule is None:
        return missing
    if machine.decides and rule.state in machine.halting_states:
        return VERDICTS[machine.outcome_of(rule.state) or machine.missing_outcome]
    return Triple(rule.state, rule.write, 0 if stays and rule.move < 0 else rule.move).token


def most_votes(tokens: Sequence[str]) -> Equation:
    """Return the equation of the token answered: the one with the most votes, the first of several, as its place."""
    places = {token: n for n, token in enumerate(tokens)}

    def answered(y: VariableValue) -> int:
        if not isinstance(y, Mapping):
            return places.get(y, 0)
        return max(range(len(tokens)), key=lambda n: votes_of(y).get(tokens[n], 0))

    return lambda c: each(answered, c["e_y"]).astype(np.int64)
