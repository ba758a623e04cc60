r"""A decoder as one ``.safetensors`` file, which is all that is needed to run it.

Every weight matrix is a float64 tensor named by its path, ``layers.3.heads.0.query``. One with more than
`DENSE` entries is three tensors instead, ``….rows`` and ``….columns`` (int64) and ``….values`` (float64), in the
order of the rows and then the columns. Everything else is one JSON object, the entry ``tm2tfr`` of the file's
metadata (a single entry, because safetensors writes several in any order).

Version 2 states what is claimed: what each subspace holds and whether that is a share, a claim or null for each head, an
equation for each layer. Files of version 1 have none of these; `tm2tfr.sources.turing.compiler.version_1` knows what was
meant.

Version 3 is that of decoders with a position table, layer norms or no BOS, so that a program that does not know these
refuses the file. It is version 2 with an object ``parts``, which says whether there is a ``position_table`` and has the
epsilons of all ``norms`` by path, ``layers.1.attention_norm``, whose tensors are ``….gain`` and ``….bias``; ``bos`` may be
null.

Its ``digest`` is the SHA-256 of the object without it, as JSON with sorted keys, no spaces and nothing but ASCII,
followed, for each tensor by name, by a line ``\nname dtype shape\n`` (``float64``, ``2 3``) and its bytes,
little-endian. It tells a damaged file from an intact one; it is not a signature.
"""

from __future__ import annotations

import errno
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors import numpy as safetensors

from tm2tfr.choices import Weighting
from tm2tfr.errors import ShapeError, WeightFileError, listing
from tm2tfr.files import write_bytes
from tm2tfr.text.json_value import JsonValue
from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.parts import parts
from tm2tfr.transformer.residual import Residual, Subspace
from tm2tfr.transformer.weights import Claim, Decoder, FeedForward, Head, Layer, Mask, Norm, matrices, norms

FORMAT, VERSION, WITH_PARTS = "tm2tfr-weights", "2", "3"
READ = ("1", VERSION, WITH_PARTS)
"""The versions that are read. In the first, nothing says what a subspace, a head or a layer is claimed to be."""
DENSE = 2**20
"""A matrix with more entries than this, zeros included, is stored by its non-zero entries."""

_KEY = "tm2tfr"
_LARGEST_HEADER = 100_000_000  # bytes; the limit of safetensors itself
_LARGEST_SIDE = 2**24  # rows or columns: engines make a vector of that length, however sparse the matrix
_EMPTY = 2**21  # components of all heads together, whatever they contain
_FLOAT, _INT = np.dtype("<f8"), np.dtype("<i8")
_DTYPES = (_FLOAT, _INT)
_AGAIN = "make it again with 'tm2tfr compile'"

