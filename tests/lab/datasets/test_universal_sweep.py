"""Sweeps in the prompt of one decoder: every machine agrees, one that does not fit is refused, a wrong weight is found."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tm2tfr
from tests.strategies import DEPTH
from tm2tfr.base.errors import CompileError
from tm2tfr.lab.datasets.machines.prompting import PromptedHow
from tm2tfr.lab.datasets.machines.runs import CheckedRuns, Runs
from tm2tfr.lab.datasets.machines.spec import MachineSpec
from tm2tfr.lab.datasets.make import load_spec, sweep, sweep_report
from tm2tfr.lab.datasets.reader import read
from tm2tfr.sources.turing.library import load
from tm2tfr.sources.turing.universal.program import Universal
from tm2tfr.transformer.weights import Decoder, matrices, replaced

MIXED = """\
name: mixed
machines:
  named: [chapter, left-edge, busy-beaver-2, palindromes]
  random:
    - {states: 3, symbols: 3, count: 6, ends: verdict, tape: one-way, moves: [L, S, R]}
    - {states: 3, symbols: 2, count: 6}
inputs: {up to: 1}
max steps: 60
"""


def two_states(step: int, start: int = 0) -> MachineSpec:
    spec: Any = load_spec("two-states")
    return replace(spec, families=(spec.families[0][start::step],))


@pytest.mark.slow
def test_two_state_machines_as_prompts_of_one_decoder() -> None:
    """Every fiftieth of the 20,736, in a thorough run all of them."""
    found = sweep(two_states(1 if DEPTH >= 1 else 50), universal=(2, 2), workers=None if DEPTH >= 1 else 1)
    counts = "20,736 machines, 82,944 runs (51,488 halt, 31,456 limit), 4,243,152 rows, 29,702,064"
    if DEPTH < 1:
        counts = "415 machines, 1,660 runs (1,021 halt, 639 limit), 85,813 rows, 600,691"
    assert (
        sweep_report(found).splitlines()[0]
        == f"two-states in the prompt of universal-2-2: {counts} cells compared, all agree"
    )


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["dense", "auto"])
@pytest.mark.parametrize("seed", [None, 4])
def test_machines_with_other_names_verdicts_and_tapes(engine: str, seed: int | None) -> None:
    spec = read(MIXED, file="spec.yaml")
    found = sweep(spec, universal="6,5", seed=seed, engine=engine, workers=1)
    alone = sweep(spec, engine=engine, workers=1)
    assert (found.failure, found.tally.runs) == (None, alone.tally.runs)
    assert set(found.tally.outcomes) == {"accept", "reject", "halt", "limit"}


def test_runs_in_one_session_are_those_in_sessions_of_their_own() -> None:
    spec = two_states(3000)
    how, before = PromptedHow("fast", 40, universal=Universal(states=3, symbols=2), seed=1), None
    orders = set()
    for machine in spec.families[0]:
        before = Runs(machine, how, before)
        for word in ("", "1", "111"):
            one, other = before.on(word), Runs(machine, how).on(word)
            assert isinstance(one, CheckedRuns)
            assert isinstance(other, CheckedRuns)
            assert (one.rows, one.compared, one.from_blank) == (other.rows, other.compared, other.from_blank)
            assert all(map(np.array_equal, one.columns, other.columns))
            orders.add(tuple(one.columns.tokens[1:9:2].tolist()))
    assert len(orders) > 3, "the rules are in a new order in each run"


def test_a_machine_that_does_not_fit_is_refused_before_anything_runs() -> None:
    with pytest.raises(
        CompileError,
        match="busy-beaver-4: it has 4 states with rules and 2 symbols, and this decoder runs machines with at most "
        "2 and 2: use the size 4,2 or a larger one",
    ):
        sweep(read("machines: [busy-beaver-2, busy-beaver-4]\ninputs: ['']\n", file="s"), universal=(2, 2), workers=1)
    with pytest.raises(
        CompileError, match="and this decoder runs machines with at most 1 and 2: use the size 2,2 or a larger one"
    ):
        sweep(two_states(1), universal=(1, 2), workers=1)
    with pytest.raises(CompileError, match="only machines stand in the prompt of a universal decoder, not a circuit"):
        tm2tfr.sweep("adders", universal=(2, 2))
    with pytest.raises(CompileError, match="in a universal decoder the left boundary is the repaired one"):
        sweep(two_states(1), universal=(2, 2), left_boundary="repaired", workers=1)
    with pytest.raises(CompileError, match="seed is for the prompt of a universal decoder"):
        sweep(two_states(1), seed=1, workers=1)


def broken(decoder: Decoder) -> Decoder:
    """Return weights whose head for rules confuses two things."""
    query = matrices(decoder)["layers.6.heads.0.query"]
    row, column, value = next(query.entries())
    return replaced(decoder, {"layers.6.heads.0.query": query.with_entry(row, column, -value)})


@pytest.mark.slow
def test_a_wrong_weight_is_found_with_a_machine_and_a_command_that_shows_it(tmp_path: Path) -> None:
    wrong = broken(tm2tfr.compile(Universal(states=2, symbols=2)))
    path = tmp_path / "wrong.safetensors"
    tm2tfr.save_weights(wrong, path)
    found = sweep(two_states(400), universal=path, seed=2, workers=1)
    assert found.failure is not None
    program = found.failure.program
    assert isinstance(program, Universal)
    assert f"counterexample: {program.name} on {found.failure.word!r}" in sweep_report(found)
    assert found.again == shlex.join(
        [
            *("tm2tfr", "trace", program.name, "--input", found.failure.word, "--max-steps", "100", "--engine", "fast"),
            *("--universal", str(path), "--seed", str(program.seed)),
        ]
    )
    assert load(program.name) is not None
    assert sweep(two_states(400), universal=path, seed=2, workers=1, engine="dense").failure is not None
