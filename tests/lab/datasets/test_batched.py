"""Data sets make the runs of a machine in one call: the same bytes and counts, and the same failure, as one by one."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tm2tfr.lab.datasets.machines import examples
from tm2tfr.lab.datasets.machines import runs as batched
from tm2tfr.lab.datasets.machines.examples import made
from tm2tfr.lab.datasets.machines.prompting import MachineHow
from tm2tfr.lab.datasets.machines.runs import Runs
from tm2tfr.lab.datasets.machines.spec import MachineSpec
from tm2tfr.lab.datasets.reader import read
from tm2tfr.lab.datasets.shard import Done, Making
from tm2tfr.sources.turing.library import load

pytest.importorskip("numba", reason="the fast engine needs Numba: pip install numba")
pytest.importorskip("pyarrow", reason="Parquet needs PyArrow: pip install pyarrow")

ONE = "machines: [palindromes]\ninputs: {up to: 6}\nsupervision: [answer, steps shown, steps scored]"
CUT = "machines: [palindromes, binary-increment]\ninputs: {up to: 6}\nmax steps: 9\nunfinished: keep"
PROMPT = "machines: {random: {states: 1, symbols: 2, count: 3}}\ninputs: {up to: 4}\nmax steps: 12\nunfinished: keep\n"


def making_of(spec: MachineSpec, how: MachineHow) -> Making:
    return spec.making(how)


def done(spec: MachineSpec, how: MachineHow) -> list[Done]:
    return [made(job, making_of(spec, how)) for job in spec.jobs()]


def together(monkeypatch: pytest.MonkeyPatch, spec: MachineSpec, how: MachineHow) -> int:
    """Compare a data set with the one made run by run; return the number of runs that were made together."""
    several, counted = batched._batch, list[int]()

    def counting(runs: Runs, words: Sequence[str], how: MachineHow) -> object:
        found = several(runs, words, how)
        counted.append(len(found.columns.words) if found is not None else 0)
        return found

    with monkeypatch.context() as patch:
        patch.setattr(batched, "_batch", counting)
        found = done(spec, how)
    with monkeypatch.context() as patch:
        patch.setattr(batched, "_batch", lambda *_: None)
        assert found == done(spec, how)
    return sum(counted)


@pytest.mark.slow
def test_the_same_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = read(ONE, file="spec.yaml")
    assert isinstance(spec, MachineSpec)
    assert together(monkeypatch, spec, MachineHow("fast", spec.max_steps)) == 127 - batched.PLAIN


@pytest.mark.slow
def test_the_same_bytes_of_runs_that_are_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = read(CUT, file="spec.yaml")
    assert isinstance(spec, MachineSpec)
    assert together(monkeypatch, spec, MachineHow("fast", 9)) == 254 - batched.PLAIN


@pytest.mark.slow
@pytest.mark.parametrize(("order", "together_there"), [("", True), (", order: shuffled", False)])
def test_the_same_bytes_of_machines_in_prompts(order: str, together_there: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = read(f"{PROMPT}universal: {{states: 2, symbols: 2{order}}}", file="spec.yaml")
    assert isinstance(spec, MachineSpec)
    monkeypatch.setattr(examples, "PLAIN", 0)
    how = spec.how("fast")
    assert how.title("x") != "x"
    assert (together(monkeypatch, spec, how) > 0) is together_there


def test_a_run_that_differs_is_reported_as_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(examples, "PLAIN", 0)
    text = "machines: [left-edge]\ninputs: ['', 11111, 111, 1, 11]"
    spec = read(text, file="spec.yaml")
    assert isinstance(spec, MachineSpec)
    assert together(monkeypatch, spec, MachineHow("fast", 100, "chapter")) == 0
    [found] = done(spec, MachineHow("fast", 100, "chapter"))
    assert found.failure is not None


def test_one_long_run_and_other_engines_are_made_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batched, "_batch", lambda *_: pytest.fail("together"))
    machine = load("palindromes")
    for how in (MachineHow("fast", batched.MOST_ROWS), MachineHow("dense", 100)):
        found = list(batched.checked_runs(Runs(machine, how), ["ab", "a", "b", ""], how, plain=0))
        assert len(found) == 4
