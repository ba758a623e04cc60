"""Stepping through a run in the terminal: keys, what is shown, what is refused; and once in a terminal of its own."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import tm2tfr
from tm2tfr.api.pages import moments
from tm2tfr.base.errors import OutputError, UsageError
from tm2tfr.runs.plan import RunOptions

pytest.importorskip("textual", reason="install the extra step")
from textual.widgets import DataTable, Static
from textual.widgets._footer import FooterKey

from tm2tfr.cli.runs import check_step
from tm2tfr.cli.step import Jump, StepApp, layers, rows, tape, title

ROOT = Path(tm2tfr.__file__).parent.parent
WRONG = tm2tfr.compile("left-edge", left_boundary="chapter")


def stepped(subject: Any, word: str | None, *keys: str) -> tuple[StepApp, list[int]]:
    """Press keys, and return the app with the positions that it was at after each of them."""
    app, found = StepApp(moments(subject, word)), []

    async def press() -> None:
        async with app.run_test(size=(100, 40)) as pilot:
            for key in keys:
                await pilot.press(key)
                await pilot.pause()
                found.append(app.shown.position)

    asyncio.run(press())
    return app, found


@pytest.mark.slow
def test_keys_lead_through_a_run() -> None:
    keys = ["right", "space", "l", "left", "h", "end", "right", "home", "left", "pagedown", "pageup"]
    assert stepped("chapter", "11", *keys)[1] == [3, 4, 5, 4, 3, 8, 8, 0, 0, 8, 0]


@pytest.mark.slow
def test_a_position_is_jumped_to_and_a_jump_is_cancelled() -> None:
    assert stepped("chapter", "11", "g", "7", "enter", "g", "9", "9", "enter", "g", "3", "escape")[1] == [
        *(2, 2, 7, 7, 7, 7, 8, 8, 8, 8),
    ]


@pytest.mark.slow
def test_differences_are_jumped_to_one_after_the_other() -> None:
    app, found = stepped(WRONG, "11", "n", "n", "n", "n", "q")
    assert found[:4] == [5, 6, 7, 7]
    assert app.return_code == 0


@pytest.mark.slow
def test_what_is_on_the_screen_is_what_there_is_at_the_position() -> None:
    app = StepApp(moments("palindromes", "abba"))
    shown: dict[str, Any] = {}

    async def look() -> None:
        async with app.run_test(size=(100, 40)) as pilot:
            await pilot.press(*["right"] * 8)
            shown["title"] = str(app.shown.query_one("#title", Static).content)
            table = app.shown.query_one("#rows", DataTable)
            shown["rows"] = [str(table.get_row_at(n)[0]) for n in range(table.row_count)]
            shown["tape"] = app.shown.query_one("#tape").display
            shown["keys"] = [f"{key.key_display} {key.description}" for key in app.screen.query(FooterKey)]
            await pilot.press("g")
            shown["jump"] = isinstance(app.screen, Jump)

    asyncio.run(look())
    assert shown == {
        "keys": ["q quit", "→← step", "g jump", "n difference", "Home End ends", "PgDn PgUp ±10", "↓↑ scroll"],
        "title": "palindromes on abba   position 12 of 19, step 8 of 15\nδ(return, b) → (return,b,-1)",
        "rows": [str(n) for n in range(8, 17)],
        "tape": True,
        "jump": True,
    }


def test_the_tape_in_the_terminal() -> None:
    run = moments("palindromes", "abba")
    lines = [line.rstrip() for line in str(tape(run.at(12))).splitlines()]
    assert lines == ["      ▼ return", "   _  b  b  _  _  …", "   0"]
    assert str(tape(run.at(0))) == "no step has been made, so there is no tape yet"
    left = str(tape(moments("primes", "111").at(20))).splitlines()[1]
    assert left.startswith("… ")


def test_rows_around_a_position_say_what_would_be_right() -> None:
    found = rows(moments(WRONG, "11"), 5)
    assert [str(cell) for cell in found[5]] == ["5", "(one,1,+1)", "one", "1", "+1", "0≠1", "1", "(even,x,+1)"]
    assert [len(rows(moments("chapter", "11"), n)) for n in (0, 4, 8)] == [9, 9, 9]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "word", "position", "line"),
    [
        ("full-adder", "110", 3, "full-adder on 110   position 3 of 3, gate 2 of 2\ncarry = MAJ(a=1, b=1, c=0) = 1"),
        ("reverse", "abc", 0, "reverse on abc   position 0 of 2\nreverse = c"),
        ("since-b", "ab", 0, "since-b on ab   position 0 of 2\n(Q[a] | Q[b]) since Q[b] = F"),
        ("chapter", "11", 0, "chapter on 11   position 0 of 8\nthe input is being read"),
    ],
)
def test_every_source_can_be_stepped_through(name: str, word: str, position: int, line: str) -> None:
    run = moments(name, word)
    assert str(title(run, run.at(position))).startswith(line)
    assert layers(run.at(position).layers).row_count == 1 + len(run.decoder.layers)
    assert stepped(name, word, "end")[1] == [len(run) - 1]


def test_what_is_missing_in_a_terminal_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    for stream in (sys.stdin, sys.stdout):
        monkeypatch.setattr(stream, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    check_step(RunOptions(), {})
    monkeypatch.setenv("TERM", "dumb")
    with pytest.raises(UsageError, match="needs a terminal that moves its cursor, and TERM says that this one is dumb"):
        check_step(RunOptions(), {})
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setitem(sys.modules, "textual", None)
    with pytest.raises(OutputError, match=r"in the terminal needs Textual \(.*\): pip install 'tm2tfr\[step\]'$"):
        check_step(RunOptions(), {})


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="run it where terminals are files")
def test_a_terminal_of_its_own() -> None:
    import pty

    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "tm2tfr", "trace", "chapter", "--input", "11", "--step"]
    env = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm-256color", "COLUMNS": "100", "LINES": "40"}
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=env, close_fds=True)
    os.close(theirs)
    seen, pressed = b"", 0
    try:
        while True:
            seen += os.read(ours, 65536)
            if not pressed and b"position 2 of 8" in seen:
                pressed = os.write(ours, b" ")
            elif pressed == 1 and b"position 3" in seen:
                pressed += os.write(ours, b"q")
    except OSError:  # the other end is closed
        pass
    finally:
        os.close(ours)
        code = process.wait(timeout=60)
    assert (code, pressed) == (0, 2)
    assert b"ACC: the machine accepts, after T = 6 intermediate steps" in seen
