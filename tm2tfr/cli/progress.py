"""A progress line on a terminal, and the message when a run is interrupted."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import timedelta
from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakSet

from tm2tfr.base import interrupts
from tm2tfr.base.errors import Interrupted

if TYPE_CHECKING:
    from types import FrameType

    from rich.progress import Progress as Bar

    from tm2tfr.base.waiting import Advance
    from tm2tfr.runs.comparison import Progress
    from tm2tfr.runs.plan import Shown


FORESEEN = 100 * 86_400
"""Times of more seconds than this are not shown."""
WAITING = " (starting the fast engine; its first use compiles it)"
"""Shown while a run has not begun after a second."""


PATIENCE = 1.5
"""The seconds after which work that may take long is shown, see `tm2tfr.base.waiting`."""
RATE = "{task.fields[rate]:,.0f} per second"
QUIET = {"--quiet", "-q", "--json", "json", "--format=json"}
"""The words of a command line that ask for no progress."""


@contextmanager
def updating(text: str, after: Callable[[], str], *, patience: float = 0.0, **kwargs: Any) -> Iterator[Callable[..., None]]:
    """Yield a function that changes the fields of a line on a terminal; where there is no terminal, it does nothing.

    Args:
        text: the line, see `line`; kwargs: its fields at the beginning.
        after: says how far the work got.
        patience: the seconds after which the line is shown.

    Raises:
        Interrupted: on Ctrl-C, with what `after` says.
    """
    bar = line(text) if sys.stderr.isatty() else None
    task = None if bar is None else bar.add_task("", total=None, **kwargs)
    clock = threading.Timer(patience, bar.start) if bar is not None and patience else None
    if clock is not None:
        clock.start()
    elif bar is not None:
        bar.start()

    def update(**kwargs: Any) -> None:
        if bar is not None and task is not None:
            bar.update(task, **kwargs)

    try:
        yield update
    except KeyboardInterrupt:
        raise Interrupted(after()) from None
    finally:
        if clock is not None:
            clock.cancel()
            clock.join()
        if bar is not None:
            bar.stop()


@contextmanager
def showing(max_steps: int | None) -> Iterator[Shown]:
    """Yield what shows tokens, tokens per second and steps on a terminal, once a run takes a second, and hears Ctrl-C.

    Args:
        max_steps: the limit, if there is one: the time up to it is shown as well, which the run takes unless it halts.

    Raises:
        Interrupted: on Ctrl-C, saying how far the run got.
    """
    from tm2tfr.runs.plan import Shown

    standing = (0, 0)
    first: tuple[int, float] | None = None

    def show(positions: int, steps: int) -> None:
        nonlocal standing, first
        standing, now = (positions, steps), time.monotonic()
        if first is None or positions < first[0]:  # a resumed run begins where it stopped
            first = positions, now
        done = positions - first[0]
        rate = done / max(now - first[1], 1e-9)
        seconds = (max_steps - steps) / rate if max_steps is not None and done else inf
        left = f", at most {timedelta(seconds=round(seconds))} left" if seconds < FORESEEN else ""
        update(completed=positions, rate=rate, steps=steps, note=left)

    def after() -> str:
        return f"interrupted at position {standing[0]:,}, after {standing[1]:,} steps"

    most = "" if max_steps is None else f" of at most {max_steps:,}"
    text = f"{{task.completed:,}} tokens, {RATE}, {{task.fields[steps]:,}} steps{most}{{task.fields[note]}}"
    with updating(text, after, patience=1.0, rate=0.0, steps=0, note=WAITING) as update, hearing() as stop:
        yield Shown(show, stop)


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


RESUME = "resume it with --resume"
"""What to do with a folder that was interrupted."""


@contextmanager
def counting(go_on: str = "") -> Iterator[Callable[[int, int, int], None]]:
    """Yield a callback that shows finished shards and trace rows per second on a terminal; Ctrl-C adds `go_on`.

    Raises:
        Interrupted: on Ctrl-C, saying how much is done.
    """
    standing, began = (0, 0), time.monotonic()
    first: tuple[int, float] | None = None

    def show(done: int, shards: int, rows: int) -> None:
        nonlocal standing, first
        standing, now = (done, shards), time.monotonic()
        first = first or (done, now)
        seconds = (shards - done) * (now - first[1]) / max(done - first[0], 1)
        left = f", about {timedelta(seconds=round(seconds))} left, after" if done > first[0] else ""
        update(completed=done, shards=f"{shards:,}", rows=rows, rate=rows / max(now - began, 1e-9), left=left)

    def after() -> str:
        message = f"interrupted after {standing[0]:,} of {standing[1]:,} shards" if standing[1] else "interrupted"
        return f"{message}{go_on and f': {go_on}'}"

    shards = "{task.completed:,} of {task.fields[shards]} shards"
    text = f"{shards}, {{task.fields[rows]:,}} rows, {RATE}{{task.fields[left]}}"
    with updating(text, after, shards="…", rows=0, rate=0.0, left="") as update:
        yield show


@contextmanager
def counting_inputs() -> Iterator[Progress]:
    """Yield a callback that shows finished inputs on a terminal.

    Raises:
        Interrupted: on Ctrl-C, saying how many are done.
    """
    standing, began = (0, 0), time.monotonic()

    def show(done: int, inputs: int) -> None:
        nonlocal standing
        standing = (done, inputs)
        update(completed=done, rate=done / max(time.monotonic() - began, 1e-9), inputs=f"{inputs:,}")

    def after() -> str:
        return f"interrupted after {standing[0]:,} of {standing[1]:,} inputs"

    text = f"{{task.completed:,}} of {{task.fields[inputs]}} inputs, {RATE}"
    with updating(text, after, inputs="…", rate=0.0) as update:
        yield show


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
    runs_done = (0, 0)

    def show(done: int, steps: int, loss: float, match: float | None) -> None:
        found = "" if match is None else f", exact match {match:.4f}"
        update(words=f"{done:,} of {steps:,} steps, loss {loss:.4f}{found}")

    def runs(done: int, every: int) -> None:
        nonlocal runs_done
        runs_done = (done, every)
        update(words=f"{done:,} of {every:,} runs")

    def after() -> str:
        what = f" after {runs_done[0]:,} of {runs_done[1]:,} runs" if runs_done[1] else ""
        return f"interrupted{what}: {RESUME}"

    with updating("{task.fields[words]}", after, words="starting") as update, hearing() as stop:
        yield Learning(show, runs, stop)


def drawing() -> AbstractContextManager[Callable[[int, int], None]]:
    """Return what shows on a terminal how many pictures are drawn, see `making`."""
    return making("pictures", "pictures were drawn")


@contextmanager
def making(things: str, meanwhile: str = "") -> Iterator[Callable[[int, int], None]]:
    """Yield a callback that shows on a terminal how many `things` are made, of how many.

    Args:
        meanwhile: what happened while it was interrupted, as a clause, if nothing is left behind then; otherwise it can be
            resumed.

    Raises:
        Interrupted: on Ctrl-C.
    """
    standing = (0, 0)

    def show(done: int, every: int) -> None:
        nonlocal standing
        standing = (done, every)
        update(completed=done, every=f"{every:,}")

    def after() -> str:
        if meanwhile:
            return f"interrupted while {meanwhile}: nothing is written"
        return f"interrupted{f' after {standing[0]:,} of {standing[1]:,} {things}' if standing[1] else ''}: {RESUME}"

    with updating(f"{{task.completed:,}} of {{task.fields[every]}} {things}", after, every="…") as update:
        yield show


def telling_of_compiling(arguments: Sequence[str]) -> AbstractContextManager[object]:
    """Return what shows on a terminal that something is compiled, as long as a command lasts that is not to be quiet."""
    if not sys.stderr.isatty() or QUIET.intersection(arguments):
        return nullcontext()
    from tm2tfr.base.waiting import noticed

    return noticed(_compiling)


@contextmanager
def _compiling(text: str) -> Iterator[Advance]:
    """Show that something is compiled, once it takes a while: above the line that is there, or in one of its own.

    What is yielded shows how much of it is done, in a line of its own, with an estimate of the time that is left.
    """
    own: list[Bar] = []
    far, kind, first = "", "", (0, time.monotonic())

    def show() -> None:
        from rich.markup import escape

        if any(WAITING in str(task.fields.get("note")) for bar in _lines for task in bar.tasks):
            return  # this line says it
        above = next((bar for bar in _lines if bar.live.is_started), None)
        if above is not None:
            above.console.print(text, highlight=False)
            return
        own.append(line("{task.fields[work]}{task.fields[far]}"))
        own[0].add_task("", total=None, work=escape(text), far=far)
        own[0].start()

    def advance(done: int, every: int, things: str) -> None:
        nonlocal far, kind, first
        now = time.monotonic()
        if (kind and kind != things) or done < first[0]:
            first = done, now
        kind = things
        seconds = (every - done) * (now - first[1]) / max(done - first[0], 1)
        left = f", about {timedelta(seconds=round(seconds))} left" if done > first[0] else ""
        far = f": {done:,} of {every:,} {things}{left}"
        for bar in own:
            bar.update(bar.task_ids[0], far=far)

    clock = threading.Timer(PATIENCE, show)
    clock.daemon = True
    clock.start()
    try:
        yield advance
    finally:
        clock.cancel()
        clock.join()
        for bar in own:
            bar.stop()


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
