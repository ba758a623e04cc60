"""The command ``compare``: learned attention beside compiled."""

from __future__ import annotations

from pathlib import Path

import click

from tm2tfr.cli import options
from tm2tfr.cli.arguments import FILE
from tm2tfr.cli.pages import command


@command(summary="Compare learned attention with compiled", example="tm2tfr compare run --plot figure-2.svg")
@options.argument("run", type=FILE, help="The folder of a finished run of tm2tfr train.")
@options.file("--plot", help="Draw both side by side in this .png, .svg or .pdf file (extra: plot).")
@options.count("--inputs", least=1, default=100, help="Look at N unseen inputs. Default: 100.")
@options.flag("--json", "as_json", help="Print the numbers as JSON.")
def compare(run: Path, plot: Path | None, inputs: int, as_json: bool) -> None:
    """Compare where a trained model looks with where the compiled weights look, in numbers and as a picture."""
    from tm2tfr.places import check_file

    check_file(plot)
    if plot is not None:
        from tm2tfr.softness.plot import checked

        checked(plot)
    from tm2tfr.api.training import compare as comparison
    from tm2tfr.training.compare.report import comparison_report, plot_comparison

    found = comparison(run, inputs=inputs)
    click.echo(found.json() if as_json else comparison_report(found), nl=not as_json)
    if plot is not None:
        plot_comparison(found, plot)
        click.echo(f"wrote {plot}", err=True)
