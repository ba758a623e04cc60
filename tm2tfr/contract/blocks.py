"""Many inputs of one program as arrays: how they are written, the right rows of their runs, and their results.

The part of a source for comparisons in column blocks. This module knows no source and no engine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple, Protocol, overload

import numpy as np
from numpy.typing import NDArray

from tm2tfr.base.errors import InputError
from tm2tfr.transformer.matrix import Ints


# ── Inputs as numbers.
def points_of(words: Sequence[str]) -> tuple[NDArray[np.uint32], Ints]:
    """Return the characters of all words as code points, and where each word begins: (characters,), (words + 1,).

    Raises:
        InputError: if one of them is not text.
    """
    try:
        text = "".join(words)
    except TypeError:
        place, wrong = next((n, word) for n, word in enumerate(words) if not isinstance(word, str))
        raise InputError(f"input {place} (counted from 0) must be text, not {wrong!r}: write {str(wrong)!r}") from None
    start = np.zeros(len(words) + 1, dtype=np.int64)
    np.cumsum(np.fromiter(map(len, words), dtype=np.int64, count=len(words)), out=start[1:])
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4"), start


def numbered(points: NDArray[np.uint32], alphabet: Sequence[str]) -> NDArray[np.int32]:
    """Return the place of each character in an alphabet of single characters, -1 for one that is not in it."""
    if not alphabet:
        return np.full(len(points), -1, dtype=np.int32)
    known = np.array([ord(a) for a in alphabet], dtype=np.uint32)
    order = np.argsort(known, kind="stable")
    at = np.minimum(np.searchsorted(known[order], points), len(known) - 1)
    return np.where(known[order][at] == points, order[at], -1).astype(np.int32)


@dataclass(frozen=True, eq=False)
class CodedTexts(Sequence[str]):
    """Texts as numbers: those of text n are ``cells[offsets[n] : offsets[n + 1]]``, places in an alphabet."""

    alphabet: tuple[str, ...]
    offsets: Ints
    cells: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[str]: ...
    def __getitem__(self, at: int | slice) -> str | Sequence[str]:
        if isinstance(at, slice):
            first, last, step = at.indices(len(self))
            if step == 1 and first < last:
                cut = self.offsets[first : last + 1]
                return CodedTexts(self.alphabet, cut - cut[0], self.cells[cut[0] : cut[-1]])
            return [self[n] for n in range(first, last, step)]
        n = range(len(self))[at]
        return "".join(self.alphabet[c] for c in self.cells[self.offsets[n] : self.offsets[n + 1]].tolist())

    def __iter__(self) -> Iterator[str]:
        points = np.array([ord(a) for a in self.alphabet], dtype="<u4")
        data: bytes = points[self.cells].tobytes()
        text, cuts = data.decode("utf-32-le", "surrogatepass"), self.offsets.tolist()
        return (text[a:b] for a, b in pairwise(cuts))


class WordsGiven(NamedTuple):
    """Inputs as indices of their symbols in an alphabet, and the tokens before them.

    The symbols of word r are ``words[start[r] : start[r + 1]]``, its tokens ``leads[lead[r] : lead[r + 1]]``.
    """

    words: NDArray[np.int32]
    start: Ints
    leads: NDArray[np.int32]
    lead: Ints


# ── Rows of runs.
@dataclass(frozen=True, eq=False)
class FoundRows:
    """The rows of a decoder in some runs; those of run r are ``offsets[r] : offsets[r + 1]``.

    Args:
        fed: returns the tokens fed, (rows,), by their numbers in the vocabulary: the prompts, then the answers.
        answers: (rows,) the tokens answered.
        codes: (rows, labels) the labels of the table's columns, in their order, a column that the token shows last: indices
            into their labels, -1 for ⊥, -2 for a vector that is not one-hot.
        numbers: (rows, numbers) the numbers of the table's columns, in their order.
        places: column -> its places among the numbers.
    """

    offsets: Ints
    fed: Callable[[], NDArray[np.int32]]
    answers: NDArray[np.int32]
    codes: NDArray[np.int32]
    numbers: NDArray[np.float64]
    places: Mapping[str, tuple[int, ...]]


class RightRun(Protocol):
    """The right rows of some runs, and their results."""

    @property
    def offsets(self) -> Ints: ...  # (runs + 1,), from 0 on
    def without_rows(self) -> Any: ...  # the results of each run, without rows


@dataclass(frozen=True, eq=False)
class BatchResults:
    """What came out of the reference: arrays of (runs,).

    Args:
        outcomes: as of `tm2tfr.contract.source.RunResult`.
        steps, visited, ones, tapes: of a machine, see `tm2tfr.sources.turing.simulator.Result`; otherwise empty.
        made: (these results, the number of a run) -> its `tm2tfr.contract.source.RunResult`; None: it is the outcome alone.
    """

    outcomes: NDArray[np.str_]
    steps: Ints
    visited: Ints
    ones: Ints
    tapes: Sequence[str]
    made: Callable[[BatchResults, int], Any] | None = None

    @classmethod
    def of(cls, outcomes: NDArray[np.str_], made: Callable[[BatchResults, int], Any] | None = None) -> BatchResults:
        """Return those of anything but machines."""
        none = np.zeros(0, dtype=np.int64)
        return cls(outcomes, none, none, none, (), made)


class LongReference(Protocol):
    """The reference's run on one input of any length, some rows at a time: runs of one run."""

    def take(self, n: int, *, again: bool = False) -> Any:
        """Return the next `n` right rows as a `RightRun` of one run, fewer at the end.

        Args:
            again: whether arrays may be used that the third to last call has returned.
        """

    def result(self) -> Any:
        """Run to the end, or to the limit, and return the result."""


