"""The meaning of each word for a temperature."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from statistics import linear_regression

import numpy as np
from numpy.typing import NDArray

from tm2tfr.base.choices import AUTO, LOCAL, NO_TEMPERATURE, PAPER, PER_POSITION, TEMPERATURES, THEOREM_26, Temperature
from tm2tfr.base.errors import CompileError
from tm2tfr.contract.blocks import ManyLabels
from tm2tfr.engines.decode import Engine
from tm2tfr.engines.dense import DenseDecoder
from tm2tfr.engines.reading import right_answers
from tm2tfr.transformer.provenance import Provenance, covered, is_softened, temperature, words_for_temperature
from tm2tfr.transformer.soft import (
    any_length,
    bounded,
    local_temperature,
    locally_softened,
    power_of_two,
    smallest_gap,
    softened,
    theorem_26,
)
from tm2tfr.transformer.tempered import as_printed, per_position
from tm2tfr.transformer.weights import Decoder


def softened_by(decoder: Decoder, temperature: float | Temperature, n: int) -> Decoder:
    """Return `decoder` with softmax attention.

    Args:
        temperature: ``local``: each head by its local bound; ``none``: by its bound for runs of any length;
            ``per-position``, ``paper``: by a function of the position, see `tm2tfr.transformer.tempered`; ``theorem-26``:
            the largest power of two that Theorem 26 guarantees; ``auto``: local bounds where every head that is not uniform
            has one, otherwise Theorem 26; or a number.
        n: the number of positions that the words are right for; any, where no local bound depends on it.

    Raises:
        CompileError: if there is no such temperature, and the reason; for weights that are already soft.
    """
    if temperature == AUTO:
        temperature = LOCAL if bounded(decoder) else THEOREM_26
    if temperature in (PER_POSITION, PAPER):
        return per_position(decoder) if temperature == PER_POSITION else as_printed(decoder)
    if temperature in (LOCAL, NO_TEMPERATURE):
        return locally_softened(decoder, None if temperature == NO_TEMPERATURE or any_length(decoder) else n)
    return softened(decoder, one_temperature(decoder, temperature, n))


def softened_as(decoder: Decoder, said: Provenance) -> Decoder:
    """Return `decoder` with the softmax that a provenance states, `decoder` itself if it states none.

    Raises:
        CompileError: see `softened_by`.
    """
    if not is_softened(said):
        return decoder
    word, number = (words_for_temperature(said) or "").partition(",")[0], temperature(said)
    return softened_by(decoder, parsed_word(word if number is None else number), covered(said) or 1)


def one_temperature(decoder: Decoder, temperature: float | Temperature, n: int) -> float:
    """Return the one temperature for all heads that `softened_by` stands for: of local bounds the worst head's.

    Raises:
        CompileError: if there is none: for ``none`` always, and for ``local`` where all heads are uniform.
    """
    if isinstance(temperature, float):
        return temperature
    if temperature in (NO_TEMPERATURE, PER_POSITION, PAPER):
        raise CompileError(
            f"the temperature {temperature!r} is not a number to measure at: use local, theorem-26, or a number"
        )
    if temperature == LOCAL or (temperature == AUTO and bounded(decoder)):
        if not isfinite(found := local_temperature(decoder, n)):
            raise CompileError("softmax changes nothing, since every head is uniform: give any number as the temperature")
        return found
    return power_of_two(theorem_26(decoder, n, smallest_gap(decoder, n)))


def parsed_word(temperature: object) -> float | Temperature:
    """Return a temperature that is given as a word or a number.

    Raises:
        CompileError: if it is neither.
    """
    for word in TEMPERATURES:
        if temperature == word:
            return word
    if isinstance(temperature, bool) or not isinstance(temperature, int | float):
        raise CompileError(f"{temperature!r} is not a temperature: use {', '.join(TEMPERATURES)}, or a positive number")
    return float(temperature)


# ── The largest temperature at which every token of a run is right, found by search, and how it shrinks with the length.
#
# At each temperature tried, the decoder with softmax is fed the average-hard run's tokens until it answers a wrong one:
# up to that position it would have generated the same. A run that is right at some temperature need not be right at every
# lower one; the search takes the largest power of two that is right together with the next `STREAK` below, and looks
# between it and the next above. Temperatures further up are not tried again.
HIGHEST, STREAK, HALVINGS = 10, 3, 5
"""The first power of two tried; the number that must be right; the halvings of the interval of a factor 2 afterwards."""


class Search:
    """The temperatures tried so far, each with the first position that goes wrong.

    Args:
        decoder: with average-hard attention.
        tokens, answers: its run.
    """

    def __init__(self, decoder: Decoder, tokens: Sequence[str], answers: Sequence[str], *, engine: Engine) -> None:
        self._decoder, self._engine = decoder, engine
        self._pairs = [(decoder.numbers[x], decoder.numbers[y]) for x, y in zip(tokens, answers, strict=True)]
        self._known: dict[float, int] = {}

    def first_wrong(self, power: float) -> int:
        """Return the first position with a wrong answer at the temperature ``2^power``; the run's length if none."""
        if power not in self._known:
            session = self._engine.start(softened(self._decoder, 2.0**power))
            wrong = (n for n, (x, y) in enumerate(self._pairs) if session.feed(x) != y)
            self._known[power] = next(wrong, len(self._pairs))
        return self._known[power]

    def largest(self, n: int, least: float) -> float | None:
        """Return the largest temperature found at which the first `n` positions are right; None: none above `least`."""
        return warmest(lambda power: self.first_wrong(power) >= n, least)


