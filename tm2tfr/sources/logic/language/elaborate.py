"""From the syntax trees of definitions to nodes: names are looked up, macros expanded, the usual operators spelt out.

Every complaint is recorded; a definition with one is broken, and what uses it is left out in silence.
"""

from __future__ import annotations

from collections.abc import Callable

from tm2tfr.base.errors import counted
from tm2tfr.sources.logic import nodes as tl
from tm2tfr.sources.logic.language.attention import Attentions
from tm2tfr.sources.logic.language.lexemes import BUILT_IN, Phrase
from tm2tfr.sources.logic.language.names import ENDS, Affine, Amount, Branch, Context, Macro, Meaningless, Theta, called
from tm2tfr.sources.logic.language.numbers import COUNTS, EXTREMES, PREDICATES
from tm2tfr.sources.logic.language.parse import Stated
from tm2tfr.sources.logic.program import resembling

NOTHING = "⊥"
"""The value of a label at a position without one."""
_UNNAMED = (tl.Always, tl.Input, tl.Text, tl.Place)


class LogicElaborator(Attentions):
    """Makes the nodes of definitions; `definitions` has those that a program shows, by name."""

    definitions: dict[str, tl.Node]
    _last: Stated | None = None

    def run(self, stated: tuple[Stated, ...]) -> None:
        """Take in definitions, in the order of the text."""
        self.definitions, self._last = {}, stated[-1] if stated else None
        self.all = {str(each.name): each.name for each in reversed(stated) if each.name is not None}
        for each in stated:
            name = str(each.name) if each.name is not None else ""
            if each.rule:
                if self._may_be_defined(each, name):
                    self.meanings[name] = Theta(name, each.rule)
                continue
            if not self._may_be_defined(each, name) or each.body is None:
                if name:
                    self.meanings.setdefault(name, None)
                continue
            try:
                self._define(each, name, each.body)
            except Meaningless:
                self.meanings[name] = None
            except RecursionError:
                self.log.add(each.body.span, "this is nested too deeply", "name a part of it, and use the name")
                self.meanings[name] = None

    def _may_be_defined(self, each: Stated, name: str) -> bool:
        """Return whether a definition defines something new; otherwise complain."""
        if name in self.first and each.name is not None:
            what = f"{name!r} is defined a second time; the first is in line {self.first[name].span.line}"
            other = "" if each.sign == ":=" else ", or compare with '=='"
            self.log.add(each.name.span, what, f"choose another name{other}")
            return False
        if not name and each.body is not None:
            if self.language == "srasp":
                self.log.add(each.body.span, "this expression has no name", "write name(i) = … before it")
                return False
            if "" in self.meanings:
                what = "there is a formula without a name before this one"
                self.log.add(each.body.span, what, "name all but the last: name := …")
                return False
        if each.name is not None:
            self.first[name] = each.name
        return True

    def _define(self, each: Stated, name: str, body: Phrase) -> None:
        parameters = tuple(map(str, each.parameters))
        if each.name is not None and self.language == "srasp" and not parameters:
            self.log.add(each.name.span, f"{name!r} has no position", f"write {name}(i) = …")
            raise Meaningless
        if len(set(parameters)) < len(parameters):
            self.log.add(each.parameters[-1].span, f"{name!r} has a parameter twice", "give each its own name")
            raise Meaningless
        if parameters == ("j",):
            self.log.add(each.parameters[0].span, "a definition is about the position i", f"write {name}(i) = …")
            raise Meaningless
        if parameters and parameters != ("i",):
            self.check_names(body, set(parameters))
            self.meanings[name] = Macro(parameters, body)
            return
        if parameters and self.language == "tl":
            self.log.add(each.parameters[0].span, "formulas are written without positions", f"write {name} := …")
            raise Meaningless
        found = self.value(body, Context("i" if self.language == "srasp" else ""))
        if isinstance(found, tuple) and len(found) > 1 and each is not self._last and parameters:
            self.meanings[name] = Macro(parameters, body)  # a number in cases is not a node: comparisons take it apart
            return
        node = self.number(self.uncased(found, body), body) if isinstance(found, tuple) else found
        constant = isinstance(node, tl.Sum) and not node.terms
        if name and not name.startswith("_") and not node.name and not isinstance(node, _UNNAMED) and not constant:
            object.__setattr__(node, "name", name)  # while its program is being made
        self.meanings[name] = self.definitions[name] = node

    # ── expressions ─────────────────────────────────────────────────────────────────────────────────────
    def value(self, phrase: Phrase, context: Context) -> tl.Node | Amount:
        """Return the value of an expression: the node of a bit or label, or a number."""
        if context.carry is not None and self.about(phrase, context) == frozenset("j"):
            return context.carry(phrase, context)
        return _KINDS[phrase.operator](self, phrase, context)

    def _letter(self, phrase: Phrase, context: Context) -> tl.Node:
        if not phrase.text:
            raise self.refuse(phrase, "this letter names no token", "write for example Q[a]")
        self.check_place(phrase, context, "Q[a]")
        return self._one_of(self.build(tl.Input), (phrase.text,), phrase, phrase)

    def _token(self, phrase: Phrase, context: Context) -> tl.Node:
        self.check_place(phrase, context, "in")
        return self.make(tl.Input, phrase)

    def _label(self, phrase: Phrase, context: Context) -> tl.Node:
        if self.language == "tl":
            raise self.refuse(
                phrase, "formulas have no labels", f"write Q[{phrase.text}]; labels are for programs (.srasp)"
            )
        if phrase.text in ("", NOTHING):
            what = f"{phrase.text!r} cannot be a label: it means 'no label'"
            raise self.refuse(phrase, what, "use another text")
        return self.make(tl.Text, phrase, value=phrase.text)

    def _whole(self, phrase: Phrase, context: Context) -> Amount:
        if len(phrase.text) > 9:
            raise self.refuse(phrase, "this number has more than nine digits", "no word is that long: use a smaller one")
        return (Branch(Affine({}, int(phrase.text))),)

    def _name(self, phrase: Phrase, context: Context) -> tl.Node | Amount:
        name = phrase.text
        if name in context.local:
            inner, where = context.local[name]
            return self.value(inner, Context(context.at, where.local, context.carry))
        if name == "position" and self.language == "tl":
            return self._as_value(self.make(tl.Place, phrase))
        if name in ENDS and self.language == "tl":
            return self._end(phrase)
        if name in BUILT_IN:
            raise self.no_operand(phrase)
        found = self.found(phrase)
        if isinstance(found, Theta):
            return self._of_place(found, phrase, context)
        if isinstance(found, Macro):
            raise self.refuse(
                phrase,
                f"{name!r} takes {counted(len(found.parameters), 'argument')} in brackets",
                f"write {_call(name, found)}",
            )
        if self.language == "srasp":
            raise self.refuse(phrase, f"{name!r} has no position here", f"write {name}({context.at})")
        return self._as_value(found)

    def _of_place(self, theta: Theta, phrase: Phrase, context: Context) -> tl.Node:
        """A predicate alone, which in a formula is about the position."""
        if self.language == "srasp":
            what = f"{theta.name!r} has no number here"
            raise self.refuse(phrase, what, f"write {theta.name}(pos({context.at or 'i'}))")
        return self.make(tl.Predicate, phrase, of=self.make(tl.Place, phrase), **self.ruled(theta))

    def _end(self, phrase: Phrase) -> tl.Node:
        """``first``, ``last``: there is no position before, or behind, this one."""
        return self.make(tl.Not, phrase, of=self.make(ENDS[phrase.text], phrase, of=self.always(value=True)))

    def _as_value(self, node: tl.Node) -> tl.Node | Amount:
        return (Branch(Affine({node: 1})),) if node.kind == "number" else node

    def _call(self, phrase: Phrase, context: Context) -> tl.Node | Amount:  # noqa: PLR0911
        name = phrase.text
        if name in COUNTS:
            return self._as_value(self.counted(phrase, context))
        if name in PREDICATES or (name in EXTREMES and name not in self.meanings):
            return self.predicated(phrase, context) if name in PREDICATES else self.extreme(phrase, context)
        if name == "pos":
            self.check_place(phrase, context, "position" if self.language == "tl" else "pos")
            return self._as_value(self.make(tl.Place, phrase))
        if name in ENDS:
            self.check_place(phrase, context, name)
            return self._end(phrase)
        if name in BUILT_IN:
            raise self.refuse(phrase, f"{name!r} has no brackets", f"write {name}")
        found = self.found(phrase)
        if isinstance(found, Theta):
            return self.predicated(phrase, context, found)
        if isinstance(found, tl.Node):
            self.check_place(phrase, context, name)
            return self._as_value(found)
        if len(found.parameters) != len(phrase.parts):
            what = f"{name!r} takes {counted(len(found.parameters), 'argument')}, not {len(phrase.parts)}"
            raise self.refuse(phrase, what, f"write {_call(name, found)}")
        return self.value(found.body, called(found, phrase, context))

    def _brackets(self, phrase: Phrase, context: Context) -> tl.Node | Amount:
        found = self.value(phrase.parts[0], context)
        return self.bracketed(found, phrase.parts[0]) if isinstance(found, tuple) else found

    def _boolean(self, phrase: Phrase, context: Context) -> tl.Node:
        parts = self.each(self.bit, phrase.parts, context)
        match phrase.operator:
            case "!":
                return self.make(tl.Not, phrase, of=parts[0])
            case "&":
                return self.make(tl.And, phrase, parts=tuple(parts))
            case "|":
                return self.make(tl.Or, phrase, parts=tuple(parts))
            case "->":
                return self.make(tl.Or, phrase, parts=(self.make(tl.Not, phrase.parts[0], of=parts[0]), parts[1]))
        return self._equivalent(phrase, *parts)

    def _equivalent(self, phrase: Phrase, left: tl.Node, right: tl.Node) -> tl.Node:
        neither = tuple(self.make(tl.Not, phrase, of=each) for each in (left, right))
        both = self.make(tl.And, phrase, parts=(left, right))
        return self.make(tl.Or, phrase, parts=(both, self.make(tl.And, phrase, parts=neither)))

    def _temporal(self, phrase: Phrase, context: Context) -> tl.Node:
        parts = self.each(self.bit, phrase.parts, context)
        true = self.always(value=True)
        match phrase.operator:
            case "prev":
                return self.make(tl.Previous, phrase, of=parts[0])
            case "next":
                return self.make(tl.Next, phrase, of=parts[0])
            case "once" | "eventually":
                return self._nearest(phrase, true, parts[0])
            case "historically" | "always":
                other = self.make(tl.Not, phrase, of=parts[0])
                return self.make(tl.Not, phrase, of=self._nearest(phrase, true, other))
            case "S" | "U":
                either = self.make(tl.Or, phrase, parts=tuple(parts))
                return self._nearest(phrase, either, parts[1])
        left, right = parts
        if _disjoint(left, right):
            usual = {"since": "S", "until": "U"}[phrase.operator]
            what = f"this {phrase.operator!r} is never true: both sides must be true at one position, which has one token"
            remedy = f"write the usual operator, {usual}, whose left side may be false where the right side is true"
            self.log.add(phrase.span, what, remedy, "warning")
        return self._nearest(phrase, left, right)

    def _nearest(self, phrase: Phrase, left: tl.Node, right: tl.Node) -> tl.Node:
        return self.make(_NEAREST[phrase.operator], phrase, left=left, right=right, typed=phrase.operator)

    def _comparison(self, phrase: Phrase, context: Context) -> tl.Node:
        left, right = self.each(self.value, phrase.parts, context)
        if not isinstance(left, tuple) and not isinstance(right, tuple):
            kinds, equality = {left.kind, right.kind}, phrase.operator in ("==", "!=")
            if kinds == {"label"} and equality:
                return self._labels_equal(phrase, left, right)
            if kinds == {"bit"} and equality:
                found = self._equivalent(phrase, left, right)
                return found if phrase.operator == "==" else self.make(tl.Not, phrase, of=found)
            if kinds == {"label"}:
                raise self.refuse(phrase, "labels have no order", "compare them with = or !=")
        for part, each in zip(phrase.parts, (left, right), strict=True):
            if not isinstance(each, tuple) and each.kind == "label":
                raise self.refuse(part, "a label is compared with something else", "compare two labels, or two numbers")
        numbers = [each if isinstance(each, tuple) else (Branch(Affine({each: 1})),) for each in (left, right)]
        return self.compared(phrase, numbers[0], numbers[1], phrase.operator)

    def _labels_equal(self, phrase: Phrase, left: tl.Node, right: tl.Node) -> tl.Node:
        if isinstance(right, tl.Text):
            found = self._one_of(left, (right.value,), phrase.parts[1], phrase)
        elif isinstance(left, tl.Text):
            found = self._one_of(right, (left.value,), phrase.parts[0], phrase)
        else:
            found = self.make(tl.Same, phrase, left=left, right=right)
        return found if phrase.operator == "==" else self.make(tl.Not, phrase, of=found)

    def _one_of(self, of: tl.Node, values: tuple[str, ...], at: Phrase, phrase: Phrase) -> tl.Node:
        """Return whether a label is one of `values`, which stand at `at`."""
        if isinstance(of, tl.Text):
            return self.always(value=of.value in values)
        if isinstance(of, tl.Input) and self.alphabet:
            for value in (value for value in values if value not in self.alphabet):
                what = f"{value!r} is not in the alphabet of the header{resembling(value, self.alphabet)}"
                self.log.add(at.span, what, "use a token of the alphabet, or add this one to it", "warning")
        return self.make(tl.OneOf, phrase, of=of, values=tuple(dict.fromkeys(values)))

    def _among(self, phrase: Phrase, context: Context) -> tl.Node:
        of = self.value(phrase.parts[0], context)
        if isinstance(of, tuple) or of.kind != "label":
            raise self.refuse(phrase.parts[0], "'in' is of a label", "write for example in(i) in {'a', 'b'}")
        return self._one_of(of, tuple(part.text for part in phrase.parts[1:]), phrase, phrase)

    def _choice(self, phrase: Phrase, context: Context) -> tl.Node | Amount:
        condition = self.bit(phrase.parts[0], context)
        then, other = self.each(self.value, phrase.parts[1:], context)
        if isinstance(then, tuple) or isinstance(other, tuple):
            first, second = self.each(self.cases, phrase.parts[1:], context)
            return self.in_cases(phrase, condition, (first, second))
        if then.kind != other.kind:
            what = f"one of the two is a {then.kind}, the other a {other.kind}"
            raise self.refuse(phrase, what, "choose between two labels, two formulas or two numbers")
        if then.kind == "label":
            return self.make(tl.Choose, phrase, condition=condition, then=then, other=other)
        yes = self.make(tl.And, phrase, parts=(condition, then))
        no = self.make(tl.And, phrase, parts=(self.make(tl.Not, phrase, of=condition), other))
        return self.make(tl.Or, phrase, parts=(yes, no))

    def _of_programs(self, phrase: Phrase, context: Context) -> tl.Node | Amount:
        if self.language == "tl":
            what = "attention and sums over positions are for programs (.srasp)"
            raise self.refuse(phrase, what, "write a program, or use since, until and count(…)")
        if phrase.operator in ("psum", "#"):
            return self.prefix_summed(phrase, context)
        return self.attended(phrase, context)


