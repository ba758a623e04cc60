"""``labels``: what every position of many runs holds and where every head looks, as data."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from tm2tfr.base.choices import DTYPES
from tm2tfr.base.errors import ReadError, UsageError
from tm2tfr.cli.arguments import seed_number
from tm2tfr.cli.asked import RANDOM_SEED, Asked, seed
from tm2tfr.cli.expanding import But
from tm2tfr.cli.options import RUN, EngineOption, SchedulerOption, WorkersOption, choice, count, file, option
from tm2tfr.cli.progress import counting
from tm2tfr.cli.subject import subject

_LENGTHS = re.compile(r"([0-9]{1,6})(?:(?: *- *| to )([0-9]{1,6}))?")


def labels(
    *,
    output: Annotated[Path, file("The folder to create.", "-o", metavar="DIR")],
    words: Annotated[list[str] | None, option("An input; can be repeated.", "--input", "-i", metavar="WORD")] = None,
    file: Annotated[Path | None, file("A file with an input on each line.", "--inputs-from")] = None,
    all_up_to: Annotated[
        int | None,
        count(
            "All inputs of up to N tokens; of a circuit all, if they have no more bits. With --random, random ones as well."
        ),
    ] = None,
    count: Annotated[
        int | None,
        count(
            "K different random inputs, with --seed. Default, if nothing else is asked for: 1,000, or all there are.",
            "--random",
            least=1,
            metavar="K",
        ),
    ] = None,
    lengths: Annotated[str | None, option("Random inputs of A to B tokens. Default: up to 10.", metavar="A-B")] = None,
    max_steps: Annotated[int | None, count("Stop after N steps of a machine. Default: 1,000.", panel=RUN)] = None,
    positions: Annotated[
        int | None, count("The longest run of the exports that hooks.json is about. Default: that of 'export'.", least=1)
    ] = None,
    dtype: Annotated[str, choice("The numbers of these exports. Default: float64.", of=DTYPES)] = "float64",
    shard_size: Annotated[int, count("The runs in a file. Default: 10,000.", least=1, panel=RUN)] = 10_000,
    resume: Annotated[bool, option("Resume a folder: make only what is missing.")] = False,
    workers: WorkersOption = None,
    scheduler: SchedulerOption = None,
    engine: EngineOption = "auto",
    asked: Annotated[Asked, But(draws=True, seed=seed("", RANDOM_SEED))],
) -> None:
    """Write tokens, every variable, and where each head looks, for many runs: Parquet that datasets.load_dataset reads.

    The folder also says which variable each hook point of the exported models carries (hooks.json).
    """
    from tm2tfr.base.places import check_folder

    check_folder(output, reading=(*asked.reading, file))
    for name, given in (("--all-up-to", all_up_to), ("--random", count)):
        for other, there in (("--input", words), ("--inputs-from", file)):
            if given is not None and there:
                raise UsageError(f"tm2tfr labels: {name} and {other} cannot be combined: omit one of them")
    if lengths is not None and count is None:
        raise UsageError("tm2tfr labels: --lengths is about random inputs: add --random K")
    chosen = None if lengths is None else _lengths(lengths)
    listed = (*(words or ()), *(() if file is None else _lines(file)))
    found = subject(asked, seeded=count is not None)
    if max_steps is not None and found.machine is None:
        raise UsageError(f"tm2tfr labels: --max-steps is for machines, and this is a {found.noun}: omit it")
    from tm2tfr.api.labels import make_labels
    from tm2tfr.lab.labels.make import labels_report

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
    typer.echo(labels_report(made))
    raise typer.Exit(1 if made.failure or made.broken else 0)


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
