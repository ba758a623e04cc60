"""The command for one head: ``plot``."""

from __future__ import annotations

from pathlib import Path

import click

from tm2tfr.cli import options, softness
from tm2tfr.cli.asked import Asked
from tm2tfr.cli.asked import subject as subject_asked
from tm2tfr.cli.output import write
from tm2tfr.cli.pages import command
from tm2tfr.cli.subject import subject
from tm2tfr.errors import UsageError


@command(
    summary="Draw where a head looks, or its scores at one position",
    example="tm2tfr plot palindromes --input abba --head 4.1 -o head.svg",
)
@subject_asked()
@options.word
@options.option(
    "--head",
    metavar="[LAYER.]HEAD",
    default="1",
    help="The head: by name, or by number from 1, as in the explorer. Default: the first one.",
)
@options.count("--position", help="Its scores at position N, counted from 0, instead of a map of the whole run.")
@options.file(
    "--output",
    "-o",
    help="Write a picture to this .svg, .png or .pdf file (extra: plot) instead of text to standard output.",
)
@options.flag("--all", "everything", help="Where the prompt looks as well, of a machine in the prompt.")
@options.dtype
@options.attention
@options.temperature
def plot(
    asked: Asked,
    word: str | None,
    head: str,
    position: int | None,
    output: Path | None,
    everything: bool,
    dtype: str | None,
    attention: str | None,
    temperature: str | None,
) -> None:
    """Draw where a head looks in a run, as a map, or its scores at one position.

    A row of the map is called by the token answered, one after the position that looks; of a program or a formula, which
    answer nothing, by the position itself. Positions that tie share the weight of average-hard attention.
    """
    from tm2tfr.places import check_file
    from tm2tfr.tables.attention import ATTENTION_FORMATS, AttentionMap, plot_attention

    if everything and position is not None:
        raise UsageError("tm2tfr plot: --all is about the rows of a map, and --position shows one: omit one of them")
    check_file(output, reading=[asked.argument], what="plots", endings=ATTENTION_FORMATS)
    from tm2tfr.api.attention import MOST_MAPPED, attention_of, scores_of
    from tm2tfr.tables.scores import ScoresAt, plot_scores

    subjected = softness.for_run(subject(asked), attention, temperature, word, MOST_MAPPED)
    found: AttentionMap | ScoresAt
    if position is None:
        found = attention_of(subjected, word, head=head, dtype=dtype, prompt=everything)
        if len(found.columns) == MOST_MAPPED:
            click.echo(f"note: these are the first {MOST_MAPPED:,} positions of the run", err=True)
    else:
        found = scores_of(subjected, word, head=head, position=position, dtype=dtype)
    if output is None:
        write(found.text(), None, asked.argument)
        return
    if isinstance(found, ScoresAt):
        plot_scores(found, output)
    else:
        plot_attention(found, output)
    click.echo(f"wrote {output}", err=True)
