"""What is fed in many runs: inputs, and whatever stands before and after them, as numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tm2tfr.base.errors import EngineError, InputError, Tm2tfrError, visible
from tm2tfr.contract.blocks import BlockReference, CodedTexts, ManyLabels, WordsGiven, numbered, points_of
from tm2tfr.engines.decode import prompted
from tm2tfr.transformer.matrix import Ints
from tm2tfr.transformer.weights import Decoder


class Prompts(NamedTuple):
    """What is fed in each run.

    Args:
        tokens, start: the prompts with BOS; that of run r is ``tokens[start[r] : start[r + 1]]``.
        size: (runs,) the tokens before BOS.
        words: the inputs, as the reference takes them; empty without one.
    """

    tokens: NDArray[np.int32]
    start: Ints
    size: Ints
    words: WordsGiven


def of_program(decoder: Decoder, blocks: BlockReference, words: Sequence[str]) -> Prompts:
    """Return inputs of a program that generates, as people write them, as they are fed.

    Raises:
        InputError, EngineError: for an invalid input, or symbols that are not in the vocabulary: with its number.
    """
    symbols, start = numbers_of(words, blocks.letters, blocks.read, size=blocks.size)
    names = {number: name for name, number in blocks.letters.items()}
    fed = np.full(max(names, default=-1) + 1, -1, dtype=np.int32)
    fed[list(names)] = [decoder.numbers.get(name, -1) for name in names.values()]
    leads = np.array([decoder.numbers.get(token, -1) for token in blocks.lead], dtype=np.int32)
    sizes = np.diff(start)

    def refuse(n: int) -> None:
        prompted(decoder, (*blocks.lead, *(names[number] for number in symbols[start[n] : start[n + 1]].tolist())))

    of_words = fed.take(symbols)
    if (fed[list(names)] < 0).any():
        refuse_first(words, start, of_words < 0, refuse)
    if len(words):
        for n in {int(sizes.argmin()), int(sizes.argmax())}:
            refuse(n)
    tokens, begin = _joined(decoder, of_words, start, leads)
    runs = len(words)
    given = WordsGiven(symbols, start, np.tile(leads, runs), np.arange(runs + 1, dtype=np.int64) * len(leads))
    return Prompts(tokens, begin, sizes + len(leads), given)


def of_text(decoder: Decoder, words: Sequence[str]) -> Prompts:
    """Return words as they are fed to weights of which nothing is known: one token for each character.

    Raises:
        InputError, EngineError: see `of_program`.
    """
    points, start = points_of(words)
    single = [token for token in decoder.vocabulary if len(token) == 1]
    fed = np.array([decoder.numbers[token] for token in single] + [-1], dtype=np.int32)[numbered(points, single)]
    refuse_first(words, start, fed < 0, lambda n: prompted(decoder, words[n]))
    if len(words):
        for word in (min(words, key=len), max(words, key=len)):
            prompted(decoder, word)
    nothing = np.zeros(0, dtype=np.int32)
    tokens, begin = _joined(decoder, fed, start, nothing)
    return Prompts(tokens, begin, np.diff(start), WordsGiven(nothing, start, nothing, start))


def of_labeller(labels: ManyLabels, words: Sequence[str]) -> tuple[NDArray[np.int32], Ints]:
    """Return words, as people write them, as places of their tokens in the alphabet, see `numbers_of`."""
    alone = {labels.written([place]): place for place in range(labels.letters)}
    letters = {text: place for text, place in alone.items() if len(text) == 1 and text != "["}  # which begins a list
    return numbers_of(words, letters, labels.read, least=1)


def numbers_of(
    words: Sequence[str],
    letters: Mapping[str, int],
    read: Callable[[str], Sequence[int]],
    *,
    size: int | None = None,
    least: int = 0,
) -> tuple[NDArray[np.int32], Ints]:
    """Return the numbers of the symbols of all words, and where each word begins: (symbols,), (words + 1,).

    Args:
        letters: the symbols of one character, by their numbers: a word of these alone is read at once.
        read: returns the numbers of any other word, or raises InputError.
        size, least: words with exactly `size` symbols, if it is given, and at least `least` are read at once.

    Raises:
        InputError: for a word that is not an input, with its number.
    """
    if isinstance(words, CodedTexts):
        return words.cells, words.offsets
    points, start = points_of(words)
    places = np.array([*letters.values(), -1], dtype=np.int32)[numbered(points, tuple(letters))]
    if size is None and not least and not (places < 0).any():
        return places, start
    sizes = np.diff(start)
    odd = (sizes < least) | ((sizes != size) & (size is not None))
    odd[np.searchsorted(start, np.flatnonzero(places < 0), side="right") - 1] = True
    if not odd.any():
        return places, start
    parts = np.split(places, start[1:-1])
    for n in np.flatnonzero(odd).tolist():
        with of_input(n):
            parts[n] = np.array(read(words[n]), dtype=np.int32)
    begin = np.concatenate([[0], np.cumsum([len(part) for part in parts])]).astype(np.int64)
    return np.concatenate(parts), begin


@contextmanager
def of_input(number: int) -> Iterator[None]:
    """Put the number of an input in front of messages about it."""
    try:
        yield
    except Tm2tfrError as error:
        kind = EngineError if isinstance(error, EngineError) else InputError
        raise kind(f"input {number} (counted from 0): {error}") from error


def refuse_first(words: Sequence[str], start: Ints, wrong: NDArray[np.bool_], refuse: Callable[[int], object]) -> None:
    """Raise the error of `refuse` for the first word with a wrong symbol, with its number.

    Args:
        start: (words + 1,) where each word begins.
        wrong: (symbols,)
    """
    if not wrong.any():
        return
    place = int(np.searchsorted(start, int(wrong.argmax()), side="right")) - 1
    with of_input(place):
        refuse(place)
    raise InputError(f"input {place} (counted from 0), {visible(words[place])}, is not an input: remove it")


def fed_tokens(given: NDArray[np.int32], start: Ints, offsets: Ints, answers: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the token that is fed at each row, (rows,): the prompts, then the answers.

    Args:
        given, start: the prompts: that of run r is ``given[start[r] : start[r + 1]]``.
        offsets, answers: the rows, see `tm2tfr.contract.blocks.FoundRows`.
    """
    tokens = np.empty(len(answers), dtype=np.int32)
    tokens[1:] = answers[:-1]
    sizes = np.minimum(np.diff(start), np.diff(offsets))
    before = np.cumsum(sizes) - sizes
    within = np.arange(int(sizes.sum()), dtype=np.int64)
    tokens[within + np.repeat(offsets[:-1] - before, sizes)] = given[within + np.repeat(start[:-1] - before, sizes)]
    return tokens


def _joined(
    decoder: Decoder, fed: NDArray[np.int32], start: Ints, leads: NDArray[np.int32]
) -> tuple[NDArray[np.int32], Ints]:
    """Return the tokens of all prompts: `leads`, a word, BOS; and where each begins."""
    if not len(leads) and decoder.bos is None:
        return fed, start
    sizes = np.diff(start)
    end = 0 if decoder.bos is None else 1
    begin = np.zeros(len(start), dtype=np.int64)
    np.cumsum(sizes + len(leads) + end, out=begin[1:])
    tokens = np.empty(int(begin[-1]), dtype=np.int32)
    if decoder.bos is not None:
        tokens[begin[1:] - 1] = decoder.numbers[decoder.bos]
    for n, token in enumerate(leads.tolist()):
        tokens[begin[:-1] + n] = token
    tokens[np.arange(len(fed)) + np.repeat(begin[:-1] + len(leads) - start[:-1], sizes)] = fed
    return tokens, begin
