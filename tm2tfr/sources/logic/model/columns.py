"""The equations of the model: what subspaces hold and where heads look, on all positions of many words at once.

Position 0 is BOS, positions 1 to n are those of the word, and position n+1 is EOS, if there is one. At the ends a bit is
false and a label is nothing. A number has its natural value there: the position is 0 or n+1, a count is that of the
positions of the word in sight, so that #← is 0 at BOS and the total at EOS, and a bit counts as 0.

The head of a `Retrieve` looks at the latest, or the earliest, position in sight of the largest score. The conjuncts of
its condition S(i, j) are the parts of the conjunction that it is, numbered from 0; clusters of them add up to the score
of a key position j for a query position i:

- a cluster that is one equality of two numbers counts minus the square of their difference, at j and i, wherever these are;
- where that is done by quotient and remainder, it counts minus the square of the difference of the quotients, and 1 more
  where the remainders are equal; where numbers may be negative, for max(0, x) and for max(0, -x);
- any other counts 1 where j is inside the word and all its conjuncts hold at (i, j), and i is inside the word or none of
  them is about it, but for constants; otherwise 0;
- an empty one counts 1 where j is inside the word, otherwise 0.

Of a shifted head, for strict sight, the key position j stands for the position before or after it, in all of this and in
what it carries; at the end of the sequence it stands for itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from tm2tfr.contract.labelling import sight_matrix
from tm2tfr.sources.logic import nodes as logic
from tm2tfr.sources.logic.evaluate_many import ManyRows
from tm2tfr.sources.logic.model.claims import (
    BitClaim,
    DividedClaim,
    EqualityClaim,
    GivenClaim,
    HeadClaim,
    InsideClaim,
    MeanClaim,
    NodeClaim,
    ShareClaim,
    StepClaim,
    SubspaceClaim,
    TruthOf,
    about_query,
    conjuncts,
    equality,
)
from tm2tfr.sources.logic.nodes import Node
from tm2tfr.sources.logic.theta import rule

FramedColumn: TypeAlias = Any
"""An array of numpy: (words, positions)."""
FramedPairs: TypeAlias = Any
"""An array of numpy: (words, query positions i, key positions j)."""
_fractions = np.frompyfunc(Fraction, 2, 1)


class FramedColumns:
    """Words of one length, and the values of claims about them.

    Args:
        nodes: the nodes of the program by their numbers.
        tokens: the tokens fed, as their places in `names`: (words, positions).
        names: all labels and tokens, of which the first is nothing.
        eos: whether there is an EOS.
        exact: whether shares and means are rationals instead of floats.
    """

    def __init__(
        self, nodes: Mapping[int, Node], tokens: FramedColumn, names: tuple[str | None, ...], *, eos: bool, exact: bool
    ) -> None:
        self.nodes, self.tokens, self._eos, self._exact = nodes, tokens, eos, exact
        self.names, self._place = names, {name: place for place, name in enumerate(names)}
        self.size, self.positions = tokens.shape
        self.n = self.positions - 1 - eos
        self.here = np.arange(self.positions)
        self.inside = (self.here >= 1) & (self.here <= self.n)
        self._looks: dict[HeadClaim, FramedColumn] = {}
        self._values: dict[tuple[SubspaceClaim, str | None], FramedColumn] = {}

    # ── what nodes are ──────────────────────────────────────────────────────────────────────────────────────
    def bits(self, node: Node) -> FramedColumn:
        """Return a bit, false outside the words."""
        raise NotImplementedError

    def labels(self, node: Node) -> FramedColumn:
        """Return labels as their places in `names`: nothing outside the words."""
        raise NotImplementedError

    def numbers(self, node: Node) -> FramedColumn:
        """Return a number, at the ends the natural one; a bit counts as 1 or 0."""
        raise NotImplementedError

    # ── what subspaces hold ─────────────────────────────────────────────────────────────────────────────────
    def value(self, claim: SubspaceClaim, label: str | None = None) -> FramedColumn:
        """Return the value of a claim: a number; of labels their places in `names`, or how much of `label` it is."""
        key = claim, label
        if key not in self._values:
            self._values[key] = np.broadcast_to(self._value(claim, label), (self.size, self.positions))
        return self._values[key]

    def _value(self, claim: SubspaceClaim, label: str | None) -> FramedColumn:  # noqa: PLR0911, PLR0912
        match claim:
            case GivenClaim("token"):
                return self._as_asked(self.tokens, label)
            case GivenClaim():
                return self.given(claim.what)
            case BitClaim():
                return self._any(claim)
            case NodeClaim("label"):
                return self._as_asked(self.labels(self.nodes[claim.node]), label)
            case NodeClaim("found"):
                return self._found(self.nodes[claim.node])
            case NodeClaim():
                sign, _, power = claim.what.partition(" ")  # such as ``positive square``
                x = _SIGNED.get(sign, _same)(self.numbers(self.nodes[claim.node]))
                return x * x if power or sign == "square" else x
            case DividedClaim():
                x = np.maximum(0, claim.sign * self.numbers(self.nodes[claim.node]))
                if claim.what == "reaches":
                    return x % claim.per if label is None else x % claim.per >= int(label)
                return (x // claim.per) ** 2 if claim.what.endswith("square") else x // claim.per
            case StepClaim():
                return self._reaches(self.nodes[claim.node], claim.least)
            case EqualityClaim():
                return self._equal(claim)
            case InsideClaim():
                return np.where(self.inside, self.value(claim.of, label), 0)
            case ShareClaim():
                return self._divided(self.value(claim.of, label), self.here + 1)
            case MeanClaim() if claim.head.kind == "all":
                return self._mean(claim.head, self.value(claim.of, label))
            case MeanClaim():
                return self._fetched(claim.head, self.value(claim.of, label))

    def _as_asked(self, places: FramedColumn, label: str | None) -> FramedColumn:
        return places if label is None else places == self._place.get(label, -1)

    def _divided(self, values: FramedColumn, by: FramedColumn | int) -> FramedColumn:
        return _fractions(values, by) if self._exact else values / by

    def given(self, what: str) -> FramedColumn:
        """Return what holds of a position whatever the word is."""
        i = self.here
        if what == "1/(i+1)":
            return self._divided(1, i + 1)
        if what == "eos":
            found = i == self.n + 1
        elif what in _FEATURES:
            found = _FEATURES[what](i)
        elif what.startswith("i mod "):
            _, _, modulus, _, remainder = what.split(" ")
            found = i % int(modulus) == int(remainder)
        else:
            values = [Fraction(rule(what).at(place, self.positions)) for place in range(self.positions)]
            if any(value.denominator > 1 for value in values):
                return np.array(values if self._exact else list(map(float, values)))
            found = np.array(list(map(int, values)))
        return np.asarray(found).astype(np.int64)

    def _any(self, claim: BitClaim) -> FramedColumn:
        """Return where one of the alternatives is true, each a conjunction, inside the word."""
        found = np.zeros((self.size, self.positions), dtype=bool)
        for literals in claim.alternatives:
            every = np.broadcast_to(self.inside, found.shape)
            for literal in literals:
                every = every & self._literal(literal)
            found |= every
        return found

    def _literal(self, literal: TruthOf) -> FramedColumn:
        node = self.nodes[literal.node]
        holds = self.bits(node) if literal.label is None else self._as_asked(self.labels(node), literal.label)
        return holds == literal.true

    def _reaches(self, node: Node, least: int) -> FramedColumn:
        """Return where the numbers of a comparison differ by `least` or more, inside the word or not."""
        if not isinstance(node, logic.Comparison):
            raise TypeError(f"{node!r} is not a comparison")
        return self.numbers(node.left) - self.numbers(node.right) >= least

    def _found(self, node: Node) -> FramedColumn:
        """Return where a position in sight is selected."""
        if not isinstance(node, logic.Retrieve):
            raise TypeError(f"{node!r} retrieves nothing")
        i, j = self.here[:, None], self.here[None, :]
        sight = {"<=": j <= i, "<": j < i, ">=": j >= i, ">": j > i, "any": np.ones_like(j >= i)}[node.sight]
        return (self._holds(node.score) & sight & self.inside & self.inside[:, None]).any(axis=-1)

    def _equal(self, claim: EqualityClaim) -> FramedColumn:
        """Return where two numbers are equal: the query's, and that of the key which a head attends to."""
        conjunct = equality(self.nodes[claim.node], claim.conjunct)
        if conjunct is None:
            raise TypeError(f"s{claim.node} compares no numbers")
        key, query = self.numbers(conjunct.key), self.numbers(conjunct.query)
        if claim.head.kind != "all":
            return self._fetched(claim.head, key) == query
        hidden = ~sight_matrix(claim.head.mask, self.positions)
        return ((key[:, None, :] == query[:, :, None]) | hidden).all(axis=-1)

    def _fetched(self, head: HeadClaim, values: FramedColumn) -> FramedColumn:
        """Return the value that a head with one position carries: the value there."""
        at = np.clip(self.looked(head) + head.shift, 0, self.positions - 1)
        return np.take_along_axis(values, at, axis=1)

    def _mean(self, head: HeadClaim, values: FramedColumn) -> FramedColumn:
        """Return the mean of values over all positions in sight."""
        if head.mask == "none":
            return self._divided(values.sum(axis=1, keepdims=True), self.positions)
        if head.mask == "future":
            return self._divided(np.cumsum(values, axis=1), self.here + 1)
        return self._divided(np.cumsum(values[:, ::-1], axis=1)[:, ::-1], self.positions - self.here)

    # ── where heads look ────────────────────────────────────────────────────────────────────────────────────
    def looked(self, head: HeadClaim) -> FramedColumn:
        """Return the one position that a head attends to from each; the head must not attend to ``all``."""
        if head not in self._looks:
            self._looks[head] = np.broadcast_to(self._looked(head), (self.size, self.positions))
        return self._looks[head]

    def _looked(self, head: HeadClaim) -> FramedColumn:  # noqa: PLR0911
        i, last = self.here, self.positions - 1
        match head.kind:
            case "lookup" if head.number is not None:
                ends: dict[str, Any] = {"future": (0, i), "past": (i, last), "none": (0, last)}
                return np.clip(self.value(head.number), *ends[head.mask]).astype(np.int64)
            case "back":
                return np.maximum(i - 1, 0)
            case "ahead":
                return np.minimum(i + 1, last)
            case "parity":
                end, step = (0, -1) if head.mask == "future" else (last, 1)
                return np.where((i % 2 == head.least) | (i == end), i, i + step)
            case "since" | "until":
                return self._marked(head)
            case "sign":
                return np.where((i == 0) | self._reaches(self.nodes[head.node], head.least), 0, 1)
        return self._chosen(head)

    def _marked(self, head: HeadClaim) -> FramedColumn:
        """Return the latest position up to each, or the earliest from it on, where a step of since or until ends."""
        ends = self.ends(head) | ~self.inside
        if head.kind == "since":
            return np.maximum.accumulate(np.where(ends, self.here, -1), axis=1)
        found = np.where(ends, self.here, self.positions - 1)[:, ::-1]
        return np.minimum.accumulate(found, axis=1)[:, ::-1]

    def ends(self, head: HeadClaim) -> FramedColumn:
        """Return where a step of ``since`` or ``until`` ends inside the word."""
        node = self.nodes[head.node]
        if isinstance(node, logic.Since | logic.Until):
            return ~self.bits(node.left) | self.bits(node.right)
        if not isinstance(node, logic.Retrieve):
            raise TypeError(f"{node!r} is neither since nor until, and retrieves nothing")
        ends = np.broadcast_to(self._holds(node.score), (self.size, self.positions, self.positions))
        return np.diagonal(ends, axis1=1, axis2=2)

    def _chosen(self, head: HeadClaim) -> FramedColumn:
        node = self.nodes[head.node]
        if not isinstance(node, logic.Retrieve):
            raise TypeError(f"{node!r} retrieves nothing")
        parts = conjuncts(node)
        scores: FramedPairs = np.zeros((1, self.positions, self.positions), dtype=np.int64)
        for cluster in head.clusters:
            rule = next(((per, negative) for at, per, negative in head.divided if cluster == (at,)), None)
            scores = scores + self._counts(tuple(parts[k] for k in cluster), rule)
        at = np.clip(self.here + head.shift, 0, self.positions - 1)  # the position that each key stands for
        scores = np.broadcast_to(scores, (self.size, self.positions, self.positions))[:, :, at]
        best = np.where(sight_matrix(head.mask, self.positions), scores, np.iinfo(np.int64).min)
        best = best == best.max(axis=-1, keepdims=True)
        if head.kind == "earliest":
            return best.argmax(axis=-1)
        return self.positions - 1 - best[:, :, ::-1].argmax(axis=-1)

    def _counts(self, group: tuple[logic.Score, ...], rule: tuple[int, bool] | None) -> FramedPairs:
        """Return the contribution of a cluster to the score of each key for each query."""
        first = group[0] if group else None
        if len(group) == 1 and isinstance(first, logic.Equal) and first.key.kind == "number":
            return _closeness(rule, self.numbers(first.key)[:, None, :], self._asked(first.query, self.numbers)[:, :, None])
        asks = any(about_query(leaf) for part in group for leaf in logic.leaves(part))
        found = np.ones((1, self.positions, self.positions), dtype=bool)
        for part in group:
            found = found & self._holds(part)
        return (found & self.inside & (self.inside[:, None] if asks else True)).astype(np.int64)

    def _holds(self, score: logic.Score) -> FramedPairs:
        """Return where a condition holds of a query, inside the word, and a key; constants are the same everywhere."""
        match score:
            case logic.AtKey():
                return self.bits(score.bit)[:, None, :]
            case logic.AtQuery():
                return self._asked(score.bit, self.bits)[:, :, None]
            case logic.Equal():
                of = self.numbers if score.key.kind == "number" else self.labels
                return of(score.key)[:, None, :] == self._asked(score.query, of)[:, :, None]
            case logic.AllOf() | logic.AnyOf():
                every = isinstance(score, logic.AllOf)
                found: FramedPairs = np.full((1, 1, 1), every)
                for part in score.parts:
                    found = found & self._holds(part) if every else found | self._holds(part)
                return found
            case logic.NotOf():
                return ~self._holds(score.part)

    def _asked(self, node: Node, values: Callable[[Node], FramedColumn]) -> FramedColumn:
        """Return the values of a query; those of a constant everywhere as they are inside the word."""
        found = values(node)
        return np.broadcast_to(found[:, 1:2], found.shape) if isinstance(node, logic.Always | logic.Text) else found


