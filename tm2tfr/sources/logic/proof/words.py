"""That the stream holds what it is claimed to hold, number by number, on all short words in exact arithmetic."""

from __future__ import annotations

from itertools import product

from tm2tfr.engines.exact import Exact
from tm2tfr.sources.logic.evaluate import evaluate
from tm2tfr.sources.logic.program import LogicProgram
from tm2tfr.sources.logic.proof.refused import NotShown
from tm2tfr.sources.logic.specification import LogicSpecification
from tm2tfr.trace.cause import find_cause
from tm2tfr.transformer.weights import Decoder

MOST_WORDS = 40
"""All words are verified up to the longest length at which there are at most so many."""


def verified(decoder: Decoder, program: LogicProgram) -> tuple[int, int]:
    """Return on how many words the stream was verified, and of up to how many tokens.

    Raises:
        NotShown: if a claim cannot be interpreted, or a number of the stream is wrong.
    """
    words = longest = 0
    while words + len(program.alphabet) ** (longest + 1) <= MOST_WORDS or not longest:
        longest += 1
        for word in product(program.alphabet, repeat=longest):
            specification = LogicSpecification.of(word, evaluate(program, word), decoder)
            if not specification.covers(decoder.layout):
                raise NotShown("words", "not every claim of the weights can be interpreted", "compile them again")
            cause = find_cause(decoder, specification, 0, engine=Exact())
            if cause is not None:
                raise NotShown("words", f"the stream is wrong on the word {' '.join(word)}", str(cause).splitlines()[0])
            words += 1
    return words, longest
