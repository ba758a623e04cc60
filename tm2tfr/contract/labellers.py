"""What a construction brings that labels words: its outputs on many of them, and the examples of a program's author."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray


class ManyLabels(Protocol):
    """What a labeller has to answer on many words at once, by the reference; words are places of tokens in the alphabet."""

    @property
    def reference(self) -> str: ...  # what says what is right: ``interpreter``
    @property
    def letters(self) -> int: ...  # the number of tokens in the alphabet
    def read(self, text: str) -> Sequence[int]: ...  # of a word as people write it; raises InputError
    def written(self, word: Sequence[int]) -> str: ...  # a word as people write it
    def fed(self, words: NDArray[np.int64]) -> NDArray[np.int64]: ...  # numbers of the tokens fed: (words, positions)

    def __call__(self, words: NDArray[np.int64]) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
        """Return on which words, (words, n), there are values, and for those each output: (outputs, words, positions).

        That is the number of its label, -1 if it has none for a value; of an output that is a number, the number, ∞ in
        place of what is none; NaN where the reference says nothing.
        """

    def outcomes(self, words: NDArray[np.int64]) -> Sequence[str]: ...  # of those with values, see `RunResult.outcome`


@dataclass(frozen=True, kw_only=True)
class Examined:
    """An example of a program's author, compared with the reference.

    Args:
        of: the name of what the example is of.
        word: its input, as people write it.
        expected, found: the author's values and those of the reference, as text; one text: that there are none.
        runs, why: whether the weights are to be run on it, and why not.
        kind, reference, numbers: what has the values, ``sop``; what says what is right; whether they are numbers.
    """

    of: str
    word: str
    expected: tuple[str, ...] | str
    found: tuple[str, ...] | str
    runs: bool
    why: str = ""
    kind: str = "sop"
    reference: str = "interpreter"
    numbers: bool = False

    @property
    def met(self) -> bool:
        """Whether the reference says what the author does."""
        return self.expected == self.found

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        plain: dict[str, Any] = {self.kind: self.of, "input": self.word, "met": self.met}
        said = (each if isinstance(each, str) else list(each) for each in (self.expected, self.found))
        return plain | dict(zip(("expected", self.reference), said, strict=True))
