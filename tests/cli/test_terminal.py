"""What a terminal is offered and shown: completion and progress."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.lines import said
from tests.cli.test_commands import ROOT, tm2tfr_here
from tm2tfr.base.resources import ATTENTION_PROGRAMS, AUTOMATA, FORMULAS, PROGRAMS, SPECS, files_of
from tm2tfr.cli import main, progress
from tm2tfr.cli.commands import COMPLETION
from tm2tfr.sources.circuit.library import GENERATORS
from tm2tfr.sources.turing.library import shipped


def completed(line: str, cwd: Path) -> list[str]:
    """What bash is offered for the last word of a line; nothing: it completes files itself."""
    words = line.split(" ")
    env = {"COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1), COMPLETION: "complete_bash"}
    command = [sys.executable, "-m", "tm2tfr"]
    done = subprocess.run(
        command,
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(ROOT), **env},
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    return done.stdout.split()


@pytest.mark.slow
def test_the_shell_is_offered_machines_specs_and_files(tmp_path: Path) -> None:
    (tmp_path / "palace.yaml").touch()
    (tmp_path / "parts").mkdir()
    (tmp_path / ".hidden").touch()
    programs = [name for kind in (PROGRAMS, ATTENTION_PROGRAMS, FORMULAS, AUTOMATA) for name in files_of(kind)]
    known = list(dict.fromkeys([*shipped(), *GENERATORS, *programs]))
    names = [name for name in known if name.startswith("pa")]
    assert completed("tm2tfr trace pa", tmp_path) == [*names, "palace.yaml", "parts/"]
    everything = completed("tm2tfr check ", tmp_path)
    assert everything == [*known, "palace.yaml", "parts/"]
    assert completed("tm2tfr graph full", tmp_path) == ["full-adder"]
    assert completed("tm2tfr list ci", tmp_path) == ["circuits"]
    assert completed("tm2tfr check flip", tmp_path) == ["flip-flop", "flip-flops"]
    assert completed("tm2tfr trace ./pa", tmp_path) == []
    assert completed("tm2tfr trace chapter --universal univ", tmp_path) == []
    assert completed("tm2tfr trace --universal 8,4 copy", tmp_path) == ["copy"]
    assert completed("tm2tfr trace program:par", tmp_path) == ["program:parity"]
    assert completed("tm2tfr list circuit:ma", tmp_path) == ["circuit:majority"]
    assert completed("tm2tfr trace prog:par", tmp_path) == []
    assert completed("tm2tfr prom", tmp_path) == ["prompt"]
    assert completed("tm2tfr sweep two", tmp_path) == [name for name in files_of(SPECS) if name.startswith("two")]
    assert completed("tm2tfr trace --engine f", tmp_path) == ["fast"]
    assert completed("tm2tfr trace -o ro", tmp_path) == []
    assert "--temperature" in completed("tm2tfr table --t", tmp_path)
    assert completed("tm2tfr trace full-adder --s", tmp_path) == ["--step", "--sample", "--set", "--seed"]
    assert completed("tm2tfr trace --formula Q[a] --s", tmp_path) == ["--step", "--sample", "--set", "--steep", "--seed"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_installed_once(
    shell: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr("shellingham.detect_shell", lambda: (shell, f"/bin/{shell}"))
    for _ in range(2):
        code, lines = tm2tfr_here(capsys, "--install-completion")
        assert (code, f"{shell} completion installed in" in lines[0]) == (0, True)
    (script,) = [p for p in tmp_path.rglob("*") if p.is_file() and COMPLETION in p.read_text(encoding="utf-8")]
    shown = "\n".join(tm2tfr_here(capsys, "--show-completion")[1])
    assert script.read_text(encoding="utf-8").rstrip("\n") == shown.rstrip("\n")
    if shell == "bash":
        assert (tmp_path / ".bashrc").read_text(encoding="utf-8").count(str(script)) == 1


@pytest.mark.parametrize("shell", ["powershell", "pwsh"])
def test_powershell_has_a_script(shell: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("shellingham.detect_shell", lambda: (shell, f"/bin/{shell}"))
    code, lines = tm2tfr_here(capsys, "--show-completion")
    assert (code, lines[0], "Register-ArgumentCompleter" in lines[-1]) == (0, "Import-Module PSReadLine", True)


def test_a_start_file_that_cannot_be_changed_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr("shellingham.detect_shell", lambda: ("bash", "/bin/bash"))
    (tmp_path / ".bashrc").write_bytes(b"alias l='ls'  # caf\xe9")
    answer = said(capsys, "--install-completion")
    assert answer.startswith("the shell's start file: completion cannot be installed (")
    assert "codec can't decode byte 0xe9" in answer  # the locale's
    assert answer.endswith(": use --show-completion, and save what it prints yourself")
    assert (tmp_path / ".bashrc").read_bytes() == b"alias l='ls'  # caf\xe9"
    (tmp_path / ".bashrc").unlink()
    (tmp_path / ".bash_completions").touch()
    assert said(capsys, "--install-completion").startswith(
        f"{tmp_path}/.bash_completions: completion cannot be installed ("
    )


def test_another_shell(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("shellingham.detect_shell", lambda: ("tcsh", "/bin/tcsh"))
    known = "bash, zsh, fish, powershell, pwsh"
    for option in ("--install-completion", "--show-completion"):
        assert tm2tfr_here(capsys, option)[0] == 2
        assert said(capsys, option, "fsh") == (
            f"tm2tfr: there is no completion for the shell 'fsh' (did you mean 'fish'?): use one of {known}"
        )
    with pytest.raises(SystemExit):
        main(["--show-completion"])
    assert (
        capsys.readouterr().err
        == f"Shell tcsh not supported.\ntm2tfr: name a shell behind --show-completion, one of {known}\n"
    )


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "pwsh"])
def test_a_shell_that_is_named(
    shell: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr("shellingham.detect_shell", lambda: ("tcsh", "/bin/tcsh"))
    code, lines = tm2tfr_here(capsys, "--show-completion", shell)
    assert (code, any(COMPLETION in line for line in lines)) == (0, True)
    if shell != "pwsh":  # which has to be there
        assert tm2tfr_here(capsys, "--install-completion", shell)[0] == 0
        assert any(COMPLETION in path.read_text(encoding="utf-8") for path in tmp_path.rglob("*") if path.is_file())


RUN = """
import time
from tm2tfr.cli.progress import showing
with showing(50_000, steady=True) as shown:
    for n in range(13):
        shown.progress(1000 + 100 * n, 990 + 100 * n)
        time.sleep(0.2)
