"""``trace --step``: what it is refused for, and the run that it shows."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

from tm2tfr.cli.progress import showing
from tm2tfr.errors import OutputError, UsageError

if TYPE_CHECKING:
    from tm2tfr.api.subject import Subject
    from tm2tfr.runs.options import RunOptions
    from tm2tfr.trace.check import Trace


def check_step(run: RunOptions, others: Mapping[str, bool]) -> None:
    """Refuse what cannot be stepped through, before the work.

    Args:
        others: options that print a run, each with whether it was given.

    Raises:
        UsageError: where there is no terminal, or for an option that has no effect.
        OutputError: if Textual is missing.
    """
    from tm2tfr.choices import AUTO
    from tm2tfr.extras import required

    recorded = {"--output": run.out, "--checkpoint": run.checkpoint, "--resume": run.resume}
    given = [name for name, there in (*others.items(), *recorded.items()) if there]
    if given:
        raise UsageError(f"tm2tfr trace: {given[0]} prints or records a run, and --step shows it: omit one of them")
    if run.engine not in (AUTO, "dense"):
        raise UsageError(f"tm2tfr trace: --step watches the dense engine, not {run.engine}: omit --engine")
    for name, stream in (("input", sys.stdin), ("output", sys.stdout)):
        if stream is None or not stream.isatty():
            what = f"tm2tfr trace: --step needs a terminal, and standard {name} is not one"
            raise UsageError(f"{what}: omit it, or draw the steps with tm2tfr explore --frames DIR")
    if os.environ.get("TERM") == "dumb":
        what = "tm2tfr trace: --step needs a terminal that moves its cursor, and TERM says that this one is dumb"
        raise UsageError(f"{what}: use another terminal, or draw the steps with tm2tfr explore --frames DIR")
    required("stepping through a run in the terminal needs Textual", ["textual"], "step", error=OutputError)


def stepped(found: Subject, word: str | None, run: RunOptions) -> Trace:
    """Run, show the run until its reader quits, and return it.

    Raises:
        CompileError: for soft weights.
    """
    from tm2tfr.api.moments import moments
    from tm2tfr.cli.step.app import StepApp

    window = max(5, min(61, shutil.get_terminal_size().columns // 4))
    with showing(run.max_steps) as shown:
        watched = moments(found, word, dtype=run.dtype, max_steps=run.max_steps, window=window, progress=shown.progress)
    StepApp(watched).run()
    return watched.trace
