"""The contents of an export with a decoder's own matrices: number of positions, tensors, all names, a model card."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Unpack

import numpy as np

from tm2tfr._version import __version__
from tm2tfr.base.errors import CompileError, ExportError, counted, visible
from tm2tfr.base.text.shown import escaped
from tm2tfr.certificates.kit import checked
from tm2tfr.contract.exported import ExportReference
from tm2tfr.contract.shown import PlainData
from tm2tfr.targets.common.directory import NAMES, Array
from tm2tfr.targets.common.fitting import (
    USUAL,
    Options,
    Recipe,
    Requested,
    Uncertified,
    check_dtype,
    fitted_to_labels,
    fitted_to_table,
    fitting,
    proved,
)
from tm2tfr.targets.common.reference import outputs_of, smaller
from tm2tfr.targets.common.verdict import checking, heading, introduction, layers_named, table
from tm2tfr.transformer.expressions import EXACT_BITS, plain
from tm2tfr.transformer.layers import LayerLoop
from tm2tfr.transformer.parts import NO_BOS, NORMS, OF_LABELLERS, TABLE, refuse_export
from tm2tfr.transformer.positions import feature, is_built_in
from tm2tfr.transformer.provenance import is_hidden
from tm2tfr.transformer.residual import Residual
from tm2tfr.transformer.soft import power_of_two, smallest_gap, theorem_26
from tm2tfr.transformer.weights import Decoder, Head, matrices, norms

LARGEST = 2**31
"""The largest size of all matrices in bytes; a larger export is refused, since it would not fit into an ONNX file."""


def fitted(right: ExportReference, **options: Unpack[Options]) -> Recipe:
    """Return the recipe as requested; by default the usual number of positions, or as many as fit.

    Without a program nothing is proved, and any number of positions fits.

    Raises:
        ExportError: if the request does not fit (it says what would), or the weights could not be proved to be the program.
    """
    decoder, name, asked = right.decoder, right.named(), Requested(**options)
    refuse_export(decoder, "PyTorch or ONNX", known=OF_LABELLERS if decoder.labeller else (TABLE, NORMS, NO_BOS))
    if (right.bounded or right.program is None) and not decoder.labeller and not is_hidden(decoder.provenance):
        refuse_export(decoder, "matrices without the program that they were compiled from")
    size = decoder.parameters * (4 if asked.dtype == "float32" else 8)
    if size > LARGEST:
        what = f"{visible(name)}: its matrices would have {size / 2**30:,.1f} GiB with their zeros"
        raise ExportError(
            f"{what}, but at most {LARGEST / 2**30:.0f} GiB are allowed: export {smaller(decoder.provenance)}"
        )
    check_dtype(asked.dtype)
    if decoder.labeller:
        recipe = fitted_to_labels(decoder, name, asked)
        _refuse_large(decoder, name, recipe.positions)
        return recipe
    if right.program is None:
        if asked.max_head is not None:
            what = "a bound on |h| is about Turing machines, and no machine is stored with these weights"
            raise ExportError(f"{what}: omit it")
        if decoder.soft and decoder.bos is not None:
            raise ExportError("these weights have softmax attention: export the weights that they were made from")
        return Uncertified(positions=decoder.positions or asked.positions or USUAL, dtype=asked.dtype)
    if not right.bounded:
        return fitted_to_table(decoder, right, asked)
    proof = right.prove()
    proved(proof)
    wanted, head = fitting(proof.conditions("dense", checked("dense", asked.dtype)), name, asked)
    return Recipe(positions=wanted, max_head=head, dtype=asked.dtype, scope=right.scope)


# ── A decoder's own matrices as tensors, and what each of their entries does.
def tensors(decoder: Decoder, dtype: str) -> dict[str, Array]:
    """Return every matrix, dense, by its path, e.g. ``layers.4.heads.0.query``; layers count from 1."""
    return {path: matrix.dense(dtype) for path, matrix in matrices(decoder).items()}


def described(decoder: Decoder, path: str, at: Sequence[int]) -> str:
    """Return the effect of the entry of a matrix at (row, column), as text."""
    directions, vocabulary, answered = decoder.layout.directions, decoder.vocabulary, decoder.answered
    row, column = at
    parts = path.split(".")
    if parts[0] == "loops":
        return f"loop {parts[1]}, whether it ends, reads {directions[column]}"
    if parts[0] != "layers":
        return {
            "token_embedding": lambda: f"embedding of {vocabulary[column]}: {directions[row]}",
            "position_embedding": lambda: f"embedding of the position's {decoder.features[column]}: {directions[row]}",
            "position_table": lambda: f"embedding of position {column}: {directions[row]}",
            "norm": lambda: f"last layer norm, {parts[-1]} of {directions[row]}",
            "unembedding": lambda: f"logit of {answered[row]}, reads {directions[column]}",
            "unembedding_bias": lambda: f"logit of {answered[row]}, bias",
        }[parts[0]]()
    layer, part = decoder.layers[int(parts[1]) - 1], parts[-1]
    where = f"layer {parts[1]} ({layer.name})"
    if parts[2] == "heads":
        head = f"{where}, head {layer.heads[int(parts[3])].name!r}"
        if part == "output":
            return f"{head}, value {column}, writes {directions[row]}"
        return f"{head}, {part} {row}, reads {directions[column]}"
    if parts[2].endswith("_norm"):
        return f"{where}, {parts[2].replace('_', ' ')}, {part} of {directions[row]}"
    units = layer.feed_forward.units if layer.feed_forward is not None else ()
    return {
        "input": lambda: f"{where}, unit {units[row]!r}, reads {directions[column]}",
        "input_bias": lambda: f"{where}, unit {units[row]!r}, bias",
        "output": lambda: f"{where}, unit {units[column]!r}, writes {directions[row]}",
        "output_bias": lambda: f"{where}, adds to {directions[row]}",
    }[part]()


def features(decoder: Decoder, positions: int, dtype: str) -> Array:
    """Return the position features that have a name of their own, each rounded once: (positions, features)."""
    built_in = [name for name in decoder.features if is_built_in(name)]
    table = np.empty((positions, len(built_in)), dtype=dtype)
    for column, name in enumerate(built_in):
        table[:, column] = [above / below for above, below in map(feature(name), range(positions))]
    return table


VERSION = "2"


def names(decoder: Decoder, recipe: Recipe, format: str, program: PlainData | None = None) -> PlainData:
    """Return the data for probes: the place of each named direction, head and hidden unit, and the export's origin.

    What not every export has is only there if this one has it: the epsilons of layer norms by their path, the loops over
    layers, and the `data` of its `program`.
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
        "layers": layers_named(decoder, 1, partial(_about, decoder)),
        "features": list(decoder.features),
        **({"expressions": written} if (written := _steps(decoder)) else {}),
        "temperature": _temperature(decoder, recipe.positions),
        "vocabulary": list(decoder.vocabulary),
        "bos": decoder.bos,
        "stop": list(decoder.stop),
        **({"outputs": outputs_of(decoder.outputs)} if decoder.labeller else {}),
        **({"loops": list(map(_looped, decoder.loops))} if decoder.loops else {}),
        **({"norms": {path: norm.epsilon for path, norm in norms(decoder)}} if decoder.normed else {}),
        **({} if program is None else {"program": dict(program)}),
    }


