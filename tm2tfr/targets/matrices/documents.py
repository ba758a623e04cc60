"""The names of everything in an export with a decoder's own matrices, and the parts that their model cards share."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tm2tfr._version import __version__
from tm2tfr.base.errors import CompileError
from tm2tfr.base.text.shown import escaped
from tm2tfr.contract.exported import ExportReference
from tm2tfr.targets.common.card import checking, introduction, tags
from tm2tfr.targets.common.directory import NAMES
from tm2tfr.targets.common.fitting import Recipe
from tm2tfr.targets.common.labels import outputs_of
from tm2tfr.transformer.residual import Residual
from tm2tfr.transformer.soft import power_of_two, smallest_gap, theorem_26
from tm2tfr.transformer.weights import Decoder, Head, Layer, norms

VERSION = "2"


def names(decoder: Decoder, recipe: Recipe, format: str, program: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return what a probe needs: where each named direction, head and hidden unit is, and the export's origin.

    What not every export has is only there if this one has it: the epsilons of layer norms by their path, and the `data`
    of its `program`.
    """
    layout = decoder.layout
    return {
        "format": format,
        "version": VERSION,
        "tm2tfr": __version__,
        "recipe": {
            "positions": recipe.positions,
            "max_head": recipe.head,
            "dtype": recipe.dtype,
        },
        "certified": recipe.statement,
        "provenance": dict(decoder.provenance),
        "read": "value = x[index], x the residual stream before layer 1 or after a layer",
        "directions": [{"name": name, "index": n} for n, name in enumerate(layout.directions)],
        "subspaces": {s.name: [layout[s.name].start, layout[s.name].stop] for s in layout.subspaces},
        "layers": [_layer(layer, n, layout) for n, layer in enumerate(decoder.layers, start=1)],
        "features": list(decoder.features),
        "temperature": _temperature(decoder, recipe.positions),
        "vocabulary": list(decoder.vocabulary),
        "bos": decoder.bos,
        "stop": list(decoder.stop),
        **({"outputs": outputs_of(decoder)} if decoder.labeller else {}),
        **({"norms": {path: norm.epsilon for path, norm in norms(decoder)}} if decoder.normed else {}),
        **({} if program is None else {"program": dict(program)}),
    }


def _temperature(decoder: Decoder, positions: int) -> float | None:
    """Return the temperature of softmax that Theorem 26 guarantees; None if nothing is claimed about the heads.

    The theorem is about heads with one best score; those of a labeller may have several, and there is none.
    """
    if decoder.labeller:
        return None
    try:
        return power_of_two(theorem_26(decoder, positions, smallest_gap(decoder, positions)))
    except CompileError:
        return None


def _layer(layer: Layer, n: int, layout: Residual) -> dict[str, Any]:
    return {
        "layer": n,
        "name": layer.name,
        "meaning": layer.meaning,
        "source": layer.source,
        "heads": [
            {"head": k, "name": head.name, "source": head.source, "components": _components(head, layout), **_own(head)}
            for k, head in enumerate(layer.heads)
        ],
        "units": list(layer.feed_forward.units) if layer.feed_forward is not None else [],
    }


def _own(head: Head) -> dict[str, Any]:
    """Return how a head weighs, and what it sees, if not as machines' do."""
    soft = {"weighting": head.weighting} if head.weighting == "softmax" else {}
    return soft | ({} if head.mask == "future" else {"mask": head.mask})


def _components(head: Head, layout: Residual) -> list[dict[str, Any]]:
    """Return the components of a head's score by name: the query and the key as linear forms."""
    pairs = zip(head.query.by_row(), head.key.by_row(), strict=True)
    return [{"query": layout.named(query), "key": layout.named(key)} for query, key in pairs]


def as_json(value: Any) -> str:
    """Return `value` as the text of a file."""
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"


def card(right: ExportReference, recipe: Recipe, *, title: str, use: str, assumed: str, table: str) -> str:
    """Return the model card.

    Args:
        title: what it is; use: how to run it; assumed: what the certificate assumes about the program that runs it.
        table: further rows of the table of sizes.
    """
    decoder = right.decoder
    between = "\n\n" if right.in_prompt else " "
    return f"""---
tags: [{tags(right)}]
---
# {escaped(right.named("A decoder"))} {title}

{introduction(right, f"an input word and `{decoder.bos}`")}{between}{use}

**How far it is right.** {recipe.explained(right.judge, assumed)}
More positions are refused.

{checking(right)}

**What is where.** `{NAMES}` names the directions of the residual stream (the value of a direction is x[index]), the
subspaces, layers, attention heads with the components of their scores, and hidden units.

| | |
|---|---|
| layers, heads in all, width | {len(decoder.layers)}, {decoder.heads}, {decoder.layout.width} |
| positions | {recipe.positions:,} |
| numbers | {recipe.dtype} |
| attention | {_attention(decoder)} |
{table}"""


def _attention(decoder: Decoder) -> str:
    masks = {head.mask for layer in decoder.layers for head in layer.heads} or {"future"}
    seen = "future-masked" if masks == {"future"} else "not masked" if masks == {"none"} else "of different masks"
    if decoder.soft:
        return f"softmax, {seen}"
    return f"average-hard, {seen}: the best-scored positions share evenly"
