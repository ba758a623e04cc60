"""All inputs up to a length, as weights are fed them: where equality in floats is compared on each of them."""

from __future__ import annotations

from typing import Any

from tm2tfr.errors import DisguiseError
from tm2tfr.targets.common import labels
from tm2tfr.targets.common.card import right
from tm2tfr.targets.common.comparison import Evaluated
from tm2tfr.targets.common.prompted import Prompted
from tm2tfr.text.words import MANY, all_words, joined, number_of
from tm2tfr.transformer.weights import Decoder

MOST = 20_000
"""The most inputs that are compared."""


def every_prompt(decoder: Decoder, program: Any, longest: int) -> list[tuple[str, ...]]:
    """Return all inputs of up to `longest` tokens, of a circuit all inputs, as `decoder` is fed them.

    Args:
        program: what it was compiled from.

    Raises:
        DisguiseError: if there are too many, or nothing says what an input is.
    """
    truth = right(program, decoder)
    if decoder.labeller:
        letters = labels.letters_of(decoder)
        shortest = 1
    elif isinstance(truth, Evaluated):
        words, every = truth.words()
        if not every:
            raise DisguiseError("this circuit has too many inputs to compare all of them: omit --all-up-to")
        return [tuple(truth.truth(word).prompt) for word in words]
    elif isinstance(truth, Decoder | Prompted):
        raise DisguiseError("nothing says what the inputs of these weights are: omit --all-up-to, or name their program")
    else:
        letters, shortest = truth.input_alphabet or (), 0
    if (many := number_of(len(letters), shortest, longest)) > MOST:
        there = f"{many:,} inputs" if many < MANY else "far too many inputs"
        raise DisguiseError(f"there are {there} of up to {longest} tokens, more than {MOST:,}: use fewer tokens")
    every_word = (word for n in range(shortest, longest + 1) for word in all_words(letters, n))
    if not decoder.labeller:
        return list(every_word)
    fed = [tuple(labels.tokens_of(labels.fed(decoder, joined(word)))) for word in every_word]
    return [tokens for tokens in fed if decoder.positions is None or len(tokens) <= decoder.positions]