class BlockReference(Protocol):
    """The reference of one program on many inputs, as arrays; any number of threads may use it."""

    @property
    def truth(self) -> Any: ...  # a run of it row by row, on any input: its `tm2tfr.contract.source.Truth`
    @property
    def letters(self) -> Mapping[str, int]: ...  # the symbols of inputs -> their numbers among `WordsGiven.words`
    @property
    def size(self) -> int | None: ...  # the number of symbols of every input, where all have as many
    @property
    def answers(self) -> int | None: ...  # the number of answers of every run that it says, where all have as many
    @property
    def lead(self) -> Sequence[str]: ...  # the tokens before every input
    @property
    def identity(self) -> Sequence[str]: ...  # lines of text that tell the program from any other

    def read(self, text: str) -> Sequence[int]:
        """Return an input, as people write it, by the numbers of its symbols. Raises InputError."""

    def rows(self, given: WordsGiven, first: int, last: int, room: int) -> RightRun:
        """Return the right rows of runs from `first` on, as many as there is room for, but at least one."""

    def differs(self, found: FoundRows, right: Any) -> tuple[Ints, Ints]:
        """Return the place of the first row of each run that differs, -1 if none does, and the largest |h| before it.

        Args:
            found: the decoder's rows; right: what `rows`, or `LongReference.take`, has returned.
        """

    def cells(self, rows: Ints) -> Ints:
        """Return for runs of these numbers of rows the number of cells that the reference determines: (runs,)."""

    def results(self, parts: Sequence[Any]) -> BatchResults:
        """Return the results of the runs whose right rows `rows` has returned."""

    def run(self, word: str) -> LongReference | None:
        """Return the run on one input of any length; None: there are no long runs. Raises InputError."""


# ── What labels words.
class ManyLabels(Protocol):
    """The reference's outputs for a batch of words, which are given as indices into the alphabet."""

    @property
    def reference(self) -> str: ...  # the name of the reference, such as ``interpreter``
    @property
    def letters(self) -> int: ...  # the number of tokens in the alphabet
    def read(self, text: str) -> Sequence[int]: ...  # of a word as people write it; raises InputError
    def written(self, word: Sequence[int]) -> str: ...  # a word as people write it
    def fed(self, words: NDArray[np.int64]) -> NDArray[np.int64]: ...  # numbers of the tokens fed: (words, positions)

    def __call__(self, words: NDArray[np.int64]) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
        """Return on which words, (words, n), there are values, and for those each output: (outputs, words, positions).

        For a label its index, -1 if a value has no label; for a number the number, ∞ for a value that is not a
        number; NaN where the reference has no value.
        """

    def outcomes(self, words: NDArray[np.int64]) -> Sequence[str]: ...  # of those with values
