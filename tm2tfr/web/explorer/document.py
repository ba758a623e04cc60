"""The explorer's page: recordings as plain data, texts and small values as JSON, columns in one buffer; one HTML file."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from html import escape
from importlib.resources import files
from itertools import chain
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from tm2tfr.base.errors import visible
from tm2tfr.base.files import write_text
from tm2tfr.base.text.words import read_word
from tm2tfr.contract.shown import Page, PlainData, Show
from tm2tfr.contract.source import ANY, AnyRow, Column, Truth, shown
from tm2tfr.contract.specification import STAGES
from tm2tfr.runs.comparison import Divergence, Trace
from tm2tfr.sources.registry import named, of_program
from tm2tfr.tables.explained import Explained
from tm2tfr.tables.sheet import shower
from tm2tfr.transformer import provenance
from tm2tfr.transformer.listing import listing
from tm2tfr.transformer.residual import Residual, Subspace
from tm2tfr.transformer.weights import Decoder, Head, Layer
from tm2tfr.web.explorer.record import PER_POSITION, Attended, Content, Recording
from tm2tfr.web.explorer.weights_data import (
    MOST_IN_A_PAGE,
    PackedColumns,
    decoder_data,
    moves_of,
    score_of,
    unrunnable,
)

# ── What a page needs to run another input by itself: how rows are read off the stream, and the reference.
#
# The reference is plain data for a simulator, or an evaluator, in the page: a machine's rules, a circuit's inputs and
# gates. No weight has a part in it.
MOST_STEPS = 50_000
"""The largest number of steps that a page runs by itself."""
MOST_EXAMPLES = 12
"""The most inputs that a page suggests."""


def live_data(recording: Recording, page: Page, show: Show) -> PlainData:
    """Return what the page needs to record another run of the same weights.

    ``readout`` has an entry for each column but the position's, of a run that generates; ``reference`` is None where no
    evaluator is in the page.
    """
    decoder, truth = recording.decoder, recording.truth
    return {
        "claims": None if truth is None else _claims(decoder, truth),
        "compared": truth is not None,
        "readout": []
        if decoder.labeller
        else [_read(column, decoder.layout, show) for column in recording.trace.columns[1:]],
        "reference": None if truth is None else page.reference(truth),
        "shown": _renamed(decoder, () if truth is None else page.texts, show),
    }


def page_of(program: object) -> Page:
    """Return what a page says of a program beside its runs; nothing of none."""
    construction = None if program is None else of_program(program)
    return Page() if construction is None or construction.page is None else construction.page(program)


def box_data(page: Page, recordings: Sequence[Recording]) -> PlainData:
    """Return what the page says of its inputs: which there can be, and which are suggested."""
    first = recordings[0]
    data = {
        "name": visible(first.trace.machine),
        "word": first.trace.input,
        "steps": first.max_steps,
        "most": MOST_STEPS,
        "examples": list(dict.fromkeys(page.examples))[:MOST_EXAMPLES],
        "alphabet": None,
        "blank": None,
        "circuit": None,
        "tokens": None,
        **page.inputs,
    }
    if first.trace.labels:
        data |= {"most": MOST_IN_A_PAGE, "tokens": _tokens(first, data["tokens"])}
    return data


def _tokens(recording: Recording, about: PlainData | None) -> PlainData:
    """Return what the inputs of a sequence model are made of.

    ``before`` and ``after`` are fed around the tokens of any input: nothing, BOS, or BOS and EOS. ``about`` is what the
    page says of inputs; None: there is no program, whose alphabet would be known.
    """
    trace, decoder = recording.trace, recording.decoder
    fed = [row[1] for row in trace.rows]
    more = 0 if about is None else len(fed) - len(read_word(trace.input))
    before, after = fed[: min(more, 1)], fed[len(fed) - max(more - 1, 0) :]
    alphabet = [token for token in decoder.vocabulary if token not in (*before, *after)]
    return {"before": before, "after": after, "alphabet": alphabet, "about": about}


def _claims(decoder: Decoder, truth: Truth) -> PlainData | None:
    """Return from which stage on each subspace holds its value, and of which heads it is known where they have to look.

    None where the reference does not say what every subspace holds.
    """
    specification = truth.specification(len(truth.prompt) - 1 if decoder.labeller else 0)
    if not specification.covers(decoder.layout):
        return None
    stages = [(-1, "embedding"), *((n, part) for n in range(len(decoder.layers)) for part in STAGES[1:])]
    holds = [[specification.holds(s.holds, *stage) for stage in stages] for s in decoder.layout.subspaces]
    return {
        "since": [found.index(True) if any(found) else len(stages) for found in holds],
        "known": [
            [head.claim is not None and bool(specification.attended(head.claim.attends, 0)) for head in layer.heads]
            for layer in decoder.layers
        ],
        "loops": [specification.passes(k) is not None for k in range(len(decoder.loops))],
        "moves": _moved(decoder),
    }


def _moved(decoder: Decoder) -> PlainData | None:
    """Return the subspaces of a machine's head position and move, as shares, and the layer that looks up the one before."""
    h, m = (decoder.layout.holding(what) for what in ("h/(i+1)", "m/(i+1)"))
    claims = ((n, head.claim) for n, layer in enumerate(decoder.layers) for head in layer.heads)
    layer = next((n for n, claim in claims if claim is not None and claim.attends == "h_{i-1}"), None)
    if h is None or m is None or layer is None:
        return None
    return {"h": decoder.layout.subspaces.index(h), "m": decoder.layout.subspaces.index(m), "layer": layer}


