"""The same function in fewer dimensions: variables share directions, and not one of them is lost that anything reads.

Which streams there are at all is spanned by what is written: each token with what is always added to it, the other
position features, what heads carry on of these, and what units write. What matters of a stream is what the reading
matrices (queries, keys, values, units, the unembedding) make of it. On that span these are often fewer than the
directions: one-hot vectors that add up to 1, sums that are read as sums alone. So a narrow stream y = C·x is kept, C a
choice of directions and of forms that are read, by which each reading matrix is M = N·C on the span. The equality is
checked without rounding: scores are the same numbers, and so are ties.

With too few forms, two streams that something tells apart would be one. A projection that is not exact on the span
makes equal scores differ, over which hard attention takes the mean; it is refused. The forms are chosen greedily, so
they may be some more than the least possible number.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tm2tfr.base.errors import DisguiseError, ShapeError
from tm2tfr.lab.hidden.dyadic import Dyadic, added, product
from tm2tfr.lab.hidden.wide import Wide, names, widened
from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.weights import Decoder, Head, Layer

Forms = tuple[tuple[tuple[int, float], ...], ...]
"""Linear forms on the original's stream, each as its (direction, coefficient) other than 0."""

ONE = "1"
"""The position feature that is the same everywhere."""
_SMALL = 1e-8
_LARGEST = 2.0**256
_GRID = 2.0**20
"""Coefficients are looked for among the multiples of its inverse."""


def forms_for(decoder: Decoder, exact: NDArray[np.bool_], dimensions: int | None) -> Forms:
    """Return what to keep of the stream of a decoder.

    Args:
        exact: (width,) the directions that floats hold exactly: forms of these alone are kept as such.
        dimensions: how many; None: as few as are found.

    Raises:
        DisguiseError: for layer norms; for too few or too many dimensions, with how few were found.
    """
    width = decoder.layout.width
    if decoder.normed:
        what = "these weights have layer norms, which take the mean and the variance of the coordinates"
        raise DisguiseError(f"{what}, and fewer dimensions have others: omit --dimensions")
    try:
        found = _least(decoder, exact)
    except ShapeError as error:
        raise DisguiseError(f"these weights cannot be compressed: {error}") from error
    least = len(found)
    if least >= width:
        raise DisguiseError(f"no way to compress these weights was found: they need all {width} dimensions")
    many = least if dimensions is None else dimensions
    if many >= width:
        raise DisguiseError(f"the original has {width} dimensions, and {many} are not fewer: use {least} to {width - 1}")
    if many < least:
        what = f"{many} is too few dimensions: {least} are the fewest found in which equal scores stay equal"
        raise DisguiseError(f"{what}, and hard attention takes the mean over these: use {least} to {width - 1}")
    held = {form[0][0] for form in found if len(form) == 1}
    rest = (((d, 1.0),) for d in range(width) if d not in held)
    return (*found, *(next(rest) for _ in range(many - least)))


def narrowed(decoder: Decoder, forms: Forms) -> Decoder:
    """Return a decoder with the stream y = C·x, C the forms: the same logits as `decoder`, for every input.

    Raises:
        ShapeError: for layer norms; if it cannot be checked without rounding, or a form is empty.
    """
    if decoder.normed:
        raise ShapeError("the original has layer norms, and other coordinates have another mean and variance")
    wide = widened(decoder, decoder.layout.width)
    map_ = matrix_of(forms, decoder.layout.width)
    parts = list(_reads(wide))
    span = spanned(wide, decoder.features)
    every = np.vstack([part for part in parts if len(part)])
    made, right = _expressed(every, map_, span)
    if not right.all():
        raise ShapeError("the kept sums do not determine everything that is read")
    taken = iter(np.split(made, np.cumsum([len(part) for part in parts])[:-1]))

    def reads() -> Matrix:
        return Matrix.from_dense(next(taken))

    def writes(matrix: Matrix) -> Matrix:
        return Matrix.from_dense(product(map_, matrix.dense()))

    def head_of(head: Head) -> Head:
        return replace(head, query=reads(), key=reads(), value=reads(), output=writes(head.output))

    def layer_of(layer: Layer) -> Layer:
        heads, part = tuple(map(head_of, layer.heads)), layer.feed_forward
        if part is not None:
            part = replace(part, input=reads(), output=writes(part.output), output_bias=writes(part.output_bias))
        return replace(layer, heads=heads, feed_forward=part)

    layers = tuple(map(layer_of, decoder.layers))
    return replace(
        decoder,
        layout=names(len(forms)),
        token_embedding=writes(decoder.token_embedding),
        position_embedding=writes(decoder.position_embedding),
        position_table=None if decoder.position_table is None else writes(decoder.position_table),
        layers=layers,
        unembedding=reads(),
    )


