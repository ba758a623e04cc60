r"""A decoder as one ``.safetensors`` file, which is all that is needed to run it.

Every weight matrix is a float64 tensor named by its path, ``layers.3.heads.0.query``. One with more than
`DENSE` entries is three tensors instead, ``….rows`` and ``….columns`` (int64) and ``….values`` (float64), in the
order of the rows and then the columns. Everything else is one JSON object, the entry ``tm2tfr`` of the file's
metadata (a single entry, because safetensors writes several in any order).

Version 2 states what is claimed: what each subspace holds and whether that is a share, a claim or null for each head, an
equation for each layer. Files of version 1 have none of these; `tm2tfr.sources.turing.compiler.version_1` supplies them.

Version 3 is that of decoders with a position table, layer norms or no BOS, so that a program that does not know these
refuses the file. It is version 2 with an object ``parts``, which says whether there is a ``position_table`` and has the
epsilons of all ``norms`` by path, ``layers.1.attention_norm``, whose tensors are ``….gain`` and ``….bias``; ``bos`` may be
null. It is also that of decoders with heads that look ahead, whose ``mask`` is ``past`` or ``none``, and of those with
outputs by name: then ``parts`` has ``outputs``, each with its ``name`` and its ``labels``, null for a number. Where layers
are run again ``parts`` has ``loops``, each with the numbers of its ``first`` and ``last`` layer, from 1, the most ``times``
it is run, null if that is not stated, and ``until``: whether there is a tensor ``loops.1.until``. Where the temperature of
a head depends on the position, the head has an ``inverse_temperature``, a position feature, and ``parts`` has ``tempered``,
true. A subspace may have ``since``, the layer and the part after which it is claimed to hold its value, and ``groups``,
pairs of a value and its label.

Its ``digest`` is the SHA-256 of the object without it, as JSON with sorted keys, no spaces and only ASCII,
followed, for each tensor by name, by a line ``\nname dtype shape\n`` (``float64``, ``2 3``) and its bytes,
little-endian. It tells a damaged file from an intact one; it is not a signature.
"""

from __future__ import annotations

import errno
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors import numpy as safetensors

from tm2tfr.base.errors import ShapeError, WeightFileError, listing
from tm2tfr.base.files import write_bytes
from tm2tfr.base.text.json_nodes import JsonValue
from tm2tfr.transformer.matrix import AnyArray
from tm2tfr.transformer.stored import (
    FLOAT,
    FORMAT,
    INT,
    LARGEST_SIDE,
    READ,
    Store,
    Tensors,
    epsilons_of,
    restored,
    stored_as,
    stored_sparsely,
)
from tm2tfr.transformer.weights import Decoder, matrices

_KEY = "tm2tfr"
_LARGEST_HEADER = 100_000_000  # bytes; the limit of safetensors itself
_EMPTY = 2**21  # components of all heads together, whatever they contain
_DTYPES = (FLOAT, INT)
_AGAIN = "make it again with 'tm2tfr compile'"


