"""The classes of commands and of their group: help in panels, and our own error messages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import click

from tm2tfr.cli import colour, completion, usage

WIDEST = 100
"""The longest line of help, however wide the terminal."""
SETTINGS: Mapping[str, Any] = {"help_option_names": ["-h", "--help"], "max_content_width": WIDEST}


PANELS = ("Arguments", "Options", "Slides", "Running", "Long runs", "The construction", "Universal decoder", "Circuits")
"""The order of the panels of a command's help."""
OLDER = {"verify-checkpoint": "verify-export", "machines": "list", "figure-1": "soften --figure 1"}
"""The older name of a command -> its name, with the option that says which part of it."""


class Command(click.Command):
    """A command with its options in panels and an example to paste."""

    def __init__(self, *args: Any, summary: str = "", example: str = "", **kwargs: Any) -> None:
        kwargs.setdefault("context_settings", dict(SETTINGS))
        super().__init__(*args, **kwargs)
        self.summary, self.example = summary, example

    def format_arguments(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write nothing: the arguments are written with the options."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the example, the arguments, and the options panel by panel."""
        if self.example:
            with formatter.section(_heading("Example")):
                formatter.write(f"{'':>{formatter.current_indent}}{self.example}\n")
        for title, params in panels(self, ctx).items():
            with formatter.section(_heading(title)):
                formatter.write_dl([record for p in params if (record := p.get_help_record(ctx))], col_max=26)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the command line; an error about it suggests what was probably meant.

        Raises:
            UsageError: if it cannot be understood.
        """
        given, ctx.allow_extra_args = list(args), True
        try:
            rest = super().parse_args(ctx, args)
        except click.UsageError as error:
            error.ctx = error.ctx or ctx  # not all errors have a context
            raise usage.told(error, given) from error
        if rest and not ctx.resilient_parsing:
            raise usage.stray_arguments(ctx, given, rest)
        return rest


def panels(command: click.Command, context: click.Context) -> dict[str, list[click.Parameter]]:
    """Return the visible parameters by the title of their panel: arguments, options, and the panels of options."""
    found: dict[str, list[click.Parameter]] = {title: [] for title in PANELS}
    for param in sorted(command.get_params(context), key=lambda param: getattr(param, "last", False)):
        title = getattr(param, "panel", "") or "Options"
        found.setdefault("Arguments" if isinstance(param, click.Argument) else title, []).append(param)
    return {title: params for title, params in found.items() if any(p.get_help_record(context) for p in params)}


def command(name: str | None = None, *, summary: str, example: str) -> Callable[[Callable[..., Any]], click.Command]:
    """Declare a command with its line in the list of commands and an example to paste."""
    return click.command(name, cls=Command, summary=summary, example=example)


class Group(click.Group):
    """The commands, in panels; `main` raises `UsageError` if the command line cannot be understood."""

    def __init__(self, commands: Mapping[str, Iterable[click.Command]], **kwargs: Any) -> None:
        self.panels = {title: tuple(listed) for title, listed in commands.items()}
        every = [each for listed in self.panels.values() for each in listed]
        super().__init__(commands=every, context_settings=dict(SETTINGS), **kwargs)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands in the order of the panels."""
        return list(self.commands)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands panel by panel, each with its summary."""
        width = max(map(len, self.commands))
        for title, listed in self.panels.items():
            with formatter.section(_heading(title)):
                formatter.write_dl([(f"{c.name:<{width}}", getattr(c, "summary", "")) for c in listed])

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands before the options: they are what a reader is looking for."""
        self.format_commands(ctx, formatter)
        records = [record for param in self.get_params(ctx) if (record := param.get_help_record(ctx))]
        with formatter.section(_heading("Options")):
            formatter.write_dl(records)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command by its name, or by an older one, which still works but is not shown."""
        return super().get_command(ctx, OLDER.get(cmd_name, cmd_name).split()[0])

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command; an error about an unknown one suggests what was probably meant."""
        if not ctx.resilient_parsing and args[0] in OLDER:
            if args[0] == "machines" and not _positional(args[1:]):
                args = [*args, "machines"]
            args = [args[0], *OLDER[args[0]].split()[1:], *args[1:]]
            click.echo(f"warning: {args[0]} is now called {OLDER[args[0]]}", err=True)
        if not ctx.resilient_parsing and args[0] not in {*self.commands, *OLDER} and not args[0].startswith("-"):
            raise usage.unknown_command(args[0], args[1:], self.commands)
        return super().resolve_command(ctx, args)

    def main(self, *args: Any, **extra: Any) -> Any:
        """Run the command line, see `click.Command.main`.

        Raises:
            UsageError: if the command line cannot be understood.
        """
        try:
            return super().main(*args, **{"prog_name": "tm2tfr", "complete_var": completion.VARIABLE, **extra})
        except click.UsageError as error:
            raise usage.told(error) from error
        except SystemExit as end:  # this is how an answer to the shell ends
            if isinstance(end.__cause__, OSError):
                raise end.__cause__ from None
            return end.code

    def make_context(self, *args: Any, **extra: Any) -> click.Context:
        """Read the command line, see `click.Command.make_context`; ``--help`` is handled here."""
        with _kept():
            return super().make_context(*args, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command, see `click.Group.invoke`."""
        with _kept():
            return super().invoke(ctx)


@contextmanager
def _kept() -> Iterator[None]:
    """Carry the error of a reader that went away past Click, which would turn it into a failure and lose the cause."""
    try:
        yield
    except BrokenPipeError as error:
        raise SystemExit(0) from error


def _positional(arguments: Sequence[str]) -> bool:
    """Return whether there is a word among the arguments of ``list`` that is neither an option nor the value of one."""
    options = [word for word in arguments if word in ("--format", "--from")]
    return sum(not word.startswith("-") for word in arguments) > len(options)


def _heading(title: str) -> str:
    return colour.styled(title, "bold")