# ── how rows are read ───────────────────────────────────────────────────────────────────────────────────────
def _read(column: Column, layout: Residual, show: Show) -> PlainData:
    number = {subspace.name: n for n, subspace in enumerate(layout.subspaces)}
    read, bits = column.read_from(layout), column.read_bits(layout) if column.kind == "bits" else None
    return {
        "kind": column.kind,
        "at": None if read is None else number[read.name],
        "labels": None if read is None else _own_labels(read, show),
        "bits": [number[bit.name] for bit in bits or ()],
        "names": dict(column.names),
    }


def _own_labels(subspace: Subspace, show: Show) -> list[str] | None:
    """Return the labels of a subspace; None if they are shown as they are."""
    labels = list(subspace.labels or ())
    return None if labels == list(map(show, labels)) else labels


def _renamed(decoder: Decoder, more: Sequence[str], show: Show) -> dict[str, str]:
    """Return how texts are shown that are not shown as they are."""
    texts = chain(decoder.vocabulary, *(subspace.labels or () for subspace in decoder.layout.subspaces), more)
    return {text: shown for text in texts if (shown := show(text)) != text}


def model_data(program: object, recording: Recording) -> PlainData | None:
    """Return the model of a program, see `Explained.as_dict`; None where there is no reference, or no model."""
    construction = None if program is None or recording.truth is None else of_program(program)
    if construction is None or (construction.model is None and construction.described is None):
        return None
    decoder = recording.decoder
    explained = Explained(recording.trace.machine, construction.noun, *construction.explained(program, decoder), decoder)
    return {key: value for key, value in explained.as_dict(labels=False).items() if key in ("variables", "patterns")}


def document(
    program: object, recordings: Sequence[Recording], *, drawn: bool = True, columns: PackedColumns | None = None
) -> tuple[PlainData, str]:
    """Return the data of a page, and the buffer with its columns as base64.

    Args:
        program: the program that was run; None: the page knows none.
        drawn: whether Graphviz draws the graph, where it is installed; otherwise the page does.
        columns: where the columns go, if the page has others as well.
    """
    page, columns = page_of(program), PackedColumns() if columns is None else columns
    show = shower(recordings[0].trace.columns, [row for recording in recordings for row in recording.trace.rows])
    data = {
        "title": f"{recordings[0].trace.machine} on {recordings[0].trace.input!r}",
        "machine": None,
        "circuit": None,
        "sequence": None,
        "drawing": None,
        **page.views(show, columns, drawn, recordings[0].decoder),
        "model": model_data(program, recordings[0]),
        "runs": [_run(recording, page, columns, show) for recording in recordings],
        "box": box_data(page, recordings),
    }
    return data, columns.packed()


