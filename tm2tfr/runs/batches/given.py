"""What is fed in many runs: inputs, and whatever stands before and after them, as numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tm2tfr.engines.decode import prompted
from tm2tfr.errors import EngineError, InputError, Tm2tfrError, visible
from tm2tfr.runs.batches.right import WordsGiven
from tm2tfr.runs.batches.words import numbered, points_of
from tm2tfr.sources.circuit.inputs import read_input
from tm2tfr.sources.circuit.netlist import Circuit
from tm2tfr.sources.turing.truth import TuringTruth
from tm2tfr.transformer.matrix import Ints
from tm2tfr.transformer.weights import Decoder


class Prompts(NamedTuple):
    """What is fed in each run.

    Args:
        tokens, start: the prompts with BOS; that of run r is ``tokens[start[r] : start[r + 1]]``.
        size: (runs,) the tokens before BOS.
        words: of a machine its symbols.
    """

    tokens: NDArray[np.int32]
    start: Ints
    size: Ints
    words: WordsGiven


def of_machine(decoder: Decoder, truth: TuringTruth, words: Sequence[str]) -> Prompts:
    """Return words of a machine's input alphabet as they are fed.

    Raises:
        InputError, EngineError: for a word that is none, or has symbols that are not in the vocabulary: with its number.
    """
    machine, lead = truth.machine, truth.lead
    points, start = points_of(words)
    alphabet = machine.tape_alphabet
    symbols = numbered(points, alphabet)
    inside = np.isin(np.arange(-1, len(alphabet)), [alphabet.index(a) for a in machine.input_alphabet or ()])
    refuse_first(words, start, ~inside[symbols + 1], truth.on)
    fed = np.array([decoder.numbers.get(a, -1) for a in alphabet], dtype=np.int32)
    refuse_first(words, start, fed[symbols] < 0, lambda word: prompted(decoder, (*lead, *word)))
    leads = np.array([decoder.numbers.get(token, -1) for token in lead], dtype=np.int32)
    if (leads < 0).any() or (decoder.positions is not None and len(words)):
        prompted(decoder, (*lead, *max(words, key=len)))
    tokens, begin = _joined(decoder, fed[symbols], start, leads)
    runs = len(words)
    words_of = WordsGiven(symbols, start, np.tile(leads, runs), np.arange(runs + 1, dtype=np.int64) * len(leads))
    return Prompts(tokens, begin, np.diff(start) + len(leads), words_of)


def of_text(decoder: Decoder, words: Sequence[str]) -> Prompts:
    """Return words as they are fed to weights of which nothing is known: one token for each character.

    Raises:
        InputError, EngineError: see `of_machine`.
    """
    points, start = points_of(words)
    single = [token for token in decoder.vocabulary if len(token) == 1]
    fed = np.array([decoder.numbers[token] for token in single] + [-1], dtype=np.int32)[numbered(points, single)]
    refuse_first(words, start, fed < 0, lambda word: prompted(decoder, word))
    if len(words):
        for word in (min(words, key=len), max(words, key=len)):
            prompted(decoder, word)
    nothing = np.zeros(0, dtype=np.int32)
    tokens, begin = _joined(decoder, fed, start, nothing)
    return Prompts(tokens, begin, np.diff(start), WordsGiven(nothing, start, nothing, start))


def of_circuit(decoder: Decoder, circuit: Circuit, words: Sequence[str]) -> Prompts:
    """Return inputs of a circuit, as people write them, as they are fed: one token for each bit.

    Raises:
        InputError, EngineError: see `of_machine`.
    """
    inputs, bits = len(circuit.inputs), list(words)
    points_of(words)  # which refuses what is not text
    for n, word in enumerate(words):
        if len(word) != inputs or word.strip("01"):
            with of_input(n):
                bits[n] = read_input(circuit, word)
    found = of_text(decoder, bits)
    points, start = points_of(bits)
    nothing = np.zeros(0, dtype=np.int32)
    return found._replace(words=WordsGiven(points.astype(np.int32) - ord("0"), start, nothing, start))


@contextmanager
def of_input(number: int) -> Iterator[None]:
    """Put the number of an input in front of what is said of it."""
    try:
        yield
    except Tm2tfrError as error:
        kind = EngineError if isinstance(error, EngineError) else InputError
        raise kind(f"input {number} (counted from 0): {error}") from error


def refuse_first(words: Sequence[str], start: Ints, wrong: NDArray[np.bool_], refuse: Any) -> None:
    """Raise the error of `refuse` for the first word with a wrong character, with its number.

    Args:
        start: (words + 1,) where each word begins.
        wrong: (characters,)
    """
    if not wrong.any():
        return
    place = int(np.searchsorted(start, int(wrong.argmax()), side="right")) - 1
    with of_input(place):
        refuse(words[place])
    raise InputError(f"input {place} (counted from 0), {visible(words[place])}, is not an input: remove it")


def _joined(
    decoder: Decoder, fed: NDArray[np.int32], start: Ints, leads: NDArray[np.int32]
) -> tuple[NDArray[np.int32], Ints]:
    """Return the tokens of all prompts: `leads`, a word, BOS; and where each begins."""
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
