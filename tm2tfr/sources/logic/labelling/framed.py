"""Many words of one length with BOS before them and EOS behind: what nodes are there, and where heads look.

The rules are those of `tm2tfr.sources.logic.specification.heads` and `heads`, for all words and positions at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from tm2tfr.contract.labelling import sight_matrix
from tm2tfr.sources.logic import nodes as logic
from tm2tfr.sources.logic.evaluate_many import ManyRows
from tm2tfr.sources.logic.nodes import Node
from tm2tfr.sources.logic.specification.claims import BitClaim, DividedClaim, EqualityClaim, HeadClaim, TruthOf
from tm2tfr.sources.logic.specification.heads import about_query, conjuncts, equality

FramedGrid: TypeAlias = Any
"""An array of numpy: (words, positions)."""
FramedPairs: TypeAlias = Any
"""Likewise: (words, positions, positions), a query position i, then a key position j."""
Nodes = Mapping[int, Node]


class FramedWords:
    """Words of one length.

    Args:
        rows: what nodes are on them, position by position of the words.
        tokens: those fed, as their numbers: (words, positions).
        eos: whether there is an EOS.
    """

    def __init__(self, rows: ManyRows, tokens: FramedGrid, *, eos: bool) -> None:
        self._rows, self.tokens, self._eos = rows, tokens, eos
        self.size, self.positions = tokens.shape
        self.n = self.positions - 1 - eos
        self.here = np.arange(self.positions)
        self.inside = (self.here >= 1) & (self.here <= self.n)
        self._looks: dict[HeadClaim, FramedGrid] = {}

    # ── what nodes are ──────────────────────────────────────────────────────────────────────────────────────
    def _framed(self, values: FramedGrid, outside: int) -> FramedGrid:
        return np.pad(values, ((0, 0), (1, int(self._eos))), constant_values=outside)

    def bits(self, node: Node) -> FramedGrid:
        """Return a bit, false outside the words."""
        return self._framed(self._rows.rows[node].astype(bool), 0)

    def labels(self, node: Node) -> FramedGrid:
        """Return the places of labels in the node's list, -1 outside the words."""
        return self._framed(self._rows.rows[node], -1)

    def numbers(self, node: Node) -> FramedGrid:
        """Return a number, at the ends the natural one; a bit counts as 1 or 0."""
        if isinstance(node, logic.Sum):
            found = np.full((self.size, self.positions), node.constant, dtype=np.int64)
            for factor, term in node.terms:
                found += factor * self.numbers(term)
            return found
        if isinstance(node, logic.Place):
            return np.tile(self.here, (self.size, 1))
        found = self._framed(self._rows.rows[node].astype(np.int64), 0)
        if isinstance(node, logic.CountLeft) and self._eos:
            found[:, -1] = self._rows.rows[node.of].sum(axis=1)
        if isinstance(node, logic.CountRight):
            found[:, 0] = self._rows.rows[node.of].sum(axis=1)
        return found

    def given(self, what: str) -> FramedGrid:
        """Return what holds of a position whatever the word is."""
        i = self.here
        if what == "eos":
            found = i == self.n + 1
        elif what in _FEATURES:
            found = _FEATURES[what](i)
        else:
            _, _, modulus, _, remainder = what.split(" ")
            found = i % int(modulus) == int(remainder)
        return np.broadcast_to(np.asarray(found).astype(np.int64), (self.size, self.positions))

    def true(self, claim: BitClaim, nodes: Nodes) -> FramedGrid:
        """Return where a word has one of the alternatives, each a conjunction."""
        found = np.zeros((self.size, self.positions), dtype=bool)
        for literals in claim.alternatives:
            each = np.ones_like(found)
            for literal in literals:
                each &= self._literal(literal, nodes)
            found |= each
        return found & self.inside

    def _literal(self, literal: TruthOf, nodes: Nodes) -> FramedGrid:
        node = nodes[literal.node]
        if literal.label is None:
            return self.bits(node) == literal.true
        known = self._rows.labels[node]
        place = known.index(literal.label) if literal.label in known else -2
        return (self.labels(node) == place) == literal.true

    def reaches(self, node: Node, least: int) -> FramedGrid:
        """Return where the numbers of a comparison differ by `least` or more."""
        if not isinstance(node, logic.Comparison):
            raise TypeError(f"{node!r} is not a comparison")
        return self.numbers(node.left) - self.numbers(node.right) >= least

    def found(self, node: Node) -> FramedGrid:
        """Return where a position in sight is selected."""
        if not isinstance(node, logic.Retrieve):
            raise TypeError(f"{node!r} retrieves nothing")
        i, j = self.here[:, None], self.here[None, :]
        sight = {"<=": j <= i, "<": j < i, ">=": j >= i, ">": j > i, "any": np.ones_like(j >= i)}[node.sight]
        there = self._holds(node.score) & sight & self.inside & self.inside[:, None]
        return np.broadcast_to(there, (self.size, self.positions, self.positions)).any(axis=-1)

    def equal(self, claim: EqualityClaim, nodes: Nodes) -> FramedGrid:
        """Return where two numbers are equal: the query's, and that of the key which a head attends to."""
        conjunct = equality(nodes[claim.node], claim.conjunct)
        if conjunct is None:
            raise TypeError(f"s{claim.node} compares no numbers")
        key, query = self.numbers(conjunct.key), self.numbers(conjunct.query)
        if claim.head.kind != "all":
            return self.fetched(claim.head, key, nodes) == query
        hidden = ~sight_matrix(claim.head.mask, self.positions)
        return np.asarray(((key[:, None, :] == query[:, :, None]) | hidden).all(axis=-1))

    # ── where heads look ────────────────────────────────────────────────────────────────────────────────────
    def fetched(self, head: HeadClaim, values: FramedGrid, nodes: Nodes) -> FramedGrid:
        """Return what a head with one position to attend to carries: the value that is there."""
        at = np.clip(self.looked(head, nodes) + head.shift, 0, self.positions - 1)
        return np.take_along_axis(np.broadcast_to(values, at.shape), at, axis=1)

    def mean(self, head: HeadClaim, values: FramedGrid, nodes: Nodes) -> FramedGrid:
        """Return the mean of values over all positions in sight."""
        if head.mask == "none":
            return np.broadcast_to(values.mean(axis=1, keepdims=True), (self.size, self.positions))
        if head.mask == "future":
            return np.cumsum(values, axis=1) / (self.here + 1)
        return np.cumsum(values[:, ::-1], axis=1)[:, ::-1] / (self.positions - self.here)

    def looked(self, head: HeadClaim, nodes: Nodes) -> FramedGrid:
        """Return the one position that a head attends to from each: (words, positions)."""
        if head not in self._looks:
            self._looks[head] = np.broadcast_to(self._looked(head, nodes), (self.size, self.positions))
        return self._looks[head]

    def _looked(self, head: HeadClaim, nodes: Nodes) -> FramedGrid:  # noqa: PLR0911
        i, last = self.here, self.positions - 1
        match head.kind:
            case "lookup" if head.number is not None:
                x = self.numbers(nodes[head.number.node])
                ends: dict[str, Any] = {"future": (0, i), "past": (i, last), "none": (0, last)}
                return np.clip(_due(head.number, x), *ends[head.mask])
            case "back":
                return np.maximum(i - 1, 0)
            case "ahead":
                return np.minimum(i + 1, last)
            case "parity":
                found = np.where(i % 2 == head.least, i, i - 1)
                return np.where(found < 0, i, found)
            case "since" | "until":
                return self._marked(head, nodes)
            case "sign":
                return np.where((i == 0) | self.reaches(nodes[head.node], head.least), 0, 1)
        return self._chosen(head, nodes)

    def _marked(self, head: HeadClaim, nodes: Nodes) -> FramedGrid:
        node = nodes[head.node]
        if isinstance(node, logic.Since | logic.Until):
            ends = ~self.bits(node.left) | self.bits(node.right)
        elif isinstance(node, logic.Retrieve):
            ends = np.broadcast_to(self._holds(node.score), (self.size, self.positions, self.positions))
            ends = np.diagonal(ends, axis1=1, axis2=2)
        else:
            raise TypeError(f"{node!r} is neither since nor until, and retrieves nothing")
        ends = ends | ~self.inside
        if head.kind == "since":
            return np.maximum.accumulate(np.where(ends, self.here, -1), axis=1)
        found = np.where(ends, self.here, self.positions - 1)[:, ::-1]
        return np.minimum.accumulate(found, axis=1)[:, ::-1]

    def _chosen(self, head: HeadClaim, nodes: Nodes) -> FramedGrid:
        node = nodes[head.node]
        if not isinstance(node, logic.Retrieve):
            raise TypeError(f"{node!r} retrieves nothing")
        parts = conjuncts(node)
        scores = np.zeros((1, self.positions, self.positions), dtype=np.int64)
        for cluster in head.clusters:
            rule = next(((per, negative) for at, per, negative in head.divided if cluster == (at,)), None)
            scores = scores + self._counts(tuple(parts[k] for k in cluster), rule)
        at = np.clip(self.here + head.shift, 0, self.positions - 1)  # the position that each key stands for
        scores = np.broadcast_to(scores, (self.size, self.positions, self.positions))[:, :, at]
        best = np.where(sight_matrix(head.mask, self.positions), scores, np.iinfo(np.int64).min)
        best = best == best.max(axis=-1, keepdims=True)
        if head.kind == "earliest":
            return np.asarray(best.argmax(axis=-1))
        return np.asarray(self.positions - 1 - best[:, :, ::-1].argmax(axis=-1))

    def _counts(self, group: tuple[logic.Score, ...], rule: tuple[int, bool] | None) -> FramedPairs:
        """Return what a cluster adds to the score of each key for each query."""
        first = group[0] if group else None
        if len(group) == 1 and isinstance(first, logic.Equal) and first.key.kind == "number":
            return _closeness(rule, self.numbers(first.key)[:, None, :], self.numbers(first.query)[:, :, None])
        asks = any(about_query(leaf) for part in group for leaf in logic.leaves(part))
        found = np.ones((1, self.positions, self.positions), dtype=bool)
        for part in group:
            found = found & self._holds(part)
        found = found & self.inside & (self.inside[:, None] if asks else True)
        return found.astype(np.int64)

    def _holds(self, score: logic.Score) -> FramedPairs:
        """Return where a condition holds of a query, inside the word, and a key; constants are the same everywhere."""
        match score:
            case logic.AtKey():
                return self.bits(score.bit)[:, None, :]
            case logic.AtQuery():
                return self._asked(score.bit, self.bits)[:, :, None]
            case logic.Equal():
                if score.key.kind == "number":
                    return np.asarray(
                        self.numbers(score.key)[:, None, :] == self._asked(score.query, self.numbers)[:, :, None]
                    )
                return np.asarray(self._named(score.key)[:, None, :] == self._asked(score.query, self._named)[:, :, None])
            case logic.AllOf() | logic.AnyOf():
                every = isinstance(score, logic.AllOf)
                found = np.full((1, 1, 1), every)
                for part in score.parts:
                    found = found & self._holds(part) if every else found | self._holds(part)
                return found
            case logic.NotOf():
                return ~self._holds(score.part)
        raise TypeError(f"{score!r} is not a condition")

    def _asked(self, node: Node, values: Callable[[Node], FramedGrid]) -> FramedGrid:
        """Return the values of a query; those of a constant everywhere as they are inside the word."""
        found = values(node)
        return np.broadcast_to(found[:, 1:2], found.shape) if isinstance(node, logic.Always | logic.Text) else found

    def _named(self, node: Node) -> FramedGrid:
        """Return labels as places in one list for all nodes; -1 outside the word."""
        to = np.array([self._together[label] for label in self._rows.labels[node]] + [-1])
        return np.asarray(to[self.labels(node)])

    @cached_property
    def _together(self) -> Mapping[str, int]:
        every = dict.fromkeys(label for labels in self._rows.labels.values() for label in labels)
        return {label: place for place, label in enumerate(every)}


