"""A decoder's weights as the plain data that a page reads: all that the dense engine runs, exactly."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tm2tfr.contract.shown import PlainData
from tm2tfr.transformer.expressions import EXACT_BITS, FeatureExpression, plain
from tm2tfr.transformer.listing import form
from tm2tfr.transformer.residual import Residual
from tm2tfr.transformer.stored import stored_as
from tm2tfr.transformer.weights import Decoder, Head, Layer, Norm, matrices

# ── Columns of numbers in one compressed buffer, so that a page can contain every number of a long run.
INTEGERS = ("u1", "i1", "u2", "i2", "i4")
"""Little-endian integer dtypes, the smallest first; values that fit none of them are ``f8``."""


class PackedColumns:
    """Consecutive arrays; each is identified by the plain data that `add` returns for it.

    Floats are stored by significance: all first bytes, then all second bytes. The bytes of neighbours are alike, so a
    page becomes a third smaller. Nothing is rounded.
    """

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0

    def add(self, values: ArrayLike) -> PlainData:
        """Append a column of numbers, (count,), and return where it is: ``{"type": "u1", "at": 0, "count": 9}``."""
        array = _smallest(np.asarray(values))
        kind = array.dtype.str[1:]
        data = array.tobytes()
        if kind == "f8":
            data = array.view(np.uint8).reshape(-1, 8).T.tobytes()
        place = {"type": kind, "at": self._size, "count": len(array)}
        self._parts.append(data)
        self._size += len(data)
        return place

    def add_text(self, text: str) -> PlainData:
        """Append a long text as the column of its UTF-8 bytes, since repetitive text compresses to a fraction."""
        return self.add(np.frombuffer(text.encode(), np.uint8))

    def packed(self) -> str:
        """Return the whole buffer, deflated (RFC 1950), as base64."""
        return base64.b64encode(zlib.compress(b"".join(self._parts), 9)).decode("ascii")


def _smallest(array: NDArray[np.generic]) -> NDArray[np.integer] | NDArray[np.float64]:
    """Return the same numbers in the smallest dtype that represents them exactly."""
    if not len(array):
        return array.astype("<u1")
    values = array.astype("<f8")
    if np.isfinite(values).all() and (values == np.rint(values)).all() and not (np.signbit(values) & (values == 0)).any():
        low, high = values.min(), values.max()
        for kind in INTEGERS:
            if np.iinfo(kind).min <= low and high <= np.iinfo(kind).max:
                return values.astype(f"<{kind}")
    return values


MOST_IN_A_PAGE = 200
"""The most positions of a sequence model in a page, whose heads have a score for each pair of them."""
_MOST_POSITIONS = 2**31 + 1
"""The most positions for which the page knows whether a number may be too large, as `tm2tfr.engines.overflow` has it."""
MOST_ENTRIES = 2_000_000
"""The most entries that are not 0 of the weights in a page, of which they take up to 10 MB; SHA-256 has 336,494."""


def decoder_data(decoder: Decoder, columns: PackedColumns) -> PlainData:
    """Return the data of `decoder`, or ``{"none": reason}`` if a page cannot run it.

    The entries of all matrices, in the order of `matrices`, are in four columns: how many entries each matrix has; the row
    of each entry, as the distance from the row of the entry before it in its matrix (the first from row 0); its column in
    the same way; its value. Shapes follow from the sizes in the rest of the data. ``about`` is what a weight file says of
    them beside the matrices, with all names.

    A page runs softmax of sequence models alone, whose answers are rounded. Exponentials are rounded differently by numpy's
    releases, processors and browsers, so that no page could promise the tokens of a long run.
    """
    if (reason := unrunnable(decoder)) is not None:
        return {"none": reason}
    found = list(matrices(decoder).values())
    return {
        "width": decoder.layout.width,
        "vocabulary": list(decoder.vocabulary),
        "bos": None if decoder.bos is None else decoder.numbers[decoder.bos],
        "stop": [decoder.numbers[token] for token in decoder.stop],
        "features": list(decoder.features),
        "expressions": {text: _expression(each) for text, each in decoder.expressions.items()},
        "positions": decoder.positions,
        "outputs": [{"name": each.name, "labels": each.labels and list(each.labels)} for each in decoder.outputs],
        "layers": [_layer(layer) for layer in decoder.layers],
        "norm": _norm(decoder.norm),
        "loops": [
            {"first": loop.first, "last": loop.last, "times": loop.times, "until": loop.until is not None}
            for loop in decoder.loops
        ],
        "counts": columns.add([m.nonzero for m in found]),
        "rows": columns.add(_all([_steps(m.rows) for m in found])),
        "columns": columns.add(_all([_steps(m.columns) for m in found])),
        "values": columns.add(_all([m.values for m in found])),
        "about": columns.add_text(json.dumps(stored_as(decoder))),
    }


def unrunnable(decoder: Decoder) -> str | None:
    """Return why a page cannot run `decoder`, None if it can."""
    if decoder.soft and not decoder.labeller:
        return "they have soft heads, and browsers round exponentials differently from the dense engine"
    if decoder.unique:
        return "they have leftmost or rightmost attention, which a page does not compute"
    if large := [text for text, each in decoder.expressions.items() if each.bits(MOST_IN_A_PAGE) >= EXACT_BITS]:
        return f"they have the position feature {large[0]}, whose numbers are too large for a page"
    if decoder.nonzero > MOST_ENTRIES:
        return f"they have {decoder.nonzero:,} entries, and a page takes at most {MOST_ENTRIES:,}"
    return None


def _layer(layer: Layer) -> PlainData:
    return {
        "name": layer.name,
        "heads": [_head(head) for head in layer.heads],
        "hidden": None if layer.feed_forward is None else len(layer.feed_forward.units),
        "attention_norm": _norm(layer.attention_norm),
        "feed_forward_norm": _norm(layer.feed_forward_norm),
    }


def _head(head: Head) -> PlainData:
    return {
        "name": head.name,
        "mask": head.mask,
        "soft": head.weighting == "softmax",
        "inverse": head.inverse_temperature,
        "keys": head.query.shape[0],
        "values": head.value.shape[0],
    }


def _expression(written: FeatureExpression) -> PlainData:
    low, high = written.bounds(_MOST_POSITIONS)
    return {"steps": plain(written.steps), "largest": min(max(abs(low), abs(high)), np.finfo(np.float64).max)}


def _norm(norm: Norm | None) -> PlainData | None:
    return None if norm is None else {"epsilon": norm.epsilon}


def _steps(places: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the distance of each place from the one before it, and of the first from 0: (entries,)."""
    return np.diff(places, prepend=0)


