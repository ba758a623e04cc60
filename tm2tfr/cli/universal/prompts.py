"""The command that writes the prompt of a universal decoder: ``prompt``."""

from __future__ import annotations

import json
from pathlib import Path

import click

from tm2tfr.choices import PROMPT_FORMATS
from tm2tfr.cli import options
from tm2tfr.cli.asked import Asked, check_one, from_format
from tm2tfr.cli.output import write
from tm2tfr.cli.pages import command
from tm2tfr.cli.subject import subject
from tm2tfr.cli.universal.options import OF_THE_CLASS, PROMPT, SEED, asked_options, keep_weights, prompted


@command(summary="Write a machine as the prompt of a universal decoder", example="tm2tfr prompt palindromes --input abba")
@options.machine(
    "A machine: a file, the name of a shipped one (see 'tm2tfr list machines'), bbchallenge text such as 1RB1LB_1LA1RZ, or "
    "'-' for standard input. Default: chapter.",
    default=None,
)
@from_format()
@options.word
@options.choice(
    "--format",
    of=PROMPT_FORMATS,
    default="text",
    help="Tokens with spaces between them, one JSON object with tokens, ids and names, or the ids alone. Default: text.",
)
@options.output
@OF_THE_CLASS["universal"]
@OF_THE_CLASS["states"]
@OF_THE_CLASS["symbols"]
@OF_THE_CLASS["tape"]
@SEED
@PROMPT
def prompt(
    machine: str | None,
    from_: str | None,
    word: str | None,
    format: str,
    output: Path | None,
    universal: str | None,
    states: int | None,
    symbols: int | None,
    tape: str | None,
    seed: str | None,
    prompt: str | None,
) -> None:
    """Write the prompt that has a universal decoder run a machine: its rules, the input, BOS.

    What the machine's own states and symbols are called in it, and which decoder it is for, is printed on standard error,
    so that the prompt can be piped; in JSON it is part of the object. Without --universal, it is for the smallest decoder
    that the machine fits into. With --prompt, a prompt is checked, and written again in the format that is asked for.
    """
    from tm2tfr.api.prompts import prompt_of
    from tm2tfr.places import check_file
    from tm2tfr.sources.turing.universal.names import size_of
    from tm2tfr.sources.turing.universal.program import Universal

    check_one(machine, {"--prompt": prompt})
    machine = machine or "chapter"
    check_file(output, reading=[machine])
    keep_weights(universal, output)
    if prompt is not None:
        asked = asked_options(universal=universal, states=states, symbols=symbols, tape=tape, seed=seed)
        made = prompt_of(prompted(prompt, asked)[0], word)
    else:
        found = subject(Asked(argument=machine, format=from_))
        if universal is None and states is None and symbols is None and not isinstance(found.program, Universal):
            universal = ",".join(map(str, size_of(found.turing("prompt"))))
        asked = asked_options(universal=universal, states=states, symbols=symbols, tape=tape, seed=seed)
        made = prompt_of(found, word, universal=asked.get("universal"), tape=asked.get("tape"), seed=asked.get("seed"))
    texts = {"text": made.text, "ids": " ".join(map(str, made.ids))}
    text = json.dumps(made.as_dict(), ensure_ascii=False) if format == "json" else texts[format]
    write(f"{text}\n", output, machine)
    if format != "json":
        own = made.universal
        tape = "" if own.tape == "both" else f" --tape {own.tape}"
        names = "" if prompt is not None else f"{made.names()}\n"
        click.echo(f"{names}for the decoder --universal {own.states},{own.symbols}{tape}", err=True)
