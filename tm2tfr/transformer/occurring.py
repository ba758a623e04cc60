"""Which streams can occur in weights whose heads have unique-hard attention, in exact arithmetic.

Such a head copies what it reads at one position, so that from finitely many embeddings come finitely many streams before
each layer, in words of any length. All that can occur are listed here, with some that cannot: of a stream nothing is kept
but itself, not the word that it occurs in. A head attends to itself, or to a position whose score is not below its own, for
a position always sees itself.

From the list follows what softmax has to be told apart by: the smallest difference of a best score to a lower one, and the
values of each number that a head carries.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np

from tm2tfr.base.errors import CompileError
from tm2tfr.transformer.matrix import AnyArray, Matrix, Rational, rational
from tm2tfr.transformer.positions import feature
from tm2tfr.transformer.weights import Decoder, FeedForward, Head, Layer

MOST = 200_000
"""At most this many streams, position by position, are listed for a layer."""
MOST_SCORES = 4_000_000
"""At most this many pairs of different queries and keys are compared for a head."""
_REMEDY = "give --gap, the smallest difference of a best score to a lower one"


class UnknownGapError(CompileError):
    """The gap of scores cannot be derived from the weights."""


@dataclass(frozen=True)
class HeadRange:
    """The values that can occur in a head.

    Args:
        gap: the smallest difference of a score that can be the best one to the next lower one; None: there is no lower one.
        carried: component of the value -> the values that it can have, in order, where it is carried anywhere.
    """

    gap: Rational | None
    carried: dict[int, tuple[Rational, ...]]


@dataclass(frozen=True)
class Occurring:
    """The values that can occur in a layer: the number of streams before it, and the values in each head."""

    streams: int
    heads: tuple[HeadRange, ...]


def occurring(decoder: Decoder, positions: int | None = None) -> list[Occurring]:
    """Return the values that can occur in each layer of weights without layer norms and loops.

    Args:
        positions: in words of at most this many positions; None: in all words.

    Raises:
        UnknownGapError: if a head has other than unique-hard attention, or too much can occur.
        CompileError: if a position feature is not periodic, and `positions` is None.
    """
    for number, layer in enumerate(decoder.layers, start=1):
        for head in layer.heads:
            if not head.unique:
                where = f"layer {number}, head {head.name!r}: {head.weighting} attention brings means of several positions"
                raise UnknownGapError(f"{where}, of which there are more the longer the word is: {_REMEDY}")
    streams, found = _distinct(_embedded(decoder, positions)), []
    for number, layer in enumerate(decoder.layers, start=1):
        looking = [_Looking(head, streams, f"layer {number}, head {head.name!r}") for head in layer.heads]
        found.append(Occurring(len(streams), tuple(each.compared() for each in looking)))
        if number < len(decoder.layers):
            streams = _after(layer, streams, looking, number)
    return found


def _embedded(decoder: Decoder, positions: int | None) -> AnyArray:
    """Return the embedding of every token at every position that differs from others: (many, width)."""
    tokens = _exact(decoder.token_embedding).T
    table = None if decoder.position_table is None else _exact(decoder.position_table).T
    most = min((n for n in (positions, decoder.positions) if n is not None), default=None)
    features = [feature(name) for name in decoder.features]
    periods = [each.period for each in features]
    if table is None and all(period is not None for period in periods):
        again = math.lcm(*(period for period in periods if period is not None))
        most = again if most is None else min(again, most)
    elif most is None:
        name = next(name for name, period in zip(decoder.features, periods, strict=True) if period is None)
        problem = f"the position feature {name!r} has other values at every position, so more streams occur in longer words"
        raise CompileError(f"{problem}: give --length, the most positions of a word")
    lengths = range(1, most + 1) if any(each.of_length for each in features) else range(most, most + 1)
    if sum(lengths) * len(tokens) > MOST:
        raise _too_many("the embedding")
    places = [(i, n) for n in lengths for i in range(n)]
    values = [[_whole(Fraction(*each(i, n))) for each in features] for i, n in places]
    added = _times(decoder.position_embedding, np.array(values, dtype=object).reshape(len(places), len(features)))
    if table is not None:
        added = added + table[[i for i, _ in places]]
    return (tokens[:, None] + added).reshape(-1, tokens.shape[1])


def _whole(value: Fraction) -> Rational:
    return value.numerator if value.denominator == 1 else value


class _Looking:
    """A head, and the streams that it can read."""

    def __init__(self, head: Head, streams: AnyArray, where: str) -> None:
        queries, self._asking = _indexed(_times(head.query.selected(head.components), streams))
        keys, self._asked = _indexed(_times(head.key.selected(head.components), streams))
        if len(queries) * len(keys) > MOST_SCORES:
            raise _too_many(where)
        self._scores = queries @ keys.T if len(head.components) else np.zeros((len(queries), len(keys)), dtype=object)
        self._own = self._scores[self._asking, self._asked]
        values = _times(head.value, streams)
        self._values = {c: values[:, c] for c in sorted({*head.value.rows.tolist()} & {*head.output.columns.tolist()})}
        self._added, self._adding = _indexed(_times(head.output, values))
        last = (head.mask, head.weighting) in (("future", "rightmost"), ("past", "leftmost"))
        self._beats = np.greater if last else np.greater_equal
        """How the score of another position has to compare with its own: at the end of its sight it wins all ties."""

    def compared(self) -> HeadRange:
        """Return the values that can occur in it."""
        lowest: dict[int, Rational] = {}
        for query, own in zip(self._asking, self._own, strict=True):
            lowest[query] = min(own, lowest.get(query, own))
        gaps = [
            better - worse
            for query, own in lowest.items()
            for worse, better in pairwise(sorted(set(self._scores[query].tolist())))
            if better >= own
        ]
        carried = {c: tuple(sorted(set(values.tolist()))) for c, values in self._values.items()}
        return HeadRange(min(gaps, default=None), carried)

    def choices(self) -> list[AnyArray]:
        """Return for each stream the possible outputs of the head: (choices, width)."""
        with_key: dict[int, set[int]] = {}
        for key, adding in zip(self._asked, self._adding, strict=True):
            with_key.setdefault(key, set()).add(adding)
        known: dict[tuple[int, int], set[int]] = {}
        found = []
        for query, key, adding, own in zip(self._asking, self._asked, self._adding, self._own, strict=True):
            if (query, key) not in known:
                better = np.flatnonzero(self._beats(self._scores[query], own)).tolist()
                known[query, key] = set().union(*(with_key[each] for each in better))
            found.append(self._added[sorted(known[query, key] | {adding})])
        return found


def _after(layer: Layer, streams: AnyArray, looking: Sequence[_Looking], number: int) -> AnyArray:
    """Return the streams that can occur after a layer: (many, width)."""
    choices = [each.choices() for each in looking]
    many = sum(math.prod(len(each) for each in own) for own in zip(*choices, strict=True)) if choices else 0
    if many > MOST:
        raise _too_many(f"layer {number + 1}")
    if choices:
        streams = _distinct(np.concatenate(list(_sums(streams, choices))))
    return streams if layer.feed_forward is None else _distinct(_fed_forward(layer.feed_forward, streams))


def _sums(streams: AnyArray, choices: Sequence[Sequence[AnyArray]]) -> Iterator[AnyArray]:
    for stream, *own in zip(streams, *choices, strict=True):
        sums = stream[None]
        for added in own:
            sums = (sums[:, None] + added).reshape(-1, len(stream))
        yield sums


def _fed_forward(part: FeedForward, streams: AnyArray) -> AnyArray:
    hidden = _times(part.input, streams) + _exact(part.input_bias)[:, 0]
    return streams + _times(part.output, np.where(hidden > 0, hidden, 0)) + _exact(part.output_bias)[:, 0]


def _times(matrix: Matrix, rows: AnyArray) -> AnyArray:
    """Return the products with a matrix, exactly: rows (many, columns) → (many, rows of the matrix)."""
    found: AnyArray = np.zeros((len(rows), matrix.shape[0]), dtype=object)
    for row, column, value in matrix.entries():
        found[:, row] += rational(value) * rows[:, column]
    return found


def _exact(matrix: Matrix) -> AnyArray:
    """Return a matrix as a dense array of exact numbers."""
    found: AnyArray = np.zeros(matrix.shape, dtype=object)
    for row, column, value in matrix.entries():
        found[row, column] = rational(value)
    return found


def _indexed(rows: AnyArray) -> tuple[AnyArray, list[int]]:
    """Return the different rows, and which of them each row is."""
    numbers: dict[tuple[Rational, ...], int] = {}
    index = [numbers.setdefault(row, len(numbers)) for row in map(tuple, rows.tolist())]
    return np.array(list(numbers), dtype=object).reshape(len(numbers), rows.shape[1]), index


def _distinct(rows: AnyArray) -> AnyArray:
    return _indexed(rows)[0]


def _too_many(where: str) -> UnknownGapError:
    return UnknownGapError(f"{where}: too many different streams can occur there to compare them all: {_REMEDY}")