def _run(recording: Recording, page: Page, columns: PackedColumns, show: Show) -> PlainData:
    trace, decoder = recording.trace, recording.decoder
    texts: dict[str, int] = {}

    def sheet(rows: Sequence[AnyRow]) -> PlainData:
        cells = [(column, [row[n] for row in rows]) for n, column in enumerate(trace.columns)]
        return {
            column.name: columns.add(list(map(_number, found)) if column.numeric else _interned(found, texts, show))
            for column, found in cells[1:]
        }

    summary = trace.as_dict()
    summary = {k: summary[k] for k in ("T", "agrees", "compared", "engine", "dtype")}
    return {
        **summary,
        "answer": trace.answer,
        "noun": _noun(recording),
        "reference": trace.reference,
        "result": trace.result.own.get("result", "") if trace.result else "",
        "bos": decoder.bos is not None,
        "boundary": provenance.option(decoder.provenance, "left_boundary") or "",
        "input": "".join(show(sign) if sign in decoder.numbers else visible(sign) for sign in trace.input),
        "labels": trace.labels,
        "softmax": _softmax(decoder),
        "prompt": len(trace.rows) if trace.labels else trace.lead + len(trace.input),
        "lead": trace.lead,
        "finds": _finds(decoder),
        "count": len(trace.rows),
        "columns": [
            {"name": c.name, "title": c.meaning, "number": c.numeric, "signed": c.signed} for c in trace.columns[1:]
        ],
        "tape": trace.has_tape,
        "rows": sheet(trace.rows),
        "expected": sheet(trace.expected) if trace.divergence else None,
        "checked": len(trace.expected),
        "unspecified": _unspecified(trace, columns),
        "divergence": trace.divergence and _divergence(trace, trace.divergence),
        "stop": [show(token) for token in decoder.stop],
        "layers": [_layer(recording, n, layer, columns) for n, layer in enumerate(decoder.layers)],
        "steps": [list(step) for step in recording.steps],
        "loops": [[loop.first - 1, loop.last - 1] for loop in decoder.loops],
        "subspaces": [
            {"name": s.name, "labels": None if s.labels is None else list(map(show, s.labels))}
            for s in decoder.layout.subspaces
        ],
        "stages": [[[n, _column(c, columns)] for n, c in written.items()] for written in recording.written],
        "texts": list(texts),
        "decoder": decoder_data(decoder, columns),
        "live": live_data(recording, page, show),
    }


def _softmax(decoder: Decoder) -> str:
    """Return the attention in words, if heads have softmax; otherwise an empty text."""
    inverses = dict.fromkeys(head.inverse_temperature for layer in decoder.layers for head in layer.heads)
    of_position = f" with 1/τ = {', '.join(inverses)}" if decoder.tempered else ""
    return f"softmax{of_position}" if decoder.soft else ""


def _noun(recording: Recording) -> str:
    """Return the noun for the program of the run; without a program, the one that the weights were compiled from."""
    trace = recording.trace
    construction = None if trace.checked else named(provenance.construction(recording.decoder.provenance))
    return trace.noun if construction is None else construction.noun


def _finds(decoder: Decoder) -> tuple[int, int] | None:
    """Return the layer and the head, both from 0, that find a rule in the prompt; None if none claims to do so."""
    heads = ((n, k, head) for n, layer in enumerate(decoder.layers) for k, head in enumerate(layer.heads))
    return next(((n, k) for n, k, head in heads if head.claim is not None and head.claim.attends == "rule"), None)


def _unspecified(trace: Trace, columns: PackedColumns) -> PlainData:
    """Return, for each column with cells of which the reference says nothing, which cells they are: 1, not 0."""
    cells = [(column.name, [row[n] is ANY for row in trace.expected]) for n, column in enumerate(trace.columns)]
    return {name: columns.add(anything) for name, anything in cells if any(anything)}


def _layer(recording: Recording, number: int, layer: Layer, columns: PackedColumns) -> PlainData:
    """Return the data of a layer, whose number counts from 0."""
    decoder = recording.decoder
    passes = [heads for (n, _), heads in zip(recording.steps, recording.heads, strict=True) if n == number]
    return {
        "name": layer.name,
        "meaning": layer.meaning,
        "source": layer.source,
        "equation": layer.equation,
        "units": len(layer.feed_forward.units) if layer.feed_forward else 0,
        "weights": columns.add_text(listing(decoder, str(number + 1))) if unrunnable(decoder) else None,
        "heads": [_head(recording, head, seen, columns) for head, *seen in zip(layer.heads, *passes, strict=True)],
    }


