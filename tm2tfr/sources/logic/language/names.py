"""Names and positions in expressions: what they stand for, and what is wrong with them."""

from __future__ import annotations

from tm2tfr.errors import did_you_mean
from tm2tfr.sources.logic.language.lexemes import BUILT_IN, ELSEWHERE, FUNCTIONS
from tm2tfr.sources.logic.language.meanings import Context, Macro, Meaningless, place
from tm2tfr.sources.logic.language.tree import Phrase
from tm2tfr.sources.logic.language.worker import Worker
from tm2tfr.sources.logic.nodes import Next, Node, Previous

ENDS: dict[str, type[Previous] | type[Next]] = {"first": Previous, "last": Next}
"""Names of the ends of a word -> the operator that is false of everything there."""


class Names(Worker):
    """What an elaborator does with names."""

    def check_names(self, phrase: Phrase, parameters: set[str]) -> None:
        """Complain of the unknown names in a macro, also if nobody calls it."""
        waiting, known = [phrase], {*self.meanings, *parameters, *BUILT_IN}
        refused = False
        while waiting:
            part = waiting.pop()
            waiting += part.parts
            if part.operator in ("name", "call") and part.text not in known:
                refused = True
                self.not_defined(part)
        if refused:
            raise Meaningless

    def check_place(self, phrase: Phrase, context: Context, shown: str) -> None:
        """Complain unless an operand has its position where it has to."""
        if self.language == "tl":
            if phrase.parts:
                what = "formulas are written without positions"
                raise self.refuse(phrase, what, f"write {shown}; positions are for programs (.srasp)")
            return
        if not phrase.parts:
            raise self.refuse(phrase, "this has no position", f"write {shown}(i)")
        if len(phrase.parts) > 1:
            raise self.refuse(phrase, "this has one position", f"write {shown}(i)")
        at = place(phrase.parts[0], context)
        if at == context.at:
            return
        if not at:
            raise self.refuse(phrase.parts[0], "a position is i or j", f"write {shown}(i)")
        if at == "j":
            what = "j is a position only inside an attention or a sum, behind its sight"
            raise self.refuse(phrase.parts[0], what, "write i here, or add brackets around what is attended to")
        what = "here only j is a position"
        raise self.refuse(phrase.parts[0], what, "write j, or define it before, with a name")

    def no_operand(self, phrase: Phrase) -> Meaningless:
        """Complain of a word of the language that needs brackets, or is one of the other language."""
        name, programs = phrase.text, self.language == "srasp"
        if name in ("i", "j"):
            what = f"{name!r} is a position, and not a number" if programs else "formulas are written without positions"
            return self.refuse(phrase, what, f"write pos({name})" if programs else "write position")
        if name in ("position", "pos"):
            shown = "pos(i)" if programs else "position"
            return self.refuse(phrase, f"the position is written {shown} here", f"write {shown}")
        if name in ENDS:
            return self.refuse(phrase, "this has no position", f"write {name}(i)")
        return self.refuse(phrase, f"{name!r} has no brackets", f"write {name}(…)")

    def not_defined(self, phrase: Phrase) -> Meaningless:
        """Complain of a name that is not defined, or not yet."""
        name = phrase.text
        if name in self.all and name not in self.meanings:
            if name in self.first:
                return self.refuse(phrase, f"{name!r} is defined by itself", "use what is defined before this line")
            what = f"{name!r} is used before its definition in line {self.all[name].span.line}"
            return self.refuse(phrase, what, "move the definition up")
        close = did_you_mean(name, [*self.meanings, *(BUILT_IN - {"i", "j"})])
        remedy = "use a name that is defined before this line"
        if name in ELSEWHERE:
            remedy = f"write {ELSEWHERE[name]!r}"
        elif name == "Q":
            remedy = "write Q[a] for: the token here is a"
        elif phrase.operator == "call" and not close:
            remedy = f"define it, or use {', '.join(FUNCTIONS)}"
        elif self.language == "tl" and not close:
            remedy = f"define it before this line, or write Q[{name}] for: the token here is {name}"
        return self.refuse(phrase, f"{name!r} is not defined{close}", remedy)

    def found(self, phrase: Phrase) -> Node | Macro:
        name = phrase.text
        if name not in self.meanings:
            raise self.not_defined(phrase)
        self.used.add(name)
        found = self.meanings[name]
        if found is None:
            raise Meaningless
        return found
