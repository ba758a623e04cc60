"""A command carried out to its exit code: errors become messages on standard error, never a traceback."""

from __future__ import annotations

import os
import sys
import warnings
from typing import Any

import typer

from tm2tfr.base import interrupts
from tm2tfr.base.errors import Interrupted, Tm2tfrError
from tm2tfr.cli import output as streams
from tm2tfr.cli import usage
from tm2tfr.cli.cautions import warn_once
from tm2tfr.cli.progress import telling_of_compiling

COMPLETION = "_TM2TFR_COMPLETE"
"""The variable with which a shell asks Typer how a line goes on."""
OUT_OF_MEMORY = "out of memory: the run is too long for this engine: lower --max-steps"


def guarded(app: Any, arguments: list[str]) -> int:
    """Run a group of commands, or a command, and return the exit code; errors become messages on standard error."""
    warnings.simplefilter("ignore")
    if os.environ.get("COLUMNS") == "0":  # where the width is not known, which would leave nothing of a page of help
        del os.environ["COLUMNS"]
    streams.prepare()
    warn_once.cache_clear()
    code = _ran(app, streams.decoded(arguments))
    if note := streams.note():
        _say(note)
    return code


def _ran(app: Any, arguments: list[str]) -> int:
    try:
        try:
            interrupts.raising(True)
            with telling_of_compiling(arguments):
                code = _run(app, arguments)
            sys.stdout.flush()
        finally:
            interrupts.raising(False)
    except (KeyboardInterrupt, Exception, SystemExit) as error:  # noqa: BLE001  (the last line of defence)
        return _code_of(error, arguments)
    return code


def _run(app: Any, arguments: list[str]) -> int:
    """Read the command line and run the command; Typer's own `main` would turn errors of streams into exit codes."""
    if os.environ.get(COMPLETION):
        app.main(arguments, prog_name="tm2tfr")
    try:
        with app.make_context("tm2tfr", arguments.copy()) as context:
            app.invoke(context)
    except typer.Exit as end:
        return end.exit_code
    return 0


def _code_of(error: BaseException, arguments: list[str]) -> int:
    """Say what went wrong and return the exit code: no traceback for users."""
    told = isinstance(error, Interrupted)
    if told or interrupts.heard() or isinstance(error, KeyboardInterrupt | typer.Abort):
        _say(f"{error}" if told else "interrupted")
        return interrupts.CODE
    if isinstance(error, usage.Misunderstood):
        error = usage.told(error, arguments)
    if isinstance(error, Tm2tfrError | MemoryError):
        _say(f"{error}" if isinstance(error, Tm2tfrError) else OUT_OF_MEMORY)
        return 2
    lost = _output_lost(error)
    if lost is None and isinstance(error, SystemExit):  # this is how Typer answers a shell, and installs completion
        return int(error.code or 0)
    return _unexpected(error) if lost is None else lost


def _say(message: str) -> None:
    try:
        typer.echo(message, err=True)
    except OSError:  # there is nobody left to tell
        streams.silence(sys.stderr)


def _output_lost(error: BaseException) -> int | None:
    """Return the exit code if standard output accepts no more; a reader that went away has seen enough."""
    if streams.broken(error):
        streams.silence(sys.stdout)
        return 0
    if not isinstance(error, OSError) or not streams.full(error):
        return None
    streams.silence(sys.stdout)
    _say(str(streams.refusal(error)))
    return 2


def _unexpected(error: BaseException) -> int:
    if os.environ.get("TM2TFR_DEBUG"):
        raise error
    what = f"{type(error).__name__}: {error}"
    typer.echo(f"internal error: {what}: this is a bug, please report it with the command and TM2TFR_DEBUG=1", err=True)
    return 70
