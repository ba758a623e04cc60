"""Negations, conjunctions and disjunctions of truth values: as few hidden units one after the other as there can be."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

from tm2tfr.sources.sequence.compiler.codes import added
from tm2tfr.sources.sequence.compiler.framed.bits import NEVER, Bit, BitPlan, Finite, Said, after, literal
from tm2tfr.sources.sequence.graph import Apply, Item, Operation

MOST_ALTERNATIVES = 16
"""A conjunction is distributed over a disjunction of at most so many."""


@dataclass
class Connectives:
    """The connectives of a plan: of its bits, and of the code of each operation that is there."""

    _bits: BitPlan
    _finite: Mapping[Operation, Finite]
    _ways: dict[Operation, list[list[Bit]]] = field(default_factory=dict)
    _values: dict[Said, tuple[str, frozenset[Item]]] = field(default_factory=dict)
    """What a bit says of a label: its key, and the values of which one is the case."""

    def two(self, node: Operation, truth: Bit) -> Finite:
        """Return the code of a truth value."""
        if not truth.form:
            return Finite({False: self._bits.inside})
        if truth.form == self._bits.inside.form:
            return Finite({True: self._bits.inside})
        return Finite({True: truth, False: self._bits.negated(truth, literal(node.key, False))})

    def of_label(self, node: Apply, code: Finite, wanted: set[Item]) -> None:
        """Note which values of a label a truth value says that it has."""
        (label,), every = node.arguments, frozenset(code.bits)
        self._values[((literal(node.key, True),),)] = label.key, every & wanted
        self._values[((literal(node.key, False),),)] = label.key, every - wanted

    def renamed(self, node: Operation, value: Item, bit: Bit) -> Bit:
        """Return a bit as one of a node that is in the program; a node of the graph alone says what it is made of."""
        return replace(bit, said=((literal(node.key, value),),)) if _in_the_program(node) else bit

    def joined(self, node: Apply) -> Finite:
        """Return a conjunction or a disjunction: of all that its parts are conjunctions or disjunctions of.

        A disjunction of alternatives that exclude each other is their sum, and a conjunction of such a one and others is
        the sum of theirs, where that is there sooner.
        """
        conjunction = node.operator == "and"
        parts = self._parts(node, conjunction)
        summed = None if conjunction else self._sum_of_alternatives(node)
        if summed is not None:
            return self.two(node, replace(summed, said=((literal(node.key, True),),)))
        found = (self._distributed(node) if conjunction else None) or self._bits.both(parts)
        if not found.form:
            return Finite({not conjunction: self._bits.inside})
        if found.form == self._bits.inside.form:
            return Finite({conjunction: self._bits.inside})
        if _in_the_program(node):
            said = replace(found, said=((literal(node.key, conjunction),),))
            other = self._bits.negated(found, literal(node.key, not conjunction))
        else:
            said, other = found, self._bits.negated(found, *(_denied(word) for words in found.said for word in words))
        return Finite({conjunction: said, not conjunction: other})

    def _sum_of_alternatives(self, node: Apply) -> Bit | None:
        """Return a disjunction in the program as the sum of its parts; None if two of them may be true together."""
        ways = [self._parts(argument, True) for argument in node.arguments]
        if not _in_the_program(node) or not all(self._exclude(*pair) for pair in combinations(ways, 2)):
            return None
        self._ways[node] = ways
        truths = [self._finite[argument].truth for argument in node.arguments]
        return Bit(added(bit.form for bit in truths), max(bit.time for bit in truths), ())

    def _exclude(self, one: Sequence[Bit], other: Sequence[Bit]) -> bool:
        """Return whether two conjunctions cannot both be true: what they say of one label is not the same."""
        return any(
            self._values[a.said][0] == self._values[b.said][0] and not self._values[a.said][1] & self._values[b.said][1]
            for a in one
            for b in other
            if a.said in self._values and b.said in self._values
        )

    def _distributed(self, node: Apply) -> Bit | None:
        """Return a conjunction with a sum of alternatives in it, or the negation of one, as sums, if that is there sooner.

        φ ∧ (α1 ∨ … ∨ αk) is the sum of φ ∧ αj, and φ ∧ ¬(α1 ∨ … ∨ αk) is φ less that sum.
        """
        sums = [(argument, inner, ways) for argument in node.arguments for inner, ways in self._alternatives(argument)]
        if len(sums) != 1 or len(sums[0][2]) > MOST_ALTERNATIVES:
            return None
        ((own, inner, alternatives),) = sums
        others = [b for argument in node.arguments if argument is not own for b in self._parts(argument, True)]
        ways = [[*others, *way] for way in alternatives]
        usual = after(self._parts(node, True))
        if max(map(after, ways)) >= usual or (own is not inner and len(others) > 1 and after(others) >= usual):
            return None
        found = self._bits.several(ways)
        if own is inner:
            return found
        whole = self._bits.both(others)
        form = added([whole.form, found.form], times=[1, -1])
        return Bit(form, max(whole.time, found.time), ((literal(node.key, True),),))

    def _alternatives(self, argument: Operation) -> Iterator[tuple[Operation, list[list[Bit]]]]:
        """Yield a sum of alternatives that an argument is, or denies, with these; a denied conjunction is a single one."""
        inner = _denied_node(argument)
        if inner in self._ways:
            yield inner, self._ways[inner]
        elif inner is not argument and isinstance(inner, Apply) and inner.operator == "and":
            yield inner, [self._parts(inner, True)]

    def _parts(self, node: Operation, conjunction: bool) -> list[Bit]:
        """Return the bits whose conjunction it is that `node` is true (of a conjunction), or that it is false."""
        if isinstance(node, Apply) and node.operator == ("and" if conjunction else "or"):
            return [bit for argument in node.arguments for bit in self._parts(argument, conjunction)]
        if isinstance(node, Apply) and node.operator == "not":
            return self._parts(node.arguments[0], not conjunction)
        return [self._finite[node].bits.get(conjunction, NEVER)]


def _in_the_program(node: Operation) -> bool:
    """Return whether a node has a number in the program, see `tm2tfr.sources.logic.lower`."""
    return node.key[:1] == "s" and node.key[1:].isdecimal()


def _denied_node(node: Operation) -> Operation:
    """Return what `node` is the negation of; itself if it is none."""
    return node.arguments[0] if isinstance(node, Apply) and node.operator == "not" else node


def _denied(word: str) -> str:
    return word[1:] if word.startswith("!") else f"!{word}"
