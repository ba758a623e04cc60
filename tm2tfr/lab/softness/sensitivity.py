"""How far the logits at the last position move when one earlier symbol changes, by the length of the words."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from statistics import linear_regression

import numpy as np
from numpy.typing import NDArray

from tm2tfr.base.choices import Float
from tm2tfr.base.errors import InputError, counted
from tm2tfr.engines.dense import DenseDecoder
from tm2tfr.lab.softness.sensitivity_bound import WeightShare, is_mean, sensitivity_bound
from tm2tfr.lab.softness.temperature import all_words, sampled_words
from tm2tfr.transformer import provenance
from tm2tfr.transformer.claims import sections
from tm2tfr.transformer.matrix import Ints
from tm2tfr.transformer.positions import feature
from tm2tfr.transformer.soft import temperature_of
from tm2tfr.transformer.weights import Decoder, norms

EVERY, SAMPLED, PLACES = 1_024, 24, 32
"""The most words of a length of which all are run; otherwise the number of random ones, and of their changed symbols."""
SLACK = 1e-9
"""Numbers measured in floats may be larger than the bound by this share of the largest logit."""


# ── What words look like to the weights.
@dataclass(frozen=True)
class FedWords:
    """The words of one length, as the weights are fed them.

    Args:
        tokens: (positions,) a word's tokens, by their numbers; those of its symbols are replaced.
        places: (n,) the position of each symbol.
        letters: the number of each symbol's token.
        read: the position whose logits are compared: that of the last symbol, or the last one of a prompt.
    """

    tokens: Ints
    places: Ints
    letters: Ints
    read: int

    @property
    def changed(self) -> Ints:
        """The places of the symbols, in the word, that are changed: all but one at the position that is read."""
        return np.flatnonzero(self.places != self.read)

    def fed(self, words: NDArray[np.int64]) -> Ints:
        """Return the tokens of words, as indices of letters: (words, n) → (words, positions)."""
        found = np.repeat(self.tokens[None], len(words), axis=0)
        found[:, self.places] = self.letters[words]
        return found


def fed_words(prompts: Callable[[Sequence[int]], Sequence[int]], letters: int, n: int, *, last: bool) -> FedWords:
    """Return how words of `n` symbols are fed.

    Args:
        prompts: a word, as indices of its symbols among the letters → the numbers of the tokens fed.
        last: whether the position that is read is that of the last symbol, otherwise the last one that is fed.

    Raises:
        InputError: if symbols are not one token each, which no other symbol changes.
    """
    words = [[letter] * n for letter in range(letters)]
    rows = [np.array(prompts(word), dtype=np.int64) for word in words]
    if len({len(row) for row in rows}) == 1:
        every = np.stack(rows)
        places = np.flatnonzero((every != every[0]).any(axis=0))
        codes = every[:, places]
        if len(places) == n and (codes == codes[:, :1]).all() and len(set(codes[:, 0].tolist())) == letters:
            return FedWords(rows[0], places, codes[:, 0], int(places[-1]) if last else len(rows[0]) - 1)
    raise InputError("an input is not fed symbol by symbol, so no single symbol can be changed: measure another source")


# ── What is measured.
@dataclass(frozen=True, kw_only=True)
class AtLength:
    """How far logits move, at one length.

    Args:
        n: the symbols of a word; positions: of what is fed.
        words: the number of words run; every: whether these are all.
        changes: the number of compared pairs of words that differ in one symbol.
        mean, largest: of the largest difference of a logit in each pair.
        bound: what no pair can exceed.
    """

    n: int
    positions: int
    words: int
    every: bool
    changes: int
    mean: float
    largest: float
    bound: float


@dataclass(frozen=True, kw_only=True)
class AtSymbol:
    """How far logits move if one symbol of a word is replaced: the farthest by the symbol `by`, and at most by `bound`."""

    place: int
    symbol: str
    by: str
    largest: float
    bound: float


@dataclass(frozen=True)
class Premise:
    """An assumption of Hahn's lemma: None in `broken` if it holds, otherwise what breaks it."""

    assumption: str
    broken: str | None