def save(decoder: Decoder, path: str | Path) -> None:
    """Write `decoder` to a weight file; the same decoder gives the same file, bit for bit.

    Raises:
        OutputError: if the file cannot be written.
        WeightFileError: if a matrix has more than 2^24 rows or columns, or heads have millions of components that are 0.
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
            raise WeightFileError(f"{path}: it is a folder: name the weight file in it") from error
        if number in (errno.EACCES, errno.EPERM):
            raise WeightFileError(f"{path}: no permission to read it: change its permissions") from error
        why = (error.strerror if isinstance(error, OSError) else None) or str(error) or "out of memory"
        raise WeightFileError(f"{str(path)!r}: it cannot be read ({why}): use a weight file") from error
    return loads(data, file=str(path))


def dumps(decoder: Decoder) -> bytes:
    """Return the weight file of `decoder`.

    Raises:
        WeightFileError: if a matrix has more than 2^24 rows or columns, heads have millions of components that are 0, or
            the source and the names are too long for the header of a safetensors file.
    """
    tensors: dict[str, AnyArray] = {}
    sparse = stored_sparsely(decoder)
    for path, matrix in matrices(decoder).items():
        if max(matrix.shape) > LARGEST_SIDE:
            raise WeightFileError(f"{path}: shape {matrix.shape}: a weight file can have at most 2^24 rows or columns")
        if path not in sparse:
            tensors[path] = matrix.dense(FLOAT)
            continue
        for part in ("rows", "columns", "values"):
            dtype = FLOAT if part == "values" else INT
            tensors[f"{path}.{part}"] = np.ascontiguousarray(getattr(matrix, part), dtype)
    try:
        _refuse_empty_sizes(decoder)
    except ShapeError as error:
        raise WeightFileError(f"{error}: remove components that are 0") from error
    document = stored_as(decoder)
    document["digest"] = _digest(document, tensors)
    try:
        return safetensors.save(tensors, {_KEY: json.dumps(document)})
    except SafetensorError as error:  # the header is too large
        size = len(json.dumps(json.dumps(document)))
        problem = (
            f"what is stated beside the matrices takes {size:,} bytes, and safetensors reads at most {_LARGEST_HEADER:,}"
        )
        raise WeightFileError(f"{problem}: shorten the source, for example its names") from error


def loads(data: bytes, *, file: str = "<weights>") -> Decoder:
    """Return the decoder of a weight file's contents; `file` is its name in errors.

    Raises:
        WeightFileError: if the data is truncated, damaged, from another program or version, or not a decoder.
    """
    document, tensors = _metadata(data, file), _tensors(data, file)
    try:
        if document["digest"].text() != _digest(document.value, tensors):
            raise ShapeError("its contents do not match its digest, so it is damaged or was changed")
        store = Store(tensors, document["sparse"], epsilons_of(document))
        decoder = restored(document, store)
        if store.unused:
            raise ShapeError(f"nothing uses the tensors {listing(store.unused)}")
        if store.unused_norms:
            raise ShapeError(f"there is no place for the norms {listing(store.unused_norms)}")
        _refuse_empty_sizes(decoder)
    except (ShapeError, RecursionError) as error:  # the latter for JSON that is nested too deeply
        raise WeightFileError(f"{file}: {error}: {_AGAIN}") from error
    return decoder


def _refuse_empty_sizes(decoder: Decoder) -> None:
    """Raise ShapeError if the heads are much larger than their contents.

    Directions, tokens and units are listed by name, so that a file grows with their number. The sizes d_k and d_v
    of the heads are numbers: a small file could ask an engine for vectors of any length, all of them 0.
    """
    asked = sum(head.query.shape[0] + head.value.shape[0] for layer in decoder.layers for head in layer.heads)
    most = max(_EMPTY, decoder.nonzero)
    if asked > most:
        problem = f"its heads have {asked:,} components (d_k and d_v) for {decoder.nonzero:,} entries that are not 0"
        raise ShapeError(f"{problem}, but at most {most:,} are allowed")


def _digest(document: Mapping[str, object], tensors: Tensors) -> str:
    """Return the SHA-256 that the docstring of this module defines."""
    rest = {key: value for key, value in document.items() if key != "digest"}
    total = hashlib.sha256(json.dumps(rest, sort_keys=True, separators=(",", ":")).encode())
    for name, tensor in sorted(tensors.items()):
        shape = " ".join(map(str, tensor.shape))
        total.update(f"\n{name} {tensor.dtype.name} {shape}\n".encode(errors="surrogatepass"))
        total.update(tensor.tobytes())
    return total.hexdigest()


# ── from bytes to metadata and tensors ──────────────────────────────────────────────────────────────────────
def _metadata(data: bytes, file: str) -> JsonValue:
    """Return the metadata object of a file of this format and version."""
    if not data:
        raise WeightFileError(f"{file}: it is empty: {_AGAIN}")
    if data[8:9] != b"{":
        raise WeightFileError(f"{file}: it is not a safetensors file: use a file made by 'tm2tfr compile'")
    size = int.from_bytes(data[:8], "little")
    if size > _LARGEST_HEADER:
        raise WeightFileError(f"{file}: its header claims to be {size} bytes long, so it is damaged: {_AGAIN}")
    if 8 + size > len(data):
        raise WeightFileError(f"{file}: it ends in the middle of its header, so it is truncated: {_AGAIN}")
    header = _parsed(data[8 : 8 + size], file)
    extra = header.get("__metadata__") if isinstance(header, dict) else None
    text = extra.get(_KEY) if isinstance(extra, dict) else None
    if not isinstance(text, str):
        raise WeightFileError(
            f"{file}: this safetensors file is from another program (its metadata has no {_KEY!r}): "
            "use a file made by 'tm2tfr compile'"
        )
    document = JsonValue(_parsed(text, file), file)
    document["format"].choice([FORMAT])
    version = document["version"].text()
    if version not in READ:
        raise WeightFileError(
            f"{file}: this weight file has version {version!r}, but this tm2tfr reads the versions "
            f"{', '.join(READ[:-1])} and {READ[-1]}: make it again with this tm2tfr, or load it with the one that made it"
        )
    return document


def _parsed(text: str | bytes, file: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise WeightFileError(f"{file}: its metadata is not JSON ({error}), so it is damaged: {_AGAIN}") from error


def _tensors(data: bytes, file: str) -> dict[str, AnyArray]:
    """Return the tensors: matrices of a reasonable shape, and vectors; nothing larger than `data` is made."""
    try:
        tensors = safetensors.load(data)
    except (SafetensorError, KeyError, ValueError) as error:  # a KeyError for a dtype that numpy does not have
        raise WeightFileError(f"{file}: it is damaged or truncated ({error}): {_AGAIN}") from error
    for name, tensor in tensors.items():
        if tensor.dtype not in _DTYPES:
            raise WeightFileError(f"{file}: the tensor {name!r} has the dtype {tensor.dtype}: {_AGAIN}")
        if tensor.ndim != 1 and not (tensor.ndim == 2 and max(tensor.shape) <= LARGEST_SIDE):
            raise WeightFileError(f"{file}: the tensor {name!r} has the shape {tensor.shape}: {_AGAIN}")
    return tensors
