"""Numbers: sums of counts and bits in cases, comparisons of them, and predicates."""

from __future__ import annotations

from collections.abc import Callable

from tm2tfr.base.errors import counted
from tm2tfr.sources.logic.language.lexemes import Phrase
from tm2tfr.sources.logic.language.names import Affine, Amount, Branch, Context, Names, Theta
from tm2tfr.sources.logic.nodes import (
    Always,
    And,
    Comparison,
    CountLeft,
    CountRight,
    Node,
    Not,
    Or,
    Place,
    Predicate,
    Sum,
)

PREDICATES: dict[str, dict[str, str | int]] = {
    "odd": {"predicate": "mod", "modulus": 2, "remainder": 1},
    "even": {"predicate": "mod", "modulus": 2, "remainder": 0},
    "prime": {"predicate": "prime"},
    "square": {"predicate": "square"},
    "power_of_2": {"predicate": "power of 2"},
    "mod": {"predicate": "mod"},
}
EXTREMES = {"min": "<=", "max": ">=", "abs": ">="}
"""What is the first of two numbers where it stands in this relation to the second, which for ``abs`` is 0."""
COUNTS: dict[str, type[CountLeft | CountRight]] = {"count": CountLeft, "count_left": CountLeft, "count_right": CountRight}
MOST_CASES = 64
MOST_MODULUS = 16
"""Of the remainder of a sum, which takes a bit for each pair of remainders."""


