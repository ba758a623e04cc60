"""What the numbers of a decoder look like as it runs: which floats hold exactly, and which heads have ties.

A disguise is proved right without this. It decides what may be mixed with what, so that floats keep it right as well:
equal scores have to stay equal, and a sum of 1/(i+1) and others rounds.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tm2tfr.engines.decode import generate
from tm2tfr.engines.dense import Dense
from tm2tfr.engines.watching import observe_all
from tm2tfr.targets.common import labels
from tm2tfr.targets.common.card import right
from tm2tfr.targets.common.comparison import Evaluated, prompts, words
from tm2tfr.targets.common.prompted import Prompted
from tm2tfr.transformer.weights import Decoder

POSITIONS = 96
"""The positions of a run that are looked at."""
RUNS = 24
"""The most runs that are looked at."""
DIGITS = 2.0**-12
"""A number is one that floats hold exactly if it is a multiple of this."""
BOUNDED = 8.0
"""What is never larger than this may be added to queries and to hidden units of decoys."""


@dataclass(frozen=True)
class Profile:
    """What was seen of a decoder.

    Args:
        exact: (width,) whether a direction held multiples of `DIGITS` alone.
        bounded: (width,) whether it was never larger than `BOUNDED`.
        bits: (width,) whether it was never anything but 0 and 1.
        ties: (layer, head), both from 0, of the heads that attended to several positions at once.
        sequences: the tokens that were fed.
    """

    exact: NDArray[np.bool_]
    bounded: NDArray[np.bool_]
    bits: NDArray[np.bool_]
    ties: frozenset[tuple[int, int]]
    sequences: tuple[tuple[str, ...], ...]


def profiled(decoder: Decoder, program: Any, more: Sequence[tuple[str, ...]] = ()) -> Profile:
    """Return what is seen of a decoder in runs of the dense engine, always the same.

    Args:
        program: what it was compiled from; None: it is run on prompts made from its vocabulary.
        more: further sequences of tokens to feed.
    """
    exact, bounded, bits = (np.ones(decoder.layout.width, dtype=bool) for _ in range(3))
    ties: set[tuple[int, int]] = set()
    fed = (*sequences(decoder, program, positions=POSITIONS, runs=RUNS), *more)
    for tokens in fed:
        for i, seen in enumerate(observe_all(decoder, tokens, engine=Dense())):
            for _, _, stream in seen.stages:
                exact &= np.asarray(stream) / DIGITS == np.rint(np.asarray(stream) / DIGITS)
                bounded &= np.abs(stream) <= BOUNDED
                bits &= np.isin(stream, (0.0, 1.0))
            for place, (_, attended) in seen.heads.items():
                if (attended is None and i > 0) or (attended is not None and len(attended) > 1):
                    ties.add(place)
    for number, layer in enumerate(decoder.layers):
        ties |= {(number, k) for k, head in enumerate(layer.heads) if head.uniform}
    for number, k in ties:  # a mean may be a multiple of `DIGITS` in what was seen, and not be one elsewhere
        exact[decoder.layers[number].heads[k].output.rows] = False
    return Profile(exact, bounded, bits & exact, frozenset(ties), fed)


def sequences(decoder: Decoder, program: Any, *, positions: int, runs: int) -> Iterator[tuple[str, ...]]:
    """Yield whole sequences of tokens, as `decoder` is fed them, its own answers among them, always the same."""
    for prompt in prompts_of(decoder, program, positions=positions, runs=runs):
        if decoder.labeller:
            yield prompt
        else:
            yield tuple(step.token for step in generate(decoder, prompt, engine=Dense(), max_positions=positions))


def prompts_of(decoder: Decoder, program: Any, *, positions: int, runs: int) -> list[tuple[str, ...]]:
    """Return what `decoder` is fed, always the same: the own input and examples, all short words or random ones."""
    most = positions if decoder.positions is None else min(positions, decoder.positions)
    if decoder.labeller:
        every = [labels.tokens_of(labels.fed(decoder, word)) for word in labels.inputs(decoder)]
    else:
        every = [tuple(prompt) for prompt in _prompts(decoder, program, most)]
    fed = 0 if decoder.bos is None else 1
    least = 1 - fed
    found = [tokens for tokens in dict.fromkeys(every) if least <= len(tokens) <= most - fed]
    if not found and not least:
        found = [()]
    if len(found) > runs:
        short, rest = found[: runs // 3], found[runs // 3 :]
        found = [*short, *random.Random(0).sample(rest, runs - len(short))]
    return found


def _prompts(decoder: Decoder, program: Any, most: int) -> Iterator[Sequence[str]]:
    truth = right(program, decoder)
    if isinstance(truth, Prompted):
        yield from (truth.tokens(prompt)[:-1] for prompt in truth.prompts(most))
    elif isinstance(truth, Evaluated):
        yield from (tuple(truth.truth(word).prompt) for word in truth.words()[0])
    elif isinstance(truth, Decoder):
        yield from map(tuple, prompts(truth))
    else:
        yield from map(tuple, words(truth, most))
