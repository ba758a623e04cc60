"""What is answered to a line that cannot be understood: what was probably meant; and how counts and seeds are written."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.lines import EVERY, said
from tests.cli.test_commands import tm2tfr_here
from tm2tfr.cli.options import whole_number


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


# ── seeds: one range and one message in every command that takes one ────────────────────────────────────────
LINES = (
    "check binary-adder --random 1",
    "check parity --random 1",
    "check reverse --random 1",
    "check since-b --random 1",
    "intervene running-parity --random 1",
    "labels parity --random 1 -o labels",
    "disguise parity -o hidden.safetensors --key key.json",
    "check parity --universal 8,4 -i 1",
)


@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize("seed", ["123456789012345678901234567890", "-1", "x"])
def test_what_is_no_seed(line: str, seed: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, *line.split(), "--seed", seed).endswith(
        f": --seed: '{seed}' is not a seed: use a whole number from 0 to 1e18"
    )


@pytest.mark.slow
@pytest.mark.parametrize("line", LINES)
def test_the_largest_seed_is_taken(
    line: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    code, _ = tm2tfr_here(capsys, *line.split(), "--seed", "1e18")
    assert code == 0
