"""Words, alphabets and headers as people write them: one token per character, or a JSON list of tokens."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice, product
from typing import TypeVar

from tm2tfr.base.errors import CompileError, InputError, Span, visible
from tm2tfr.base.text.source import Log, SourceText, escape

_Atom = str | bool | int | Fraction
_Token = TypeVar("_Token")

MANY: int = 10**30
"""Stands for this many words and any greater number."""


def read_word(text: str) -> tuple[_Atom, ...]:
    """Return an input or output from text: a JSON list of at least one value, or else a token per character.

    In the list, a number with a decimal point is a float, and so is the text ``"1/3"`` where it is compared with one.
    """
    if text.startswith("["):
        try:
            found = json.loads(text, parse_float=Fraction)
        except ValueError:
            found = None
        if isinstance(found, list) and found and all(isinstance(v, _Atom) for v in found):
            return tuple(found)
    return tuple(text)


def read_alphabet(text: str) -> tuple[_Atom, ...]:
    """Return the tokens of an alphabet from text, as `read_word` does: a blank is a token, but not around a JSON list."""
    stripped = text.strip()
    tokens = read_word(stripped)
    return tuple(text) if tokens == tuple(stripped) else tokens


def broken_list(text: str) -> bool:
    """Return whether a text begins like a JSON list of texts, and is invalid as one."""
    return text.startswith("[") and '"' in text and read_word(text) == tuple(text)


def written(word: Sequence[_Atom]) -> str:
    """Return a word as `read_word` reads it: plain text where every token is one character, otherwise a JSON list."""
    if all(isinstance(token, str) and len(token) == 1 for token in word) and tuple(word[:1]) != ("[",):
        return "".join(map(str, word))
    return json.dumps([_plain(token) for token in word], ensure_ascii=False)


@dataclass(frozen=True, kw_only=True)
class InputSpace:
    """The inputs of a program: words over letters.

    Args:
        letters: a character for each token, which stands for it while words are drawn.
        shortest: the fewest letters of an input.
        length: the number of letters of every input; None: an input has any number of them, from `shortest` on.
        read: an input as people write it -> the same in one form. Raises InputError.
        written: a word over the letters -> the input in that form.
    """

    letters: tuple[str, ...]
    shortest: int
    length: int | None = None
    read: Callable[[str], str]
    written: Callable[[str], str] = str


def token_words(alphabet: Sequence[_Atom], tokens_of: Callable[[str], Sequence[_Atom]]) -> InputSpace:
    """Return the inputs that are words of one token or more over an alphabet, see `written`.

    Args:
        tokens_of: an input as people write it -> its tokens. Raises InputError.
    """
    # tokens may have several characters: characters of no script stand for them
    stands = {chr(0xF0000 + i): token for i, token in enumerate(alphabet)}
    return InputSpace(
        letters=tuple(stands),
        shortest=1,
        read=lambda text: written(tokens_of(text)),
        written=lambda word: written([stands[letter] for letter in word]),
    )


def number_of(symbols: int, shortest: int, longest: int) -> int:
    """Return the number of words with these lengths over this many symbols, or `MANY` if there are very many."""
    if symbols < 2:
        return longest - shortest + 1 if symbols else int(shortest == 0)
    return MANY if longest > 100 else sum(symbols**length for length in range(shortest, longest + 1))


def applied(name: str, word: str) -> str:
    """Return ``name(word)``, where a word with round brackets in it is in quotes."""
    return f"{name}({word!r})" if {"(", ")"} & {*word} else f"{name}({word})"


def shown_word(word: Sequence[_Atom]) -> str:
    """Return a word as complaints have it, in quotes where it is plain text."""
    text = written(word)
    return visible(text if text.startswith("[") else repr(text))


def _plain(token: _Atom) -> str | float:
    if isinstance(token, Fraction):
        return token.numerator / token.denominator if token.denominator & (token.denominator - 1) == 0 else str(token)
    return token


def alphabet_of(given: object, shown: Callable[[_Atom], str] = str) -> tuple[_Atom, ...]:
    """Return the tokens that are given as ``abc``, as a JSON list ``["a", "bc", 3]``, or as a sequence of them.

    Args:
        given: the text or list of tokens.
        shown: a token as text.

    Raises:
        CompileError: if there are none, a token is there twice, or two look the same.
    """
    tokens = read_alphabet(given) if isinstance(given, str) else given
    if isinstance(given, str) and broken_list(given.strip()):
        raise CompileError(f'the alphabet {given.strip()!r} is not a JSON list: write for example ["a", "bc", 3]')
    if not isinstance(tokens, list | tuple | range) or not all(isinstance(t, _Atom) for t in tokens):
        raise CompileError(f"the alphabet must be tokens, not {given!r}: use for example abc, or ['a', 'bc', 3]")
    texts = [shown(token) for token in tokens]
    if not texts:
        raise CompileError("the alphabet is empty: use for example --alphabet abc")
    twice = next((text for n, text in enumerate(texts) if text in texts[:n]), None)
    if twice is not None:
        raise CompileError(f"the alphabet has the token {twice!r} twice: list each token once")
    return tuple(tokens)


def listed(tokens: Sequence[str], most: int = 12) -> str:
    """Return ``a, b, c, …``: tokens as complaints list them."""
    return ", ".join(map(visible, tokens[:most])) + (", …" if len(tokens) > most else "")


def tokens_in(word: str, vocabulary: Sequence[str]) -> Sequence[str]:
    """Return the tokens of a JSON list, or the characters of another text. Raises InputError for other tokens."""
    found = read_word(word)
    if found != tuple(word):
        return tuple(map(str, found))
    if word and not any(len(token) == 1 for token in vocabulary):
        what = f"{word!r}: these weights have no tokens of one character, but {listed(vocabulary)}"
        raise InputError(f"{what}: give a JSON list of them, such as {written(vocabulary[:2])!r}")
    return word


LONGEST_SHOWN = 60
"""Characters of a word, or of its outcome: of a longer one the beginning and the end are shown."""


def cut(text: str) -> str:
    """Return a word or an outcome on a line, of a long one the beginning and the end."""
    half = LONGEST_SHOWN // 2 - 1
    return visible(text if len(text) <= LONGEST_SHOWN else f"{text[:half]} … {text[-half:]}")


def listed_word(word: str) -> str:
    """Return an input for a list: ε for the empty one, in quotes where its characters would be taken for the list's."""
    return cut(repr(word) if {*word} & {*", ε"} and word[0] != "[" else word or "ε")


