"""The comments at the beginning of a formula or a program that say more about it, all optional.

``# title: one line`` · ``# alphabet: ab``, or a JSON list of tokens · ``# define: name``: what is compiled, otherwise the
last definition · ``# example: aabb -> FFTT`` with a value for each position, or the last one's alone, also
``# example: name(aabb) -> T`` · ``# accepts: ab aabb`` and ``# rejects: ba b``: words with the truth value of their last
positions.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from tm2tfr.errors import did_you_mean
from tm2tfr.sources.logic.program import WordExample
from tm2tfr.text.headers import header_alphabet, header_lines
from tm2tfr.text.source import Log, Mark
from tm2tfr.text.words import broken_list, read_word

KNOWN = ("title", "alphabet", "define", "example", "accepts", "rejects")
RESERVED_TOKENS = ("BOS", "EOS", "⊥")
"""Tokens that the transformer needs for itself: the last stands for no label."""
_CALL = re.compile(r"([^\W\d]\w*)\((.*)\)")
_LISTS = re.compile(r"\[(?:\"(?:\\.|[^\"\\])*\"|[^\]\"])*\]|\S+")


@dataclass(frozen=True)
class LogicHeaders:
    """What the headers say.

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
    """Return what the headers of the log's source say; what is wrong with them goes to the log."""
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
                log.add(span, "the alphabet is no JSON list", 'write for example ["a", "bc"]')
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
