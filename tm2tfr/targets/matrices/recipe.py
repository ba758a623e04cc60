"""The number of positions of an export with a decoder's own matrices: as many as are certified for the dense engine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from tm2tfr.base.errors import ExportError, visible
from tm2tfr.certificates.kit import checked
from tm2tfr.contract.exported import ExportReference
from tm2tfr.targets.common.fitting import USUAL, Options, Recipe, Requested, check_dtype, fitting, proved
from tm2tfr.targets.common.reference import smaller
from tm2tfr.targets.common.tabled import Uncertified, fitted_to_labels, fitted_to_table
from tm2tfr.transformer.parts import AHEAD, NO_BOS, NORMS, OUTPUTS, TABLE, refuse_export
from tm2tfr.transformer.positions import feature
from tm2tfr.transformer.provenance import is_hidden
from tm2tfr.transformer.weights import Decoder, matrices

LARGEST = 2**31
"""The largest size of all matrices in bytes; a larger export is refused, since it would not fit into an ONNX file."""


def fitted(right: ExportReference, **options: Unpack[Options]) -> Recipe:
    """Return the recipe as requested; by default the usual number of positions, or as many as fit.

    Without a program nothing is proved, and any number of positions fits.

    Raises:
        ExportError: if the request does not fit (it says what would), or the weights could not be proved to be the program.
    """
    decoder, name, asked = right.decoder, right.named(), Requested(**options)
    known = (TABLE, NO_BOS, AHEAD, OUTPUTS) if decoder.labeller else (TABLE, NORMS, NO_BOS)
    refuse_export(decoder, "PyTorch or ONNX", known=known)
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
        return fitted_to_labels(decoder, name, asked)
    if right.program is None:
        if asked.max_head is not None:
            what = "a bound on |h| is about Turing machines, and no machine is stored with these weights"
            raise ExportError(f"{what}: omit it")
        if decoder.soft:
            raise ExportError("these weights have softmax attention: export the weights that they were made from")
        return Uncertified(positions=decoder.positions or asked.positions or USUAL, dtype=asked.dtype)
    if not right.bounded:
        return fitted_to_table(decoder, right, asked)
    proof = right.prove()
    proved(proof)
    wanted, head = fitting(proof.conditions("dense", checked("dense", asked.dtype)), name, asked)
    return Recipe(positions=wanted, max_head=head, dtype=asked.dtype, scope=right.scope)


# ── A decoder's own matrices as tensors, and what each of their entries does.
def tensors(decoder: Decoder, dtype: str) -> dict[str, NDArray[Any]]:
    """Return every matrix, dense, by its path, e.g. ``layers.4.heads.0.query``; layers count from 1."""
    return {path: matrix.dense(dtype) for path, matrix in matrices(decoder).items()}


def described(decoder: Decoder, path: str, at: Sequence[int]) -> str:
    """Return in words what the entry of a matrix at (row, column) does."""
    directions, vocabulary, answered = decoder.layout.directions, decoder.vocabulary, decoder.answered
    row, column = at
    parts = path.split(".")
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


def features(decoder: Decoder, positions: int, dtype: str) -> NDArray[Any]:
    """Return the position features, each rounded once: (positions, features)."""
    table = np.empty((positions, len(decoder.features)), dtype=dtype)
    for column, name in enumerate(decoder.features):
        table[:, column] = [above / below for above, below in map(feature(name), range(positions))]
    return table