def _call(name: str, macro: Macro) -> str:
    return f"{name}({', '.join(macro.parameters)})"


def _disjoint(left: tl.Node, right: tl.Node) -> bool:
    """Return whether two nodes say that the same token is two different ones."""
    letters = [
        set(node.values) if isinstance(node, tl.OneOf) and isinstance(node.of, tl.Input) else None for node in (left, right)
    ]
    return None not in letters and not (letters[0] or set()) & (letters[1] or set())


_NEAREST: dict[str, type[tl.Since] | type[tl.Until]] = {
    **dict.fromkeys(("since", "S", "once", "historically"), tl.Since),
    **dict.fromkeys(("until", "U", "eventually", "always"), tl.Until),
}
_Kind = Callable[[LogicElaborator, Phrase, Context], tl.Node | Amount]
_KINDS: dict[str, _Kind] = {
    "letter": LogicElaborator._letter,
    "token": LogicElaborator._token,
    "label": LogicElaborator._label,
    "whole": LogicElaborator._whole,
    "name": LogicElaborator._name,
    "call": LogicElaborator._call,
    "brackets": LogicElaborator._brackets,
    "true": lambda self, phrase, context: self.always(value=True),
    "false": lambda self, phrase, context: self.always(value=False),
    "one of": LogicElaborator._among,
    "?": LogicElaborator._choice,
    "+": LogicElaborator.added,
    "neg": LogicElaborator.negated,
    "*": LogicElaborator.multiplied,
    **dict.fromkeys(("!", "&", "|", "->", "<->"), LogicElaborator._boolean),
    **dict.fromkeys(("prev", "next", "once", "historically", "eventually", "always"), LogicElaborator._temporal),
    **dict.fromkeys(("since", "until", "S", "U"), LogicElaborator._temporal),
    **dict.fromkeys(("==", "!=", "<=", "<", ">=", ">"), LogicElaborator._comparison),
    **dict.fromkeys(("latest", "earliest", "psum", "#"), LogicElaborator._of_programs),
}
