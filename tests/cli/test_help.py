"""The help: commands and options in panels, whole summaries, examples that can be pasted."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

from tests.cli.lines import EVERY
from tests.cli.test_commands import failed, tm2tfr, tm2tfr_here
from tm2tfr.cli import app, options
from tm2tfr.cli.pages import Command, panels
from tm2tfr.runs import options as run_options

TITLES = ["Inspect:", "Verify:", "Export:", "Research:", "Options:"]


def test_the_help_lists_the_commands_by_what_they_are_for(capsys: pytest.CaptureFixture[str]) -> None:
    code, lines = tm2tfr_here(capsys, "--help")
    assert code == 0
    assert [line for line in lines if line and not line.startswith(" ")][1:] == TITLES
    assert tm2tfr_here(capsys) == (0, lines)


@pytest.mark.parametrize("command", EVERY, ids=lambda c: c.name)
def test_a_summary_is_whole_on_a_terminal_of_80_columns(command: Command, capsys: pytest.CaptureFixture[str]) -> None:
    _, lines = tm2tfr_here(capsys, "--help")
    (line,) = [line for line in lines if line.startswith(f"  {command.name} ")]
    assert line == f"  {command.name:<13}  {command.summary}"
    assert len(line) < 80
    assert command.summary
    assert "…" not in line


@pytest.mark.parametrize("command", EVERY, ids=lambda c: c.name)
def test_every_command_has_an_example_that_can_be_read_again(command: Command) -> None:
    program, name, *rest = command.example.split()
    assert (program, name) == ("tm2tfr", command.name)
    assert command.make_context(name, rest).params


def test_the_help_of_trace_begins_with_what_is_wanted_first(capsys: pytest.CaptureFixture[str]) -> None:
    _, lines = tm2tfr_here(capsys, "trace", "--help")
    headings = [line for line in lines if line and not line.startswith(" ")]
    assert headings == [
        "Usage: tm2tfr trace [OPTIONS] [MACHINE]",
        "Example:",
        "Arguments:",
        "Options:",
        "Running:",
        "Long runs:",
        "The construction:",
        "Universal decoder:",
        "Circuits:",
        "RASP programs:",
        "Temporal logic:",
    ]
    shown = panels(app.commands["trace"], click.Context(app.commands["trace"]))["Options"]
    assert [param.opts[0] for param in shown] == [
        "--input",
        "--output",
        "--all",
        "--quiet",
        "--at",
        "--step",
        "-h",
        "--from",
    ]
    assert not any("--out " in line for line in lines)  # the older name works, and is not shown


def test_what_a_default_is_said_to_be_is_the_default() -> None:
    said_and_real = [
        (re.search(r"Default: ([^ ]+)\.$", getattr(param, "help", None) or ""), param.default)
        for command in EVERY
        for param in command.params
        if isinstance(param, click.Option) and isinstance(param.default, (int, float, str)) and not param.is_flag
    ]
    found = [
        (match[1].replace(",", ""), f"{real:g}" if isinstance(real, float) else str(real))
        for match, real in said_and_real
        if match
    ]
    assert len(found) >= 7
    assert [said for said, _ in found] == [real for _, real in found]
    assert (options.MAX_STEPS, options.EVERY) == (run_options.MAX_STEPS, run_options.EVERY)


def test_table_takes_what_trace_takes_for_the_run() -> None:
    names = {name: {param.name for param in app.commands[name].params} for name in ("trace", "table")}
    recording = {"checkpoint", "checkpoint_every", "resume"}
    assert names["trace"] - names["table"] == {*recording, "quiet", "at", "step"}
    assert names["table"] - names["trace"] == {"format"}


@pytest.mark.slow
def test_a_soft_table(tmp_path: Path) -> None:
    soft = ["--attention", "softmax", "--temperature", "2^-2", "--input", "11"]
    done = tm2tfr("table", *soft, "--format", "csv", cwd=tmp_path)
    assert done.returncode == 1
    assert "soft attention: 0.279 of the weight went to other positions" in done.stderr
    said = failed(2, tm2tfr("table", "--temperature", "0.1", cwd=tmp_path))
    assert "--temperature only applies to softmax attention" in said


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("trace", "the simulator of machines, the evaluator of circuits and formulas, the interpreter of RASP programs."),
        ("trace", "The input: a word, or a JSON list of tokens; of a circuit bits, numbers such as 0x3A+7, or text."),
        ("sweep", "Compare decoders with the reference on every program and every input of a spec"),
        ("soften", "--temperature auto|local|theorem-26|τ"),
    ],
)
def test_the_help_speaks_of_all_that_goes_in(command: str, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert words in " ".join(" ".join(tm2tfr_here(capsys, command, "--help")[1]).split())


@pytest.mark.parametrize(
    ("command", "panel"),
    [
        ("check", "Running"),
        ("disguise", "Options"),
        ("intervene", "Random interventions"),
        ("labels", "Options"),
        ("trace", "The construction"),
    ],
)
def test_the_seed_is_among_what_it_is_of(command: str, panel: str) -> None:
    found = panels(app.commands[command], click.Context(app.commands[command]))
    assert [title for title, params in found.items() for param in params if "--seed" in param.opts] == [panel]
