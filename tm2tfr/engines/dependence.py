"""What each direction of the residual stream can depend on, stage by stage, read off the matrices alone.

An abstract interpretation with five values: a direction is always 0; is constant; is a function of the token fed; is a
function of the position; or depends on more. It only ever errs towards "more".
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.weights import Decoder, FeedForward

ZERO, CONSTANT, TOKEN, POSITION, MORE = range(5)

Classes = NDArray[np.int8]
"""(width,) one of the five values for each direction."""

CONSTANT_FEATURE = "1"


@dataclass(frozen=True)
class LayerSources:
    """The sources of the directions around one layer.

    Args:
        before: (width,) for what its heads read.
        between: (width,) for what its feed-forward part reads.
        by_token: (hidden,) whether a unit reads only what the token determines.
    """

    before: Classes
    between: Classes
    by_token: NDArray[np.bool_]


@dataclass(frozen=True)
class Sources:
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
    """Return the sources of each direction of the stream at each stage of `decoder`."""
    width = decoder.layout.width
    place = decoder.position_embedding
    constant = np.array([name == CONSTANT_FEATURE for name in decoder.features], dtype=bool)[place.columns]
    now = np.zeros(width, dtype=np.int8)
    now[place.rows[constant]] = CONSTANT
    now[place.rows[~constant]] = POSITION
    embedded = np.unique(decoder.token_embedding.rows)
    now[embedded] = np.where(now[embedded] == POSITION, MORE, TOKEN)
    features, weights = np.full(width, -1), np.zeros(width)
    features[place.rows], weights[place.rows] = place.columns, place.values
    several = np.bincount(place.rows, minlength=width) > 1
    if decoder.position_table is not None:
        tabled = np.unique(decoder.position_table.rows)
        now[tabled] = np.where(np.isin(now[tabled], (TOKEN, MORE)), MORE, POSITION)
        several[tabled] = True  # a number of each position, and no multiple of a feature
    layers = []
    for layer in decoder.layers:
        before = now.copy()
        for head in layer.heads:
            now[head.output.rows] = MORE
        between = now.copy()
        by_token = np.ones(0, dtype=bool)
        if layer.feed_forward is not None:
            by_token = _by_token(layer.feed_forward, between)
            _write(layer.feed_forward, by_token, now)
        layers.append(LayerSources(before, between, by_token))
    features[several] = -1
    return Sources(tuple(layers), now, features, weights)


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