def matrix_of(forms: Forms, width: int) -> Dyadic:
    """Return forms as a matrix: (forms, width).

    Raises:
        ShapeError: if a form is about another direction, or has a coefficient whose square could overflow.
    """
    found = np.zeros((len(forms), width))
    for row, form in enumerate(forms):
        for direction, coefficient in form:
            if not 0 <= direction < width:
                raise ShapeError(f"a kept sum has direction {direction}, of {width}")
            if not abs(coefficient) <= _LARGEST:
                raise ShapeError(f"a kept sum has the coefficient {coefficient:g}: use at most 2^256")
            found[row, direction] = coefficient
    return found


def spanned(wide: Wide, names_of_features: Sequence[str]) -> Dyadic:
    """Return vectors that span every stream there can be, after every layer: (width, n).

    Raises:
        ShapeError: if a sum of weights is not a float64.
    """
    features, start = list(wide.position.T), wide.token
    if ONE in names_of_features:
        start = added(start, features.pop(names_of_features.index(ONE))[:, None])
    found = [start, np.array(features).reshape(-1, wide.width).T]
    if wide.table is not None and wide.table.shape[1]:
        found[0] = added(start, wide.table[:, :1])
        found.append(added(wide.table, -wide.table[:, :1]))
    span = _distinct(np.hstack(found))
    for layer in wide.layers:
        heads = [_fewer(product(product(h.output, h.value), span), h.output, wide.width) for h in layer.heads]
        units = [unit.writes for unit in layer.units or ()]
        span = _distinct(np.hstack([span, *heads, np.array([*units, layer.offset]).T]))
    return span


def variables(decoder: Decoder, forms: Forms) -> dict[str, Dyadic]:
    """Return for each subspace of the original's layout the forms on the narrow stream that tell of its value alone.

    That is (n, forms), orthonormal: what the span of its directions and that of the forms have in common, as functions of
    streams that there can be. A variable may have fewer dimensions than before, or none, where less of it is read;
    and several may have some in common, such as what is the same everywhere.
    """
    width, found = decoder.layout.width, dict[str, Dyadic]()
    axes = _axes(spanned(widened(decoder, width), decoder.features))
    map_ = matrix_of(forms, width) @ axes
    basis = _rows(map_)
    back = np.linalg.pinv(map_)
    for subspace in decoder.layout.subspaces:
        own = _rows(axes[decoder.layout[subspace.name]]) if subspace.width else axes[:0]
        left, cosines, _ = np.linalg.svd(own @ basis.T, full_matrices=False)
        found[subspace.name] = _rows(left[:, cosines > 1 - _SMALL].T @ own @ back)
    return found


def _rows(vectors: Dyadic) -> Dyadic:
    """Return an orthonormal basis of the span of rows."""
    sizes = np.linalg.norm(vectors, axis=1)
    kept = vectors[sizes > _SMALL] / sizes[sizes > _SMALL, None]
    if not kept.size:
        return np.zeros((0, vectors.shape[1]))
    _, values, right = np.linalg.svd(kept, full_matrices=False)
    rows: Dyadic = right[values > _SMALL]
    return rows


def _fewer(carried: Dyadic, output: Dyadic, width: int) -> Dyadic:
    """Return what a head may write, as vectors that span it: what it makes of the stream, or all it can."""
    carried = _distinct(carried)
    return carried if carried.shape[1] <= 8 * width else output


def _distinct(columns: Dyadic) -> Dyadic:
    columns = columns[:, columns.any(axis=0)]
    return np.unique(columns, axis=1) if columns.size else columns


def _reads(wide: Wide) -> Iterator[Dyadic]:
    """Yield all that is read from the stream, in the order of the computation."""
    for layer in wide.layers:
        for head in layer.heads:
            yield from (head.query, head.key, head.value)
        if layer.units is not None:
            yield np.array([unit.reads for unit in layer.units]).reshape(-1, wide.width)
    yield wide.unembedding


