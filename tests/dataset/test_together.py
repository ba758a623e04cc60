"""Sweeps make all words of a machine in one call: the same counts, and the same first failure, as one by one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tm2tfr.dataset import runs, shard, together
from tm2tfr.dataset.family import Family, Members
from tm2tfr.dataset.jobs import Job, Piece
from tm2tfr.dataset.runs import Failure, How, Runs
from tm2tfr.dataset.shard import swept
from tm2tfr.dataset.tally import Tally
from tm2tfr.dataset.tree import NormalForm
from tm2tfr.sources.turing.compiler import compile_machine
from tm2tfr.sources.turing.library import load
from tm2tfr.sources.turing.spec import Machine
from tm2tfr.transformer.weights import Decoder, matrices, replaced

pytest.importorskip("numba", reason="the fast engine needs Numba: pip install numba")

WORDS = ("", "1", "11", "111")
HOW = How("fast", 100)


def job(*machines: Machine, words: tuple[str, ...] = WORDS) -> Job:
    return Job(0, (Piece(machines, words),))


def one_by_one(monkeypatch: pytest.MonkeyPatch, work: Job, how: How = HOW) -> Tally:
    with monkeypatch.context() as patch:
        patch.setattr(shard, "may_be_together", lambda how, words: False)
        return swept(work, how).tally


@pytest.mark.slow
def test_the_counts_are_those_of_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    some = Members(Family(2, 2), tuple(range(3, 20_736, 700)))
    walled = Members(Family(1, 2, tape="one-way", ends="verdict"), tuple(range(1, 144, 10)))
    normal = NormalForm(states=2, steps=100, complete=True).machines()[::9]
    for machines in (some, walled, normal):
        work = job(*machines)
        found = swept(work, HOW)
        assert found.failure is None
        assert found.tally == one_by_one(monkeypatch, work)
        assert found.tally.runs == 4 * len(machines) > 0


@pytest.mark.parametrize("boundary", ["repaired", "chapter"])
def test_a_run_that_differs_is_left_to_the_others(boundary: str) -> None:
    machine, tally = Family(1, 2, tape="one-way", ends="verdict").machine(6), Tally()
    how = How("fast", 20, left_boundary=boundary)
    agrees = together.agree(Runs(machine, how), ("", "1"), how, tally)
    by_themselves = [isinstance(Runs(machine, how).on(word), Failure) for word in ("", "1")]
    assert agrees is not any(by_themselves)
    assert tally.runs == 2 * agrees


@pytest.mark.parametrize("path", ["layers.4.heads.0.query", "layers.1.feed_forward.output"])
def test_wrong_weights_are_found_as_one_by_one(monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    machines = [Family(2, 2).machine(number) for number in (7_001, 12_995, 7_007)]

    def broken(machine: Machine, *, left_boundary: str | None = None) -> Decoder:
        decoder = compile_machine(machine, left_boundary=left_boundary)
        if machine.name != machines[1].name:
            return decoder
        matrix = matrices(decoder)[path]
        return replaced(decoder, {path: matrix.with_entry(*next(matrix.entries())[:2], -2.0)})

    monkeypatch.setattr(runs, "compile_machine", broken)
    found = swept(job(*machines), HOW)
    assert found.failure is not None
    assert found.failure.program == machines[1]
    every = [Runs(machine, HOW) for machine in machines]
    assert [each is not None for each in together.agreed_runs(every, WORDS, HOW)] == [True, False, True]
    with monkeypatch.context() as patch:
        patch.setattr(shard, "may_be_together", lambda how, words: False)
        again = swept(job(*machines), HOW)
    assert (found.failure, found.tally) == (again.failure, again.tally)


def test_a_decoder_that_would_stop_elsewhere_does_not_agree() -> None:
    machine, tally = load("busy-beaver-3"), Tally()
    made = Runs(machine, HOW)
    assert together.agree(made, ("",), HOW, tally)
    assert (tally.runs, tally.rows, tally.cells) == (1, 23, 161)
    assert (tally.steps, tally.ones) == ((21, "busy-beaver-3"), (5, "busy-beaver-3"))
    made.decoder = replace(made.decoder, stop=())
    assert not together.agree(made, ("",), HOW, tally)
    assert tally.runs == 1


def test_long_runs_and_other_engines_are_made_by_themselves() -> None:
    assert together.may_be_together(HOW, WORDS)
    assert not together.may_be_together(How("dense", 100), WORDS)
    assert not together.may_be_together(How("fast", 10**6), WORDS)
    assert not together.agree(Runs(load("busy-beaver-3"), HOW), ("x",), HOW, Tally())