def _due(number: Any, x: FramedGrid) -> FramedGrid:
    if isinstance(number, DividedClaim):
        return np.maximum(0, number.sign * x) // number.per
    return {"number": x, "positive": np.maximum(x, 0), "negative": np.maximum(-x, 0)}[number.what]


def _closeness(rule: tuple[int, bool] | None, key: FramedPairs, query: FramedPairs) -> FramedPairs:
    if rule is None:
        return -((key - query) ** 2)
    per, negative = rule
    score = np.zeros(np.broadcast_shapes(key.shape, query.shape), dtype=np.int64)
    for sign in (1, -1) if negative else (1,):
        (p, r), (q, s) = (np.divmod(np.maximum(0, sign * x), per) for x in (key, query))
        score += (r == s) - (p - q) ** 2
    return score


def _prime(i: FramedGrid) -> FramedGrid:
    return np.array([n > 1 and all(n % factor for factor in range(2, n)) for n in i.tolist()])


_FEATURES: Mapping[str, Callable[[FramedGrid], FramedGrid]] = {
    "bos": lambda i: i == 0,
    "early": lambda i: i <= 1,
    "1": np.ones_like,
    "i": lambda i: i,
    "i^2": lambda i: i * i,
    "prime(i)": _prime,
    "square(i)": lambda i: np.array([round(n**0.5) ** 2 == n for n in i.tolist()]),
    "power of 2(i)": lambda i: np.array([n.bit_count() == 1 for n in i.tolist()]),
    "(-1)^i": lambda i: 1 - 2 * (i % 2),
}
