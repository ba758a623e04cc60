"""A formula or a program: its text, and the nodes that it defines."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from tm2tfr.base.errors import CompileError, did_you_mean
from tm2tfr.base.text.source import Log, Mark
from tm2tfr.base.text.words import broken_list, header_alphabet, header_lines, read_word
from tm2tfr.sources.logic.nodes import Node, needed

Language = Literal["tl", "srasp"]
"""``tl``: formulas of temporal logic; ``srasp``: programs in B-RASP, S-RASP and C-RASP."""
_MOST_NAMED = 8
"""The most definitions that a message names."""


@dataclass(frozen=True, kw_only=True)
class WordExample:
    """A word with the expected values of a definition.

    Args:
        of: the name of the definition; empty: the one that is compiled.
        word: its tokens.
        values: the values as text, one per position or only the last: T and F, labels, numbers.
    """

    of: str
    word: tuple[str, ...]
    values: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class LogicProgram:
    """A formula, with names for some of its subformulas, or a program.

    Args:
        name: the name of its file without the extension, or the text of a formula.
        text: the text it was read from.
        language: see `Language`.
        definitions: name -> node, in the order of the text. A final formula without a name is called ``""``.
            chosen: the name of the definition that is compiled, by default the last.
        alphabet: the tokens of its words; empty: unknown.
        examples: the examples in its headers.
        title: one line about it, from its headers.
    """

    name: str
    text: str
    language: Language
    definitions: Mapping[str, Node]
    chosen: str
    alphabet: tuple[str, ...] = ()
    examples: tuple[WordExample, ...] = field(default=())
    title: str = ""

    def __repr__(self) -> str:
        tokens = ", ".join(self.alphabet[:8]) + (", …" if len(self.alphabet) > 8 else "")
        return f"<{'Formula' if self.language == 'tl' else 'Program'} {self.name} over {tokens or '(not known)'}>"

    @property
    def noun(self) -> str:
        """``formula`` or ``program``."""
        return "formula" if self.language == "tl" else "program"

    @property
    def file(self) -> str:
        """The name of its text in messages."""
        if self.name == self.text:
            return "<formula>"
        ending = f".{self.language}"
        return self.name if self.name.endswith(ending) else f"{self.name}{ending}"

    @property
    def root(self) -> Node:
        """The node that is compiled."""
        return self.definitions[self.chosen]

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The compiled node and all nodes that it depends on, by number."""
        return needed([self.root])

    def choosing(self, name: str) -> LogicProgram:
        """Return the program with another definition chosen.

        Raises:
            CompileError: if no definition has that name.
        """
        if name not in self.definitions:
            known = [each for each in self.definitions if each]
            if not known:
                raise CompileError(f"{self.name}: {name!r} is not defined, and neither is any other name: omit --define")
            shown = known if len(known) <= _MOST_NAMED else [*known[: _MOST_NAMED - 1], "…", known[-1]]
            close = did_you_mean(name, known)
            raise CompileError(f"{self.name}: {name!r} is not defined{close}: use one of {', '.join(shown)}")
        return replace(self, chosen=name)


# ── the comments at the beginning of a formula or a program that say more about it, all optional ──────
# ``# title: one line`` · ``# alphabet: ab``, or a JSON list of tokens · ``# define: name``: what is compiled, otherwise the
# last definition · ``# example: aabb -> FFTT`` with a value for each position, or the last one's alone, also
# ``# example: name(aabb) -> T`` · ``# accepts: ab aabb`` and ``# rejects: ba b``: words with the truth value of their last
# positions.
KNOWN = ("title", "alphabet", "define", "example", "accepts", "rejects")
RESERVED_TOKENS = ("BOS", "EOS", "⊥")
"""Tokens that the transformer reserves; the last stands for ⊥."""
_CALL = re.compile(r"([^\W\d]\w*)\((.*)\)")
_LISTS = re.compile(r"\[(?:\"(?:\\.|[^\"\\])*\"|[^\]\"])*\]|\S+")


