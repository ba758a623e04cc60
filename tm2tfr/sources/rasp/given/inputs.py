"""Inputs of a RASP program as people write them, and the tokens of its alphabet."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

from tm2tfr.errors import CompileError, InputError, did_you_mean, visible
from tm2tfr.sources.rasp.headers import read_word
from tm2tfr.sources.rasp.program import Program, Word, shown_atom
from tm2tfr.sources.rasp.sops import Atom


def word_of(program: Program, text: str) -> Word:
    """Return the tokens of an input: ``hello``, one token per character, or a JSON list, ``["a", 3]``.

    A token can be written as text where the alphabet has a number, ``12`` for 1 and 2.

    Raises:
        InputError: if it is empty, or has a token that is not in the alphabet.
    """
    if not text:
        raise InputError(f"{visible(program.name)}: the input is empty: give at least one token, {_for_example(program)}")
    by_text = {shown_atom(token): token for token in program.alphabet}
    found = []
    for i, token in enumerate(read_word(text)):
        shown = shown_atom(token)
        if shown not in by_text:
            what = f"{visible(program.name)}: token {i} of the input, {visible(repr(shown))}, is not in the alphabet"
            close = did_you_mean(shown, by_text)
            raise InputError(f"{what}{close}: use {_listed(program.alphabet)}, or compile it with another --alphabet")
        found.append(by_text[shown])
    return tuple(found)


def written(word: Sequence[Atom]) -> str:
    """Return an input as `word_of` reads it: plain text where every token is one character, otherwise a JSON list."""
    if all(isinstance(token, str) and len(token) == 1 for token in word) and word[0] != "[":
        return "".join(map(str, word))
    return json.dumps([_plain(token) for token in word], ensure_ascii=False)


def shown_word(word: Sequence[Atom]) -> str:
    """Return an input as complaints have it, in quotes where it is plain text."""
    text = written(word)
    return visible(text if text.startswith("[") else repr(text))


def _plain(token: Atom) -> Any:
    if isinstance(token, Fraction):
        return token.numerator / token.denominator if token.denominator & (token.denominator - 1) == 0 else str(token)
    return token


def alphabet_of(given: object) -> tuple[Atom, ...]:
    """Return the tokens that are given as ``abc``, as a JSON list ``["a", "bc", 3]``, or as a sequence of them.

    Raises:
        CompileError: if there are none, a token is there twice, or two look the same.
    """
    tokens = read_word(given.strip()) if isinstance(given, str) else given
    if not isinstance(tokens, list | tuple | range) or not all(isinstance(t, str | bool | int | Fraction) for t in tokens):
        raise CompileError(f"the alphabet must be tokens, not {given!r}: use for example abc, or ['a', 'bc', 3]")
    shown = list(map(shown_atom, tokens))
    if not shown:
        raise CompileError("the alphabet is empty: use for example --alphabet abc")
    twice = next((text for n, text in enumerate(shown) if text in shown[:n]), None)
    if twice is not None:
        raise CompileError(f"the alphabet has the token {twice!r} twice: list each token once")
    return tuple(tokens)


def own_word(program: Program) -> str:
    """Return the input when none is given: that of the first example, or the first tokens of the alphabet."""
    for example in program.examples:
        if example.sop == program.chosen and not example.error and set(example.input) <= set(program.alphabet):
            return written(example.input)
    return written(program.alphabet[:5]) if program.alphabet else ""


def all_words(alphabet: Sequence[Atom], length: int) -> Iterator[Word]:
    """Yield every input of this length, in the order of the alphabet."""
    return product(alphabet, repeat=length)


def _for_example(program: Program) -> str:
    own = own_word(program)
    return f"for example --input {own}" if own else "for example --input ab"


def _listed(alphabet: Sequence[Atom], most: int = 12) -> str:
    more = ", …" if len(alphabet) > most else ""
    return ", ".join(visible(shown_atom(token)) for token in alphabet[:most]) + more
