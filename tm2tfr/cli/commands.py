"""The commands and their group, on top of Typer's classes, and a command carried out to its exit code.

A command is loaded when it is called. Errors become messages on standard error, never a traceback.
"""

from __future__ import annotations

import os
import shlex
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import typer
import typer._click.exceptions as misunderstood  # no public name: Typer's own errors, raised by its parser
from typer.completion import install_callback, show_callback
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption
from typer.main import get_command

from tm2tfr.base import interrupts
from tm2tfr.base.errors import Interrupted, OutputError, Tm2tfrError, UsageError, did_you_mean, for_command_line
from tm2tfr.cli import output as streams
from tm2tfr.cli.output import warn_once
from tm2tfr.cli.parameters import Argument, LineContext, Option, escaped
from tm2tfr.cli.progress import telling_of_compiling

HELP = ("-h", "--help")
OLDER = {"verify-checkpoint": "verify-export", "machines": "list", "figure-1": "soften --figure 1"}
"""The older name of a command -> its name, with the option that says which part of it."""
OLDER_OPTIONS = {"trace": {"--out": "--output"}, "check": {"--out": "--output"}, "convert": {"--format": "--from"}}
"""A command -> the older names of its options, which still work, and are not shown."""
SHELLS = ("bash", "zsh", "fish", "powershell", "pwsh")
"""The shells that Typer completes words in."""
COMPLETIONS = {"--show-completion": show_callback, "--install-completion": install_callback}
"""Typer's options for completion -> its function for each, for the shell that it finds or for a named one."""


class OwnParameters:
    """A command or a group whose parameters, and ``--help`` among them, read what was typed by themselves."""

    def get_params(self, ctx: LineContext) -> list[Any]:
        """Return the parameters; Typer has no place to name their class."""
        params: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for param in params:
            param.__class__ = Argument if isinstance(param, TyperArgument) else Option
        return params


class Command(OwnParameters, TyperCommand):
    """A command whose help is about the source that is named before ``--help``, and ends with an example."""

    example: str | None = None
    earlier = ""

    def parse_args(self, ctx: LineContext, args: list[str]) -> list[str]:
        """Read the command line.

        Raises:
            UsageError: for arguments in excess, with what was probably meant, and for several inputs where one is run.
        """
        older = OLDER_OPTIONS.get(str(self.name), {})
        given = list(_with_values([_renamed(word, older) for word in args]))
        ctx.obj, ctx.allow_extra_args = given, True
        try:
            rest = super().parse_args(ctx, list(given))
        except Misunderstood as error:
            error.ctx = error.ctx or ctx  # not all errors have a context
            raise
        if rest and not ctx.resilient_parsing:
            raise stray_arguments(ctx, given, rest)
        _, _, options = self.make_parser(ctx).parse_args(list(given))
        inputs = sum("--input" in option.opts and not option.multiple for option in options)
        if inputs > 1 and not ctx.resilient_parsing:
            what = f"{ctx.command_path}: --input is given {inputs} times, but {self.name} takes one input"
            raise UsageError(f"{what}: give it once; tm2tfr check takes several")
        return rest

    def format_help(self, ctx: LineContext, formatter: Any) -> None:
        """Print the help."""
        from tm2tfr.cli.asked import for_help

        super(Command, for_help(self, ctx, self.example, self.earlier)).format_help(ctx, formatter)

    def shell_complete(self, ctx: LineContext, incomplete: str) -> list[Any]:
        """Return how a word goes on: an option among those that apply to the source in the line."""
        from tm2tfr.cli.asked import of_source

        found, _ = of_source(self, ctx)
        words: list[Any] = super(Command, found).shell_complete(ctx, incomplete)
        return words


def _renamed(word: str, older: Mapping[str, str]) -> str:
    """Return a word of a command line with the newer name of an option."""
    name, equals, value = word.partition("=")
    return f"{older.get(name, name)}{equals}{value}"


def _with_values(words: Sequence[str]) -> Iterator[str]:
    """Yield the words of a command line, with a value behind each option whose value may be omitted.

    That of ``--universal`` is omitted in front of another option, the layer of ``--explain`` in front of a machine as well.
    """
    from tm2tfr.cli.options import ALL
    from tm2tfr.cli.subject import names_machine
    from tm2tfr.cli.universal import SIZES

    for n, word in enumerate(words):
        yield word
        following = words[n + 1] if n + 1 < len(words) else "--"
        option = following.startswith("-") and following != "-"
        if word == "--universal" and option:
            yield SIZES
        elif word == "--explain" and (option or names_machine(following)):
            yield ALL


