"""The same values as `evaluate`, for many words of one length at once, or for a long one.

Written apart from it: where the definition has a quantifier, here is a running sum or a running maximum. Bits are truth
values, numbers whole numbers, and labels places in a list that each node has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tm2tfr.base.errors import InputError
from tm2tfr.sources.logic import nodes as logic
from tm2tfr.sources.logic.nodes import Node, needed
from tm2tfr.sources.logic.theta import rule

Grid = NDArray[Any]
"""(words, n): bits as bool, labels as indices, numbers as int64."""
_MOST_PAIRS = 1 << 22
"""Of a query and a key that are looked at in one go."""


@dataclass(frozen=True)
class ManyRows:
    """What nodes are on many words.

    Args:
        rows: node -> its values: (words, n); of a label node places in its list.
        labels: label node -> its list.
    """

    rows: Mapping[Node, Grid]
    labels: Mapping[Node, tuple[str, ...]]

    def values(self, node: Node, word: int) -> tuple[bool | str | int, ...]:
        """Return the values of a node on one of the words, as `evaluate` has them: (n,)."""
        found = self.rows[node][word].tolist()
        return tuple(self.labels[node][place] for place in found) if node in self.labels else tuple(found)


class ManyWords:
    """Evaluates some nodes, with all that they are made of, on one batch of words after the other.

    Args:
        nodes: the nodes to evaluate.
        alphabet: the tokens of the words.

    Attributes:
        nodes: in the order in which they are evaluated.
        labels: label node -> all labels that it can have, those of the token in the order of the alphabet.
    """

    def __init__(self, nodes: Iterable[Node], alphabet: Sequence[str]) -> None:
        self.nodes, self.alphabet = needed(list(nodes)), tuple(alphabet)
        self.labels: dict[Node, tuple[str, ...]] = {}
        for node in self.nodes:
            if node.kind == "label":
                self.labels[node] = tuple(dict.fromkeys(self._labels(node)))
        self._places = {token: place for place, token in enumerate(self.alphabet)}

    def __call__(self, words: Sequence[Sequence[str]]) -> ManyRows:
        """Return the values on words of one length.

        Raises:
            InputError: if there are no words, their lengths differ or are 0, or a token is not in the alphabet.
        """
        if not words or not words[0] or len({len(word) for word in words}) > 1:
            raise InputError("the words must have one and the same length, from 1 on: evaluate them in groups")
        try:
            given = np.array([[self._places[token] for token in word] for word in words], dtype=np.int64)
        except KeyError as error:
            raise InputError(f"{error.args[0]!r} is not a token of {', '.join(self.alphabet)}: use these") from None
        return self.run(given)

    def run(self, given: NDArray[np.int64]) -> ManyRows:
        """Return the values on words given as the places of their tokens in the alphabet: (words, n)."""
        batch = _Batch(given, self.labels)
        for node in self.nodes:
            batch.rows[node] = _STEPS[type(node)](node, batch)
        return ManyRows(batch.rows, self.labels)

    def _labels(self, node: Node) -> Iterator[str]:
        if isinstance(node, logic.Input):
            yield from self.alphabet
        elif isinstance(node, logic.Text):
            yield node.value
        elif isinstance(node, logic.Choose):
            yield from (*self.labels[node.then], *self.labels[node.other])
        elif isinstance(node, logic.Retrieve):
            yield from (*self.labels[node.values], *self.labels[node.default])


class _Batch:
    """Words of one length, and the known values of nodes on them."""

    def __init__(self, given: NDArray[np.int64], labels: Mapping[Node, tuple[str, ...]]) -> None:
        self.given, self.labels = given, labels
        self.shape = self.size, self.n = given.shape
        self.here = np.arange(self.n, dtype=np.int64)
        """The positions, from 0: (n,)."""
        self.rows: dict[Node, Grid] = {}

    def numbers(self, node: Node) -> Grid:
        """Return the values of a number, or of a bit as 0 and 1."""
        return self.rows[node].astype(np.int64, copy=False)

    def moved(self, node: Node, to: Mapping[str, int]) -> Grid:
        """Return the labels of a node as other places."""
        return np.array([to[label] for label in self.labels[node]], dtype=np.int64)[self.rows[node]]

    def among(self, node: Node, source: Node) -> Grid:
        """Return the values of `source` as those of `node`, which has at least its labels."""
        if node not in self.labels:
            return self.rows[source]
        return self.moved(source, {label: place for place, label in enumerate(self.labels[node])})

    def comparable(self, left: Node, right: Node) -> tuple[Grid, Grid]:
        """Return two numbers, or two labels as indices into one list."""
        if left not in self.labels:
            return self.numbers(left), self.numbers(right)
        together = dict.fromkeys((*self.labels[left], *self.labels[right]))
        to = {label: place for place, label in enumerate(together)}
        return self.moved(left, to), self.moved(right, to)


def _one_of(node: logic.OneOf, batch: _Batch) -> Grid:
    member = np.array([label in node.values for label in batch.labels[node.of]], dtype=bool)
    found: Grid = member[batch.rows[node.of]]
    return found


def _same(node: logic.Same, batch: _Batch) -> Grid:
    left, right = batch.comparable(node.left, node.right)
    return np.asarray(left == right)


def _choose(node: logic.Choose, batch: _Batch) -> Grid:
    return np.where(batch.rows[node.condition], batch.among(node, node.then), batch.among(node, node.other))


def _shifted(row: Grid, by: int) -> Grid:
    """Return the bits of the position before (1) or after (-1), false where there is none."""
    found = np.zeros_like(row)
    if by > 0:
        found[:, 1:] = row[:, :-1]
    else:
        found[:, :-1] = row[:, 1:]
    return found


def _since(left: Grid, right: Grid, here: Grid) -> Grid:
    """The last φ2 is after the last position without φ1."""
    last = np.maximum.accumulate(np.where(right, here, -1), axis=1)
    broken = np.maximum.accumulate(np.where(left, -1, here), axis=1)
    return last > broken


def _sum(node: logic.Sum, batch: _Batch) -> Grid:
    found = np.full(batch.shape, node.constant, dtype=np.int64)
    for factor, term in node.terms:
        found += factor * batch.numbers(term)
    return found


_RELATIONS: Mapping[str, Callable[[Grid, Grid], Grid]] = {
    "<=": np.less_equal,
    "<": np.less,
    ">=": np.greater_equal,
    ">": np.greater,
    "==": np.equal,
    "!=": np.not_equal,
}


def _predicate(node: logic.Predicate, batch: _Batch) -> Grid:
    numbers = batch.numbers(node.of)
    holds: NDArray[np.bool_]
    if node.predicate == "mod":
        holds = numbers % node.modulus == node.remainder
        return holds
    holds = np.zeros(max(int(numbers.max()), 0) + 1, dtype=bool)
    most = len(holds) - 1
    if node.predicate == "rule":
        holds[:] = [bool(rule(node.rule).at(t, batch.n)) for t in range(most + 1)]
    elif node.predicate == "prime":
        holds[2:] = True
        for p in range(2, isqrt(most) + 1):
            holds[p * p :: p] = False
    elif node.predicate == "square":
        holds[[d * d for d in range(isqrt(most) + 1)]] = True
    else:
        holds[[1 << k for k in range(most.bit_length())]] = True
    return np.asarray(holds[np.maximum(numbers, 0)] & (numbers >= 0))


def _retrieve(node: logic.Retrieve, batch: _Batch) -> Grid:
    values, found = batch.among(node, node.values), batch.among(node, node.default).copy()
    step = max(1, _MOST_PAIRS // (batch.size * batch.n))
    for start in range(0, batch.n, step):
        queries = slice(start, start + step)
        i, j = batch.here[queries, None], batch.here[None, :]
        seen = _selected(node.score, batch, queries)
        if node.sight != "any":
            seen = seen & _RELATIONS[node.sight](j, i)
        seen = np.broadcast_to(seen, (batch.size, i.shape[0], batch.n))
        at = seen.argmax(axis=-1) if node.choice == "earliest" else batch.n - 1 - seen[:, :, ::-1].argmax(axis=-1)
        found[:, queries] = np.where(seen.any(axis=-1), np.take_along_axis(values, at, axis=1), found[:, queries])
    return found


def _selected(score: logic.Score, batch: _Batch, queries: slice) -> NDArray[np.bool_]:
    """Return S(i, j) for some queries, in a form that broadcasts to (words, queries, n)."""
    if isinstance(score, logic.AtKey):
        return batch.rows[score.bit][:, None, :]
    if isinstance(score, logic.AtQuery):
        return batch.rows[score.bit][:, queries, None]
    if isinstance(score, logic.Equal):
        keys, asked = batch.comparable(score.key, score.query)
        return np.asarray(keys[:, None, :] == asked[:, queries, None])
    if isinstance(score, logic.NotOf):
        return ~_selected(score.part, batch, queries)
    conjunction = isinstance(score, logic.AllOf)
    found = np.full((1, 1, 1), conjunction)
    for part in score.parts:
        one = _selected(part, batch, queries)
        found = found & one if conjunction else found | one
    return found


_STEPS: Mapping[type[Node], Callable[[Any, _Batch], Grid]] = {
    logic.Input: lambda node, batch: batch.given,
    logic.Text: lambda node, batch: np.zeros(batch.shape, dtype=np.int64),
    logic.Choose: _choose,
    logic.Always: lambda node, batch: np.full(batch.shape, node.value),
    logic.OneOf: _one_of,
    logic.Same: _same,
    logic.Not: lambda node, batch: ~batch.rows[node.of],
    logic.And: lambda node, batch: np.logical_and.reduce([batch.rows[part] for part in node.parts]),
    logic.Or: lambda node, batch: np.logical_or.reduce([batch.rows[part] for part in node.parts]),
    logic.Previous: lambda node, batch: _shifted(batch.rows[node.of], 1),
    logic.Next: lambda node, batch: _shifted(batch.rows[node.of], -1),
    logic.Since: lambda node, batch: _since(batch.rows[node.left], batch.rows[node.right], batch.here),
    logic.Until: lambda node, batch: _since(batch.rows[node.left][:, ::-1], batch.rows[node.right][:, ::-1], batch.here)[
        :, ::-1
    ],
    logic.Comparison: lambda node, batch: _RELATIONS[node.relation](batch.numbers(node.left), batch.numbers(node.right)),
    logic.Predicate: _predicate,
    logic.Place: lambda node, batch: np.tile(batch.here + 1, (batch.size, 1)),
    logic.CountLeft: lambda node, batch: np.cumsum(batch.rows[node.of], axis=1, dtype=np.int64),
    logic.CountRight: lambda node, batch: np.cumsum(batch.rows[node.of][:, ::-1], axis=1, dtype=np.int64)[:, ::-1],
    logic.Sum: _sum,
    logic.Retrieve: _retrieve,
}