"""


COUNT = """
import time
from tm2tfr.cli.progress import counting
with counting() as show:
    time.sleep(0.3)
    show(1, 1200, 5000)
    time.sleep(0.3)
    show(3, 1200, 15000)
    time.sleep(0.3)
"""


COMPILE = """
import time
from tm2tfr.cli import progress
from tm2tfr.base.waiting import waiting
progress.PATIENCE = {patience}
with progress.telling_of_compiling({arguments}):
    {around}
        with waiting("compiling a thing"):
            time.sleep(0.3)
"""


def on_a_terminal(script: str, columns: int = 120) -> str:
    """Return what a script writes to a standard error that is a terminal."""
    main, terminal = pty.openpty()
    env = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": str(columns), "TERM": "xterm", "PYTHONIOENCODING": "utf-8"}
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.DEVNULL, stderr=terminal, env=env)
    os.close(terminal)
    seen = b""
    try:
        while data := os.read(main, 65536):
            seen += data
    except OSError:  # how Linux says that the other side was closed
        pass
    finally:
        os.close(main)
    assert process.wait() == 0
    return seen.decode()


@pytest.mark.slow
def test_shards_rows_and_rows_a_second_are_shown() -> None:
    written = on_a_terminal(COUNT)
    assert "0 of … shards, after 0:00:00" in written
    shown = re.findall(r"left: (3 of 1,200 shards), after 0:00:0\d, ([\d,]+) rows, ([\d,]+) rows/s", written)
    shards, rows, rate = shown[-1]
    assert (shards, rows) == ("3 of 1,200 shards", "15,000")
    assert re.search(r"about 0:\d\d:\d\d left: 3 of 1,200 shards", written)
    assert "left: 1 of 1,200 shards" not in written
    assert int(rate.replace(",", "")) > 0


@pytest.mark.slow
def test_steps_steps_a_second_and_the_time_left_are_shown_after_a_second() -> None:
    written = on_a_terminal(RUN)
    shown = re.findall(r"at most 0:\d\d:\d\d left: ([\d,]+) of 50,000 steps, ([\d,]+)/s, after 0:00:0", written)
    assert shown
    steps, rate = (int(cell.replace(",", "")) for cell in shown[-1])
    assert 990 < steps <= 2190
    assert rate > 0


@pytest.mark.slow
def test_no_time_is_estimated_where_steps_take_longer_and_longer() -> None:
    written = on_a_terminal(RUN.replace(", steady=True", ""))
    assert re.search(r"[\d,]+ of 50,000 steps, [\d,]+/s, after 0:00:0", written)
    assert "left" not in written


def test_a_pace_is_that_of_the_last_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(progress.time, "monotonic", lambda: now)
    pace = progress.Pace()
    assert pace.rate(0) == 0
    now = 1.0
    assert pace.rate(1000) == 1000
    now = 61.0  # code was compiled in between
    pace.rate(2000)
    now = 62.0
    assert pace.rate(12_000) == 10_000
    now = 63.0
    pace.stopped()
    assert pace.rate(13_000) == 0
    now = 64.0
    assert pace.rate(43_000) == 30_000
    assert pace.rate(500) == 0  # begun again
    now = 66.0
    assert pace.rate(700) == 100


@pytest.mark.parametrize(
    ("seconds", "shown"), [(0.4, "0:00:00"), (172.0, "0:02:52"), (359_000, "99:43:20"), (864_001, "11 days")]
)
def test_a_time_is_short(seconds: float, shown: str) -> None:
    assert progress.clock(seconds) == shown


MILLION, BILLION = 10**6, 10**9
LARGE = {
    "run": (
        f"with progress.showing({BILLION}, steady=True) as to:",
        [f"to.progress({BILLION - n}, {BILLION - n})" for n in (9 * MILLION, 5 * MILLION, MILLION)],
        r"at most 0:00:00 left: 999,000,000 of 1,000,000,000 steps, [\d,]{9,11}/s",
    ),
    "run that has not begun": (
        f"with progress.showing({BILLION}, steady=True) as to:",
        ["time.sleep(1)"],
        "starting the fast engine, whose first use compiles it, after 0:00:01",
    ),
    "run without a limit": (
        "with progress.showing(None) as to:",
        [f"to.progress({BILLION + n}, {BILLION + n})" for n in (0, MILLION, 2 * MILLION)],
        r"1,002,000,000 steps, [\d,]+/s, after 0:00:01",
    ),
    "shards": (
        "with progress.counting() as to:",
        [f"to({n}, {MILLION}, {BILLION})" for n in (999_998, 999_999)],
        "about 0:00:0[01] left: 999,999 of 1,000,000 shards, after 0:00:0",
    ),
    "inputs": (
        "with progress.counting_inputs() as to:",
        [f"to({BILLION - 1}, {BILLION})"],
        r"999,999,999 of 1,000,000,000 inputs, [\d,]+/s, after 0:00:00",
    ),
    "training": (
        "with progress.training() as to:",
        [f"to.progress({BILLION - 1}, {BILLION}, 0.25, 0.5)"],
        r"999,999,999 of 1,000,000,000 steps, loss 0.2500, exact match 0.5000",
    ),
    "models": (
        "with progress.making('models') as to:",
        [f"to({BILLION - 1}, {BILLION})"],
        "999,999,999 of 1,000,000,000 models, after 0:00:00",
    ),
    "compiling": (
        f"with progress.telling_of_compiling([]), waiting('compiling {'long ' * 20}'):",
        ["time.sleep(0.1)", *(f"advanced({BILLION - 4 * n}, {BILLION}, 'positions analysed')" for n in (3, 2, 1))],
        r"compiling long .{24}…: about 0:00:0[01] left",
    ),
    "compiling an engine": (
        "with progress.telling_of_compiling([]), waiting(COMPILING):",
        ["time.sleep(0.1)"],
        r"compiling the fast engine, once: this may take a minute or two, after 0:00:00",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", LARGE)
def test_what_matters_fits_into_80_columns(kind: str) -> None:
    around, steps, wanted = LARGE[kind]
    begin = "import time\nfrom tm2tfr.base.waiting import COMPILING, advanced, waiting\nfrom tm2tfr.cli import progress"
    quickly = "progress.PATIENCE, progress.SETTLED = 0.05, 0.2"
    body = "\n    ".join(f"{step}\n    time.sleep(0.4)" for step in steps)
    written = on_a_terminal(f"{begin}\n{quickly}\n{around}\n    {body}", columns=80)
    lines = re.split(r"[\r\n]+", re.sub(r"\x1b\[[\d;?]*[A-Za-z]", "", written))
    assert max(map(len, lines)) <= 79
    assert any(re.search(wanted, line) for line in lines), lines


@pytest.mark.slow
def test_nothing_is_shown_where_there_is_no_terminal() -> None:
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", RUN], capture_output=True, env=env, check=True)
    assert (done.stdout, done.stderr) == (b"", b"")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("patience", "arguments", "around", "times"),
    [
        (0.1, ["sweep", "two-states"], "if True:", 1),
        (0.1, ["sweep", "two-states"], "with progress.counting():", 1),
        (0.1, ["trace", "--quiet"], "if True:", 0),
        (0.1, ["check", "--format", "json"], "if True:", 0),
        (9.9, ["sweep", "two-states"], "if True:", 0),
    ],
)
def test_compiling_is_said_where_it_lasts(patience: float, arguments: list[str], around: str, times: int) -> None:
    written = on_a_terminal(COMPILE.format(patience=patience, arguments=arguments, around=around))
    assert ("compiling a thing" in written) is bool(times)


@pytest.mark.slow
def test_a_long_compilation_of_weights_is_said() -> None:
    quickly = "from tm2tfr.cli import main, progress\nprogress.PATIENCE = 0.01"
    script = f"{quickly}\ntry: main(['compile', 'sort'])\nexcept SystemExit: pass"
    assert "compiling sort" in on_a_terminal(script)


@pytest.mark.slow
def test_nobody_is_told_of_compiling_without_a_terminal() -> None:
    script = COMPILE.format(patience=0.0, arguments=[], around="if True:")
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, env=env, check=True)
    assert (done.stdout, done.stderr) == (b"", b"")


@pytest.mark.slow
def test_how_far_a_compilation_is_is_shown() -> None:
    work = "progress.PATIENCE, progress.SETTLED = 0.05, 0.4\nfrom tm2tfr.base.waiting import advanced, waiting"
    done = [(0, 0, "preparing"), (3, 1200, "steps"), (4, 1200, "steps"), (8, 1200, "steps"), (0, 13, "parts made")]
    steps = "\n    ".join(f"advanced{each}\n    time.sleep(0.3)" for each in done)
    told = f"with progress.telling_of_compiling([]), waiting('compiling [a]{{0}}'):\n    {steps}"
    written = on_a_terminal(f"import time\nfrom tm2tfr.cli import progress\n{work}\n{told}")
    assert "compiling [a]{0}: preparing, after 0:00:00" in written
    assert "compiling [a]{0}: 4 of 1,200 steps, after" in written  # too early for an estimate
    assert re.search(r"compiling \[a\]\{0\}: about 0:0\d:\d\d left, 8 of 1,200 steps", written)
    assert "compiling [a]{0}: 0 of 13 parts made, after" in written
