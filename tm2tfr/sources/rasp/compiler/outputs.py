"""Which s-ops of a RASP program weights answer: the one that is compiled, then the other named ones."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from tm2tfr.sources.rasp.evaluate import Undefined, evaluate
from tm2tfr.sources.rasp.given.inputs import all_words
from tm2tfr.sources.rasp.program import Program
from tm2tfr.sources.rasp.sops import SOp

NamedSOp = tuple[str, SOp]
"""An output: its name, and the s-op."""
TRIED, TRIED_LENGTH = 200, 3
"""How many inputs, and of up to which length, are tried to find an s-op that is undefined where the chosen one is not."""


def outputs_of(program: Program) -> list[NamedSOp]:
    """Return the s-op that is compiled, then the others that the program assigns at top level, each once."""
    found = {program.sop.number: (program.chosen, program.sop)}
    for name, sop in program.sops.items():
        found.setdefault(sop.number, (name, sop))
    return list(found.values())


def less_defined(program: Program, others: Sequence[NamedSOp]) -> set[str]:
    """Return the names of s-ops that are undefined on some short input on which the chosen s-op is defined."""
    found: set[str] = set()
    for length in range(1, TRIED_LENGTH + 1):
        for word in islice(all_words(program.alphabet, length), TRIED):
            try:
                evaluate((program.sop,), word)
            except Undefined:
                continue
            found.update(name for name, sop in others if name not in found and not _defined(sop, word))
    return found


def _defined(sop: SOp, word: tuple[object, ...]) -> bool:
    try:
        evaluate((sop,), word)  # type: ignore[arg-type]
    except Undefined:
        return False
    return True
