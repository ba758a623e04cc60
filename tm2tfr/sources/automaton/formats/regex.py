r"""Regular expressions: ``(ab)*``, as the text behind ``regex:`` or in a file ``*.regex`` with headers.

A character is a token. ``ab`` one after the other, ``a|b`` either, ``a*`` any number, ``a+`` at least one, ``a?`` at most
one, ``a{2}``, ``a{2,}`` and ``a{2,4}`` that many, ``()`` nothing, ``.`` any token of the alphabet, ``[a-c]`` any of these,
``[^ab]`` any other token of the alphabet, and ``\*`` a sign with another meaning as a token. Blanks are
ignored unless escaped, ``\ ``. An expression matches the whole word.

Source: Thompson, Regular Expression Search Algorithm (1968), for the automaton.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from tm2tfr.base.errors import counted, visible
from tm2tfr.base.text.source import Log, Mark, SourceText
from tm2tfr.base.text.words import header_alphabet, header_lines, read_word
from tm2tfr.sources.automaton.automaton import (
    MOST_STATES,
    Automaton,
    Choices,
    TooManySubsetsError,
    WordVerdict,
    determinised,
)
from tm2tfr.sources.automaton.formats.draft import LoadedAutomaton, stem

HEADERS = ("title", "alphabet", "accepts", "rejects")
MOST_REPEATED = 1_000
"""The most repetitions that braces ask for."""
MOST_PARTS = 20_000
"""The most states of the nondeterministic automaton that is made of an expression."""
DEEPEST = 100
"""Brackets within each other."""
_BRACES = re.compile(r"\{(\d+)(,(\d*))?\}", re.ASCII)
_LISTS = re.compile(r"\[(?:\"(?:\\.|[^\"\\])*\"|[^\]\"])*\]|\S+")
_BREAKS = {"n": "\n", "t": "\t", "r": "\r"}
_SIGNS = "()[]{}|*+?.\\^"


class _Wrong(Exception):  # noqa: N818  (it is caught where it is raised)
    """An error in an expression: the offset, what is wrong, and what to do."""


@dataclass(frozen=True)
class RegexPart:
    """A part of an expression.

    Args:
        kind: ``token`` (any of `tokens`), ``others`` (any but those), ``chain``, ``either``, ``times``.
        parts: its parts.
        least, most: of ``times``; None: any number.
    """

    kind: str
    parts: tuple[RegexPart, ...] = ()
    tokens: tuple[str, ...] = ()
    least: int = 0
    most: int | None = None


@dataclass
class _Parser:
    """Reads an expression; ``text[at]`` is the next character."""

    text: str
    at: int = 0
    depth: int = 0

    def whole(self) -> RegexPart:
        found = self.either()
        if self.at < len(self.text):
            raise _Wrong(self.at, "this ')' closes nothing", "remove it, or write '\\)' for the token")
        return found

    def either(self) -> RegexPart:
        parts = [self.chain()]
        while self.next() == "|":
            self.at += 1
            parts.append(self.chain())
        return parts[0] if len(parts) == 1 else RegexPart("either", tuple(parts))

    def chain(self) -> RegexPart:
        parts = []
        while self.next() not in ("", "|", ")"):
            parts.append(self.times())
        return parts[0] if len(parts) == 1 else RegexPart("chain", tuple(parts))

    def times(self) -> RegexPart:
        found, start = self.single(), self.at
        while (sign := self.next()) and sign in "*+?{":
            if self.at > start + DEEPEST:
                raise _Wrong(self.at, f"more than {DEEPEST} signs repeat one part", "use fewer")
            if self.at > start and sign in "?+":  # Python's a+? is a+ with fewest letters first, and not (a+)?
                problem = f"{sign!r} behind another sign that repeats has several meanings elsewhere"
                raise _Wrong(self.at, problem, f"write (…){sign} with brackets around what it repeats")
            if sign == "{":
                found = self.braces(found)
                continue
            self.at += 1
            found = RegexPart("times", (found,), least=int(sign == "+"), most=1 if sign == "?" else None)
        return found

    def braces(self, repeated: RegexPart) -> RegexPart:
        match = _BRACES.match(self.text, self.at)
        if match is None:
            raise _Wrong(self.at, "this is not a number of times", "write for example {2}, {2,} or {2,4}, or '\\{'")
        least = int(match[1])
        most = least if match[2] is None else int(match[3]) if match[3] else None
        if most is not None and most < least:
            raise _Wrong(self.at, f"at least {least} and at most {most} times is never", "exchange the numbers")
        if max(least, most or 0) > MOST_REPEATED:
            raise _Wrong(self.at, f"at most {MOST_REPEATED:,} times are read", "use a smaller number")
        self.at = match.end()
        return RegexPart("times", (repeated,), least=least, most=most)

    def single(self) -> RegexPart:
        start, sign = self.at, self.next()
        self.at += 1
        if sign == "(":
            self.depth += 1
            if self.depth > DEEPEST:
                raise _Wrong(start, f"this is nested deeper than {DEEPEST} levels", "use fewer brackets")
            found = self.either()
            if self.next() != ")":
                raise _Wrong(start, "this '(' is never closed", "add ')', or write '\\(' for the token")
            self.at, self.depth = self.at + 1, self.depth - 1
            return found
        if sign == "[":
            return self.set(start)
        if sign == ".":
            return RegexPart("others")
        if sign == "\\":
            return RegexPart("token", tokens=(self.escaped(start),))
        if sign in "*+?{":
            raise _Wrong(start, f"{sign!r} has nothing before it to repeat", f"write '\\{sign}' for the token")
        if sign in "]}^":
            raise _Wrong(start, f"{sign!r} means nothing here", f"write '\\{sign}' for the token")
        return RegexPart("token", tokens=(sign,))

    def set(self, start: int) -> RegexPart:
        denied = self.text[self.at : self.at + 1] == "^"
        self.at += denied
        found: dict[str, None] = {}
        while (sign := self.text[self.at : self.at + 1]) != "]":
            if not sign:
                raise _Wrong(start, "this '[' is never closed", "add ']', or write '\\[' for the token")
            place = self.at
            self.at += 1
            first = self.escaped(place) if sign == "\\" else sign
            if self.text[self.at : self.at + 1] == "-" and self.text[self.at + 1 : self.at + 2] not in ("]", ""):
                self.at += 2
                last = self.text[self.at - 1]
                last = self.escaped(self.at - 1) if last == "\\" else last
                if not 0 <= ord(last) - ord(first) < MOST_REPEATED:
                    raise _Wrong(place, f"from {first!r} to {last!r} is not a range of characters", "exchange the ends")
                found |= dict.fromkeys(map(chr, range(ord(first), ord(last) + 1)))
            else:
                found[first] = None
        self.at += 1
        if not found:
            raise _Wrong(start, "the set is empty", "write the tokens between its brackets")
        return RegexPart("others" if denied else "token", tokens=tuple(found))

    def escaped(self, start: int) -> str:
        sign = self.text[self.at : self.at + 1]
        if not sign:
            raise _Wrong(start, "nothing follows this backslash", "write '\\\\' for the token")
        if sign.isascii() and sign.isalnum() and sign not in _BREAKS:
            raise _Wrong(start, f"'\\{sign}' means nothing here", "list the tokens in brackets, for example [0-9]")
        self.at += 1
        return _BREAKS.get(sign, sign)

    def next(self) -> str:
        while self.at < len(self.text) and self.text[self.at].isspace():
            self.at += 1
        return self.text[self.at : self.at + 1]


@dataclass
class _Thompson:
    """Makes a nondeterministic automaton of an expression, part by part."""

    alphabet: Sequence[str]
    choices: Choices = field(default_factory=Choices)

    def add(self, part: RegexPart) -> tuple[int, int]:
        """Add a part, and return where it begins and where it ends."""
        if self.choices.states > MOST_PARTS:
            raise TooManySubsetsError
        if part.kind in ("token", "others"):
            first, last = self.choices.state(), self.choices.state()
            some = part.tokens if part.kind == "token" else [a for a in self.alphabet if a not in part.tokens]
            for token in some:
                self.choices.move(first, token, last)
            return first, last
        if part.kind == "chain":
            return self.chained([self.add(each) for each in part.parts])
        if part.kind == "either":
            first, last = self.choices.state(), self.choices.state()
            for begin, end in [self.add(each) for each in part.parts]:
                self.choices.step(first, begin)
                self.choices.step(end, last)
            return first, last
        every = [self.add(part.parts[0]) for _ in range(part.least)]
        if part.most is None:
            begin, end = self.add(part.parts[0])
            first, last = self.choices.state(), self.choices.state()
            for a, b in ((first, begin), (first, last), (end, begin), (end, last)):
                self.choices.step(a, b)
            return self.chained([*every, (first, last)])
        for _ in range(part.most - part.least):
            begin, end = self.add(part.parts[0])
            first, last = self.choices.state(), self.choices.state()
            for a, b in ((first, begin), (first, last), (end, last)):
                self.choices.step(a, b)
            every.append((first, last))
        return self.chained(every)

    def chained(self, parts: list[tuple[int, int]]) -> tuple[int, int]:
        if not parts:
            only = self.choices.state()
            return only, only
        for (_, end), (begin, _) in pairwise(parts):
            self.choices.step(end, begin)
        return parts[0][0], parts[-1][1]


def tokens_in(part: RegexPart) -> set[str]:
    """Return the tokens that an expression names."""
    return {*part.tokens}.union(*map(tokens_in, part.parts))


def read(source: SourceText, *, name: str = "", alphabet: Sequence[str] | None = None) -> LoadedAutomaton:
    """Read a regular expression with headers: ``# title:``, ``# alphabet:``, ``# accepts:`` and ``# rejects:`` with words.

    Args:
        name: the name of the automaton; empty: that of the file.
        alphabet: its tokens; None: those of the header, otherwise those that the expression names.

    Raises:
        SpecError: with the first error of the expression, or those of the headers.
    """
    log, title, examples = Log(source), "", list[WordVerdict]()
    for number, key, text in header_lines(source, HEADERS):
        span = source.span(Mark(number, 0), Mark(number, len(source.lines[number])))
        if key == "title":
            title = text.strip()
        elif key == "alphabet":
            alphabet = alphabet or tuple(dict.fromkeys(map(str, header_alphabet(text, span, log))))
        else:
            words = [tuple(map(str, read_word(word))) for word in _LISTS.findall(text)]
            examples += [WordVerdict(word=word, accepted=key == "accepts") for word in words]
    start = _behind_comments(source)
    text = source.text[start:]
    try:
        part = _Parser(text).whole()
    except _Wrong as wrong:
        at, what, remedy = wrong.args
        log.add(source.stretch(start + at, start + at + 1), what, remedy)
        raise log.failure() from None
    found = _made(log, part, name or stem(source.file), text.strip(), alphabet, examples)
    return LoadedAutomaton(program=replace(found, title=title, examples=tuple(examples)), warnings=log.conclude())


def _behind_comments(source: SourceText) -> int:
    """Return the offset behind the comments that an expression begins with."""
    for number, line in enumerate(source.lines):
        if line.strip() and not line.lstrip().startswith("#"):
            return source.beginnings[number]
    return len(source.text)


def _made(
    log: Log,
    part: RegexPart,
    name: str,
    text: str,
    alphabet: Sequence[str] | None,
    examples: Sequence[WordVerdict],
) -> Automaton:
    named = tokens_in(part)
    tokens = tuple(alphabet or sorted(named | {token for each in examples for token in each.word}))
    lost = next((token for token in sorted(named) if token not in tokens), None)
    if lost is not None:
        log.add(None, f"the expression has {visible(repr(lost))}, which is not in the alphabet", "add it to the alphabet")
    if not tokens:
        log.add(None, "the expression names no tokens", "name them, as in [ab]*, or write '# alphabet: ab' in its file")
    log.conclude()
    try:
        made = _Thompson(tokens)
        first, last = made.add(part)
        made.choices.start, made.choices.accepting = {first}, {last}
        found = determinised(made.choices, tokens, name)
    except TooManySubsetsError:
        problem = f"the expression needs an automaton of more than {MOST_STATES:,} states"
        log.add(None, problem, "repeat less, or write it in another way")
        raise log.failure() from None
    return replace(found, pattern=text, made=f"a regular expression, {counted(len(found.states), 'state')}")


def of_text(text: str, alphabet: Sequence[str] | None = None) -> LoadedAutomaton:
    """Return the automaton of a regular expression that is given as text; it is named by its text.

    Raises:
        SpecError: with the first error.
    """
    source = SourceText(text, "<regex>")
    log = Log(source)
    try:
        part = _Parser(text).whole()
    except _Wrong as wrong:
        at, what, remedy = wrong.args
        log.add(source.stretch(at, at + 1), what, remedy)
        raise log.failure() from None
    return LoadedAutomaton(program=_made(log, part, text, text, alphabet, ()))
