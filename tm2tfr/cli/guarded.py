"""A command carried out to its exit code: errors become messages on standard error, never a traceback."""

from __future__ import annotations

import os
import shlex
import sys
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path

import typer
import typer._click.exceptions as misunderstood  # no public name: Typer's own errors, raised by its parser
from typer.core import TyperCommand, TyperGroup, TyperOption

from tm2tfr.base import interrupts
from tm2tfr.base.errors import Interrupted, Tm2tfrError, UsageError, did_you_mean, for_command_line
from tm2tfr.cli import output as streams
from tm2tfr.cli.output import warn_once
from tm2tfr.cli.parameters import LineContext
from tm2tfr.cli.progress import telling_of_compiling

COMPLETION = "_TM2TFR_COMPLETE"
"""The variable with which a shell asks Typer how a line goes on."""
OUT_OF_MEMORY = "out of memory: the run is too long for this engine: lower --max-steps"


def guarded(app: TyperCommand | TyperGroup, arguments: list[str]) -> int:
    """Run a group of commands, or a command, and return the exit code; errors become messages on standard error."""
    warnings.simplefilter("ignore")
    if os.environ.get("COLUMNS") == "0":  # where the width is not known, which would leave nothing of a page of help
        del os.environ["COLUMNS"]
    streams.prepare()
    warn_once.cache_clear()
    with for_command_line():
        code = _ran(app, streams.decoded(arguments))
    if note := streams.note():
        _say(note)
    return code


def _ran(app: TyperCommand | TyperGroup, arguments: list[str]) -> int:
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


def _run(app: TyperCommand | TyperGroup, arguments: list[str]) -> int:
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
    described = isinstance(error, Interrupted)
    if described or interrupts.heard() or isinstance(error, KeyboardInterrupt | typer.Abort):
        _say(f"{error}" if described else "interrupted")
        return interrupts.CODE
    if isinstance(error, Misunderstood):
        error = told(error, arguments)
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


# ── a command line that cannot be understood: where, what, and what was probably meant ──────────────────────
Misunderstood = misunderstood.UsageError
"""What Typer raises about a command line."""


def told(error: misunderstood.UsageError, given: Sequence[str] = ()) -> UsageError:
    """Return an error of Typer with our own message; `given` is the line that was typed."""
    where = error.ctx.command_path if error.ctx else "tm2tfr"
    see = f"see '{where} --help'"
    match error:
        case misunderstood.NoSuchOption():
            single = (w.partition("=")[0] for w in given if w.startswith(error.option_name))
            typed = next((w for w in single if f"-{w}" in _options(error.ctx)), None)
            close = f" (did you mean '-{typed}'?)" if typed else did_you_mean(error.option_name, _options(error.ctx))
            return UsageError(f"{where}: unknown option {(typed or error.option_name)!r}{close}: {see}")
        case misunderstood.BadOptionUsage():
            needs = "takes no value" if "not take" in error.message else "needs a value"
            return UsageError(f"{where}: {error.option_name} {needs}: {see}")
    return UsageError(f"{where}: {error.format_message().rstrip('.')}: {see}")


def _options(context: LineContext | None) -> Iterable[str]:
    return [] if context is None else [name for param in context.command.get_params(context) for name in param.opts]


_CALLED = {"run": "trace"}
"""What a command is called elsewhere -> its name here."""


def unknown_command(name: str, rest: Sequence[str], commands: Iterable[str]) -> UsageError:
    """Return the error about an unknown command, which may be a machine or a spec for which the command was omitted."""
    what = f"tm2tfr: unknown command {name!r}"
    if name in _CALLED:
        return UsageError(f"{what}: did you mean: {_line('tm2tfr', _CALLED[name], *rest)}")
    close = "" if ":" in name else did_you_mean(name, commands)
    if not close and (verb := _verb_for(name)):
        stray = [word for word in rest if not word.startswith("-")]
        options = [part for word in stray for part in ("--input", word)] if len(stray) == len(rest) else rest
        return UsageError(f"{what}: did you mean: {_line('tm2tfr', verb, name, *options)}")
    return UsageError(f"{what}{close}: see 'tm2tfr --help'")


def _verb_for(name: str) -> str | None:
    """Return the command that was probably meant to run on `name`."""
    from tm2tfr.base.resources import SPECS, shipped
    from tm2tfr.cli.subject import names_machine

    if names_machine(name):
        return "trace"
    return "sweep" if name in shipped(SPECS) else None


def stray_arguments(context: LineContext, arguments: Sequence[str], stray: Sequence[str]) -> UsageError:
    """Return the error about extra arguments: perhaps an input word or an output file whose option was omitted."""
    where = context.command_path
    what = f"{where}: unexpected argument{'' if len(stray) == 1 else 's'} {', '.join(map(repr, stray))}"
    options = {param.name: param for param in context.command.params if isinstance(param, TyperOption)}
    word, output = options.get("word") or options.get("words"), options.get("output")
    kept = list(arguments)
    for each in stray:
        del kept[len(kept) - 1 - kept[::-1].index(each)]
    weights = len(stray) == 1 and Path(stray[0]).suffix.lower() == ".safetensors" and Path(stray[0]).is_file()
    if weights and "universal" in options and not any(word.startswith("--universal") for word in kept):
        return UsageError(f"{what}: did you mean: {_line(where, *kept, '--universal', *stray)}")
    given = [word for word in kept if Path(word).suffix.lower() == ".safetensors"]
    if given and len(stray) == 1 and "universal" in options and Path(stray[0]).is_file():
        others = [word for word in kept if word not in given]
        return UsageError(f"{what}: did you mean: {_line(where, *others, *stray, '--universal', *given[:1])}")
    if output is not None and len(stray) == 1 and Path(stray[0]).suffix:
        return UsageError(f"{what}: did you mean: {_line(where, *kept, '-o', *stray)}")
    if word is not None and (len(stray) == 1 or word.multiple):
        return UsageError(f"{what}: did you mean: {_line(where, *kept, *(p for each in stray for p in ('--input', each)))}")
    return UsageError(f"{what}: omit {'it' if len(stray) == 1 else 'them'}, or see '{where} --help'")


def _line(*words: str) -> str:
    """Return a command that can be pasted into a shell."""
    first, *rest = words
    return " ".join([first, *map(shlex.quote, rest)])
