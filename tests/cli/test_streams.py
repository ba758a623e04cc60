"""Standard output: data in UTF-8 whatever the console says, notes on what it cannot show, full disks."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tm2tfr.base.errors import OutputError
from tm2tfr.cli import main, output

ROOT = Path(__file__).parents[2]
GREEK = """\
name: ελληνικά
blank: '␣'
start state: α
input: 'ωψ'
table:
  α:
    ω: {write: ψ, R}
    ψ: {write: ω, R}
    '␣': {L: β}
  β:
"""
DATA = {
    "yaml": ["convert", "greek.yaml", "--to", "yaml"],
    "morphett": ["convert", "greek.yaml", "--to", "morphett"],
    "mermaid": ["convert", "greek.yaml", "--to", "mermaid"],
    "tikz": ["convert", "greek.yaml", "--to", "tikz"],
    "dot": ["graph", "greek.yaml"],
    "csv": ["table", "greek.yaml", "--format", "csv"],
    "json": ["table", "greek.yaml", "--format", "json"],
    "markdown": ["table", "greek.yaml", "--format", "markdown"],
    "latex": ["table", "greek.yaml", "--format", "latex"],
    "html": ["table", "greek.yaml", "--format", "html"],
    "check": ["check", "greek.yaml", "--format", "json"],
    "soften": ["soften", "greek.yaml", "--max-steps", "2", "--format", "json"],
    "list": ["list", "machines", "--format", "json"],
}
NOTE = "shown as '?': set PYTHONIOENCODING=utf-8, or write to a file with -o\n"


class Console(io.TextIOWrapper):
    """A standard stream of an encoding."""

    def __init__(self, encoding: str, *, terminal: bool = False) -> None:
        super().__init__(io.BytesIO(), encoding=encoding)
        self._terminal = terminal

    def isatty(self) -> bool:
        return self._terminal

    def bytes(self) -> bytes:
        self.flush()
        found: bytes = self.buffer.getvalue()  # type: ignore[attr-defined]
        return found


def run(arguments: list[str], monkeypatch: pytest.MonkeyPatch, out: Console) -> tuple[int, bytes, str]:
    """Run a command with `out` as standard output: the exit code, what was printed, and what was said."""
    said = Console(out.encoding)
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", out)
        patch.setattr(sys, "stderr", said)
        with pytest.raises(SystemExit) as stopped:
            main(arguments)
    return (
        int(stopped.value.code or 0),
        out.bytes(),
        said.bytes().decode("utf-8" if out.encoding == "ascii" else out.encoding),
    )


@pytest.fixture
def greek(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "greek.yaml").write_text(GREEK, encoding="utf-8")
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["cp1252", "ascii", "latin-1", "utf-16"])
@pytest.mark.parametrize("arguments", DATA.values(), ids=DATA)
def test_data_goes_out_as_utf_8(arguments: list[str], encoding: str, greek: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = run(arguments, monkeypatch, Console("utf-8"))
    assert wanted[0] == 0
    code, data, said = run(arguments, monkeypatch, Console(encoding))
    assert (code, data) == wanted[:2], said
    assert "shown as" not in said
    assert arguments[0] == "list" or "ω" in data.decode() or r"\omega" in data.decode()


@pytest.mark.parametrize("encoding", ["cp1252", "latin-1"])
def test_text_that_cannot_be_shown_is_noted_once(encoding: str, greek: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code, data, said = run(["trace", "greek.yaml"], monkeypatch, Console(encoding))
    assert code == 0
    assert b"?" in data
    assert said.count("note: ") == 1
    assert said.startswith(f"note: {encoding} has no U+2500 and ")
    assert said.endswith(NOTE)


def test_text_that_can_be_shown_is_not_noted(greek: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code, data, said = run(["trace", "greek.yaml"], monkeypatch, Console("utf-8"))
    assert (code, said) == (0, "")
    assert "⊥" in data.decode()
    code, data, said = run(["check", "chapter", "--input", "11"], monkeypatch, Console("cp1252"))
    assert (code, said) == (0, "")


def test_data_on_a_terminal_has_its_encoding_and_a_note(greek: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code, data, said = run(DATA["yaml"], monkeypatch, Console("cp1252", terminal=True))
    assert code == 0
    assert b"'??'" in data
    assert said.endswith(NOTE)


def test_an_error_names_what_a_console_does_not_have(greek: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code, _, said = run(["check", "greek.yaml", "--input", "λ"], monkeypatch, Console("cp1252"))
    assert code == 2
    assert r"'\u03bb' is not in the input alphabet" in said


def test_half_a_character_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", Console("cp1252"))
    with pytest.raises(OutputError, match=r"^standard output: .+ \(U\+D83D\) is half a character and cannot be written"):
        output.write_data("\ud83d")


# ── as a program ────────────────────────────────────────────────────────────────────────────────────────────
def program(line: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """Run a line of bash in which ``tm2tfr`` is this program."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("LC_", "LANG", "PYTHON"))}
    env |= {"PYTHONPATH": str(ROOT), **environment}
    prelude = f"set -o pipefail; tm2tfr() {{ '{sys.executable}' -m tm2tfr \"$@\"; }}; "
    return subprocess.run(
        ["bash", "-c", (prelude + line).encode()], cwd=cwd, env=env, capture_output=True, check=False, timeout=300
    )


