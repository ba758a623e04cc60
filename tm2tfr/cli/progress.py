"""A progress line on a terminal, and the message when a run is interrupted."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from math import ceil
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakSet

from tm2tfr.base import interrupts
from tm2tfr.base.errors import Interrupted
from tm2tfr.base.waiting import COMPILING

if TYPE_CHECKING:
    from types import FrameType

    from tm2tfr.base.waiting import Advance
    from tm2tfr.runs.comparison import Progress
    from tm2tfr.runs.plan import Shown


FORESEEN = 100 * 86_400
"""Times of more seconds than this are not shown."""
WAITING = "starting the fast engine, whose first use compiles it"
"""Shown while a run has not begun after a second."""
PATIENCE = 1.5
"""The seconds after which work that may take long is shown, see `tm2tfr.base.waiting`."""
SETTLED = 2.0
"""The seconds of a phase of compiling after which the time left is estimated."""
WINDOW = 5.0
"""The seconds over which a rate is measured."""
LONG_NAME = 40
"""What is compiled is named in at most this many characters where it is shown how much of it is done."""
AFTER = None
"""The part of a line that is the time since its beginning."""
QUIET = {"--quiet", "-q", "--json", "json", "--format=json"}
"""The words of a command line that ask for no progress."""


# ── a line ──────────────────────────────────────────────────────────────────────────────────────────────────
class ProgressLine:
    """A line with a spinner on standard error: its parts, the important ones first, without those that do not fit.

    Args:
        parts: as text, or `AFTER`.
    """

    def __init__(self, *parts: str | None) -> None:
        from rich.console import Console
        from rich.progress import Progress as Bar
        from rich.progress import SpinnerColumn, TextColumn

        self.parts, self._began = parts, time.monotonic()
        text = TextColumn("{task.fields[line]}", markup=False)
        self.bar = Bar(SpinnerColumn(), text, console=Console(stderr=True), transient=True)
        self.bar.add_task("", total=None, line=self)
        _lines.add(self)

    def __str__(self) -> str:
        """Return the text as of now, in at most the columns that the spinner leaves."""
        from rich.cells import cell_len, set_cell_size

        room = self.bar.console.width - 3
        after = f"after {clock(time.monotonic() - self._began)}"
        first, *others = (after if part is AFTER else part for part in self.parts)
        for part in others:
            if cell_len(first) + 2 + cell_len(part) <= room:
                first = f"{first}, {part}"
        return first if cell_len(first) <= room else f"{set_cell_size(first, room - 1)}…"


_lines: WeakSet[ProgressLine] = WeakSet()
"""All lines that are there, shown or not."""


def clock(seconds: float) -> str:
    """Return a time as hours, minutes and seconds, or in days where it has a hundred hours or more."""
    if seconds >= 100 * 3600:
        return f"{ceil(seconds / 86_400)} days"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}"


class Pace:
    """How fast something goes: over the last few seconds, and since code was compiled, for which everything stops."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, int]] = deque()
        self._stopped = False
        _paces.add(self)

    def stopped(self) -> None:
        """Forget earlier times; called from any thread."""
        self._stopped = True

    def rate(self, done: int) -> float:
        """Return how many things are done in a second, now that `done` are; 0 at the beginning, and if they are fewer."""
        now, seen = time.monotonic(), self._seen
        if self._stopped or (seen and done < seen[-1][1]):  # a resumed run begins where it stopped
            seen.clear()
            self._stopped = False
        while len(seen) > 1 and seen[0][0] < now - WINDOW:
            seen.popleft()
        since, before = seen[0] if seen else (now, done)
        if not seen or now - seen[-1][0] >= WINDOW / 50:
            seen.append((now, done))
        return (done - before) / max(now - since, 1e-9)


_paces: WeakSet[Pace] = WeakSet()
"""All that are measured."""


@contextmanager
def updating(after: Callable[[], str], *parts: str | None, patience: float = 0.0) -> Iterator[Callable[..., None]]:
    """Yield a function that changes the parts of a line on a terminal; where there is no terminal, it does nothing.

    Args:
        after: says how far the work got.
        parts: the line at the beginning, see `ProgressLine`.
        patience: the seconds after which the line is shown.

    Raises:
        Interrupted: on Ctrl-C, with what `after` says.
    """
    line = ProgressLine(*parts) if sys.stderr.isatty() else None
    timer = threading.Timer(patience, line.bar.start) if line is not None and patience else None
    if timer is not None:
        timer.start()
    elif line is not None:
        line.bar.start()

    def update(*parts: str | None) -> None:
        if line is not None:
            line.parts = parts

    try:
        yield update
    except KeyboardInterrupt:
        raise Interrupted(after()) from None
    finally:
        if timer is not None:
            timer.cancel()
            timer.join()
        if line is not None:
            line.bar.stop()


@contextmanager
def showing(max_steps: int | None, *, steady: bool = False) -> Iterator[Shown]:
    """Yield what shows steps and steps per second on a terminal, once a run takes a second, and hears Ctrl-C.

    Args:
        max_steps: the limit, if there is one.
        steady: every step takes the same time: the time up to the limit is shown as well, which the run takes unless it
            halts.

    Raises:
        Interrupted: on Ctrl-C, saying how far the run got.
    """
    from tm2tfr.runs.plan import Shown

    standing, pace = (0, 0), Pace()

    def show(positions: int, steps: int) -> None:
        nonlocal standing
        standing, rate = (positions, steps), pace.rate(positions)
        most = "" if max_steps is None else f" of {max_steps:,}"
        far = f"{steps:,}{most} steps" if steps else f"{positions:,} tokens"
        if steady and max_steps is not None and rate and (seconds := (max_steps - steps) / rate) < FORESEEN:
            far = f"at most {clock(seconds)} left: {far}"
        update(far, *([f"{rate:,.0f}/s"] if rate else []), AFTER)

    def after() -> str:
        return f"interrupted at position {standing[0]:,}, after {standing[1]:,} steps"

    with updating(after, WAITING if steady else "starting", AFTER, patience=1.0) as update, hearing() as stop:
        yield Shown(show, stop)


