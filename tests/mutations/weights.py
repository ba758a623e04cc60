"""Weights with parts changed: what mutations of any source, and weights made by hand, are built from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.residual import Residual
from tm2tfr.transformer.weights import Decoder, FeedForward, Head, matrices

Array = NDArray[np.float64]
READERS = ("query", "key", "value", ".input", "unembedding")
"""How the paths of the matrices end that have a column for each direction of the stream."""
BIASES = (".input_bias", "unembedding_bias")
"""And of those that have neither a row nor a column for each direction; all others have a row for each."""


# ── one matrix ──────────────────────────────────────────────────────────────────────────────────────────────
def made(array: Array) -> Matrix:
    """Return a dense array as weights."""
    return Matrix.from_dense(array)


def dense(matrix: Matrix) -> Array:
    """Return weights as a dense array."""
    return np.array(matrix.dense())


def scaled(
    matrix: Matrix,
    by: float = 1.0,
    *,
    rows: Mapping[int, float] | None = None,
    columns: Mapping[int, float] | None = None,
) -> Matrix:
    """Return a matrix whose entries are multiplied by one factor, and those of some rows and columns by more factors."""
    values = [v * by * (rows or {}).get(r, 1.0) * (columns or {}).get(c, 1.0) for r, c, v in matrix.entries()]
    return Matrix(matrix.shape, matrix.rows, matrix.columns, np.array(values))


def moved(matrix: Matrix, rows: Sequence[int] | None = None, columns: Sequence[int] | None = None) -> Matrix:
    """Return a matrix whose row r is moved to row ``rows[r]``, and its columns likewise."""
    place = [np.array(p)[at] if p is not None else at for p, at in ((rows, matrix.rows), (columns, matrix.columns))]
    return Matrix(matrix.shape, place[0], place[1], matrix.values)


def plus(matrix: Matrix, entries: Mapping[tuple[int, int], float], shape: tuple[int, int] | None = None) -> Matrix:
    """Return a matrix with numbers added to its entries, and another shape if one is given."""
    whole = {(row, column): value for row, column, value in matrix.entries()}
    for place, value in entries.items():
        whole[place] = whole.get(place, 0.0) + value
    return Matrix.from_entries(shape or matrix.shape, whole)


def grown(matrix: Matrix, rows: int, columns: int, entries: Mapping[tuple[int, int], float]) -> Matrix:
    """Return a matrix with more rows and columns behind its own, and numbers added to its entries."""
    return plus(matrix, entries, (matrix.shape[0] + rows, matrix.shape[1] + columns))


# ── a decoder ───────────────────────────────────────────────────────────────────────────────────────────────
def with_layer(decoder: Decoder, n: int, **parts: Any) -> Decoder:
    """Return a decoder with other parts of layer `n`, from 0."""
    layers = list(decoder.layers)
    layers[n] = replace(layers[n], **parts)
    return replace(decoder, layers=tuple(layers))


def with_head(decoder: Decoder, n: int, k: int, head: Head) -> Decoder:
    """Return a decoder with another head `k` of layer `n`, both from 0."""
    heads = list(decoder.layers[n].heads)
    heads[k] = head
    return with_layer(decoder, n, heads=tuple(heads))


def changed_units(decoder: Decoder, n: int, change: Callable[[FeedForward], FeedForward]) -> Decoder:
    """Return a decoder with the feed-forward part of layer `n`, from 0, changed."""
    part = decoder.layers[n].feed_forward
    assert part is not None
    return with_layer(decoder, n, feed_forward=change(part))


def widened(decoder: Decoder, layout: Residual) -> Decoder:
    """Return a decoder with a layout that has more directions, at its end, which nothing reads or writes."""
    wide: dict[str, Matrix] = {}
    for path, matrix in matrices(decoder).items():
        rows, columns = matrix.shape
        tall = matrix.shape if path.endswith(BIASES) else (layout.width, columns)
        wide[path] = plus(matrix, {}, (rows, layout.width) if path.endswith(READERS) else tall)

    def below(owner: Any, start: str) -> Any:
        names = {path: path.removeprefix(start) for path in wide if path.startswith(start)}
        return owner and replace(owner, **{name: wide[path] for path, name in names.items() if "." not in name})

    layers = [
        replace(
            layer,
            heads=tuple(below(head, f"layers.{n}.heads.{k}.") for k, head in enumerate(layer.heads)),
            **{
                name: below(getattr(layer, name), f"layers.{n}.{name}.")
                for name in ("feed_forward", "attention_norm", "feed_forward_norm")
            },
        )
        for n, layer in enumerate(decoder.layers, start=1)
    ]
    outer: Any = {path: matrix for path, matrix in wide.items() if "." not in path}
    return replace(decoder, layout=layout, layers=tuple(layers), norm=below(decoder.norm, "norm."), **outer)
