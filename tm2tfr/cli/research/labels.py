"""``labels``: what every position of many runs holds and where every head looks, as data."""

from __future__ import annotations

import re
from pathlib import Path

import click

from tm2tfr.choices import DTYPES
from tm2tfr.cli import options
from tm2tfr.cli.arguments import seed_number
from tm2tfr.cli.asked import Asked
from tm2tfr.cli.asked import subject as subject_asked
from tm2tfr.cli.datasets import engine, scheduler, workers
from tm2tfr.cli.pages import command
from tm2tfr.cli.progress import counting
from tm2tfr.cli.subject import subject
from tm2tfr.errors import ReadError, UsageError

_LENGTHS = re.compile(r"([0-9]{1,6})(?:(?: *- *| to )([0-9]{1,6}))?")


@command(
    summary="Write what every position and head of many runs holds",
    example="tm2tfr labels palindromes --random 1000 -o labels",
)
@subject_asked(seed=("", "The seed of --random, of the circuit 'random', and of the rules' order in prompts."))
@options.file("--output", "-o", metavar="DIR", required=True, help="The folder to create.")
@options.option("--input", "-i", "words", multiple=True, metavar="WORD", help="An input; can be repeated.")
@options.file("--inputs-from", "file", help="A file with an input on each line.")
@options.count(
    "--all-up-to",
    help="All inputs of up to N tokens; of a circuit all, if they have no more bits. With --random, random ones as well.",
)
@options.count(
    "--random",
    "count",
    least=1,
    metavar="K",
    help="K different random inputs, with --seed. Default, if nothing else is asked for: 1,000, or all there are.",
)
@options.option("--lengths", metavar="A-B", help="Random inputs of A to B tokens. Default: up to 10.")
@options.count("--max-steps", panel=options.RUN, help="Stop after N steps of a machine. Default: 1,000.")
@options.count(
    "--positions", least=1, help="The longest run of the exports that hooks.json is about. Default: that of 'export'."
)
@options.choice("--dtype", of=DTYPES, default="float64", help="The numbers of these exports. Default: float64.")
@options.count("--shard-size", least=1, default=10_000, panel=options.RUN, help="The runs in a file. Default: 10,000.")
@options.flag("--resume", help="Resume a folder: make only what is missing.")
@workers
@scheduler
@engine
def labels(
    asked: Asked,
    output: Path,
    words: tuple[str, ...],
    file: Path | None,
    all_up_to: int | None,
    count: int | None,
    lengths: str | None,
    max_steps: int | None,
    positions: int | None,
    dtype: str,
    shard_size: int,
    resume: bool,
    workers: int | None,
    scheduler: str | None,
    engine: str,
) -> None:
    """Write tokens, every variable, and where each head looks, for many runs: Parquet that datasets.load_dataset reads.

    The folder also says which variable each hook point of the exported models carries (hooks.json).
    """
    from tm2tfr.places import check_folder

    check_folder(output, reading=[asked.argument, *([] if file is None else [str(file)])])
    for option, given in (("--all-up-to", all_up_to), ("--random", count)):
        for other, there in (("--input", words), ("--inputs-from", file)):
            if given is not None and there:
                raise UsageError(f"tm2tfr labels: {option} and {other} cannot be combined: omit one of them")
    if lengths is not None and count is None:
        raise UsageError("tm2tfr labels: --lengths is about random inputs: add --random K")
    chosen = None if lengths is None else _lengths(lengths)
    listed = (*words, *(() if file is None else _lines(file)))
    found = subject(asked, seeded=count is not None)
    if max_steps is not None and found.machine is None:
        raise UsageError(f"tm2tfr labels: --max-steps is for machines, and this is a {found.noun}: omit it")
    from tm2tfr.api.labels import make_labels
    from tm2tfr.labels.report import labels_report

    with counting("resume it with --resume") as progress:
        made = make_labels(
            found,
            output,
            inputs=listed or None,
            all_up_to=all_up_to,
            random=count,
            lengths=chosen,
            seed=0 if count is None else seed_number(asked.parameters.get("seed", 0), "tm2tfr labels"),
            max_steps=max_steps,
            positions=positions,
            dtype=dtype,
            shard_size=shard_size,
            engine=engine,
            workers=workers,
            scheduler=scheduler,
            resume=resume,
            progress=progress,
        )
    click.echo(labels_report(made))
    raise click.exceptions.Exit(1 if made.failure or made.broken else 0)


def _lengths(text: str) -> tuple[int, int]:
    said = _LENGTHS.fullmatch(text)
    shortest, longest = (int(said[1]), int(said[2] or said[1])) if said else (1, 0)
    if shortest > longest:
        raise UsageError(f"tm2tfr labels: --lengths: {text[:40]!r} is no range of lengths: write for example 1-10")
    return shortest, longest


def _lines(path: Path) -> tuple[str, ...]:
    """Return the inputs in a file, one on each line.

    Raises:
        ReadError: if it cannot be read, is not UTF-8, or has no line.
    """
    try:
        found = tuple(path.read_text(encoding="utf-8-sig").splitlines())
    except OSError as error:
        raise ReadError(f"{path}: cannot be read ({error.strerror}): give a file with an input on each line") from error
    except UnicodeDecodeError as error:
        raise ReadError(f"{path}: is not UTF-8: save it as such") from error
    if not found:
        raise ReadError(
            f"{path}: there is no input in this file: write one on each line (an empty line is the empty input)"
        )
    return found
