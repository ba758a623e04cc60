"""Sweeps: all runs of a spec agree, and where one does not, it is the first that is named, with how to see it again."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.cli.test_commands import ROOT, failed, tm2tfr_alone
from tests.cli.test_commands import tm2tfr as command
from tm2tfr.base.errors import CompileError
from tm2tfr.lab.datasets.machines.spec import MachineSpec
from tm2tfr.lab.datasets.make import load_spec, sweep, sweep_report
from tm2tfr.lab.datasets.reader import read
from tm2tfr.runs.choose import for_many_runs
from tm2tfr.sources.turing.compiler import compile_machine
from tm2tfr.sources.turing.library import shipped_text
from tm2tfr.sources.turing.spec import Machine
from tm2tfr.transformer.weights import Decoder, matrices, replaced

ONE_WAY = """\
name: one way
machines: {all: {states: 1, symbols: 2, tape: one-way, ends: verdict}}
inputs: {up to: 2}
max steps: 20
"""
LEFT_EDGE = "machines: [chapter, left-edge]\ninputs: [11]\nmax steps: 100"


def broken_for(bad: str) -> object:
    """Return a compiler that makes one weight wrong for the machine of this name."""

    def compiled(machine: Machine, *, left_boundary: str | None = None) -> Decoder:
        decoder = compile_machine(machine, left_boundary=left_boundary)
        if machine.name != bad:
            return decoder
        query = matrices(decoder)["layers.4.heads.0.query"]
        row, column, value = next(query.entries())
        return replaced(decoder, {"layers.4.heads.0.query": query.with_entry(row, column, -value)})

    return compiled


def some_two_states() -> MachineSpec:
    spec = load_spec("two-states")
    return replace(spec, families=(spec.families[0][12_096:13_824:43],))


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["dense", "auto"])
def test_every_one_way_machine_with_one_state(engine: str) -> None:
    spec = read(ONE_WAY, file="spec.yaml")
    found = sweep(replace(spec, families=(spec.families[0][::4],)), workers=1, engine=engine)
    assert (found.failure, found.tally.machines, found.tally.runs) == (None, 36, 108)
    assert sweep_report(found).startswith("one way: 36 machines, 108 runs (")
    assert sweep_report(found).endswith(" cells compared, all agree")
    assert found.tally.cells == 7 * found.tally.rows
    assert set(found.tally.outcomes) == {"accept", "reject", "limit"}


def test_a_machine_whose_words_are_in_several_jobs_is_counted_once() -> None:
    spec = read(ONE_WAY, file="spec.yaml")
    found = sweep(replace(spec, families=(spec.families[0][:3],), shard_size=2), workers=1)
    assert (found.tally.machines, found.tally.runs) == (3, 9)


@pytest.mark.slow
def test_a_sweep_can_fail_and_names_the_first_run_that_does(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = some_two_states()
    machines = list(spec.families[0])
    wrong = []
    for machine in machines:
        monkeypatch.setattr("tm2tfr.lab.datasets.machines.prompting.compile_machine", broken_for(machine.name))
        found = sweep(replace(spec, families=(), named=((machine.name, machine),)), workers=1)
        if found.failure is not None:
            wrong.append((machine.name, found.failure.word))
    assert len(wrong) > 5, "a wrong weight should matter to some of them"
    name, word = wrong[-1]
    monkeypatch.setattr("tm2tfr.lab.datasets.machines.prompting.compile_machine", broken_for(name))
    found = sweep(spec, workers=1)
    assert found.failure is not None
    assert (found.failure.program.name, found.failure.word) == (name, word)
    before = [m.name for m in machines].index(name) * 4 + ["", "1", "11", "111"].index(word)
    assert found.tally.runs == before
    assert found.again == f"tm2tfr trace {name} --input {word or repr('')} --max-steps 100 --engine {for_many_runs('auto')}"
    said = sweep_report(found).splitlines()
    assert said[0].startswith(f"two-states: FAILED after {before:,} runs (")
    assert said[1] == f"counterexample: {name} on {word!r}"
    assert said[2].startswith("  position ")
    assert said[-1] == f"reproduce: {found.again}"


@pytest.mark.slow
def test_the_chapters_left_boundary_is_found_to_be_wrong_also_by_two_workers(tmp_path: Path) -> None:
    (tmp_path / "spec.yaml").write_text(ONE_WAY, encoding="utf-8")
    options = ("sweep", "spec.yaml", "--left-boundary", "chapter")
    one = command(*options, "--workers", "1", cwd=tmp_path)
    two = tm2tfr_alone(*options, "--workers", "2", cwd=tmp_path)
    assert (one.returncode, two.returncode) == (1, 1), one.stderr + two.stderr
    assert one.stdout == two.stdout
    assert (one.stderr, two.stderr) == ("", "")
    lines = one.stdout.splitlines()
    assert lines[0].startswith("one way: FAILED after 37 runs (8 accept, 21 limit, 8 reject), ")
    assert lines[1:3] == ["counterexample: 0RA0LA one-way on '1'", "  position 4: h should be 1, is 0"]


def again(told: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the command that a sweep gave."""
    line = f'tm2tfr() {{ "{sys.executable}" -m tm2tfr "$@"; }}\n{told}'
    env = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8"}
    return subprocess.run(["bash", "-c", line], cwd=folder, env=env, capture_output=True, encoding="utf-8", check=False)


