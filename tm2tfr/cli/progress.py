"""A progress line on a terminal, and the message when a run is interrupted."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import timedelta
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakSet

from tm2tfr import interrupts
from tm2tfr.errors import Interrupted

if TYPE_CHECKING:
    from types import FrameType

    from rich.progress import Progress as Bar

    from tm2tfr.runs.plan import Shown
    from tm2tfr.trace.check import Progress


WAITING = " (starting the fast engine; its first use compiles it)"
"""Shown while a run has not begun after a second."""


COMPILING = "compiling the fast engine, once: this may take a minute or two"
"""Shown while code is compiled, once that has taken `PATIENCE` seconds."""
PATIENCE = 1.5
QUIET = {"--quiet", "-q", "--json", "json", "--format=json"}
"""Whoever writes one of these on the command line is not told."""


@contextmanager
def showing(max_steps: int | None) -> Iterator[Shown]:
    """Yield what shows tokens, tokens per second and steps on a terminal, once a run takes a second, and hears Ctrl-C.

    Raises:
        Interrupted: on Ctrl-C, saying how far the run got.
    """
    from tm2tfr.runs.plan import Shown

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
            interrupts.note()
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
    first: tuple[int, float] | None = None
    bar = None
    if sys.stderr.isatty():
        bar = line(
            "{task.completed:,} of {task.fields[shards]} shards, "
            "{task.fields[rows]:,} rows, {task.fields[rate]:,.0f} per second{task.fields[left]}"
        )
        task = bar.add_task("", total=None, shards="…", rows=0, rate=0.0, left="")
        bar.start()

    def show(done: int, shards: int, rows: int) -> None:
        nonlocal standing, first
        standing, now = (done, shards), time.monotonic()
        first = first or (done, now)
        if bar is not None:
            rate = rows / max(now - began, 1e-9)
            seconds = (shards - done) * (now - first[1]) / max(done - first[0], 1)
            left = f", about {timedelta(seconds=round(seconds))} left, after" if done > first[0] else ""
            bar.update(task, completed=done, shards=f"{shards:,}", rows=rows, rate=rate, left=left)

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
def counting_inputs() -> Iterator[Progress]:
    """Yield a callback that shows finished inputs on a terminal.

    Raises:
        Interrupted: on Ctrl-C, saying how many are done.
    """
    standing, began = (0, 0), time.monotonic()
    shown = "{task.completed:,} of {task.fields[inputs]} inputs, {task.fields[rate]:,.0f} per second"
    bar = line(shown) if sys.stderr.isatty() else None
    task = None if bar is None else bar.add_task("", total=None, inputs="…", rate=0.0)
    if bar is not None:
        bar.start()

    def show(done: int, inputs: int) -> None:
        nonlocal standing
        standing = (done, inputs)
        if bar is not None and task is not None:
            rate = done / max(time.monotonic() - began, 1e-9)
            bar.update(task, completed=done, inputs=f"{inputs:,}", rate=rate)

    try:
        yield show
    except KeyboardInterrupt:
        done, inputs = standing
        raise Interrupted(f"interrupted after {done:,} of {inputs:,} inputs") from None
    finally:
        if bar is not None:
            bar.stop()


class Learning(NamedTuple):
    """What a training gets: `progress` shows its steps, `runs` the runs of a grid; `stop` as in `Shown`."""

    progress: Callable[[int, int, float, float | None], None]
    runs: Callable[[int, int], None]
    stop: Callable[[], bool]


@contextmanager
def training() -> Iterator[Learning]:
    """Yield what shows steps, loss and exact match, or the runs of a grid, on a terminal, and hears Ctrl-C.

    Raises:
        Interrupted: on Ctrl-C, where nothing asks `stop`.
    """
    bar = line("{task.fields[words]}") if sys.stderr.isatty() else None
    task = None if bar is None else bar.add_task("", total=None, words="starting")
    runs_done = (0, 0)
    if bar is not None:
        bar.start()

    def told(words: str) -> None:
        if bar is not None and task is not None:
            bar.update(task, words=words)

    def show(done: int, steps: int, loss: float, match: float | None) -> None:
        found = "" if match is None else f", exact match {match:.4f}"
        if bar is not None:
            told(f"{done:,} of {steps:,} steps, loss {loss:.4f}{found}")

    def runs(done: int, every: int) -> None:
        nonlocal runs_done
        runs_done = (done, every)
        told(f"{done:,} of {every:,} runs")

    try:
        with hearing() as stop:
            yield Learning(show, runs, stop)
    except KeyboardInterrupt:
        done, every = runs_done
        after = f" after {done:,} of {every:,} runs" if every else ""
        raise Interrupted(f"interrupted{after}: go on with --resume") from None
    finally:
        if bar is not None:
            bar.stop()


def drawing() -> AbstractContextManager[Callable[[int, int], None]]:
    """Return what shows on a terminal how many pictures are drawn, see `making`."""
    return making("pictures", "pictures were drawn")


@contextmanager
def making(things: str, meanwhile: str) -> Iterator[Callable[[int, int], None]]:
    """Yield a callback that shows on a terminal how many `things` are made, of how many.

    Args:
        meanwhile: what happened while it was interrupted, as a clause.

    Raises:
        Interrupted: on Ctrl-C; nothing is left behind.
    """
    bar = line(f"{{task.completed:,}} of {{task.fields[every]}} {things}") if sys.stderr.isatty() else None
    task = None if bar is None else bar.add_task("", total=None, every="…")
    if bar is not None:
        bar.start()

    def show(done: int, every: int) -> None:
        if bar is not None and task is not None:
            bar.update(task, completed=done, every=f"{every:,}")

    try:
        yield show
    except KeyboardInterrupt:
        raise Interrupted(f"interrupted while {meanwhile}: nothing is written") from None
    finally:
        if bar is not None:
            bar.stop()


def telling_of_compiling(arguments: Sequence[str]) -> AbstractContextManager[object]:
    """Return what shows on a terminal that code is being compiled, as long as a command lasts that is not to be quiet."""
    if not sys.stderr.isatty() or QUIET.intersection(arguments):
        return nullcontext()
    from tm2tfr.native.function import noticed

    return noticed(_compiling)


@contextmanager
def _compiling() -> Iterator[None]:
    """Show that code is being compiled, once it takes a while: above the line that is there, or in one of its own."""
    own: list[Bar] = []

    def show() -> None:
        if any(WAITING in str(task.fields.get("note")) for bar in _lines for task in bar.tasks):
            return  # this line says it
        above = next((bar for bar in _lines if bar.live.is_started), None)
        if above is not None:
            above.console.print(COMPILING, highlight=False)
            return
        own.append(line(COMPILING))
        own[0].add_task("", total=None)
        own[0].start()

    clock = threading.Timer(PATIENCE, show)
    clock.daemon = True
    clock.start()
    try:
        yield
    finally:
        clock.cancel()
        clock.join()
        for bar in own:
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

    made = Bar(SpinnerColumn(), TextColumn(text), TimeElapsedColumn(), console=Console(stderr=True), transient=True)
    _lines.add(made)
    return made


_lines: WeakSet[Bar] = WeakSet()
"""All lines that are there, shown or not."""