Tensors = Mapping[str, NDArray[Any]]


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
        WeightFileError: if a matrix has more than 2^24 rows or columns, or heads have millions of components that are 0.
    """
    tensors: dict[str, NDArray[Any]] = {}
    sparse: dict[str, list[int]] = {}
    for path, matrix in matrices(decoder).items():
        if max(matrix.shape) > _LARGEST_SIDE:
            raise WeightFileError(f"{path}: shape {matrix.shape}: a weight file can have at most 2^24 rows or columns")
        if matrix.shape[0] * matrix.shape[1] <= DENSE:
            tensors[path] = matrix.dense(_FLOAT)
            continue
        sparse[path] = list(matrix.shape)
        for part in ("rows", "columns", "values"):
            dtype = _FLOAT if part == "values" else _INT
            tensors[f"{path}.{part}"] = np.ascontiguousarray(getattr(matrix, part), dtype)
    try:
        _refuse_empty_sizes(decoder)
    except ShapeError as error:
        raise WeightFileError(f"{error}: remove components that are 0") from error
    document = _document(decoder, sparse)
    document["digest"] = _digest(document, tensors)
    return safetensors.save(tensors, {_KEY: json.dumps(document)})


def loads(data: bytes, *, file: str = "<weights>") -> Decoder:
    """Return the decoder of a weight file's contents; `file` is its name in errors.

    Raises:
        WeightFileError: if the data is truncated, damaged, from another program or version, or not a decoder.
    """
    document, tensors = _metadata(data, file), _tensors(data, file)
    try:
        if document["digest"].text() != _digest(document.value, tensors):
            raise ShapeError("its contents do not match its digest, so it is damaged or was changed")
        store = _Store(tensors, document["sparse"], _epsilons(document))
        decoder = _decoder(document, store)
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
        what = f"its heads have {asked:,} components (d_k and d_v) for {decoder.nonzero:,} entries that are not 0"
        raise ShapeError(f"{what}, but at most {most:,} are allowed")


def _digest(document: Mapping[str, Any], tensors: Tensors) -> str:
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


def _tensors(data: bytes, file: str) -> dict[str, NDArray[Any]]:
    """Return the tensors: matrices of a reasonable shape, and vectors; nothing larger than `data` is made."""
    try:
        tensors = safetensors.load(data)
    except (SafetensorError, KeyError, ValueError) as error:  # a KeyError for a dtype that numpy does not have
        raise WeightFileError(f"{file}: it is damaged or truncated ({error}): {_AGAIN}") from error
    for name, tensor in tensors.items():
        if tensor.dtype not in _DTYPES:
            raise WeightFileError(f"{file}: the tensor {name!r} has the dtype {tensor.dtype}: {_AGAIN}")
        if tensor.ndim != 1 and not (tensor.ndim == 2 and max(tensor.shape) <= _LARGEST_SIDE):
            raise WeightFileError(f"{file}: the tensor {name!r} has the shape {tensor.shape}: {_AGAIN}")
    return tensors


class _Store:
    """The tensors of a file, taken out one matrix after the other."""

    def __init__(self, tensors: Tensors, sparse: JsonValue, epsilons: Mapping[str, float]) -> None:
        self._tensors, self._sparse, self._shapes = dict(tensors), sparse, set(sparse.keys)
        self._epsilons = dict(epsilons)

    def matrices(self, prefix: str, names: Sequence[str]) -> dict[str, Matrix]:
        """Take out the matrices called ``prefix + name``, by name."""
        return {name: self._matrix(prefix + name) for name in names}

    def norm(self, path: str) -> Norm | None:
        """Take out the norm at `path`; None if there is none."""
        if path not in self._epsilons:
            return None
        found = self.matrices(f"{path}.", ("gain", "bias"))
        return Norm(gain=found["gain"], bias=found["bias"], epsilon=self._epsilons.pop(path))

    @property
    def unused(self) -> list[str]:
        """The names that were not asked for."""
        return sorted({*self._tensors, *self._shapes})

    @property
    def unused_norms(self) -> list[str]:
        """The paths of the norms that were not asked for."""
        return sorted(self._epsilons)

    def _matrix(self, path: str) -> Matrix:
        if path not in self._shapes:
            return Matrix.from_dense(self._tensor(path, _FLOAT, 2))
        self._shapes.remove(path)
        shape = [side.number(most=_LARGEST_SIDE) for side in self._sparse[path].items()]
        if len(shape) != 2:
            raise self._sparse[path].error("should be two numbers")
        rows, columns = (self._tensor(f"{path}.{part}", _INT, 1) for part in ("rows", "columns"))
        return Matrix((shape[0], shape[1]), rows, columns, self._tensor(f"{path}.values", _FLOAT, 1))

    def _tensor(self, name: str, dtype: np.dtype[Any], dimensions: int) -> NDArray[Any]:
        if name not in self._tensors:
            raise ShapeError(f"the tensor {name!r} is missing")
        tensor = self._tensors.pop(name)
        if tensor.dtype != dtype or tensor.ndim != dimensions:
            kind = "matrix" if dimensions == 2 else "vector"
            raise ShapeError(f"the tensor {name!r} should be a {kind} of {dtype}")
        return tensor


# ── the rest of a decoder ───────────────────────────────────────────────────────────────────────────────────
def _document(decoder: Decoder, sparse: Mapping[str, list[int]]) -> dict[str, Any]:
    """Return everything but the matrices; `sparse` has the shapes of those stored by their entries."""
    epsilons = {path: norm.epsilon for path, norm in norms(decoder)}
    more = {"parts": {"position_table": decoder.position_table is not None, "norms": epsilons}} if parts(decoder) else {}
    return {
        "format": FORMAT,
        "version": WITH_PARTS if more else VERSION,
        "layout": [_subspace_document(subspace) for subspace in decoder.layout.subspaces],
        "vocabulary": list(decoder.vocabulary),
        "bos": decoder.bos,
        "stop": list(decoder.stop),
        "features": list(decoder.features),
        "layers": [_layer_document(layer) for layer in decoder.layers],
        "provenance": dict(decoder.provenance),
        "sparse": dict(sparse),
        **more,
    }


def _subspace_document(subspace: Subspace) -> dict[str, Any]:
    labels = None if subspace.labels is None else list(subspace.labels)
    return {"name": subspace.name, "labels": labels, "holds": subspace.holds, "share": subspace.share}


def _layer_document(layer: Layer) -> dict[str, Any]:
    ffn = layer.feed_forward
    units = None if ffn is None else {"units": list(ffn.units)}
    plain = {k: getattr(layer, k) for k in ("name", "meaning", "source", "equation")}
    return {**plain, "heads": [_head_document(head) for head in layer.heads], "feed_forward": units}


def _head_document(head: Head) -> dict[str, Any]:
    plain = {k: getattr(head, k) for k in ("name", "source", "mask", "weighting")}
    claim = {} if head.claim is None else asdict(head.claim)
    if not claim.get("constant"):
        claim.pop("constant", None)  # as in files from before there was such a claim
    return {**plain, "claim": claim or None}


# ── and back ────────────────────────────────────────────────────────────────────────────────────────────────
def _decoder(document: JsonValue, store: _Store) -> Decoder:
    outer = ("token_embedding", "position_embedding", "unembedding", "unembedding_bias")
    own = store.matrices("", outer)
    provenance, claims, extended = document["provenance"], document["version"].text() != READ[0], _extended(document)
    tabled = extended and document["parts"]["position_table"].truth()
    return Decoder(
        layout=Residual(tuple(_subspace(item, claims=claims) for item in document["layout"].items())),
        vocabulary=document["vocabulary"].texts(),
        bos=None if extended and document["bos"].value is None else document["bos"].text(),
        stop=document["stop"].texts(),
        features=document["features"].texts(),
        layers=tuple(
            _layer(item, f"layers.{n}.", store, claims=claims) for n, item in enumerate(document["layers"].items(), start=1)
        ),
        provenance={key: provenance[key].text() for key in provenance.keys},
        token_embedding=own["token_embedding"],
        position_embedding=own["position_embedding"],
        unembedding=own["unembedding"],
        unembedding_bias=own["unembedding_bias"],
        position_table=store.matrices("", ("position_table",))["position_table"] if tabled else None,
        norm=store.norm("norm"),
    )


def _extended(document: JsonValue) -> bool:
    """Return whether the file says which parts there are that not all decoders have."""
    return document["version"].text() == WITH_PARTS


def _epsilons(document: JsonValue) -> dict[str, float]:
    """Return the epsilon of each norm by its path, and refuse parts of any other kind."""
    if not _extended(document):
        return {}
    found = document["parts"]
    if unknown := set(found.keys) - {"position_table", "norms"}:
        raise ShapeError(f"its parts have {listing(sorted(unknown))}, which this tm2tfr does not know")
    return {path: found["norms"][path].real() for path in found["norms"].keys}


def _subspace(item: JsonValue, *, claims: bool) -> Subspace:
    labels = item["labels"]
    plain = Subspace(item["name"].text(), None if labels.value is None else labels.texts())
    return replace(plain, holds=item["holds"].text(), share=item["share"].truth()) if claims else plain


def _layer(item: JsonValue, prefix: str, store: _Store, *, claims: bool) -> Layer:
    ffn = item["feed_forward"]
    return Layer(
        name=item["name"].text(),
        meaning=item["meaning"].text(),
        source=item["source"].text(),
        heads=tuple(
            _head(head, f"{prefix}heads.{k}.", store, claims=claims) for k, head in enumerate(item["heads"].items())
        ),
        feed_forward=None if ffn.value is None else _feed_forward(ffn, f"{prefix}feed_forward.", store),
        attention_norm=store.norm(f"{prefix}attention_norm"),
        feed_forward_norm=store.norm(f"{prefix}feed_forward_norm"),
        equation=item["equation"].text() if claims else "",
    )


def _head(item: JsonValue, prefix: str, store: _Store, *, claims: bool) -> Head:
    parts = store.matrices(prefix, ("query", "key", "value", "output"))
    return Head(
        name=item["name"].text(),
        source=item["source"].text(),
        mask=item["mask"].choice(get_args(Mask)),
        weighting=item["weighting"].choice(get_args(Weighting)),
        query=parts["query"],
        key=parts["key"],
        value=parts["value"],
        output=parts["output"],
        claim=_claim(item["claim"]) if claims else None,
    )


def _claim(item: JsonValue) -> Claim | None:
    if item.value is None:
        return None
    gap = None if item["gap"].value is None else item["gap"].real()
    constant = "constant" in item.keys and item["constant"].truth()
    return Claim(attends=item["attends"].text(), gap=gap, lookup=item["lookup"].truth(), constant=constant)


def _feed_forward(item: JsonValue, prefix: str, store: _Store) -> FeedForward:
    parts = ("input", "input_bias", "output", "output_bias")
    return FeedForward(units=item["units"].texts(), **store.matrices(prefix, parts))
