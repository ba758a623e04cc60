"""The inputs on which the authors' interpreter is recorded: all short ones, then longer ones drawn with a fixed seed."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import product

from tests.sources.rasp.headers import Header, Token, Word

SHORT = 400
"""All inputs up to the length up to which there are no more than this many."""
LONG = 24
"""Longer ones."""


def inputs(header: Header) -> list[Word]:
    """Return the inputs of a program: its examples, the short ones, the long ones, none twice."""
    alphabet = header.alphabet
    drawn = random.Random(header.name)
    short = [word for n in range(1, longest(len(alphabet), SHORT) + 1) for word in product(alphabet, repeat=n)]
    long = [_meant(header.name, alphabet, drawn) for _ in range(LONG)]
    return list(dict.fromkeys([*(word for _, word, _ in header.examples), *short, *long]))


def longest(tokens: int, most: int) -> int:
    """Return the greatest length up to which there are at most `most` inputs of that many tokens."""
    length = 0
    while sum(tokens**n for n in range(1, length + 2)) <= most:
        length += 1
    return length


def all_inputs(alphabet: Word, most: int) -> Iterator[Word]:
    """Yield all inputs up to that length, the short ones first."""
    for length in range(1, longest(len(alphabet), most) + 1):
        yield from product(alphabet, repeat=length)


def _meant(name: str, alphabet: Word, drawn: random.Random) -> Word:
    """An input of the kind that a program is meant for: two numbers, nested brackets, a § in front."""
    length = drawn.randint(6, 14)
    if name.endswith("-addition"):
        digits = [token for token in alphabet if token != "+"]
        one, other = (drawn.choices(digits, k=drawn.randint(1, 6)) for _ in range(2))
        return (*one, "+", *other)
    if "dyck" in name:
        return _brackets(alphabet, length, drawn)
    if alphabet[0] == "§":
        return ("§", *drawn.choices(alphabet[1:], k=length))
    return tuple(drawn.choices(alphabet, k=length))


def _brackets(alphabet: Word, length: int, drawn: random.Random) -> Word:
    """A prefix of a properly nested word, in every second case with one token exchanged."""
    closing = dict(zip(alphabet[::2], alphabet[1::2], strict=True))
    stack: list[Token] = []
    word: list[Token] = []
    for _ in range(length):
        if stack and drawn.random() < 0.5:
            word.append(closing[stack.pop()])
        else:
            stack.append(drawn.choice(alphabet[::2]))
            word.append(stack[-1])
    if drawn.random() < 0.5:
        word[drawn.randrange(length)] = drawn.choice(alphabet)
    return tuple(word)
