"""Weights as text, by name: a stable listing to read and to compare, and a summary."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from html import escape
from typing import NamedTuple

import numpy as np

from tm2tfr.base.choices import WEIGHTINGS
from tm2tfr.base.errors import ShapeError, counted, did_you_mean, visible
from tm2tfr.base.text.shown import aligned
from tm2tfr.transformer import provenance
from tm2tfr.transformer.claims import Output
from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.residual import Residual, Subspace
from tm2tfr.transformer.weights import MASKS, Decoder, FeedForward, Head, Layer, LayerLoop, Mask, Norm, norms

_MASKED: Mapping[Mask, str] = {"future": "future-masked", "past": "past-masked", "none": "unmasked"}
TABLED = 16
"""A position table of more positions than this is abbreviated."""


def listing(decoder: Decoder, layer: str | None = None) -> str:
    """Return every weight of `decoder`, or of one layer (by number from 1, or by name), as named text.

    A line such as ``query[0] = 2·h/(i+1)`` is one row of a matrix; ``→`` shows where a value or a hidden unit is
    added. Everything that is not 0 is listed, so equal listings are equal weights; of a long position table the listing
    has the first positions, the last one, and the SHA-256 of all of them.

    Raises:
        ShapeError: if there is no such layer, or several have this name.
    """
    if layer is not None:
        n = layer_number(decoder, layer)
        return "\n".join(map(visible, _layer(decoder.layout, n, decoder.layers[n - 1]))) + "\n"
    blocks = [_embedding(decoder)]
    blocks += [_layer(decoder.layout, n, part) for n, part in enumerate(decoder.layers, start=1)]
    blocks += [_loop(decoder.layout, n, loop) for n, loop in enumerate(decoder.loops, start=1)]
    return "\n\n".join("\n".join(map(visible, block)) for block in [*blocks, _unembedding(decoder)]) + "\n"


def layer_number(decoder: Decoder, layer: str) -> int:
    """Return the number, from 1, of the layer called `layer` (a number or a name)."""
    names = [part.name for part in decoder.layers]
    if layer.isascii() and layer.isdigit() and 1 <= int(layer) <= len(names):
        return int(layer)
    numbers = [str(n) for n, name in enumerate(names, start=1) if name == layer]
    if len(numbers) > 1:
        raise ShapeError(f"{len(numbers)} layers are called {layer!r}: use the number of one, {' or '.join(numbers)}")
    if numbers:
        return int(numbers[0])
    known = ", ".join(f"{n} {name}" for n, name in enumerate(names, start=1))
    raise ShapeError(f"there is no layer {layer!r}{did_you_mean(layer, names)}: the layers are {known}")


def summary(decoder: Decoder) -> str:
    """Return a summary of the decoder: its layers with their equations, and the counts."""
    body: list[str] = []
    for n, part in enumerate(decoder.layers, start=1):
        told = _sourced(": ".join(text for text in (part.name, part.meaning) if text), part.source)
        body += [visible(f"{n}  {told}".rstrip()), f"   {_sizes(part) or 'nothing'}"]
    special = {} if decoder.positions is None else {"positions": decoder.positions}
    special |= {"layer norms": len(list(norms(decoder)))} if decoder.normed else {}
    counts: dict[str, int] = {
        "layers": len(decoder.layers),
        **({"loops": len(decoder.loops)} if decoder.loops else {}),
        "attention heads": decoder.heads,
        "hidden units": decoder.hidden,
        "residual width": decoder.layout.width,
        "vocabulary": len(decoder.vocabulary),
        **special,
        "parameters": decoder.parameters,
        "non-zero": decoder.nonzero,
    }
    table = [*((name, f"{value:>12,}") for name, value in counts.items()), ("largest weight", coefficient(decoder.largest))]
    table += [_beginning(decoder)] if decoder.bos is None else []
    more = [f"masks: {', '.join(_masks(decoder))}"] if decoder.looks_ahead else []
    if decoder.unique:
        more += [f"attention: {', '.join(_weightings(decoder))}"]
    if decoder.tempered:
        heads = [head for layer in decoder.layers for head in layer.heads if not head.uniform]
        more += [f"softmax, 1/τ: {', '.join(dict.fromkeys(head.inverse_temperature for head in heads))}"]
    more += [f"run again: {'; '.join(loop.said for loop in decoder.loops)}"] if decoder.loops else []
    more += [visible(f"outputs: {', '.join(map(_output, decoder.outputs))}")] if decoder.outputs else []
    return "\n".join([*body, "", *aligned(table, {1}), *([""] if more else []), *more]) + "\n"


def _beginning(decoder: Decoder) -> tuple[str, str]:
    """Return the remark about BOS if none precedes the input: it can be a part of the tokens fed."""
    if decoder.labeller and decoder.positions is None and decoder.vocabulary[:1] == ("BOS",):
        return "fed", f"BOS word{' EOS' if 'EOS' in decoder.vocabulary else ''}"
    return "BOS", "none"


def _masks(decoder: Decoder) -> list[str]:
    """Return the masks of its heads, in the order in which they are documented."""
    found = {head.mask for layer in decoder.layers for head in layer.heads}
    return [mask for mask in MASKS if mask in found]


def _weightings(decoder: Decoder) -> list[str]:
    """Return the number of heads with each weighting, such as ``2 leftmost``, in the documented order."""
    several = Counter(head.weighting for layer in decoder.layers for head in layer.heads)
    return [f"{several[weighting]} {weighting}" for weighting in WEIGHTINGS if several[weighting]]


def _output(output: Output) -> str:
    """Return an output as ``name (a number)`` or ``name (3 labels)``."""
    return f"{output.name} ({'a number' if output.labels is None else counted(len(output.labels), 'label')})"


def html_summary(decoder: Decoder) -> str:
    """Return the layers as an HTML table, and the counts, for notebooks."""
    header = "".join(f'<th scope="col">{title}</th>' for title in ("layer", "what it does", "consists of", "source"))
    rows = [
        f'<tr><th scope="row">{n} {escape(part.name)}</th><td>{escape(part.meaning)}</td>'
        f"<td>{escape(_sizes(part))}</td><td>{escape(part.source)}</td></tr>"
        for n, part in enumerate(decoder.layers, start=1)
    ]
    name = escape(provenance.name(decoder.provenance, "decoder"))
    counts = f"residual width {decoder.layout.width}, vocabulary {len(decoder.vocabulary):,}"
    counts += "" if decoder.positions is None else f", {counted(decoder.positions, 'position')}"
    counts += f", masks {', '.join(_masks(decoder))}" if decoder.looks_ahead else ""
    counts += f", attention {', '.join(_weightings(decoder))}" if decoder.unique else ""
    counts += f", run again: {'; '.join(loop.said for loop in decoder.loops)}" if decoder.loops else ""
    counts += f", outputs {escape(', '.join(map(_output, decoder.outputs)))}" if decoder.outputs else ""
    weights = f"{decoder.nonzero:,} weights not 0, the largest {coefficient(decoder.largest)}"
    caption = f"<caption>{name}: {counts}, {weights}</caption>"
    return "\n".join(["<table>", caption, f"<thead><tr>{header}</tr></thead>", "<tbody>", *rows, "</tbody>", "</table>"])


def _sizes(layer: Layer) -> str:
    heads = ", ".join(head.name for head in layer.heads)
    count = len(layer.heads)
    parts = ["layer norm"] if layer.attention_norm else []
    parts += [f"{count} head{'s' if count > 1 else ''} ({heads})"] if heads else []
    parts += ["layer norm"] if layer.feed_forward_norm else []
    if layer.feed_forward:
        parts.append(f"feed-forward with {_units(layer.feed_forward)}")
    return "; ".join(parts)


def _sourced(what: str, source: str) -> str:
    """Return a text with its source in brackets, if it has one."""
    return " ".join(text for text in (what, f"[{source}]" if source else "") if text)


def _units(layer: FeedForward) -> str:
    count = len(layer.units)
    return f"{count} hidden unit{'s' if count != 1 else ''}"


def _layer(layout: Residual, n: int, layer: Layer) -> list[str]:
    lines = [f"layer {n}: {layer.name}" if layer.name else f"layer {n}"]
    if told := _sourced(layer.meaning, layer.source):
        lines.append(f"  {told}")
    lines += [f"  {line}" for line in _norm(layout, layer.attention_norm, "attention")]
    for head in layer.heads:
        lines += [f"  {line}" for line in _head(layout, head)]
    lines += [f"  {line}" for line in _norm(layout, layer.feed_forward_norm, "feed-forward")]
    if layer.feed_forward:
        lines += [f"  {line}" for line in _feed_forward(layout, layer.feed_forward)]
    return lines


def _loop(layout: Residual, n: int, loop: LayerLoop) -> list[str]:
    lines = [f"loop {n}: {loop.said}"]
    if loop.until is not None:
        lines.append(f"  ends where {form(layout, loop.until.by_row()[0])} ≥ 1/2 at every position")
    return lines


def _norm(layout: Residual, norm: Norm | None, before: str) -> Iterator[str]:
    if norm is not None:
        yield f"layer norm before {before}, epsilon = {norm.epsilon!r}"
        for name, column in (("gain", norm.gain), ("bias", norm.bias)):
            yield f"  {name}: {_column(layout, column)}"


def _column(layout: Residual, column: Matrix) -> str:
    """Return a column as a linear form, or as one number if all entries are equal."""
    values = set(column.values.tolist()) | ({0.0} if column.nonzero < layout.width else set())
    if len(values) == 1:
        return f"{coefficient(values.pop())} everywhere"
    return form(layout, {row: value for row, _, value in column.entries()})


def _head(layout: Residual, head: Head) -> Iterator[str]:
    tempered = "" if head.inverse_temperature == "1" else f", scores times {head.inverse_temperature}"
    yield f"{_sourced(f'head {head.name!r}', head.source)}: {_MASKED[head.mask]}, {head.weighting}{tempered}"
    if not (head.query.nonzero or head.key.nonzero):
        yield "  query = key = 0 (uniform attention)"
    for name, matrix in (("query", head.query), ("key", head.key)):
        for k, row in enumerate(matrix.by_row()):
            yield f"  {name}[{k}] = {form(layout, row)}"
    targets = head.output.transposed.by_row()
    for k, row in enumerate(head.value.by_row()):
        yield f"  value[{k}] = {form(layout, row)} → {form(layout, targets[k])}"


def _feed_forward(layout: Residual, layer: FeedForward) -> Iterator[str]:
    yield f"feed-forward, {_units(layer)}"
    bias, reads = layer.input_bias.by_row(), layer.input.by_row()
    writes = layer.output.transposed.by_row()
    for k, name in enumerate(layer.units):
        argument = form(layout, reads[k], constant=bias[k].get(0, 0.0))
        yield f"  hidden[{k}] = ReLU({argument}) → {form(layout, writes[k])}" + (f"  # {name}" if name else "")
    offset = {row: value for row, _, value in layer.output_bias.entries()}
    if offset:
        yield f"  bias → {form(layout, offset)}"


def _embedding(decoder: Decoder) -> list[str]:
    tokens = decoder.token_embedding.transposed.by_row()
    features = decoder.position_embedding.transposed.by_row()
    lines = ["embedding"]
    lines += [f"  token {name} → {form(decoder.layout, tokens[k])}" for k, name in enumerate(decoder.vocabulary)]
    lines += [f"  position {f} → {form(decoder.layout, features[k])}" for k, f in enumerate(decoder.features)]
    return lines if decoder.position_table is None else [*lines, *_table(decoder.layout, decoder.position_table)]


def _table(layout: Residual, table: Matrix) -> Iterator[str]:
    """Yield what each position adds, abbreviated if there are many."""
    positions = table.shape[1]
    shown = range(positions) if positions <= TABLED else (*range(TABLED - 1), positions - 1)
    columns: dict[int, dict[int, float]] = {i: {} for i in shown}
    kept = np.isin(table.columns, list(shown))
    for row, i, value in zip(*(part[kept].tolist() for part in (table.rows, table.columns, table.values)), strict=True):
        columns[i][row] = value
    yield f"  table of {counted(positions, 'position')}"
    for i in shown:
        if i >= TABLED and len(shown) < positions:
            yield f"    … {counted(positions - TABLED, 'more position')}; SHA-256 of all of them: {_sha256(table)}"
        yield f"    at {i} → {form(layout, columns[i])}"


def _sha256(matrix: Matrix) -> str:
    total = hashlib.sha256()
    for array in (matrix.rows, matrix.columns, matrix.values):
        total.update(array.tobytes())
    return total.hexdigest()


def _unembedding(decoder: Decoder) -> list[str]:
    bias, rows = decoder.unembedding_bias.by_row(), decoder.unembedding.by_row()
    lines = [*_norm(decoder.layout, decoder.norm, "the unembedding"), "unembedding"]
    for k, name in enumerate(decoder.answered):
        lines.append(f"  logit {name} = {form(decoder.layout, rows[k], constant=bias[k].get(0, 0.0))}")
    return lines


def form(layout: Residual, row: Mapping[int, float], *, constant: float = 0.0) -> str:
    """Return a linear form in terms of names: ``2·h/(i+1) - e_x[1] + 1``, or ``0``."""
    terms = [(value, layout.directions[column]) for column, value in sorted(row.items())]
    text = " + ".join(_term(value, name) for value, name in terms)
    if constant:
        text = f"{text} + {coefficient(constant)}" if text else coefficient(constant)
    return text.replace("+ -", "- ") or "0"


def _term(value: float, name: str) -> str:
    if abs(value) == 1:
        return name if value > 0 else f"-{name}"
    return f"{coefficient(value)}·{name}"


def coefficient(value: float) -> str:
    """Return a weight as text: an integer or a fraction if it is a simple one, otherwise all its digits."""
    exact = Fraction(value)
    return str(exact) if exact.denominator <= 64 and abs(exact.numerator) < 10**6 else repr(value)


# ── Which parts of the stream are computed from which: the pattern of the weights that are not 0, and not what they are.
@dataclass(frozen=True)
class WiredHead:
    """A head.

    Args:
        name: its name.
        attends: what it is claimed to attend to; empty if nothing is claimed.
        query, key: the sources of its queries and keys.
    """

    name: str
    attends: str
    query: frozenset[str]
    key: frozenset[str]


@dataclass
class Wire:
    """The sources of a subspace of the stream, with subspaces as in `Wiring`.

    Args:
        head: the head that carries it there; None: it is computed by a feed-forward part, or by the embedding.
        reads: what is read: at the positions that the head attends to, or at its own.
    """

    head: WiredHead | None = None
    reads: set[str] = field(default_factory=set)


class Wiring(NamedTuple):
    """How the subspaces of a stream depend on each other, each by what it is claimed to hold, or by its name.

    Args:
        spaces: the subspaces; of several that hold the same, all but the first have a number behind that.
        wires: what each is computed from.
        outputs: the name of an output -> what it reads.
    """

    spaces: Mapping[str, Subspace]
    wires: Mapping[str, Wire]
    outputs: Mapping[str, frozenset[str]]


def wiring(decoder: Decoder, *, by_name: bool = False) -> Wiring:
    """Return the sources of each subspace and output, from the non-zero entries of matrices.

    Args:
        by_name: whether subspaces are identified by their names, instead of their contents.
    """
    spaces: dict[str, Subspace] = {}
    for space in decoder.layout.subspaces:
        own, n = space.name if by_name else space.holds, 2
        what = own
        while what in spaces:
            what, n = f"{own} #{n}", n + 1
        spaces[what] = space
    place = [what for what, space in spaces.items() for _ in space.directions]
    found: dict[str, Wire] = {}
    for layer in decoder.layers:
        for head in layer.heads:
            claim = "" if head.claim is None else head.claim.attends
            wired = WiredHead(head.name, claim, _columns(head.query, place), _columns(head.key, place))
            read_by_value = _rows(head.value, place)
            for row, column, _ in head.output.entries():
                wire = found.setdefault(place[row], Wire())
                wire.head = wired
                wire.reads |= read_by_value.get(column, set())
        if layer.feed_forward is not None:
            read_by_unit = _rows(layer.feed_forward.input, place)
            for row, unit, _ in layer.feed_forward.output.entries():
                found.setdefault(place[row], Wire()).reads |= read_by_unit.get(unit, set())
    rows = _rows(decoder.unembedding, place)
    outputs, start = {}, 0
    for output in decoder.outputs:
        end = start + len(output.answers)
        outputs[output.name] = frozenset(what for row in range(start, end) for what in rows.get(row, ()))
        start = end
    return Wiring(spaces, found, outputs)


def _columns(matrix: Matrix, own: list[str]) -> frozenset[str]:
    return frozenset(own[column] for _, column, _ in matrix.entries())


def _rows(matrix: Matrix, own: list[str]) -> dict[int, set[str]]:
    found: dict[int, set[str]] = {}
    for row, column, _ in matrix.entries():
        found.setdefault(row, set()).add(own[column])
    return found
