"""RASP programs: a description of their analysis and their weights; the list of shipped ones."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tm2tfr.base.errors import listing, visible
from tm2tfr.base.text.shown import quoted
from tm2tfr.cli.about import concluded, ended, inputs_of, shape, with_heads
from tm2tfr.cli.output import styled

__all__ = ["concluded", "described", "ended", "heading", "listed"]

if TYPE_CHECKING:
    from tm2tfr.sources.rasp.program import Program
    from tm2tfr.transformer.weights import Decoder


def heading(program: Program, decoder: Decoder) -> str:
    """Return the lines above a summary: the authors' interpreter's description of a program, and its weights."""
    from tm2tfr.sources.rasp.analyse import analyse
    from tm2tfr.transformer.provenance import notes

    found = analyse(program)
    largest = max(decoder.layout.subspaces, key=lambda each: len(each.labels or ()))
    lines = [
        str(program).strip("<>"),
        f"RASP: depth {len(found.layers)}{with_heads(found.heads)}{found.repeated}",
        f"here: {shape(decoder)}",
        f"inputs: of {inputs_of(decoder)}, from {listing(decoder.vocabulary)}",
        f"largest set of values: {len(largest.labels or ())} ({largest.name})",
        *(f"note: {note}" for note in notes(decoder.provenance)),
    ]
    return "\n".join(map(visible, lines)) + "\n"


def listed(*, as_json: bool, heading: bool) -> list[str]:
    """Return one line per shipped program."""
    from tm2tfr.base import resources
    from tm2tfr.base.text.words import title_in
    from tm2tfr.sources.rasp.library import load, shipped

    names = shipped()
    if as_json:
        return [json.dumps(_facts(load(f"{name}.rasp").program), ensure_ascii=False) for name in names]
    width = max(map(len, names))
    lines = [f"{n:<{width}}  program  {visible(title_in(resources.shipped_text(resources.PROGRAMS, n)))}" for n in names]
    return ["", *lines] if heading else lines


def _facts(program: Program) -> dict[str, object]:
    from tm2tfr.sources.rasp.program import shown_atom

    tokens = list(map(shown_atom, program.alphabet))
    return {"name": program.name, "kind": "program", "title": program.title, "sop": program.chosen, "alphabet": tokens}


def described(argument: str, program: Program, *, as_json: bool) -> Iterator[str]:
    """Yield the lines that describe a program, given as `argument`; as JSON, one object."""
    from tm2tfr.base.text.words import written
    from tm2tfr.sources.rasp.analyse import analyse
    from tm2tfr.sources.rasp.library import own_word
    from tm2tfr.sources.rasp.program import shown_atom

    if as_json:
        yield json.dumps({**_facts(program), "sops": list(program.sops)}, ensure_ascii=False)
        return
    found = analyse(program)
    yield visible(str(program).strip("<>"))
    if program.title:
        yield visible(program.title)
    yield ""
    yield visible(f"s-ops:  {', '.join(program.sops)}")
    yield f"RASP:   depth {len(found.layers)}{with_heads(found.heads)}{found.repeated}"
    if program.examples:
        yield ""
        yield styled("Examples", "bold")
    for example in program.examples:
        said = "undefined" if example.error else " ".join(map(shown_atom, example.output))
        yield visible(f"  {example.sop}({written(example.input)}) = {said}")
    yield ""
    yield styled("Try", "bold")
    word, tokens = (own_word(program), []) if program.alphabet else ("abc", ["--alphabet", "abc"])
    for words in (["trace", argument, "--input", word], ["check", argument], ["compile", argument]):
        yield "  " + " ".join(["tm2tfr", *map(quoted, (*words, *tokens))])