def _steps(decoder: Decoder) -> PlainData:
    """Return the steps that compute each position feature, and 1/τ, that is an expression, by its text."""
    return {text: plain(each.steps) for text, each in decoder.expressions.items()}


def _refuse_large(decoder: Decoder, name: str, positions: int) -> None:
    """Raise ExportError if whole numbers that an expression is computed from are not exact in float64."""
    for text, each in decoder.expressions.items():
        if (bits := each.bits(positions)) >= EXACT_BITS:
            where = f"{visible(name)}: at {counted(positions, 'position')} {text!r}"
            what = f"{where} is computed from numbers of {math.ceil(bits)} bits"
            raise ExportError(f"{what}, and an export has exact ones of up to {EXACT_BITS - 1}: use fewer --positions")


def _looped(loop: LayerLoop) -> PlainData:
    return {"layers": [loop.first, loop.last], "times": loop.times, "until": loop.until is not None}


def _temperature(decoder: Decoder, positions: int) -> float | None:
    """Return the temperature of softmax that Theorem 26 guarantees; None if nothing is claimed about the heads.

    The theorem is about heads with one best score; those of a sequence model may have several, and there is none.
    """
    if decoder.labeller:
        return None
    try:
        return power_of_two(theorem_26(decoder, positions, smallest_gap(decoder, positions)))
    except CompileError:
        return None


def _about(decoder: Decoder, layer: int, number: int) -> PlainData:
    """Return the components of a head's score; and how it weighs, and what it sees, if not as machines' heads do."""
    head = decoder.layers[layer].heads[number]
    soft = {"weighting": head.weighting} if head.weighting == "softmax" else {}
    inverse = {} if head.inverse_temperature == "1" else {"inverse_temperature": head.inverse_temperature}
    mask = {} if head.mask == "future" else {"mask": head.mask}
    return {"components": _components(head, decoder.layout), **soft, **inverse, **mask}


def _components(head: Head, layout: Residual) -> list[PlainData]:
    """Return the components of a head's score by name: the query and the key as linear forms."""
    pairs = zip(head.query.by_row(), head.key.by_row(), strict=True)
    return [{"query": layout.named(query), "key": layout.named(key)} for query, key in pairs]


def card(right: ExportReference, recipe: Recipe, *, title: str, use: str, assumed: str, rows: Mapping[str, object]) -> str:
    """Return the model card.

    Args:
        title: its title; use: how to run it; assumed: the certificate's assumptions about the program that runs it.
        rows: further rows of the table of sizes.
    """
    decoder = right.decoder
    between = "\n\n" if right.in_prompt else " "
    sizes = {
        "layers, heads in all, width": f"{len(decoder.layers)}, {decoder.heads}, {decoder.layout.width}",
        "positions": f"{recipe.positions:,}",
        "numbers": recipe.dtype,
        "attention": _attention(decoder),
        **({"run again": "; ".join(loop.said for loop in decoder.loops)} if decoder.loops else {}),
        **rows,
    }
    return f"""{heading(right, f"{escaped(right.named('A decoder'))} {title}")}
{introduction(right, f"an input word and `{decoder.bos}`")}{between}{use}

**How far it is right.** {recipe.explained(right.judge, assumed)}
More positions are refused.

{checking(right)}

**What is where.** `{NAMES}` names the directions of the residual stream (the value of a direction is x[index]), the
subspaces, layers, attention heads with the components of their scores, and hidden units.

{table(sizes)}"""


def _attention(decoder: Decoder) -> str:
    masks = {head.mask for layer in decoder.layers for head in layer.heads} or {"future"}
    seen = "future-masked" if masks == {"future"} else "not masked" if masks == {"none"} else "of different masks"
    if decoder.soft:
        inverse = dict.fromkeys(head.inverse_temperature for layer in decoder.layers for head in layer.heads)
        return f"softmax, {seen}" + (f", scores times {', '.join(inverse)}" if decoder.tempered else "")
    return f"average-hard, {seen}: the best-scored positions share evenly"
