"""The command for interventions: ``intervene``."""

from __future__ import annotations

import json
from pathlib import Path

import click

from tm2tfr.cli import options
from tm2tfr.cli.arguments import seed_number
from tm2tfr.cli.asked import Asked
from tm2tfr.cli.asked import subject as subject_asked
from tm2tfr.cli.output import write_data
from tm2tfr.cli.pages import command
from tm2tfr.cli.progress import counting
from tm2tfr.cli.subject import subject
from tm2tfr.errors import UsageError

RANDOM = "Random interventions"
"""The panel of the help."""


@command(
    summary="Set variables of a run, in the reference and in the weights",
    example="tm2tfr intervene chapter --input 11 --set 'q@5=q1'",
)
@subject_asked(seed=(RANDOM, "The seed of --random, of the circuit 'random', and of the rules' order in prompts."))
@options.word
@options.option(
    "--set",
    "texts",
    multiple=True,
    metavar="VAR@POS=VALUE",
    help="Set a variable at a position: 'q@5=q3', or 'h@6 from 111@6' for its value in another run. Can be repeated.",
)
@options.choice(
    "--engine", of=("dense", "exact"), default="dense", panel=options.RUN, help="Run with numpy, or exact rationals."
)
@options.dtype
@options.count("--max-positions", least=1, panel=options.RUN, help="Stop each run after N positions. Default: 200.")
@options.flag("--variables", help="List the variables that can be set, with their names in weights, tables and labels.")
@options.flag("--json", "as_json", help="Print JSON.")
@options.count("--random", "count", least=1, panel=RANDOM, help="N random ones, with --seed, on random inputs, or --input.")
@options.file("--output", "-o", metavar="DIR", panel=RANDOM, help="Write the random interventions to this folder, as data.")
@options.flag("--parquet", panel=RANDOM, help="Write Parquet files beside the JSON Lines.")
@options.flag("--resume", panel=RANDOM, help="Resume the folder: make only what is missing.")
def intervene(
    asked: Asked,
    word: str | None,
    texts: tuple[str, ...],
    engine: str,
    dtype: str | None,
    max_positions: int | None,
    variables: bool,
    as_json: bool,
    count: int | None,
    output: Path | None,
    parquet: bool,
    resume: bool,
) -> None:
    """Set variables of a run at a position, and compare what must come out with what the weights answer.

    The reference says what must come out, since each variable has a meaning; the weights are run with the subspace of the
    variable overwritten. Exit code 1 if they differ. A variable is called what its subspace holds, or as the column of the
    table or of 'tm2tfr labels'; --variables lists all names.
    """
    from tm2tfr.api.interventions import MOST_POSITIONS, causal_variables, intervene, intervene_many

    if variables:
        others = {"--set": bool(texts), "--random": count is not None, "-o": output is not None}
        _refuse({**others, "--parquet": parquet, "--resume": resume}, "--variables sets nothing", "omit it")
        named = causal_variables(subject(asked), word)
        _tell(named.as_dict() if as_json else str(named))
        return
    most = max_positions or MOST_POSITIONS
    if count is None:
        folder = {"-o": output is not None, "--parquet": parquet, "--resume": resume}
        _refuse(folder, "this is about random interventions", "add --random N, or omit it")
        from tm2tfr.interventions.intervened import read_settings

        done = intervene(subject(asked), word, read_settings(texts), engine=engine, dtype=dtype, max_positions=most)
        _tell(done.as_dict() if as_json else str(done))
        raise click.exceptions.Exit(0 if done.agrees else 1)
    if texts:
        raise UsageError("tm2tfr intervene: --random draws what is set, and --set says it: omit one of them")
    if output is None and (parquet or resume):
        raise UsageError(f"tm2tfr intervene: {'--parquet' if parquet else '--resume'} is about a folder: add -o DIR")
    if output is not None:
        from tm2tfr.places import check_folder

        check_folder(output, reading=[asked.argument])
    words, seed = None if word is None else [word], _seed(asked)
    with counting("resume it with --resume" if output else "") as progress:
        tried = intervene_many(
            subject(asked, seeded=True),
            count,
            words=words,
            seed=seed,
            folder=output,
            parquet=parquet,
            resume=resume,
            engine=engine,
            dtype=dtype,
            max_positions=most,
            progress=progress,
        )
    _tell(tried.as_dict() if as_json else str(tried))
    raise click.exceptions.Exit(0 if tried.agrees else 1)


def _seed(asked: Asked) -> int:
    """Return the seed, 0 if none is given: with a universal decoder it is that of the order of rules as well."""
    return seed_number(asked.parameters.get("seed", asked.options.get("seed", 0)), "tm2tfr intervene")


def _refuse(given: dict[str, bool], why: str, do: str) -> None:
    wrong = next((option for option, there in given.items() if there), None)
    if wrong is not None:
        raise UsageError(f"tm2tfr intervene: {wrong}: {why}: {do}")


def _tell(found: object) -> None:
    write_data(f"{found}\n" if isinstance(found, str) else json.dumps(found, ensure_ascii=False, indent=2) + "\n")
