"""A run of a decoder as rows of its table, read off the residual stream: the chapter's, or whatever columns it has."""

from __future__ import annotations

import keyword
import re
import unicodedata
from collections import namedtuple
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tm2tfr.base.errors import EngineError, ShapeError, counted
from tm2tfr.contract.source import ANSWER, FED, POSITION, AnyRow, Column, Kind, readable
from tm2tfr.engines.decode import Engine, Step, generate, observable, observe
from tm2tfr.engines.overflow import nearest
from tm2tfr.engines.reading import SOFT, answered, combination, plain_number
from tm2tfr.engines.sampling import Draw
from tm2tfr.sources.turing.columns import CHAPTER_VECTORS, FOUND, RULE, TURING, Row
from tm2tfr.transformer.claims import Output
from tm2tfr.transformer.residual import Residual, Subspace
from tm2tfr.transformer.weights import Decoder

# ── The columns of a decoder's table: its outputs, or a construction's if its stream has them, otherwise every subspace.
FED_TOKEN = Column(name="x", kind="fed", meaning=FED, tex="$x^{(i)}$")


def columns_of(decoder: Decoder) -> tuple[Column, ...]:
    """Return the columns of the table of `decoder`."""
    return (
        _labelling(decoder.outputs, tuple(o.whole for o in decoder.outputs))
        if decoder.labeller
        else _generating(decoder.layout)
    )


def is_turing(layout: Residual) -> bool:
    """Return whether this stream has the contents of the chapter's table, under any names."""
    return _generating(layout) is TURING


@lru_cache(maxsize=64)
def _generating(layout: Residual) -> tuple[Column, ...]:
    """Return the columns of the table of a decoder with this stream, which generates."""
    if readable(TURING, layout):
        return TURING
    from tm2tfr.sources.circuit.columns import LOOKUP_COLUMNS, PAPER_COLUMNS  # noqa: PLC0415  (machines need none)

    known = (LOOKUP_COLUMNS, PAPER_COLUMNS)
    return next((columns for columns in known if readable(columns, layout)), None) or tuple(_columns(layout))


@lru_cache(maxsize=64)
def _labelling(outputs: tuple[Output, ...], whole: tuple[bool, ...]) -> tuple[Column, ...]:
    """Return the position, the token fed, and each output in order; whole: of each, in which equal outputs may differ."""
    columns = [POSITION, FED_TOKEN]
    taken = {"i", "x", *(output.name for output in outputs)}
    for output, numbers in zip(outputs, whole, strict=True):
        name = output.name
        while name in ("i", "x") or (name != output.name and name in taken):
            name = f"{name} (defined)"
        taken.add(name)
        what = "the number of this output" if output.labels is None else "the label of this output"
        real = output.labels is None
        columns.append(Column(name=name, kind="output", holds=output.name, real=real, whole=numbers, meaning=what))
    return tuple(columns)


def _columns(layout: Residual) -> Iterator[Column]:
    """Yield the position, the token fed, each subspace in its order, and the token answered."""
    yield POSITION
    yield FED_TOKEN
    taken = {"i", "x", "y", *(subspace.name for subspace in layout.subspaces)}
    for subspace in layout.subspaces:
        name = subspace.name
        if name in ("i", "x", "y"):
            while name in taken:
                name = f"{name} (stream)"
            taken.add(name)
        kind: Kind = "number" if subspace.labels is None else "label"
        meaning = "the number in this subspace" if kind == "number" else "the label of this subspace's vector"
        yield Column(name=name, kind=kind, subspace=subspace.name, meaning=meaning)
    yield ANSWER


@lru_cache(maxsize=64)
def row_type(columns: tuple[Column, ...]) -> Callable[..., AnyRow]:
    """Return the class of the rows with these columns: `Row`, or a named tuple with similar names that Python allows."""
    if columns == TURING:
        return Row
    make: Any = namedtuple  # its fields are data, which no type checker can follow
    made = make("Row", _fields([column.name for column in columns]))
    made.__reduce__ = lambda row: (_remade, (columns, tuple(row)))  # a class without a module cannot be pickled by name
    kind: Callable[..., AnyRow] = made
    return kind


def _remade(columns: tuple[Column, ...], cells: AnyRow) -> AnyRow:
    return row_type(columns)(*cells)


def _fields(names: Sequence[str]) -> list[str]:
    """Return each name as an identifier; none occurs twice, and identifiers stay as they are."""
    found: list[str] = []
    taken = {name for name in names if _is_field(name)}
    for name in names:
        field = name
        if not _is_field(name):
            plain = re.sub(r"\W", "_", name, flags=re.ASCII).strip("_") or "column"
            plain = plain if _is_field(plain) else f"c_{plain}"
            field, n = plain, 1
            while field in taken:
                n += 1
                field = f"{plain}_{n}"
            taken.add(field)
        found.append(field)
    return found


