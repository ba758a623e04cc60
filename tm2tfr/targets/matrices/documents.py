"""The names of everything in an export with a decoder's own matrices, and the parts that their model cards share."""

from __future__ import annotations

import json
from typing import Any

from tm2tfr._version import __version__
from tm2tfr.errors import CompileError
from tm2tfr.targets.common.card import checking, introduction, name_of, tag
from tm2tfr.targets.common.comparison import Evaluated, Right
from tm2tfr.targets.common.directory import NAMES
from tm2tfr.targets.common.fitting import Recipe
from tm2tfr.targets.common.labels import outputs_of
from tm2tfr.targets.common.prompted import Prompted
from tm2tfr.targets.common.tabled import Labelled
from tm2tfr.text.markdown import escaped
from tm2tfr.transformer.residual import Residual
from tm2tfr.transformer.soft import power_of_two, smallest_gap, theorem_26
from tm2tfr.transformer.weights import Decoder, Head, Layer, norms

VERSION = "2"


def names(decoder: Decoder, recipe: Recipe, format: str, truth: Right | None = None) -> dict[str, Any]:
    """Return what a probe needs: where each named direction, head and hidden unit is, and the export's origin.

    What not every export has is only there if this one has it: the epsilons of layer norms by their path, and, of another
    program than a machine, what there is to say of it.
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
        **_program(truth),
    }


def _program(truth: Right | None) -> dict[str, Any]:
    exported = truth.construction.exported if isinstance(truth, Evaluated) else None
    return {} if exported is None or not isinstance(truth, Evaluated) else {"program": dict(exported(truth.program))}


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


def card(decoder: Decoder, truth: Right, recipe: Recipe, *, title: str, use: str, assumed: str, table: str) -> str:
    """Return the model card.

    Args:
        title: what it is; use: how to run it; assumed: what the certificate assumes about the program that runs it.
        table: further rows of the table of sizes.
    """
    told = introduction(decoder, truth, "" if isinstance(truth, Prompted) else f"an input word and `{decoder.bos}`")
    between = "\n\n" if isinstance(truth, Prompted) else " "
    return f"""---
tags: [{tag(truth)}tm2tfr]
---
# {escaped(name_of(truth, "A decoder"))} {title}

{told}{between}{use}

**How far it is right.** {_far(truth, recipe, assumed)}
More positions are refused.

{checking(truth)}

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


def _far(truth: Right, recipe: Recipe, assumed: str) -> str:
    """Return how far the model is right, and why."""
    if isinstance(recipe, Labelled):
        return _compared(truth, recipe, assumed)
    if not isinstance(truth, Evaluated):
        return _certified(recipe, assumed) if recipe.certified else _uncertified(assumed)
    told = f"{recipe.statement[0].upper()}{recipe.statement[1:]}."
    if not recipe.certified:
        return f"""{told}
The weights are certified for tm2tfr's own engine, with bounds on its rounding (`tm2tfr certify`). Unless it is given
`--no-verify`, `tm2tfr export` runs an export before it is written, on all inputs if they are few and otherwise on random
ones, and compares every token with that of the reference. {assumed}"""
    return f"""{told}
This is the certificate for tm2tfr's dense engine (`tm2tfr certify`): a proof of the weights for all inputs. It holds here,
since with these weights all numbers at the positions that matter are whole numbers, or halves, which no sum rounds, in
whatever order it is added up. {assumed}"""


def _compared(truth: Right, recipe: Recipe, assumed: str) -> str:
    whose = f"the {truth.noun}'s {truth.reference}" if isinstance(truth, Evaluated) else "tm2tfr's dense engine"
    return f"""{recipe.statement[0].upper()}{recipe.statement[1:]}.
Unless it is given `--no-verify`, `tm2tfr export` runs an export before it is written, on all inputs up to some length and
on random ones of any, and compares every label at every position with those of {whose}.
{assumed}"""


def _certified(recipe: Recipe, assumed: str) -> str:
    told = recipe.statement
    return f"""{told[0].upper()}{told[1:]}.
This is the certificate for tm2tfr's dense engine (`tm2tfr certify`): a proof of the weights in exact arithmetic, with
bounds on rounding errors. It holds here because the arithmetic is that engine's: scores are added up component by
component, the tie-break last, in the order that the exported program itself fixes; a mean is a sum divided by a number;
no other sum depends on its order, and none on whether a product is rounded before it is added (fused multiply-add or
not). {assumed}"""


def _uncertified(assumed: str) -> str:
    return f"""Nothing is certified, since no machine is stored with these weights.
Unless it is given `--no-verify`, `tm2tfr export` runs an export before it is written, on prompts made from the vocabulary,
and compares every token with that of tm2tfr's dense engine. On other prompts the tokens may differ, where sums are rounded
in another order. {assumed}"""