@dataclass(frozen=True)
class LogicHeaders:
    """The values of the headers.

    Args:
        lines: the number of the line, from 0, of each; those with words as ``example 0``, ``example 1``, ….
        examples: with the name that is written before the word, if one is.
    """

    title: str = ""
    alphabet: tuple[str, ...] = ()
    define: str = ""
    examples: tuple[WordExample, ...] = ()
    lines: dict[str, int] = field(default_factory=dict)


def tokens_of(text: str) -> tuple[str, ...]:
    """Return a word from text: a JSON list of at least one token, or else a token per character."""
    return tuple(map(str, read_word(text)))


def resembling(token: str, alphabet: Sequence[str]) -> str:
    """Return `` (did you mean 'a'?)`` if a token of the alphabet resembles this one, or differs from it in case alone."""
    same = next((each for each in alphabet if each.casefold() == token.casefold()), None)
    return did_you_mean(token, alphabet) if same is None else f" (did you mean {same!r}?)"


def read_headers(log: Log) -> LogicHeaders:
    """Return the headers of the log's source; errors go to the log."""
    found = LogicHeaders()
    for number, kind, text in header_lines(log.source):
        span = log.source.span(Mark(number, 0), Mark(number, len(log.source.lines[number])))
        said = text.strip()
        if kind not in KNOWN:
            if close := did_you_mean(kind.lower(), KNOWN) or (
                kind.lower() in KNOWN and f" (did you mean {kind.lower()!r}?)"
            ):
                log.add(span, f"{kind!r} is not a header{close}", f"the headers are {', '.join(KNOWN)}", "warning")
        elif kind in ("example", "accepts", "rejects"):
            found = _with_examples(found, kind, said, number, log)
        elif kind in found.lines:
            log.add(span, f"the header {kind!r} is given a second time", "remove one of the two")
        elif not said:
            log.add(span, f"the header {kind!r} is empty", "write something behind the ':', or remove it")
        elif kind == "alphabet":
            tokens = tuple(map(str, header_alphabet(text, span, log)))
            if broken_list(said):
                log.add(span, "the alphabet is not a JSON list", 'write for example ["a", "bc"]')
            else:
                _check_alphabet(tokens, number, log)
            found = replace(found, alphabet=tuple(dict.fromkeys(tokens)), lines={**found.lines, kind: number})
        elif kind == "title":
            found = replace(found, title=said, lines={**found.lines, kind: number})
        else:
            found = replace(found, define=said, lines={**found.lines, kind: number})
    return found


def _check_alphabet(tokens: tuple[str, ...], number: int, log: Log) -> None:
    span = log.source.span(Mark(number, 0), Mark(number, len(log.source.lines[number])))
    if len(set(tokens)) != len(tokens):
        log.add(span, "the alphabet has a token twice", "write '# alphabet: ab', or a JSON list of tokens")
    for token in tokens:
        if token in RESERVED_TOKENS or not token:
            what = f"the token {token!r} is reserved" if token else "a token is empty"
            log.add(span, what, "rename it")


def _with_examples(found: LogicHeaders, kind: str, said: str, number: int, log: Log) -> LogicHeaders:
    span = log.source.span(Mark(number, 0), Mark(number, len(log.source.lines[number])))
    made: list[WordExample] = []
    if kind == "example":
        left, arrow, right = said.rpartition("->")
        word = left.strip()
        call = _CALL.fullmatch(word)
        of, inside = (call[1], call[2]) if call is not None else ("", word)
        values = tokens_of(right.strip())
        if not arrow or not word or not values:
            log.add(
                span, "an example is a word with its values", "write '# example: aab -> FFT', or '-> T' for the last one"
            )
            return found
        made.append(WordExample(of=of, word=tokens_of(inside), values=values))
    else:
        values = ("T",) if kind == "accepts" else ("F",)
        made += [WordExample(of="", word=tokens_of(word), values=values) for word in _LISTS.findall(said)]
        if not made:
            log.add(span, f"{kind!r} has no words", f"write '# {kind}: ab aabb'")
    lines = {f"example {len(found.examples) + n}": number for n in range(len(made))}
    return replace(found, examples=(*found.examples, *made), lines={**found.lines, **lines})
