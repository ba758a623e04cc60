"""What a data set has to know of one kind of programs that label words: of RASP programs, of formulas."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Values = dict[str, tuple[str, ...]]
"""The name of what is labelled -> its value at each position of a word, as the labels of weights have it."""

BATCH = 256
"""So many words of one length are evaluated at once."""


@dataclass(frozen=True)
class LabelSource:
    """One kind.

    Args:
        kind: what one of its programs is, for complaints: ``a RASP program``.
        key: of the spec, what names the things with labels, ``s-ops``.
        reference: what says what is right.
        word_of: (program, word as people write it) -> its tokens. Raises InputError.
        example: the name of a shipped program, for complaints.
        load: (path, or the name of a shipped program) -> the program, as ``program``.
        shipped: the names of the shipped programs.
        endings: those of their files.
        shown: a token, as text.
        names: program -> what may have labels, the one that has them by default last.
        labelled: (program, names, words) -> the labels on each word; None where the program is undefined.
        fingerprint: program -> a digest of what it does, whatever its names are.
        listed: program -> what is told of it beside its name, as plain data.
        columns: the columns of the examples, and what they contain.
        about: what the examples are.
    """

    kind: str
    key: str
    reference: str
    word_of: Callable[[Any, str], tuple[Any, ...]]
    example: str
    load: Callable[[str], Any]
    shipped: Callable[[], tuple[str, ...]]
    endings: tuple[str, ...]
    shown: Callable[[Any], str]
    names: Callable[[Any], tuple[str, ...]]
    labelled: Callable[[Any, Sequence[str], Sequence[Any]], Sequence[Values | None]]
    fingerprint: Callable[[Any], str]
    listed: Callable[[Any], Mapping[str, Any]]
    columns: Mapping[str, str]
    about: str


def batches(words: Sequence[Sequence[Any]]) -> Iterator[list[int]]:
    """Yield the numbers of words of one length, at most `BATCH` at a time."""
    lengths: dict[int, list[int]] = {}
    for i, word in enumerate(words):
        lengths.setdefault(len(word), []).append(i)
    for some in lengths.values():
        for start in range(0, len(some), BATCH):
            yield some[start : start + BATCH]
