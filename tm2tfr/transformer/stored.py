"""The metadata of a decoder in a weight file, as one JSON object, and back; see `storage`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from tm2tfr.base.choices import WEIGHTINGS
from tm2tfr.base.errors import ShapeError, listing
from tm2tfr.base.text.json_nodes import JsonValue
from tm2tfr.transformer.claims import OVER, Claim, Output, Over
from tm2tfr.transformer.matrix import AnyArray, Dtype, Matrix
from tm2tfr.transformer.parts import parts
from tm2tfr.transformer.residual import Residual, Subspace
from tm2tfr.transformer.weights import MASKS, Decoder, FeedForward, Head, Layer, LayerLoop, Norm, matrices, norms

FORMAT, VERSION, WITH_PARTS = "tm2tfr-weights", "2", "3"
READ = ("1", VERSION, WITH_PARTS)
"""The versions that are read. The first has no claims about subspaces, heads and layers."""
LARGEST_SIDE = 2**24  # rows or columns: engines make a vector of that length, however sparse the matrix
FLOAT, INT = np.dtype("<f8"), np.dtype("<i8")

Tensors = Mapping[str, AnyArray]


DENSE = 2**20
"""A matrix with more entries than this, zeros included, is stored by those that are not 0."""


def stored_sparsely(decoder: Decoder) -> dict[str, list[int]]:
    """Return the shapes of the matrices that are stored by their entries, by path."""
    return {path: list(m.shape) for path, m in matrices(decoder).items() if m.shape[0] * m.shape[1] > DENSE}


def stored_as(decoder: Decoder) -> dict[str, object]:
    """Return everything that a weight file says of a decoder, but the matrices."""
    epsilons = {path: norm.epsilon for path, norm in norms(decoder)}
    named = [
        {"name": output.name, "labels": output.labels and list(output.labels), **({"whole": True} if output.whole else {})}
        for output in decoder.outputs
    ]
    own = {"position_table": decoder.position_table is not None, "norms": epsilons, **({"outputs": named} if named else {})}
    if decoder.loops:
        own["loops"] = [_loop_document(loop) for loop in decoder.loops]
    if decoder.tempered:
        own["tempered"] = True
    more = {"parts": own} if parts(decoder) else {}
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
        "sparse": stored_sparsely(decoder),
        **more,
    }


def _subspace_document(subspace: Subspace) -> dict[str, object]:
    labels = None if subspace.labels is None else list(subspace.labels)
    since = {} if subspace.since is None else {"since": list(subspace.since)}
    groups = {"groups": [list(pair) for pair in subspace.groups]} if subspace.groups else {}
    return {"name": subspace.name, "labels": labels, "holds": subspace.holds, "share": subspace.share, **since, **groups}


def _layer_document(layer: Layer) -> dict[str, object]:
    ffn = layer.feed_forward
    units = None if ffn is None else {"units": list(ffn.units)}
    plain = {k: getattr(layer, k) for k in ("name", "meaning", "source", "equation")}
    return {**plain, "heads": [_head_document(head) for head in layer.heads], "feed_forward": units}


def _loop_document(loop: LayerLoop) -> dict[str, object]:
    return {"first": loop.first, "last": loop.last, "times": loop.times, "until": loop.until is not None}


def _head_document(head: Head) -> dict[str, object]:
    plain = {k: getattr(head, k) for k in ("name", "source", "mask", "weighting")}
    if head.inverse_temperature != "1":
        plain["inverse_temperature"] = head.inverse_temperature
    return {**plain, "claim": None if head.claim is None else _claim_document(head.claim)}


def _claim_document(claim: Claim) -> dict[str, object]:
    """Return a claim, without what it does not say: as in files from before that could be claimed."""
    plain: dict[str, object] = {"attends": claim.attends, "gap": claim.gap, "lookup": claim.lookup}
    over: dict[Over, dict[str, object]] = {"position": {}, "constant": {"constant": True}}
    return {
        **plain,
        **over.get(claim.over, {"over": claim.over}),
        **({} if claim.margin is None else {"margin": claim.margin}),
        **({"degree": claim.degree} if claim.degree else {}),
        **({"ties": True} if claim.ties else {}),
    }


# ── and back ────────────────────────────────────────────────────────────────────────────────────────────────
def restored(document: JsonValue, store: Store) -> Decoder:
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
        outputs=_outputs(document) if extended else (),
        loops=_loops(document, store) if extended else (),
    )


def _extended(document: JsonValue) -> bool:
    """Return whether the file says which parts there are that not all decoders have."""
    return document["version"].text() == WITH_PARTS


def epsilons_of(document: JsonValue) -> dict[str, float]:
    """Return the epsilon of each norm by its path, and refuse parts of any other kind."""
    if not _extended(document):
        return {}
    found = document["parts"]
    if unknown := set(found.keys) - {"position_table", "norms", "outputs", "loops", "tempered"}:
        raise ShapeError(f"its parts have {listing(sorted(unknown))}, which this tm2tfr does not know")
    return {path: found["norms"][path].real() for path in found["norms"].keys}


def _outputs(document: JsonValue) -> tuple[Output, ...]:
    found = document["parts"]
    items = found["outputs"].items() if "outputs" in found.keys else ()
    return tuple(
        Output(item["name"].text(), _labels(item), whole="whole" in item.keys and item["whole"].truth()) for item in items
    )


def _loops(document: JsonValue, store: Store) -> tuple[LayerLoop, ...]:
    found = document["parts"]
    items = found["loops"].items() if "loops" in found.keys else ()
    return tuple(
        LayerLoop(
            first=item["first"].whole(),
            last=item["last"].whole(),
            times=None if item["times"].value is None else item["times"].whole(),
            until=store.matrices(f"loops.{n}.", ("until",))["until"] if item["until"].truth() else None,
        )
        for n, item in enumerate(items, start=1)
    )


def _labels(item: JsonValue) -> tuple[str, ...] | None:
    return None if item["labels"].value is None else item["labels"].texts()


def _subspace(item: JsonValue, *, claims: bool) -> Subspace:
    plain = Subspace(item["name"].text(), _labels(item))
    if not claims:
        return plain
    since = _since(item["since"]) if "since" in item.keys else None
    groups = tuple(_group(pair) for pair in item["groups"].items()) if "groups" in item.keys else ()
    return replace(plain, holds=item["holds"].text(), share=item["share"].truth(), since=since, groups=groups)


def _group(item: JsonValue) -> tuple[str, str]:
    pair = item.texts()
    if len(pair) != 2:
        raise item.error("should be a value and its label")
    return pair[0], pair[1]


def _since(item: JsonValue) -> tuple[int, str]:
    pair = tuple(item.items())
    if len(pair) != 2:
        raise item.error("should be a layer and one of its parts")
    return pair[0].whole(), pair[1].text()


def _layer(item: JsonValue, prefix: str, store: Store, *, claims: bool) -> Layer:
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


def _head(item: JsonValue, prefix: str, store: Store, *, claims: bool) -> Head:
    parts = store.matrices(prefix, ("query", "key", "value", "output"))
    return Head(
        name=item["name"].text(),
        source=item["source"].text(),
        mask=item["mask"].choice(MASKS),
        weighting=item["weighting"].choice(WEIGHTINGS),
        inverse_temperature=item["inverse_temperature"].text() if "inverse_temperature" in item.keys else "1",
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
    over = item["over"].choice(OVER) if "over" in item.keys else "position"
    if "constant" in item.keys and item["constant"].truth():
        over = "constant"
    margin = item["margin"].real() if "margin" in item.keys else None
    degree = item["degree"].whole() if "degree" in item.keys else 0
    attends, lookup = item["attends"].text(), item["lookup"].truth()
    ties = "ties" in item.keys and item["ties"].truth()
    return Claim(attends=attends, gap=gap, lookup=lookup, over=over, margin=margin, degree=degree, ties=ties)


def _feed_forward(item: JsonValue, prefix: str, store: Store) -> FeedForward:
    parts = ("input", "input_bias", "output", "output_bias")
    return FeedForward(units=item["units"].texts(), **store.matrices(prefix, parts))


# ── its tensors ─────────────────────────────────────────────────────────────────────────────────────────────
class Store:
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
        """The names not requested."""
        return sorted({*self._tensors, *self._shapes})

    @property
    def unused_norms(self) -> list[str]:
        """The paths of the norms not requested."""
        return sorted(self._epsilons)

    def _matrix(self, path: str) -> Matrix:
        if path not in self._shapes:
            return Matrix.from_dense(self._tensor(path, FLOAT, 2))
        self._shapes.remove(path)
        shape = [side.number(most=LARGEST_SIDE) for side in self._sparse[path].items()]
        if len(shape) != 2:
            raise self._sparse[path].error("should be two numbers")
        rows, columns = (self._tensor(f"{path}.{part}", INT, 1) for part in ("rows", "columns"))
        return Matrix((shape[0], shape[1]), rows, columns, self._tensor(f"{path}.values", FLOAT, 1))

    def _tensor(self, name: str, dtype: Dtype, dimensions: int) -> AnyArray:
        if name not in self._tensors:
            raise ShapeError(f"the tensor {name!r} is missing")
        tensor = self._tensors.pop(name)
        if tensor.dtype != dtype or tensor.ndim != dimensions:
            kind = "matrix" if dimensions == 2 else "vector"
            raise ShapeError(f"the tensor {name!r} should be a {kind} of {dtype}")
        return tensor