def _is_field(name: str) -> bool:
    plain = unicodedata.normalize("NFKC", name) == name  # Python itself takes ﬁ for fi
    return plain and name.isidentifier() and not name.startswith("_") and not keyword.iskeyword(name)


def rows(
    decoder: Decoder,
    word: Sequence[str],
    *,
    engine: Engine,
    max_positions: int | None = None,
    draw: Draw | None = None,
    see: Callable[[Sequence[Step]], None] | None = None,
) -> Iterator[AnyRow]:
    """Run `decoder` on the prompt `word` and yield one row per position, until its verdict or `max_positions`.

    A sequence model has the positions of the prompt.

    Args:
        draw: see `tm2tfr.engines.decode.generate`.
        see: is shown the positions before their rows are yielded.

    Raises:
        EngineError: if `word` holds something that is not in the vocabulary; at a position that the engine refuses,
            after the rows before it.
    """
    steps = generate(decoder, word, engine=engine, max_positions=max_positions, draw=draw)
    readout, size = Readout(decoder), 4
    while True:
        chunk, refusal = _taken(steps, size)
        if see is not None:
            see(chunk)
        yield from readout.rows(chunk)
        if refusal is not None:
            raise refusal
        if len(chunk) < size:
            return
        size = min(2 * size, 512)  # few at first, so that a short run is shown at once; many later, for speed


def _taken(steps: Iterator[Step], most: int) -> tuple[list[Step], EngineError | None]:
    """Return the next steps, and the error that ended them."""
    taken: list[Step] = []
    try:
        for step in islice(steps, most):
            taken.append(step)  # one by one: what came before an error stays
    except EngineError as error:
        return taken, error
    return taken, None


class Readout:
    """Reads the columns of a decoder's table off residual streams, many positions at a time.

    Under average-hard attention a value must be exactly a label or an integer to be read as one. Under softmax it is
    rounded to the nearest one, if it is within `SOFT` of it; the token answered is never rounded.
    """

    def __init__(self, decoder: Decoder) -> None:
        self._decoder, self._layout, self._soft = decoder, decoder.layout, decoder.soft
        self.columns = columns_of(decoder)
        self._row = row_type(self.columns)
        self._read = [(column, column.read_from(decoder.layout)) for column in self.columns]

    def rows(self, steps: Sequence[Step]) -> list[AnyRow]:
        """Return the row of each step."""
        if not steps:
            return []
        if self._decoder.labeller:
            answers = (answered(self._decoder, step.logits) for step in steps)
            return [self._row(step.position, step.token, *each) for step, each in zip(steps, answers, strict=True)]
        stream = _as_floats([step.residual for step in steps])  # (n_steps, width)
        cells = [self._cells(column, read, steps, stream) for column, read in self._read]
        return [self._row(*each) for each in zip(*cells, strict=True)]

    def row(self, position: int, token: str, output: str, residual: NDArray[np.generic] | Sequence[object]) -> AnyRow:
        """Return the row of one position of a decoder that generates."""
        return self.rows([Step(position, token, output, residual, ())])[0]

    def _cells(
        self, column: Column, read: Subspace | None, steps: Sequence[Step], stream: NDArray[np.generic]
    ) -> list[object]:
        """Return the cells of one column."""
        if read is not None:
            return self._labels(stream, read) if column.kind == "label" else self._numbers(stream, read)
        if column.kind == "bits":
            return self._bits(stream, column)
        if column.kind == "position":
            return [step.position for step in steps]
        return [step.token if column.kind == "fed" else step.output for step in steps]

    def _bits(self, stream: NDArray[np.generic], column: Column) -> list[object]:
        """Return each row's bits by name, or as their digits; ⟨…⟩ where they are not all bits."""
        subspaces = column.read_bits(self._layout) or ()
        block = stream[:, [self._layout[subspace.name].start for subspace in subspaces]]
        if self._soft:
            block = np.where(np.abs(block - np.rint(block)) <= SOFT, np.rint(block), block)
        clean = ((block == 0) | (block == 1)).all(axis=1).tolist()
        names = dict(column.names)
        digits = ["".join("1" if bit else "0" for bit in row) if ok else "" for row, ok in zip(block, clean, strict=True)]
        labels = [subspace.name for subspace in subspaces]
        return [names.get(text, text) or combination(labels, row) for text, row in zip(digits, block, strict=True)]

    def _labels(self, stream: NDArray[np.generic], subspace: Subspace) -> list[object]:
        """Return the label of each row's one-hot vector, None for a zero vector, ⟨…⟩ for anything else."""
        labels, block = subspace.labels or (), stream[:, self._layout[subspace.name]]
        if not labels:
            return [None] * len(stream)
        if self._soft:
            nearest = np.rint(block)
            block = np.where((np.abs(block - nearest) <= SOFT).all(axis=1, keepdims=True), nearest, block)
        best = block.argmax(axis=1)
        sizes = np.count_nonzero(block, axis=1)  # a sum can overflow, or round a small value away
        clean = (sizes == 1) & (block[np.arange(len(block)), best] == 1.0)
        found: list[object] = [labels[k] for k in best.tolist()]
        for n in np.flatnonzero(~clean).tolist():
            found[n] = combination(labels, block[n]) if sizes[n] else None
        return found

    def _numbers(self, stream: NDArray[np.generic], subspace: Subspace) -> list[object]:
        values = stream[:, self._layout[subspace.name]][:, 0]
        if self._soft:
            values = np.where(np.abs(values - np.rint(values)) <= SOFT, np.rint(values), values)
        return [plain_number(v) for v in values.tolist()]


