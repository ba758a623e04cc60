"""A run of an automaton as it must be: its state after each token. No weights anywhere near.

Of weights made by way of a B-RASP program the levels of the cascade are outputs, too. What they have to be is what the
evaluator of B-RASP says of that program; the state and the verdict are the automaton's own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tm2tfr.base.errors import CompileError, visible
from tm2tfr.base.text.words import written
from tm2tfr.contract.shown import Examined
from tm2tfr.contract.source import BOTTOM, LabellerTruth
from tm2tfr.contract.specification import Specification
from tm2tfr.sources.automaton.automaton import ACCEPTS, STATE, Automaton, classes
from tm2tfr.sources.automaton.evaluate import accepts, run
from tm2tfr.sources.automaton.model import inner_labels, inner_truth, merges
from tm2tfr.sources.automaton.words import word_of
from tm2tfr.transformer.residual import Residual
from tm2tfr.transformer.weights import Decoder

BEFORE = "BOS"
"""The token before a word, of weights that have one."""
VERDICTS = ("reject", "accept")


@dataclass(frozen=True)
class AutomatonResult:
    """The run of an automaton on a word.

    Args:
        states: the state after each token.
        verdict: ``accept`` or ``reject``.
    """

    states: tuple[str, ...]
    verdict: str

    @property
    def outcome(self) -> str:
        """The verdict."""
        return self.verdict

    @property
    def said(self) -> str:
        """It, as people are told."""
        return f"{self.verdict}: the state after the word is {visible(self.states[-1])}"

    @property
    def shown(self) -> str:
        """The verdict."""
        return self.verdict

    @property
    def own(self) -> dict[str, list[str]]:
        """The fields beside the outcome, as plain data."""
        return {"states": list(self.states)}


def refuse(automaton: Automaton, decoder: Decoder) -> None:
    """Raise CompileError if weights do not answer by the outputs of an automaton."""
    if not {ACCEPTS, STATE} <= {output.name for output in decoder.outputs}:
        what = (
            f"{visible(automaton.name)}: these weights have no outputs {ACCEPTS!r} and {STATE!r}, by which automata answer"
        )
        raise CompileError(f"{what}: compile it again")


def symbols_of(automaton: Automaton, decoder: Decoder) -> dict[str, str]:
    """Return for each state the symbol that the weights' output `STATE` has for it."""
    if not merges(decoder):
        return dict(automaton.labels)
    return {state: automaton.labels[first] for state, first in classes(automaton).items()}


@dataclass(frozen=True)
class AutomatonTruth(LabellerTruth):
    """The right run of an automaton on a word.

    Args:
        decoder: the weights to compare with, of which only the names of outputs, claims, options, and whether the
            vocabulary has a BOS are read.

    Raises:
        InputError: if it is not a word over the automaton's alphabet.
    """

    automaton: Automaton
    input: str
    decoder: Decoder = field(repr=False)

    noun = "automaton"
    reference = "automaton"

    @property
    def name(self) -> str:
        """The name of the automaton."""
        return self.automaton.name

    @cached_property
    def word(self) -> tuple[str, ...]:
        """The tokens of the word."""
        return word_of(self.automaton, self.input)

    @cached_property
    def states(self) -> tuple[str, ...]:
        """The state after each token."""
        return run(self.automaton, self.word)[1:]

    @cached_property
    def prompt(self) -> tuple[str, ...]:
        """The tokens of the word, behind BOS if the weights have one."""
        return (*[BEFORE][: BEFORE in self.decoder.vocabulary], *self.word)

    @cached_property
    def values(self) -> dict[str, tuple[Any, ...]]:
        """The values of each output at every position of the prompt."""
        others = {ACCEPTS, STATE}.issuperset(output.name for output in self.decoder.outputs)
        found = {} if others else dict(inner_truth(self.automaton, self.input, self.decoder).values)
        symbols, good = symbols_of(self.automaton, self.decoder), set(self.automaton.accepting)
        before = len(self.prompt) - len(self.word)
        found[STATE] = (*[BOTTOM] * before, *(symbols[state] for state in self.states))
        found[ACCEPTS] = (*["F"] * before, *("T" if state in good else "F" for state in self.states))
        return found

    def refuse(self, layout: Residual) -> None:
        """Raise CompileError if the weights have no outputs to compare."""
        refuse(self.automaton, self.decoder)

    def result(self) -> AutomatonResult:
        """Return the states and the verdict."""
        return AutomatonResult(self.states, VERDICTS[self.states[-1] in self.automaton.accepting])

    def specification(self, upto: int) -> Specification:
        """Return what every subspace holds at every position, and where each head looks, by the program in between."""
        found: Specification = inner_truth(self.automaton, self.input, self.decoder).specification(upto)
        return found


