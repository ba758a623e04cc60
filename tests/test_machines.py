"""The shipped machines do what their files say, in the simulator and in the decoder."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tm2tfr as api
from tm2tfr.sources.turing.library import load, load_with_warnings, shipped
from tm2tfr.sources.turing.simulator import result

CASES = json.loads((Path(__file__).parent / "cases" / "busy-beavers.json").read_text(encoding="utf-8"))


def test_there_are_enough_and_the_named_ones() -> None:
    assert len(shipped()) >= 20
    assert {"chapter", "power-of-two", "left-edge", "never-halts", "universal"} <= set(shipped())


@pytest.mark.parametrize("name", shipped())
def test_its_file_is_complete_and_without_warnings_that_matter(name: str) -> None:
    loaded = load_with_warnings(name)
    machine = loaded.machine
    assert machine.name == name
    assert machine.description
    assert machine.source
    assert len(machine.examples) >= 2


@pytest.mark.slow
@pytest.mark.parametrize("name", shipped())
def test_its_examples(name: str) -> None:
    machine = load(name)
    decoder = api.compile(machine)
    for example in machine.examples:
        limit = example.max_steps or 10_000
        truth = result(machine, example.input, max_steps=limit)
        assert truth.outcome == example.outcome
        assert example.steps in (None, truth.steps)
        assert example.tape in (None, truth.tape)
        trace = api.check(decoder, example.input, machine=machine, max_steps=limit, keep_rows=False)
        assert trace.divergence is None, str(trace.divergence)
        assert trace.answer == example.outcome
        assert trace.compared == 7 * trace.tokens > 0


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_the_busy_beavers_are_the_published_ones(case: dict[str, object]) -> None:
    """Some shipped machine has exactly the published table."""
    rows = str(case["machine"]).split("_")
    table = {}
    for state, row in zip("ABCDE", rows, strict=False):
        for symbol, cell in enumerate(row[k : k + 3] for k in range(0, len(row), 3)):
            if cell != "---":
                table[state, str(symbol)] = (cell[2], cell[0], {"L": -1, "R": 1}[cell[1]])
    same = [name for name in shipped() if dict(load(name).transitions) == table]
    assert len(same) == 1
