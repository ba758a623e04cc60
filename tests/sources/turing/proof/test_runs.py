"""Whole runs at the certified length agree with the simulator, and the hardest ones fail within 16 times of it."""

from __future__ import annotations

import pytest

import tm2tfr
from benchmarks.machines import rewriter, runner
from tests.runs.checking import check
from tm2tfr.engines.dense import Dense
from tm2tfr.sources.turing.compiler import compile_machine
from tm2tfr.sources.turing.proof.prove import prove


@pytest.mark.parametrize("tape", ["one-way", "two-way"])
def test_float32_runs_of_the_certified_length_agree(tape: str) -> None:
    machine = runner("one-way" if tape == "one-way" else "two-way")  # h = i - 1: the hardest for the lookups
    decoder = compile_machine(machine)
    n = prove(decoder, machine).largest("dense", "float32")
    assert n == 161
    assert check(decoder, "", machine=machine, engine=Dense("float32"), max_steps=n - 2).agrees


@pytest.mark.slow
@pytest.mark.parametrize("cells", [100, 120])
def test_float32_writes_to_two_cells_for_ever_agree_to_the_certified_length_and_fail_within_16_times_it(cells: int) -> None:
    machine, word = rewriter(), "1" * cells
    decoder = compile_machine(machine)
    n = prove(decoder, machine).largest("dense", "float32", max_head=cells)
    assert n is not None
    good = check(decoder, word, machine=machine, engine=Dense("float32"), max_steps=n - cells - 2)
    assert good.agrees
    assert good.tokens > n - 3
    bad = check(decoder, word, machine=machine, engine=Dense("float32"), max_steps=min(16 * n, 12_000), keep_rows=False)
    assert bad.divergence is not None
    assert n < bad.divergence.position < 16 * n


def test_the_fast_engine_goes_on_where_the_dense_one_is_no_longer_certified() -> None:
    pytest.importorskip("numba", reason="Numba is not installed: pip install 'tm2tfr[fast]'")
    machine = runner()
    decoder, positions_run = compile_machine(machine), 150_000
    proof = prove(decoder, machine)
    assert not proof.certificate("dense", positions=positions_run).granted
    assert proof.certificate("fast", positions=positions_run).granted
    trace = tm2tfr.check(decoder, "", machine=machine, engine="fast", max_steps=positions_run - 2, keep_rows=False)
    assert trace.agrees
