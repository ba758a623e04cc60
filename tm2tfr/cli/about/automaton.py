"""Finite automata: a description of them and their weights; the list of shipped ones."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tm2tfr.base.errors import counted, listing, visible
from tm2tfr.base.text.shown import aligned, quoted
from tm2tfr.cli.about import concluded, ended, inputs_of, shape
from tm2tfr.cli.output import styled

__all__ = ["concluded", "described", "ended", "heading", "listed"]

if TYPE_CHECKING:
    from tm2tfr.sources.automaton.automaton import Automaton
    from tm2tfr.transformer.weights import Decoder

_MOST_SHOWN = 20
"""The most states whose transitions are shown."""
_LONGEST_FORMULA = 300
"""A formula of more characters is not shown."""


def heading(automaton: Automaton, decoder: Decoder) -> str:
    """Return the lines above a summary: the automaton and its weights."""
    from tm2tfr.transformer.provenance import notes, option

    by = {"star-free": "its cascade, as a B-RASP program", "scan": "a scan, as a RASP program"}
    by["steps"] = "steps, a layer a token, as a RASP program"
    way = option(decoder.provenance, "by") or ""
    lines = [
        _about(automaton),
        f"compiled by {by.get(way, 'weights of its own')}",
        f"here: {shape(decoder)}",
        f"words: of {inputs_of(decoder)}, from {listing(automaton.alphabet)}",
        f"outputs: {', '.join(output.name for output in decoder.outputs)}",
        *(f"note: {note}" for note in notes(decoder.provenance)),
    ]
    return "\n".join(map(visible, lines)) + "\n"


def _about(automaton: Automaton) -> str:
    made = f", made of {automaton.made.partition(',')[0]}" if automaton.made else ""
    trap = f", of which {automaton.trap!r} was added for missing transitions" if automaton.trap else ""
    tokens = ", ".join(automaton.alphabet[:8]) + (", …" if len(automaton.alphabet) > 8 else "")
    return f"Automaton {automaton.name} over {tokens}: {counted(len(automaton.states), 'state')}{trap}{made}"


def listed(*, as_json: bool, heading: bool) -> list[str]:
    """Return one line per shipped automaton."""
    from tm2tfr.sources.automaton.library import load, shipped

    names = shipped()
    found = [load(f"{name}.jff").program for name in names]
    if as_json:
        return [json.dumps(_facts(automaton), ensure_ascii=False) for automaton in found]
    width = max(map(len, names), default=0)
    lines = [f"{n:<{width}}  automaton  {visible(each.title)}" for n, each in zip(names, found, strict=True)]
    return ["", *lines] if heading else lines


def _facts(automaton: Automaton) -> dict[str, object]:
    facts: dict[str, object] = {"name": automaton.name, "kind": "automaton", "title": automaton.title}
    return facts | {"alphabet": list(automaton.alphabet), "states": list(automaton.states)}


def described(argument: str, automaton: Automaton, *, as_json: bool) -> Iterator[str]:
    """Yield the lines that describe an automaton, given as `argument`; as JSON, one object."""
    from tm2tfr.base.text.words import written
    from tm2tfr.sources.automaton.programs import decided, rasp_way, short_formula_of, shown_counter
    from tm2tfr.sources.automaton.words import own_word

    known = decided(automaton)
    if as_json:
        star_free = None if known.open else known.cascade is not None
        accepting = {"start": automaton.start, "accepting": list(automaton.accepting), "star_free": star_free}
        yield json.dumps({**_facts(automaton), **accepting}, ensure_ascii=False)
        return
    yield visible(_about(automaton))
    if automaton.title:
        yield visible(automaton.title)
    yield ""
    if len(automaton.states) <= _MOST_SHOWN:
        yield from map(visible, aligned(list(_table(automaton))))
        yield ""
    if known.cascade is not None and not known.small:
        yield f"star-free, but its cascade is large, of {known.images:,} images"
        yield f"it is compiled by {rasp_way(automaton)} in RASP, for words up to --max-length, or with --by star-free"
    elif known.cascade is not None:
        yield "star-free: it is compiled by its cascade in B-RASP, for words of any length"
        yield from _formula(short_formula_of(automaton))
    elif known.counter is not None:
        yield visible(f"not star-free: {shown_counter(known.counter)}")
        yield f"it is compiled by {rasp_way(automaton)} in RASP, for words up to --max-length"
    else:
        yield "whether it is star-free is not decided: it has too many images"
        yield f"it is compiled by {rasp_way(automaton)} in RASP, for words up to --max-length"
    if automaton.examples:
        yield ""
        yield styled("Examples", "bold")
    for example in automaton.examples:
        verdict = "accept" if example.accepted else "reject"
        yield visible(f"  {written(example.word) or '(the empty word)'}: {verdict}")
    yield ""
    yield styled("Try", "bold")
    shown = [["trace", argument, "--input", own_word(automaton)], ["check", argument]]
    shown += [["convert", argument, "--to", "srasp" if known.small else "rasp"]]
    for words in shown:
        yield "  " + " ".join(["tm2tfr", *map(quoted, words)])


def _table(automaton: Automaton) -> Iterator[list[str]]:
    """Yield the rows of the transitions; the start state has an arrow, accepting ones a star."""
    yield ["", "state", *map(visible, automaton.alphabet)]
    good = set(automaton.accepting)
    for state in automaton.states:
        mark = ("→" if state == automaton.start else "") + ("*" if state in good else "")
        yield [mark, visible(state), *(visible(automaton.transitions[state, token]) for token in automaton.alphabet)]


def _formula(text: str) -> Iterator[str]:
    """Yield the formula of a star-free automaton, if it is short."""
    if len(text) <= _LONGEST_FORMULA:
        yield visible(f"formula: {text}")
