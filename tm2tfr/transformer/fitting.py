"""Whether the matrices of a decoder fit together, in short; a layer that several decoders share is looked at once.

Decoders and layers are those of `tm2tfr.transformer.weights`, which calls this module.
"""

from __future__ import annotations

from typing import Any

_FITTED = "_fitted"
"""The attribute of a layer with the width of a stream that it was found to fit; a changed layer is a new one without it."""


def fits(decoder: Any) -> bool:
    """Return whether every matrix has the shape that it must have; of weights with norms or a table False says nothing."""
    width = decoder.layout.width
    if decoder.position_table is not None or decoder.norm is not None:
        return False
    outer = (decoder.token_embedding, decoder.position_embedding, decoder.unembedding, decoder.unembedding_bias)
    tokens, answers = len(decoder.vocabulary), decoder.answers
    wanted = ((width, tokens), (width, len(decoder.features)), (answers, width), (answers, 1))
    fine = tuple(m.shape for m in outer) == wanted
    return fine and all(_fitted(layer, width) for layer in decoder.layers)


def _fitted(layer: Any, width: int) -> bool:
    if layer.__dict__.get(_FITTED) == width:
        return True
    if layer.attention_norm is not None or layer.feed_forward_norm is not None:
        return False
    for head in layer.heads:
        d_k, d_v = head.query.shape[0], head.value.shape[0]
        shapes = head.query.shape, head.key.shape, head.value.shape, head.output.shape
        if shapes != ((d_k, width), (d_k, width), (d_v, width), (width, d_v)):
            return False
    if (part := layer.feed_forward) is not None:
        hidden, parts = len(part.units), (part.input, part.input_bias, part.output, part.output_bias)
        if tuple(m.shape for m in parts) != ((hidden, width), (hidden, 1), (width, hidden), (width, 1)):
            return False
    object.__setattr__(layer, _FITTED, width)
    return True