def _head(recording: Recording, head: Head, seen: Sequence[Attended], columns: PackedColumns) -> PlainData:
    """Return the data of a head; seen: where it looked, in each pass of its layer.

    Columns have the positions of the first pass, then those of the next; in ``sharers`` positions count on in this way.
    """
    layout, count = recording.decoder.layout, len(recording.trace.rows)
    about = {
        "name": head.name,
        "source": head.source,
        "score": score_of(layout, head),
        "moves": list(moves_of(layout, head)),
    }
    about |= {"mask": head.mask, "claim": head.claim.attends if head.claim else ""}
    if head.uniform:
        return about | {"seen": None}
    places = {c: columns.add(list(chain.from_iterable(getattr(each, c) for each in seen))) for c in PER_POSITION}
    sharers = {n * count + i: shared for n, each in enumerate(seen) for i, shared in each.sharers.items()}
    weights = [own for each in seen for own in each.weights]
    soft = {"weights": columns.add(np.concatenate(weights))} if weights else {}
    return about | {"seen": places, "sharers": sharers} | soft


def _column(column: Content, columns: PackedColumns) -> PlainData:
    others = {i: [v if isfinite(v) else str(v).replace("inf", "Infinity") for v in row] for i, row in column.others.items()}
    return {"values": columns.add(column.values)} | ({"others": others} if others else {})


def _divergence(trace: Trace, found: Divergence) -> PlainData:
    cause, signed = found.cause, any(c.signed for c in trace.columns if c.name == found.column)
    return {
        "position": found.position,
        "column": found.column,
        "expected": shown(found.expected, signed=signed),
        "found": shown(found.found, signed=signed),
        "cause": str(cause).split("\n") if cause else [],
    }


def _number(value: Any) -> float:
    """Return a cell as a number; one of which the reference says nothing, which `_unspecified` marks, is 0."""
    return 0.0 if value is ANY else float(value)


def _interned(values: Iterable[object], texts: dict[str, int], show: Show) -> list[int]:
    """Return the index of each text in `texts`, counted from 1; 0 is ⊥, or a cell that `_unspecified` marks."""
    return [0 if value is None or value is ANY else texts.setdefault(show(str(value)), len(texts)) + 1 for value in values]


HEIGHT = 820
"""The height of the page in a notebook's output cell, in pixels."""


@dataclass(frozen=True)
class Explorer:
    """A finished page. A notebook displays it in a frame that may run its script and do nothing else.

    Args:
        html: the whole page.
        traces: the run that it shows, and the second one if there is one.
        searched: the number of inputs that were searched in vain for one on which two runs differ; None if there was no
            search, or one was found.
    """

    html: str = field(repr=False)
    traces: tuple[Trace, ...]
    searched: int | None = None

    def save(self, path: str | Path) -> None:
        """Write the page to `path`, whole or not at all.

        Raises:
            OutputError: if the file cannot be written.
        """
        write_text(path, self.html)

    def _repr_html_(self) -> str:
        style = f"width:100%;height:{HEIGHT}px;border:0"
        return f'<iframe srcdoc="{escape(self.html)}" sandbox="allow-scripts" style="{style}" title="tm2tfr"></iframe>'


def explorer(
    program: object, recordings: Sequence[Recording], *, drawn: bool = True, searched: int | None = None
) -> Explorer:
    """Return the page that shows `recordings`, one or two runs of the same program on the same input.

    Args:
        program: what was run; None: nothing is known of it.
        drawn: see `document`.
        searched: see `Explorer`.
    """
    data, columns = document(program, recordings, drawn=drawn)
    data["searched"] = searched
    views = (data[view] for view in ("machine", "circuit", "drawing") if data[view])
    draws = any("dot" in view["graph"] for view in views)
    parts = {
        "title": escape(data["title"]),
        "name": escape(recordings[0].trace.machine),
        "input": escape(data["runs"][0]["input"] or "(empty)"),
        "about": escape(page_of(program).about),
        "style": asset("explorer.css"),
        "data": embedded(data),
        "columns": columns,
        "viz": f"<script>\n{asset('viz.js')}</script>" if draws else "",
        "script": asset("explorer.js"),
    }
    html = asset("page.html")
    for name, text in parts.items():
        before, _, after = html.partition(f"<!--{name}-->")
        html = f"{before}{text}{after}"
    return Explorer(html, tuple(recording.trace for recording in recordings), searched)


def asset(name: str) -> str:
    """Return the text of a part of the pages: a script, a style sheet, the page around them."""
    return files(__package__).joinpath("assets", name).read_text(encoding="utf-8")


def embedded(data: object) -> str:
    """Return `data` as JSON that no text in it can break out of a ``<script>`` with."""
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
