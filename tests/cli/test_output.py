"""Output of every command: checked before the work, never over what is read, always ``-o``; no name is printed as it is."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.cli.lines import EVERY, said
from tests.targets.matrices.programs import needs_onnx, rewritten
from tm2tfr.api import datasets as corpora
from tm2tfr.api.subject import Subject
from tm2tfr.api.targets import export_to
from tm2tfr.base.errors import InputError, visible
from tm2tfr.cli import main
from tm2tfr.sources.turing.formats import morphett, native, registry
from tm2tfr.sources.turing.spec import Example, Machine, MachineError

WRITE = {"trace", "check", "table", "explore", "graph", "certify", "soften", "compile", "export", "convert", "dataset"}
WRITE |= {"plot", "prompt", "explain", "sensitivity"}
WRITE |= {"labels", "train", "intervene", "disguise"}


BEFORE_THE_WORK = [
    *(["compile", "-o", path] for path in ("no/w.safetensors", "w.bin", "d.safetensors")),
    *(["certify", "-o", path] for path in ("no/c.json", "c.txt", "d.json")),
    *(["soften", "-o", path] for path in ("no/s.csv", "d.json")),
    *(["soften", "--plot", path] for path in ("no/s.svg", "s.txt", "d.svg")),
    *(["convert", "chapter", "-o", path] for path in ("no/c.jff", "c.txt", "d.jff")),
    *(["graph", "-o", path] for path in ("no/g.dot", "g.txt", "d.dot")),
    *(["plot", "-o", path] for path in ("no/p.svg", "p.gif", "d.svg")),
    *(["table", "-o", path] for path in ("no/t.csv", "t.xyz", "d.csv")),
    *(["explore", "-o", path] for path in ("no/e.html", "e.pdf", "d.html")),
    *(
        [command, option, path]
        for command in ("trace", "check")
        for option in ("-o", "--output", "--out")
        for path in ("no/r.csv", "r.txt", "d.csv")
    ),
    *([command, "--checkpoint", path] for command in ("trace", "check") for path in ("no/r.npz", "d.npz")),
    *(["export", "-o", path] for path in ("no/x", "file", "full")),
    *(["dataset", "palindromes", "-o", path] for path in ("no/x", "file")),
    *(["labels", "palindromes", "-o", path] for path in ("no/x", "file")),
    *(["disguise", "chapter", "--key", "key.json", "-o", path] for path in ("no/w.safetensors", "w.bin", "d.safetensors")),
]


@pytest.mark.parametrize("arguments", BEFORE_THE_WORK, ids=" ".join)
def test_output_is_refused_before_the_work(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def work(*_: Any, **__: Any) -> None:
        raise AssertionError("the work was begun")

    monkeypatch.setattr(Subject, "read", work)
    monkeypatch.setattr(corpora, "make_dataset", work)
    monkeypatch.chdir(tmp_path)
    for ending in ("safetensors", "json", "svg", "jff", "dot", "csv", "html", "npz"):
        (tmp_path / f"d.{ending}").mkdir()
    (tmp_path / "file").write_text("kept", encoding="utf-8")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").touch()
    before = sorted(tmp_path.rglob("*"))
    assert said(capsys, *arguments).startswith(f"{arguments[-1]}: ")
    assert sorted(tmp_path.rglob("*")) == before
    assert (tmp_path / "file").read_text(encoding="utf-8") == "kept"


@pytest.mark.parametrize(
    "arguments",
    [
        ["compile", "w.safetensors", "-o", "w.safetensors"],
        ["certify", "c.json", "-o", "c.json"],
        ["soften", "m.yaml", "-o", "m.yaml"],
        ["soften", "m.svg", "--plot", "m.svg"],
        ["convert", "m.yaml", "-o", "m.yaml"],
        ["graph", "m.dot", "-o", "m.dot"],
        ["table", "t.csv", "-o", "t.csv"],
        ["explore", "e.html", "-o", "e.html"],
        ["trace", "t.csv", "-o", "t.csv"],
        ["trace", "m.yaml", "--checkpoint", "m.yaml"],
        ["check", "t.csv", "-o", "t.csv"],
    ],
    ids=" ".join,
)
def test_what_is_read_is_not_written_over(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / arguments[1]
    path.write_bytes(b"not a machine")
    what = "these are the weights themselves" if path.suffix == ".safetensors" else "that is the machine itself"
    assert f"{what}: choose another name for the output" in said(capsys, *arguments)
    assert path.read_bytes() == b"not a machine"


def test_every_command_that_writes_a_file_has_the_option_for_it() -> None:
    names = {command.name: {name for p in command.params for name in p.opts} for command in EVERY}
    assert {name for name, opts in names.items() if {"-o", "--output"} <= opts} == WRITE


FORGED = "yes: this export is palindromes"
HOSTILE = f"x\r\nrun: '1', 9 positions\n{FORGED}\x1b[8m\u2028\u202e"
STATE = f"q\n{FORGED}\r\x1b[8m"
MACHINE = Machine(
    transitions={(STATE, "1"): (STATE, "\x1b", 1), (STATE, "\n"): (STATE, "1", 1), (STATE, " "): (f"{STATE}.", " ", 0)},
    start=STATE,
    blank=" ",
    input_alphabet=("1", "\n"),
    name=HOSTILE,
    description=HOSTILE,
    source=HOSTILE,
    examples=(Example(input="1\n", outcome="halt", tape="\x1b1"), Example(input="", outcome="halt", tape=f"\n{FORGED}")),
)
"""Nothing of it is plain: its name, what describes it, its states and its symbols."""


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, list[str]]:
    """Return the exit code and the lines of a command, which may hold nothing that cannot be printed."""
    capsys.readouterr()
    with pytest.raises(SystemExit) as end:
        main(arguments)
    out, err = capsys.readouterr()
    lines = f"{out}{err}".split("\n")
    assert [line for line in lines if not line.isprintable() or line.lstrip().startswith(FORGED)] == []
    assert "internal error" not in err
    return int(end.value.code or 0), lines[:-1]


@pytest.fixture
def hostile(tmp_path: Path) -> str:
    path = tmp_path / "esc.yaml"
    path.write_text(native.write(MACHINE), encoding="utf-8")
    assert native.read(path.read_bytes(), file="esc.yaml").machine == MACHINE
    return str(path)


@pytest.mark.parametrize(
    ("command", "code"),
    [
        (["check"], 1),  # its second example is wrong
        (["check", "--input", "1\n"], 0),
        (["check", "--input", "2"], 2),
        (["trace", "--input", "1\n"], 0),
        (["table", "--input", "1\n"], 0),
        (["list"], 0),
        (["certify"], 0),
        (["soften", "--input", "1\n"], 0),
        (["compile"], 0),
        (["compile", "--explain", "all"], 0),
        (["compile", "--left-boundary", "chapter"], 2),
        (["convert", "--to", "jflap"], 2),
    ],
)
def test_no_command_prints_a_name_as_it_is(
    command: list[str], code: int, hostile: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert printed(capsys, command[0], hostile, *command[1:])[0] == code


def test_what_is_shown_instead(hostile: str, capsys: pytest.CaptureFixture[str]) -> None:
    name = rf"x\r\nrun: '1', 9 positions\n{FORGED}\x1b[8m\u2028\u202e"
    assert visible(HOSTILE) == name
    assert printed(capsys, "check", hostile, "--input", "1\n")[1][-1].startswith(f"{name}: 1 run, ")
    assert printed(capsys, "list", hostile)[1][0].startswith(f"Machine {name}: ")
    assert visible("Ünï·⟨δ⟩ 数") == "Ünï·⟨δ⟩ 数"


@pytest.mark.slow
@needs_onnx
def test_no_name_is_a_verdict(hostile: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "x"
    export_to("onnx", hostile, folder, positions=9, verify=False)
    code, lines = printed(capsys, "verify-export", str(folder), "--input", "1")
    assert (code, lines[-1]) == (0, f"yes: this export is {visible(HOSTILE)}")
    rewritten(folder, "tm2tfr.json", lambda names: names["stop"].append("x"))
    code, lines = printed(capsys, "verify-export", str(folder), "--input", "1")
    assert (code, lines[-1]) == (1, f"NO: this export is not {visible(HOSTILE)}")
    code, lines = printed(
        capsys, "export", hostile, "--to", "onnx", "-o", str(tmp_path / "y"), "--positions", "1" + "0" * 12
    )
    assert (code, lines[0].startswith(visible(HOSTILE))) == (2, True)


def test_errors_of_a_machine_have_its_name_on_one_line() -> None:
    with pytest.raises(MachineError) as wrong:
        Machine(transitions={}, start="", blank="_", name=HOSTILE)
    assert str(wrong.value).startswith(f"{visible(HOSTILE)}: there is no start state: ")
    with pytest.raises(InputError, match=re.escape(f"input of {visible(HOSTILE)}: position 0: '2' is not in ")):
        MACHINE.check_input("2")


def test_a_program_for_another_simulator_has_no_control_characters() -> None:
    plain = Machine(transitions={("0", "1"): ("0", "1", 1)}, start="0", blank="_", name=HOSTILE, description="a\x1b[8mb")
    text = morphett.write(plain).text
    assert all(line.isprintable() for line in text.split("\n"))
    assert registry.read(text, file="p.tm", format="morphett").machine.transitions == plain.transitions
