"""Random formulas and programs over all operators, from a seed: nodes upon nodes, and the newest telling one is chosen."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from random import Random

import numpy as np
from numpy.typing import NDArray

from tm2tfr.sources.logic.evaluate_many import ManyWords
from tm2tfr.sources.logic.nodes import (
    AllOf,
    Always,
    And,
    AnyOf,
    AtKey,
    AtQuery,
    Build,
    Choose,
    Comparison,
    CountLeft,
    CountRight,
    Equal,
    Input,
    Next,
    Node,
    Not,
    NotOf,
    OneOf,
    Or,
    Place,
    Predicate,
    Previous,
    Relation,
    Retrieve,
    Same,
    Score,
    Sight,
    Since,
    Sum,
    Text,
    Until,
    parents,
)
from tm2tfr.sources.logic.program import LogicProgram

RELATIONS: tuple[Relation, ...] = ("<=", "<", ">=", ">", "==", "!=")


def words_of(size: int, n: int) -> NDArray[np.int64]:
    """Return all words of n tokens out of `size`, in the order of the alphabet, as places: (size ** n, n)."""
    codes = np.arange(size**n, dtype=np.int64)
    return codes[:, None] // size ** np.arange(n - 1, -1, -1, dtype=np.int64) % size


@dataclass(frozen=True, kw_only=True)
class Kinds:
    """What random formulas are made of.

    Args:
        alphabet: the tokens of their words.
        size: how many operators are applied; a formula has at most as many beside its atoms.
        past_only: whether nothing looks right.
        with_counts: counts, sums, comparisons, numerical predicates.
        with_retrieve: attention of B-RASP; with counts also equality of numbers, as one of the conjuncts of a score.
        with_labels: labels that are chosen, compared and retrieved.
        with_any_sums: sums of sums, with factors and constants of any size, compared and as keys; some cannot be compiled.
    """

    alphabet: Sequence[str] = "ab"
    size: int = 6
    past_only: bool = False
    with_counts: bool = True
    with_retrieve: bool = True
    with_labels: bool = True
    with_any_sums: bool = field(default=False, repr=False)


EVERYTHING = Kinds()
PAST_LTL = Kinds(past_only=True, with_counts=False, with_retrieve=False, with_labels=False)


def random_program(seed: int, kinds: Kinds = EVERYTHING) -> LogicProgram:
    """Return the program of a seed, whose root is a bit and as a rule is not the same everywhere."""
    grown = _Grown(Random(f"{seed} {kinds}"), kinds)
    return LogicProgram(
        name=f"random {seed}",
        text="",
        language="srasp",
        definitions={"": _telling(grown.bits, kinds.alphabet)},
        chosen="",
        alphabet=tuple(kinds.alphabet),
    )


def random_programs(number: int, kinds: Kinds = EVERYTHING, *, start: int = 0) -> Iterator[LogicProgram]:
    """Yield the programs of `number` seeds."""
    for seed in range(start, start + number):
        yield random_program(seed, kinds)


def constant(node: Node, alphabet: Sequence[str], n: int = 5) -> bool:
    """Return whether a node has one value at all positions of all words of n tokens."""
    row = ManyWords([node], alphabet).run(words_of(len(alphabet), n)).rows[node]
    return bool((row == row[0, 0]).all())


def _telling(bits: Sequence[Node], alphabet: Sequence[str]) -> Node:
    """Return the newest bit that is not constant; the newest one if all are."""
    rows = ManyWords(bits, alphabet).run(words_of(len(alphabet), 4)).rows
    newest = sorted(bits, key=lambda node: -node.number)
    return next((bit for bit in newest if np.ptp(rows[bit].astype(np.int8))), newest[0])


class _Grown:
    """Nodes as they grow: each operator takes what there is, newer nodes more often."""

    def __init__(self, random: Random, kinds: Kinds) -> None:
        self.random, self.kinds, self.build = random, kinds, Build()
        self.tokens = self.build(Input)
        self.bits: list[Node] = [self.build(OneOf, of=self.tokens, values=(token,)) for token in kinds.alphabet]
        self.numbers: list[Node] = [self.build(Place)]
        self.labels: list[Node] = [self.tokens]
        operators = self._operators()
        for _ in range(kinds.size):
            node = random.choice(operators)()
            pool = {"bit": self.bits, "number": self.numbers, "label": self.labels}[node.kind]
            if node not in pool:
                pool.append(node)
        if self.bits[-1].number < self.build.nodes[-1].number:
            self.bits.append(self.tested())

    def _operators(self) -> list[Callable[[], Node]]:
        """Return what can be applied, what is used more often more than once."""
        kinds = self.kinds
        found = [self.negation, self.junction, self.junction, self.previous, self.since, self.since]
        found += [] if kinds.past_only else [self.next, self.until]
        found += [self.count, self.count, self.comparison, self.comparison, self.predicate] if kinds.with_counts else []
        found += [self.choice, self.same, self.member] if kinds.with_labels else []
        found += [self.retrieve, self.retrieve] if kinds.with_retrieve else []
        return found

    def one(self, pool: list[Node]) -> Node:
        """Return one of the nodes, newer ones more often, and those that nothing is made of yet."""
        used = {parent for node in self.build.nodes for parent in parents(node)}
        fresh = [node for node in pool if node not in used]
        pool = fresh if fresh and self.random.random() < 0.6 else pool
        return pool[max(self.random.randrange(len(pool)), self.random.randrange(len(pool)))]

    def bit(self) -> Node:
        """Return a bit, now and then a negated one, rarely a constant."""
        if self.random.random() < 0.03:
            return self.build(Always, value=self.random.random() < 0.5)
        found = self.one(self.bits)
        return self.build(Not, of=found) if self.random.random() < 0.25 else found

    def several(self) -> tuple[Node, ...]:
        return tuple(self.bit() for _ in range(self.random.choice((2, 2, 2, 3))))

    def negation(self) -> Node:
        return self.build(Not, of=self.one(self.bits))

    def junction(self) -> Node:
        return self.build(self.random.choice((And, Or)), parts=self.several())

    def previous(self) -> Node:
        return self.build(Previous, of=self.bit())

    def next(self) -> Node:
        return self.build(Next, of=self.bit())

    def since(self) -> Node:
        return self.build(Since, **self._spans())

    def until(self) -> Node:
        return self.build(Until, **self._spans())

    def _spans(self) -> dict[str, Node]:
        """Return φ1 and φ2: as printed; the usual ones, where φ1 may fail where φ2 holds; or once and historically."""
        left, right = self.bit(), self.bit()
        shape = self.random.randrange(5)
        if shape < 2:
            left = self.build(Or, parts=(left, right))
        elif shape == 2:
            left = self.build(Always, value=True)
        return {"left": left, "right": right}

    def number(self) -> Node:
        """Return a number that is 0 or more."""
        if self.kinds.with_any_sums and self.random.random() < 0.4:
            return self.any_sum()
        return self.one(self.numbers)

    def count(self) -> Node:
        right = not self.kinds.past_only and self.random.random() < 0.4
        return self.build(CountRight if right else CountLeft, of=self.bit())

    def sum(self) -> Node:
        """Return a sum of numbers, now and then of a bit, times small factors."""
        terms = [(self.random.choice((-2, -1, 1, 1, 2, 3)), self.number()) for _ in range(self.random.choice((1, 2, 2)))]
        if self.random.random() < 0.2:
            terms.append((self.random.choice((-1, 1)), self.bit()))
        return self.build(Sum, terms=tuple(terms), constant=self.random.choice((0, 0, 0, 1, -1, 2)))

    def any_sum(self) -> Node:
        """Return a sum of up to three numbers or bits, of sums as well, with factors and a constant of any size."""
        random = self.random
        terms = [
            (random.choice((-7, -2, -1, -1, 1, 1, 1, 2, 3, 50)), self.one(random.choice((self.numbers, self.bits))))
            for _ in range(random.choice((0, 1, 1, 2, 3)))
        ]
        found = self.build(Sum, terms=tuple(terms), constant=random.choice((0, 0, 0, 1, -1, 2, -30, 1000)))
        self.numbers.append(found)
        return found

    def comparison(self) -> Node:
        left = self.random.choice((self.number, self.sum))()
        right = self.sum() if self.random.random() < 0.3 else self.near(left)
        return self.build(Comparison, left=left, relation=self.random.choice(RELATIONS), right=right)

    def near(self, left: Node) -> Node:
        """Return another number, or a small constant."""
        other = self.number()
        small = self.build(Sum, terms=(), constant=self.random.choice((0, 1, 1, 2, 3)))
        return small if other is left or self.random.random() < 0.4 else other

    def predicate(self) -> Node:
        name = self.random.choice(("mod", "mod", "prime", "square", "power of 2"))
        modulus = self.random.choice((2, 2, 3)) if name == "mod" else 0
        remainder = self.random.randrange(modulus) if modulus else 0
        return self.build(Predicate, predicate=name, of=self.number(), modulus=modulus, remainder=remainder)

    def choice(self) -> Node:
        then, other = self.label(), self.label()
        return self.build(Choose, condition=self.bit(), then=then, other=other)

    def label(self) -> Node:
        """Return a label, now and then one that no token is."""
        text = self.random.choice((*self.kinds.alphabet, "?"))
        return self.build(Text, value=text) if self.random.random() < 0.3 else self.one(self.labels)

    def same(self) -> Node:
        return self.build(Same, left=self.one(self.labels), right=self.label())

    def member(self) -> Node:
        known = (*self.kinds.alphabet, "?")
        values = tuple(label for label in known if self.random.random() < 0.5) or known[:1]
        return self.build(OneOf, of=self.one(self.labels), values=values)

    def retrieve(self) -> Node:
        labels = self.kinds.with_labels and self.random.random() < 0.3
        sights: tuple[Sight, ...] = ("<=", "<", "<") if self.kinds.past_only else ("<=", "<", "<", ">=", ">", "any")
        return self.build(
            Retrieve,
            choice=self.random.choice(("latest", "earliest")),
            sight=self.random.choice(sights),
            score=self.score(),
            values=self.one(self.labels) if labels else self.bit(),
            default=self.label() if labels else self.bit(),
        )

    def score(self) -> Score:
        """Return a conjunction; an equality of numbers is a conjunct itself, other conjuncts are of any shape."""
        parts = [self.inner(2) for _ in range(self.random.choice((0, 1, 1, 2)))]
        if self.kinds.with_counts and (not parts or self.random.random() < 0.3):
            parts.append(self.numbers_equal())
        return parts[0] if len(parts) == 1 else AllOf(tuple(parts))

    def numbers_equal(self) -> Equal:
        """Return an equality of two counts or positions, each with a small constant added."""
        return Equal(self.moved(), self.moved())

    def moved(self) -> Node:
        if self.kinds.with_any_sums and self.random.random() < 0.5:
            return self.any_sum()
        by = self.random.choice((0, 0, 0, 1, -1))
        return self.build(Sum, terms=((1, self.number()),), constant=by) if by else self.number()

    def inner(self, depth: int) -> Score:
        if self.kinds.with_any_sums and self.random.random() < 0.03:
            return self.numbers_equal()
        shape = self.random.randrange(3 + 3 * (depth > 0))
        if shape == 0 and self.kinds.with_labels:
            return Equal(self.one(self.labels), self.one(self.labels))
        if shape < 3:
            return (AtKey, AtKey, AtQuery)[shape](self.bit())
        if shape == 3:
            return NotOf(self.inner(depth - 1))
        parts = tuple(self.inner(depth - 1) for _ in range(2))
        return AllOf(parts) if shape == 4 else AnyOf(parts)

    def tested(self) -> Node:
        """Return a bit that says something of the newest node, if that is no bit."""
        newest = self.build.nodes[-1]
        if newest.kind == "number":
            return self.build(Comparison, left=newest, relation=self.random.choice(RELATIONS), right=self.near(newest))
        if newest.kind == "label":
            return self.build(OneOf, of=newest, values=(self.kinds.alphabet[0],))
        return newest