@dataclass(frozen=True, kw_only=True)
class Sensitivity:
    """The measurements.

    Args:
        name, attention, dtype: of what was run.
        output: whose logits were compared: the first output's, which is the answer; None: those of the next token.
        word: the one word that was measured, if it is one.
        rows: by length, in order; of one word its own.
        symbols: of one word, by symbol.
        premises: the assumptions of Hahn's lemma.
        shares: at the greatest length, how much of its weight a head can give to one position.
    """

    name: str
    attention: str
    dtype: str
    output: str | None
    word: str | None
    rows: tuple[AtLength, ...]
    symbols: tuple[AtSymbol, ...]
    premises: tuple[Premise, ...]
    shares: tuple[WeightShare, ...]

    @property
    def holds(self) -> bool:
        """Whether nothing that was measured exceeds its bound."""
        pairs = [(row.largest, row.bound) for row in self.rows] + [(each.largest, each.bound) for each in self.symbols]
        return all(largest <= bound + SLACK * max(1.0, bound) for largest, bound in pairs)

    @property
    def exponent(self) -> float | None:
        """p, where the largest change grows like n^p; None for fewer than two lengths, or where nothing changes."""
        return _exponent([(row.n, row.largest) for row in self.rows])

    @property
    def bound_exponent(self) -> float | None:
        """p, where the bound grows like n^p."""
        return _exponent([(row.n, row.bound) for row in self.rows])

    def as_dict(self) -> dict[str, object]:
        """Return all of it as plain data."""
        return {**asdict(self), "holds": self.holds, "exponent": self.exponent, "bound_exponent": self.bound_exponent}


def _exponent(points: Sequence[tuple[int, float]]) -> float | None:
    kept = [(math.log(n), math.log(value)) for n, value in points if value > 0]
    return linear_regression(*zip(*kept, strict=True)).slope if len(kept) > 1 else None


def of_lengths(
    decoder: Decoder, words_of: Callable[[int], FedWords], lengths: Iterable[int], *, dtype: Float, seed: int
) -> tuple[tuple[AtLength, ...], tuple[WeightShare, ...]]:
    """Return the measurements at each length, and the shares of heads at the last one.

    Raises:
        EngineError: if the dense engine cannot run the weights.
        CompileError: see `sensitivity_bound`.
    """
    dense, rows, shares = DenseDecoder(decoder, dtype), list[AtLength](), tuple[WeightShare, ...]()
    for n in lengths:
        fed = words_of(n)
        letters = len(fed.letters)
        every = letters**n <= EVERY
        words = all_words(letters, n) if every else sampled_words(letters, n, SAMPLED, seed=seed)
        places = fed.changed if every else _some(fed.changed)
        apart = np.concatenate([_moved(dense, fed, words, place, every=every, seed=seed) for place in places])
        bound, shares = _bound(decoder, fed, places)
        rows.append(_at_length(fed, apart, bound, words=len(words), every=every))
    return tuple(rows), shares


def of_word(
    decoder: Decoder, fed: FedWords, word: Sequence[int], shown: Sequence[str], *, dtype: Float
) -> tuple[AtLength, tuple[AtSymbol, ...], tuple[WeightShare, ...]]:
    """Return how far each symbol of one word moves the logits; word: places of its symbols among the letters, `shown`."""
    dense, own = DenseDecoder(decoder, dtype), np.array(word, dtype=np.int64)
    places = fed.changed
    bound, shares = _bound(decoder, fed, places)
    others = [[letter for letter in range(len(fed.letters)) if letter != own[place]] for place in places]
    words = np.array([own, *(_with(own, p, letter) for p, row in zip(places, others, strict=True) for letter in row)])
    logits = _logits(dense, fed, words)
    apart = np.abs(logits[:, 1:] - logits[:, :1]).max(axis=0).reshape(len(places), -1)
    symbols = tuple(
        AtSymbol(
            place=int(place) + 1,
            symbol=shown[own[place]],
            by=shown[others[k][int(apart[k].argmax())]],
            largest=float(apart[k].max()),
            bound=float(bound[k]),
        )
        for k, place in enumerate(places)
    )
    return _at_length(fed, apart, bound, words=1, every=False), symbols, shares


def _at_length(
    fed: FedWords, apart: NDArray[np.float64], bound: NDArray[np.float64], *, words: int, every: bool
) -> AtLength:
    """Return the measurements at a length: `apart` has how far logits move in each pair of words."""
    return AtLength(
        n=len(fed.places),
        positions=len(fed.tokens),
        words=words,
        every=every,
        changes=apart.size,
        mean=float(apart.mean()),
        largest=float(apart.max()),
        bound=float(bound.max()),
    )


