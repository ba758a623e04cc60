"""Names and positions in expressions: their meaning, and errors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from tm2tfr.base.errors import did_you_mean
from tm2tfr.base.text.parts import Lexeme
from tm2tfr.base.text.source import Log
from tm2tfr.sources.logic.language.lexemes import BUILT_IN, ELSEWHERE, FUNCTIONS, Phrase
from tm2tfr.sources.logic.nodes import Always, Build, Next, Node, Previous, Sight


# ── What names and expressions mean while a program is elaborated: nodes, sums in cases, and macros.
class Meaningless(Exception):  # noqa: N818  (it is caught at its definition)
    """An expression means nothing, which has been reported."""


@dataclass(frozen=True)
class Affine:
    """``constant + Σ coefficient·node``, where a bit counts as 1 or 0; no coefficient is 0."""

    terms: Mapping[Node, int] = field(default_factory=dict)
    constant: int = 0

    def plus(self, other: Affine, times: int = 1) -> Affine:
        """Return this and a multiple of another, added."""
        terms = dict(self.terms)
        for node, factor in other.terms.items():
            terms[node] = terms.get(node, 0) + times * factor
        return Affine({node: factor for node, factor in terms.items() if factor}, self.constant + times * other.constant)


@dataclass(frozen=True)
class Branch:
    """What a number is where every guard, a bit, has the value beside it."""

    linear: Affine
    guards: tuple[tuple[Node, bool], ...] = ()


Amount = tuple[Branch, ...]
"""A number, in cases of which exactly one holds; without a condition, in one."""


@dataclass(frozen=True)
class Macro:
    """``name(s, t) = body``: expanded where it is called; its arguments are expressions."""

    parameters: tuple[str, ...]
    body: Phrase


@dataclass(frozen=True)
class Theta:
    """``theta(name) = rule``: a predicate of a count or of the position (Definition 19)."""

    name: str
    rule: str


@dataclass(frozen=True)
class Context:
    """Where an expression stands.

    Args:
        at: the position that it is about: ``i``, or ``j`` inside the brackets of an attention; empty in a formula.
        local: the parameters of the macro that it stands in -> argument, and where that stands.
        carry: how an expression at j is carried to i, inside the value of an attention; None: not there.
    """

    at: str = ""
    local: Mapping[str, tuple[Phrase, Context]] = field(default_factory=dict)
    carry: Callable[[Phrase, Context], Node] | None = None


def place(phrase: Phrase, context: Context) -> str:
    """Return the position that a name stands for, ``i`` or ``j``, and the empty string if it stands for none."""
    if phrase.operator != "name":
        return ""
    if phrase.text in context.local:
        return place(*context.local[phrase.text])
    return phrase.text if phrase.text in ("i", "j") else ""


def positions(phrase: Phrase, context: Context, macros: Mapping[str, object]) -> frozenset[str]:
    """Return the positions that an expression is about: ``i``, ``j``, both or none."""
    if phrase.operator in ("latest", "earliest", "psum", "#"):
        return frozenset("i")
    found: set[str] = set()
    if phrase.operator == "name":
        if phrase.text in context.local:
            return positions(*context.local[phrase.text], macros)
        return frozenset(phrase.text if phrase.text in ("i", "j") else "")
    if phrase.operator == "call" and isinstance(macro := macros.get(phrase.text), Macro):
        return positions(macro.body, called(macro, phrase, context), macros)
    for part in phrase.parts:
        found |= positions(part, context, macros)
    return frozenset(found)


def called(macro: Macro, phrase: Phrase, context: Context) -> Context:
    """Return where the body of a macro stands that is called by `phrase`."""
    arguments = {name: (part, context) for name, part in zip(macro.parameters, phrase.parts, strict=False)}
    return Context(context.at, arguments, context.carry)


# ── What the parts of an elaborator have in common: complaints, nodes, and which positions are in sight.
_Made = TypeVar("_Made", bound=Node)
_Found = TypeVar("_Found")

MOST_NODES = 100_000
SIGHTS: dict[str, Sight] = {"<=": "<=", "<": "<", ">=": ">=", ">": ">"}
_MIRRORED: dict[str, Sight] = {"<=": ">=", "<": ">", ">=": "<=", ">": "<"}


class Worker(ABC):
    """Makes nodes and complaints.

    Args:
        log: takes the complaints.
        language: ``tl`` or ``srasp``.
        alphabet: the tokens that the header names, empty if none does.

    Attributes:
        meanings: the names that are defined so far; None: their definitions are broken.
        used: those that something uses.
        first, all: the names that are defined up to here, and in the whole text, where they are.
    """

    def __init__(self, log: Log, language: str, alphabet: tuple[str, ...]) -> None:
        self.log = log
        self.language = language
        self.alphabet = alphabet
        self.build = Build()
        self.meanings: dict[str, Node | Macro | Theta | None] = {}
        self.used: set[str] = set()
        self.first: dict[str, Lexeme] = {}
        self.all: dict[str, Lexeme] = {}

    @abstractmethod
    def value(self, phrase: Phrase, context: Context) -> Node | Amount:
        """Return the value of an expression: the node of a bit or label, or a number."""

    def bit(self, phrase: Phrase, context: Context) -> Node:
        """Return an expression as the node of a bit."""
        found = self.value(phrase, context)
        if isinstance(found, tuple):
            raise self.refuse(phrase, "a formula is expected here, and this is a number", "compare it, for example … >= 1")
        if found.kind == "label":
            raise self.refuse(phrase, "a formula is expected here, and this is a label", "compare it, for example … = 'a'")
        return found

    def make(self, kind: type[_Made], phrase: Phrase, **fields: Any) -> _Made:
        """Return the node with these fields, which `phrase` stands for."""
        if len(self.build.nodes) >= MOST_NODES:
            what = f"this makes more than {MOST_NODES:,} operators, with all that it is made of"
            raise self.refuse(phrase, what, "write less that is repeated")
        return self.build(kind, span=phrase.span, **fields)

    def always(self, *, value: bool) -> Node:
        """Return ``true`` or ``false``."""
        return self.build(Always, value=value)

    def refuse(self, phrase: Phrase, what: str, remedy: str) -> Meaningless:
        """Record a complaint, and return the exception to raise."""
        self.log.add(phrase.span, what, remedy)
        return Meaningless()

    def each(self, do: Callable[[Phrase, Context], _Found], phrases: Iterable[Phrase], context: Context) -> list[_Found]:
        """Return the kind of each expression; report all errors before raising."""
        found, refused = [], False
        for phrase in phrases:
            try:
                found.append(do(phrase, context))
            except Meaningless:
                refused = True
        if refused:
            raise Meaningless
        return found

    def sight(self, phrase: Phrase, context: Context) -> Sight:
        """Return which positions j an attention or a sum sees: the first part in its square brackets."""
        while phrase.operator == "brackets":
            (phrase,) = phrase.parts
        if phrase.operator == "true" or (phrase.operator == "whole" and phrase.text == "1"):
            return "any"
        names = tuple(place(part, context) for part in phrase.parts)
        if phrase.operator in SIGHTS and names in (("j", "i"), ("i", "j")):
            return SIGHTS[phrase.operator] if names == ("j", "i") else _MIRRORED[phrase.operator]
        what = "this does not say which positions j are in sight of i"
        raise self.refuse(phrase, what, "write j <= i, j < i, j >= i, j > i or true, and a score behind a comma")


ENDS: dict[str, type[Previous] | type[Next]] = {"first": Previous, "last": Next}
"""Names of the ends of a word -> the operator that is false of everything there."""


class Names(Worker):
    """The methods of an elaborator for names."""

    def check_names(self, phrase: Phrase, parameters: set[str]) -> None:
        """Complain of the unknown names in a macro, also if nobody calls it."""
        waiting, known = [phrase], {*self.meanings, *parameters, *BUILT_IN, *FUNCTIONS}
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
            raise self.refuse(phrase, "this takes one position", f"write {shown}(i)")
        at = place(phrase.parts[0], context)
        if at == context.at:
            return
        if not at:
            raise self.refuse(phrase.parts[0], "a position is i or j", f"write {shown}(i)")
        if at == "j":
            what = "j can only be used in an attention or a sum, after its square brackets"
            raise self.refuse(phrase.parts[0], what, "write i here, or put the value in brackets")
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

    def found(self, phrase: Phrase) -> Node | Macro | Theta:
        name = phrase.text
        if name not in self.meanings:
            raise self.not_defined(phrase)
        self.used.add(name)
        found = self.meanings[name]
        if found is None:
            raise Meaningless
        return found
