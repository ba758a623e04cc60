"""Inputs as numbers: many words at once, and text from many cells at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import overload

import numpy as np
from numpy.typing import NDArray

from tm2tfr.errors import InputError
from tm2tfr.transformer.matrix import Ints


def points_of(words: Sequence[str]) -> tuple[NDArray[np.uint32], Ints]:
    """Return the characters of all words as code points, and where each word begins: (characters,), (words + 1,).

    Raises:
        InputError: if one of them is not text.
    """
    try:
        text = "".join(words)
    except TypeError:
        place, wrong = next((n, word) for n, word in enumerate(words) if not isinstance(word, str))
        raise InputError(f"input {place} (counted from 0) must be text, not {wrong!r}: write for example '11'") from None
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
class Tapes(Sequence[str]):
    """Texts as cells: those of text n are ``cells[offsets[n] : offsets[n + 1]]``, places in an alphabet."""

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
            return [self[n] for n in range(*at.indices(len(self)))]
        n = range(len(self))[at]
        return "".join(self.alphabet[c] for c in self.cells[self.offsets[n] : self.offsets[n + 1]].tolist())

    def __iter__(self) -> Iterator[str]:
        points = np.array([ord(a) for a in self.alphabet], dtype="<u4")
        data: bytes = points[self.cells].tobytes()
        text, cuts = data.decode("utf-32-le", "surrogatepass"), self.offsets.tolist()
        return (text[a:b] for a, b in pairwise(cuts))
