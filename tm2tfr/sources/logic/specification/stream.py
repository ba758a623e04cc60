"""What every subspace must hold at every position of a run, and where each head must look.

Computed from what the printed definitions say of the word, and from what weights claim. No weight is read, and nothing is
shared with the compiler or the graph that it lowers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from tm2tfr.contract.specification import ClaimedSpecification
from tm2tfr.sources.logic.evaluate import LogicValue
from tm2tfr.sources.logic.nodes import Comparison, Node, Retrieve
from tm2tfr.sources.logic.specification.claims import (
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
    head_claim,
    labelled,
    subspace_claim,
)
from tm2tfr.sources.logic.specification.heads import (
    WordValues,
    equality,
    known,
    looked,
    reaches,
    selects,
    signed,
    stands_for,
)
from tm2tfr.transformer.residual import Residual, Subspace
from tm2tfr.transformer.weights import Decoder

_Number = int | Fraction
HeldThere = _Number | Mapping[str, _Number]
"""A number, or the coordinates that are not 0, by label."""


@dataclass(frozen=True)
class LogicSpecification(ClaimedSpecification):
    """The specification of a run.

    Args:
        word_values: what every node is at every position.
        layout: the residual stream of the weights, for what its subspaces are claimed to hold.
        claims: what the heads are claimed to attend to; None of one with no claim.
    """

    word_values: WordValues
    layout: Residual
    claims: tuple[str | None, ...]

    @classmethod
    def of(cls, word: Sequence[str], nodes: Mapping[Node, tuple[LogicValue, ...]], decoder: Decoder) -> LogicSpecification:
        """Return the specification of a word for weights: of these their claims, and whether there is an EOS.

        Args:
            nodes: the values of every node at each position of the word.
        """
        heads = (head for layer in decoder.layers for head in layer.heads)
        claims = tuple(None if head.claim is None else head.claim.attends for head in heads)
        return cls(WordValues(tuple(word), nodes, "EOS" in decoder.vocabulary), decoder.layout, claims)

    @property
    def tokens(self) -> tuple[str, ...]:
        """The tokens fed: BOS, the word, and EOS if there is one."""
        return self.word_values.tokens

    def covers(self, layout: Residual) -> bool:
        """Return whether every claim of `layout` can be interpreted, and every head has one that can."""
        heads = (None if claim is None else self._head(claim) for claim in self.claims)
        return all(self._claim(subspace) is not None for subspace in layout.subspaces) and None not in heads

    def attended(self, where: str, i: int) -> Sequence[int]:
        """Return the positions that a head with the claim `where` must attend to from position `i`; none: no such claim."""
        head = self._head(where)
        return () if head is None else self._looked(head, i)

    # ── claims that say something of this program ───────────────────────────────────────────────────────────
    def _claim(self, subspace: Subspace) -> SubspaceClaim | None:
        key = subspace.holds, subspace.labels is not None
        if key not in self._claims:
            found = subspace_claim(subspace.holds)
            fits = found is not None and labelled(found) == key[1] and self._means(found)
            self._claims[key] = found if fits else None
        return self._claims[key]

    @cached_property
    def _claims(self) -> dict[tuple[str, bool], SubspaceClaim | None]:
        return {}

    def _means(self, claim: SubspaceClaim) -> bool:
        """Return whether the nodes that a claim is about are there, and of the right kind."""
        match claim:
            case GivenClaim():
                return True
            case BitClaim():
                literals = (literal for each in claim.alternatives for literal in each)
                return all(self._kind(each.node) == ("bit" if each.label is None else "label") for each in literals)
            case DividedClaim() | NodeClaim() if claim.what != "found":
                return self._kind(claim.node) == ("label" if claim.what == "label" else "number")
            case DividedClaim() | NodeClaim() | StepClaim():
                wanted = Comparison if isinstance(claim, StepClaim) else Retrieve
                return isinstance(self.word_values.by_number.get(claim.node), wanted)
            case EqualityClaim():
                there = equality(self.word_values.by_number.get(claim.node), claim.conjunct) is not None
                return there and known(claim.head, self.word_values)
        return (not isinstance(claim, MeanClaim) or known(claim.head, self.word_values)) and self._means(claim.of)

    def _kind(self, number: int) -> str | None:
        node = self.word_values.by_number.get(number)
        return None if node is None else node.kind

    def _head(self, claim: str) -> HeadClaim | None:
        found = head_claim(claim)
        return found if found is not None and known(found, self.word_values) else None

    # ── what a subspace holds ───────────────────────────────────────────────────────────────────────────────
    def held(self, subspace: Subspace, i: int) -> HeldThere | None:
        claim = self._claim(subspace)
        return None if claim is None else self._value(claim, i)

    @cached_property
    def _memory(self) -> dict[tuple[SubspaceClaim, int], HeldThere]:
        return {}

    @cached_property
    def _places(self) -> dict[tuple[HeadClaim, int], Sequence[int]]:
        return {}

    def _looked(self, head: HeadClaim, i: int) -> Sequence[int]:
        if (head, i) not in self._places:
            self._places[head, i] = looked(head, self.word_values, i)
        return self._places[head, i]

    def _value(self, claim: SubspaceClaim, i: int) -> HeldThere:
        if (claim, i) not in self._memory:
            self._memory[claim, i] = self._computed(claim, i)
        return self._memory[claim, i]

    def _computed(self, claim: SubspaceClaim, i: int) -> HeldThere:
        there = self.word_values
        match claim:
            case GivenClaim():
                return given(claim.what, i, there)
            case NodeClaim():
                return _of_node(claim.what, there.by_number[claim.node], i, there)
            case DividedClaim():
                return _divided(claim, there.number(there.by_number[claim.node], i))
            case InsideClaim() if not there.inside(i):
                return {} if labelled(claim) else 0
            case ShareClaim() | MeanClaim() | InsideClaim():
                places = self._looked(claim.head, i) if isinstance(claim, MeanClaim) else (i,)
                shift = claim.head if isinstance(claim, MeanClaim) else None
                seen = [j if shift is None else stands_for(shift, there, j) for j in places]
                each = Fraction(1, i + 1 if isinstance(claim, ShareClaim) else len(seen))
                return _sum([(each, self._value(claim.of, j)) for j in seen])
        return int(self._whether(claim, i))

    def _whether(self, claim: BitClaim | StepClaim | EqualityClaim, i: int) -> bool:
        """Return whether what a claim says of position `i` is true."""
        there = self.word_values
        if isinstance(claim, StepClaim):
            return reaches(there, claim.node, i, claim.least)
        if isinstance(claim, EqualityClaim):
            return self._equal(claim, i)
        return there.inside(i) and any(all(self._true(each, i) for each in literals) for literals in claim.alternatives)

    def _equal(self, claim: EqualityClaim, i: int) -> bool:
        there = self.word_values
        conjunct = equality(there.by_number[claim.node], claim.conjunct)
        if conjunct is None:
            raise TypeError(f"s{claim.node} compares no numbers")
        places = {stands_for(claim.head, there, j) for j in self._looked(claim.head, i)}
        return all(there.number(conjunct.key, j) == there.number(conjunct.query, i) for j in places)

    def _true(self, literal: TruthOf, i: int) -> bool:
        node = self.word_values.by_number[literal.node]
        if literal.label is None:
            return self.word_values.bit(node, i) == literal.true
        return (self.word_values.label(node, i) == literal.label) == literal.true


def given(what: str, i: int, there: WordValues) -> HeldThere:
    """Return what a subspace holds at position `i` that is about no node."""
    if what == "token":
        return {there.tokens[i]: 1}
    if what in _NUMBERS:
        return _NUMBERS[what](i)
    if what == "eos":
        return int(i == len(there.word) + 1)
    _, _, modulus, _, remainder = what.split(" ")
    return int(i % int(modulus) == int(remainder))


_NUMBERS: Mapping[str, Callable[[int], _Number]] = {
    "bos": lambda i: int(i == 0),
    "early": lambda i: int(i <= 1),
    "1": lambda i: 1,
    "i": lambda i: i,
    "i^2": lambda i: i * i,
    "1/(i+1)": lambda i: Fraction(1, i + 1),
    "prime(i)": lambda i: int(i > 1 and all(i % factor for factor in range(2, i))),
    "square(i)": lambda i: int(any(root * root == i for root in range(i + 1))),
    "power of 2(i)": lambda i: int(i.bit_count() == 1),
    "(-1)^i": lambda i: 1 - 2 * (i % 2),
}


def _divided(claim: DividedClaim, x: int) -> HeldThere:
    quotient, remainder = divmod(max(0, claim.sign * x), claim.per)
    if claim.what == "reaches":
        return {str(k): 1 for k in range(1, remainder + 1)}
    return quotient**2 if claim.what.endswith("square") else quotient


def _of_node(what: str, node: Node, i: int, there: WordValues) -> HeldThere:
    if what == "label":
        label = there.label(node, i)
        return {} if label is None else {label: 1}
    if what == "found":
        return int(there.inside(i) and isinstance(node, Retrieve) and selects(node, there, i))
    sign = next((sign for sign in ("positive", "negative") if what.startswith(sign)), "number")
    x = signed(sign, there.number(node, i))
    return x * x if what.endswith("square") else x


def _sum(terms: Sequence[tuple[Fraction, HeldThere]]) -> HeldThere:
    """Return the sum of numbers, or of vectors, each with its factor."""
    if all(isinstance(value, int | Fraction) for _, value in terms):
        return sum((factor * value for factor, value in terms if not isinstance(value, Mapping)), Fraction(0))
    found: dict[str, _Number] = {}
    for factor, value in terms:
        for label, share in value.items() if isinstance(value, Mapping) else ():
            found[label] = found.get(label, 0) + factor * share
    return found
