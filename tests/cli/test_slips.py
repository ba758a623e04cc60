"""What is answered to a line that cannot be understood: what was probably meant; and how counts are written."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.lines import EVERY, said
from tests.cli.test_commands import failed, tm2tfr, tm2tfr_here
from tm2tfr.cli.options import whole_number


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        (
            "trace palindromes abba",
            "tm2tfr trace: unexpected argument 'abba': did you mean: tm2tfr trace palindromes --input abba",
        ),
        (
            "trace palindromes --all abba",
            "tm2tfr trace: unexpected argument 'abba': did you mean: tm2tfr trace palindromes --all --input abba",
        ),
        (
            "check chapter 1 11",
            "tm2tfr check: unexpected arguments '1', '11': did you mean: tm2tfr check chapter --input 1 --input 11",
        ),
        (
            "trace chapter 1 11",
            "tm2tfr trace: unexpected arguments '1', '11': omit them, or see 'tm2tfr trace --help'",
        ),
        ("graph chapter c.svg", "tm2tfr graph: unexpected argument 'c.svg': did you mean: tm2tfr graph chapter -o c.svg"),
        ("sweep a b", "tm2tfr sweep: unexpected argument 'b': omit it, or see 'tm2tfr sweep --help'"),
        ("chapter", "tm2tfr: unknown command 'chapter': did you mean: tm2tfr trace chapter"),
        (
            "palindromes abba",
            "tm2tfr: unknown command 'palindromes': did you mean: tm2tfr trace palindromes --input abba",
        ),
        ("chapter --all", "tm2tfr: unknown command 'chapter': did you mean: tm2tfr trace chapter --all"),
        ("1RB1LB_1LA1RZ", "tm2tfr: unknown command '1RB1LB_1LA1RZ': did you mean: tm2tfr trace 1RB1LB_1LA1RZ"),
        ("two-states", "tm2tfr: unknown command 'two-states': did you mean: tm2tfr sweep two-states"),
        ("trcae", "tm2tfr: unknown command 'trcae' (did you mean 'trace'?): see 'tm2tfr --help'"),
        ("run chapter --input 1 1", "tm2tfr: unknown command 'run': did you mean: tm2tfr trace chapter --input 1 1"),
        ("run", "tm2tfr: unknown command 'run': did you mean: tm2tfr trace"),
        ("program:parity", "tm2tfr: unknown command 'program:parity': did you mean: tm2tfr trace program:parity"),
        ("nonsense", "tm2tfr: unknown command 'nonsense': see 'tm2tfr --help'"),
        (
            "trace --imput 11",
            "tm2tfr trace: unknown option '--imput' (did you mean '--input'?): see 'tm2tfr trace --help'",
        ),
        ("--versio", "tm2tfr: unknown option '--versio' (did you mean '--version'?): see 'tm2tfr --help'"),
        ("trace -z", "tm2tfr trace: unknown option '-z': see 'tm2tfr trace --help'"),
        ("trace --input", "tm2tfr trace: --input needs a value: see 'tm2tfr trace --help'"),
        ("trace --quiet=yes", "tm2tfr trace: --quiet takes no value: see 'tm2tfr trace --help'"),
        ("export chapter", "tm2tfr export: --output is missing: add --output DIR, see 'tm2tfr export --help'"),
        ("convert", "tm2tfr convert: MACHINE is missing: add MACHINE, see 'tm2tfr convert --help'"),
        (
            "trace --engine fats",
            "tm2tfr trace: --engine: unknown value 'fats' (did you mean 'fast'?): use one of auto, dense, exact, fast",
        ),
        (
            "trace --max-steps lots",
            "tm2tfr trace: --max-steps: 'lots' is not a whole number: write for example 10000, 10_000, 10,000 or 1e4",
        ),
        (
            "trace --max-steps -1",
            "tm2tfr trace: --max-steps: -1 is out of range: use a whole number from 0 to 1e18",
        ),
        (
            "trace --checkpoint-every nan",
            "tm2tfr trace: --checkpoint-every: 'nan' is not a number of seconds: use 0 or more, for example 60",
        ),
    ],
)
def test_the_answer_says_what_was_meant(line: str, answer: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, *line.split()) == answer


def test_what_is_suggested_can_be_pasted(capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, "trace", "chapter", "a b").endswith("did you mean: tm2tfr trace chapter --input 'a b'")


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0),
        ("10000", 10_000),
        ("10_000", 10_000),
        ("1,000,000", 1_000_000),
        ("1e6", 10**6),
        ("1E+6", 10**6),
        ("1.5e3", 1500),
        ("2.50e1", 25),
        ("-3", -3),
        ("007", 7),
    ],
)
def test_how_people_write_counts(text: str, number: int) -> None:
    assert whole_number(text) == number


@pytest.mark.parametrize(
    "text", ["", "x", "1.5", "1,5", "1,00,000", "1_", "_1", "1.55e1", "1e-3", "e6", "0x10", "1 000", "٣", "--1"]
)
def test_what_is_not_a_count(text: str) -> None:
    assert whole_number(text) is None


def test_a_count_is_bounded(capsys: pytest.CaptureFixture[str]) -> None:
    assert "1e19 is out of range" in said(capsys, "trace", "--max-steps", "1e19")
    assert "1e999 is out of range" in said(capsys, "trace", "--max-steps", "1e999")
    assert "is not a whole number" in said(capsys, "trace", "--max-steps", "1e99999999999")
    assert "0 is out of range: use a whole number from 1" in said(capsys, "compile", "--length", "0")


def test_every_whole_number_of_the_command_line_is_a_count() -> None:
    parsers = [
        p.type_descriptor.parameter_info.parser
        for command in EVERY
        for p in command.params
        if p.type_descriptor.annotation is int
    ]
    assert len(parsers) >= 16
    assert {parser.__name__ for parser in parsers} == {"count"}


def test_no_value_is_read_by_typer_itself() -> None:
    """Pydantic would read it, which takes longer than a short run."""
    read = {
        str(p.type_descriptor.annotation) for c in EVERY for p in c.params if not p.type_descriptor.parameter_info.parser
    }
    assert read == {"<class 'str'>", "list[str]", "<class 'bool'>", "typing.Any"}


def test_a_run_of_1e2_steps(capsys: pytest.CaptureFixture[str]) -> None:
    code, lines = tm2tfr_here(capsys, "trace", "never-halts", "--input", "", "--quiet", "--max-steps", "1e2")
    assert (code, lines[:2]) == (
        0,
        ["never-halts on ''", "no verdict within the limit of --max-steps, 101 positions processed"],
    )


def test_an_empty_name_is_not_the_default(tmp_path: Path) -> None:
    assert failed(2, tm2tfr("trace", "", cwd=tmp_path)).startswith("'': this is a folder")
