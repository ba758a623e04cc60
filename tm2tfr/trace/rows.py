"""A run of a decoder as rows of the chapter's table, read off the residual stream."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tm2tfr.engines.decode import Engine, Step, generate
from tm2tfr.engines.overflow import nearest
from tm2tfr.errors import EngineError
from tm2tfr.transformer.weights import Decoder

Number = int | float | Fraction
COLUMNS = ("i", "x", "q", "b", "m", "h", "a", "y")
CHECKED = COLUMNS[1:]
SOFT = 0.25
"""Under softmax, a value this close to an integer, or to a one-hot vector by coordinate, is read as such (Theorem 26)."""

_LARGEST_INTEGER = 2.0**53


class Row(NamedTuple):
    """One position: the values that the decoder had there. None is ⊥; a meaningless value is text in ⟨ ⟩."""

    i: int
    x: str | None
    q: str | None
    b: str | None
    m: Number
    h: Number
    a: str | None
    y: str


def rows(decoder: Decoder, word: Sequence[str], *, engine: Engine, max_positions: int | None = None) -> Iterator[Row]:
    """Run `decoder` on the prompt `word` and yield one row per position, until its verdict or `max_positions`.

    Raises:
        EngineError: if `word` holds something that is not in the vocabulary; at a position that the engine refuses,
            after the rows before it.
    """
    steps = generate(decoder, word, engine=engine, max_positions=max_positions)
    readout, size = Readout(decoder), 4
    while True:
        chunk, refusal = _taken(steps, size)
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
    """Reads x, q, b, m, h and a off residual streams, many positions at a time, by what the subspaces are claimed to hold.

    Under average-hard attention a value must be exactly a label or an integer to be read as one. Under softmax it is
    rounded to the nearest one, if it is within `SOFT` of it; the answer y is a token, and never rounded.
    """

    def __init__(self, decoder: Decoder) -> None:
        self._layout, self._soft = decoder.layout, decoder.soft

    def rows(self, steps: Sequence[Step]) -> list[Row]:
        """Return the row of each step."""
        if not steps:
            return []
        stream = _as_floats([step.residual for step in steps])  # (n_steps, width)
        columns = [self._labels(stream, name) for name in ("e_x", "e_q", "e_b")]
        columns += [self._numbers(stream, name) for name in ("m", "h")]
        columns += [self._labels(stream, "e_a")]
        places = [step.position for step in steps]
        outputs = [step.output for step in steps]
        return [Row(*cells) for cells in zip(places, *columns, outputs, strict=True)]

    def row(self, position: int, token: str, output: str, residual: Any) -> Row:
        """Return the row of one position."""
        return self.rows([Step(position, token, output, residual)])[0]

    def _labels(self, stream: NDArray[Any], name: str) -> list[Any]:
        """Return the label of each row's one-hot vector, None for a zero vector, ⟨…⟩ for anything else."""
        subspace = self._layout.holder(name)
        labels, block = subspace.labels or (), stream[:, self._layout[subspace.name]]
        if not labels:
            return [None] * len(stream)
        if self._soft:
            nearest = np.rint(block)
            block = np.where((np.abs(block - nearest) <= SOFT).all(axis=1, keepdims=True), nearest, block)
        best = block.argmax(axis=1)
        sizes = np.abs(block).sum(axis=1)
        clean = (sizes == 1.0) & (block[np.arange(len(block)), best] == 1.0)
        found: list[Any] = [labels[k] for k in best.tolist()]
        for n in np.flatnonzero(~clean).tolist():
            found[n] = combination(labels, block[n]) if sizes[n] else None
        return found

    def _numbers(self, stream: NDArray[Any], name: str) -> list[Any]:
        values = stream[:, self._layout[self._layout.holder(name).name]][:, 0]
        if self._soft:
            values = np.where(np.abs(values - np.rint(values)) <= SOFT, np.rint(values), values)
        return [plain_number(v) for v in values.tolist()]


def _as_floats(streams: Sequence[Any]) -> NDArray[np.float64]:
    """Return residual streams as floats; a rational that is too large for one is infinite."""
    try:
        return np.array(streams, dtype=np.float64)
    except OverflowError:
        return np.array([[nearest(v) for v in stream] for stream in streams])


def plain_number(value: float) -> int | float:
    """Return an integer as such, as long as floats can tell it from its neighbours."""
    return int(value) if value.is_integer() and abs(value) < _LARGEST_INTEGER else value


def combination(labels: Sequence[str], values: Sequence[float]) -> str:
    """Return a vector that is not one-hot as text: ``⟨0.5·q1 + q2⟩``."""
    terms = [(nearest(v), label) for label, v in zip(labels, values, strict=True) if v]
    shown = [label if v == 1 else f"{v:.6g}·{label}" for v, label in terms[:4]]
    return f"⟨{' + '.join(shown)}{' + …' if len(terms) > 4 else ''}⟩"
