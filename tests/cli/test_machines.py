"""Machines of all formats as arguments of commands: in lists, from other programs, with cautions."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from typer.core import TyperArgument

import tm2tfr as api
from tests.cli.lines import EVERY
from tests.cli.test_commands import tm2tfr, tm2tfr_here
from tests.cli.test_process import imported
from tm2tfr.api.subject import Subject
from tm2tfr.api.tracing import SURELY, SURELY_FAST
from tm2tfr.cli import main
from tm2tfr.cli.commands import Command
from tm2tfr.engines.fast.session import MOST_POSITIONS
from tm2tfr.lab.datasets.machines.family import Family
from tm2tfr.sources.turing.compiler import compile_machine
from tm2tfr.sources.turing.library import load, shipped
from tm2tfr.sources.turing.proof.prove import limit
from tm2tfr.sources.turing.spec import Machine

WITHOUT_A_SUBJECT = {"dataset", "sweep"}
"""They take specs; a list of machines is recognised by its content."""


def takes_a_text(command: Command) -> bool:
    """Whether a command takes a machine, which may be a file in any format."""
    named = {param.name for param in command.params if isinstance(param, TyperArgument)}
    return bool(named & {"machine", "what"}) and command.name not in WITHOUT_A_SUBJECT


def test_every_command_that_takes_a_machine_takes_its_format() -> None:
    taking = {command.name for command in EVERY if takes_a_text(command)}
    assert {"trace", "check", "table", "graph", "convert", "list", "explore", "prompt"} < taking
    having = {command.name for command in EVERY if any("--from" in param.opts for param in command.params)}
    assert taking <= having


@pytest.mark.parametrize("typed", ["JFLAP", "Advent_of_Code", "ft-turing"])
def test_a_format_is_read_in_any_case(typed: str, capsys: pytest.CaptureFixture[str]) -> None:
    name = "ft_turing" if typed == "ft-turing" else typed.lower().replace("_", "-")
    source = "busy-beaver-2" if name == "advent-of-code" else "palindromes"
    code, lines = tm2tfr_here(capsys, "convert", source, "--to", typed)
    assert (code, lines) == (0, tm2tfr_here(capsys, "convert", source, "--to", name)[1])


def test_the_input_is_converted_with_the_machine(tmp_path: Path) -> None:
    done = tm2tfr("convert", "binary-increment", "--to", "bbchallenge", "--input", "011", cwd=tmp_path)
    assert done.stderr.splitlines()[1:] == [
        "note: symbols are renamed: '_' to '0', '0' to '1', '1' to '2'",
        "note: the input '011' becomes '122'",
    ]
    done = tm2tfr("convert", "palindromes", "--to", "morphett", "-i", "ab", cwd=tmp_path)
    assert "note: the input 'ab' stays as it is" in done.stderr.splitlines()
    assert "; input: ab" in done.stdout.splitlines()


def test_its_own_input_is_said_where_it_changes(tmp_path: Path) -> None:
    (tmp_path / "m.yaml").write_text(
        "blank: ' '\nstart state: a\ninput: 'x;'\ntable:\n  a: {[x, ;]: R}\n", encoding="utf-8"
    )
    done = tm2tfr("convert", "m.yaml", "--to", "morphett", cwd=tmp_path)
    assert "note: the input 'x;' becomes 'xy'" in done.stderr.splitlines()
    assert "; input: xy" in done.stdout.splitlines()
    assert tm2tfr("convert", "m.yaml", cwd=tmp_path).stderr == ""


# ── lists ───────────────────────────────────────────────────────────────────────────────────────────────────
LIST = "machine,status,steps\n1RB1LB_1LA1RZ,halt,6\n1RB1LA_1LA1RB,endless,\n"
LINES = [
    "ok    ''             halt    6 steps, 8 tokens, 56 cells agree  1RB1LB_1LA1RZ  (in the list: halt, 6)",
    "ok    ''             limit   50 steps, 51 tokens, 357 cells agree  1RB1LA_1LA1RB  (in the list: endless)",
    "m.csv: 2 machines, 2 runs (1 halt, 1 cut off after 50 steps), 413 cells compared, all agree",
]


@pytest.mark.slow
def test_every_machine_of_a_list_is_checked(tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_text(LIST, encoding="utf-8")
    done = tm2tfr("check", "m.csv", "--max-steps", "50", cwd=tmp_path)
    assert (done.returncode, done.stdout.splitlines()) == (0, LINES)
    done = tm2tfr("check", "m.csv", "-i", "", "-i", "1", "--format", "json", "--max-steps", "9", cwd=tmp_path)
    assert [(run["machine"], run["outcome"]) for run in map(json.loads, done.stdout.splitlines())] == [
        ("1RB1LB_1LA1RZ", "halt"),
        ("1RB1LB_1LA1RZ", "halt"),
        ("1RB1LA_1LA1RB", "limit"),
        ("1RB1LA_1LA1RB", "limit"),
    ]
    done = tm2tfr("check", "m.csv", "--universal", "8,4", "--max-steps", "9", cwd=tmp_path)
    assert done.stdout.splitlines()[-1].startswith("m.csv: 2 machines, 2 runs (1 halt, 1 cut off after 9 steps), ")


def test_every_machine_of_a_list_is_swept(tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_text(LIST, encoding="utf-8")
    done = tm2tfr("sweep", "m.csv", "--workers", "1", "--max-steps", "50", cwd=tmp_path)
    assert done.stdout == "m: 2 machines, 2 runs (1 halt, 1 limit), 59 rows, 413 cells compared, all agree\n"


def test_repeated_machines_are_run_once_and_said(tmp_path: Path) -> None:
    (tmp_path / "m.txt").write_text("3 1 1RB1LB_1LA1RZ\n1RB1LB_1LA1RZ\n1RB1LA_1LA1RB\n", encoding="utf-8")
    note = "1 line of this list repeats a machine, the first time 1RB1LB_1LA1RZ of line 1: each machine is run once"
    done = tm2tfr("check", "m.txt", "--max-steps", "9", cwd=tmp_path)
    assert done.stderr == f"m.txt: warning: {note}\n"
    assert done.stdout.splitlines()[-1].startswith("m.txt: 2 machines, 2 runs (1 halt, 1 cut off after 9 steps), ")
    done = tm2tfr("sweep", "m.txt", "--workers", "1", "--max-steps", "9", cwd=tmp_path)
    assert done.stderr == f"m.txt: warning: {note}\n"
    assert done.stdout.startswith("m: 2 machines, 2 runs (1 halt, 1 limit), ")


def test_a_verdict_for_a_machine_that_halts_without_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    done = tm2tfr("convert", "1RB1LB_1LA1RZ", "--verdict", "accept", "-o", "m.jff", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "note: every halt is taken to accept\nwrote m.jff\n")
    done = tm2tfr("check", "m.jff", cwd=tmp_path)
    assert done.stdout.splitlines()[0] == "ok    ''             accept  6 steps, 7 tokens, 49 cells agree"


def test_one_machine(capsys: pytest.CaptureFixture[str]) -> None:
    code, lines = tm2tfr_here(capsys, "list", "machine:parity")
    text = "\n".join(lines)
    assert code == 0
    assert lines[0].startswith("Machine parity: ")
    assert "Source: " in text
    assert "It accepts in" in text
    assert any(re.match(r"δ +0 +1", line) for line in lines)
    assert "  tm2tfr trace machine:parity --input " in text
    assert "  tm2tfr graph machine:parity -o parity.svg" in lines


@pytest.mark.parametrize("name", shipped())
def test_the_commands_shown_for_a_machine_work(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, lines = tm2tfr_here(capsys, "list", f"machine:{name}")
    assert code == 0
    assert max(map(len, lines[1:])) <= 110
    tried = [line.split()[1] for line in lines if line.startswith("  tm2tfr ")]
    assert tried == ["trace", "check", "graph"]
    (traced,) = [line for line in lines if line.startswith("  tm2tfr trace ")]
    import shlex

    _, _, shown, _, word = shlex.split(traced)
    assert shown == f"machine:{name}"
    assert word in [example.input for example in api.load(name).examples] or word == api.default_input(api.load(name))


def test_one_machine_as_json_and_one_of_ones_own(capsys: pytest.CaptureFixture[str]) -> None:
    _, (line,) = tm2tfr_here(capsys, "list", "1RB1LB_1LA1RZ", "--format", "json")
    found = json.loads(line)
    assert (found["states"], found["symbols"], len(found["rules"]), found["examples"]) == (3, 2, 4, [])


@pytest.mark.parametrize(("line", "now"), [("machines", "list machines"), ("machines palindromes", "list palindromes")])
def test_the_older_word_still_works(line: str, now: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert tm2tfr_here(capsys, *line.split()) == tm2tfr_here(capsys, *now.split())
    with pytest.raises(SystemExit):
        main(line.split())
    assert capsys.readouterr().err == "warning: machines is now called list\n"
    as_json = tm2tfr_here(capsys, *now.split(), "--format", "json")
    assert tm2tfr_here(capsys, *line.split(), "--format", "json") == as_json


SIZES = Family(60, 12, tape="one-way", ends="verdict"), Family(40, 20)


REACHES = [
    ("dense", "float64", SURELY["float64"], SURELY["float64"]),
    ("dense", "float32", SURELY["float32"], SURELY["float32"]),
    ("fast", "float64", SURELY_FAST, MOST_POSITIONS),
]


@pytest.mark.slow
@pytest.mark.parametrize(("engine", "dtype", "head", "positions"), REACHES)
def test_every_machine_is_certified_as_far(engine: str, dtype: str, head: int, positions: int) -> None:
    machines: list[Machine] = [load(name) for name in shipped()] + [family.machine(5**100) for family in SIZES]
    for machine in machines:
        most = limit(compile_machine(machine), machine, engine, dtype, max_head=head)
        assert most is None or most >= positions, machine.name


@pytest.mark.parametrize(("engine", "dtype", "head", "positions"), REACHES)
def test_so_is_every_machine_in_a_prompt(engine: str, dtype: str, head: int, positions: int) -> None:
    subject = Subject.of("busy-beaver-5", universal="8,4")
    assert subject.kind.limit is not None
    most = subject.kind.limit(subject.decoder, subject.program, engine, dtype, head)
    assert most is None or most >= positions


@pytest.mark.slow
@pytest.mark.parametrize("line", ["trace --input 11", "check busy-beaver-5 --input= --max-steps 20000 --engine fast"])
def test_a_run_that_is_surely_certified_imports_no_proof(line: str, tmp_path: Path) -> None:
    found = imported(*line.split(), cwd=tmp_path)
    assert not [name for name in found if re.match(r"tm2tfr\.sources\..*\.proof\b", name)]
