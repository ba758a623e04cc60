"""Whether a program looks ahead: an input on which one of its selections does, if there is one among the short ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tm2tfr.sources.rasp.evaluate import Undefined, evaluate
from tm2tfr.sources.rasp.graph import needed
from tm2tfr.sources.rasp.program import Word
from tm2tfr.sources.rasp.sops import Aggregate, Atom, Selector, SOp
from tm2tfr.text.words import all_words

BUDGET = 4_000
"""The most inputs that are run."""


@dataclass(frozen=True)
class Ahead:
    """A selection that looks ahead: on `word`, at position `query`, the selector selects the later position `key`."""

    selector: Selector
    word: Word
    query: int
    key: int


def looks_ahead(sops: Iterable[SOp], alphabet: Sequence[Atom], longest: int) -> tuple[Ahead | None, int]:
    """Return a selection of these s-ops that looks ahead, None if there is none, and up to which length that was tried.

    All inputs of each length are run as long as no more than `BUDGET` are; those on which the s-ops are undefined say
    nothing.
    """
    wanted = tuple(sops)
    selectors = list(dict.fromkeys(node.selector for node in needed(wanted) if isinstance(node, Aggregate)))
    selectors.sort(key=lambda each: each.span is None)  # one that the program's own text makes, if there is one
    left, length = BUDGET, 0
    for length in range(1, longest + 1):
        left -= len(alphabet) ** length
        if left < 0:
            return None, length - 1
        for word in all_words(alphabet, length):
            try:
                matrices = evaluate(wanted, word).matrices
            except Undefined:
                continue
            for selector in selectors:
                for query, row in enumerate(matrices[selector]):
                    if True in row[query + 1 :]:
                        return Ahead(selector, word, query, row.index(True, query + 1)), length
    return None, length