@pytest.mark.slow
@pytest.mark.parametrize("text", [ONE_WAY, LEFT_EDGE])
def test_the_command_shows_the_same_failure(text: str, tmp_path: Path) -> None:
    spec = read(text, file="spec.yaml")
    assert sweep(spec, workers=1, max_steps=10).failure is None
    found = sweep(spec, workers=1, left_boundary="chapter")
    assert found.failure is not None
    done = again(found.again, tmp_path)
    assert done.returncode == 1, done.stderr
    assert "check: FAILED after " in done.stdout
    assert found.failure.why.splitlines()[0] in done.stdout


def test_the_command_for_a_named_machine_names_it_as_the_spec_does(tmp_path: Path) -> None:
    (tmp_path / "my machine.yaml").write_text(shipped_text("left-edge"), encoding="utf-8")
    (tmp_path / "spec.yaml").write_text("machines: [my machine.yaml]\ninputs: [1]\n", encoding="utf-8")
    found = sweep(load_spec(tmp_path / "spec.yaml"), workers=1, left_boundary="chapter", engine="dense")
    path = tmp_path / "my machine.yaml"
    assert found.again == f"tm2tfr trace '{path}' --input 1 --max-steps 1000 --engine dense --left-boundary chapter"


def test_a_boundary_that_makes_no_sense_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CompileError, match="the tape is two-way and has no left boundary"):
        sweep(some_two_states(), workers=1, left_boundary="chapter")
    done = command("sweep", "two-states", "--left-boundary", "chapter", "--workers", "1", cwd=tmp_path)
    assert "the tape is two-way and has no left boundary" in failed(2, done)


@pytest.mark.slow
def test_the_limit_of_the_command_goes_before_the_specs() -> None:
    spec = some_two_states()
    assert sweep(spec, workers=1, max_steps=3).tally.rows < sweep(spec, workers=1).tally.rows


@pytest.mark.slow
def test_complaints_about_a_spec_are_printed_without_a_traceback(tmp_path: Path) -> None:
    (tmp_path / "spec.yaml").write_text("machines: [chapter]\ninputs: [2]\n", encoding="utf-8")
    said = failed(2, command("dataset", "spec.yaml", "-o", "data", cwd=tmp_path))
    assert said == "spec.yaml:2:10: '2' is not in the input alphabet of chapter: use only 1\n  inputs: [2]\n           ^\n"
    assert not (tmp_path / "data").exists()
    unknown = failed(2, command("sweep", "one-state", cwd=tmp_path))
    assert "one of the shipped specs: adders, palindromes, three-states, two-states" in unknown
