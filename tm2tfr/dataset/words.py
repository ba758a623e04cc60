"""The inputs of machines: words over an input alphabet, either listed, all up to a length, or random."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from tm2tfr.text.words import number_of

MOST_WORDS = 10_000_000
"""More inputs than this for one machine are refused: they are kept in memory."""


@dataclass(frozen=True)
class Random:
    """`count` different random words with lengths from `shortest` to `longest`, all lengths being equally likely."""

    count: int
    shortest: int
    longest: int
    seed: str


@dataclass(frozen=True)
class Inputs:
    """The inputs of each machine; `up_to` is the length up to which every word is taken, -1 for none."""

    words: tuple[str, ...] = ()
    up_to: int = -1
    random: tuple[Random, ...] = ()

    def number(self, symbols: int) -> int:
        """Return an upper bound on the number of words over this many symbols: some may be counted twice."""
        every = number_of(symbols, 0, self.up_to) if self.up_to >= 0 else 0
        return len(self.words) + every + sum(r.count for r in self.random)

    def over(self, alphabet: Sequence[str]) -> tuple[str, ...]:
        """Return the different words over an input alphabet, in the order listed, all, random."""
        return tuple(dict.fromkeys(self._each(alphabet)))

    def _each(self, alphabet: Sequence[str]) -> Iterator[str]:
        yield from self.words
        for length in range(self.up_to + 1 if alphabet else min(self.up_to, 0) + 1):
            yield from map("".join, product(alphabet, repeat=length))
        for source in self.random:
            yield from _drawn(source, alphabet)


def _drawn(source: Random, alphabet: Sequence[str]) -> Iterator[str]:
    """Yield different words; the reader has checked that there are enough."""
    chance, found = random.Random(f"{source.seed} over {''.join(alphabet)}"), set[str]()
    left = {n: number_of(len(alphabet), n, n) for n in range(source.shortest, source.longest + 1)}
    lengths = [n for n, number in left.items() if number]
    while len(found) < source.count:
        length = chance.choice(lengths)
        word = "".join(chance.choices(alphabet, k=length))
        if word in found:
            continue
        found.add(word)
        yield word
        left[length] -= 1
        if not left[length]:  # every word of this length has been drawn
            lengths.remove(length)
