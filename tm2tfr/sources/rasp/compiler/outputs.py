"""Which s-ops of a RASP program weights answer: the one that is compiled, then other named ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import cycle, islice

from tm2tfr.sources.rasp.evaluate import Undefined, evaluate
from tm2tfr.sources.rasp.graph import needed
from tm2tfr.sources.rasp.program import Program, Word
from tm2tfr.sources.rasp.sops import SOp
from tm2tfr.text.words import all_words

NamedSOp = tuple[str, SOp]
"""An output: its name, and the s-op."""
TRIED, TRIED_LENGTH = 200, 3
"""How many inputs, and of up to which length, are tried to find an s-op that is undefined where the chosen one is not."""
FEW_LENGTH = 16
"""Up to which length a few inputs are tried."""


def outputs_of(program: Program) -> list[NamedSOp]:
    """Return the s-op that is compiled, then others that the program assigns at top level, each once.

    Beside the s-op assigned last these are all others; beside another one, those that it needs.
    """
    found, needs = {program.sop.number: (program.chosen, program.sop)}, {node.number for node in needed([program.sop])}
    whole = program.chosen == next(reversed([*program.sops]), None)
    for name, sop in program.sops.items():
        if whole or sop.number in needs:
            found.setdefault(sop.number, (name, sop))
    return list(found.values())


def less_defined(program: Program, others: Sequence[NamedSOp], longest: int) -> set[str]:
    """Return the names of s-ops that are undefined on some input on which the chosen s-op is defined: short inputs are
    tried, and a few of each length up to `longest`.
    """
    found: set[str] = set()
    every = [program.sop, *(sop for _, sop in others)]
    for word in _tried(program.alphabet, longest):
        if not _defined(every, word) and _defined([program.sop], word):
            found.update(name for name, sop in others if name not in found and not _defined([sop], word))
    return found


def _tried(alphabet: Word, longest: int) -> Iterator[Word]:
    for length in range(1, min(TRIED_LENGTH, longest) + 1):
        yield from islice(all_words(alphabet, length), TRIED)
    for length in range(TRIED_LENGTH + 1, min(FEW_LENGTH, longest) + 1):
        for letters in (alphabet[:1], alphabet[-1:], alphabet, alphabet[::-1]):
            yield tuple(islice(cycle(letters), length))


def _defined(sops: Sequence[SOp], word: Word) -> bool:
    try:
        evaluate(tuple(sops), word)
    except Undefined:
        return False
    return True
