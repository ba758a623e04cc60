"""Formulas and programs of temporal logic: a description of them and their weights; the list of shipped ones."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tm2tfr.base.errors import counted, listing, visible
from tm2tfr.base.text.shown import quoted
from tm2tfr.cli.about import concluded, ended, inputs_of, shape
from tm2tfr.cli.output import styled

__all__ = ["concluded", "described", "ended", "heading", "listed"]

if TYPE_CHECKING:
    from tm2tfr.sources.logic.program import Language, LogicProgram
    from tm2tfr.transformer.weights import Decoder

_MOST_NAMED = 8
"""The most outputs that a heading names."""


def heading(program: LogicProgram, decoder: Decoder) -> str:
    """Return the lines above a summary: the formula, its weights, and their outputs."""
    from tm2tfr.sources.logic.truth import ENDS
    from tm2tfr.transformer.provenance import notes

    masks = {head.mask for layer in decoder.layers for head in layer.heads}
    kind = "a decoder" if decoder.sequential else "an encoder"
    seen = f", masks {', '.join(sorted(masks))}" if masks else ""
    tokens = [token for token in decoder.vocabulary if token not in ENDS]
    ends = " and ".join(end for end in ENDS if end in decoder.vocabulary)
    names = [output.name for output in decoder.outputs]
    more = f", and {counted(len(names) - _MOST_NAMED, 'other')}" if len(names) > _MOST_NAMED else ""
    lines = [
        str(program).strip("<>"),
        _made_of(program),
        f"here: {kind}{seen}, {shape(decoder)}",
        f"words: of {inputs_of(decoder)}, from {listing(tokens)}, with {ends}",
        f"outputs: {counted(len(names), 'node')}: {', '.join(names[:_MOST_NAMED])}{more}",
        *(f"note: {note}" for note in notes(decoder.provenance)),
    ]
    return "\n".join(map(visible, lines)) + "\n"


def _made_of(program: LogicProgram) -> str:
    """Return ``5 nodes; attention: 2 since, 1 #←``."""
    from tm2tfr.sources.logic.drawing import look, operator

    nodes = program.nodes
    looking = Counter(operator(node).partition(" ")[0] for node in nodes if look(node))
    attention = ", ".join(f"{count} {sign}" for sign, count in looking.items())
    return f"{program.noun}: {counted(len(nodes), 'node')}; attention: {attention or 'none'}"


def listed(language: Language, *, as_json: bool, heading: bool) -> list[str]:
    """Return one line per shipped formula, or program."""
    from tm2tfr.base.resources import shipped, shipped_text
    from tm2tfr.base.text.words import title_in
    from tm2tfr.sources.logic.library import ENDINGS, KINDS, load

    kind = KINDS[ENDINGS.index(f".{language}")]
    names, noun = shipped(kind), "formula" if language == "tl" else "program"
    if as_json:
        return [json.dumps(_facts(load(f"{name}.{language}").program), ensure_ascii=False) for name in names]
    width = max(map(len, names), default=0)
    lines = [f"{name:<{width}}  {noun}  {visible(title_in(shipped_text(kind, name)))}" for name in names]
    return ["", *lines] if heading else lines


def _facts(program: LogicProgram) -> dict[str, object]:
    facts: dict[str, object] = {"name": program.name, "kind": program.noun, "language": program.language}
    return facts | {"title": program.title, "define": program.chosen, "alphabet": list(program.alphabet)}


def described(argument: str, program: LogicProgram, *, as_json: bool) -> Iterator[str]:
    """Yield the lines that describe a formula or a program, given as `argument`; as JSON, one object."""
    from tm2tfr.base.text.words import applied, joined, written
    from tm2tfr.sources.logic.library import own_word

    names = [name for name in program.definitions if name]
    if as_json:
        yield json.dumps({**_facts(program), "definitions": names}, ensure_ascii=False)
        return
    yield visible(str(program).strip("<>"))
    if program.title:
        yield visible(program.title)
    yield ""
    if names:
        yield visible(f"defines:  {', '.join(names)}")
    yield visible(_made_of(program))
    if program.examples:
        yield ""
        yield styled("Examples", "bold")
    for example in program.examples:
        last = "" if len(example.values) == len(example.word) else "… "
        name = example.of or program.chosen or program.noun
        root = program.choosing(example.of).root if example.of else program.root
        values = joined(example.values, numbers=root.kind == "number")
        yield visible(f"  {applied(name, written(example.word))} = {last}{values}")
    yield ""
    yield styled("Try", "bold")
    word, tokens = (own_word(program), []) if program.alphabet else ("ab", ["--alphabet", "ab"])
    for words in (["trace", argument, "--input", word], ["check", argument], ["compile", argument]):
        yield "  " + " ".join(["tm2tfr", *map(quoted, (*words, *tokens))])
