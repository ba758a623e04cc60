"""Completion in the shell."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.lines import said
from tests.cli.test_commands import ROOT, tm2tfr_here
from tm2tfr.cli import completion
from tm2tfr.shelf import ATTENTION_PROGRAMS, FORMULAS, PROGRAMS, SPECS, shelf
from tm2tfr.sources.circuit.library.registry import GENERATORS
from tm2tfr.sources.turing.library import shipped


def completed(line: str, cwd: Path) -> list[str]:
    """What bash is offered for the last word of a line: ``plain,NAME``, or ``file,``, which leaves it to the shell."""
    words = line.split(" ")
    env = {"COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1), completion.VARIABLE: "bash_complete"}
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
    programs = [name for kind in (PROGRAMS, ATTENTION_PROGRAMS, FORMULAS) for name in shelf(kind)]
    known = list(dict.fromkeys([*shipped(), *GENERATORS, *programs]))
    names = [name for name in known if name.startswith("pa")]
    assert completed("tm2tfr trace pa", tmp_path) == [f"plain,{name}" for name in (*names, "palace.yaml", "parts/")]
    everything = completed("tm2tfr check ", tmp_path)
    assert everything == [f"plain,{name}" for name in (*known, "palace.yaml", "parts/")]
    assert completed("tm2tfr graph full", tmp_path) == ["plain,full-adder"]
    assert completed("tm2tfr list ci", tmp_path) == ["plain,circuits"]
    assert completed("tm2tfr check flip", tmp_path) == ["plain,flip-flop", "plain,flip-flops"]
    assert completed("tm2tfr trace ./pa", tmp_path) == ["file,./pa"]
    assert completed("tm2tfr trace chapter --universal univ", tmp_path) == ["file,univ"]
    assert completed("tm2tfr trace --universal 8,4 copy", tmp_path) == ["plain,copy"]
    assert completed("tm2tfr trace program:par", tmp_path) == ["plain,program:parity"]
    assert completed("tm2tfr list circuit:ma", tmp_path) == ["plain,circuit:majority"]
    assert completed("tm2tfr trace prog:par", tmp_path) == ["file,prog:par"]
    assert completed("tm2tfr prom", tmp_path) == ["plain,prompt"]
    assert completed("tm2tfr sweep two", tmp_path) == [f"plain,{name}" for name in shelf(SPECS) if name.startswith("two")]
    assert completed("tm2tfr trace --engine f", tmp_path) == ["plain,fast"]
    assert completed("tm2tfr trace -o ro", tmp_path) == ["file,ro"]
    assert "plain,--temperature" in completed("tm2tfr table --t", tmp_path)


@pytest.mark.parametrize("shell", completion.SHELLS)
def test_completion_is_installed_once(
    shell: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("SHELL", f"/bin/{shell}")
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    for arguments in (["--install-completion"], ["--install-completion", shell]):
        assert tm2tfr_here(capsys, *arguments) == (0, [])
    (script,) = [p for p in tmp_path.rglob("*") if p.is_file() and completion.VARIABLE in p.read_text(encoding="utf-8")]
    assert script.read_text(encoding="utf-8").rstrip("\n") == "\n".join(tm2tfr_here(capsys, "--show-completion")[1]).rstrip(
        "\n"
    )
    if shell != "fish":
        assert (tmp_path / f".{shell}rc").read_text(encoding="utf-8") == f"source {script}\n"


def test_a_start_file_keeps_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    (tmp_path / ".bashrc").write_bytes(b"alias l='ls'  # caf\xe9")
    assert tm2tfr_here(capsys, "--install-completion", "bash")[0] == 0
    first, second = (tmp_path / ".bashrc").read_bytes().splitlines()
    assert first == b"alias l='ls'  # caf\xe9"
    assert second == f"source {tmp_path}/config/tm2tfr/completion.bash".encode()


def test_another_shell(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("SHELL", "/bin/tcsh")
    assert said(capsys, "--show-completion") == "there is no completion for the shell 'tcsh': use one of bash, zsh, fish"
    assert "(did you mean 'fish'?)" in said(capsys, "--install-completion", "fsh")
