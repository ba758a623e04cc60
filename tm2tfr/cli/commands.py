"""The classes of the commands and of their group, on top of Typer's: loaded when called, with our own error messages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from importlib import import_module
from typing import Any, cast

import typer
from typer.completion import install_callback, show_callback
from typer.core import TyperArgument, TyperCommand, TyperGroup
from typer.main import get_command

from tm2tfr.base.errors import OutputError, UsageError, did_you_mean
from tm2tfr.cli.guarded import Misunderstood, stray_arguments, unknown_command
from tm2tfr.cli.parameters import Argument, LineContext, Option, escaped

HELP = ("-h", "--help")
OLDER = {"verify-checkpoint": "verify-export", "machines": "list", "figure-1": "soften --figure 1"}
"""The older name of a command -> its name, with the option that says which part of it."""
OLDER_OPTIONS = {"trace": {"--out": "--output"}, "check": {"--out": "--output"}, "convert": {"--format": "--from"}}
"""A command -> the older names of its options, which still work, and are not shown."""
SHELLS = ("bash", "zsh", "fish", "powershell", "pwsh")
"""The shells that Typer completes words in."""
COMPLETIONS = {"--show-completion": show_callback, "--install-completion": install_callback}
"""Typer's options for completion -> what it does for each, for the shell that it finds or for one that is named."""


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

    example = ""

    def parse_args(self, ctx: LineContext, args: list[str]) -> list[str]:
        """Read the command line.

        Raises:
            UsageError: for arguments in excess, with what was probably meant.
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
        return rest

    def format_help(self, ctx: LineContext, formatter: Any) -> None:
        """Print the help."""
        from tm2tfr.cli.asked import for_help

        super(Command, for_help(self, ctx, self.example)).format_help(ctx, formatter)

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
        example: what may stand behind it, in a line to paste.
    """

    def __init__(self, name: str, panel: str, function: str, summary: str, example: str) -> None:
        super().__init__(name, short_help=summary, rich_help_panel=panel)
        self.function, self.example = function, example

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
        command.example = self.example
        return command

    def make_context(self, *args: Any, **extra: Any) -> Any:
        """Read the command line, see `typer.core.TyperCommand.make_context`."""
        return self.command.make_context(*args, **extra)


class Group(OwnParameters, TyperGroup):
    """The commands, in panels; what cannot be understood raises `UsageError`."""

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
