"""The command line: each command loads, makes a library call, prints, and sets the exit code.

Exit codes: 0 for success, 1 for a failed check, 2 for bad input, 130 for Ctrl-C. Heavy imports happen inside the
commands, so that ``--help`` is immediate.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import click

from tm2tfr import interrupts
from tm2tfr._version import __version__
from tm2tfr.cli import completion, datasets, exploring, exports, machines, pages, proofs, runs
from tm2tfr.cli.exploring import plot
from tm2tfr.cli.guarded import guarded
from tm2tfr.cli.options import Option
from tm2tfr.cli.research import hidden
from tm2tfr.cli.research.intervene import intervene
from tm2tfr.cli.research.labels import labels
from tm2tfr.cli.research.train import compare, train
from tm2tfr.cli.universal import prompts

COMMANDS: Mapping[str, Sequence[click.Command]] = {
    "Inspect": (
        runs.trace,
        runs.table,
        exploring.explore,
        exploring.playground,
        plot,
        machines.graph,
        machines.list_,
    ),
    "Verify": (runs.check, datasets.sweep, proofs.certify, proofs.soften, exports.verify_export),
    "Export": (runs.compile, prompts.prompt, exports.export, machines.convert, datasets.dataset),
    "Research": (labels, intervene, hidden.disguise, hidden.score, train, compare),
}
"""The commands by panel, as ``--help`` lists them."""


def _version(context: click.Context, _: click.Parameter, value: bool) -> None:
    if value and not context.resilient_parsing:
        click.echo(f"tm2tfr {__version__}")
        context.exit()


def _completion(context: click.Context, param: click.Parameter, value: str | None) -> None:
    if not value or context.resilient_parsing:
        return
    shell = completion.shell_named(value)
    if param.name == "show_completion":
        click.echo(completion.script(app, shell))
    else:
        click.echo(f"wrote {completion.installed(app, shell)}: start a new {shell} to use it", err=True)
    context.exit()


def _help(context: click.Context) -> None:
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


def _shell(name: str, help: str) -> Option:
    about: dict[str, Any] = {"metavar": "[SHELL]", "is_flag": False, "flag_value": completion.GUESS, "expose_value": False}
    return Option([name], callback=_completion, is_eager=True, help=help, **about)


app = pages.Group(
    COMMANDS,
    name="tm2tfr",
    callback=click.pass_context(_help),
    invoke_without_command=True,
    params=[
        Option(
            ["--version"],
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=_version,
            help="Print the version and exit.",
        ),
        _shell("--install-completion", "Complete commands, options, machines and files in bash, zsh or fish."),
        _shell("--show-completion", "Print the completion script."),
    ],
    help="A Turing machine, a Boolean circuit, a RASP program or a formula of temporal logic goes in, the weights of a "
    "transformer come out, and every token that it answers is checked against a reference that knows nothing of "
    "transformers.",
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit."""
    sys.exit(interrupts.finished(guarded(app, list(sys.argv[1:] if arguments is None else arguments))))
