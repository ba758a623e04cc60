"""Random formulas and programs, as nodes: of every operator, in the form that reading gives them."""

from __future__ import annotations

from random import Random
from typing import Any

from tm2tfr.sources.logic import nodes as n
from tm2tfr.sources.logic.nodes import Build, Node

LETTERS = ("a", "b", "long", " ", "\n", "\\n", "[", "a]", "]", "'", '"', "\\", "#")


class Maker:
    """Makes random nodes of a language."""

    def __init__(self, random: Random, language: str) -> None:
        self.random, self.language = random, language
        self.build = Build()
        self.true = self.build(n.Always, value=True)
        self.false = self.build(n.Always, value=False)
        self.input = self.build(n.Input)

    def bit(self, depth: int) -> Node:
        names = (
            ["letter", "letter", "always"] if depth <= 0 else ["boolean", "temporal", "temporal", "compare", "predicate"]
        )
        if self.language == "srasp":
            names += ["one of"] if depth <= 0 else ["same", "retrieve", "one of"]
        return getattr(self, "_" + self.random.choice(names).replace(" ", "_"))(depth - 1)

    def number(self, depth: int) -> Node:
        which = self.random.randrange(4)
        if which == 0 or depth <= 0:
            return self.build(n.Place)
        if which < 3:
            return self.build(self.random.choice([n.CountLeft, n.CountRight]), of=self.bit(depth - 1))
        terms: dict[Node, int] = {}
        for _ in range(self.random.randint(0, 3)):
            terms[self.number(depth - 1) if self.random.random() < 0.6 else self.bit(depth - 1)] = self.random.choice(
                [1, 1, -1, 2, -3]
            )
        terms = {term: factor for term, factor in terms.items() if not isinstance(term, n.Sum) or term.terms}
        constant = self.random.choice([0, 0, 1, -2])
        only = [term for term, factor in terms.items() if factor == 1 and term.kind == "number"]
        if len(terms) == 1 and only and not constant:
            return only[0]
        return self.build(n.Sum, terms=tuple((factor, term) for term, factor in terms.items()), constant=constant)

    def label(self, depth: int) -> Node:
        which = self.random.randrange(4 if depth > 0 else 2)
        if which == 0:
            return self.build(n.Text, value=self.random.choice(("x", "yes", "it's", "\\", "\t")))
        if which == 1:
            return self.input
        if which == 2:
            parts = {"then": self.label(depth - 1), "other": self.label(depth - 1)}
            return self.build(n.Choose, condition=self.bit(depth - 1), **parts)
        return self.retrieval(self.label(depth - 1), self.label(depth - 1), depth)

    def _letter(self, depth: int) -> Node:
        return self.build(n.OneOf, of=self.input, values=(self.random.choice(LETTERS),))

    def _always(self, depth: int) -> Node:
        return self.random.choice([self.true, self.false])

    def _boolean(self, depth: int) -> Node:
        if self.random.random() < 0.3:
            return self.build(n.Not, of=self.bit(depth))
        parts = tuple(self.bit(depth) for _ in range(self.random.randint(2, 3)))
        return self.build(self.random.choice([n.And, n.Or]), parts=parts)

    def _temporal(self, depth: int) -> Node:
        kind: Any = self.random.choice([n.Previous, n.Next, n.Since, n.Until])
        if kind in (n.Previous, n.Next):
            return self.build(kind, of=self.bit(depth))
        right = self.bit(depth)
        left = self.random.choice([self.bit(depth), self.true, self.build(n.Or, parts=(self.bit(depth), right))])
        node = self.build(kind, left=left, right=right)
        return self.build(n.Not, of=node) if self.random.random() < 0.3 else node

    def _compare(self, depth: int) -> Node:
        relation = self.random.choice(["<=", "<", ">=", ">", "==", "!="])
        return self.build(n.Comparison, left=self.number(depth), relation=relation, right=self.number(depth))

    def _predicate(self, depth: int) -> Node:
        of = self.build(n.Place) if self.random.random() < 0.2 else self.build(n.CountLeft, of=self.bit(depth))
        which = self.random.choice(["mod", "prime", "square", "power of 2"])
        fields = {"modulus": 3, "remainder": self.random.randrange(3)} if which == "mod" else {}
        return self.build(n.Predicate, predicate=which, of=of, **fields)

    def _one_of(self, depth: int) -> Node:
        of = self.label(depth)
        values = tuple(self.random.sample(("x", "y", "it's"), self.random.randint(1, 2)))
        return self._letter(depth) if isinstance(of, n.Text) else self.build(n.OneOf, of=of, values=values)

    def _same(self, depth: int) -> Node:
        left, right = self.label(depth), self.label(depth)
        if isinstance(left, n.Text) or isinstance(right, n.Text):
            return self._letter(depth)
        return self.build(n.Same, left=left, right=right)

    def _retrieve(self, depth: int) -> Node:
        return self.retrieval(self.bit(depth), self.bit(depth), depth)

    def retrieval(self, values: Node, default: Node, depth: int) -> Node:
        return self.build(
            n.Retrieve,
            choice=self.random.choice(["latest", "earliest"]),
            sight=self.random.choice(["<=", "<", ">=", ">", "any"]),
            score=self.score(depth),
            values=values,
            default=default,
        )

    def score(self, depth: int) -> n.Score:
        """Return a score; parts about one position stand alone, and each conjunction is about both."""
        which = self.random.randrange(5 if depth > 0 else 3)
        if which == 0:
            return n.AtKey(self._letter(0))
        if which == 1:
            return n.AtQuery(self._letter(0))
        equal = n.Equal(self.input, self.input) if which == 2 else n.Equal(self._count(), self._count())
        if which == 3:
            return n.NotOf(equal)
        others = (n.AtKey(self.build(n.And, parts=(self._letter(0), self._letter(0)))), n.AtQuery(self._letter(0)))
        kind = self.random.choice([n.AllOf, n.AnyOf])
        return kind((equal, self.random.choice(others), n.NotOf(n.AllOf((equal, self.score(0))))))

    def _count(self) -> Node:
        return self.build(n.CountLeft, of=self._letter(0))
