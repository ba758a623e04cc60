"""A decoder built again from an export's own files, where no machine says what its weights should be.

What was exported is known by a digest alone: it covers every number and every name.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tm2tfr.errors import ExportError, ShapeError
from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.outputs import Output
from tm2tfr.transformer.residual import Residual, Subspace, at
from tm2tfr.transformer.weights import OUTER, Decoder, FeedForward, Head, Layer

DIGEST = "digest"
"""The entry of the names that has the digest."""


def sealed(named: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
    """Return the names of an export with the digest of everything in them and of the matrices, (rows, columns) each."""
    names = {name: value for name, value in named.items() if name != DIGEST}
    total = hashlib.sha256(json.dumps(names, sort_keys=True).encode())
    for name, array in sorted(arrays.items()):
        total.update(f"{name} {array.dtype} {array.shape}".encode())
        total.update(np.ascontiguousarray(array).tobytes())
    return {**names, DIGEST: total.hexdigest()}


def rebuilt(folder: Path, said: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Decoder:
    """Return the decoder that an export contains, from its names and its matrices.

    Raises:
        ExportError: if they do not make a decoder.
    """
    try:
        return _decoder(said, arrays)
    except (KeyError, TypeError, ValueError, AttributeError, ShapeError) as error:
        what = f"{folder}: its names and its matrices do not fit together ({type(error).__name__}: {error})"
        raise ExportError(f"{what}: export it again") from error


def _decoder(said: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Decoder:
    directions = [str(direction["name"]) for direction in said["directions"]]
    places = said["subspaces"].items()
    outer = [name for name in OUTER if name in arrays or name != "position_table"]
    return Decoder(
        layout=Residual(tuple(_subspace(name, directions[start:stop]) for name, (start, stop) in places)),
        vocabulary=_texts(said["vocabulary"]),
        bos=None if said["bos"] is None else str(said["bos"]),
        stop=_texts(said["stop"]),
        features=_texts(said["features"]),
        layers=tuple(_layer(layer, f"layers.{n}.", arrays) for n, layer in enumerate(said["layers"], start=1)),
        outputs=tuple(_output(output) for output in said.get("outputs", ())),
        provenance=said["provenance"],
        **_matrices("", outer, arrays),
    )


def _subspace(name: str, directions: Sequence[str]) -> Subspace:
    """Return a subspace by the names of its directions: ``name[label]`` each, or its own if it is a number."""
    if list(directions) == [name]:
        return Subspace(name)
    return Subspace(name, tuple(each.removeprefix(at(name, "")[:-1])[:-1] for each in directions))


def _layer(said: Mapping[str, Any], path: str, arrays: Mapping[str, NDArray[Any]]) -> Layer:
    heads, ffn = [], None
    for k, head in enumerate(said["heads"]):
        parts = _matrices(f"{path}heads.{k}.", ("query", "key", "value", "output"), arrays)
        own = {name: head[name] for name in ("mask", "weighting") if name in head}
        heads.append(Head(name=str(head["name"]), source=str(head["source"]), **parts, **own))
    if f"{path}feed_forward.input" in arrays:
        parts = _matrices(f"{path}feed_forward.", ("input", "input_bias", "output", "output_bias"), arrays)
        ffn = FeedForward(units=_texts(said["units"]), **parts)
    about = {name: str(said[name]) for name in ("name", "meaning", "source")}
    return Layer(name=about["name"], meaning=about["meaning"], source=about["source"], heads=tuple(heads), feed_forward=ffn)


def _output(said: Mapping[str, Any]) -> Output:
    labels = said["labels"]
    return Output(str(said["name"]), None if labels is None else _texts(labels))


def _matrices(path: str, names: Sequence[str], arrays: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
    return {name: Matrix.from_dense(arrays[path + name]) for name in names}


def _texts(values: Sequence[Any]) -> tuple[str, ...]:
    return tuple(map(str, values))
