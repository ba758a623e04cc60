"""Tokens renamed and numbered anew: a vocabulary that tells nothing. Labels that outputs answer with keep their names."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Mapping

import numpy as np

from tm2tfr.errors import ShapeError
from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.weights import Decoder


def renamed(decoder: Decoder, chance: random.Random) -> tuple[Decoder, dict[str, str]]:
    """Return a decoder whose tokens are called t0, t1, … in another order, and token -> its new name."""
    order = chance.sample(decoder.vocabulary, len(decoder.vocabulary))
    names = {token: f"t{number}" for number, token in enumerate(order)}
    return _ordered(decoder, tuple(order), names), names


def restored(hidden: Decoder, names: Mapping[str, str], vocabulary: tuple[str, ...]) -> Decoder:
    """Return a decoder with the tokens of the original, in their order.

    Args:
        names: token of the original -> that of the hidden weights.

    Raises:
        ShapeError: if these are not the tokens of the hidden weights, each once.
    """
    if sorted(names) != sorted(vocabulary) or sorted(names.values()) != sorted(hidden.vocabulary):
        raise ShapeError("the tokens that the key renames are not those of these weights, each once")
    own = {name: token for token, name in names.items()}
    return _ordered(hidden, tuple(names[token] for token in vocabulary), own)


def _ordered(decoder: Decoder, order: tuple[str, ...], names: Mapping[str, str]) -> Decoder:
    """Return a decoder with its own tokens in this order, called by other names."""
    numbers = [decoder.numbers[token] for token in order]
    back = np.argsort(numbers)
    embedding, read, bias = decoder.token_embedding, decoder.unembedding, decoder.unembedding_bias
    if not decoder.labeller:  # the rows of the unembedding are tokens
        read = Matrix(read.shape, back[read.rows], read.columns, read.values)
        bias = Matrix(bias.shape, back[bias.rows], bias.columns, bias.values)
    return dataclasses.replace(
        decoder,
        vocabulary=tuple(names[token] for token in order),
        bos=None if decoder.bos is None else names[decoder.bos],
        stop=tuple(names[token] for token in decoder.stop),
        token_embedding=Matrix(embedding.shape, embedding.rows, back[embedding.columns], embedding.values),
        unembedding=read,
        unembedding_bias=bias,
    )
