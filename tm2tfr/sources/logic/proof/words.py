"""That the stream holds what it is claimed to hold, and every answer is right, on all short words in exact arithmetic."""

from __future__ import annotations

from itertools import product

from tm2tfr.engines.decode import run_whole
from tm2tfr.engines.exact import Exact
from tm2tfr.engines.reading import answered
from tm2tfr.sources.logic.program import LogicProgram
from tm2tfr.sources.logic.proof.refused import NotShown
from tm2tfr.sources.logic.truth import LogicTruth
from tm2tfr.text.words import written
from tm2tfr.trace.cause import find_cause
from tm2tfr.transformer.weights import Decoder

MOST_WORDS = 40
"""All words are verified up to the longest length at which there are at most so many."""


def verified(decoder: Decoder, program: LogicProgram) -> tuple[int, int]:
    """Return on how many words the stream was verified, and of up to how many tokens.

    Raises:
        NotShown: if a claim cannot be interpreted, or a number of the stream or an answer is wrong.
    """
    words = longest = 0
    while words + len(program.alphabet) ** (longest + 1) <= MOST_WORDS or not longest:
        longest += 1
        for word in product(program.alphabet, repeat=longest):
            truth = LogicTruth(program, written(word), decoder)
            specification = truth.specification(longest)
            if not specification.covers(decoder.layout):
                raise NotShown("words", "not every claim of the weights can be interpreted", "compile them again")
            cause = find_cause(decoder, specification, 0, engine=Exact())
            if cause is not None:
                raise NotShown("words", f"the stream is wrong on the word {' '.join(word)}", str(cause).splitlines()[0])
            passed = run_whole(decoder, [decoder.numbers[token] for token in truth.prompt], engine=Exact())
            found = zip(*(answered(decoder, each.logits) for each in passed), strict=True)
            wrong = next((name for name, own in zip(truth.values, found, strict=True) if own != truth.values[name]), None)
            if wrong is not None:
                raise NotShown("words", f"an answer is wrong on the word {' '.join(word)}", wrong)
            words += 1
    return words, longest
