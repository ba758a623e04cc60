"""The rows that the simulator expects: the chapter's table, from configurations alone.

Nothing here is taken from the compiler; both follow Section 8.2 of the chapter independently.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from tm2tfr.sources.turing.simulator import Configuration, Result, Simulation
from tm2tfr.sources.turing.spec import Machine, Outcome
from tm2tfr.trace.rows import Row

VERDICT_TOKENS: dict[Outcome, str] = {"accept": "ACC", "reject": "REJ", "halt": "HALT"}
OUTCOME_OF_TOKEN: dict[str, Outcome] = {token: outcome for outcome, token in VERDICT_TOKENS.items()}


def reference_rows(machine: Machine, word: str, simulation: Simulation, *, nominal: bool = False) -> Iterator[Row]:
    """Yield the rows of the chapter's table for `machine` on `word`, from the configurations of `simulation`.

    The configuration at which a step limit cuts the run off has no row. With `nominal`, m is δ's own move even
    where the head stays at cell 0, as in the chapter's step 4 (Exercise 8.3); otherwise it is the head's.
    """
    under = word[0] if word else machine.blank
    for i, symbol in enumerate(word):
        yield Row(i, symbol, None, None, 0, 0, under, symbol)
    i = len(word)
    verdict = machine.outcome_of(machine.start)
    token = VERDICT_TOKENS[verdict] if verdict else triple_token(machine.start, under, 0)
    yield Row(i, "BOS", None, None, 0, 0, under, token)
    written, move = under, 0
    for here, after in pairwise(simulation):
        i += 1
        row = (i, token, here.state, written, move, here.head, here.symbol)
        token, written, move = _step(machine, here, after, nominal=nominal)
        yield Row(*row, token)
        if token in OUTCOME_OF_TOKEN:
            return
    if verdict is None and simulation.stopped:
        end = simulation.last
        outcome = machine.outcome_of(end.state) or machine.missing_outcome
        yield Row(i + 1, token, end.state, written, move, end.head, end.symbol, VERDICT_TOKENS[outcome])


def _step(machine: Machine, here: Configuration, after: Configuration, *, nominal: bool) -> tuple[str, str, int]:
    """Return the token of the step between two configurations, the symbol written and the move."""
    rule = here.rule
    if rule is None:  # a configuration that has a successor has a rule
        raise RuntimeError("the simulator continued without a rule")
    move = rule.move if nominal else after.head - here.head
    verdict = machine.outcome_of(rule.state) if machine.decides else None
    token = VERDICT_TOKENS[verdict] if verdict else triple_token(rule.state, rule.write, move)
    return token, rule.write, move


def result_fields(result: Result | None) -> dict[str, Any]:
    """Return what there is to say of a result beside its outcome, as plain data; each is None if there is no result."""
    names = {"steps": "steps", "final_tape": "tape", "ones": "ones"}
    return {name: None if result is None else getattr(result, field) for name, field in names.items()}


def triple_token(state: str, symbol: str, move: int) -> str:
    """Return the token of a triple (state, symbol, move)."""
    return f"({state},{symbol},{'0' if move == 0 else format(move, '+d')})"
