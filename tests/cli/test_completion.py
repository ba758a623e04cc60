"""Completion in the shell."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.lines import said
from tests.cli.test_commands import ROOT, tm2tfr_here
from tm2tfr.base.resources import ATTENTION_PROGRAMS, FORMULAS, PROGRAMS, SPECS, files_of
from tm2tfr.cli import main
from tm2tfr.cli.commands import COMPLETION
from tm2tfr.sources.circuit.library.registry import GENERATORS
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
    programs = [name for kind in (PROGRAMS, ATTENTION_PROGRAMS, FORMULAS) for name in files_of(kind)]
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
    assert completed("tm2tfr trace full-adder --s", tmp_path) == ["--step", "--seed"]
    assert completed("tm2tfr trace --formula Q[a] --s", tmp_path) == ["--step", "--steep"]


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