def _as_floats(streams: Sequence[Sequence[float]]) -> NDArray[np.float64]:
    """Return residual streams as floats; a rational that is too large for one is infinite."""
    try:
        return np.array(streams, dtype=np.float64)
    except OverflowError:
        return np.array([[nearest(v) for v in stream] for stream in streams])


def as_computed(row: AnyRow, dtype: str) -> AnyRow:
    """Return a row of a reference with fractions as the nearest numbers of `dtype`: what an engine can answer at best."""
    kind = np.dtype(dtype).type
    return tuple(float(kind(nearest(cell))) if isinstance(cell, Fraction) else cell for cell in row)


# ── activation vectors at a position ──────────────────────────────────────────────────────────────────────────
Activation = Mapping[str, str | int | float | Fraction | None]
"""The content of a subspace -> its number, or the symbol of its one-hot vector, None if that is 0."""


def activations(
    decoder: Decoder, word: Sequence[str], position: int, *, engine: Engine | str = "exact"
) -> dict[str, Activation]:
    """Return A(0), A(1), A(2), A(3.5), A(4), H(4) and A(5) at `position` of the run on `word`.

    Of a universal decoder there is ``rule`` as well: the rule that ends at this position, and the one that is found.
    Of a decoder that is not the chapter's, return the whole residual stream after the embedding and after each layer.

    Raises:
        EngineError: if the run ends before `position`.
        ShapeError: if no subspace is claimed to hold a part of a vector, or a layer is missing.
    """
    if isinstance(engine, str):
        from tm2tfr.engines import engine as engine_named  # noqa: PLC0415

        engine = engine_named(engine)
    most = None if decoder.labeller else position + 1
    tokens = [step.token for step in generate(decoder, word, engine=engine, max_positions=most)]
    if len(tokens) <= position:
        word = word if isinstance(word, str) else " ".join(word)
        raise EngineError(
            f"the run on {word!r} has {len(tokens)} positions, and none numbered {position}: "
            f"use a position from 0 to {len(tokens) - 1}"
        )
    seen = observe(decoder, tokens, engine=observable(engine), position=position)
    stages = {(layer, part): stream for layer, part, stream in seen.stages}
    layout, found = decoder.layout, dict[str, Activation]()
    if not is_turing(layout):
        return _streams(decoder, stages)
    rule = {"rule": (FOUND, RULE)} if all(layout.holding(what) is not None for what in RULE) else {}
    for vector, (stage, parts) in {**CHAPTER_VECTORS, **rule}.items():
        if stage not in stages:
            there = counted(len(decoder.layers), "layer")
            raise ShapeError(f"{vector} is the stream after layer {stage[0] + 1}, but these weights have {there}")
        held, stream = {what: layout.holder(what) for what in parts}, stages[stage]
        found[vector] = {what: _value(subspace, stream[layout[subspace.name]]) for what, subspace in held.items()}
    return found


def _streams(decoder: Decoder, stages: Mapping[tuple[int, str], list[float]]) -> dict[str, Activation]:
    """Return the whole stream after the embedding and after each layer, by the names of its subspaces."""
    named = {"embedding": stages[-1, "embedding"]}
    for n, layer in enumerate(decoder.layers):
        named[f"{n + 1} {layer.name}".strip()] = stages[n, "feed_forward"]
    layout = decoder.layout
    return {
        name: {subspace.name: _value(subspace, stream[layout[subspace.name]]) for subspace in layout.subspaces}
        for name, stream in named.items()
    }


def _value(subspace: Subspace, coordinates: Sequence[float]) -> str | float | None:
    if subspace.labels is None:
        return coordinates[0]
    hot = [(label, v) for label, v in zip(subspace.labels, coordinates, strict=True) if v]
    if not hot:
        return None
    return hot[0][0] if len(hot) == 1 and hot[0][1] == 1 else combination(subspace.labels, coordinates)
