"""Masked unique-hard attention transformers (UHAT) with random whole weights, and what they compute by Definition 2.

The evaluator shares nothing with the engines: it is the paper's definition over dense whole numbers.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np

from tm2tfr.base.choices import UNIQUE
from tm2tfr.transformer.claims import Output
from tm2tfr.transformer.matrix import Ints, Matrix
from tm2tfr.transformer.residual import Residual, Subspace
from tm2tfr.transformer.weights import MASKS, Decoder, FeedForward, Head, Layer

LETTERS = ("a", "b")
WAYS = sorted(UNIQUE)


def uhat(seed: int) -> Decoder:
    """A UHAT of 1 to 3 layers and 1 to 3 heads a layer, which answers its whole stream, with or without (-1)^i in it."""
    made = random.Random(seed)
    width, features = made.randint(2, 5), ("1", "(-1)^i") if made.random() < 0.3 else ("1",)

    def matrix(rows: int, columns: int, largest: int = 2, density: float = 0.6) -> Matrix:
        places = [(r, c) for r in range(rows) for c in range(columns) if made.random() < density]
        return Matrix.from_entries((rows, columns), {at: float(made.randint(-largest, largest)) for at in places})

    def head(n: int) -> Head:
        keys, values = made.choice((0, 1, 1, 2, 2)), made.randint(1, 2)
        return Head(
            name=f"h{n}",
            source="",
            query=matrix(keys, width, density=0.8),
            key=matrix(keys, width, density=0.8),
            value=matrix(values, width, 1),
            output=matrix(width, values, 1),
            mask=made.choice(MASKS),
            weighting=made.choice(WAYS),
        )

    def layer(n: int) -> Layer:
        hidden = made.randint(1, 3)
        part = FeedForward(
            input=matrix(hidden, width, 1),
            input_bias=matrix(hidden, 1),
            output=matrix(width, hidden, 1),
            output_bias=matrix(width, 1, 1),
            units=tuple(map(str, range(hidden))),
        )
        heads = tuple(head(k) for k in range(made.randint(1, 3)))
        return Layer(name=f"l{n}", meaning="", source="", heads=heads, feed_forward=part if made.random() < 0.7 else None)

    return Decoder(
        layout=Residual(tuple(Subspace(f"x{n}") for n in range(width))),
        vocabulary=LETTERS,
        bos=None,
        stop=(),
        features=features,
        token_embedding=matrix(width, len(LETTERS), density=0.9),
        position_embedding=matrix(width, len(features), 1),
        layers=tuple(layer(n) for n in range(made.randint(1, 3))),
        unembedding=Matrix.from_dense(np.eye(width)),
        unembedding_bias=Matrix.from_entries((width, 1), {}),
        outputs=tuple(Output(f"x{n}", None) for n in range(width)),
    )


def by_definition_2(decoder: Decoder, words: Sequence[Sequence[int]]) -> Ints:
    """The stream after the last layer, by Definition 2: words (batch, n) → (batch, n, width)."""
    batch, n = np.shape(words)
    dense = {name: _whole(getattr(decoder, name)) for name in ("token_embedding", "position_embedding")}
    places = np.array([[1, 1 - 2 * (i % 2)][: len(decoder.features)] for i in range(n)])
    x = dense["token_embedding"].T[np.array(words)] + places @ dense["position_embedding"].T
    i, j = np.arange(n)[:, None], np.arange(n)
    sight = {"future": j <= i, "past": j >= i, "none": (j + i) >= 0}
    for layer in decoder.layers:
        added = np.zeros_like(x)
        for head in layer.heads:
            q, k, v = (x @ _whole(matrix).T for matrix in (head.query, head.key, head.value))
            scores = np.einsum("bic,bjc->bij", q, k)
            scores = np.where(sight[head.mask], scores, np.iinfo(np.int64).min)
            best = scores == scores.max(axis=2, keepdims=True)
            index = best * (n - j) if head.weighting == "leftmost" else best * (j + 1)
            added += v[np.arange(batch)[:, None], index.argmax(axis=2)] @ _whole(head.output).T
        x = x + added
        if (part := layer.feed_forward) is not None:
            hidden = np.maximum(0, x @ _whole(part.input).T + _whole(part.input_bias)[:, 0])
            x = x + hidden @ _whole(part.output).T + _whole(part.output_bias)[:, 0]
    return x


def _whole(matrix: Matrix) -> Ints:
    return matrix.dense().astype(np.int64)
