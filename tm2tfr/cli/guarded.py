"""A command carried out to its exit code: errors become messages on standard error, never a traceback."""

from __future__ import annotations

import os
import sys
import warnings

import click

from tm2tfr import interrupts
from tm2tfr.cli import output as streams
from tm2tfr.cli.cautions import warn_once
from tm2tfr.cli.options import ALL
from tm2tfr.cli.progress import telling_of_compiling
from tm2tfr.cli.subject import names_machine
from tm2tfr.errors import Interrupted, Tm2tfrError

OUT_OF_MEMORY = "out of memory: the run is too long for this engine: lower --max-steps"


def guarded(app: click.Group, arguments: list[str]) -> int:
    """Run `app` and return the exit code; errors become messages on standard error."""
    warnings.simplefilter("ignore")
    streams.prepare()
    warn_once.cache_clear()
    code = _ran(app, streams.decoded(arguments))
    if note := streams.note():
        _say(note)
    return code


def _ran(app: click.Group, arguments: list[str]) -> int:
    try:
        try:
            interrupts.raising(True)
            with telling_of_compiling(arguments):
                answer = app(args=_with_optional_layer(arguments), standalone_mode=False)
            sys.stdout.flush()
        finally:
            interrupts.raising(False)
    except (KeyboardInterrupt, Exception, SystemExit) as error:  # noqa: BLE001  (the last line of defence)
        return _code_of(error)
    return answer if isinstance(answer, int) else 0


def _code_of(error: BaseException) -> int:
    """Say what went wrong and return the exit code: no traceback for users."""
    told = isinstance(error, Interrupted)
    if told or interrupts.heard() or isinstance(error, KeyboardInterrupt | click.Abort):
        _say(f"{error}" if told else "interrupted")
        return interrupts.CODE
    if isinstance(error, Tm2tfrError | MemoryError):
        _say(f"{error}" if isinstance(error, Tm2tfrError) else OUT_OF_MEMORY)
        return 2
    lost = _output_lost(error)
    return _unexpected(error) if lost is None else lost


def _say(message: str) -> None:
    try:
        click.echo(message, err=True)
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
    click.echo(f"internal error: {what}: this is a bug, please report it with the command and TM2TFR_DEBUG=1", err=True)
    return 70


def _with_optional_layer(arguments: list[str]) -> list[str]:
    """Return the arguments with the LAYER of ``--explain`` filled in where it was omitted."""
    if "--explain" not in arguments:
        return arguments
    at = arguments.index("--explain") + 1
    following = arguments[at] if at < len(arguments) else "-"
    machine = following.startswith("-") or names_machine(following)
    return [*arguments[:at], ALL, *arguments[at:]] if machine else arguments
