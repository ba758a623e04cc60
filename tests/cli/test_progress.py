"""The line on a terminal: tokens, tokens per second and steps; nothing if standard error is not a terminal."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RUN = """
import time
from tm2tfr.cli.progress import showing
with showing(50_000) as shown:
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
from tm2tfr.base.native.function import compiling
progress.PATIENCE = {patience}
with progress.telling_of_compiling({arguments}):
    {around}
        with compiling():
            time.sleep(0.3)
"""


def on_a_terminal(script: str) -> str:
    """Return what a script writes to a standard error that is a terminal."""
    main, terminal = pty.openpty()
    env = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "120", "TERM": "xterm", "PYTHONIOENCODING": "utf-8"}
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
    shown = re.findall(r"([\d,]+ of .*? shards), ([\d,]+) rows, ([\d,]+) per second", written)
    assert shown[0] == ("0 of … shards", "0", "0")
    shards, rows, rate = shown[-1]
    assert (shards, rows) == ("3 of 1,200 shards", "15,000")
    assert re.search(r"3 of 1,200 shards, [^\n\r]*per second, about 0:\d\d:\d\d left, after .*?0:00:0", written)
    assert not re.search(r"1 of 1,200 shards, [^\n\r]*left", written)
    assert int(rate.replace(",", "")) > 0


@pytest.mark.slow
def test_tokens_tokens_a_second_and_steps_are_shown_after_a_second() -> None:
    written = on_a_terminal(RUN)
    shown = re.findall(r"([\d,]+) tokens, ([\d,]+) per second, ([\d,]+) steps of at most 50,000", written)
    assert shown
    tokens, rate, steps = (int(cell.replace(",", "")) for cell in shown[-1])
    assert tokens == steps + 10
    assert rate > 0


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
    assert ("compiling the fast engine, once: this may take a minute or two" in written) is bool(times)


@pytest.mark.slow
def test_nobody_is_told_of_compiling_without_a_terminal() -> None:
    script = COMPILE.format(patience=0.0, arguments=[], around="if True:")
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, env=env, check=True)
    assert (done.stdout, done.stderr) == (b"", b"")
