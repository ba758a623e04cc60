"""Names that hold line breaks and ESC: no line is forged with them, and no terminal is commanded."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.targets.matrices.programs import needs_onnx, rewritten
from tm2tfr.api.targets import export_to
from tm2tfr.base.errors import InputError, visible
from tm2tfr.cli import main
from tm2tfr.sources.turing.formats import morphett, native, registry
from tm2tfr.sources.turing.spec import Example, Machine, MachineError

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