def _all(parts: Sequence[ArrayLike]) -> NDArray[np.generic]:
    return np.concatenate(parts) if parts else np.zeros(0)


# ── A head in words: its score and what it carries, as its weights say it.
def score_of(layout: Residual, head: Head) -> str:
    """Return the score of position j seen from i according to a head's query and key matrices: ``⟨2·h⟩_i · ⟨i⟩_j − …``."""
    pairs = zip(head.query.by_row(), head.key.by_row(), strict=True)
    terms = [_product(layout, q, k) for q, k in pairs if q and k]
    return " + ".join(terms).replace("+ −", "− ") or "0"


def moves_of(layout: Residual, head: Head) -> Iterator[tuple[str, str]]:
    """Yield the values that a head carries: (read at the attended position, added here), each as text with names."""
    targets: list[dict[int, float]] = [{} for _ in range(head.output.shape[1])]
    for row, column, value in head.output.entries():
        targets[column][row] = value
    for read, write in zip(head.value.by_row(), targets, strict=True):
        if read and write:
            yield form(layout, read), form(layout, write)


def _product(layout: Residual, query: Mapping[int, float], key: Mapping[int, float]) -> str:
    """Return one component's share of a score; a query that is just the constant 1 is left out."""
    one, there = layout.holding("1"), form(layout, key)
    negative = len(query) == 1 and min(query.values()) < 0
    sign, positive = ("−", {column: -value for column, value in query.items()}) if negative else ("", dict(query))
    if one is not None and positive == {layout[one.name].start: 1.0}:
        return f"{sign}⟨{there}⟩_j"
    return f"{sign}⟨{form(layout, positive)}⟩_i·⟨{there}⟩_j"
