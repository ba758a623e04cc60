"""Ctrl-C while modules load: one line and exit code 130, never a traceback."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from tm2tfr.base import interrupts

ROOT = Path(__file__).parents[2]
ASKED = ("check", "chapter", "--input", "11")
FINDER = """
import atexit, os, signal, sys
class Press:
    names = []
    def find_spec(self, name, path=None, target=None):
        self.names.append(name)
        if name == os.environ.get("PRESS"):
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Press())
if "PRESS" not in os.environ:
    atexit.register(lambda: print(*Press.names[Press.names.index("tm2tfr"):]))
"""


def run(folder: Path, press: str | None) -> subprocess.CompletedProcess[str]:
    """Run the command, and press Ctrl-C when the module `press` is looked for; without one, print the names of all."""
    (folder / "sitecustomize.py").write_text(FINDER, encoding="utf-8")
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)])} | ({"PRESS": press} if press else {})
    command = [sys.executable, "-m", "tm2tfr", *ASKED]
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, encoding="utf-8", check=False)


@cache
def modules(folder: Path) -> list[str]:
    names = run(folder, None).stdout.splitlines()[-1].split()
    assert len(names) > 300
    return list(dict.fromkeys(names[names.index("tm2tfr.base.interrupts") + 1 :]))


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="os.kill does not press Ctrl-C on Windows: run it elsewhere")
def test_ctrl_c_at_any_module(tmp_path: Path) -> None:
    names = modules(tmp_path)
    chance = random.Random(1)
    first, last = names.index("lazy_loader"), names.index("tm2tfr.cli")
    for name in (names[first], names[last], "tm2tfr.cli.commands", "numpy", *chance.sample(names, 12)):
        done = run(tmp_path, name)
        assert (done.returncode, done.stdout) == (130, ""), name
        assert done.stderr.strip() in ("interrupted", "interrupted at position 0, after 0 steps"), name


@pytest.mark.parametrize(
    ("argv", "original", "starts"),
    [
        (["/usr/bin/tm2tfr", "list"], ["python", "/usr/bin/tm2tfr", "list"], True),
        (["tm2tfr.exe"], ["python", "tm2tfr.exe"], True),
        (["-m", "list"], ["python", "-X", "dev", "-m", "tm2tfr", "list"], True),
        (["-m"], ["python", "-m", "pytest"], False),
        (["-m"], ["python"], False),
        (["-c"], ["python", "-c", "import tm2tfr"], False),
        (["/home/me/use_tm2tfr.py"], ["python", "/home/me/use_tm2tfr.py"], False),
        (["/home/me/tm2tfr.py"], ["python", "-P", "/home/me/tm2tfr.py"], False),
        ([], ["python"], False),
    ],
)
def test_only_a_process_of_the_command_gets_a_handler(
    argv: list[str], original: list[str], starts: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", argv)
    monkeypatch.setattr(sys, "orig_argv", original)
    assert interrupts.starts_command() is starts


def commanded(body: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a process of the command line whose command has this body."""
    lines = [
        "import os, signal, sys, time, weakref",
        "sys.argv = ['tm2tfr']",
        "from tm2tfr import interrupts",
        "from tm2tfr.cli.commands import guarded",
        "import typer, typer.main",
        "def press(*_): os.kill(os.getpid(), signal.SIGINT)",
        "class Thing: pass",
        "app = typer.Typer(add_completion=False)",
        "@app.command()",
        "def command():",
        *(f"    {line}" for line in body.splitlines()),
        "sys.exit(interrupts.finished(guarded(typer.main.get_command(app), [])))",
    ]
    (folder / "pressed.py").write_text("\n".join(lines), encoding="utf-8")
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)])}
    command = [sys.executable, "-m", "pressed"]
    return subprocess.run(command, env=env, capture_output=True, encoding="utf-8", check=False)


EXECUTED = "try:\n    exec('press()', globals())\nexcept KeyboardInterrupt:\n    "


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("thing = Thing()\nreference = weakref.ref(thing, press)\ndel thing\ntime.sleep(30)", 130),
        (f"{EXECUTED}raise ImportError('numpy failed')", 130),
        (f"{EXECUTED}raise", 130),
        (f"{EXECUTED}pass", 0),
    ],
    ids=["lost in a callback", "made another error", "went through exec", "taken"],
)
def test_what_python_makes_of_ctrl_c(body: str, code: int, tmp_path: Path) -> None:
    """It may be printed and lost, come out as another error, or make Python kill itself at the end."""
    done = commanded(body, tmp_path)
    assert (done.returncode, done.stdout, done.stderr.strip()) == (code, "", "interrupted" if code else "")
