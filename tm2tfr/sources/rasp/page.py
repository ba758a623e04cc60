"""What pages show of a RASP program: its runs and the flow of its computation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path

from tm2tfr.base.text.words import read_word, words_to_try
from tm2tfr.contract.shown import AttentionOf, Page, about_tokens
from tm2tfr.sources.rasp.drawing.flow import flow
from tm2tfr.sources.rasp.drawing.panels import drawn_run, run_svg
from tm2tfr.sources.rasp.graph_data import sequence_data
from tm2tfr.sources.rasp.library import own_word, word_of
from tm2tfr.sources.rasp.model.columns import RaspClaims
from tm2tfr.sources.rasp.program import Example, Program, Word, shown_atom
from tm2tfr.sources.rasp.read import read
from tm2tfr.sources.rasp.sops import SOp, needed
from tm2tfr.sources.rasp.truth import answered
from tm2tfr.transformer.weights import Decoder


def draw_run(program: Program, text: str, weights: tuple[Decoder, AttentionOf] | None) -> str:
    """Return a run as SVG, layer by layer, with where the heads of weights look, if those are given.

    Raises:
        InputError, Undefined, OutputError: see `drawn_run`.
    """
    word = _word(program, text)
    if weights is None:
        return run_svg(drawn_run(program, word))
    decoder, look = weights
    heads = heads_of(program, decoder)
    attention = {place: look(layer, head) for place, (layer, head) in heads.items()}
    return run_svg(drawn_run(program, word, attention=attention, places=_places(program, decoder)))


def draw_requests(program: Program, file: str) -> str | None:
    """Return what its ``draw`` statements ask for as SVG, one run below the other; None if there are none.

    Args:
        file: the one that it was read from, beside which others that it loads are.
    """
    folder = Path(file).parent if Path(file).is_file() else None
    drawn = [
        drawn_run(request.node, request.word, name=program.name)
        for request in read(program.text, file=file, folder=folder, name=program.name).draws
        if isinstance(request.node, SOp)
    ]
    return run_svg(*drawn) if drawn else None


def page(program: Program) -> Page:
    """Return the data of the explorer's page about a program."""
    return Page(
        about=program.title,
        views=lambda show, columns, drawn, decoder: {"sequence": sequence_data(program, decoder)},
        reference=lambda _: {"kind": "sequence"},
        inputs=about_tokens(partial(word_of, program), first=0),
        examples=[own_word(program), *tried(program, program.examples)],
    )


def tried(program: Program, examples: Sequence[Example]) -> Iterable[str]:
    """Return inputs to try: those of its examples, otherwise short ones."""
    return words_to_try((each.input for each in program.examples if not each.error), program.alphabet)


def heads_of(program: Program, decoder: Decoder) -> Mapping[tuple[int, int], tuple[int, int]]:
    """Return (layer, head) of a program's flow, both from 0 -> the layer, from 1, and the head, from 0, with its selector.

    A selector of which the weights have not as many heads as the flow has layers is left out.
    """
    gazes = RaspClaims(needed(answered(program, decoder)), decoder).gazes
    drawn: dict[int, dict[int, list[int]]] = {}
    for n, layer in enumerate(flow(program).layers):
        for k, each in enumerate(layer.heads):
            if (gaze := gazes.get(each.selector.number)) is not None:
                drawn.setdefault(gaze.selector, {}).setdefault(n, []).append(k)
    there: dict[str, list[tuple[int, int]]] = {}
    for n, compiled in enumerate(decoder.layers, start=1):
        for k, head in enumerate(compiled.heads):
            there.setdefault("" if head.claim is None else head.claim.attends.partition(" ")[0], []).append((n, k))
    pairs = ((layers, there.get(f"c{selector}", [])) for selector, layers in drawn.items())
    return {
        (n, k): place
        for layers, found in pairs
        if len(layers) == len(found)
        for (n, heads), place in zip(layers.items(), found, strict=True)
        for k in heads
    }


def _places(program: Program, decoder: Decoder) -> dict[tuple[int, int], tuple[int, int]]:
    """Return (layer, head) of a drawing, from 0 -> layer and head of the weights, from 1.

    It is empty unless the weights have a head for every one that is drawn.
    """
    places = {place: (layer, head + 1) for place, (layer, head) in heads_of(program, decoder).items()}
    return places if len(places) == sum(len(layer.heads) for layer in flow(program).layers) else {}


def _word(program: Program, text: str) -> Word:
    """Return the tokens of an input; those that the alphabet has, as it has them."""
    known = {shown_atom(token): token for token in program.alphabet}
    return tuple(known.get(shown_atom(token), token) for token in read_word(text))
