"""The help: commands and options in panels, whole summaries, examples that can be pasted."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest
from typer.core import TyperOption

from tests.cli.lines import EVERY, LISTED, params
from tests.cli.test_commands import tm2tfr, tm2tfr_here
from tests.installed import NO_DOT
from tm2tfr.api.machines import convert


@pytest.fixture(autouse=True)
def _wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


def titles(lines: list[str]) -> list[str]:
    """The titles of panels."""
    return [found[1] for line in lines if (found := re.match(r"╭─ (.+?) ─", line))]


def test_the_help_lists_the_commands_by_what_they_are_for(capsys: pytest.CaptureFixture[str]) -> None:
    code, lines = tm2tfr_here(capsys, "--help")
    assert (code, titles(lines)) == (0, ["Options", "Inspect", "Verify", "Export", "Research"])
    code, bare = tm2tfr_here(capsys)
    assert (code, "\n".join(bare).strip()) == (0, "\n".join(lines).strip())


@pytest.mark.parametrize("name", LISTED)
def test_a_summary_is_whole_on_a_terminal_of_80_columns(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    _, lines = tm2tfr_here(capsys, "--help")
    (line,) = [line for line in lines if line.startswith(f"│ {name} ")]
    assert line.strip("│ ").split(maxsplit=1) == [name, LISTED[name].short_help]
    assert len(line) == 80


@pytest.mark.parametrize("name", LISTED)
def test_every_command_is_there_with_an_example_that_can_be_read_again(name: str) -> None:
    command = LISTED[name].command
    assert command.name == name
    assert command.make_context(name, shlex.split(LISTED[name].example)).params
    assert command.example == LISTED[name].example


def description(lines: list[str]) -> list[str]:
    """The lines between the usage and the example."""
    text = [line.strip() for line in lines]
    return [line for line in text[2 : next(n for n, line in enumerate(text) if line.startswith("Example: "))] if line]


@pytest.mark.parametrize("name", LISTED)
def test_a_description_has_at_most_five_lines_of_80_columns(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert 1 <= len(description(tm2tfr_here(capsys, name, "--help")[1])) <= 5


NEEDED = {
    "certify": ("numba", "fast"),
    "compare": ("torch", "torch"),
    "dataset": ("pyarrow", "dataset"),
    "export": ("transformers", "transformers"),
    "labels": ("pyarrow", "dataset"),
    "plot": ("matplotlib", "plot"),
    "train": ("torch", "torch"),
    "verify-export": ("transformers", "transformers"),
}
"""The packages that an example needs, each with its extra."""


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted({*LISTED} - {"playground"}))
def test_the_example_in_the_help_works_as_typed(name: str, tmp_path: Path) -> None:
    if name in NEEDED:
        package, extra = NEEDED[name]
        pytest.importorskip(package, reason=f"{package} is not installed: pip install 'tm2tfr[{extra}]'")
    if name == "graph" and shutil.which("dot") is None:
        pytest.skip(NO_DOT)
    command = LISTED[name]
    for line in [*command.earlier.split(" && "), f"tm2tfr {name} {command.example}"]:
        words, _, file = line.partition(" > ")
        if words:
            arguments = [word for word in shlex.split(words)[1:] if word != "--open"]
            done = tm2tfr(*arguments, cwd=tmp_path)
            assert done.returncode == 0, done.stderr
            if file:
                (tmp_path / file).write_text(done.stdout, encoding="utf-8")


def test_the_help_of_trace_begins_with_what_is_wanted_first(capsys: pytest.CaptureFixture[str]) -> None:
    _, lines = tm2tfr_here(capsys, "trace", "--help")
    assert lines[1].strip() == "Usage: tm2tfr trace [OPTIONS] [SOURCE]"
    assert titles(lines) == [
        "Arguments",
        "Options",
        "Running",
        "Long runs",
        "Probabilities",
        "The construction",
        "Sources as text",
    ]
    shown = [found[1] for line in lines if (found := re.match(r"│ (--\S+)", line))]
    assert shown[:8] == ["--input", "--all", "--quiet", "--at", "--step", "--output", "--from", "--help"]
    assert not any("--out " in line for line in lines)  # the older name works, and is not shown
    text = " ".join(" ".join(lines).replace("│", "").split())
    assert "name the source before --help, as in: tm2tfr trace palindromes --help" in text


@pytest.mark.parametrize(
    ("source", "title", "own", "others"),
    [
        (
            ["palindromes"],
            "Turing machines",
            ["--left-boundary", "--universal", "--seed"],
            ["--sop", "--basis", "--define"],
        ),
        (["full-adder"], "Circuits", ["--variant <lookup|paper-hard|paper>", "--bits", "--file"], ["--universal", "--sop"]),
        (["program:parity"], "RASP programs", ["--sop", "--alphabet", "--mask"], ["--universal", "--variant", "--define"]),
        (["--formula", "once Q[a]"], "Formulas", ["--variant <ours|paper|unique>", "--alphabet"], ["--universal", "--sop"]),
        (["--truth-table", "0110"], "Circuits", ["--basis"], ["--sop"]),
    ],
)
def test_the_help_behind_a_source_has_its_own_options(
    source: list[str], title: str, own: list[str], others: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    _, lines = tm2tfr_here(capsys, "trace", *source, "--help")
    text = " ".join(" ".join(lines).replace("│", "").split())
    assert title in titles(lines)
    assert "name the source before --help" not in text
    assert [words for words in own if words not in text] == []
    assert [words for words in others if f" {words} " in text] == []


@pytest.mark.parametrize(
    ("line", "example"),
    [
        ("trace full-adder", "tm2tfr trace full-adder"),
        ("trace palindromes", "tm2tfr trace palindromes --input abba"),
        ("compile --formula 'once Q[a]'", "tm2tfr compile --formula 'once Q[a]' -o chapter.safetensors"),
        ("intervene full-adder", ""),
        ("graph full-adder", "tm2tfr graph full-adder -o full-adder.svg"),
        ("graph m.jff", "tm2tfr graph m.jff -o m.svg"),
        ("convert m.jff", "tm2tfr convert m.jff -o m.yaml"),
    ],
)
def test_the_example_is_about_the_source_that_is_named(
    line: str, example: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("m.jff").write_text(convert("palindromes", "jflap"), encoding="utf-8")
    text = " ".join(" ".join(tm2tfr_here(capsys, *shlex.split(line), "--help")[1]).split())
    assert text.count("Example: ") == bool(example)
    assert not example or f"Example: {example} " in text


def test_the_help_behind_nothing_that_can_be_read_is_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert tm2tfr_here(capsys, "trace", "nonsense", "--help") == tm2tfr_here(capsys, "trace", "--help")


@pytest.mark.parametrize("name", LISTED)
def test_no_value_is_broken_within_a_word_at_80_columns(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    _, lines = tm2tfr_here(capsys, name, "--help")
    rows = {opt for line in lines if (row := re.match(r"│ (-\S+)", line)) for opt in row[1].split(",")}
    shown = [each for each in params(name) if isinstance(each, TyperOption) and each.opts[0] in rows and each.metavar]
    words = {word for each in shown if "|" in str(each.metavar) for word in str(each.metavar).split()}
    assert [word for word in words if not any(word in line for line in lines)] == []


@pytest.mark.parametrize("name", LISTED)
def test_no_word_of_the_help_is_cut_at_80_columns(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [line.strip("│ ") for line in tm2tfr_here(capsys, name, "--help")[1]]
    assert [line for line in lines if re.search(r"[^\s{U4N]…$", line) and not line.startswith("Usage: ")] == []


def test_the_help_is_there_where_the_width_is_not_known(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "0")
    code, lines = tm2tfr_here(capsys, "trace", "--help")
    assert (code, titles(lines)[:2]) == (0, ["Arguments", "Options"])


def test_the_help_says_brackets_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    text = " ".join(tm2tfr_here(capsys, "trace", "--help")[1]).replace("│", "")
    assert "'once Q[a] & !Q[b]'" in " ".join(text.split())


def test_what_a_default_is_said_to_be_is_the_default() -> None:
    said_and_real = [
        (re.search(r"Default: ([^ ]+)\.$", getattr(param, "help", None) or ""), param.default)
        for command in EVERY
        for param in command.params
        if isinstance(param, TyperOption) and isinstance(param.default, (int, float, str)) and not param.is_flag
    ]
    found = [
        (match[1].replace(",", ""), f"{real:g}" if isinstance(real, float) else str(real))
        for match, real in said_and_real
        if match
    ]
    assert len(found) >= 20
    assert [said for said, _ in found] == [real for _, real in found]


def test_table_takes_what_trace_takes_for_the_run() -> None:
    names = {name: {param.name for param in params(name)} for name in ("trace", "table")}
    recording = {"checkpoint", "checkpoint_every", "resume", "out"}
    assert names["trace"] - names["table"] == {*recording, "quiet", "at", "step"}
    assert names["table"] - names["trace"] == {"format", "output"}


@pytest.mark.slow
def test_a_soft_table(tmp_path: Path) -> None:
    soft = ["--attention", "softmax", "--temperature", "2^-2", "--input", "11", "--max-steps", "20"]
    done = tm2tfr("table", *soft, "--format", "csv", cwd=tmp_path)
    assert done.returncode == 1
    assert "soft attention: 0.279 of the weight went to other positions" in done.stderr


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("trace", "the simulator of machines, the evaluator of circuits and formulas, the interpreter of RASP programs."),
        ("trace", "The input: a word, or a JSON list of tokens; for a circuit: bits, numbers such as 0x3A+7, or text."),
        ("sweep", "Check every machine, circuit or program of a spec on all its inputs"),
        ("soften", "per-position"),
    ],
)
def test_the_help_speaks_of_all_that_goes_in(command: str, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert words in " ".join(" ".join(tm2tfr_here(capsys, command, "--help")[1]).replace("│", "").split())


@pytest.mark.parametrize(
    ("command", "panel"),
    [
        ("check", None),
        ("convert", "The construction"),
        ("disguise", None),
        ("intervene", "Random interventions"),
        ("labels", None),
        ("trace", "Probabilities"),
    ],
)
def test_the_seed_is_among_what_it_is_of(command: str, panel: str | None) -> None:
    assert [param.rich_help_panel for param in params(command) if "--seed" in param.opts] == [panel]
