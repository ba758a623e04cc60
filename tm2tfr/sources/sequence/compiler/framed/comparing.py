"""Comparisons of numbers, and numerical predicates.

``d ≥ K`` for an integer d is f(d - K + 1) with f of Lemma 9, which is right for numbers that are off by up to 1/4; equality
is the difference of two of them. The sign head compares without any lookup: the query is (d - K + 1/2)/(i+1), a mean, the
key is [BOS], and all other positions but the first are behind, so that the head looks at BOS if d ≥ K, otherwise at
position 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

from tm2tfr.sources.sequence.compiler.codes import BitForm, Time, added
from tm2tfr.sources.sequence.compiler.framed.bits import BOS, NEVER, Bit, BitPlan, Finite, Said, after, literal
from tm2tfr.sources.sequence.compiler.framed.counting import INVERSE, Counted, Counting, Timed, total
from tm2tfr.sources.sequence.compiler.framed.heads import Aim, HeadPlan
from tm2tfr.sources.sequence.compiler.stream import TOKEN
from tm2tfr.sources.sequence.graph import Apply, Item, Operation, Property
from tm2tfr.transformer.residual import at

STEPS = {"<=": (0, 1), "<": (0, 0), ">=": (1, 0), ">": (1, 1), "==": (2, 0), "!=": (3, 0)}
"""Relation -> whether [d ≥ K] (1) or its negation (0) says it, and K; of == and !=, what two of them say."""
HOLDS: dict[str, Callable[[int], bool]] = {
    "<=": lambda x: x <= 0,
    "<": lambda x: x < 0,
    ">=": lambda x: x >= 0,
    ">": lambda x: x > 0,
    "==": lambda x: x == 0,
    "!=": lambda x: x != 0,
}
"""Relation -> whether it holds of numbers that differ by x."""
BOS_FORM: BitForm = {at(TOKEN, BOS): 1}
SIGN = 3.01
"""The margin of the sign head (Lemma H): 3 for the weight on the wrong one of two positions, a little for all others."""


@dataclass
class Comparing:
    """The comparisons of a plan; `sign`: by the sign head wherever it applies."""

    bits: BitPlan
    counting: Counting
    heads: HeadPlan
    sign: bool
    _early: Timed | None = field(default=None)

    def compared(self, node: Apply, left: Counted, right: Counted) -> Bit:
        """Return the bit of ``left relation right``."""
        difference = total([(1, left), (-1, right)])
        if len(difference.every_bit) == 1 and not (difference.counts or difference.place):
            return self._of_one_bit(node, difference)
        how, least = STEPS[node.operator]

        def reached(least: int) -> _Reached:
            return self._reached(node, difference, least)

        if how < 2:
            found = reached(least)
            truth = found if how else found.negated()
        else:
            truth = reached(0).without(reached(1))
            truth = truth if how == 2 else truth.negated()
        return self._within(node.key, truth)

    def _of_one_bit(self, node: Apply, difference: Counted) -> Bit:
        """Return a comparison that is about one bit alone: that bit, its negation, or the same everywhere."""
        ((factor, bit),) = difference.every_bit.values()
        off, on = (HOLDS[node.operator](x) for x in (difference.constant, difference.constant + factor))
        form = added([self.bits.inside.form, bit.form], times=[int(off), on - off])
        return Bit(form, bit.time, ((literal(node.key, True),),))

    def _within(self, key: str, truth: _Reached) -> Bit:
        """Return a truth value that is known at BOS as a bit: 0 at BOS and EOS."""
        said = ((literal(key, True),),)
        if truth.within:
            return Bit(added([self.bits.inside.form, truth.form], times=[truth.inside, 1]), truth.time, said)
        if len(self.bits.ends) == 1:
            form = added([{"1": 1}, truth.form, BOS_FORM], times=[truth.inside, 1, -int(truth.at_bos)])
            return Bit(form, truth.time, said)
        natural = added([{"1": 1}, truth.form, self.bits.ends], times=[truth.inside, 1, -1])
        time = Time(truth.time.depth, truth.time.slot + 1)
        space = self.bits.stream.space(f"is {key}", holds=f"is {key}", time=time)
        self.bits.stream.unit(time, space, [natural], {space: 1})
        return Bit({space: 1}, time, said)

    def _reached(self, node: Apply, difference: Counted, least: int) -> _Reached:
        """Return [difference ≥ least]."""
        at_bos = difference.constant >= least
        if difference.fixed:
            return _Reached({}, Time(), at_bos, int(at_bos))
        if self.sign:
            scaled = self.counting.scaled(difference)
            if scaled is not None:
                return self._by_sign(node, difference, scaled, least)
        return self._by_lookup(node, difference, least, at_bos)

    def _by_lookup(self, node: Apply, difference: Counted, least: int, at_bos: bool) -> _Reached:
        exact = self.counting.exact(difference, 6.0 * max(1, difference.factors))
        time = Time(exact.time.depth, exact.time.slot + 1)
        holds = f"at least {least} {node.key}"
        space = self.bits.stream.space(holds, holds=holds, time=time)
        moved = added([exact.form, {"1": 1}], times=[1, 1 - least])
        self.bits.rounded(holds, moved, space, time, within=False)
        return _Reached({space: 1}, time, at_bos, 0)

    def _by_sign(self, node: Apply, difference: Counted, scaled: Timed, least: int) -> _Reached:
        """Return [difference ≥ least] by the weight on BOS."""
        early = self._is_early()
        query = added([scaled.form, INVERSE], times=[1, 0.5 - least])
        far = -(difference.factors + abs(difference.place) + abs(difference.constant - least) + 2.0)
        far -= sum(abs(factor) for factor, _ in difference.every_bit.values())
        gaze = Aim(
            attends=f"sign {least} {node.key}",
            scores=[(query, BOS_FORM), ({"1": far}, added([{"1": 1}, early.form], times=[1, -1]))],
            mask="future",
            gap=0.5,
            source="the sign head",
        )
        head = self.heads.add(gaze, [scaled.time, early.time])
        head.needs(SIGN)
        raw = self.heads.carry(head, "bos", BOS_FORM)
        holds = f"within rounded at {gaze.attends}: bos"
        time = Time(head.depth, 1)
        space = self.bits.stream.space(holds, holds=holds, time=time)
        self.bits.rounded(holds, raw, space, time, within=True)
        return _Reached({space: 1}, time, False, 0, within=True)

    def _is_early(self) -> Timed:
        """Return [i ≤ 1]: a step of 1/(i+1) between 1/3 and 1/2, with sums that are exact."""
        if self._early is None:
            time = Time(0, 1)
            space = self.bits.stream.space("early", holds="early", time=time)
            for edge, factor in ((0.375, 16), (0.4375, -16)):
                self.bits.stream.unit(time, f"early: {edge}", [INVERSE], {space: factor}, bias=-edge)
            self._early = Timed({space: 1}, time)
        return self._early

    # ── predicates ──────────────────────────────────────────────────────────────────────────────────────────
    def predicated(self, node: Property, of: Counted, refused: Callable[[], Exception]) -> Bit:
        """Return the bit of θ(t), where t is the position or a count.

        Args:
            refused: the error if it is neither.
        """
        feature, said = feature_of(node), ((literal(node.key, True),),)
        if of.place == 1 and not (of.constant or of.counts or of.bits):
            self.bits.stream.embedded(feature)
            time = Time(0, 1)
            space = self.bits.stream.space(f"is {node.key}", holds=f"is {node.key}", time=time)
            others = {direction: -c for direction, c in self.bits.ends.items()}
            self.bits.stream.unit(time, space, [{feature: 1}, others], {space: 1})
            return Bit({space: 1}, time, said)
        single = of.single
        if single is None or single[1] != 1 or of.constant:
            raise refused()
        head = self.counting.lookup(single[0])
        head.needs(7.0)
        head.factor = max(head.factor, 3.0) if self.counting.printed else head.factor
        self.bits.stream.embedded(feature)
        raw = self.heads.carry(head, feature, {feature: 1})
        time = Time(head.depth, 1)
        space = self.bits.stream.space(f"is {node.key}", holds=f"is {node.key}", time=time)
        self.bits.rounded(f"is {node.key}", raw, space, time, within=True)
        return Bit({space: 1}, time, said)


@dataclass(frozen=True)
class _Reached:
    """A truth value: `form` plus `inside` where there is a position; at BOS it is `at_bos`, or 0 at both ends if
    `within`.
    """

    form: BitForm
    time: Time
    at_bos: bool
    inside: int
    within: bool = False

    def negated(self) -> _Reached:
        form = {direction: -c for direction, c in self.form.items()}
        return _Reached(form, self.time, not self.at_bos, 1 - self.inside, self.within)

    def without(self, other: _Reached) -> _Reached:
        """Return that this is true, and `other`, which is true only where this is, is not."""
        form = added([self.form, other.form], times=[1, -1])
        time, inside = max(self.time, other.time), self.inside - other.inside
        return _Reached(form, time, self.at_bos and not other.at_bos, inside, self.within and other.within)


def feature_of(node: Property) -> str:
    """Return the position feature that is 1 where the predicate holds of the position's number."""
    if node.predicate == "rule":
        return node.rule
    return f"i mod {node.modulus} = {node.remainder}" if node.predicate == "mod" else f"{node.predicate}(i)"


# ── Negations, conjunctions and disjunctions of truth values: as few hidden units one after the other as there can be.
MOST_ALTERNATIVES = 16
"""A conjunction is distributed over a disjunction of at most this many alternatives."""


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
        """Return a conjunction or a disjunction of everything that its parts are conjunctions or disjunctions of.

        A disjunction of alternatives that exclude each other is their sum, and its conjunction with others is
        the sum of the conjunctions of each, where that is computed sooner.
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
            said, other = (
                found,
                self._bits.negated(
                    found, *((word[1:] if word.startswith("!") else f"!{word}") for words in found.said for word in words)
                ),
            )
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
        inner = argument.arguments[0] if isinstance(argument, Apply) and argument.operator == "not" else argument
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
    """Return whether a node has a number in the program, see `tm2tfr.sources.logic.compiler`."""
    return node.key[:1] == "s" and node.key[1:].isdecimal()
