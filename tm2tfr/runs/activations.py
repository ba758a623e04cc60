"""Activation vectors at a position, read off a run: the chapter's A(0) … A(5) (Eqs. 8.4-8.19), or any decoder's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from tm2tfr.base.errors import EngineError, ShapeError, counted
from tm2tfr.engines.decode import Engine, generate, observable, observe
from tm2tfr.engines.reading import combination
from tm2tfr.runs.rows import is_turing
from tm2tfr.sources.turing.columns import CHAPTER_VECTORS, FOUND, RULE
from tm2tfr.transformer.residual import Subspace
from tm2tfr.transformer.weights import Decoder

Activation = Mapping[str, str | int | float | Fraction | None]
"""What a subspace holds -> its number, or the label of its one-hot vector, None if that is 0."""


def activations(
    decoder: Decoder, word: Sequence[str], position: int, *, engine: Engine | str = "exact"
) -> dict[str, Activation]:
    """Return A(0), A(1), A(2), A(3.5), A(4), H(4) and A(5) at `position` of the run on `word`.

    Of a universal decoder there is ``rule`` as well: the rule that ends at this position, and the one that is found.
    Of a decoder that is not the chapter's, return the whole residual stream after the embedding and after each layer.

    Raises:
        EngineError: if the run ends before `position`.
        ShapeError: if no subspace is claimed to hold a part of a vector, or a layer is missing.
    """
    if isinstance(engine, str):
        from tm2tfr.engines import engine as engine_named  # noqa: PLC0415

        engine = engine_named(engine)
    most = None if decoder.labeller else position + 1
    tokens = [step.token for step in generate(decoder, word, engine=engine, max_positions=most)]
    if len(tokens) <= position:
        word = word if isinstance(word, str) else " ".join(word)
        raise EngineError(
            f"the run on {word!r} has {len(tokens)} positions, and none numbered {position}: "
            f"use a position from 0 to {len(tokens) - 1}"
        )
    seen = observe(decoder, tokens, engine=observable(engine), position=position)
    stages = {(layer, part): stream for layer, part, stream in seen.stages}
    layout, found = decoder.layout, dict[str, Activation]()
    if not is_turing(layout):
        return _streams(decoder, stages)
    rule = {"rule": (FOUND, RULE)} if all(layout.holding(what) is not None for what in RULE) else {}
    for vector, (stage, parts) in {**CHAPTER_VECTORS, **rule}.items():
        if stage not in stages:
            there = counted(len(decoder.layers), "layer")
            raise ShapeError(f"{vector} is the stream after layer {stage[0] + 1}, but these weights have {there}")
        held, stream = {what: layout.holder(what) for what in parts}, stages[stage]
        found[vector] = {what: _value(subspace, stream[layout[subspace.name]]) for what, subspace in held.items()}
    return found


def _streams(decoder: Decoder, stages: Mapping[tuple[int, str], Any]) -> dict[str, Activation]:
    """Return the whole stream after the embedding and after each layer, by the names of its subspaces."""
    named = {"embedding": stages[-1, "embedding"]}
    for n, layer in enumerate(decoder.layers):
        named[f"{n + 1} {layer.name}".strip()] = stages[n, "feed_forward"]
    layout = decoder.layout
    return {
        name: {subspace.name: _value(subspace, stream[layout[subspace.name]]) for subspace in layout.subspaces}
        for name, stream in named.items()
    }


def _value(subspace: Subspace, coordinates: list[Any]) -> Any:
    if subspace.labels is None:
        return coordinates[0]
    hot = [(label, v) for label, v in zip(subspace.labels, coordinates, strict=True) if v]
    if not hot:
        return None
    return hot[0][0] if len(hot) == 1 and hot[0][1] == 1 else combination(subspace.labels, coordinates)