C_LOCALE = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


@pytest.mark.slow
@pytest.mark.parametrize("environment", [{"PYTHONIOENCODING": "cp1252"}, {"PYTHONIOENCODING": "ascii"}, C_LOCALE])
def test_what_is_converted_can_be_read_again(environment: dict[str, str], greek: Path) -> None:
    line = "tm2tfr convert greek.yaml --to yaml | tm2tfr check - --format json --input ωψψ --input ''"
    done = program(line, greek, **environment)
    assert (done.returncode, done.stderr) == (0, b"")
    rows = [json.loads(line) for line in done.stdout.decode("utf-8").splitlines()]
    assert [(row["input"], row["agrees"], row["final_tape"]) for row in rows] == [("ωψψ", True, "ψωω"), ("", True, "")]


@pytest.mark.slow
def test_input_words_of_another_locale_are_shown_as_they_are(greek: Path) -> None:
    done = program("tm2tfr check greek.yaml --input=ωλ", greek, **C_LOCALE)
    assert done.returncode == 2
    assert "position 1: 'λ' is not in the input alphabet" in done.stderr.decode()


@pytest.mark.slow
@pytest.mark.parametrize(
    "line",
    [
        "tm2tfr list machines | head -1",
        "tm2tfr list machines --format json | head -1",
        "tm2tfr --help | head -1",
        "tm2tfr table busy-beaver-2x4 --max-steps 3000 --format csv | head -1",
        "tm2tfr trace busy-beaver-3 --all | head -1",
        "tm2tfr compile universal --explain | head -1",
    ],
)
def test_a_reader_that_goes_away_has_seen_enough(line: str, tmp_path: Path) -> None:
    done = program(line, tmp_path)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.count(b"\n") == 1


FULL = b"standard output: the disk is full: free some space, or choose another place\n"


@pytest.mark.similar
@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here: run the tests on Linux")
@pytest.mark.parametrize(
    "command",
    [
        "trace",
        "table --format csv",
        "convert chapter --to yaml",
        "check --format json",
        "certify",
        "list machines",
        "list machines --format json",
        "graph",
        "compile --explain",
        "--help",
        "--version",
    ],
)
def test_a_full_disk_is_no_bug(command: str, tmp_path: Path) -> None:
    done = program(f"tm2tfr {command} > /dev/full", tmp_path)
    assert (done.returncode, done.stderr) == (2, FULL)


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here: run the tests on Linux")
def test_nothing_more_can_be_said_than_nothing(tmp_path: Path) -> None:
    assert program("tm2tfr trace > /dev/full 2> /dev/full", tmp_path).returncode == 2
    assert program("tm2tfr trace nothing-like-this 2> /dev/full", tmp_path).returncode == 2
    closed = program("tm2tfr trace >&-", tmp_path)
    assert (closed.returncode, closed.stderr) == (0, b"")
    unheard = program("tm2tfr trace --input 11 2>&-", tmp_path)
    assert (unheard.returncode, unheard.stdout.splitlines()[-1][-9:]) == (0, b"all agree")
    assert program("tm2tfr trace nothing-like-this 2>&-", tmp_path).returncode == 2
    assert program("tm2tfr trace >&- 2>&-", tmp_path).returncode == 0
    file = program("tm2tfr table -o /dev/full --format csv", tmp_path)
    assert file.returncode == 2
    assert file.stderr == b"/dev/full: the disk is full: free some space, or choose another place\n"


# ── spreadsheets ────────────────────────────────────────────────────────────────────────────────────────────
FORMULA = """\
name: sums
blank: _
start state: =cmd|'/C calc'!A0
input: '='
table:
  =cmd|'/C calc'!A0:
    '=': {R: -end}
  -end:
"""
WARNING = (
    "warning: a spreadsheet takes a state's name for a formula (\"=cmd|'/C calc'!A0\", '-end'): "
    "import the columns of the CSV file as text, or write JSON\n"
)


@pytest.mark.parametrize(
    ("arguments", "warned"),
    [
        (["table", "f.yaml", "--format", "csv"], True),
        (["table", "f.yaml", "-o", "rows.csv"], True),
        (["trace", "f.yaml", "-o", "rows.CSV"], True),
        (["check", "f.yaml", "-i", "=", "-o", "rows.csv"], True),
        (["table", "f.yaml", "--format", "json"], False),
        (["trace", "f.yaml", "-o", "rows.jsonl"], False),
        (["table", "parity", "--input", "11", "--format", "csv"], False),
    ],
)
def test_a_name_that_is_a_formula_is_warned_of_and_written_as_it_is(
    arguments: list[str], warned: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("f.yaml").write_text(FORMULA, encoding="utf-8")
    output.warn_once.cache_clear()
    code, data, said = run(arguments, monkeypatch, Console("utf-8"))
    assert (code, WARNING in said) == (0, warned), said
    assert "warning" not in said.replace(WARNING, "")
    for path in tmp_path.glob("rows.*"):
        data = path.read_bytes()
    assert b"=cmd|'/C calc'!A0" in data or not warned
    assert b"'=cmd" not in data.replace(b"(=cmd", b"")
