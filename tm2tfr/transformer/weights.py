"""A transformer decoder as frozen data: matrices, and the information needed to read them. It computes nothing.

Glossary of axes: ``width`` the residual stream, ``d_k`` queries and keys, ``d_v`` values, ``hidden`` the units
of a feed-forward layer, ``vocabulary`` tokens, ``features`` position features. Matrices act on columns.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any, TypeVar

from tm2tfr.base.errors import ShapeError, counted
from tm2tfr.transformer.claims import Output, check_outputs
from tm2tfr.transformer.expressions import FeatureExpression
from tm2tfr.transformer.layers import MASKS as MASKS  # noqa: PLC0414
from tm2tfr.transformer.layers import FeedForward as FeedForward  # noqa: PLC0414
from tm2tfr.transformer.layers import Head as Head  # noqa: PLC0414
from tm2tfr.transformer.layers import Layer as Layer  # noqa: PLC0414
from tm2tfr.transformer.layers import LayerLoop as LayerLoop  # noqa: PLC0414
from tm2tfr.transformer.layers import Mask as Mask  # noqa: PLC0414
from tm2tfr.transformer.layers import Norm as Norm  # noqa: PLC0414
from tm2tfr.transformer.layers import check_loops
from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.positions import expression, feature, is_built_in
from tm2tfr.transformer.residual import Residual


@dataclass(frozen=True, kw_only=True)
class Decoder:
    """The weights of a transformer, with the names of its directions, tokens, heads and layers.

    Args:
        layout: the named subspaces of the residual stream.
        vocabulary: the tokens as text; a token's number is its index.
        bos: the token that ends the prompt and starts the generation (Definition 8.1); None: generation starts after the
            prompt.
        stop: the tokens that end a generation; empty if the position table ends it.
        features: names of position features, see `tm2tfr.transformer.positions`.
        token_embedding: (width, vocabulary).
        position_embedding: (width, features).
        position_table: (width, positions); column i is added at position i, and runs end with the table. None: runs have
            any number of positions.
        layers: the layers, in order.
        unembedding: (answers, width), with unembedding_bias: (answers, 1). Without outputs there is one answer per token
            of the vocabulary, and the next token is the first one of maximal logit.
        norm: the layer norm before the unembedding.
        loops: blocks of layers that run repeatedly, in order; engines run the whole sequence through a pass before they
            decide whether the loop ends.
        outputs: the outputs of a sequence model at every position, which partition the rows of the unembedding, in order.
            Such a decoder labels its sequence and generates nothing: it has neither BOS nor stop tokens.
        provenance: where the weights come from, see `tm2tfr.transformer.provenance`; no engine reads it.

    Raises:
        ShapeError: if any two parts do not fit.
    """

    layout: Residual
    vocabulary: tuple[str, ...]
    bos: str | None
    stop: tuple[str, ...]
    features: tuple[str, ...]
    token_embedding: Matrix
    position_embedding: Matrix
    layers: tuple[Layer, ...]
    unembedding: Matrix
    unembedding_bias: Matrix
    position_table: Matrix | None = None
    norm: Norm | None = None
    loops: tuple[LayerLoop, ...] = ()
    outputs: tuple[Output, ...] = ()
    provenance: Mapping[str, str] = field(default_factory=dict, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "provenance", MappingProxyType(dict(self.provenance)))
        for name in ("vocabulary", "stop", "features", "layers", "loops", "outputs"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        special = (*(() if self.bos is None else (self.bos,)), *self.stop)
        words = (*special, *self.vocabulary, *self.features, *self.provenance, *self.provenance.values())
        for word in words:
            if not isinstance(word, str):
                raise ShapeError(f"tokens, features and provenance are text, and {word!r} is not: use {str(word)!r}")
        if len(set(self.vocabulary)) < len(self.vocabulary):
            raise ShapeError("the vocabulary contains a token twice")
        for token in special:
            if token not in self.vocabulary:
                raise ShapeError(f"{token!r} is a special token but not in the vocabulary")
        for name in self.features:
            feature(name)  # raises for an unknown one
        check_outputs(self.outputs, self.bos, self.stop)
        check_loops(self.loops, len(self.layers))
        width = self.layout.width
        fitting = {id(layer) for layer in self.layers if layer.__dict__.get(_FITS) == width}
        for path, matrix, shape in _shapes(self, fitting):
            if matrix.shape != shape:
                raise ShapeError(f"{path} has shape {matrix.shape}, expected {shape}")
        for layer in self.layers:
            layer.__dict__[_FITS] = width

    def __getstate__(self) -> dict[str, Any]:
        own = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}  # nothing that is cached
        return {**own, "provenance": dict(self.provenance)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update({**state, "provenance": MappingProxyType(state["provenance"])})

    @cached_property
    def numbers(self) -> Mapping[str, int]:
        """The number of each token."""
        return MappingProxyType({token: number for number, token in enumerate(self.vocabulary)})

    @property
    def positions(self) -> int | None:
        """The most positions of a run, those of the position table; None: any number."""
        return None if self.position_table is None else self.position_table.shape[1]

    @property
    def answered(self) -> tuple[str, ...]:
        """The name of each row of the unembedding: a token of the vocabulary, or a label of an output."""
        return tuple(name for output in self.outputs for name in output.answers) if self.outputs else self.vocabulary

    @property
    def answers(self) -> int:
        """The number of rows of the unembedding."""
        return len(self.answered)

    @property
    def labeller(self) -> bool:
        """Whether it labels its sequence by outputs, and generates nothing."""
        return bool(self.outputs)

    @property
    def looks_ahead(self) -> bool:
        """Whether any head attends to later positions, so that it needs the whole sequence at once."""
        return any(head.mask != "future" for layer in self.layers for head in layer.heads)

    @property
    def expressions(self) -> Mapping[str, FeatureExpression]:
        """The position features and inverse temperatures that are expressions in i and n: text -> expression."""
        heads = (head.inverse_temperature for layer in self.layers for head in layer.heads)
        written = (name for name in self.features if not is_built_in(name))
        return {name: expression(name) for name in (*written, *heads) if name != "1"}

    @property
    def of_length(self) -> bool:
        """Whether a position feature, or a temperature, depends on the length of the sequence."""
        return any(each.of_length for each in self.expressions.values())

    @property
    def sequential(self) -> bool:
        """Whether it can run position by position, without later positions or their number."""
        return not (self.looks_ahead or self.loops or self.of_length)

    @property
    def normed(self) -> bool:
        """Whether it has layer norms."""
        return next(norms(self), None) is not None

    @property
    def parameters(self) -> int:
        """The number of matrix entries, zeros included."""
        return sum(m.shape[0] * m.shape[1] for m in matrices(self).values())

    @property
    def nonzero(self) -> int:
        """The number of matrix entries that are not 0."""
        return sum(m.nonzero for m in matrices(self).values())

    @property
    def heads(self) -> int:
        """The number of attention heads."""
        return sum(len(layer.heads) for layer in self.layers)

    @property
    def hidden(self) -> int:
        """The number of ReLU units."""
        return sum(len(layer.feed_forward.units) for layer in self.layers if layer.feed_forward)

    @property
    def soft(self) -> bool:
        """Whether any head uses softmax."""
        return any(head.weighting == "softmax" for layer in self.layers for head in layer.heads)

    @property
    def unique(self) -> bool:
        """Whether any head has unique-hard attention."""
        return any(head.unique for layer in self.layers for head in layer.heads)

    @property
    def tempered(self) -> bool:
        """Whether the temperature of any head depends on the position, or on the length."""
        return any(head.inverse_temperature != "1" for layer in self.layers for head in layer.heads)

    @property
    def largest(self) -> float:
        """The largest absolute value of a weight."""
        return max((float(abs(m.values).max()) for m in matrices(self).values() if m.nonzero), default=0.0)

    def _repr_html_(self) -> str:
        """Return a table of the layers, for notebooks."""
        from tm2tfr.transformer.listing import html_summary  # noqa: PLC0415

        return html_summary(self)

    def __repr__(self) -> str:
        return (
            f"<Decoder: {counted(len(self.layers), 'layer')}, "
            f"{counted(len(self.loops), 'loop') + ', ' if self.loops else ''}{counted(self.heads, 'head')}, "
            f"{counted(self.hidden, 'hidden unit')}, "
            f"residual width {self.layout.width}, vocabulary {len(self.vocabulary)}, "
            f"{'' if self.positions is None else counted(self.positions, 'position') + ', '}{self.nonzero} non-zero>"
        )


OUTER = ("token_embedding", "position_embedding", "position_table", "unembedding", "unembedding_bias")
"""The matrices of a decoder itself."""
_NORMS = ("attention_norm", "feed_forward_norm")
_FITS = "_fits"
"""The attribute of a layer with the width of the last stream that its matrices were found to fit: decoders share layers."""


def norms(decoder: Decoder) -> Iterator[tuple[str, Norm]]:
    """Yield every layer norm by its path, e.g. ``layers.1.attention_norm``; layers count from 1."""
    for n, layer in enumerate(decoder.layers, start=1):
        for name in _NORMS:
            if (norm := getattr(layer, name)) is not None:
                yield f"layers.{n}.{name}", norm
    if decoder.norm is not None:
        yield "norm", decoder.norm


def _parts(
    decoder: Decoder, without: Collection[int] = ()
) -> Iterator[tuple[str, Decoder | Head | FeedForward | Norm | LayerLoop, str]]:
    """Yield ``(path, owner, attribute)`` for every matrix: the single list of the weights.

    Args:
        without: the identities of layers whose heads and feed-forward part are left out.
    """
    for name in OUTER:
        if getattr(decoder, name) is not None:
            yield name, decoder, name
    for path, norm in norms(decoder):
        yield f"{path}.gain", norm, "gain"
        yield f"{path}.bias", norm, "bias"
    for n, layer in enumerate(decoder.layers, start=1):
        if id(layer) in without:
            continue
        for k, head in enumerate(layer.heads):
            for name in ("query", "key", "value", "output"):
                yield f"layers.{n}.heads.{k}.{name}", head, name
        if layer.feed_forward is not None:
            for name in ("input", "input_bias", "output", "output_bias"):
                yield f"layers.{n}.feed_forward.{name}", layer.feed_forward, name
    for n, loop in enumerate(decoder.loops, start=1):
        if loop.until is not None:
            yield f"loops.{n}.until", loop, "until"


def matrices(decoder: Decoder) -> dict[str, Matrix]:
    """Return every weight matrix by its path, e.g. ``layers.3.heads.0.query``; layers count from 1."""
    return {path: getattr(owner, name) for path, owner, name in _parts(decoder)}


def digest(decoder: Decoder, *, without: Collection[str] = ()) -> str:
    """Return the SHA-256 digest of the matrices, the layout and the vocabulary.

    It also covers, if the weights have them: soft and unique-hard weightings, temperatures that depend on the position,
    expressions as position features, epsilons of layer norms, missing BOS or stop tokens, masks that look ahead, outputs,
    and the layers and passes of loops.

    Args:
        without: paths of matrices to leave out, such as ``position_table``.
    """
    import hashlib  # noqa: PLC0415  (a run needs no digest, and OpenSSL takes 3 ms)

    total = hashlib.sha256(repr((decoder.vocabulary, decoder.layout.directions)).encode())
    if decoder.soft or decoder.unique:
        total.update(repr([[head.weighting for head in layer.heads] for layer in decoder.layers]).encode())
    if decoder.normed:
        total.update(repr([(path, norm.epsilon) for path, norm in norms(decoder)]).encode())
    if decoder.bos is None or not decoder.stop:
        total.update(repr((decoder.bos, decoder.stop)).encode())
    if written := [name for name in decoder.features if not is_built_in(name)]:
        total.update(repr(written).encode())
    if decoder.tempered:
        total.update(repr([[head.inverse_temperature for head in layer.heads] for layer in decoder.layers]).encode())
    if decoder.looks_ahead:
        total.update(repr([[head.mask for head in layer.heads] for layer in decoder.layers]).encode())
    if decoder.outputs:
        total.update(repr([(output.name, output.labels) for output in decoder.outputs]).encode())
    if decoder.loops:
        total.update(repr([(loop.first, loop.last, loop.times) for loop in decoder.loops]).encode())
    for path, matrix in matrices(decoder).items():
        if path in without:
            continue
        total.update(f"{path} {matrix.shape}".encode())
        for array in (matrix.rows, matrix.columns, matrix.values):
            total.update(array.tobytes())
    return total.hexdigest()


_Part = TypeVar("_Part", Head, FeedForward, Norm, LayerLoop, Decoder)


def replaced(decoder: Decoder, changed: Mapping[str, Matrix]) -> Decoder:
    """Return a copy of `decoder` with the matrices at the paths in `changed` replaced.

    Raises:
        ShapeError: for an unknown path or a matrix of another shape.
    """
    unknown = [path for path in changed if path not in matrices(decoder)]
    if unknown:
        raise ShapeError(f"no weight matrix is called {unknown[0]!r}")

    def mended(owner: _Part, prefix: str, names: tuple[str, ...]) -> _Part:
        new: dict[str, Any] = {n: changed[prefix + n] for n in names if prefix + n in changed}
        return dataclasses.replace(owner, **new) if new else owner

    def normalised(norm: Norm | None, prefix: str) -> Norm | None:
        return norm and mended(norm, prefix, ("gain", "bias"))

    layers = []
    for n, layer in enumerate(decoder.layers, start=1):
        parts = ("query", "key", "value", "output")
        heads = tuple(mended(head, f"layers.{n}.heads.{k}.", parts) for k, head in enumerate(layer.heads))
        parts = ("input", "input_bias", "output", "output_bias")
        feed_forward = layer.feed_forward and mended(layer.feed_forward, f"layers.{n}.feed_forward.", parts)
        normed: dict[str, Any] = {name: normalised(getattr(layer, name), f"layers.{n}.{name}.") for name in _NORMS}
        layers.append(dataclasses.replace(layer, heads=heads, feed_forward=feed_forward, **normed))
    loops = tuple(mended(loop, f"loops.{n}.", ("until",)) for n, loop in enumerate(decoder.loops, start=1))
    inner = dataclasses.replace(decoder, layers=tuple(layers), norm=normalised(decoder.norm, "norm."), loops=loops)
    whole: Decoder = mended(inner, "", OUTER)
    return whole


def _shapes(decoder: Decoder, without: Collection[int]) -> Iterator[tuple[str, Matrix, tuple[int, int]]]:
    """Yield each matrix with its required shape, but for those of the layers `without`; see `_parts`."""
    width = decoder.layout.width
    outer = {
        "token_embedding": (width, len(decoder.vocabulary)),
        "position_embedding": (width, len(decoder.features)),
        "position_table": (width, decoder.positions or 0),
        "unembedding": (decoder.answers, width),
        "unembedding_bias": (decoder.answers, 1),
    }
    for path, owner, name in _parts(decoder, without):
        if isinstance(owner, Head):
            d_k, d_v = owner.query.shape[0], owner.value.shape[0]
            shape = {"query": (d_k, width), "key": (d_k, width), "value": (d_v, width), "output": (width, d_v)}[name]
        elif isinstance(owner, Norm | LayerLoop):
            shape = (1, width) if isinstance(owner, LayerLoop) else (width, 1)
        elif isinstance(owner, FeedForward):
            hidden = len(owner.units)
            shape = {
                "input": (hidden, width),
                "input_bias": (hidden, 1),
                "output": (width, hidden),
                "output_bias": (width, 1),
            }[name]
        else:
            shape = outer[name]
        yield path, getattr(owner, name), shape
