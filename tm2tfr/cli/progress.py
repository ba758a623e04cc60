"""A progress line on a terminal, and the message when a run is interrupted."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from tm2tfr.errors import Interrupted

if TYPE_CHECKING:
    from types import FrameType

    from rich.progress import Progress as Bar

    from tm2tfr.trace.check import Progress

WAITING = " (starting the fast engine; its first use compiles it)"
"""Shown while a run has not begun after a second."""


class Shown(NamedTuple):
    """What a run gets: `progress` shows how far it is, `stop` says whether it is to be saved and ended."""

    progress: Progress
    stop: Callable[[], bool]


@contextmanager
def showing(max_steps: int | None) -> Iterator[Shown]:
    """Yield what shows tokens, tokens per second and steps on a terminal, once a run takes a second, and hears Ctrl-C.

    Raises:
        Interrupted: on Ctrl-C, saying how far the run got.
    """
    standing = (0, 0)
    first: tuple[int, float] | None = None
    bar = _bar(max_steps) if sys.stderr.isatty() else None
    task = None if bar is None else bar.add_task("", total=None, rate=0.0, steps=0, note=WAITING)
    clock = threading.Timer(1.0, bar.start if bar else lambda: None)
    clock.start()

    def show(positions: int, steps: int) -> None:
        nonlocal standing, first
        standing, now = (positions, steps), time.monotonic()
        if first is None or positions < first[0]:  # a resumed run begins where it stopped
            first = positions, now
        passed = max(now - first[1], 1e-9)
        if bar is not None and task is not None:
            bar.update(task, completed=positions, rate=(positions - first[0]) / passed, steps=steps, note="")

    try:
        with hearing() as stop:
            yield Shown(show, stop)
    except KeyboardInterrupt:
        positions, steps = standing
        raise Interrupted(f"interrupted at position {positions:,}, after {steps:,} steps") from None
    finally:
        clock.cancel()
        clock.join()
        if bar is not None:
            bar.stop()


@contextmanager
def hearing() -> Iterator[Callable[[], bool]]:
    """Yield a function that says whether Ctrl-C (or SIGTERM) was heard, for a run that asks between two blocks.

    A run that has never asked is interrupted at once, and so is one that hears it twice. Outside the main thread there
    is no Ctrl-C, and nothing to hear.
    """
    asks = heard = False

    def stop() -> bool:
        nonlocal asks
        asks = True
        return heard

    def hear(_number: int, _frame: FrameType | None) -> None:
        nonlocal heard
        if heard or not asks:
            raise KeyboardInterrupt
        heard = True

    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    before = {number: signal.signal(number, hear) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def counting(go_on: str = "") -> Iterator[Callable[[int, int, int], None]]:
    """Yield a callback that shows finished shards and trace rows per second on a terminal; Ctrl-C adds `go_on`.

    Raises:
        Interrupted: on Ctrl-C, saying how much is done.
    """
    standing, began = (0, 0), time.monotonic()
    bar = None
    if sys.stderr.isatty():
        bar = line(
            "{task.completed:,} of {task.fields[shards]} shards, "
            "{task.fields[rows]:,} rows, {task.fields[rate]:,.0f} per second"
        )
        task = bar.add_task("", total=None, shards="…", rows=0, rate=0.0)
        bar.start()

    def show(done: int, shards: int, rows: int) -> None:
        nonlocal standing
        standing = (done, shards)
        if bar is not None:
            rate = rows / max(time.monotonic() - began, 1e-9)
            bar.update(task, completed=done, shards=f"{shards:,}", rows=rows, rate=rate)

    try:
        yield show
    except KeyboardInterrupt:
        done, shards = standing
        message = f"interrupted after {done:,} of {shards:,} shards" if shards else "interrupted"
        raise Interrupted(f"{message}{go_on and f': {go_on}'}") from None
    finally:
        if bar is not None:
            bar.stop()


@contextmanager
def drawing() -> Iterator[Callable[[int, int], None]]:
    """Yield a callback that shows on a terminal how many pictures are drawn.

    Raises:
        Interrupted: on Ctrl-C; nothing is left behind.
    """
    bar = line("{task.completed:,} of {task.fields[every]} pictures") if sys.stderr.isatty() else None
    task = None if bar is None else bar.add_task("", total=None, every="…")
    if bar is not None:
        bar.start()

    def show(done: int, every: int) -> None:
        if bar is not None and task is not None:
            bar.update(task, completed=done, every=f"{every:,}")

    try:
        yield show
    except KeyboardInterrupt:
        raise Interrupted("interrupted while pictures were drawn: nothing is written") from None
    finally:
        if bar is not None:
            bar.stop()


def _bar(max_steps: int | None) -> Bar:
    most = "" if max_steps is None else f" of at most {max_steps:,}"
    text = (
        "{task.completed:,} tokens, {task.fields[rate]:,.0f} per second, {task.fields[steps]:,} steps"
        + most
        + "{task.fields[note]}"
    )
    return line(text)


def line(text: str) -> Bar:
    """Return a line with a spinner, this text and the time, on standard error."""
    from rich.console import Console
    from rich.progress import Progress as Bar
    from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

    return Bar(SpinnerColumn(), TextColumn(text), TimeElapsedColumn(), console=Console(stderr=True), transient=True)
