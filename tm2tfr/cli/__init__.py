"""The command line: each command loads, makes a library call, prints, and sets the exit code.

Exit codes: 0, 1 for a check that failed, 2 for bad input, 130 for Ctrl-C. Heavy imports happen inside the
commands, so that ``--help`` answers at once.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Annotated

import typer

from tm2tfr import console
from tm2tfr._version import __version__
from tm2tfr.cli import datasets, exploring, exports, machines, proofs, runs

COMMANDS: tuple[Callable[..., None], ...] = (
    runs.compile,
    runs.trace,
    runs.table,
    runs.check,
    exploring.explore,
    proofs.certify,
    proofs.soften,
    exports.export,
    exports.verify_checkpoint,
    datasets.dataset,
    datasets.sweep,
    machines.graph,
    machines.convert,
    machines.machines,
)
"""The commands, as ``--help`` lists them; the name of a function is the name of its command."""

app = typer.Typer(
    name="tm2tfr",
    help="A Turing machine goes in, the weights of a transformer decoder come out, and every token that the decoder "
    "generates is checked against a reference simulator.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def _version(
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.", is_eager=True)] = False,
) -> None:
    if version:
        typer.echo(f"tm2tfr {__version__}")
        raise typer.Exit


for _command in COMMANDS:
    app.command()(_command)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit."""
    sys.exit(console.guarded(app, list(sys.argv[1:] if arguments is None else arguments)))
