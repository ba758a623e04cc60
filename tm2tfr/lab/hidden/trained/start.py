"""Where training starts: compiled weights with softmax, a table of positions, balanced matrices, and in another basis.

The stream is x = R·(T·(y - μ), 1, 0): y the original's, μ its mean over runs, R a random orthogonal matrix, a constant, and
0s for directions that nothing is claimed of. T scales the directions of variables to at most 1; what is the same for all
inputs, such as i and i², is whitened instead, so that no two of its directions say nearly the same. So each variable has an
orthonormal basis, columns of R, and those of different variables are orthogonal.

Position features become a table of as many positions as runs have. The product of queries and keys, and that of values and
outputs, are factorised anew: by their singular values, half on either side, turned at random; all heads have the same
size. What keys add to all scores of a position alike, softmax does not see, and is left out. The queries are multiplied so
that softmax is close to hard attention: the best score is ahead of the next by `LEAD` in every run that was looked at.
Heads of a layer are shuffled, and so are units, whose reads and writes get the same norm.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tm2tfr.base.errors import DisguiseError
from tm2tfr.contract.model import ModelStage
from tm2tfr.engines.dense import DenseDecoder
from tm2tfr.lab.hidden.trained.draws import SourceRuns
from tm2tfr.lab.hidden.trained.streams import StagedStreams, streams_of
from tm2tfr.lab.hidden.wide import names
from tm2tfr.lab.labels.patches import subspace_of
from tm2tfr.transformer import provenance
from tm2tfr.transformer.attention import in_sight
from tm2tfr.transformer.matrix import Floats, Matrix
from tm2tfr.transformer.positions import feature
from tm2tfr.transformer.weights import Decoder, FeedForward, Head, Layer

LEAD = 4.0
"""The least lead of the best score over the next lower one, to begin with: a weight of 1/55 of that of the best."""
SPARE, MULTIPLE = 4, 4
"""The least number of directions outside all subspaces, and the number that the width is a multiple of."""
LEAST = 1e-9

_Map = Callable[[Floats], Floats]


@dataclass(frozen=True)
class TrainedPlace:
    """Where a subspace of the original is in trained weights.

    Args:
        basis: (dimensions, width), orthonormal rows.
        scale, offset: (dimensions,); the original has the projection divided by the scale, plus the offset.
        since: after which stage it differs between inputs; None: it never does, and is not a variable.
    """

    basis: Floats
    scale: Floats
    offset: Floats
    since: ModelStage | None


@dataclass(frozen=True)
class Start:
    """Weights before noise and training; places: subspace of the original -> where it is.

    Args:
        roles: the number of the head of the original that each head is, layer by layer.
    """

    decoder: Decoder
    places: Mapping[str, TrainedPlace]
    roles: tuple[tuple[int, ...], ...]


def refuse(decoder: Decoder) -> None:
    """Raise DisguiseError for weights that cannot be trained here."""
    for what, has in (
        ("layer norms", decoder.normed),
        ("loops", bool(decoder.loops)),
        ("leftmost or rightmost attention", decoder.unique),
        ("a temperature that depends on the position", decoder.tempered),
        ("no attention", not decoder.heads),
    ):
        if has:
            raise DisguiseError(f"grade 4 trains weights with plain attention, and these have {what}: use another grade")


def started(runs: SourceRuns, words: Sequence[str], chance: np.random.Generator) -> Start:
    """Return the weights that training starts from.

    Args:
        words: the inputs whose runs decide scales and temperatures.

    Raises:
        DisguiseError: for weights with layer norms, loops, or attention of another kind.
    """
    decoder = runs.decoder
    refuse(decoder)
    seen = list(streams_of(DenseDecoder(decoder), [runs.fed(runs.base(word).run) for word in words]))
    since = _since(runs, seen)
    affine = _affine(runs, seen, since)
    width = -(-(affine.size + 1 + SPARE) // MULTIPLE) * MULTIPLE
    turn = np.linalg.qr(chance.standard_normal((width, width)))[0]
    own, constant = turn[:, : affine.size], turn[:, affine.size : affine.size + 1]

    def writes(matrix: Floats) -> Floats:
        found: Floats = own @ affine.into @ matrix
        return found

    def reads(matrix: Floats) -> Floats:
        """Return what a matrix reads of the stream, without what it reads of the mean."""
        found: Floats = matrix @ affine.back @ own.T
        return found

    def reads_all(matrix: Floats) -> Floats:
        found: Floats = reads(matrix) + matrix @ affine.mean[:, None] @ constant.T
        return found

    size = max(min(matrix.shape) for layer in decoder.layers for head in layer.heads for matrix in (head.query, head.value))
    layers, roles = [], list[tuple[int, ...]]()
    for number, layer in enumerate(decoder.layers):
        before = (number - 1, "feed_forward") if number else (-1, "embedding")
        leads = [_lead(head, [streams[before] for streams in seen]) for head in layer.heads]
        heads = [
            _head(head, lead, size, reads, reads_all, writes, chance) for head, lead in zip(layer.heads, leads, strict=True)
        ]
        order = chance.permutation(len(heads)).tolist()
        roles.append(tuple(order))
        part = layer.feed_forward
        named = tuple(replace(heads[k], name=f"head {number + 1}.{n}") for n, k in enumerate(order, start=1))
        layers.append(
            Layer(
                name=f"layer {number + 1}",
                meaning="",
                source="",
                heads=named,
                feed_forward=part and _units(part, number + 1, reads, writes, affine.mean, chance),
            )
        )
    made, unembedding = Matrix.from_dense, decoder.unembedding.dense()
    soft = Decoder(
        layout=names(width),
        vocabulary=decoder.vocabulary,
        bos=decoder.bos,
        stop=decoder.stop,
        features=(),
        token_embedding=made(writes(decoder.token_embedding.dense())),
        position_embedding=Matrix.from_dense(np.zeros((width, 0))),
        position_table=made(writes(_table(decoder, runs.most) - affine.mean[:, None]) + constant),
        layers=tuple(layers),
        unembedding=made(reads(unembedding)),
        unembedding_bias=made(decoder.unembedding_bias.dense() + unembedding @ affine.mean[:, None]),
        outputs=decoder.outputs,
        provenance=provenance.hidden(),
    )
    places = {
        name: TrainedPlace(own[:, rows].T, scale, affine.mean[decoder.layout[name]], since[name])
        for name, (rows, scale) in affine.rows.items()
    }
    return Start(soft, places, tuple(roles))


@dataclass(frozen=True)
class CentredCoordinates:
    """z = into · (y - mean), and back: y = back · z + mean.

    Args:
        rows: subspace that differs between inputs -> its rows of z, and by what they are multiplied.
    """

    into: Floats
    back: Floats
    mean: Floats
    rows: Mapping[str, tuple[list[int], Floats]]

    @property
    def size(self) -> int:
        """The number of coordinates of z."""
        return len(self.into)


def _affine(runs: SourceRuns, seen: Sequence[StagedStreams], since: Mapping[str, ModelStage | None]) -> CentredCoordinates:
    """Return the coordinates in which training starts, see the module."""
    layout, width = runs.decoder.layout, runs.decoder.layout.width
    every = np.concatenate([x.reshape(width, -1) for streams in seen for x in streams.values()], axis=1)
    mean = every.mean(axis=1)
    apart = every - mean[:, None]
    largest = np.abs(apart).max(axis=1)
    scale = 1.0 / np.where(largest > LEAST, largest, 1.0)
    forms, backs, rows = list[Floats](), list[Floats](), dict[str, tuple[list[int], Floats]]()
    fixed = list[int]()
    for subspace in layout.subspaces:
        here = list(range(width))[layout[subspace.name]]
        if since[subspace.name] is None:
            fixed += here
            continue
        rows[subspace.name] = (list(range(len(forms), len(forms) + len(here))), scale[here])
        forms += [scale[k] * np.eye(width)[k] for k in here]
        backs += [np.eye(width)[k] / scale[k] for k in here]
    if fixed:
        left, sizes, _ = np.linalg.svd(apart[fixed] * scale[fixed, None] / np.sqrt(apart.shape[1]), full_matrices=False)
        for axis, size in zip(left.T, sizes, strict=True):
            if size > LEAST * max(1.0, sizes[0]):
                form, back = np.zeros(width), np.zeros(width)
                form[fixed], back[fixed] = axis * scale[fixed] / size, axis / scale[fixed] * size
                forms.append(form)
                backs.append(back)
    return CentredCoordinates(np.array(forms), np.array(backs).T, mean, rows)


def _table(decoder: Decoder, positions: int) -> Floats:
    """Return what positions add to the stream: (width, positions)."""
    places = [[feature(name)(i, positions) for i in range(positions)] for name in decoder.features]
    numbers = [[above / below for above, below in row] for row in places]
    found: Floats = decoder.position_embedding.dense() @ np.array(numbers, dtype=np.float64).reshape(-1, positions)
    return found if decoder.position_table is None else found + decoder.position_table.dense()[:, :positions]


def _lead(head: Head, seen: Sequence[Floats]) -> float:
    """Return by how much the best score is ahead of the next lower one, at least; 0 if there is none."""
    query, key, least = head.query.dense(), head.key.dense(), np.inf
    for x in seen:
        scores = np.einsum("dbi,dbj->bij", np.einsum("dw,wbn->dbn", query, x), np.einsum("dw,wbn->dbn", key, x))
        n = x.shape[2]
        for i in range(n):
            own = np.sort(scores[:, i, list(in_sight(head.mask, i, n))], axis=1)
            behind = own[:, -1:] - own
            behind = behind[behind > LEAST * np.maximum(1.0, np.abs(own).max())]
            least = min(least, float(behind.min(initial=np.inf)))
    return float(least) if np.isfinite(least) else 0.0


def _head(
    head: Head, lead: float, size: int, reads: _Map, reads_all: _Map, writes: _Map, chance: np.random.Generator
) -> Head:
    """Return a head in the new basis, with softmax, of `size` components."""
    factor = LEAD / lead if lead and head.weighting != "softmax" else 1.0
    query, key = _factors(reads_all(head.query.dense()).T * factor, reads(head.key.dense()), size, chance)
    output, value = _factors(writes(head.output.dense()), reads_all(head.value.dense()), size, chance)
    made = Matrix.from_dense
    return Head(
        name="",
        source="",
        query=made(query.T),
        key=made(key),
        value=made(value),
        output=made(output),
        mask=head.mask,
        weighting="softmax",
        claim=None,
    )


def _factors(left: Floats, right: Floats, size: int, chance: np.random.Generator) -> tuple[Floats, Floats]:
    """Return two factors of left · right, (n, size) and (size, m), whose sizes are alike, turned at random."""
    u, singular, v = np.linalg.svd(left @ right, full_matrices=False)
    turn = np.linalg.qr(chance.standard_normal((size, size)))[0]
    half = np.sqrt(singular[:size])
    return (u[:, :size] * half) @ turn, turn.T @ (half[:, None] * v[:size])


def _units(
    part: FeedForward, number: int, reads: _Map, writes: _Map, mean: Floats, chance: np.random.Generator
) -> FeedForward:
    """Return a feed-forward part in the new basis: units shuffled, each of which reads and writes alike."""
    order = chance.permutation(len(part.units))
    read, bias = reads(part.input.dense())[order], (part.input_bias.dense() + part.input.dense() @ mean[:, None])[order]
    write = writes(part.output.dense())[:, order]
    sizes = np.linalg.norm(np.hstack([read, bias]), axis=1), np.linalg.norm(write, axis=0)
    ratio = np.sqrt(np.where((sizes[0] > 0) & (sizes[1] > 0), sizes[1] / np.maximum(sizes[0], LEAST), 1.0))
    made = Matrix.from_dense
    return FeedForward(
        input=made(read * ratio[:, None]),
        input_bias=made(bias * ratio[:, None]),
        output=made(write / ratio),
        output_bias=made(writes(part.output_bias.dense())),
        units=tuple(f"unit {number}.{u}" for u in range(len(order))),
    )


def _since(runs: SourceRuns, seen: Sequence[StagedStreams]) -> dict[str, ModelStage | None]:
    """Return the stage after which each subspace of the original differs between inputs; None: it never does."""
    layout, found = runs.decoder.layout, dict[str, ModelStage | None]()
    own = {subspace: runs.variables[name].since for name, held in subspaces_of(runs).items() for subspace in held}
    for subspace in layout.subspaces:
        cut = layout[subspace.name]
        first = (stage for stage in runs.stages if any(_differs(streams[stage][cut]) for streams in seen))
        found[subspace.name] = own[subspace.name] if subspace.name in own else next(first, None) if subspace.width else None
    return found


def subspaces_of(runs: SourceRuns) -> dict[str, tuple[str, ...]]:
    """Return variable -> the names of its subspaces, its mirrors' too."""
    layout, every = runs.decoder.layout, runs.variables.items()
    return {
        name: tuple(subspace_of(layout, variable, holds).name for holds in (name, *variable.mirrors))
        for name, variable in every
    }


def _differs(x: Floats) -> bool:
    """Return whether a part of the stream differs between runs at some position: (dimensions, runs, n)."""
    return bool((np.ptp(x, axis=1) > LEAST).any())