@contextmanager
def hearing() -> Iterator[Callable[[], bool]]:
    """Yield a function that says whether Ctrl-C (or SIGTERM) was heard, for a run that asks between two blocks.

    A run that has never asked is interrupted at once, and so is one that hears it twice. Only the main thread
    receives Ctrl-C.
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
        left = f"about {clock(seconds)} left: " if done > first[0] else ""
        rate = rows / max(now - began, 1e-9)
        update(f"{left}{done:,} of {shards:,} shards", AFTER, f"{rows:,} rows", f"{rate:,.0f} rows/s")

    def after() -> str:
        message = f"interrupted after {standing[0]:,} of {standing[1]:,} shards" if standing[1] else "interrupted"
        return f"{message}{go_on and f': {go_on}'}"

    with updating(after, "0 of … shards", AFTER) as update:
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
        update(f"{done:,} of {inputs:,} inputs", f"{done / max(time.monotonic() - began, 1e-9):,.0f}/s", AFTER)

    def after() -> str:
        return f"interrupted after {standing[0]:,} of {standing[1]:,} inputs"

    with updating(after, "0 of … inputs", AFTER) as update:
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
        found = () if match is None else (f"exact match {match:.4f}",)
        update(f"{done:,} of {steps:,} steps", f"loss {loss:.4f}", *found, AFTER)

    def runs(done: int, every: int) -> None:
        nonlocal runs_done
        runs_done = (done, every)
        update(f"{done:,} of {every:,} runs", AFTER)

    def after() -> str:
        what = f" after {runs_done[0]:,} of {runs_done[1]:,} runs" if runs_done[1] else ""
        return f"interrupted{what}: {RESUME}"

    with updating(after, "starting", AFTER) as update, hearing() as stop:
        yield Learning(show, runs, stop)


def drawing() -> AbstractContextManager[Callable[[int, int], None]]:
    """Return the context that shows the number of drawn pictures on a terminal, see `making`."""
    return making("pictures", "pictures were drawn")


@contextmanager
def making(things: str, meanwhile: str = "") -> Iterator[Callable[[int, int], None]]:
    """Yield a callback that shows on a terminal how many `things` are made, of how many, and how long the others take.

    Args:
        meanwhile: what happened while it was interrupted, as a clause, if nothing is left behind then; otherwise it can be
            resumed.

    Raises:
        Interrupted: on Ctrl-C.
    """
    standing, pace = (0, 0), Pace()

    def show(done: int, every: int) -> None:
        nonlocal standing
        standing, rate = (done, every), pace.rate(done)
        left = f"about {clock((every - done) / rate)} left: " if rate and done < every else ""
        update(f"{left}{done:,} of {every:,} {things}", AFTER)

    def after() -> str:
        if meanwhile:
            return f"interrupted while {meanwhile}: nothing is written"
        return f"interrupted{f' after {standing[0]:,} of {standing[1]:,} {things}' if standing[1] else ''}: {RESUME}"

    with updating(after, f"0 of … {things}", AFTER) as update:
        yield show


def telling_of_compiling(arguments: Sequence[str]) -> AbstractContextManager[object]:
    """Return the context that shows compilation on a terminal during a command, unless the command is to be quiet."""
    if not sys.stderr.isatty() or QUIET.intersection(arguments):
        return nullcontext()
    from tm2tfr.base.waiting import noticed

    return noticed(_compiling)


@contextmanager
def _compiling(text: str) -> Iterator[Advance]:
    """Show that something is compiled, once it takes a while: above the line that is there, or in one of its own.

    What is yielded shows how much of it is done, in a line of its own: the phase, and once it has lasted a while, an
    estimate of the time that is left of it.
    """
    own: list[ProgressLine] = []
    parts: tuple[str | None, ...] = (text, AFTER)
    pace, phase, began = Pace(), (0, ""), 0.0

    def show() -> None:
        above = next((line for line in _lines if line.bar.live.is_started), None)
        if above is None:
            own.append(ProgressLine(*parts))
            own[0].bar.start()
        elif WAITING not in above.parts or text != COMPILING:  # otherwise that line says it
            above.bar.console.print(text, highlight=False, markup=False)

    def advance(done: int, every: int, things: str) -> None:
        nonlocal parts, pace, phase, began
        now = time.monotonic()
        if phase != (every, things):
            pace, phase, began = Pace(), (every, things), now
        rate, far = pace.rate(done), f"{done:,} of {every:,} {things}" if every else things
        name = text if len(text) <= LONG_NAME else f"{text[: LONG_NAME - 1]}…"
        settled = now - began >= SETTLED and rate and (every - done) / rate < FORESEEN
        left = f"about {clock((every - done) / rate)} left" if settled and done < every else None
        parts = (f"{name}: {far}", AFTER) if left is None else (f"{name}: {left}", far, AFTER)
        for line in own:
            line.parts = parts

    timer = threading.Timer(PATIENCE, show)
    timer.daemon = True
    timer.start()
    try:
        yield advance
    finally:
        timer.cancel()
        timer.join()
        for measured in list(_paces):
            measured.stopped()
        for line in own:
            line.bar.stop()
