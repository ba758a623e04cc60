"""Colours: on a terminal, for people, and where they are welcome."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.test_commands import ROOT, tm2tfr


def on_a_terminal(*arguments: str, cwd: Path, **env: str) -> str:
    """What a command prints on a terminal."""
    ours, theirs = pty.openpty()
    known = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "TERM")}
    environment = {**known, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8", "TERM": "xterm", "COLUMNS": "200", **env}
    process = subprocess.Popen(
        [sys.executable, "-m", "tm2tfr", *arguments], cwd=cwd, env=environment, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    read = b""
    while True:
        try:
            piece = os.read(ours, 65536)
        except OSError:  # the other end is closed
            piece = b""
        if not piece:
            break
        read += piece
    os.close(ours)
    process.wait()
    return read.decode().replace("\r\n", "\n")


WRONG = ("left-edge", "--input", "11", "--left-boundary", "chapter")


@pytest.mark.slow
def test_what_agrees_is_green_and_what_differs_is_red(tmp_path: Path) -> None:
    good = on_a_terminal("check", "chapter", "--input", "11", cwd=tmp_path)
    assert good.startswith("\x1b[32mok\x1b[0m    '11'")
    assert "compared, \x1b[32mall agree\x1b[0m" in good
    bad = on_a_terminal("trace", *WRONG, cwd=tmp_path)
    for red in ("▸", "!0≠1", "FAILED", "cause:"):
        assert f"\x1b[31m{red}\x1b[0m" in bad
    beyond = ["--input", "", "--dtype", "float32", "--max-steps", "2000"]
    assert "\x1b[33mwarning:\x1b[0m this run" in on_a_terminal("check", "busy-beaver-5", *beyond, cwd=tmp_path)
    assert "\x1b[2m╭─\x1b[0m\x1b[2m Inspect \x1b[0m" in on_a_terminal("--help", cwd=tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("env", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_no_colour_where_it_is_not_wanted(env: dict[str, str], tmp_path: Path) -> None:
    assert "\x1b" not in on_a_terminal("check", *WRONG, cwd=tmp_path, **env)


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [["check", *WRONG, "--format", "json"], ["table", *WRONG, "--format", "csv"]])
def test_no_colour_in_data(arguments: list[str], tmp_path: Path) -> None:
    assert "\x1b" not in on_a_terminal(*arguments, cwd=tmp_path)


@pytest.mark.slow
def test_no_colour_in_a_pipe_or_a_file(tmp_path: Path) -> None:
    assert "\x1b" not in tm2tfr("check", *WRONG, cwd=tmp_path).stdout
    on_a_terminal("table", *WRONG, "-o", "t.txt", "--format", "text", cwd=tmp_path)
    assert "\x1b" not in (tmp_path / "t.txt").read_text(encoding="utf-8")
