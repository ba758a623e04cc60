"""Every single-weight fault of a decoder, and what it changes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from tm2tfr.engines.decode import observe_all
from tm2tfr.engines.dense import Dense
from tm2tfr.transformer.weights import Decoder, matrices, replaced


def faults(decoder: Decoder, *, every: int = 1) -> Iterator[tuple[str, Decoder]]:
    """Yield the name of a matrix, and the decoder with one weight of it that is not 0 set to 0, negated, or 1 larger."""
    n = 0
    for name, matrix in matrices(decoder).items():
        for row, column, value in matrix.entries():
            for wrong in dict.fromkeys((0.0, -value, value + 1)):
                n += 1
                if n % every == 0:
                    yield name, replaced(decoder, {name: matrix.with_entry(row, column, wrong)})


def streams(decoder: Decoder, longest: int) -> np.ndarray:
    """Return all numbers of the residual stream, after every sublayer of all inputs of up to so many tokens, and logits."""
    found = []
    for n in range(1, longest + 1):
        for word in product(decoder.vocabulary, repeat=n):
            seen = observe_all(decoder, word, engine=Dense("float64"))
            found += [np.asarray(stage[2], dtype=float) for each in seen for stage in each.stages]
    return np.concatenate(found)


def layer_of(name: str, decoder: Decoder) -> int:
    """Return the number of the layer of a matrix: 0 is the embedding, one more than the last the unembedding."""
    if name.startswith("layers."):
        return int(name.split(".")[1])
    return len(decoder.layers) + 1 if name.startswith("unembedding") else 0
