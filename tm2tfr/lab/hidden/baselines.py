"""Base lines: claims that anybody makes about hidden weights in minutes, to be scored beside a method.

- *embeddings*: each variable is where the embedding of its name is, or in the span of all that embedding and unembedding
  touch; nothing is run.
- *cancelling*: heads of a layer whose scores are the same but for constants, and whose outputs have the sum 0, in twos and
  threes, are decoys; nothing is run.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from tm2tfr.lab.hidden.claim import NOTHING, HiddenClaim
from tm2tfr.lab.hidden.dead_code import CLOSE, followed_back, span_of
from tm2tfr.lab.hidden.dyadic import Dyadic
from tm2tfr.transformer.weights import Decoder

GROUPS = (2, 3)
"""How many heads are added up."""


def cancelling(decoder: Decoder) -> HiddenClaim:
    """Return the claim that heads which attend alike, and cancel where anything is read, are decoys."""
    written, found = written_span(decoder), dict[str, str]()
    _, spans = followed_back(decoder)
    for number, (layer, read) in enumerate(zip(decoder.layers, spans, strict=True), start=1):
        carried = [read @ head.output.dense() @ head.value.dense() for head in layer.heads]
        scores = [head.query.dense().T @ (head.key.dense() @ written.T) for head in layer.heads]
        for size in GROUPS:
            for group in combinations(range(len(layer.heads)), size):
                first = scores[group[0]]
                alike = all(np.allclose(scores[k], first, atol=CLOSE) for k in group[1:])
                largest = max(float(np.abs(carried[k]).max(initial=0.0)) for k in group)
                if alike and np.abs(sum(carried[k] for k in group)).max(initial=0.0) <= CLOSE * max(1.0, largest):
                    found |= {f"layers.{number}.heads.{k}": NOTHING for k in group}
    return HiddenClaim(heads=found)


def written_span(decoder: Decoder) -> Dyadic:
    """Return an orthonormal basis of the directions in which the stream varies: forms that are 0 on them are constant."""
    tokens = decoder.token_embedding.dense().T
    rows = [tokens[1:] - tokens[:1], decoder.position_embedding.dense().T]
    if decoder.position_table is not None:
        rows.append(decoder.position_table.dense().T)
    for layer in decoder.layers:
        rows += [(head.output.dense() @ head.value.dense()).T for head in layer.heads]
        if layer.feed_forward is not None:
            rows.append(layer.feed_forward.output.dense().T)
    return span_of(rows, decoder.layout.width)
