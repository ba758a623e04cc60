"""Runs of labellers, and what their weights are made of, in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tm2tfr.base.errors import counted, visible

if TYPE_CHECKING:
    from tm2tfr.runs.comparison import Trace
    from tm2tfr.transformer.weights import Decoder, Layer


def ended(trace: Trace, decoder: Decoder) -> Iterator[str]:
    """Yield what came out."""
    if trace.divergence is None:
        yield visible(trace.result.said)


def concluded(result: Any) -> Iterator[str]:
    """Yield nothing: what came out is said."""
    yield from ()


def sublayers(layer: Layer) -> Iterator[str]:
    """Yield what a layer has: ``s`` for self-attention, ``f`` for a feed-forward sublayer."""
    if layer.heads:
        yield "s"
    if layer.feed_forward is not None:
        yield "f"


def shape(decoder: Decoder) -> str:
    """Return what weights have: attention layers with their heads, sublayers in their order, blocks."""
    attention = [layer for layer in decoder.layers if layer.heads]
    kinds = [kind for layer in decoder.layers for kind in sublayers(layer)]
    return (
        f"{with_heads(len(attention), tuple(len(layer.heads) for layer in attention))}, "
        f"{counted(kinds.count('f'), 'feed-forward sublayer')}: {' '.join(kinds) or 'none'} "
        f"({counted(len(decoder.layers), 'block')})"
    )


def with_heads(layers: int, heads: tuple[int, ...]) -> str:
    """Return ``2 attention layers with 1 + 2 heads``."""
    if not layers:
        return "no attention layers"
    word = "head" if heads == (1,) else "heads"
    return f"{counted(layers, 'attention layer')} with {' + '.join(map(str, heads))} {word}"


def inputs_of(decoder: Decoder) -> str:
    """Return ``up to 10 tokens``, or ``any length``."""
    return "any length" if decoder.positions is None else f"up to {counted(decoder.positions, 'token')}"
