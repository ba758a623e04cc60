"""The theorem as a property: for random machines and inputs the decoder is the simulator, cell by cell."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from tests.runs.checking import check
from tests.strategies import machines_with_inputs, tries
from tm2tfr.engines.dense import Dense
from tm2tfr.engines.exact import Exact
from tm2tfr.sources.turing.compiler import compile_machine
from tm2tfr.sources.turing.simulator import result
from tm2tfr.sources.turing.spec import Machine

TOKENS = {"accept": "ACC", "reject": "REJ", "halt": "HALT"}


@pytest.mark.slow
@settings(max_examples=tries(2_000))
@given(machines_with_inputs())
def test_the_decoder_is_the_machine(case: tuple[Machine, str]) -> None:
    """Every column at every position, the outcome and the number of intermediate steps, over 60 steps."""
    machine, word = case
    trace = check(compile_machine(machine), word, machine=machine, engine=Dense(), max_steps=60, keep_rows=True)
    assert trace.divergence is None, str(trace.divergence)
    truth = result(machine, word, max_steps=60)
    assert (trace.answer, trace.result) == (truth.outcome, truth)
    assert trace.compared == 7 * trace.tokens == 7 * len(trace.rows)
    if truth.outcome == "limit":
        assert trace.tokens == len(word) + 1 + 60
        assert trace.T is None
    else:
        on_entry = machine.decides and machine.outcome_of(_end_state(machine, word)) is not None
        assert trace.T == trace.tokens - len(word) - 1 == truth.steps + (0 if on_entry else _extra(machine))
        assert trace.rows[-1].y == TOKENS[truth.outcome]


@pytest.mark.slow
@settings(max_examples=tries(400))
@given(machines_with_inputs())
def test_exact_is_dense(case: tuple[Machine, str]) -> None:
    """Rationals and float64 give the same rows, and the rows of the simulator."""
    machine, word = case
    decoder = compile_machine(machine)
    exact, dense = (
        check(decoder, word, machine=machine, engine=engine, max_steps=25, keep_rows=True) for engine in (Exact(), Dense())
    )
    assert exact.rows == dense.rows
    assert exact.agrees
    assert dense.agrees


def _end_state(machine: Machine, word: str) -> str:
    from tm2tfr.sources.turing.simulator import Simulation

    simulation = Simulation(machine, word, max_steps=60)
    simulation.result()
    return simulation.last.state


def _extra(machine: Machine) -> int:
    """The triple before a verdict that is not given on entry; none if the machine starts in a halting state."""
    return 0 if machine.start in machine.halting_states else 1
