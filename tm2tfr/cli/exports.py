"""Commands that write a machine for other programs: ``export``, ``verify-export``, ``prompt``."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from tm2tfr.base.choices import DTYPES, PROMPT_FORMATS, TARGETS
from tm2tfr.cli.asked import Asked, FromOption, check_one
from tm2tfr.cli.options import MACHINE_HELP, OutputOption, WordOption, argument, choice, count, file, machines, option
from tm2tfr.cli.output import write
from tm2tfr.cli.parameters import But
from tm2tfr.cli.subject import subject
from tm2tfr.cli.universal import UniversalGroup, prompted


def export(
    *,
    output: Annotated[Path, file("The directory to create.", "-o", metavar="DIR")],
    to: Annotated[str, choice("The program to export to. Default: gpt2.", of=TARGETS)] = "gpt2",
    positions: Annotated[
        int | None,
        count("The longest run. Default: 1,024, or fewer if the dtype requires it; for a circuit, all.", least=1),
    ] = None,
    max_head: Annotated[
        int | None, count("Only runs with |h| ≤ H, where h is the head position. Default: any.", metavar="H")
    ] = None,
    dtype: Annotated[str, choice("The type of the model's numbers. Default: float64.", of=DTYPES)] = "float64",
    stock: Annotated[bool, option("gpt2: keep its own epsilon and GELU, with narrower margins.")] = False,
    verify: Annotated[
        bool,
        option("Load and run the model in that program before it is written. Default: --verify.", "--verify/--no-verify"),
    ] = True,
    asked: Annotated[Asked, But(takes_alone=True)],
) -> None:
    """Export weights as a model for another program, run it there, and compare it with the reference."""
    from tm2tfr.base.places import check_folder
    from tm2tfr.targets.common.directory import NAMES

    check_folder(output, reading=asked.reading, ours=[NAMES])
    found = subject(asked)
    from tm2tfr.api.targets import export_to
    from tm2tfr.cli.output import tell_of_size

    tell_of_size(to, found, dtype)
    report = export_to(to, found, output, positions=positions, max_head=max_head, dtype=dtype, verify=verify, stock=stock)
    typer.echo(str(report))


def verify_export(
    *,
    folder: Annotated[Path, argument("FOLDER", parser=Path, help="A directory made by 'tm2tfr export'.")],
    machine: Annotated[
        str | None, option(f"{MACHINE_HELP}. Default: the one stored with it.", metavar="NAME", autocompletion=machines)
    ] = None,
    word: WordOption = None,
) -> None:
    """Check that an export is still its machine: compare its weights, run it, and report where it differs."""
    from tm2tfr.api.targets import verify_export

    verdict = verify_export(folder, machine=machine and subject(Asked(machine=machine, takes_alone=True)), word=word)
    typer.echo(str(verdict))
    raise typer.Exit(0 if verdict.same else 1)


def prompt(
    *,
    machine: Annotated[
        str | None,
        argument(
            "MACHINE",
            machines,
            help="A machine: a file, the name of a shipped one (see 'tm2tfr list machines'), bbchallenge text such as "
            "1RB1LB_1LA1RZ, or '-' for standard input. Default: chapter.",
        ),
    ] = None,
    word: WordOption = None,
    format: Annotated[
        str,
        choice(
            "Tokens with spaces between them, one JSON object with tokens, ids and names, or the ids alone. Default: text.",
            of=PROMPT_FORMATS,
        ),
    ] = "text",
    output: OutputOption = None,
    from_: FromOption = None,
    decoder: UniversalGroup,
) -> None:
    """Write the prompt that has a universal decoder run a machine: its rules, the input, BOS.

    What the machine's own states and symbols are called in it, and which decoder it is for, is printed on standard error,
    so that the prompt can be piped; in JSON it is part of the object. Without --universal, it is for the smallest decoder
    that the machine fits into. With --prompt, a prompt is checked, and written again in the format that is asked for.
    """
    from tm2tfr.api.machines import prompt_of
    from tm2tfr.base.places import check_file
    from tm2tfr.sources.turing.universal.names import size_of

    check_one(machine, {"--prompt": decoder.prompt})
    asked = Asked(machine=machine or "chapter", from_=from_, command="tm2tfr prompt")
    check_file(output, reading=(*asked.reading, decoder.universal))
    if decoder.prompt is not None:
        made = prompt_of(prompted(decoder.prompt, decoder.options())[0], word)
    else:
        found = subject(asked)
        if decoder.universal is None and decoder.states is None and decoder.symbols is None and not found.prompted:
            decoder = replace(decoder, universal=",".join(map(str, size_of(found.turing("prompt")))))
        chosen = decoder.options()
        made = prompt_of(found, word, universal=chosen.get("universal"), tape=chosen.get("tape"), seed=chosen.get("seed"))
    texts = {"text": made.text, "ids": " ".join(map(str, made.ids))}
    text = json.dumps(made.as_dict(), ensure_ascii=False) if format == "json" else texts[format]
    write(f"{text}\n", output, asked.argument)
    if format != "json":
        own = made.universal
        tape = "" if own.tape == "both" else f" --tape {own.tape}"
        names = "" if decoder.prompt is not None else f"{made.names()}\n"
        typer.echo(f"{names}for the decoder --universal {own.states},{own.symbols}{tape}", err=True)
