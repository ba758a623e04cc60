"""``check --all`` and ``check --random``, and ``check`` of a circuit without examples: many inputs of it at once."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from tm2tfr.cli.arguments import seed_number
from tm2tfr.cli.output import tell
from tm2tfr.errors import CompileError, Interrupted, UsageError, counted, visible

if TYPE_CHECKING:
    from typing import NoReturn

    from tm2tfr.api.subject import Subject
    from tm2tfr.runs.cases import Cases
    from tm2tfr.runs.options import RunOptions


MOST_INPUTS_BY_DEFAULT, RANDOM_BY_DEFAULT = 10, 100
"""A circuit without examples is run on all inputs if it has at most so many; otherwise on so many random ones, seed 0."""


@dataclass(frozen=True, kw_only=True)
class Many:
    """What is asked for: all inputs, or so many random ones.

    Args:
        default: whether nothing was asked for, and this is what is done then, see `by_default`.

    Raises:
        UsageError: if the options cannot be combined.
    """

    everything: bool
    count: int | None
    seed: str | None
    words: tuple[str, ...]
    run: RunOptions
    default: bool = False

    def __post_init__(self) -> None:
        if self.everything and self.count is not None:
            raise UsageError("tm2tfr check: --all and --random cannot be combined: omit one of them")
        if self.words:
            one = "--all" if self.everything else "--random"
            raise UsageError(f"tm2tfr check: {one} and --input cannot be combined: omit one of them")
        seed_number(self.seed or 0, "tm2tfr check")
        if self.default and (self.run.max_steps is not None or self.run.saved):
            one = "--max-steps and a checkpoint are for one run, and a circuit without examples has many"
            raise UsageError(f"tm2tfr check: {one}: choose one with --input")
        if self.run.max_steps is not None:
            one = "--all" if self.everything else "--random"
            raise UsageError(f"tm2tfr check: {one} runs a circuit to its last gate: omit --max-steps")
        if self.run.saved:
            raise UsageError("tm2tfr check: there are many runs, and a checkpoint contains one: omit it")

    def checked(self, subject: Subject) -> Cases:
        """Run them, with a line of progress, and return what was found.

        Raises:
            CompileError: if it is not a circuit.
            InputError: if there are too many inputs.
        """
        from tm2tfr.api.cases import check_many
        from tm2tfr.sources.registry import parameters_of

        if subject.construction is None or subject.construction.noun != "circuit":
            if parameters_of(subject.name):
                how = f"the circuit of this name takes --{parameters_of(subject.name)[0]}: add it"
                raise CompileError(f"{subject.name} is a machine, and --all goes through the inputs of a circuit: {how}")
            raise CompileError(
                f"{subject.name} is not a circuit, and --all goes through the inputs of one: use --all-up-to"
            )
        with counting_inputs() as progress:
            run = self.run
            return check_many(
                subject, self.count, seed=self.seeded, engine=run.engine, dtype=run.dtype, out=run.out, progress=progress
            )

    @property
    def seeded(self) -> int:
        """The seed of random inputs."""
        return seed_number(self.seed or 0, "tm2tfr check")

    def heading(self, subject: Subject) -> str:
        """Return the line that says which inputs are run, where that was not asked for."""
        inputs = len(subject.right.inputs)
        if self.everything:
            return f"no examples: all {2**inputs:,} inputs"
        return f"no examples: {self.count} random inputs of 2^{inputs}, seed 0 (more with --random)"


def by_default(subject: Subject, words: tuple[str, ...], run: RunOptions) -> Many | None:
    """Return what is checked of a circuit without examples when no input is named; None: it is no such circuit."""
    if words or subject.examples or subject.construction is None or subject.construction.noun != "circuit":
        return None
    everything = len(subject.right.inputs) <= MOST_INPUTS_BY_DEFAULT
    count = None if everything else RANDOM_BY_DEFAULT
    return Many(everything=everything, count=count, seed=None, words=(), run=run, default=True)


def report_of_cases(many: Many, subject: Subject, *, as_json: bool) -> NoReturn:
    """Run them, print what was found, and exit: 1 if a bit is wrong."""
    if many.default and not as_json:
        tell(many.heading(subject), as_json=False)
    found = many.checked(subject)
    if as_json:
        which = {"inputs": "all"} if many.everything else {"inputs": "random", "seed": many.seeded}
        tell(json.dumps({**found.as_dict(), **which}, ensure_ascii=False), as_json=True)
    else:
        counts = f"{visible(found.circuit)}: {counted(found.runs, 'run')}, {counted(found.bits, 'bit')} compared"
        tell(f"{counts}, all agree" if found.agrees else f"{counts}, the last run FAILED", as_json=False)
        if found.failure is not None:
            tell(f"FAIL  {found.failure.input}: {found.failure.divergence}", as_json=False)
    if many.run.out is not None:
        click.echo(f"wrote {many.run.out}", err=True)
    raise click.exceptions.Exit(0 if found.agrees else 1)


@contextmanager
def counting_inputs() -> Iterator[Callable[[int, int], None]]:
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