def joined(values: Sequence[str], *, numbers: bool = False) -> str:
    """Return values on one line: one after the other where each is one character, otherwise, or if they are numbers,
    separated by spaces.
    """
    return (" " if numbers or any(len(value) != 1 for value in values) else "").join(values)


def all_words(alphabet: Sequence[_Token], length: int) -> Iterator[tuple[_Token, ...]]:
    """Yield every word of this length, in the order of the alphabet."""
    return product(alphabet, repeat=length)


BATCH = 256
"""The number of words of one length that are evaluated at once."""


def by_length(words: Sequence[Sequence[object]]) -> Iterator[list[int]]:
    """Yield the numbers of words of one length, at most `BATCH` at a time."""
    lengths: dict[int, list[int]] = {}
    for number, word in enumerate(words):
        lengths.setdefault(len(word), []).append(number)
    for some in lengths.values():
        for start in range(0, len(some), BATCH):
            yield some[start : start + BATCH]


FEW, LONGEST_SHORT = 8, 3
"""The most inputs to try where a program has no examples, and the most symbols in one."""


def short_words(alphabet: Iterable[_Token]) -> Iterator[tuple[_Token, ...]]:
    """Yield words of 1 to `LONGEST_SHORT` of the first `FEW` symbols, the short ones first."""
    some = tuple(islice(alphabet, FEW))
    for length in range(1, LONGEST_SHORT + 1):
        yield from all_words(some, length)


def words_to_try(examples: Iterable[Sequence[_Atom]], alphabet: Sequence[_Atom]) -> list[str]:
    """Return the examples that are over the alphabet, as people write them; if there are none, a few short words."""
    known = set(alphabet)
    own = [written(word) for word in examples if set(word) <= known]
    return own or list(islice(map(written, short_words(alphabet)), FEW))


# ── Text -> YAML that every reader reads alike: unquoted only where no version of YAML would take it for something else.
_PLAIN = re.compile("[A-Za-z][A-Za-z0-9_-]*|_|[0-9]")
_TAKEN = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})


def scalar(text: str) -> str:
    """Return `text` as YAML, unquoted if it cannot be misread, otherwise in quotes."""
    if _PLAIN.fullmatch(text) and text.lower() not in _TAKEN:
        return text
    if text.isprintable():
        return "'" + text.replace("'", "''") + "'"
    return '"' + "".join(a if a.isprintable() and a not in '"\\' else escape(a) for a in text) + '"'


def flow_list(texts: Iterable[str]) -> str:
    """Return texts as a list in brackets."""
    return f"[{', '.join(map(scalar, texts))}]"


def paragraph(text: str) -> str:
    """Return a long text as a block, of wrapped lines or of its own, where that preserves every character."""
    wrapped = textwrap.wrap(text, 96, break_long_words=False, break_on_hyphens=False)
    if len(wrapped) > 1 and text.isprintable() and " ".join(wrapped) == text:
        return "\n  ".join([">-", *wrapped])
    lines = text.removesuffix("\n").split("\n")
    simple = all(line.isprintable() for line in lines) and lines[0][:1].strip() and lines[-1].strip()
    if len(lines) == 1 or not simple:
        return scalar(text)
    return "\n  ".join(["|" if text.endswith("\n") else "|-", *lines])


# ── comments at the beginning of a program, # title: one line, read without a grammar ───────────────────────
_LINE = re.compile(r"[ \t]*#[ \t]*([A-Za-z][A-Za-z-]*)[ \t]*:[ \t]?(.*)")


def header_lines(source: SourceText, known: Collection[str] = ()) -> Iterator[tuple[int, str, str]]:
    """Yield line number (from 0), word and text of each header; headers precede the first line that is not a comment.

    Args:
        known: the words of headers; empty: any word.
    """
    for number, line in enumerate(source.lines):
        if line.strip() and not line.strip().startswith("#"):
            return
        match = _LINE.fullmatch(line)
        if match is not None and (not known or match[1] in known):
            yield number, match[1], match[2]


def title_in(text: str) -> str:
    """Return the title of a program, by its header alone: nothing below the headers is read."""
    return next((found.strip() for _, kind, found in header_lines(SourceText(text, ""), ("title",)) if kind == "title"), "")


def header_alphabet(text: str, span: Span, log: Log) -> tuple[_Atom, ...]:
    """Return the tokens of the header ``alphabet``; a blank among them, which is hard to see, is warned of."""
    tokens, what = read_alphabet(text), "the alphabet has a blank, which is a token"
    if tokens == tuple(text) and any(map(str.isspace, text)) and not broken_list(text.strip()):
        log.add(span, what, 'remove it, or write a JSON list such as ["a", " "]', "warning")
    return tokens