class Numbers(Names):
    """The methods of an elaborator for numbers."""

    def cases(self, phrase: Phrase, context: Context) -> Amount:
        """Return an expression as a number; a bit counts as 1 or 0."""
        found = self.value(phrase, context)
        if isinstance(found, tuple):
            return found
        if found.kind == "label":
            raise self.refuse(phrase, "a number is expected here, and this is a label", "compare it with = first")
        return (Branch(Affine({found: 1})),)

    def added(self, phrase: Phrase, context: Context) -> Amount:
        """``a + b + …``, where ``a - b`` adds the negative."""
        total: Amount = (Branch(Affine()),)
        for found in self.each(self.cases, phrase.parts, context):
            total = tuple(Branch(a.linear.plus(b.linear), a.guards + b.guards) for a in total for b in found)
            self._few(total, phrase)
        return total

    def negated(self, phrase: Phrase, context: Context) -> Amount:
        """``-a``."""
        found = self.cases(phrase.parts[0], context)
        return tuple(Branch(Affine().plus(case.linear, -1), case.guards) for case in found)

    def multiplied(self, phrase: Phrase, context: Context) -> Amount:
        """``3 * a``: one of the two is a whole number."""
        left, right = self.each(self.cases, phrase.parts, context)
        for one, other in ((left, right), (right, left)):
            if len(one) == 1 and not one[0].linear.terms:
                times = one[0].linear.constant
                return tuple(Branch(Affine().plus(case.linear, times), case.guards) for case in other)
        raise self.refuse(phrase, "two numbers that vary are multiplied", "multiply by a whole number, such as 2 * x")

    def in_cases(self, phrase: Phrase, condition: Node, chosen: tuple[Amount, Amount]) -> Amount:
        """``P ? C1 : C2``."""
        found = tuple(
            Branch(case.linear, ((condition, value), *case.guards))
            for value, cases in zip((True, False), chosen, strict=True)
            for case in cases
        )
        return self._few(found, phrase)

    def extreme(self, phrase: Phrase, context: Context) -> Amount:
        """``min(a, b)``, ``max(a, b)``, ``abs(a)``."""
        if phrase.text == "abs":
            return self._absolute(phrase, context)
        if len(phrase.parts) != 2:
            raise self.refuse(
                phrase, f"{phrase.text!r} takes 2 arguments, not {len(phrase.parts)}", f"write {phrase.text}(a, b)"
            )
        left, right = self.each(self.cases, phrase.parts, context)
        return self.in_cases(phrase, self.compared(phrase, left, right, EXTREMES[phrase.text]), (left, right))

    def _absolute(self, phrase: Phrase, context: Context) -> Amount:
        """``abs(a)``: a where that is 0 or more, and -a elsewhere."""
        if len(phrase.parts) != 1:
            raise self.refuse(phrase, "'abs' takes one number", "write abs(a)")
        found, (part,) = self.cases(phrase.parts[0], context), phrase.parts
        return tuple(
            Branch(Affine().plus(case.linear, sign), (*case.guards, (self._from_0(case.linear, part), sign > 0)))
            for case in found
            for sign in (1, -1)
        )

    def _from_0(self, linear: Affine, phrase: Phrase) -> Node:
        """Return the bit that says whether a sum is 0 or more."""
        left, right = self.number(linear, phrase), self.number(Affine(), phrase)
        node: Node = self.make(Comparison, phrase, left=left, relation=">=", right=right)
        return node

    def number(self, linear: Affine, phrase: Phrase) -> Node:
        """Return the node of a sum; of one number alone, that number."""
        terms = linear.terms
        if len(terms) == 1 and not linear.constant:
            ((only, factor),) = terms.items()
            if factor == 1 and only.kind == "number":
                return only
        pairs = tuple((factor, node) for node, factor in terms.items())
        return self.make(Sum, phrase, terms=pairs, constant=linear.constant)

    def uncased(self, cases: Amount, phrase: Phrase) -> Affine:
        """Return a number that is not in cases."""
        if len(cases) > 1:
            what = "a number with a condition can only stand in a comparison"
            raise self.refuse(phrase, what, "compare it here, or multiply a bit: 2 * P")
        return cases[0].linear

    def bracketed(self, cases: Amount, phrase: Phrase) -> Amount:
        """Return a number in brackets: a node of its own, unless it is a whole number."""
        linear = self.uncased(cases, phrase) if len(cases) == 1 else None
        if linear is None or not linear.terms:
            return cases
        return (Branch(Affine({self.number(linear, phrase): 1})),)

    def compared(self, phrase: Phrase, left: Amount, right: Amount, relation: str) -> Node:
        """``left relation right``, where one of the cases holds; they are the two parts of `phrase`."""
        return self._guarded(
            tuple(Branch(a.linear, a.guards + b.guards) for a in left for b in right),
            lambda n: self.make(
                Comparison,
                phrase,
                left=self.number(left[n // len(right)].linear, phrase.parts[0]),
                relation=relation,
                right=self.number(right[n % len(right)].linear, phrase.parts[1]),
            ),
            phrase,
        )

    def predicated(self, phrase: Phrase, context: Context, theta: Theta | None = None) -> Node:
        """``odd(t)``, …, ``mod(t, m, r)``, and user-defined predicates."""
        wanted = 3 if phrase.text == "mod" else 1
        fields = dict(PREDICATES[phrase.text]) if theta is None else self.ruled(theta)
        if len(phrase.parts) != wanted:
            shown = "mod(t, modulus, remainder)" if wanted == 3 else f"{phrase.text}(t)"
            raise self.refuse(
                phrase, f"{phrase.text!r} takes {counted(wanted, 'argument')}, not {len(phrase.parts)}", f"write {shown}"
            )
        if wanted == 3:
            modulus, remainder = (int(part.text) if part.operator == "whole" else -1 for part in phrase.parts[1:])
            if not 0 <= remainder < modulus:
                what = "the modulus and the remainder are not whole numbers with 0 <= remainder < modulus"
                raise self.refuse(phrase, what, "write for example mod(t, 3, 1)")
            fields |= {"modulus": modulus, "remainder": remainder}
        cases = self.cases(phrase.parts[0], context)

        def made(n: int) -> Node:
            if "modulus" in fields and _is_sum(cases[n].linear):
                return self._remainder(cases[n].linear, int(fields["modulus"]), int(fields["remainder"]), phrase)
            of = self.number(cases[n].linear, phrase.parts[0])
            if not isinstance(of, CountLeft | CountRight | Place):
                what = f"{phrase.text!r} takes a single count or the position, and this is {_kind(of)}"
                raise self.refuse(phrase.parts[0], what, "write for example odd(count(Q[a]))")
            node: Node = self.make(Predicate, phrase, of=of, **fields)
            return node

        return self._guarded(cases, made, phrase)

    def ruled(self, theta: Theta) -> dict[str, str | int]:
        """Return the fields of the node of a user-defined predicate, without its argument."""
        return {"predicate": "rule", "rule": theta.rule, "theta": theta.name}

    def _remainder(self, linear: Affine, modulus: int, remainder: int, phrase: Phrase) -> Node:
        """Return whether a sum has a remainder: the remainders of its terms say so, one term after the other."""
        if modulus > MOST_MODULUS:
            what = f"the remainder of a sum by {modulus:,}, which is more than {MOST_MODULUS}"
            raise self.refuse(phrase, what, "take the remainder of a single count, or a smaller one")
        plain = self._plain(linear, phrase)
        known: dict[int, Node] = {plain.constant % modulus: self.always(value=True)}
        for term, factor in plain.terms.items():
            found: dict[int, list[Node]] = {}
            for own, holds in known.items():
                for left, is_left in self._remainders(term, modulus, phrase):
                    both = is_left if isinstance(holds, Always) else self.make(And, phrase, parts=(holds, is_left))
                    found.setdefault((own + factor * left) % modulus, []).append(both)
            known = {
                total: ways[0] if len(ways) == 1 else self.make(Or, phrase, parts=tuple(ways))
                for total, ways in found.items()
            }
        return known[remainder] if remainder in known else self.always(value=False)

    def _remainders(self, term: Node, modulus: int, phrase: Phrase) -> list[tuple[int, Node]]:
        """Return each remainder that a count, the position or a bit can have, with the bit that says whether it has it."""
        if term.kind == "bit":
            return [(1 % modulus, term), (0, self.make(Not, phrase, of=term))]
        fields = {"of": term, "predicate": "mod", "modulus": modulus}
        return [(r, self.make(Predicate, phrase, **fields, remainder=r)) for r in range(modulus)]

    def _plain(self, linear: Affine, phrase: Phrase) -> Affine:
        """Return a sum as one of counts, the position and bits, where names of sums are replaced by these."""
        total = Affine(constant=linear.constant)
        for node, factor in linear.terms.items():
            if isinstance(node, Sum):
                inner = Affine({term: times for times, term in node.terms}, node.constant)
                total = total.plus(self._plain(inner, phrase), factor)
            elif isinstance(node, CountLeft | CountRight | Place) or node.kind == "bit":
                total = total.plus(Affine({node: 1}), factor)
            else:
                what = "the remainder of a sum is of counts, the position and truth values"
                raise self.refuse(phrase, what, "write for example mod(count(Q[a]) - count(Q[b]), 3, 1)")
        return total

    def counted(self, phrase: Phrase, context: Context) -> Node:
        """``count(f)``, ``count_right(f)``."""
        if len(phrase.parts) != 1:
            raise self.refuse(phrase, f"{phrase.text!r} takes one formula", f"write {phrase.text}(Q[a])")
        node: Node = self.make(COUNTS[phrase.text], phrase, of=self.bit(phrase.parts[0], context))
        return node

    def prefix_summed(self, phrase: Phrase, context: Context) -> Amount:
        """``psum_j [M(i,j)] e(j)``, of a sum of bits: the sum of their counts."""
        sight = self.sight(phrase.parts[0], context)
        inner = Context("j", context.local)
        within = self._bits(self.uncased(self.cases(phrase.parts[1], inner), phrase.parts[1]), phrase.parts[1])
        total = Affine()
        for bit, factor in within.terms.items():
            for sign, node in self._seen(sight, bit, phrase):
                total = total.plus(Affine({node: 1}), sign * factor)
        if within.constant:
            bit = self.always(value=True)
            for sign, node in self._seen(sight, bit, phrase):
                total = total.plus(Affine({node: 1}), sign * within.constant)
        return (Branch(total),)

    def _seen(self, sight: str, bit: Node, phrase: Phrase) -> list[tuple[int, Node]]:
        """Return the counts of a bit over the positions in sight, with their signs."""
        found: list[tuple[int, Node]] = []
        if sight in ("<=", "<", "any"):
            found.append((1, self.make(CountLeft, phrase, of=bit)))
        if sight in (">=", ">", "any"):
            found.append((1, self.make(CountRight, phrase, of=bit)))
        return [*found, (-1, bit)] if sight in ("<", ">", "any") else found

    def _bits(self, linear: Affine, phrase: Phrase) -> Affine:
        """Return a sum as one of bits alone, where names of sums are replaced by these."""
        total = Affine(constant=linear.constant)
        for node, factor in linear.terms.items():
            if node.kind == "bit":
                total = total.plus(Affine({node: 1}), factor)
            elif isinstance(node, Sum):
                inner = Affine({term: times for times, term in node.terms}, node.constant)
                total = total.plus(self._bits(inner, phrase), factor)
            else:
                what = "a sum over positions is of bits and whole numbers, and this is a count or a position"
                raise self.refuse(phrase, what, "sum a bit, such as left(in(j))")
        return total

    def _guarded(self, cases: Amount, made: Callable[[int], Node], phrase: Phrase) -> Node:
        """Return that one of the cases holds, and what is made of its number as well."""
        self._few(cases, phrase)
        found = []
        for n, case in enumerate(cases):
            guards = [bit if value else self.make(Not, phrase, of=bit) for bit, value in case.guards]
            node = made(n)
            found.append(self.make(And, phrase, parts=(*guards, node)) if guards else node)
        return found[0] if len(found) == 1 else self.make(Or, phrase, parts=tuple(found))

    def _few(self, cases: Amount, phrase: Phrase) -> Amount:
        if len(cases) > MOST_CASES:
            what = f"these conditions make more than {MOST_CASES} cases"
            raise self.refuse(phrase, what, "compare parts of it one by one")
        return cases


def _is_sum(linear: Affine) -> bool:
    """Return whether a number is neither a whole number nor one count, position or truth value."""
    return bool(linear.terms) and (list(linear.terms.values()) != [1] or bool(linear.constant))


def _kind(number: Node) -> str:
    """Return the value of a number that is neither a count nor the position."""
    terms = number.terms if isinstance(number, Sum) else ()
    if not terms:
        return "a whole number"
    ((factor, term), *more) = terms
    if more or (isinstance(number, Sum) and number.constant):
        return "a sum"
    return "a truth value" if factor == 1 and term.kind == "bit" else "a multiple"
