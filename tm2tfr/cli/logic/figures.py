"""Commands that measure what a paper states: ``figure-1``."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from tm2tfr.choices import FIGURES
from tm2tfr.cli import options
from tm2tfr.cli.output import write
from tm2tfr.cli.pages import command
from tm2tfr.errors import UsageError

SHORTEST, LONGEST, MOST = 8, 64, 256


@command(
    name="figure-1",
    summary="Measure the temperatures that logics need",
    example="tm2tfr figure-1 --format markdown --plot figure-1.svg",
)
@options.choice("--format", of=FIGURES, default="text", help="A table, or every measurement.")
@options.output
@options.file("--plot", help="Draw 1/τ by length in this .png, .svg or .pdf file (extra: plot).")
@options.count(
    "--length",
    least=1,
    help=f"The longest words, behind {SHORTEST}, {2 * SHORTEST}, … tokens: from {SHORTEST} to {MOST}. Default: {LONGEST}.",
)
def figure_1(format: str, output: Path | None, plot: Path | None, length: int | None) -> None:
    """Measure Figure 1 of Yang et al. on compiled weights: temperature and position embedding by the length of words."""
    from tm2tfr.places import check_apart, check_file

    check_file(output)
    check_file(plot)
    check_apart(output, plot, "--plot")
    if plot is not None:
        from tm2tfr.softness.plot import checked

        checked(plot)
    from tm2tfr.api.figure_1 import figure_1 as measured
    from tm2tfr.softness.figure_1.report import report

    found = measured(
        lengths=_lengths(LONGEST if length is None else length), progress=_told if sys.stderr.isatty() else None
    )
    write(report(found, format), output, "")
    if plot is not None:
        from tm2tfr.softness.figure_1.report import plot as drawn

        drawn(found, plot)
        click.echo(f"wrote {plot}", err=True)


def _lengths(longest: int) -> list[int]:
    """Return 8, 16, … and the longest.

    Raises:
        UsageError: if that is too short, or too long.
    """
    if not SHORTEST <= longest <= MOST:
        what = f"tm2tfr figure-1: --length {longest} is not measured"
        raise UsageError(f"{what}: use {SHORTEST} to {MOST}, or tm2tfr.figure_1 in Python")
    doubled = [SHORTEST * 2**k for k in range(longest.bit_length()) if SHORTEST * 2**k < longest]
    return [*doubled, longest]


def _told(what: str) -> None:
    click.echo(f"measuring {what}", err=True)
