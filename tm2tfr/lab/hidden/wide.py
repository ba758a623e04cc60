"""A decoder in a wider stream, before its basis is changed: what a disguise is made of, and what a proof looks at.

The first directions are those of the original. Behind them come *constants*, which are 1 at every position, *copies*, in
which a value waits to be rounded, and directions that nothing reads which matters: decoys write there.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from tm2tfr.lab.hidden.dead_code import Profile
from tm2tfr.lab.hidden.dyadic import Dyadic, padded, product
from tm2tfr.transformer.claims import Claim
from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.residual import Residual, Subspace
from tm2tfr.transformer.weights import Decoder, FeedForward, Head, Layer, Mask, Norm


@dataclass
class WideHead:
    """A head by dense matrices, see `tm2tfr.transformer.weights.Head`.

    Args:
        of: (layer, head) from 0, None of a decoy.
    """

    of: tuple[int, int] | None
    query: Dyadic
    key: Dyadic
    value: Dyadic
    output: Dyadic
    mask: Mask = "future"
    soft: bool = False

    @property
    def scores(self) -> bool:
        """Whether any score can be other than 0."""
        return bool((self.query.any(axis=1) & self.key.any(axis=1)).any())


@dataclass
class WideUnit:
    """A hidden unit: what it reads, its bias, what it writes.

    Args:
        of: the number of the unit that it is; None: none.
        scale: the factor of what a unit of the original reads.
        pair: of the two units of a linear map, its number; None: it is a unit of the original, or a silent one.
    """

    of: int | None
    reads: Dyadic
    bias: float
    writes: Dyadic
    scale: float = 1.0
    pair: int | None = None


@dataclass
class WideLayer:
    """A layer; of: its number from 0, None of one that is not in the original.

    Args:
        units: None: there is no feed-forward part.
        offset: (width,) the bias of what is written.
        moved: direction -> the copy to which what is written to it goes, to be rounded in the next layer.
    """

    of: int | None
    heads: list[WideHead]
    units: list[WideUnit] | None
    offset: Dyadic
    moved: dict[int, int] = field(default_factory=dict)
    attention_norm: Norm | None = None
    feed_forward_norm: Norm | None = None


@dataclass
class Wide:
    """A whole decoder."""

    token: Dyadic
    position: Dyadic
    table: Dyadic | None
    layers: list[WideLayer]
    unembedding: Dyadic
    bias: Dyadic
    norm: Norm | None = None

    @property
    def width(self) -> int:
        """The dimension of the stream."""
        return int(self.token.shape[0])


def names(width: int) -> Residual:
    """Return a layout that tells nothing."""
    return Residual((Subspace("stream", tuple(f"x{n}" for n in range(width))),))


def turned(wide: Wide, basis: Dyadic, inverse: Dyadic) -> Wide:
    """Return the same in another basis: x = basis · y, exactly.

    Raises:
        ShapeError: if a weight would need more digits than a float64 has.
    """

    def reads(matrix: Dyadic) -> Dyadic:
        return product(matrix, inverse)

    def writes(matrix: Dyadic) -> Dyadic:
        return product(basis, matrix)

    def normed(norm: Norm | None) -> Norm | None:
        if norm is None:
            return None
        gain, bias = (Matrix.from_dense(writes(m.dense())) for m in (norm.gain, norm.bias))
        return Norm(gain=gain, bias=bias, epsilon=norm.epsilon)

    def layer_of(layer: WideLayer) -> WideLayer:
        heads = [
            WideHead(h.of, reads(h.query), reads(h.key), reads(h.value), writes(h.output), h.mask, h.soft)
            for h in layer.heads
        ]
        units = layer.units
        if units:
            read = reads(np.array([unit.reads for unit in units]))
            written = writes(np.array([unit.writes for unit in units]).T).T
            units = [
                WideUnit(unit.of, r, unit.bias, w, unit.scale, unit.pair)
                for unit, r, w in zip(units, read, written, strict=True)
            ]
        offset = writes(layer.offset[:, None])[:, 0]
        norms = normed(layer.attention_norm), normed(layer.feed_forward_norm)
        return WideLayer(layer.of, heads, units, offset, dict(layer.moved), *norms)

    return Wide(
        token=writes(wide.token),
        position=writes(wide.position),
        table=None if wide.table is None else writes(wide.table),
        layers=[layer_of(layer) for layer in wide.layers],
        unembedding=reads(wide.unembedding),
        bias=wide.bias,
        norm=normed(wide.norm),
    )


def widened(decoder: Decoder, width: int) -> Wide:
    """Return a decoder in a stream of `width` directions, of which its own are the first."""
    n = decoder.layout.width

    def reads(matrix: Matrix) -> Dyadic:
        return np.pad(matrix.dense(), ((0, 0), (0, width - n)))

    def writes(matrix: Matrix) -> Dyadic:
        return np.pad(matrix.dense(), ((0, width - n), (0, 0)))

    layers = []
    for number, layer in enumerate(decoder.layers):
        heads = [
            WideHead(
                (number, k),
                reads(h.query),
                reads(h.key),
                reads(h.value),
                writes(h.output),
                h.mask,
                h.weighting == "softmax",
            )
            for k, h in enumerate(layer.heads)
        ]
        units, offset = None, np.zeros(width)
        if (part := layer.feed_forward) is not None:
            read, bias, written = reads(part.input), part.input_bias.dense()[:, 0], writes(part.output)
            units = [WideUnit(u, read[u], float(bias[u]), written[:, u]) for u in range(len(part.units))]
            offset = writes(part.output_bias)[:, 0]
        norms = layer.attention_norm, layer.feed_forward_norm
        layers.append(WideLayer(number, heads, units, offset, {}, *norms))
    return Wide(
        token=writes(decoder.token_embedding),
        position=writes(decoder.position_embedding),
        table=None if decoder.position_table is None else writes(decoder.position_table),
        layers=layers,
        unembedding=reads(decoder.unembedding),
        bias=decoder.unembedding_bias.dense()[:, 0],
        norm=decoder.norm,
    )


def written(wide: Wide, like: Decoder, claim: Claim | None, provenance: dict[str, str]) -> Decoder:
    """Return it as a decoder with the tokens and outputs of `like`, the same claim of all heads, and no telling names."""
    made = Matrix.from_dense
    layers = []
    for number, layer in enumerate(wide.layers, start=1):
        heads = tuple(
            Head(
                name=f"head {number}.{k}",  # both from 1, as `tm2tfr plot --head` has them
                source="",
                query=made(h.query),
                key=made(h.key),
                value=made(h.value),
                output=made(h.output),
                mask=h.mask,
                weighting="softmax" if h.soft else "average-hard",
                claim=claim,
            )
            for k, h in enumerate(layer.heads, start=1)
        )
        part = None
        if layer.units is not None:
            read = np.array([unit.reads for unit in layer.units]).reshape(-1, wide.width)
            write = np.array([unit.writes for unit in layer.units]).reshape(-1, wide.width)
            part = FeedForward(
                input=made(read),
                input_bias=made(np.array([[unit.bias] for unit in layer.units]).reshape(-1, 1)),
                output=made(write.T),
                output_bias=made(layer.offset[:, None]),
                units=tuple(f"unit {number}.{u}" for u in range(len(layer.units))),
            )
        layers.append(
            Layer(
                name=f"layer {number}",
                meaning="",
                source="",
                heads=heads,
                feed_forward=part,
                attention_norm=layer.attention_norm,
                feed_forward_norm=layer.feed_forward_norm,
            )
        )
    return Decoder(
        layout=names(wide.width),
        vocabulary=like.vocabulary,
        bos=like.bos,
        stop=like.stop,
        features=like.features,
        token_embedding=made(wide.token),
        position_embedding=made(wide.position),
        position_table=None if wide.table is None else made(wide.table),
        layers=tuple(layers),
        unembedding=made(wide.unembedding),
        unembedding_bias=made(wide.bias[:, None]),
        norm=wide.norm,
        outputs=like.outputs,
        provenance=provenance,
    )


# ── The room of a disguise: which directions there are beside the original's, and which may be mixed with which.
#
# Floats hold some directions exactly: bits, one-hot vectors, positions, whole numbers. These are turned among themselves,
# so that their sums stay exact and equal scores stay equal. The others (1/(i+1), means, what is made of them) are turned
# among themselves as well.
MOST_CONSTANTS = 24


@dataclass(frozen=True)
class Room:
    """The directions.

    Args:
        own: how many are the original's, the first ones.
        exact, loose: those that floats hold exactly, and all others; a multiple of 4 of each but in grade 1.
        constants: those that are 1 at every position.
        copies: those in which a value waits to be rounded.
        junk, noise: those that nothing reads which matters: exact ones, and others.
        bounded: directions that are never large, exact ones, for what decoys read.
        components, carried: the sizes that heads are given in grade 3: of queries, and of values that are written exactly
            and loosely.
    """

    own: int
    exact: tuple[int, ...]
    loose: tuple[int, ...]
    constants: tuple[int, ...]
    copies: tuple[int, ...]
    junk: tuple[int, ...]
    noise: tuple[int, ...]
    bounded: tuple[int, ...]
    components: int
    carried: tuple[int, int]

    @property
    def width(self) -> int:
        """The dimension of the wide stream."""
        return len(self.exact) + len(self.loose)

    @property
    def unheard(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Of junk and noise those that nothing reads at all, to which heads write that are filled up."""
        return self.junk[: self.carried[0]], self.noise[: self.carried[1]]

    @property
    def heard(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Of junk and noise the others, to which decoys write, and which silent units read."""
        return self.junk[self.carried[0] :], self.noise[self.carried[1] :]

    @property
    def apart(self) -> bool:
        """Whether exact directions are kept apart from others."""
        return bool(self.loose)

    def noisy_units(self, layer: WideLayer) -> list[int]:
        """Return the units of a layer that read what floats do not hold exactly."""
        loose = list(self.loose)
        return [u for u, unit in enumerate(layer.units or ()) if unit.reads[loose].any()]

    @classmethod
    def of(cls, decoder: Decoder, seen: Profile, grade: int) -> Room:
        """Return the room for a disguise of this grade."""
        n = decoder.layout.width
        exact = [d for d in range(n) if seen.exact[d]]
        loose = [d for d in range(n) if not seen.exact[d]]
        bounded = [d for d in exact if seen.bounded[d]]
        if grade == 1 or decoder.normed:  # a norm would take what is added into mean and variance
            return cls(n, tuple(range(n)), (), (), (), (), (), tuple(bounded), 0, (0, 0))
        heads = [head for layer in decoder.layers for head in layer.heads]
        components = padded(max((head.query.shape[0] for head in heads), default=1) + 1)
        sizes = [
            _carried(decoder, seen, layer, k) for layer, each in enumerate(decoder.layers) for k in range(len(each.heads))
        ]
        carried = tuple(padded(max([0, *(size[part] for size in sizes)]) + 1) for part in (0, 1))
        many = min(MOST_CONSTANTS, 3 * max(components, carried[0])) if grade == 3 else 2
        needed = (
            0 if decoder.soft else max((_noisy_writes(layer.feed_forward, seen) for layer in decoder.layers), default=0)
        )

        def more(block: list[int], number: int) -> tuple[int, ...]:
            start = n + sum(map(len, added))
            added.append(tuple(range(start, start + number)))
            block.extend(added[-1])
            return added[-1]

        added: list[tuple[int, ...]] = []
        constants, copies = more(exact, many), more(loose, needed)
        junk = more(exact, padded(len(exact) + (4 * carried[0] if grade == 3 else 0)) - len(exact))
        noise = more(loose, padded(len(loose) + (3 * carried[1] if grade == 3 else 0)) - len(loose))
        bounded = [*bounded, *constants]
        return cls(
            own=n,
            exact=tuple(exact),
            loose=tuple(loose),
            constants=constants,
            copies=copies,
            junk=junk,
            noise=noise,
            bounded=tuple(bounded),
            components=components,
            carried=(carried[0], carried[1]),
        )


def _carried(decoder: Decoder, seen: Profile, layer: int, number: int) -> tuple[int, int]:
    """Return how many components of a head write to a direction that floats hold exactly, and how many do not."""
    head = decoder.layers[layer].heads[number]
    columns = set(head.output.columns[seen.exact[head.output.rows]].tolist())
    return len(columns), head.value.shape[0] - len(columns)


def _noisy_writes(layer: FeedForward | None, seen: Profile) -> int:
    """Return to how many exact directions units write that read others."""
    if layer is None:
        return 0
    units = np.unique(layer.input.rows[~seen.exact[layer.input.columns]])
    rows = np.unique(layer.output.rows[np.isin(layer.output.columns, units)])
    return int(seen.exact[rows].sum())
