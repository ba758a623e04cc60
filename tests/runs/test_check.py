"""Checks of single runs, and by a plan: what ``tm2tfr check`` is asked for, with the same refusals."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

import tm2tfr
import tm2tfr as api
from tests.cli.test_commands import tm2tfr_here
from tests.runs.checking import check
from tests.strategies import machines_with_inputs
from tm2tfr.base.errors import CompileError, EngineError, InputError, for_command_line
from tm2tfr.engines.dense import Dense
from tm2tfr.engines.exact import Exact
from tm2tfr.runs import choose
from tm2tfr.runs.cause import find_cause
from tm2tfr.runs.comparison import run
from tm2tfr.runs.plan import Finding, Plan, RunOptions, Shown, Soft, Watcher
from tm2tfr.runs.rows import activations
from tm2tfr.sources.turing.columns import Row
from tm2tfr.sources.turing.compiler import compile_machine
from tm2tfr.sources.turing.library import load
from tm2tfr.sources.turing.simulator import Simulation
from tm2tfr.sources.turing.spec import Machine
from tm2tfr.sources.turing.specification import TuringSpecification
from tm2tfr.sources.turing.truth import TuringTruth
from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.weights import matrices, replaced


@pytest.mark.slow
@settings(max_examples=60)
@given(machines_with_inputs())
def test_the_whole_residual_stream_is_as_specified(case: tuple[Machine, str]) -> None:
    """Every subspace after every stage, not only the columns of the table, in exact arithmetic."""
    machine, word = case
    decoder = compile_machine(machine)
    rows = list(TuringTruth(machine, word).rows_of(Simulation(machine, word, max_steps=6)))
    specification = TuringSpecification.of(machine, rows)
    for position in range(len(rows)):
        cause = find_cause(decoder, specification, position, engine=Exact())
        assert cause is None, str(cause)


def test_the_rows_of_the_chapter_from_the_simulator_alone() -> None:
    machine = load("chapter")
    rows = list(TuringTruth(machine, "11").rows_of(Simulation(machine, "11")))
    assert rows[2] == Row(2, "BOS", None, None, 0, 0, "1", "(q0,1,0)")
    assert rows[5] == Row(5, "(q2,x,+1)", "q2", "x", 1, 2, "_", "(q4,_,-1)")
    assert rows[8] == Row(8, "(q1,_,+1)", "q1", "_", 1, 1, "x", "ACC")
    assert len(rows) == 9


@pytest.mark.parametrize(
    ("machine", "rows"),
    [
        # q_start accepts: the answer to BOS is the verdict (repair 8)
        (Machine(transitions={}, start="a", blank="_", accept="a"), ["ACC"]),
        # a state without rules halts on entry; the last triple comes before HALT
        (
            Machine(transitions={("a", "_"): ("h", "1", 0)}, start="a", blank="_"),
            ["(a,_,0)", "(h,1,0)", "HALT"],
        ),
        # a missing rule is no step
        (
            Machine(transitions={("a", "1"): ("a", "1", 1)}, start="a", blank="_", accept=()),
            ["(a,_,0)", "REJ"],
        ),
        # a machine that can do nothing at all
        (Machine(transitions={}, start="a", blank="_"), ["HALT"]),
    ],
)
def test_how_a_run_ends(machine: Machine, rows: list[str]) -> None:
    trace = check(compile_machine(machine), "", machine=machine, engine=Dense(), keep_rows=True)
    assert [row.y for row in trace.rows] == rows
    assert trace.agrees


def test_a_run_that_was_not_compared_does_not_agree() -> None:
    decoder = compile_machine(load("chapter"))
    trace = run(decoder, "11", engine=Dense())
    assert (trace.checked, trace.agrees, trace.compared, trace.answer) == (False, False, 0, "accept")


def test_a_decoder_without_weights_fails() -> None:
    """A check that cannot fail would be worth nothing: nothing but zeros."""
    machine = load("chapter")
    decoder = compile_machine(machine)
    empty = {path: Matrix.from_entries(matrix.shape, {}) for path, matrix in matrices(decoder).items()}
    trace = check(replaced(decoder, empty), "11", machine=machine, engine=Dense(), max_steps=20)
    assert trace.divergence is not None
    assert (trace.divergence.position, trace.divergence.column) == (0, "x")
    assert str(trace.divergence.cause).startswith("embedding at position 0: e_x should be 1, is ⊥ (0)")


def test_the_weights_of_another_machine_fail() -> None:
    trace = api.check(compile_machine(load("chapter")), "11", machine=load("power-of-two"))
    assert trace.divergence is not None
    assert (trace.divergence.position, trace.divergence.column, trace.divergence.found) == (8, "y", "ACC")
    assert trace.divergence.cause is not None
    assert trace.divergence.cause.layer_name == "transition"


def test_wrong_inputs_are_refused() -> None:
    with pytest.raises(InputError, match="position 0: '0' is not in the input alphabet"):
        api.check("chapter", "0")
    with pytest.raises(EngineError, match="token 0 of the prompt, '0', is not in the vocabulary"):
        api.run(compile_machine(load("chapter")), "0")
    nameless = dataclasses.replace(compile_machine(load("chapter")), provenance={})
    with pytest.raises(CompileError, match="no machine is stored with these weights"):
        api.check(nameless, "11")


def test_the_chapters_vectors_by_name() -> None:
    found = activations(compile_machine(load("chapter")), "11", 6)
    assert list(found) == ["A(0)", "A(1)", "A(2)", "A(3.5)", "A(4)", "H(4)", "A(5)"]
    assert found["A(5)"]["e_a"] == "x"
    assert (found["A(4)"]["h_{i-1}"], found["A(4)"]["h_{i-1}^2"], found["H(4)"]["h_{j*-1}"]) == (2, 4, 1)
    assert "e_a" not in found["H(4)"]
    with pytest.raises(EngineError, match="has 9 positions, and none numbered 9: use a position from 0 to 8"):
        activations(compile_machine(load("chapter")), "11", 9)


ASKED: dict[str, tuple[tuple[str, ...], str, Plan]] = {
    "examples": (("palindromes",), "palindromes", Plan()),
    "inputs": (("chapter", "--input", "11", "--input", "1"), "chapter", Plan(inputs=("11", "1"))),
    "random": (("palindromes", "--random", "4", "--seed", "2"), "palindromes", Plan(random=4, seed=2)),
    "up to": (("left-edge", "--all-up-to", "3", "--engine", "dense"), "left-edge", Plan(all_up_to=3, engine="dense")),
    "all": (("full-adder", "--all"), "full-adder", Plan(every=True)),
    "a circuit": (("half-adder", "--engine", "exact"), "half-adder", Plan(engine="exact")),
    "a program": (("sort", "--all-up-to", "3"), "sort", Plan(all_up_to=3)),
    "one word": (("sort", "--input", "cab"), "sort", Plan(inputs=("cab",))),
    "softly": (("chapter", "--attention", "softmax"), "chapter", Plan(soft=Soft("softmax"))),
    "cut off": (("chapter", "--max-steps", "3"), "chapter", Plan(max_steps=3)),
}


@pytest.mark.slow
@pytest.mark.parametrize("asked", ASKED)
def test_the_library_says_what_the_command_says(asked: str, capsys: pytest.CaptureFixture[str]) -> None:
    arguments, subject, plan = ASKED[asked]
    with for_command_line():
        report = tm2tfr.check(subject, plan)
    code, lines = tm2tfr_here(capsys, "check", *arguments)
    assert (code, lines) == (0 if report.passed else 1, str(report).splitlines())
    _, data = tm2tfr_here(capsys, "check", *arguments, "--format", "json")
    assert [json.loads(line) for line in data] == report.as_dicts()


def test_a_report_says_whether_it_passed() -> None:
    good, bad = tm2tfr.check("chapter", Plan()), tm2tfr.check("chapter", Plan(max_steps=3))
    assert (good.passed, bad.passed) == (True, False)
    assert repr(good).startswith("<CheckReport: passed, ")
    assert repr(bad).startswith("<CheckReport: FAILED, ")


def test_weights_that_are_wrong_fail() -> None:
    decoder = tm2tfr.compile("left-edge", left_boundary="chapter")
    assert not tm2tfr.check(decoder, Plan(), watch=Watcher()).passed


def test_whoever_watches_hears_each_finding_as_it_comes() -> None:
    heard: list[Finding] = []

    class Ears(Watcher):
        def hear(self, said: Finding) -> None:
            heard.append(said)

    report = tm2tfr.check("palindromes", Plan(inputs=("ab", "a")), watch=Ears())
    assert tuple(heard) == report.said


@pytest.mark.parametrize(
    ("options", "warned"),
    [
        ({"max_steps": 10_001}, True),
        ({"max_steps": 10_000}, False),
        ({"max_steps": 10_001, "engine": "dense"}, False),
        ({"max_steps": 10_001, "dtype": "float32"}, False),
        ({"max_steps": 10_001, "soft": Soft("softmax", "2^-10")}, False),
    ],
)
def test_a_long_run_without_numba_is_said_to_be_slow_before_it(
    options: dict[str, Any], warned: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    happened: list[str] = []

    class Ears(Watcher):
        def hear(self, said: Finding) -> None:
            happened.append("warning" if "the square of the steps" in said.text else "finding")

        @contextmanager
        def run(self, max_steps: int | None, *, steady: bool) -> Iterator[Shown]:
            assert (max_steps, steady) == (options["max_steps"], False)
            happened.append("run")
            yield Shown()

    monkeypatch.setattr(choose, "available", lambda: False)
    report = tm2tfr.check("chapter", Plan(inputs=("11",), **options), watch=Ears())
    assert happened[: 1 + warned] == ["warning", "run"][not warned :]
    remedy = "the square of the steps: pip install 'tm2tfr[fast]' makes it fast"
    assert any(note.endswith(remedy) for note in report.notes) is warned


@pytest.mark.parametrize(
    "beside", [{"engine": "exact"}, {"max_steps": 3}, {"keep_rows": False}, {"out": "rows.csv"}, {"machine": "chapter"}]
)
def test_nothing_beside_a_plan_is_ignored(beside: dict[str, Any]) -> None:
    with pytest.raises(tm2tfr.Tm2tfrError, match=f"{next(iter(beside))} cannot stand beside a plan"):
        tm2tfr.check("chapter", Plan(), **beside)


def test_a_plan_for_another_source_is_refused() -> None:
    for subject, plan, said in (
        ("palindromes", Plan(every=True), "not a circuit"),
        ("half-adder", Plan(all_up_to=3), "all have one length"),
        ("sort", Plan(every=True), "every is for circuits"),
        ("chapter", Plan(random=3, checkpoint=Path("run.npz")), "checkpoint records a single run"),
        ("half-adder", Plan(max_steps=3), "a circuit without examples has many"),
    ):
        with pytest.raises(tm2tfr.Tm2tfrError, match=said):
            tm2tfr.check(subject, plan)


def test_a_plan_is_how_its_runs_are_made() -> None:
    assert isinstance(Plan(engine="exact"), RunOptions)
    assert Plan(inputs=["a"]).inputs == ("a",)  # type: ignore[arg-type]
    assert Plan(soft=("softmax", None)).soft == Soft("softmax")  # type: ignore[arg-type]