# ── Many words at once, and the examples of its author.
class AutomatonLabels:
    """An automaton's values for a batch of words, see `tm2tfr.contract.blocks.ManyLabels`.

    Raises:
        CompileError: if these are weights for other tokens, or without the outputs of an automaton.
    """

    reference = AutomatonTruth.reference

    def __init__(self, automaton: Automaton, decoder: Decoder) -> None:
        refuse(automaton, decoder)
        if set(automaton.alphabet) != set(decoder.vocabulary) - {BEFORE}:
            what = f"{visible(automaton.name)}: the alphabet of the automaton is not the vocabulary of these weights"
            raise CompileError(f"{what}: compile the automaton again, with the same --alphabet")
        self._automaton, self._decoder, numbers = automaton, decoder, decoder.numbers
        self._places = {token: place for place, token in enumerate(automaton.alphabet)}
        self._tokens = np.array([numbers[token] for token in automaton.alphabet], dtype=np.int64)
        self._before = [numbers[BEFORE]] if BEFORE in numbers else []
        places = {state: place for place, state in enumerate(automaton.states)}
        self._after = np.array(
            [[places[automaton.transitions[q, a]] for q in automaton.states] for a in automaton.alphabet]
        )
        self._start, good, symbols = places[automaton.start], set(automaton.accepting), symbols_of(automaton, decoder)
        self._accepting = np.array([state in good for state in automaton.states])
        self._rows: dict[str, NDArray[np.float64]] = {}
        for output in decoder.outputs:
            labels = {label: number for number, label in enumerate(output.labels or ())}
            if output.name == STATE:
                known = [labels.get(symbols.get(state, ""), -1) for state in automaton.states]
            elif output.name == ACCEPTS:
                known = [labels.get("T" if yes else "F", -1) for yes in self._accepting]
            else:
                continue
            before = labels.get(BOTTOM if output.name == STATE else "F", -1)
            self._rows[output.name] = np.array([*known, before], dtype=np.float64)
        others = [output for output in decoder.outputs if output.name not in self._rows]
        self._inner = inner_labels(automaton, decoder) if others else None

    @property
    def letters(self) -> int:
        """The number of tokens in the alphabet."""
        return len(self._automaton.alphabet)

    def read(self, text: str) -> Sequence[int]:
        """Return the indices of a word's tokens.

        Raises:
            InputError: see `word_of`.
        """
        return [self._places[token] for token in word_of(self._automaton, text)]

    def written(self, word: Sequence[int]) -> str:
        """Return a word as people write it."""
        return written([self._automaton.alphabet[place] for place in word])

    def fed(self, words: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the numbers of the tokens fed: BOS, if the weights have one, and those of the words."""
        before = np.broadcast_to(np.array(self._before, dtype=np.int64), (len(words), len(self._before)))
        return np.concatenate([before, self._tokens[words]], axis=1)

    def states(self, words: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the place of the state after each token: (words, n)."""
        found = np.empty(words.shape, dtype=np.int64)
        now = np.full(len(words), self._start, dtype=np.int64)
        for i in range(words.shape[1]):
            now = self._after[words[:, i], now]
            found[:, i] = now
        return found

    def __call__(self, words: NDArray[np.int64]) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
        """Return that every word is defined, and the values of each output: (outputs, words, positions)."""
        states = self.states(words)
        ends = np.full((len(words), len(self._before)), len(self._automaton.states), dtype=np.int64)
        rows = np.concatenate([ends, states], axis=1)
        others = None if self._inner is None else self._inner(words)[1]
        wanted = []
        for n, output in enumerate(self._decoder.outputs):
            known = self._rows.get(output.name)
            wanted.append(known[rows] if known is not None else others[n])  # type: ignore[index]
        return np.ones(len(words), dtype=bool), np.stack(wanted)

    def outcomes(self, words: NDArray[np.int64]) -> Sequence[str]:
        """Return the verdicts."""
        return [VERDICTS[yes] for yes in self._accepting[self.states(words)[:, -1]].tolist()]


def outcomes(automaton: Automaton, words: Sequence[str], max_steps: int | None) -> list[str | None]:
    """Return the verdicts, see `tm2tfr.contract.source.Source.outcomes`."""
    return [VERDICTS[accepts(automaton, word_of(automaton, word))] for word in words]


def examined(automaton: Automaton, decoder: Decoder) -> Iterator[Examined]:
    """Yield the words of which the author says whether they are accepted, compared with the automaton."""
    positions = decoder.positions
    for example in automaton.examples:
        fits = bool(example.word) and (positions is None or len(example.word) <= positions)
        yield Examined(
            of=ACCEPTS,
            word=written(example.word),
            expected=("T" if example.accepted else "F",),
            found=("T" if accepts(automaton, example.word) else "F",),
            runs=fits,
            why=""
            if fits
            else "weights are not fed the empty word"
            if not example.word
            else "the word is too long for the weights",
            kind="of",
            reference=AutomatonTruth.reference,
        )
