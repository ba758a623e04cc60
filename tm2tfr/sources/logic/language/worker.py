"""What the parts of an elaborator have in common: complaints, nodes, and which positions are in sight."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from tm2tfr.sources.logic.build import Build
from tm2tfr.sources.logic.language.meanings import Amount, Context, Macro, Meaningless, place
from tm2tfr.sources.logic.language.tree import Phrase
from tm2tfr.sources.logic.nodes import Always, Node, Sight
from tm2tfr.text.parts import Lexeme
from tm2tfr.text.source import Log

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
        self.meanings: dict[str, Node | Macro | None] = {}
        self.used: set[str] = set()
        self.first: dict[str, Lexeme] = {}
        self.all: dict[str, Lexeme] = {}

    @abstractmethod
    def value(self, phrase: Phrase, context: Context) -> Node | Amount:
        """Return what an expression is: the node of a bit or label, or a number."""

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
        """Record a complaint, and return what to raise."""
        self.log.add(phrase.span, what, remedy)
        return Meaningless()

    def each(self, do: Callable[[Phrase, Context], _Found], phrases: Iterable[Phrase], context: Context) -> list[_Found]:
        """Return what each expression is, and complain of all of them before giving up."""
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
