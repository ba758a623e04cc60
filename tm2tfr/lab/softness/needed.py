"""The temperature that a labeller needs on many words of one length, beside those that are proved, and how they grow.

What is right is said by a reference, for every output at every position. The temperature is one for all heads, so that it
can be compared with the bounds: it is the largest found at which all words are right, see `warmest`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isfinite

import numpy as np
from numpy.typing import NDArray

from tm2tfr.base.errors import CompileError
from tm2tfr.contract.blocks import ManyLabels
from tm2tfr.engines.dense import DenseDecoder
from tm2tfr.engines.reading import right_answers
from tm2tfr.lab.softness.temperature import LargestFound, exponent, warmest
from tm2tfr.transformer.soft import bounded, local_temperature, smallest_gap, softened, theorem_26
from tm2tfr.transformer.weights import Decoder

LENGTHS = (4, 8, 16, 32, 64)
"""The lengths of words at which temperatures are compared."""
EVERY, SAMPLED = 4_096, 200
"""All words of a length are run where there are at most so many; otherwise so many random ones."""
COLDEST = 2.0**-30
"""The least temperature tried where nothing is proved."""


@dataclass(frozen=True, kw_only=True)
class Needed(LargestFound):
    """The largest temperatures for words of one length.

    Args:
        length: of the words; `positions`: of what is fed, with BOS and EOS.
        words: how many were run; `every`: whether that is all there are.
        found: the largest τ found at which all outputs of all of them are right; None: none of those tried.
        local: the τ of the local bounds; None: some head has none.
        theorem: the τ of Theorem 26; None: it guarantees none in floats.
    """

    length: int
    positions: int
    words: int
    every: bool
    found: float | None
    local: float | None
    theorem: float | None


def needed_at(decoder: Decoder, labels: ManyLabels, words: NDArray[np.int64], *, every: bool) -> Needed:
    """Return the temperatures for some words of one length, as places of their tokens in the alphabet: (words, n).

    Raises:
        CompileError: if the weights are already soft.
        EngineError: if the dense engine cannot run them.
    """
    defined, wanted = labels(words)
    tokens = labels.fed(words[defined])
    positions = tokens.shape[1]
    theorem = _theorem(decoder, positions)
    local = local_temperature(decoder, positions) if bounded(decoder) else None

    def right(power: float) -> bool:
        soft = softened(decoder, 2.0**power)
        blocks = DenseDecoder(soft).blocks(tokens)
        return all(right_answers(soft, block.logits, wanted[:, block.sequences]).all() for block in blocks)

    least = max(COLDEST, min(COLDEST if theorem is None else theorem, 1.0))
    return Needed(
        length=words.shape[1],
        positions=positions,
        words=len(tokens),
        every=every,
        found=warmest(right, least) if len(tokens) else None,
        local=local,
        theorem=theorem,
    )


def growth(decoder: Decoder, labels: ManyLabels, lengths: Sequence[int] = LENGTHS, *, seed: int = 0) -> tuple[Needed, ...]:
    """Return the temperatures by length: on all words, or on `SAMPLED` random ones where there are more than `EVERY`.

    Of weights that do not look ahead, a word that goes wrong goes wrong however it continues: they need at each length what
    they need at any shorter one. Where what is right was undefined on some of the words, nothing is carried over.
    """
    found: list[Needed] = []
    for n in lengths:
        every = labels.letters**n <= EVERY
        words = all_words(labels.letters, n) if every else sampled_words(labels.letters, n, SAMPLED, seed)
        at = needed_at(decoder, labels, words, every=every)
        carried = at.words == len(words) and not decoder.looks_ahead
        shorter = [each.found for each in found if each.length < n] if carried else []
        found.append(replace(at, found=_colder([at.found, *shorter])))
    return tuple(found)


def _colder(found: Sequence[float | None]) -> float | None:
    """Return the least of the temperatures at one length, the first one, and at shorter ones where one was found."""
    first, *shorter = found
    return None if first is None else min([first, *(each for each in shorter if each is not None)])


def local_exponent(found: Sequence[Needed]) -> float | None:
    """Return the exponent of the local bound on 1/τ over the same lengths."""
    return exponent([(at.positions, at.local) for at in found if at.local is not None and isfinite(at.local)])


def all_words(letters: int, n: int) -> NDArray[np.int64]:
    """Return all words of one length: (words, n)."""
    powers = np.array([letters ** (n - 1 - i) for i in range(n)], dtype=np.int64)
    return np.arange(letters**n)[:, None] // powers % letters


def sampled_words(letters: int, n: int, count: int, seed: int) -> NDArray[np.int64]:
    """Return random words of one length: (count, n).

    Each has frequencies of its own, and a chance of its own that a letter is the one before, so that there are long runs of
    one letter, and words in which some letter is rare: those are the hard ones.
    """
    chance = np.random.default_rng(seed)
    words = np.empty((count, n), dtype=np.int64)
    for word in words:
        word[:] = chance.choice(letters, size=n, p=chance.dirichlet(np.full(letters, 0.5)))
        kept = chance.random(n) < chance.choice([0.0, 0.5, 0.9])
        for i in np.flatnonzero(kept[1:]) + 1:
            word[i] = word[i - 1]
    return words


def _theorem(decoder: Decoder, positions: int) -> float | None:
    try:
        return theorem_26(decoder, positions, smallest_gap(decoder, positions))
    except CompileError:
        return None
