"""The command that writes the prompt of a universal decoder: ``prompt``."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Annotated

import typer

from tm2tfr.base.choices import PROMPT_FORMATS
from tm2tfr.cli.arguments import machines
from tm2tfr.cli.asked import Asked, FromOption, check_one
from tm2tfr.cli.options import OutputOption, WordOption, argument, choice
from tm2tfr.cli.output import write
from tm2tfr.cli.subject import subject
from tm2tfr.cli.universal.options import UniversalGroup, prompted


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
    from tm2tfr.api.prompts import prompt_of
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
