"""Runs of RASP programs as pictures: every selector as a matrix, with the attention of the compiled weights beside it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tm2tfr.api.subject import Subject
from tm2tfr.errors import CompileError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tm2tfr.api.subject import Given
    from tm2tfr.sources.rasp.drawing.flow import Flow
    from tm2tfr.sources.rasp.drawing.panels import Weights
    from tm2tfr.sources.rasp.program import Program, Word
    from tm2tfr.transformer.weights import Decoder


def draw_run(subject: Given, word: str | None = None, *, attention: bool = False) -> str:
    """Return a run of a RASP program as SVG, layer by layer.

    Each head is a matrix with a row for every query position and a column for every key position; what is selected is
    filled. Keys are above it, queries to its left, values below, and its results to its right. The s-ops that are computed
    position by position are below the heads of their layer.

    >>> import tm2tfr
    >>> tm2tfr.draw_run("reverse", "abc").splitlines()[1]
    '<title>reverse(&quot;abc&quot;) = cba</title>'

    Args:
        subject: see `Subject.of`.
        word: the input; by default the program's own. Without `attention`, its tokens may be any.
        attention: whether to compile the program, and to draw where the heads of the weights look in the dense engine.

    Raises:
        CompileError: if it is no RASP program, or cannot be compiled.
        InputError: if it is no input of the program.
        tm2tfr.sources.rasp.evaluate.Undefined: if the program is undefined on it.
        OutputError: if it is too long.
    """
    from tm2tfr.sources.rasp.drawing.panels import drawn_run, run_svg

    found = Subject.of(subject)
    program = _rasp(found)
    given = _word(program, found.word(word) if word is None or attention else word)
    run = drawn_run(program, given)
    if attention:
        looks, places = compiled_attention(found.decoder, run.flow, given), drawn_places(found)
        run = drawn_run(program, given, attention=looks, places=places)
    return run_svg(run)


def draw_requests(subject: Given) -> str:
    """Return what the ``draw`` statements of a RASP program ask for as SVG, one run below the other.

    Raises:
        CompileError: if it is no RASP program, or has no such statement.
        tm2tfr.sources.rasp.evaluate.Undefined: if an s-op is undefined on the input it is to be drawn on.
        OutputError: if an input is too long.
    """
    from tm2tfr.sources.rasp.drawing.panels import drawn_run, run_svg
    from tm2tfr.sources.rasp.read import read
    from tm2tfr.sources.rasp.sops import SOp

    found = Subject.of(subject)
    program, path = _rasp(found), Path(found.name)
    folder = path.parent if path.is_file() else None
    drawn = [
        drawn_run(request.node, request.word, name=program.name)
        for request in read(program.text, file=found.name, folder=folder, name=program.name).draws
        if isinstance(request.node, SOp)
    ]
    if not drawn:
        what = f"{found.name}: the program has no 'draw' statement"
        raise CompileError(f'{what}: add one, such as draw({program.chosen}, "abc"); or give the input of a run')
    return run_svg(*drawn)


def compiled_attention(decoder: Decoder, flow: Flow, word: Word) -> dict[tuple[int, int], Weights]:
    """Return (layer, head) of the flow, both from 0 -> where the head of the weights with this selector looks: (n, n).

    Raises:
        EngineError: if the weights cannot be run on this input.
    """
    from tm2tfr.engines import engine as engine_named
    from tm2tfr.sources.rasp.program import shown_atom
    from tm2tfr.tables.scores import attention_map

    prompt, engine = [shown_atom(token) for token in word], engine_named("dense", None)
    return {
        place: attention_map(decoder, prompt, engine=engine, layer=layer, head=head).weights.tolist()
        for place, (layer, head) in heads_of(decoder, flow).items()
    }


def heads_of(decoder: Decoder, flow: Flow) -> Mapping[tuple[int, int], tuple[int, int]]:
    """Return (layer, head) of the flow, both from 0 -> the layer, from 1, and the head, from 0, with the same selector.

    A selector of which the weights have not as many heads as the flow has is left out.
    """
    drawn: dict[int, list[tuple[int, int]]] = {}
    for n, layer in enumerate(flow.layers):
        for k, each in enumerate(layer.heads):
            drawn.setdefault(each.selector.number, []).append((n, k))
    there: dict[str, list[tuple[int, int]]] = {}
    for n, compiled in enumerate(decoder.layers, start=1):
        for k, head in enumerate(compiled.heads):
            there.setdefault("" if head.claim is None else head.claim.attends.partition(" ")[0], []).append((n, k))
    pairs = ((places, there.get(f"c{selector}", [])) for selector, places in drawn.items())
    return {a: b for places, found in pairs if len(places) == len(found) for a, b in zip(places, found, strict=True)}


def drawn_places(found: Subject) -> dict[tuple[int, int], tuple[int, int]]:
    """Return (layer, head) of the drawing of a RASP program, from 0 -> layer and head of its weights, from 1.

    It is empty unless the weights have a head for every one that is drawn.
    """
    from tm2tfr.sources.rasp.drawing.flow import flow

    drawn = flow(_rasp(found))
    places = {place: (layer, head + 1) for place, (layer, head) in heads_of(found.decoder, drawn).items()}
    return places if len(places) == sum(len(layer.heads) for layer in drawn.layers) else {}


def drawn_heads(found: Subject) -> dict[tuple[int, int], str]:
    """Return (layer, head) of the weights, both from 0 -> the name of that head in the drawing of a RASP program.

    Of anything else there is no such drawing.
    """
    from tm2tfr.sources.rasp.drawing.flow import flow
    from tm2tfr.sources.rasp.program import Program

    if not isinstance(found.program, Program):
        return {}
    drawn = flow(found.program)
    names = {place: drawn.layers[n].heads[k].name for (n, k), place in heads_of(found.decoder, drawn).items()}
    return {(layer - 1, head): name for (layer, head), name in names.items() if name}


def _rasp(found: Subject) -> Program:
    from tm2tfr.sources.rasp.program import Program

    program = found.right
    if not isinstance(program, Program):
        noun = "something else" if found.construction is None else f"a {found.noun}"
        what = f"{found.name} is {noun}, and runs are drawn of RASP programs"
        raise CompileError(f"{what}: draw where a head looks in the run, with --head, or watch the run in the explorer")
    return program


def _word(program: Program, text: str) -> Word:
    """Return the tokens of an input; those that the alphabet has, as it has them."""
    from tm2tfr.sources.rasp.program import shown_atom
    from tm2tfr.text.words import read_word

    known = {shown_atom(token): token for token in program.alphabet}
    return tuple(known.get(shown_atom(token), token) for token in read_word(text))
