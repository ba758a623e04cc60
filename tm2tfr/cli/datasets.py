"""Commands that write many runs as data: ``dataset``, ``sweep``, ``labels``, ``intervene``."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Annotated

import typer

from tm2tfr.base.choices import DTYPES, LEFT_BOUNDARIES
from tm2tfr.base.errors import ReadError, UsageError, a_or_an
from tm2tfr.cli.asked import RANDOM_SEED, Asked, seed
from tm2tfr.cli.options import (
    RUN,
    DtypeOption,
    EngineOption,
    SchedulerOption,
    WordOption,
    WorkersOption,
    argument,
    choice,
    count,
    file,
    number,
    option,
    seed_number,
    specs,
)
from tm2tfr.cli.output import echoed, write_data
from tm2tfr.cli.parameters import But
from tm2tfr.cli.progress import counting
from tm2tfr.cli.subject import subject
from tm2tfr.cli.universal import UniversalGroup
from tm2tfr.contract.options import CONSTRUCTION

SPEC_HELP = (
    "A spec in YAML: programs, inputs, splits. Or a shipped spec, a circuit, a program or a formula: its name or its file."
)


def dataset(
    *,
    spec: Annotated[str, argument("SPEC", specs, help=SPEC_HELP)],
    output: Annotated[Path, file("The folder to create.", "-o", metavar="DIR")],
    resume: Annotated[bool, option("Resume a folder: make only what is missing.")] = False,
    max_length: Annotated[
        int | None,
        count("Train on words of up to N tokens, test on longer ones, up to 4·N (programs and formulas only).", least=1),
    ] = None,
    workers: WorkersOption = None,
    scheduler: SchedulerOption = None,
    engine: EngineOption = "auto",
    decoder: Annotated[UniversalGroup, But(prompt=None)],
) -> None:
    """Write runs as training examples, in JSON Lines and Parquet. Every run is compared with the reference."""
    from tm2tfr.base.files import check_folder

    check_folder(output, reading=[spec])
    from tm2tfr.api.datasets import make_dataset
    from tm2tfr.lab.datasets.make import dataset_report

    universal = decoder.options()
    with echoed(), counting("resume it with --resume") as progress:
        found = make_dataset(
            spec,
            output,
            workers=workers,
            scheduler=scheduler,
            engine=engine,
            resume=resume,
            max_length=max_length,
            universal=universal.get("universal"),
            tape=universal.get("tape"),
            seed=universal.get("seed"),
            progress=progress,
        )
    typer.echo(dataset_report(found))
    raise typer.Exit(1 if found.failure else 0)


def sweep(
    *,
    spec: Annotated[str, argument("SPEC", specs, help=f"{SPEC_HELP} Default: two-states.")] = "two-states",
    max_steps: Annotated[
        int | None, count("Stop after N steps of a machine. Default: the spec's limit.", panel=RUN)
    ] = None,
    workers: WorkersOption = None,
    scheduler: SchedulerOption = None,
    engine: EngineOption = "auto",
    left_boundary: Annotated[
        str | None, choice("One-way tapes: 'chapter' to see Exercise 8.3 go wrong.", of=LEFT_BOUNDARIES, panel=CONSTRUCTION)
    ] = None,
    decoder: Annotated[UniversalGroup, But(prompt=None)],
) -> None:
    """Check every machine, circuit or program of a spec on all its inputs; show the first that differs.

    A spec is a YAML file that names sources, or describes a family of machines such as all with two states.
    """
    from tm2tfr.api.datasets import sweep
    from tm2tfr.lab.datasets.make import sweep_report

    universal = decoder.options()
    with echoed(), counting() as progress:
        found = sweep(
            spec,
            workers=workers,
            scheduler=scheduler,
            engine=engine,
            max_steps=max_steps,
            left_boundary=left_boundary,
            universal=universal.get("universal"),
            tape=universal.get("tape"),
            seed=universal.get("seed"),
            progress=progress,
        )
    typer.echo(sweep_report(found))
    raise typer.Exit(1 if found.failure else 0)


_LENGTHS = re.compile(r"([0-9]{1,6})(?:(?: *- *| to )([0-9]{1,6}))?")


def labels(
    *,
    output: Annotated[Path, file("The folder to create.", "-o", metavar="DIR")],
    words: Annotated[list[str] | None, option("An input; can be repeated.", "--input", "-i", metavar="WORD")] = None,
    file: Annotated[Path | None, file("A file with an input on each line.", "--inputs-from")] = None,
    all_up_to: Annotated[
        int | None,
        count(
            "All inputs of up to N tokens; of a circuit all, if they have at most N bits. Can be combined with --random."
        ),
    ] = None,
    count: Annotated[
        int | None,
        count(
            "K different random inputs, see --seed. Default, without any inputs: 1,000, or all if there are no more.",
            "--random",
            least=1,
            metavar="K",
        ),
    ] = None,
    lengths: Annotated[str | None, option("Random inputs of A to B tokens. Default: up to 10.", metavar="A-B")] = None,
    balanced_outcomes: Annotated[
        bool, option("Random inputs with the same number for each outcome, such as accept and reject.")
    ] = False,
    max_steps: Annotated[int | None, count("Stop after N steps of a machine. Default: 1,000.", panel=RUN)] = None,
    positions: Annotated[
        int | None, count("The longest run of the exports that hooks.json is about. Default: that of 'export'.", least=1)
    ] = None,
    dtype: Annotated[str, choice("The numbers of these exports. Default: float64.", of=DTYPES)] = "float64",
    test: Annotated[
        float | None,
        number("Hold this share of the inputs back, as a split 'test'. Default: no splits."),
    ] = None,
    resume: Annotated[bool, option("Resume a folder: make only what is missing.")] = False,
    workers: WorkersOption = None,
    scheduler: SchedulerOption = None,
    engine: EngineOption = "auto",
    asked: Annotated[Asked, But(draws="--random K", seed=seed("", RANDOM_SEED))],
) -> None:
    """Write a row for each position of many runs, in Parquet: token, answer, every variable, where each head looks.

    Every run is compared with the reference. The folder's hooks.json says which variable each hook point of an exported
    model carries.
    """
    from tm2tfr.base.files import check_folder

    check_folder(output, reading=(*asked.reading, file))
    for name, given in (("--all-up-to", all_up_to), ("--random", count)):
        for other, there in (("--input", words), ("--inputs-from", file)):
            if given is not None and there:
                raise UsageError(f"tm2tfr labels: {name} and {other} cannot be combined: omit one of them")
    if lengths is not None and count is None:
        raise UsageError("tm2tfr labels: --lengths is about random inputs: add --random K")
    if balanced_outcomes and count is None:
        raise UsageError("tm2tfr labels: --balanced-outcomes is about random inputs: add --random K")
    chosen = None if lengths is None else _lengths(lengths)
    listed = (*(words or ()), *(() if file is None else _lines(file)))
    found = subject(asked, seeded=count is not None)
    if max_steps is not None and found.machine is None:
        raise UsageError(f"tm2tfr labels: --max-steps is for machines, and this is {a_or_an(found.noun)}: omit it")
    from tm2tfr.api.datasets import make_labels
    from tm2tfr.lab.labels.make import labels_report

    with counting("resume it with --resume") as progress:
        made = make_labels(
            found,
            output,
            inputs=listed or None,
            all_up_to=all_up_to,
            random=count,
            lengths=chosen,
            balanced_outcomes=balanced_outcomes,
            seed=0 if count is None else seed_number(asked.parameters.get("seed", 0), "tm2tfr labels"),
            max_steps=max_steps,
            positions=positions,
            dtype=dtype,
            test=test,
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
        raise UsageError(f"tm2tfr labels: --lengths: {text[:40]!r} is not a range of lengths: write for example 1-10")
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


RANDOM = "Random interventions"
"""The panel of the help."""


def intervene(
    *,
    word: WordOption = None,
    texts: Annotated[
        list[str] | None,
        option(
            "Set a variable at a position, or to its value in another run: 'VAR@POS from INPUT@POS'. Can be repeated.",
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
        int | None,
        count("N random interventions, see --seed, on random inputs or on --input.", "--random", least=1, panel=RANDOM),
    ] = None,
    output: Annotated[
        Path | None, file("Write the random interventions to this folder, as data.", "-o", metavar="DIR", panel=RANDOM)
    ] = None,
    parquet: Annotated[bool, option("Write Parquet files beside the JSON Lines.", panel=RANDOM)] = False,
    positions: Annotated[
        int | None,
        count("The longest run of the exports that hooks.json is about. Default: that of 'export'.", least=1, panel=RANDOM),
    ] = None,
    effective: Annotated[bool, option("Only interventions that change an answer.", panel=RANDOM)] = False,
    balanced: Annotated[bool, option("Set one variable in each, and each variable equally often.", panel=RANDOM)] = False,
    balanced_outcomes: Annotated[
        bool,
        option("Random inputs with the same number for each outcome, such as accept and reject.", panel=RANDOM),
    ] = False,
    keep_unknown: Annotated[
        bool,
        option("Also interventions whose answers are not all known, with a mask 'known'. Default: left out.", panel=RANDOM),
    ] = False,
    resume: Annotated[bool, option("Resume the folder: make only what is missing.", panel=RANDOM)] = False,
    asked: Annotated[Asked, But(draws="--random K", seed=seed(RANDOM, RANDOM_SEED))],
) -> None:
    """Set variables of a run, and compare the run that the causal model expects with that of the patched weights.

    The weights run with the subspace of each variable overwritten. The exit code is 1 if they differ from the causal model.
    --variables lists the variables. --random makes a data set of interventions.
    """
    from tm2tfr.api.interventions import MOST_POSITIONS, causal_variables, intervene, intervene_many

    folder = {
        "--parquet": parquet,
        "--resume": resume,
        "--keep-unknown": keep_unknown,
        "--positions": positions is not None,
    }
    drawn = {"--effective": effective, "--balanced": balanced, "--balanced-outcomes": balanced_outcomes}
    if variables:
        others = {"--set": bool(texts), "--random": count is not None, "-o": output is not None}
        _refuse(others | drawn | folder, "--variables sets nothing", "omit it")
        named = causal_variables(subject(asked), word)
        _tell(named.as_dict() if as_json else str(named))
        return
    most = max_positions or MOST_POSITIONS
    if count is None:
        _refuse(
            {"-o": output is not None} | drawn | folder, "this is about random interventions", "add --random N, or omit it"
        )
        done = intervene(subject(asked), word, texts or (), engine=engine, dtype=dtype, max_positions=most)
        _tell(done.as_dict() if as_json else str(done))
        raise typer.Exit(0 if done.agrees else 1)
    if texts:
        raise UsageError("tm2tfr intervene: --random draws what is set, and --set says it: omit one of them")
    if output is None:
        _refuse(folder, "this is about a folder", "add -o DIR")
    if balanced_outcomes and word is not None:
        raise UsageError("tm2tfr intervene: --balanced-outcomes is about random inputs: omit it, or --input")
    if output is not None:
        from tm2tfr.base.files import check_folder

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
            keep_unknown=keep_unknown,
            effective=effective,
            balanced=balanced,
            balanced_outcomes=balanced_outcomes,
            positions=positions,
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