class ReferenceColumns(FramedColumns):
    """The columns of words without settings: nodes have the values of their definitions.

    Args:
        rows: what nodes are on them, position by position of the words.
        tokens: those fed, as their places in `vocabulary`: (words, positions).
        vocabulary: the tokens of the weights.
    """

    def __init__(
        self, rows: ManyRows, tokens: FramedColumn, vocabulary: tuple[str, ...], *, eos: bool, exact: bool = False
    ) -> None:
        labels = (label for known in rows.labels.values() for label in known)
        names = tuple(dict.fromkeys((*vocabulary, *labels)))
        super().__init__({node.number: node for node in rows.rows}, tokens + 1, (None, *names), eos=eos, exact=exact)
        self._rows = rows

    def _framed(self, values: FramedColumn, outside: int) -> FramedColumn:
        return np.pad(values, ((0, 0), (1, int(self._eos))), constant_values=outside)

    def bits(self, node: Node) -> FramedColumn:
        return self._framed(self._rows.rows[node].astype(bool), 0)

    def places(self, node: Node) -> FramedColumn:
        """Return labels as their places in the node's own list, -1 outside the words."""
        return self._framed(self._rows.rows[node], -1)

    def labels(self, node: Node) -> FramedColumn:
        return np.array([self._place[label] for label in self._rows.labels[node]] + [0])[self.places(node)]

    def numbers(self, node: Node) -> FramedColumn:
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