@dataclass
class _Basis:
    """Vectors that are taken one after the other, if they are not in the span of those before."""

    vectors: list[Dyadic]

    def rest(self, vector: Dyadic) -> Dyadic:
        size = float(np.linalg.norm(vector))
        if not size:
            return np.zeros_like(vector)
        rest = vector / size
        for _ in range(2):  # once more against rounding
            for each in self.vectors:
                rest = rest - (each @ rest) * each
        return rest

    def has(self, vector: Dyadic) -> bool:
        return float(np.linalg.norm(self.rest(vector))) < _SMALL

    def take(self, vector: Dyadic) -> bool:
        rest = self.rest(vector)
        if float(np.linalg.norm(rest)) < _SMALL:
            return False
        self.vectors.append(rest / np.linalg.norm(rest))
        return True


def _least(decoder: Decoder, exact: NDArray[np.bool_]) -> Forms:
    """Return as few forms as are found that determine all that is read."""
    wide = widened(decoder, decoder.layout.width)
    span, width = spanned(wide, decoder.features), wide.width
    rows = [row for part in _reads(wide) for row in part if row.any()]
    reads = np.unique(np.array([_sized(row)[0] for row in rows]).reshape(-1, width), axis=0)
    axes = _axes(span)
    needed = _Basis([])
    for row in reads:
        needed.take(row @ axes)
    own = np.array([row for row in np.eye(width) if needed.has(row @ axes)]).reshape(-1, width)

    def sure(rows: Dyadic) -> list[Dyadic]:
        return [row for row in rows if exact[row != 0].all()]

    def chosen(own: Dyadic, reads: Dyadic) -> list[Dyadic]:
        basis = _Basis([])
        every = (*sure(own), *sure(reads), *own, *reads)
        kept = [row for row in every if basis.take(row @ axes)]
        _, right = _expressed(reads, np.array(kept).reshape(-1, width), span)
        return [*kept, *reads[~right]]

    kept = chosen(own, reads)
    for other in (own[::-1], own[:0]):
        if len(kept) > len(needed.vectors):
            kept = min(kept, chosen(other, reads), key=len)
    return tuple(tuple((int(d), float(row[d])) for d in np.flatnonzero(row)) for row in kept)


def _sized(row: Dyadic) -> tuple[Dyadic, float]:
    """Return a form and a factor, which give `row`: one whose first entry is 1 if floats allow it, or else near it."""
    first = float(row[np.flatnonzero(row)[0]])
    by_first = row / first
    if np.array_equal(by_first * first, row) and (by_first * _GRID == np.rint(by_first * _GRID)).all():
        return by_first, first
    power = float(2.0 ** np.frexp(np.abs(row).max())[1])
    return row / power, power


def _axes(span: Dyadic) -> Dyadic:
    """Return coordinates for forms on the span: f ↦ f·axes, (width, rank)."""
    if not span.size:
        return np.zeros((len(span), 0))
    left, sizes, _ = np.linalg.svd(span / np.abs(span).max(axis=0), full_matrices=False)
    keep = sizes > sizes[0] * 1e-10
    axes: Dyadic = left[:, keep] * np.minimum(1.0, sizes[keep])
    return axes


def _expressed(reads: Dyadic, kept: Dyadic, span: Dyadic) -> tuple[Dyadic, NDArray[np.bool_]]:
    """Return N, with reads = N·kept on the span, and which rows of it are so, without rounding."""
    axes = _axes(span)
    chosen = _Basis([])
    free = [n for n, row in enumerate(kept) if chosen.take(row @ axes)]
    found = np.zeros((len(reads), len(kept)))
    solve = np.linalg.pinv(kept[free] @ axes)
    for n, row in enumerate(reads):
        if not row.any():
            continue
        form, factor = _sized(row)
        same = np.flatnonzero((kept == form).all(axis=1))
        if len(same):
            found[n, same[0]] = factor
        else:
            found[n, free] = np.rint((form @ axes @ solve) * _GRID) / _GRID * factor
    wanted = product(reads, span)
    return found, np.asarray((product(product(found, kept), span) == wanted).all(axis=1))
