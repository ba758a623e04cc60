"""Tokens and outputs renamed and numbered anew: a vocabulary, and answers, that tell nothing of the source."""

from __future__ import annotations

import dataclasses
import random
import re
from collections.abc import Mapping, Sequence

import numpy as np

from tm2tfr.base.errors import ShapeError
from tm2tfr.transformer.claims import Output, sections
from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.weights import Decoder

_NUMBER = re.compile(r"-?\d+(\.\d+|/\d+)?")


def renamed(decoder: Decoder, chance: random.Random) -> tuple[Decoder, dict[str, str], tuple[Output, ...]]:
    """Return a decoder with neutral names, and what these stand for.

    Tokens are called t0, t1, … in another order, outputs output-1, output-2, … A label that is a token is called like it,
    any other text l0, l1, …; numbers stay. The labels of an output that have other names are in another order.

    Returns:
        The decoder; token -> its new name; the outputs of the original, in its order, with their new names and labels.
    """
    order = chance.sample(decoder.vocabulary, len(decoder.vocabulary))
    names = {token: f"t{number}" for number, token in enumerate(order)}
    words = dict.fromkeys(label for output in decoder.outputs for label in output.labels or ())
    texts = [word for word in words if word not in names and not _NUMBER.fullmatch(word)]
    called = names | {word: f"l{number}" for number, word in enumerate(chance.sample(texts, len(texts)))}
    new, shuffled = list[Output](), list[Output]()
    for number, output in enumerate(decoder.outputs, start=1):
        labels, mixed = output.labels, output.labels
        if labels is not None and not output.whole:
            labels = tuple(called.get(label, label) for label in labels)
            mixed = labels if labels == output.labels else tuple(chance.sample(labels, len(labels)))
        new.append(Output(f"output-{number}", labels, output.whole))
        shuffled.append(dataclasses.replace(new[-1], labels=mixed))
    made = _ordered(decoder, tuple(order), names)
    return _answering(made, new, shuffled), names, tuple(new)


def restored(hidden: Decoder, names: Mapping[str, str], outputs: Sequence[Output], original: Decoder) -> Decoder:
    """Return a decoder with the tokens and the outputs of the original, in their order.

    Args:
        names: token of the original -> that of the hidden weights.
        outputs: the outputs of the original, with their names and labels in the hidden weights; empty: they have their own.

    Raises:
        ShapeError: if these are not the tokens and the outputs of the hidden weights, each once.
    """
    if sorted(names) != sorted(original.vocabulary) or sorted(names.values()) != sorted(hidden.vocabulary):
        raise ShapeError("the tokens that the key renames are not those of these weights, each once")
    own = {name: token for token, name in names.items()}
    found = _ordered(hidden, tuple(names[token] for token in original.vocabulary), own)
    if not outputs:
        return found
    alike = [
        (a.name, sorted(a.labels or ()), a.labels is None) == (b.name, sorted(b.labels or ()), b.labels is None)
        for a, b in zip(hidden.outputs, outputs, strict=False)
    ]
    sizes = [[len(each.labels or ()) for each in some] for some in (outputs, original.outputs)]
    if not all(alike) or len(hidden.outputs) != len(outputs) or sizes[0] != sizes[1]:
        raise ShapeError("the outputs that the key renames are not those of these weights, each once")
    return dataclasses.replace(_answering(found, found.outputs, outputs), outputs=original.outputs)


def _answering(decoder: Decoder, labelled: Sequence[Output], wanted: Sequence[Output]) -> Decoder:
    """Return a decoder with these outputs, the rows of its unembedding in their order.

    Args:
        labelled: its own outputs, with the labels of `wanted`.
    """
    rows = list[int]()
    for (output, cut), new in zip(sections(labelled), wanted, strict=True):
        own = range(cut.start, cut.stop)
        rows += own if output.labels is None else [own[output.labels.index(label)] for label in new.labels or ()]
    if not wanted:
        return decoder
    return dataclasses.replace(_with_rows(decoder, rows), outputs=tuple(wanted))


def _with_rows(decoder: Decoder, numbers: Sequence[int]) -> Decoder:
    """Return a decoder whose unembedding has these of its rows, each once."""
    back, read, bias = np.argsort(numbers), decoder.unembedding, decoder.unembedding_bias
    return dataclasses.replace(
        decoder,
        unembedding=Matrix(read.shape, back[read.rows], read.columns, read.values),
        unembedding_bias=Matrix(bias.shape, back[bias.rows], bias.columns, bias.values),
    )


def _ordered(decoder: Decoder, order: tuple[str, ...], names: Mapping[str, str]) -> Decoder:
    """Return a decoder with its own tokens in this order, called by other names."""
    numbers = [decoder.numbers[token] for token in order]
    back, embedding = np.argsort(numbers), decoder.token_embedding
    if not decoder.labeller:  # the rows of the unembedding are tokens
        decoder = _with_rows(decoder, numbers)
    return dataclasses.replace(
        decoder,
        vocabulary=tuple(names[token] for token in order),
        bos=None if decoder.bos is None else names[decoder.bos],
        stop=tuple(names[token] for token in decoder.stop),
        token_embedding=Matrix(embedding.shape, embedding.rows, back[embedding.columns], embedding.values),
    )