def warmest(right: Callable[[float], bool], least: float) -> float | None:
    """Return the largest temperature found at which a run is right; None: none above `least`.

    Args:
        right: whether the run is right at the temperature ``2^power``.
    """
    best: int | None = None
    for power in range(HIGHEST, math.floor(math.log2(least)) - 1, -1):
        if not right(power):
            best = None
            continue
        best = power if best is None else best
        if best - power == STREAK:
            break
    if best is None:
        return None
    low, high = float(best), float(best + 1)
    for _ in range(HALVINGS if best < HIGHEST else 0):
        middle = (low + high) / 2
        low, high = (middle, high) if right(middle) else (low, middle)
    return float(2.0**low)


class LargestFound:
    """The largest temperature found in runs of `positions` positions; `found` is None where no temperature was right."""

    positions: int
    found: float | None

    @property
    def unbounded(self) -> bool:
        """Whether even the first temperature tried was right, so that the largest is not known."""
        return self.found == 2.0**HIGHEST

    @property
    def known(self) -> bool:
        """Whether the largest temperature is known."""
        return self.found is not None and not self.unbounded

    def times(self, proved: float | None) -> float | None:
        """Return the ratio of needed and proven temperature; None if one of them is unknown."""
        return None if self.found is None or proved is None or self.unbounded else self.found / proved


@dataclass(frozen=True)
class Warmest(LargestFound):
    """At `positions` positions: the largest temperature found (None: none), and the one that Theorem 26 guarantees."""

    positions: int
    found: float | None
    guaranteed: float


def lengths(n: int, shortest: int = 8) -> list[int]:
    """Return the lengths at which a run of `n` positions is examined: n and its halves, from `shortest` on."""
    found = [n]
    while found[-1] // 2 >= shortest:
        found.append(found[-1] // 2)
    return found[::-1]


def exponent(points: Sequence[tuple[int, float]]) -> float | None:
    """Return the slope of log(1/τ) over log n for points (n, τ), by least squares; None for fewer than two lengths."""
    if len({n for n, _ in points}) < 2:
        return None
    x, y = [math.log(n) for n, _ in points], [-math.log(tau) for _, tau in points]
    return linear_regression(x, y).slope


def growth_exponent(growth: Iterable[LargestFound]) -> float | None:
    """Return the exponent of 1/τ, as found, in the number of positions; None for fewer than two lengths."""
    return exponent([(at.positions, at.found) for at in growth if at.found is not None and at.known])


# ── The temperature that a sequence model needs for words of one length, beside the proved ones, and how they grow.
LENGTHS = (4, 8, 16, 32, 64)
"""The lengths of words at which temperatures are compared."""
EVERY, SAMPLED = 4_096, 200
"""The most words of a length that are run: all words if there are no more, otherwise this many random ones."""
COLDEST = 2.0**-30
"""The least temperature tried where nothing is proved."""


@dataclass(frozen=True, kw_only=True)
class Needed(LargestFound):
    """The largest temperatures for words of one length.

    Args:
        length: of the words; `positions`: the number of tokens fed, with BOS and EOS.
        words: the number of words run; `every`: whether these are all.
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
    """Return the temperatures for some words of one length, as indices of their tokens in the alphabet: (words, n).

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


def growth(decoder: Decoder, labels: ManyLabels, lengths: Sequence[int] = LENGTHS) -> tuple[Needed, ...]:
    """Return the temperatures by length: on all words, or on `SAMPLED` random ones where there are more than `EVERY`.

    In weights that do not look ahead, a word with a wrong answer stays wrong however it continues: each length needs at
    least the bound of any shorter length. If the reference was undefined on some words, no bound is carried over.
    """
    found: list[Needed] = []
    for n in lengths:
        every = labels.letters**n <= EVERY
        words = all_words(labels.letters, n) if every else sampled_words(labels.letters, n, SAMPLED, seed=0)
        at = needed_at(decoder, labels, words, every=every)
        carried = at.words == len(words) and decoder.sequential
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


def sampled_words(letters: int, n: int, count: int, *, seed: int) -> NDArray[np.int64]:
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
