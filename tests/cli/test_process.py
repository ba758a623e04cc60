"""The process of a command: its start, what it imports, colours, and Ctrl-C."""

from __future__ import annotations

import os
import pty
import random
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from tests.cli.lines import LISTED
from tests.cli.test_commands import ROOT, tm2tfr
from tm2tfr.base import interrupts


def imported(*arguments: str, cwd: Path) -> set[str]:
    """The modules that a command has imported when it ends, of other packages by their first name."""
    code = (
        "import sys; from tm2tfr import cli; from tm2tfr.cli.commands import guarded; guarded(cli.app, sys.argv[1:]);"
        "print(*sorted({m if m.startswith('tm2tfr.') else m.partition('.')[0] for m in sys.modules}))"
    )
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], env=env, capture_output=True, encoding="utf-8", check=True, cwd=cwd
    )
    return set(done.stdout.splitlines()[-1].split())


HEAVY = {
    "networkx",
    "numba",
    "rich",
    "pydantic",
    "safetensors",
    "graphviz",
    "lark",
    "torch",
    "pyarrow",
    "dask",
    "scipy",
    "matplotlib",
}


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["trace", "--help"], ["export", "--help"]])
def test_help_imports_next_to_nothing(arguments: list[str], tmp_path: Path) -> None:
    found = imported(*arguments, cwd=tmp_path)
    drawn = {"rich"} if "--help" in arguments else set()
    assert found & {*HEAVY, "numpy", "yaml"} == drawn
    parts = r"sources\.\w+\.compiler|engines|transformer|trace|tables|softness|targets|text|api"
    assert {m for m in found if re.match(rf"tm2tfr\.({parts})\b", m)} == set()


@pytest.mark.slow
def test_the_list_of_commands_imports_none_of_them(tmp_path: Path) -> None:
    modules = {f"tm2tfr.cli.{each.function.partition(':')[0]}" for each in LISTED.values()}
    assert imported("--help", cwd=tmp_path) & modules == set()
    assert imported("trace", "--help", cwd=tmp_path) & modules == {"tm2tfr.cli.runs"}


@pytest.mark.parametrize(
    ("program", "given", "found"), [("tm2tfr", None, "16"), ("tm2tfr", "26", "26"), ("mine.py", None, "")]
)
def test_only_in_commands_numpys_threads_sleep_while_they_wait(program: str, given: str | None, found: str) -> None:
    name = "OPENBLAS_THREAD_TIMEOUT"
    code = f"import sys; sys.argv[0] = '{program}'; import os, tm2tfr; print(os.environ.get('{name}', ''))"
    env = {key: value for key, value in os.environ.items() if key != name} | ({name: given} if given else {})
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == found


@pytest.mark.slow
def test_a_short_run_imports_no_more_than_it_needs(tmp_path: Path) -> None:
    found = imported("trace", "--input", "11", cwd=tmp_path)
    assert found & HEAVY == set()
    assert {"numpy", "yaml", "tm2tfr.runs.comparison"} <= found
    parts = r"explorer|dataset|softness|targets|tables\.stream|runs\.recording"
    assert {m for m in found if re.match(rf"tm2tfr\.({parts})\b", m)} == set()


@pytest.mark.slow
@pytest.mark.parametrize("line", ["list machines", "table busy-beaver-2x4 --max-steps 3000", "compile universal --explain"])
def test_a_reader_that_goes_away_has_seen_enough(line: str, tmp_path: Path) -> None:
    """Typer makes a failure of it, and forgets why."""
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    script = f"'{sys.executable}' -m tm2tfr {line} | head -1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", script], cwd=tmp_path, env=env, capture_output=True, encoding="utf-8", check=True)
    assert (done.stdout.splitlines()[-1], done.stderr) == ("0", "")


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
    return subprocess.run(command, env=env, capture_output=True, encoding="utf-8", check=False, timeout=120)


EXECUTED = "try:\n    exec('press()', globals())\nexcept KeyboardInterrupt:\n    "


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("thing = Thing()\nreference = weakref.ref(thing, press)\ndel thing\ntime.sleep(600)", 130),
        (f"{EXECUTED}raise ImportError('numpy failed')", 130),
        (f"{EXECUTED}raise", 130),
        (f"{EXECUTED}pass", 0),
    ],
    ids=["lost in a callback", "made another error", "went through exec", "taken"],
)
def test_what_python_makes_of_ctrl_c(body: str, code: int, tmp_path: Path) -> None:
    """It may be printed and lost, come out as another error, or make Python kill itself; it ends what is waited for."""
    done = commanded(body, tmp_path)
    assert (done.returncode, done.stdout, done.stderr.strip()) == (code, "", "interrupted" if code else "")


FREED = "global freed\nclass Freed:\n    def __del__(self, write=os.write): write(1, b'freed')\nfreed = Freed()"


@pytest.mark.slow
def test_a_command_ends_without_freeing_what_it_has_unless_others_are_called_after_it(tmp_path: Path) -> None:
    assert commanded(FREED, tmp_path).stdout == ""
    (tmp_path / "sitecustomize.py").write_text("import atexit; atexit.register(print, 'the last')", encoding="utf-8")
    assert commanded(FREED, tmp_path).stdout == "the last\nfreed"


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