class Later(TyperCommand):
    """A command in the list of all, which is imported when it is called.

    Args:
        panel: its panel in the list; summary: its line there.
        function: its module in `tm2tfr.cli`, and its function there.
        example: what may stand behind it, in a line to paste; earlier: the line that makes the files of this example.
    """

    def __init__(self, name: str, panel: str, function: str, summary: str, example: str, earlier: str = "") -> None:
        super().__init__(name, short_help=summary, rich_help_panel=panel)
        self.function, self.example, self.earlier = function, example, earlier

    @cached_property
    def command(self) -> Command:
        """The command itself."""
        from tm2tfr.cli.parameters import expanded

        module, _, name = self.function.partition(":")
        function = getattr(import_module(f"tm2tfr.cli.{module}"), name)
        paragraphs = [" ".join(each.split()) for each in (function.__doc__ or "").split("\n\n")]
        app = typer.Typer(add_completion=False)
        help = escaped("\n\n".join(paragraphs))
        app.command(self.name, cls=Command, help=help, context_settings={"help_option_names": list(HELP)})(
            expanded(function)
        )
        command = cast(Command, get_command(app))
        command.example, command.earlier = self.example, self.earlier
        return command

    def make_context(self, *args: Any, **extra: Any) -> Any:
        """Read the command line, see `typer.core.TyperCommand.make_context`."""
        return self.command.make_context(*args, **extra)


class Group(OwnParameters, TyperGroup):
    """The commands, in panels; an invalid command line raises `UsageError`."""

    def parse_args(self, ctx: LineContext, args: list[str]) -> list[str]:
        """Read the command line up to the command; behind the options for completion a shell may be named.

        Raises:
            UsageError: if there is no completion for the shell.
            OutputError: if completion cannot be installed.
        """
        option = next((word for word in args[:1] if word in COMPLETIONS), "")
        try:
            if option and len(args) == 2 and not ctx.resilient_parsing:
                COMPLETIONS[option](ctx, self.params[0], _shell(args[1]))
            return super().parse_args(ctx, args)
        except typer.Exit as end:
            if option and end.exit_code:
                raise UsageError(f"tm2tfr: name a shell behind {option}, one of {', '.join(SHELLS)}") from None
            raise
        except (OSError, UnicodeError) as error:
            name = getattr(error, "filename", None) or ("the shell's start file" if isinstance(error, UnicodeError) else "")
            if not name:
                raise
            what = f"{name}: completion cannot be installed ({getattr(error, 'strerror', None) or error})"
            raise OutputError(f"{what}: use --show-completion, and save what it prints yourself") from error

    def resolve_command(self, ctx: LineContext, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """Return the command, also by an older name; an error about an unknown one suggests what was probably meant."""
        name, *rest = args
        if name in OLDER:
            new, *options = OLDER[name].split()
            if name == "machines" and not _positional(rest):
                options = ["machines"]
            if not ctx.resilient_parsing:
                typer.echo(f"warning: {name} is now called {OLDER[name]}", err=True)
            name, rest = new, [*options, *rest]
        if not ctx.resilient_parsing and name not in self.commands and not name.startswith("-"):
            raise unknown_command(name, rest, self.commands)
        return super().resolve_command(ctx, [name, *rest])


def _shell(name: str) -> str:
    """Return the name of a shell that has completion. Raises UsageError for another."""
    if name not in SHELLS:
        what = f"tm2tfr: there is no completion for the shell {name!r}{did_you_mean(name, SHELLS)}"
        raise UsageError(f"{what}: use one of {', '.join(SHELLS)}")
    return name


def _positional(arguments: Sequence[str]) -> bool:
    """Return whether there is a word among the arguments of ``list`` that is neither an option nor the value of one."""
    options = [word for word in arguments if word in ("--format", "--from")]
    return sum(not word.startswith("-") for word in arguments) > len(options)


# ── a command carried out to its exit code ───────────────────────────────────────────────────────────────────────────────
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
