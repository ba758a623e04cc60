"""The command for interventions: ``intervene``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from tm2tfr.base.errors import UsageError
from tm2tfr.cli.arguments import seed_number
from tm2tfr.cli.asked import RANDOM_SEED, Asked, seed
from tm2tfr.cli.expanding import But
from tm2tfr.cli.options import RUN, DtypeOption, WordOption, choice, count, file, option
from tm2tfr.cli.output import write_data
from tm2tfr.cli.progress import counting
from tm2tfr.cli.subject import subject

RANDOM = "Random interventions"
"""The panel of the help."""


def intervene(
    *,
    word: WordOption = None,
    texts: Annotated[
        list[str] | None,
        option(
            "Set a variable at a position: 'q@5=q3', or 'h@6 from 111@6' for its value in another run. Can be repeated.",
            "--set",
            metavar="VAR@POS=VALUE",
        ),
    ] = None,
    variables: Annotated[
        bool, option("List the variables that can be set, with their names in weights, tables and labels.")
    ] = False,
    as_json: Annotated[bool, option("Print JSON.", "--json")] = False,
    engine: Annotated[str, choice("Run with numpy, or exact rationals.", of=("dense", "exact"), panel=RUN)] = "dense",
    dtype: DtypeOption = None,
    max_positions: Annotated[
        int | None, count("Stop each run after N positions. Default: 200.", least=1, panel=RUN)
    ] = None,
    count: Annotated[
        int | None, count("N random ones, with --seed, on random inputs, or --input.", "--random", least=1, panel=RANDOM)
    ] = None,
    output: Annotated[
        Path | None, file("Write the random interventions to this folder, as data.", "-o", metavar="DIR", panel=RANDOM)
    ] = None,
    parquet: Annotated[bool, option("Write Parquet files beside the JSON Lines.", panel=RANDOM)] = False,
    resume: Annotated[bool, option("Resume the folder: make only what is missing.", panel=RANDOM)] = False,
    asked: Annotated[Asked, But(draws=True, seed=seed(RANDOM, RANDOM_SEED))],
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
        from tm2tfr.lab.interventions.intervened import read_settings

        done = intervene(
            subject(asked), word, read_settings(tuple(texts or ())), engine=engine, dtype=dtype, max_positions=most
        )
        _tell(done.as_dict() if as_json else str(done))
        raise typer.Exit(0 if done.agrees else 1)
    if texts:
        raise UsageError("tm2tfr intervene: --random draws what is set, and --set says it: omit one of them")
    if output is None and (parquet or resume):
        raise UsageError(f"tm2tfr intervene: {'--parquet' if parquet else '--resume'} is about a folder: add -o DIR")
    if output is not None:
        from tm2tfr.base.places import check_folder

        check_folder(output, reading=asked.reading)
    words, number = None if word is None else [word], _seed(asked)
    with counting("resume it with --resume" if output else "") as progress:
        tried = intervene_many(
            subject(asked, seeded=True),
            count,
            words=words,
            seed=number,
            folder=output,
            parquet=parquet,
            resume=resume,
            engine=engine,
            dtype=dtype,
            max_positions=most,
            progress=progress,
        )
    _tell(tried.as_dict() if as_json else str(tried))
    raise typer.Exit(0 if tried.agrees else 1)


def _seed(asked: Asked) -> int:
    """Return the seed, 0 if none is given: with a universal decoder it is that of the order of rules as well."""
    return seed_number(asked.parameters.get("seed", asked.options.get("seed", 0)), "tm2tfr intervene")


def _refuse(given: dict[str, bool], why: str, do: str) -> None:
    wrong = next((option for option, there in given.items() if there), None)
    if wrong is not None:
        raise UsageError(f"tm2tfr intervene: {wrong}: {why}: {do}")


def _tell(found: object) -> None:
    write_data(f"{found}\n" if isinstance(found, str) else json.dumps(found, ensure_ascii=False, indent=2) + "\n")