def _closeness(rule: tuple[int, bool] | None, key: FramedPairs, query: FramedPairs) -> FramedPairs:
    """Return minus the square of a difference; or of that of the quotients, and 1 more where the remainders are equal."""
    if rule is None:
        return -((key - query) ** 2)
    per, negative = rule
    score: FramedPairs = 0
    for sign in (1, -1) if negative else (1,):
        k, q = np.maximum(0, sign * key), np.maximum(0, sign * query)
        score = score + (k % per == q % per) - (k // per - q // per) ** 2
    return score


def _same(x: FramedColumn) -> FramedColumn:
    return x


_SIGNED: Mapping[str, Callable[[FramedColumn], FramedColumn]] = {
    "positive": lambda x: np.maximum(x, 0),
    "negative": lambda x: np.maximum(-x, 0),
}
_FEATURES: Mapping[str, Callable[[FramedColumn], FramedColumn]] = {
    "bos": lambda i: i == 0,
    "early": lambda i: i <= 1,
    "1": np.ones_like,
    "i": lambda i: i,
    "i^2": lambda i: i * i,
    "prime(i)": lambda i: [n > 1 and all(n % factor for factor in range(2, n)) for n in i.tolist()],
    "square(i)": lambda i: [round(n**0.5) ** 2 == n for n in i.tolist()],
    "power of 2(i)": lambda i: [n.bit_count() == 1 for n in i.tolist()],
    "(-1)^i": lambda i: 1 - 2 * (i % 2),
}
