"""Where training starts: compiled weights with softmax, a table of positions, balanced matrices, and in another basis.

The stream is x = R·(S·y, 0): y the original's, S a scale for each direction that brings its values to at most 1, R a random
orthogonal matrix, and the 0s are for directions that nothing is claimed of. So each variable has an orthonormal basis,
columns of R, and those of different variables are orthogonal.

Position features become a table of as many positions as runs have. The product of queries and keys, and that of values and
outputs, are factorised anew: by their singular values, half on either side, turned at random; all heads have the same size.
The queries are multiplied so that softmax is close to hard attention: the best score is ahead of the next by `LEAD` in every
run that was looked at. Heads of a layer are shuffled, and so are units, whose reads and writes get the same norm.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tm2tfr.base.errors import DisguiseError
from tm2tfr.contract.model import ModelStage
from tm2tfr.engines.dense import DenseDecoder
from tm2tfr.lab.hidden.trained.draws import Runs
from tm2tfr.lab.hidden.wide import names
from tm2tfr.lab.labels.patches import subspace_of
from tm2tfr.transformer import provenance
from tm2tfr.transformer.attention import in_sight
from tm2tfr.transformer.matrix import Floats, Matrix
from tm2tfr.transformer.positions import feature
from tm2tfr.transformer.weights import Decoder, FeedForward, Head, Layer

LEAD = 6.0
"""The least lead of the best score over the next lower one, to begin with: a weight of 1/400 of that of the best."""
SPARE, MULTIPLE = 4, 4
"""At least so many directions that nothing is claimed of, and the width is a multiple of this."""
LEAST = 1e-9

_Map = Callable[[Floats], Floats]

Streams = Mapping[ModelStage, Floats]
"""Stage -> the streams of runs of one length: (width, runs, n)."""


@dataclass(frozen=True)
class Place:
    """Where a subspace of the original is in trained weights.

    Args:
        basis: (dimensions, width), orthonormal rows.
        scale: (dimensions,); what the original has along a direction is the projection divided by it.
        since: after which stage it differs between inputs; None: it never does, and is no variable.
    """

    basis: Floats
    scale: Floats
    since: ModelStage | None


@dataclass(frozen=True)
class Start:
    """Weights before noise and training; places: subspace of the original -> where it is.

    Args:
        roles: the number of the head of the original that each head is, layer by layer.
    """

    decoder: Decoder
    places: Mapping[str, Place]
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


def streams_of(decoder: Decoder, fed: Sequence[Sequence[int]]) -> list[Streams]:
    """Return the streams of runs, those of one length together."""
    dense, by_length = DenseDecoder(decoder), dict[int, list[Sequence[int]]]()
    for tokens in fed:
        by_length.setdefault(len(tokens), []).append(tokens)
    found: list[Streams] = []
    for same in by_length.values():
        seen: dict[ModelStage, Floats] = {}
        dense.staged(np.array(same), lambda layer, part, x, seen=seen: seen.update({(layer, part): x.copy()}))  # type: ignore[misc]
        found.append(seen)
    return found


def started(runs: Runs, words: Sequence[str], chance: np.random.Generator) -> Start:
    """Return the weights that training starts from.

    Args:
        words: the inputs whose runs decide scales and temperatures.

    Raises:
        DisguiseError: for weights with layer norms, loops, or attention of another kind.
    """
    decoder = runs.decoder
    refuse(decoder)
    seen = streams_of(decoder, [runs.fed(runs.base(word).run) for word in words])
    width = -(-(decoder.layout.width + SPARE) // MULTIPLE) * MULTIPLE
    turn = np.linalg.qr(chance.standard_normal((width, width)))[0][:, : decoder.layout.width]
    largest = np.max([np.abs(x).max(axis=(1, 2)) for streams in seen for x in streams.values()], axis=0)
    scale = 1.0 / np.where(largest > LEAST, largest, 1.0)

    def writes(matrix: Floats) -> Floats:
        found: Floats = turn @ (scale[:, None] * matrix)
        return found

    def reads(matrix: Floats) -> Floats:
        found: Floats = (matrix / scale) @ turn.T
        return found

    size = max(min(matrix.shape) for layer in decoder.layers for head in layer.heads for matrix in (head.query, head.value))
    layers, roles = [], list[tuple[int, ...]]()
    for number, layer in enumerate(decoder.layers):
        before = (number - 1, "feed_forward") if number else (-1, "embedding")
        leads = [_lead(head, [streams[before] for streams in seen]) for head in layer.heads]
        heads = [
            _head(head, lead, size, reads, writes, chance) for head, lead in zip(layer.heads, leads, strict=True)
        ]
        order = chance.permutation(len(heads)).tolist()
        roles.append(tuple(order))
        named = tuple(replace(heads[k], name=f"head {number + 1}.{n}") for n, k in enumerate(order, start=1))
        layers.append(
            Layer(
                name=f"layer {number + 1}",
                meaning="",
                source="",
                heads=named,
                feed_forward=layer.feed_forward and _units(layer.feed_forward, number + 1, reads, writes, chance),
            )
        )
    made = Matrix.from_dense
    soft = Decoder(
        layout=names(width),
        vocabulary=decoder.vocabulary,
        bos=decoder.bos,
        stop=decoder.stop,
        features=(),
        token_embedding=made(writes(decoder.token_embedding.dense())),
        position_embedding=Matrix.from_dense(np.zeros((width, 0))),
        position_table=made(writes(_table(decoder, runs.most))),
        layers=tuple(layers),
        unembedding=made(reads(decoder.unembedding.dense())),
        unembedding_bias=decoder.unembedding_bias,
        outputs=decoder.outputs,
        provenance=provenance.hidden(),
    )
    return Start(soft, dict(_places(runs, seen, turn, scale)), tuple(roles))


def _table(decoder: Decoder, positions: int) -> Floats:
    """Return what positions add to the stream: (width, positions)."""
    numbers = [[above / below for above, below in (feature(f)(i, positions) for i in range(positions))] for f in decoder.features]
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
    head: Head, lead: float, size: int, reads: _Map, writes: _Map, chance: np.random.Generator
) -> Head:
    """Return a head in the new basis, with softmax, of `size` components."""
    factor = LEAD / lead if lead and head.weighting != "softmax" else 1.0
    query, key = _factors(reads(head.query.dense()).T * factor, reads(head.key.dense()), size, chance)
    output, value = _factors(writes(head.output.dense()), reads(head.value.dense()), size, chance)
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


def _units(part: FeedForward, number: int, reads: _Map, writes: _Map, chance: np.random.Generator) -> FeedForward:
    """Return a feed-forward part in the new basis: units shuffled, each of which reads and writes alike."""
    order = chance.permutation(len(part.units))
    read, bias = reads(part.input.dense())[order], part.input_bias.dense()[order]
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


def _places(runs: Runs, seen: Sequence[Streams], turn: Floats, scale: Floats) -> list[tuple[str, Place]]:
    """Return where each subspace of the original is, and since when it differs between inputs."""
    layout, found = runs.decoder.layout, list[tuple[str, Place]]()
    own = {subspace: runs.variables[name] for name, held in subspaces_of(runs).items() for subspace in held}
    for subspace in layout.subspaces:
        cut, since = layout[subspace.name], None
        if subspace.name in own:
            since = own[subspace.name].since
        elif subspace.width:
            since = next((stage for stage in runs.stages if any(_differs(streams[stage][cut]) for streams in seen)), None)
        found.append((subspace.name, Place(turn[:, cut].T, scale[cut], since)))
    return found


def subspaces_of(runs: Runs) -> dict[str, tuple[str, ...]]:
    """Return variable -> the names of its subspaces, its mirrors' too."""
    layout, every = runs.decoder.layout, runs.variables.items()
    return {
        name: tuple(subspace_of(layout, variable, holds).name for holds in (name, *variable.mirrors))
        for name, variable in every
    }


def _differs(x: Floats) -> bool:
    """Return whether a part of the stream differs between runs at some position: (dimensions, runs, n)."""
    return bool((np.ptp(x, axis=1) > LEAST).any())
