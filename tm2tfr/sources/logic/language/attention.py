"""Attention: scores of pairs of positions, and values carried from the one that is selected."""

from __future__ import annotations

from tm2tfr.sources.logic import nodes as tl
from tm2tfr.sources.logic.language.lexemes import Phrase
from tm2tfr.sources.logic.language.names import Affine, Amount, Context, Macro, called, positions
from tm2tfr.sources.logic.language.numbers import COUNTS, Numbers

_ELSEWHERE = {*COUNTS, "prev", "next", "once", "historically", "eventually", "always", "since", "until", "S", "U"}
"""Values that a position fetches from others."""
_QUERY, _KEY = frozenset("i"), frozenset("j")


class Attentions(Numbers):
    """The methods of an elaborator for attention."""

    def about(self, phrase: Phrase, context: Context) -> frozenset[str]:
        """Return the positions that an expression is about."""
        return positions(phrase, context, self.meanings)

    def attended(self, phrase: Phrase, context: Context) -> tl.Node:
        """``latest_j [M(i,j), S(i,j)] V(i,j) : D(i)``; where V is about both, with a flag of what is found."""
        if context.at != "i":
            what = "an attention stands inside another, where it has no position i"
            raise self.refuse(phrase, what, "define it before, with a name, and use the name")
        sight_at, score_at, value_at, *default_at = phrase.parts
        sight = self.sight(sight_at, context)
        self._placed_at_one(score_at, context)
        score = self.score(score_at, context)
        query = Context("i", context.local)
        about = self.about(value_at, context)
        fields: dict[str, object] = {"choice": phrase.operator, "sight": sight, "score": score}
        if about in (_KEY, frozenset()):
            values = self._carried(value_at, Context("j", context.local))
            default = self._default(phrase, default_at, values, query)
            return self.make(tl.Retrieve, phrase, values=values, default=default, **fields)

        self._placed_at_one(value_at, context)

        def carry(part: Phrase, where: Context) -> tl.Node:
            carried = self._carried(part, Context("j", where.local))
            other = self.always(value=False) if carried.kind == "bit" else self.build(tl.Input)
            return self.make(tl.Retrieve, part, values=carried, default=other, **fields)

        node = self._carried(value_at, Context("i", context.local, carry))
        default = self._default(phrase, default_at, node, query)
        found = self.make(tl.Retrieve, phrase, values=self.always(value=True), default=self.always(value=False), **fields)
        if node.kind == "label":
            return self.make(tl.Choose, phrase, condition=found, then=node, other=default)
        seen = self.make(tl.And, phrase, parts=(found, node))
        if isinstance(default, tl.Always) and not default.value:
            return seen
        unseen = self.make(tl.And, phrase, parts=(self.make(tl.Not, phrase, of=found), default))
        return self.make(tl.Or, phrase, parts=(seen, unseen))

    def _placed_at_one(self, phrase: Phrase, context: Context) -> None:
        """Complain of what looks from a position at others, and does not say whether from i or from j."""
        if phrase.operator == "name" and phrase.text in context.local:
            self._placed_at_one(*context.local[phrase.text])
            return
        operator = phrase.text if phrase.operator == "call" else phrase.operator
        if operator in _ELSEWHERE:
            about = self.about(phrase, context)
            if not about:
                what = f"{operator!r} is applied to a constant, so its position can be i or j"
                raise self.refuse(phrase, what, "give it a name in a line above, and use the name at i or at j")
            if len(about) > 1:
                what = f"{operator!r} is applied to an expression of both i and j"
                raise self.refuse(phrase, what, "move the part with i out of it")
        elif phrase.operator == "call" and isinstance(macro := self.meanings.get(phrase.text), Macro):
            self._placed_at_one(macro.body, called(macro, phrase, context))
        else:
            for part in phrase.parts:
                self._placed_at_one(part, context)

    def _carried(self, phrase: Phrase, context: Context) -> tl.Node:
        found = self.value(phrase, context)
        if isinstance(found, tuple):
            what = "an attention cannot carry a number"
            raise self.refuse(phrase, what, "carry a bit or a label, for example whether it is 0")
        return found

    def _default(self, phrase: Phrase, written: list[Phrase], values: tl.Node, context: Context) -> tl.Node:
        if not written:
            if values.kind == "bit":
                return self.always(value=False)
            what = "this attention to a label has no default"
            raise self.refuse(phrase, what, "add the label for where nothing is selected: … : '?'")
        if "j" in self.about(written[0], context):
            raise self.refuse(written[0], "a default cannot depend on j", "write a value at i, or a constant")
        digit = written[0].text if written[0].operator == "whole" and values.kind == "bit" else ""
        if digit in ("0", "1"):
            return self.always(value=digit == "1")
        found = self._carried(written[0], context)
        if found.kind != values.kind:
            what = f"the default is a {found.kind}, and the value is a {values.kind}"
            raise self.refuse(written[0], what, f"write a {values.kind} behind the ':'")
        return found

    # ── scores ──────────────────────────────────────────────────────────────────────────────────────────
    def score(self, phrase: Phrase, context: Context) -> tl.Score:
        """Return which pairs of positions an expression about i and j is true of."""
        about = self.about(phrase, context)
        if about == _KEY:
            return tl.AtKey(self.bit(phrase, Context("j", context.local)))
        if phrase.operator == "brackets":
            return self.score(phrase.parts[0], context)
        if phrase.operator in ("true", "false") or (phrase.operator == "whole" and phrase.text in ("1", "0")):
            return tl.AnyOf(()) if phrase.operator == "false" or phrase.text == "0" else tl.AllOf(())
        if about <= _QUERY:
            return tl.AtQuery(self.bit(phrase, Context("i", context.local)))
        return self._of_both(phrase, context)

    def _of_both(self, phrase: Phrase, context: Context) -> tl.Score:  # noqa: PLR0911
        if phrase.operator == "call" and isinstance(macro := self.meanings.get(phrase.text), Macro):
            self.used.add(phrase.text)
            return self.score(macro.body, called(macro, phrase, context))
        if phrase.operator == "name" and phrase.text in context.local:
            return self.score(*context.local[phrase.text])
        if phrase.operator in ("==", "!="):
            return self._equality(phrase, context)
        if phrase.operator not in ("!", "&", "|", "->", "<->", "?"):
            what = "this combines i and j by something other than an equality"
            raise self.refuse(phrase, what, "combine bits of i and bits of j with & | ! and =, for example d(j) = d(i)")
        parts = self.each(self.score, phrase.parts, context)
        match phrase.operator:
            case "!":
                return tl.NotOf(parts[0])
            case "&":
                return tl.AllOf(tuple(parts))
            case "|":
                return tl.AnyOf(tuple(parts))
            case "->":
                return tl.AnyOf((self._opposite(parts[0], phrase), parts[1]))
            case "<->":
                return self._both_or_none(parts[0], parts[1], phrase)
        condition, then, other = parts
        return tl.AnyOf((tl.AllOf((condition, then)), tl.AllOf((self._opposite(condition, phrase), other))))

    def _opposite(self, score: tl.Score, phrase: Phrase) -> tl.Score:
        if isinstance(score, tl.AtKey | tl.AtQuery):
            return type(score)(self.make(tl.Not, phrase, of=score.bit))
        return tl.NotOf(score)

    def _both_or_none(self, left: tl.Score, right: tl.Score, phrase: Phrase) -> tl.Score:
        neither = self._opposite(left, phrase), self._opposite(right, phrase)
        return tl.AnyOf((tl.AllOf((left, right)), tl.AllOf(neither)))

    def _equality(self, phrase: Phrase, context: Context) -> tl.Score:
        sides = [self._side(part, context) for part in phrase.parts]
        if None in sides:
            found = self._numbers_equal(phrase, context)
        else:
            (first, left), (second, right) = (side for side in sides if side is not None)
            key, query = (left, right) if first == _KEY else (right, left)
            if first == second or ("label" in (kinds := {_kind(key), _kind(query)}) and len(kinds) > 1):
                raise self.refuse(phrase, "a label is compared with something else", "compare two labels, or two numbers")
            if isinstance(key, tuple) or isinstance(query, tuple):
                found = self._numbers_equal(phrase, context)
            elif key.kind == "label":
                found = tl.Equal(key, query)
            else:
                found = self._both_or_none(tl.AtKey(key), tl.AtQuery(query), phrase)
        return tl.NotOf(found) if phrase.operator == "!=" else found

    def _side(self, phrase: Phrase, context: Context) -> tuple[frozenset[str], tl.Node | Amount] | None:
        """Return the position that one side of an equality is about, and what it is there; None if it is about both."""
        about = self.about(phrase, context)
        if len(about) > 1:
            return None
        return about or _QUERY, self.value(phrase, Context("j" if about == _KEY else "i", context.local))

    def _numbers_equal(self, phrase: Phrase, context: Context) -> tl.Score:
        """``d(j) + a(i) = b(i) + 1``: terms in j on one side, terms in i on the other."""
        key, query = Affine(), Affine()
        for sign, side in zip((1, -1), phrase.parts, strict=True):
            for factor, part in self._summands(side, context, sign):
                at_key = self.about(part, context) == _KEY
                cases = self.cases(part, Context("j" if at_key else "i", context.local))
                linear = self.uncased(cases, part)
                key, query = (key.plus(linear, factor), query) if at_key else (key, query.plus(linear, -factor))
        if next(iter(key.terms.values()), 1) < 0:
            key, query = Affine().plus(key, -1), Affine().plus(query, -1)
        key, query = Affine(key.terms), query.plus(Affine({}, -key.constant))
        return tl.Equal(self.number(key, phrase), self.number(query, phrase))

    def _summands(self, phrase: Phrase, context: Context, sign: int) -> list[tuple[int, Phrase]]:
        """Return the terms of a side of an equality, each about one position, with its sign."""
        if len(self.about(phrase, context)) < 2:
            return [(sign, phrase)]
        if phrase.operator == "neg":
            return self._summands(phrase.parts[0], context, -sign)
        if phrase.operator in ("+", "brackets"):
            return [found for part in phrase.parts for found in self._summands(part, context, sign)]
        what = "this combines i and j by something other than a sum"
        raise self.refuse(phrase, what, "write all terms with j on one side of the '='")


def _kind(value: tl.Node | Amount) -> str:
    return "number" if isinstance(value, tuple) else value.kind
