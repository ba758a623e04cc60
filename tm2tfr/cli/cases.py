"""``check --all`` and ``check --random``: many inputs of a circuit at once."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from tm2tfr.cli.output import tell
from tm2tfr.errors import CompileError, Interrupted, UsageError, counted, visible

if TYPE_CHECKING:
    from typing import NoReturn

    from tm2tfr.api.subject import Subject
    from tm2tfr.runs.cases import Cases
    from tm2tfr.runs.options import RunOptions


_MOST_DIGITS = 12


@dataclass(frozen=True, kw_only=True)
class Many:
    """What is asked for: all inputs, or so many random ones.

    Raises:
        UsageError: if the options cannot be combined.
    """

    everything: bool
    count: int | None
    seed: str | None
    words: tuple[str, ...]
    run: RunOptions

    def __post_init__(self) -> None:
        if self.everything and self.count is not None:
            raise UsageError("tm2tfr check: --all and --random cannot be combined: omit one of them")
        if self.words:
            one = "--all" if self.everything else "--random"
            raise UsageError(f"tm2tfr check: {one} and --input cannot be combined: omit one of them")
        if self.seed is not None and not (self.seed.isascii() and self.seed.isdecimal() and len(self.seed) <= _MOST_DIGITS):
            what = f"tm2tfr check: --seed: {self.seed[:40]!r} is not a seed"
            raise UsageError(f"{what}: use a whole number from 0 on, of at most {_MOST_DIGITS} digits")
        if self.run.max_steps is not None:
            one = "--all" if self.everything else "--random"
            raise UsageError(f"tm2tfr check: {one} runs a circuit to its last gate: omit --max-steps")
        if self.run.recorded:
            raise UsageError("tm2tfr check: there are many runs, and a checkpoint or file of rows contains one: omit it")

    def checked(self, subject: Subject) -> Cases:
        """Run them, with a line of progress, and return what was found.

        Raises:
            CompileError: if it is not a circuit.
            InputError: if there are too many inputs.
        """
        from tm2tfr.api.cases import check_many

        if subject.construction is None or subject.construction.noun != "circuit":
            what = "--all" if self.everything else "--random"
            raise CompileError(
                f"{subject.name} is not a circuit, and {what} goes through the inputs of one: see tm2tfr sweep"
            )
        seed = 0 if self.seed is None else int(self.seed)
        with _counting() as progress:
            return check_many(
                subject, self.count, seed=seed, engine=self.run.engine, dtype=self.run.dtype, progress=progress
            )


def report_of_cases(found: Cases, *, as_json: bool) -> NoReturn:
    """Print what was found, and exit: 1 if a bit is wrong."""
    if as_json:
        tell(json.dumps(found.as_dict(), ensure_ascii=False), as_json=True)
    else:
        counts = f"{visible(found.circuit)}: {counted(found.runs, 'run')}, {counted(found.bits, 'bit')} compared"
        tell(f"{counts}, all agree" if found.agrees else f"{counts}, the last run FAILED", as_json=False)
        if found.failure is not None:
            tell(f"FAIL  {found.failure.input}: {found.failure.divergence}", as_json=False)
    raise click.exceptions.Exit(0 if found.agrees else 1)


@contextmanager
def _counting() -> Iterator[Callable[[int, int], None]]:
    """Yield a callback that shows finished inputs on a terminal.

    Raises:
        Interrupted: on Ctrl-C, saying how many are done.
    """
    from tm2tfr.cli.progress import line

    standing, began = (0, 0), time.monotonic()
    bar = (
        line("{task.completed:,} of {task.fields[inputs]} inputs, {task.fields[rate]:,.0f} per second") if _tty() else None
    )
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


def _tty() -> bool:
    return sys.stderr.isatty()
