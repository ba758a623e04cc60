"""A decoder as one ``.safetensors`` file, which is all that is needed to run it.

Every weight matrix is a float64 tensor called by its path, ``layers.3.heads.0.query``. One with more than
`DENSE` entries is three tensors instead, ``….rows`` and ``….columns`` (int64) and ``….values`` (float64), in the
order of the rows and then the columns. Everything else is one JSON object, the entry ``tm2tfr`` of the file's
metadata (a single entry, because safetensors writes several in any order).

Its ``digest`` is the SHA-256 of the object without it, as JSON with sorted keys, no spaces and nothing but ASCII;
then for each tensor, by name, of a line ``\\n name dtype shape\\n`` (``float64``, ``2 3``) and its bytes,
little-endian. It tells a damaged file from a whole one; it is no signature.
"""

from __future__ import annotations

import errno
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, deserialize
from safetensors import numpy as safetensors

from tm2tfr.errors import ShapeError, WeightFileError
from tm2tfr.export.files import write_bytes
from tm2tfr.export.node import Node
from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.residual import Residual, Subspace
from tm2tfr.transformer.weights import Decoder, FeedForward, Head, Layer, Mask, Weighting, matrices

FORMAT, VERSION = "tm2tfr-weights", "1"
DENSE = 2**20
"""A matrix with more entries than this, zeros included, is stored by its non-zero entries."""

_KEY = "tm2tfr"
_LARGEST_HEADER = 100_000_000  # bytes; the limit of safetensors itself
_LARGEST_SIDE = 2**24  # rows or columns: engines make a vector as long, whatever the matrix holds
_DTYPES = {"F64": np.dtype("<f8"), "I64": np.dtype("<i8")}
_AGAIN = "make it again with 'tm2tfr compile'"

Tensors = Mapping[str, NDArray[Any]]


def save(decoder: Decoder, path: str | Path) -> None:
    """Write `decoder` to a weight file; the same decoder gives the same file, bit for bit.

    Raises:
        OutputError: if the file cannot be written.
        WeightFileError: if a matrix has more than 2^24 rows or columns.
    """
    write_bytes(path, dumps(decoder))


def load(path: str | Path) -> Decoder:
    """Return the decoder of a weight file.

    Raises:
        WeightFileError: if the file cannot be read, or see `loads`.
    """
    try:
        data = Path(path).read_bytes()
    except FileNotFoundError as error:
        raise WeightFileError(f"{path}: there is no such file: check the name") from error
    except (OSError, ValueError, MemoryError) as error:
        number = error.errno if isinstance(error, OSError) else None
        if number == errno.EISDIR:
            raise WeightFileError(f"{path}: it is a folder: give the weight file in it") from error
        if number in (errno.EACCES, errno.EPERM):
            raise WeightFileError(f"{path}: no permission to read it: change its permissions") from error
        why = (error.strerror if isinstance(error, OSError) else None) or str(error) or "out of memory"
        raise WeightFileError(f"{str(path)!r}: it cannot be read ({why}): give a weight file") from error
    return loads(data, file=str(path))


def dumps(decoder: Decoder) -> bytes:
    """Return the weight file of `decoder`.

    Raises:
        WeightFileError: if a matrix has more than 2^24 rows or columns.
    """
    tensors: dict[str, NDArray[Any]] = {}
    sparse: dict[str, list[int]] = {}
    for path, matrix in matrices(decoder).items():
        if max(matrix.shape) > _LARGEST_SIDE:
            raise WeightFileError(f"{path}: shape {matrix.shape}: a weight file takes up to 2^24 rows or columns")
        if matrix.shape[0] * matrix.shape[1] <= DENSE:
            tensors[path] = matrix.dense(_DTYPES["F64"])
            continue
        sparse[path] = list(matrix.shape)
        for part in ("rows", "columns", "values"):
            dtype = _DTYPES["F64" if part == "values" else "I64"]
            tensors[f"{path}.{part}"] = np.ascontiguousarray(getattr(matrix, part), dtype)
    document = _document(decoder, sparse)
    document["digest"] = _digest(document, tensors)
    return safetensors.save(dict(tensors), {_KEY: json.dumps(document, ensure_ascii=False)})


def loads(data: bytes, *, file: str = "<weights>") -> Decoder:
    """Return the decoder of a weight file's contents; `file` is what errors call it.

    Raises:
        WeightFileError: the data is truncated, damaged, of another program or version, or no decoder.
    """
    document = _metadata(data, file)
    tensors = _tensors(data, file)
    digest = document["digest"].text()
    if digest != _digest({k: v for k, v in document.value.items() if k != "digest"}, tensors):
        raise WeightFileError(
            f"{file}: the contents do not match their digest, so the file is damaged or was changed: {_AGAIN}"
        )
    try:
        return _decoder(document, _Store(file, tensors, document["sparse"]))
    except ShapeError as error:
        raise WeightFileError(f"{file}: {error}: {_AGAIN}") from error


# ── what a decoder is beside its matrices ───────────────────────────────────────────────────────────────────
def _document(decoder: Decoder, sparse: Mapping[str, list[int]]) -> dict[str, Any]:
    """Return everything but the matrices; `sparse` has the shapes of those stored by their entries."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "layout": [{"name": s.name, "labels": s.labels and list(s.labels)} for s in decoder.layout.subspaces],
        "vocabulary": list(decoder.vocabulary),
        "bos": decoder.bos,
        "stop": list(decoder.stop),
        "features": list(decoder.features),
        "layers": [_layer_document(layer) for layer in decoder.layers],
        "provenance": dict(decoder.provenance),
        "sparse": dict(sparse),
    }


def _layer_document(layer: Layer) -> dict[str, Any]:
    heads = [{k: getattr(h, k) for k in ("name", "source", "mask", "weighting")} for h in layer.heads]
    ffn = layer.feed_forward
    units = None if ffn is None else {"units": list(ffn.units)}
    plain = {k: getattr(layer, k) for k in ("name", "meaning", "source")}
    return {**plain, "heads": heads, "feed_forward": units}
