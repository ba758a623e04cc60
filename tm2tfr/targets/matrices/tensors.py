"""A decoder's own matrices as tensors, and what each of their entries does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tm2tfr.transformer.positions import feature
from tm2tfr.transformer.weights import Decoder, matrices


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
