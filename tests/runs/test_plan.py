"""A plan of a check is what ``tm2tfr check`` is asked for: the same runs, the same words, the same refusals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import tm2tfr
from tests.cli.test_commands import tm2tfr_here
from tm2tfr.base.errors import for_command_line
from tm2tfr.runs.plan import Finding, Plan, RunOptions, Soft, Watcher

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
    ("asked", "said"),
    [
        ({"inputs": "ab"}, "inputs must be a list of words, not 'ab'"),
        ({"inputs": 3}, "inputs must be a list of words, not 3"),
        ({"inputs": ("a",), "every": True}, "every and word cannot be combined"),
        ({"inputs": ("a",), "random": 3}, "random and word cannot be combined"),
        ({"every": True, "random": 3}, "every and random cannot be combined"),
        ({"every": True, "all_up_to": 3}, "every and all_up_to cannot be combined"),
        ({"random": 0}, "random cannot be 0: use a whole number from 1 on"),
        ({"all_up_to": True}, "all_up_to cannot be True"),
        ({"seed": 3}, "seed is that of random inputs: add random"),
        ({"random": 1, "seed": -1}, "the seed cannot be -1"),
        ({"soft": "softmax"}, "soft must be a Soft, not 'softmax'"),
        ({"max_steps": -1}, "max_steps must be a whole number of steps, not -1"),
        ({"checkpoint": 3}, "checkpoint must be the name of a file, not 3"),
    ],
)
def test_what_is_no_plan_is_told(asked: dict[str, Any], said: str) -> None:
    with pytest.raises(tm2tfr.Tm2tfrError) as caught:
        Plan(**asked)
    assert said in str(caught.value)


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
        ("chapter", Plan(random=3, out=Path("rows.csv")), "-o records a single run"),
        ("half-adder", Plan(max_steps=3), "a circuit without examples has many"),
    ):
        with pytest.raises(tm2tfr.Tm2tfrError, match=said):
            tm2tfr.check(subject, plan)


def test_a_plan_is_how_its_runs_are_made() -> None:
    assert isinstance(Plan(engine="exact"), RunOptions)
    assert Plan(inputs=["a"]).inputs == ("a",)  # type: ignore[arg-type]
    assert Plan(soft=("softmax", None)).soft == Soft("softmax")  # type: ignore[arg-type]
