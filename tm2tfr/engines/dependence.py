"""The dependences of each direction of the residual stream, stage by stage, from the matrices alone.

An abstract interpretation with five values: a direction is always 0; is constant; is a function of the token fed; is a
function of the position; or depends on more. It only ever errs towards "more".
"""

from __future__ import annotations

from functools import lru_cache
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from tm2tfr.transformer.matrix import Matrix, occurring
from tm2tfr.transformer.weights import Decoder, FeedForward, Layer

# ── parts of weights as keys of what was computed from them, by identity: comparing matrices takes as long as reading them
# Parts are frozen, so whatever follows from one, and from nothing else, still follows from it later. A changed weight is
# in another part. As long as a result is kept, so is the part, and no other can have its identity.
Frozen = TypeVar("Frozen")

KEPT = 1024
"""The number of the latest results of each kind in the cache."""
WIDEST = 256
"""Weights with a wider stream are not cached: few have common parts, and their results are large."""


class Same(Generic[Frozen]):
    """A frozen part as a key, equal to itself alone."""

    __slots__ = ("part",)

    def __init__(self, part: Frozen) -> None:
        self.part = part

    def __hash__(self) -> int:
        return id(self.part)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and other.part is self.part


ZERO, CONSTANT, TOKEN, POSITION, MORE = range(5)

Classes = NDArray[np.int8]
"""(width,) one of the five values for each direction."""

CONSTANT_FEATURE = "1"


class LayerSources(NamedTuple):
    """The sources of the directions around one layer.

    Args:
        before: (width,) for the input of its heads.
        between: (width,) for the input of its feed-forward part.
        by_token: (hidden,) whether a unit reads only what the token determines.
    """

    before: Classes
    between: Classes
    by_token: NDArray[np.bool_]


class Sources(NamedTuple):
    """The sources of all directions.

    Args:
        layers: around each layer.
        after: (width,) after the last layer.
        features: (width,) the number of the one position feature of which a direction holds a multiple while it is
            CONSTANT or POSITION, and -1 if it holds several, or a row of the position table.
        weights: (width,) the factor.
    """

    layers: tuple[LayerSources, ...]
    after: Classes
    features: NDArray[np.int64]
    weights: NDArray[np.float64]


def sources(decoder: Decoder) -> Sources:
    """Return the sources of each direction of the stream at each stage of `decoder`; what layers share is computed once."""
    found: Sources | None = decoder.__dict__.get(_SOURCES)
    if found is None:
        found = decoder.__dict__[_SOURCES] = _sources(decoder)
    return found


_SOURCES = "_sources"
"""The attribute of a decoder with them: they are used several times."""


def _sources(decoder: Decoder) -> Sources:
    now, features, weights = _embedded(decoder)
    layers = []
    for layer in decoder.layers:
        through = _through if decoder.layout.width <= WIDEST else _through.__wrapped__
        around, now = through(Same(layer), now)
        layers.append(around)
    return Sources(tuple(layers), _classes(now), features, weights)


def _embedded(decoder: Decoder) -> tuple[bytes, NDArray[np.int64], NDArray[np.float64]]:
    """Return the classes after the embedding, and `Sources.features` and `Sources.weights`."""
    parts = Same(decoder.token_embedding), Same(decoder.position_embedding)
    if decoder.position_table is None and decoder.layout.width <= WIDEST:
        return _without_table(*parts, decoder.features)
    return _read(decoder.token_embedding, decoder.position_embedding, decoder.features, decoder.position_table)


@lru_cache(maxsize=KEPT)
def _without_table(
    tokens: Same[Matrix], place: Same[Matrix], names: tuple[str, ...]
) -> tuple[bytes, NDArray[np.int64], NDArray[np.float64]]:
    return _read(tokens.part, place.part, names, None)


def _read(
    tokens: Matrix, place: Matrix, names: tuple[str, ...], table: Matrix | None
) -> tuple[bytes, NDArray[np.int64], NDArray[np.float64]]:
    width = tokens.shape[0]
    constant = np.array([name == CONSTANT_FEATURE for name in names], dtype=bool)[place.columns]
    now = np.zeros(width, dtype=np.int8)
    now[place.rows[constant]] = CONSTANT
    now[place.rows[~constant]] = POSITION
    embedded = occurring(width, tokens.rows)
    now[embedded] = np.where(now[embedded] == POSITION, MORE, TOKEN)
    features, weights = np.full(width, -1), np.zeros(width)
    features[place.rows], weights[place.rows] = place.columns, place.values
    several = np.bincount(place.rows, minlength=width) > 1
    if table is not None:
        tabled = occurring(width, table.rows)
        now[tabled] = np.where(np.isin(now[tabled], (TOKEN, MORE)), MORE, POSITION)
        several[tabled] = True  # a number of each position, and no multiple of a feature
    features[several] = -1
    for array in (features, weights):
        array.setflags(write=False)
    return now.tobytes(), features, weights


@lru_cache(maxsize=KEPT)
def _through(layer: Same[Layer], before: bytes) -> tuple[LayerSources, bytes]:
    """Return the sources around a layer, and the classes after it; before: those before it."""
    part, now = layer.part, np.frombuffer(before, dtype=np.int8).copy()
    for head in part.heads:
        now[head.output.rows] = MORE
    between, by_token = now.tobytes(), np.ones(0, dtype=bool)
    if part.feed_forward is not None:
        by_token = _by_token(part.feed_forward, now)
        _write(part.feed_forward, by_token, now)
    return LayerSources(_classes(before), _classes(between), by_token), now.tobytes()


def _classes(found: bytes) -> Classes:
    return np.frombuffer(found, dtype=np.int8)


def _by_token(layer: FeedForward, classes: Classes) -> NDArray[np.bool_]:
    more = layer.input.rows[classes[layer.input.columns] > TOKEN]
    plain: NDArray[np.bool_] = np.bincount(more, minlength=layer.input.shape[0]) == 0
    return plain


def _write(layer: FeedForward, by_token: NDArray[np.bool_], now: Classes) -> None:
    """Update `now` for the layer's writes."""
    plain = by_token[layer.output.columns]
    determined = np.concatenate([layer.output.rows[plain], layer.output_bias.rows])
    now[determined] = np.where(now[determined] <= TOKEN, TOKEN, MORE)
    now[layer.output.rows[~plain]] = MORE


def rows_of(matrix: Matrix) -> list[list[tuple[int, float]]]:
    """Return the entries of each row as (column, value), by column."""
    rows: list[list[tuple[int, float]]] = [[] for _ in range(matrix.shape[0])]
    for row, column, value in matrix.entries():
        rows[row].append((column, value))
    return rows