def _some(places: Ints) -> Ints:
    """Return at most `PLACES` of the places, evenly spaced, with the first and the last."""
    return places[np.unique(np.linspace(0, len(places) - 1, PLACES).round().astype(np.int64))]


def _with(word: Ints, place: int, letter: int) -> Ints:
    changed = word.copy()
    changed[place] = letter
    return changed


def _moved(dense: DenseDecoder, fed: FedWords, words: Ints, place: int, *, every: bool, seed: int) -> NDArray[np.float64]:
    """Return how far logits move in each pair of words that differ at a place: (pairs,)."""
    letters = len(fed.letters)
    if every:  # each pair once
        steps = list(range(1, letters))
        words = words[words[:, place] == 0] if letters == 2 else words
    else:
        steps = [int(np.random.default_rng([seed, place]).integers(1, letters))]
    before = _logits(dense, fed, words)
    found = []
    for step in steps:
        changed = words.copy()
        changed[:, place] = (words[:, place] + step) % letters
        found.append(np.abs(_logits(dense, fed, changed) - before).max(axis=0))
    return np.concatenate(found)


def _logits(dense: DenseDecoder, fed: FedWords, words: Ints) -> NDArray[np.float64]:
    """Return the logits of the first output at the position that is read: (answers, words)."""
    answer = answer_of(dense.decoder)[1]
    blocks = [block.logits[answer, :, fed.read] for block in dense.blocks(fed.fed(words))]
    return np.concatenate(blocks, axis=1).astype(np.float64)


def _bound(decoder: Decoder, fed: FedWords, places: Ints) -> tuple[NDArray[np.float64], tuple[WeightShare, ...]]:
    """Return the bound for each place that is changed, and the shares of heads."""
    allowed = np.zeros((len(decoder.vocabulary), len(fed.tokens)), dtype=np.bool_)
    allowed[fed.tokens, np.arange(len(fed.tokens))] = True
    allowed[np.ix_(fed.letters, fed.places)] = True
    found = sensitivity_bound(decoder, allowed, fed.places[places].tolist())
    return found.logits[answer_of(decoder)[1], :, fed.read].max(axis=0), found.shares


def answer_of(decoder: Decoder) -> tuple[str | None, slice]:
    """Return the name of the first output of a sequence model, and its rows of the unembedding; otherwise all of them."""
    first = next(sections(decoder.outputs), None)
    return (None, slice(None)) if first is None else (first[0].name, first[1])


# ── The assumptions of the lemma.
_FAR = (10**3, 10**6)


def premises(decoder: Decoder) -> tuple[Premise, ...]:
    """Return the four assumptions of Hahn's lemma 5, as Yang et al. list them, and what of the weights breaks each."""
    heads = [head for layer in decoder.layers for head in layer.heads]
    hard = [head for head in heads if head.weighting != "softmax" and not is_mean(head)]
    of_n: list[str] = []
    if decoder.position_table is not None:
        of_n.append(f"a position table of {counted(decoder.positions or 0, 'position')}")
    if decoder.tempered:
        of_n.append("a temperature that depends on the position or the length")
    elif (most := provenance.covered(decoder.provenance)) is not None:
        of_n.append(f"a temperature for at most {most:,} positions")
    steep = [name for name, _ in norms(decoder)] if any(norm.epsilon == 0 for _, norm in norms(decoder)) else []
    near, far = _FAR
    used = {decoder.features[c] for c in decoder.position_embedding.columns.tolist()}
    grows = [
        name for name in decoder.features if name in used and feature(name).largest(far) > 2 * feature(name).largest(near)
    ]
    return (
        Premise("softmax attention", f"{counted(len(hard), 'head')} with hard attention" if hard else None),
        Premise("parameters that do not depend on n", "; ".join(of_n) or None),
        Premise("Lipschitz-continuous layers", f"layer norms with ε = 0: {len(steep)}" if steep else None),
        Premise("bounded position features", ", ".join(grows) or None),
    )


def attention_of(decoder: Decoder) -> str:
    """Return the attention of weights in a few words."""
    kinds = sorted({head.weighting for layer in decoder.layers for head in layer.heads if not is_mean(head)})
    if not kinds:
        return "uniform attention"
    said = temperature_of(decoder)
    known = "" if said is None or not decoder.soft else f" at temperature {said if isinstance(said, str) else f'{said:g}'}"
    return f"{' and '.join(kinds)} attention{known}"
