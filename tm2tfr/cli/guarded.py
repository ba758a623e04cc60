"""A command carried out to its exit code: errors become messages on standard error, never a traceback."""

from __future__ import annotations

import os
import sys
import warnings

import click

from tm2tfr.cli import output as streams
from tm2tfr.cli.options import ALL
from tm2tfr.cli.progress import telling_of_compiling
from tm2tfr.cli.subject import names_machine
from tm2tfr.errors import Interrupted, Tm2tfrError


def guarded(app: click.Group, arguments: list[str]) -> int:
    """Run `app` and return the exit code; errors become messages on standard error."""
    warnings.simplefilter("ignore")
    streams.prepare()
    code = _ran(app, streams.decoded(arguments))
    if note := streams.note():
        _say(note)
    return code


def _ran(app: click.Group, arguments: list[str]) -> int:
    try:
        with telling_of_compiling(arguments):
            answer = app(args=_with_optional_layer(arguments), standalone_mode=False)
        sys.stdout.flush()
    except (KeyboardInterrupt, click.Abort):
        _say("interrupted")
        return 130
    except Tm2tfrError as error:
        _say(f"{error}")
        return 130 if isinstance(error, Interrupted) else 2
    except MemoryError:
        _say("out of memory: the run is too long for this engine: lower --max-steps")
        return 2
    except (Exception, SystemExit) as error:  # noqa: BLE001  (the last line of defence: no traceback for users)
        lost = _output_lost(error)
        return _unexpected(error) if lost is None else lost
    return answer if isinstance(answer, int) else 0


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
