"""The labels of a decoder with outputs at every position, those that a model answers, and inputs to try a model on."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from tm2tfr.base.errors import InputError
from tm2tfr.contract.shown import PlainData
from tm2tfr.contract.source import ANY
from tm2tfr.targets.common.directory import Array
from tm2tfr.transformer.claims import sections
from tm2tfr.transformer.weights import Decoder

Told = tuple[Any, ...]
"""The answer of each output at one position: a label as text, or a number."""
EVERY, DRAWN = 128, 32
"""The most inputs on which a model is tried: all up to some length, and random ones of any length."""
LONGEST_DRAWN = 64
"""The longest random input."""
CLOSE = 2.0**-16
"""The tolerance for a number, relative to its size if that is more than 1: sums of floats round."""
FRAME = ("BOS", "EOS")
"""The tokens that words are between, of weights for words of any length that have such tokens, the first one at least."""


@dataclass(frozen=True)
class WordFrame:
    """The tokens around a word in the sequence that is fed: ``BOS w1 … wn``, or for an encoder ``BOS w1 … wn EOS``.

    Args:
        before, after: the tokens; none for weights that are fed the word as it is.
    """

    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.before)

    def around(self, tokens: Sequence[str]) -> tuple[str, ...]:
        """Return the tokens of a word as they are fed."""
        return (*self.before, *tokens, *self.after)

    @property
    def said(self) -> str:
        """The frame in words, for use after a number of tokens."""
        if not self.before:
            return ""
        return f", after {self.before[0]}" if not self.after else f", between {self.before[0]} and {self.after[0]}"

    @property
    def size(self) -> int:
        """The number of tokens in the frame."""
        return len(self.before) + len(self.after)


def frame_of(decoder: Decoder) -> WordFrame:
    """Return the frame of words: empty unless the first token of a labeller of any length is ``BOS``."""
    if not decoder.labeller or decoder.positions is not None or decoder.vocabulary[:1] != FRAME[:1]:
        return WordFrame()
    return WordFrame(FRAME[:1], FRAME[1:] if FRAME[1] in decoder.vocabulary else ())


def letters_of(decoder: Decoder) -> tuple[str, ...]:
    """Return the tokens that words are made of."""
    frame = frame_of(decoder)
    return tuple(token for token in decoder.vocabulary if token not in (*frame.before, *frame.after))


def tokens_of(word: str) -> tuple[str, ...]:
    """Return the tokens of an input as text: one per character, or those of a JSON list, ``["a", 3]``.

    Raises:
        InputError: for a list that has anything but texts, numbers and truth values.
    """
    if not word.startswith("["):
        return tuple(word)
    try:
        found = json.loads(word, parse_float=Fraction)
    except ValueError:
        return tuple(word)
    if not isinstance(found, list) or not all(isinstance(token, str | bool | int | Fraction) for token in found):
        raise InputError(f"{word}: a token is text, a number, true or false: write for example '[\"a\", 3]'")
    return tuple({True: "T", False: "F"}[token] if isinstance(token, bool) else str(token) for token in found)


def as_word(tokens: Sequence[str]) -> str:
    """Return tokens as an input: plain text where each is one character, otherwise a JSON list of texts."""
    if all(len(token) == 1 for token in tokens) and tokens[:1] != ("[",):
        return "".join(tokens)
    return json.dumps(list(tokens), ensure_ascii=False)


def spaced(word: str) -> str:
    """Return an input as a tokenizer takes it: plain text if each token is one character, otherwise with spaces."""
    tokens = tokens_of(word)
    return word if as_word(tokens) == word and not word.startswith("[") else " ".join(tokens)


def inputs(decoder: Decoder) -> Iterator[str]:
    """Yield the words on which a model is tried, always the same: all up to some length, random ones, the longest too.

    They are without what they are fed between, see `frame_of`.
    """
    tokens, longest = letters_of(decoder), min(decoder.positions or LONGEST_DRAWN, LONGEST_DRAWN)
    length, room = 1, EVERY - len(tokens)
    while length <= longest and room >= 0:
        yield from map(as_word, product(tokens, repeat=length))
        length += 1
        room -= len(tokens) ** length
    draw = random.Random(0)
    for n in range(DRAWN if length <= longest else 0):
        size = longest if n % 4 == 0 else draw.randint(length, longest)
        yield as_word(tuple(draw.choices(tokens, k=size)))


def fed(decoder: Decoder, word: str) -> str:
    """Return a word as weights are fed it, see `frame_of`."""
    frame = frame_of(decoder)
    return as_word(frame.around(tokens_of(word))) if frame else word


def longest_fed(decoder: Decoder, positions: int) -> list[str]:
    """Return inputs of exactly `positions` tokens, as they are fed: a random one, the first letter alone, and the last.

    The list is empty if `inputs` has inputs of this length. Where all letters are alike, counts are largest.
    """
    if decoder.positions is not None or positions <= LONGEST_DRAWN:
        return []
    frame, letters = frame_of(decoder), letters_of(decoder)
    size = positions - frame.size
    words = (
        random.Random(0).choices(letters, k=size),
        *([letter] * size for letter in dict.fromkeys((letters[0], letters[-1]))),
    )
    return [as_word(frame.around(word)) for word in words]


def read_labels(decoder: Decoder, logits: Array) -> list[Told]:
    """Return what logits, (n, answers), say: of each output with labels the first one of maximal logit, or the number.

    Logits that are fewer are those of the first outputs.
    """
    return [
        tuple(
            float(row[cut.start]) if output.labels is None else output.labels[int(np.argmax(row[cut]))]
            for output, cut in sections(decoder.outputs)
            if cut.stop <= len(row)
        )
        for row in np.asarray(logits)
    ]


def outputs_of(decoder: Decoder) -> list[PlainData]:
    """Return each output with its labels (none if it is a number) and the places of its logits, as plain data."""
    return [
        {
            "name": output.name,
            "labels": None if output.labels is None else list(output.labels),
            "logits": [cut.start, cut.stop],
        }
        for output, cut in sections(decoder.outputs)
    ]


def first_wrong(wanted: Sequence[Told], found: Sequence[Told]) -> tuple[int, int] | None:
    """Return the first position, and the number of the output there, at which labels differ; None if all agree."""
    for i, (want, have) in enumerate(zip(wanted, found, strict=True)):
        for k, (a, b) in enumerate(zip(want, have, strict=True)):
            if not _alike(a, b):
                return i, k
    return None


def _alike(want: Any, have: Any) -> bool:
    if want is ANY or isinstance(want, str) or not isinstance(have, float):
        return bool(want == have)
    return bool(abs(have - float(want)) <= CLOSE * max(1.0, abs(float(want))))  # a NaN is not
