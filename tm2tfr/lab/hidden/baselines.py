"""Baselines: claims about hidden weights that need no method, to be scored beside one.

- *embeddings*: a variable that is called like a position feature is its column of the position embedding, any other one the
  span of what the tokens' embeddings differ in and of what the unembedding reads. Nothing is run.
- *cancelling*: heads of a layer whose scores are the same but for constants, and whose outputs have the sum 0, in twos and
  threes, are decoys. Nothing is run.
- *norms*: the half of the heads with the smaller norms are decoys: by the sum of the ranks of query times key, its largest
  singular value, and output times value where anything is read behind it. Nothing is run.
- *variance*: a variable of k dimensions is where the stream varies most, in k dimensions, in runs on inputs that are drawn.
- *probe*: of each variable a linear probe, fitted by least squares to its true values in these runs, which the key tells.
- *blind*: of each variable the best of the whole stream, random directions, embeddings and variance; the most frequent role
  for all heads. What is best the key tells: no method should be below.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from itertools import combinations, islice
from typing import Literal, get_args

import numpy as np

from tm2tfr.base.errors import DisguiseError
from tm2tfr.engines.decode import observe_all
from tm2tfr.engines.dense import Dense
from tm2tfr.lab.hidden.claim import NOTHING, HiddenClaim, HiddenTruth, orthonormal
from tm2tfr.lab.hidden.dead_code import CLOSE, followed_back, sequences, span_of
from tm2tfr.lab.hidden.dyadic import Dyadic
from tm2tfr.lab.hidden.key import Key
from tm2tfr.lab.hidden.keys import AnyKey, truth_of
from tm2tfr.lab.hidden.score import shared
from tm2tfr.transformer.weights import Decoder

Baseline = Literal["embeddings", "cancelling", "norms", "variance", "probe", "blind"]
BASELINES: tuple[Baseline, ...] = get_args(Baseline)
RUNS, POSITIONS = 24, 12
"""The most runs that are looked at, and the positions of each."""
GROUPS = (2, 3)
"""How many heads are added up."""


def cancelling(decoder: Decoder) -> HiddenClaim:
    """Return the claim that heads which attend alike, and cancel where anything is read, are decoys."""
    written, found = written_span(decoder), dict[str, str]()
    _, spans = followed_back(decoder)
    for number, (layer, read) in enumerate(zip(decoder.layers, spans, strict=True), start=1):
        carried = [read @ head.output.dense() @ head.value.dense() for head in layer.heads]
        scores = [head.query.dense().T @ (head.key.dense() @ written.T) for head in layer.heads]
        pairs = combinations(range(len(layer.heads)), 2)
        alike = {(a, b) for a, b in pairs if np.allclose(scores[a], scores[b], atol=CLOSE)}
        for size in GROUPS:
            for group in combinations(range(len(layer.heads)), size):
                if not alike.issuperset(combinations(group, 2)):
                    continue
                largest = max(float(np.abs(carried[k]).max(initial=0.0)) for k in group)
                if np.abs(sum(carried[k] for k in group)).max(initial=0.0) <= CLOSE * max(1.0, largest):
                    found |= {f"layers.{number}.heads.{k}": NOTHING for k in group}
    return HiddenClaim(heads=found)


def norms(decoder: Decoder) -> HiddenClaim:
    """Return the claim that the half of the heads with the smaller norms are decoys; with equal norms none is."""
    _, spans = followed_back(decoder)
    paths, measured = list[str](), list[tuple[float, float, float]]()
    for number, (layer, read) in enumerate(zip(decoder.layers, spans, strict=True), start=1):
        for k, head in enumerate(layer.heads):
            query, key, value, output = (each.dense() for each in (head.query, head.key, head.value, head.output))
            scores, carried = query.T @ key, read @ output @ value
            largest = np.linalg.norm(scores, 2) if scores.size else 0.0
            paths.append(f"layers.{number}.heads.{k}")
            measured.append((float(np.linalg.norm(scores)), float(largest), float(np.linalg.norm(carried))))
    found = np.round(np.array(measured).reshape(-1, 3), 9)  # norms that only rounding tells apart are equal
    ranks = (found[:, None] > found[None]).sum(axis=(1, 2)) - (found[:, None] < found[None]).sum(axis=(1, 2))
    middle = np.median(ranks) if len(ranks) else 0.0
    return HiddenClaim(heads={path: NOTHING for path, rank in zip(paths, ranks, strict=True) if rank < middle})


def written_span(decoder: Decoder) -> Dyadic:
    """Return an orthonormal basis of the directions in which the stream varies: forms that are 0 on them are constant."""
    tokens = decoder.token_embedding.dense().T
    rows = [tokens[1:] - tokens[:1], decoder.position_embedding.dense().T]
    if decoder.position_table is not None:
        rows.append(decoder.position_table.dense().T)
    for layer in decoder.layers:
        rows += [(head.output.dense() @ head.value.dense()).T for head in layer.heads]
        if layer.feed_forward is not None:
            rows.append(layer.feed_forward.output.dense().T)
    return span_of(rows, decoder.layout.width)


def embeddings(decoder: Decoder, truth: HiddenTruth) -> HiddenClaim:
    """Return the claim that reads variables off embedding and unembedding."""
    columns = dict(zip(decoder.features, decoder.position_embedding.dense().T, strict=True))
    tokens, read = decoder.token_embedding.dense().T, decoder.unembedding.dense()
    touched = span_of([tokens[1:] - tokens[:1], read[1:] - read[:1]], decoder.layout.width)
    return HiddenClaim(subspaces={name: columns[name][None, :] if name in columns else touched for name in truth.subspaces})


def variance(decoder: Decoder, truth: HiddenTruth) -> HiddenClaim:
    """Return the claim that each variable is where the stream varies most."""
    stream = observed(decoder)
    centred = stream - stream.mean(axis=0)
    axes = np.linalg.eigh(centred.T @ centred)[1].T[::-1]  # LAPACK's SVD does not converge on some of these matrices
    return HiddenClaim(subspaces={name: axes[: len(basis)] for name, basis in truth.subspaces.items()})


def probe(decoder: Decoder, key: Key, truth: HiddenTruth) -> HiddenClaim:
    """Return the claim of linear probes for each variable, fitted to its values; of a compressed stream none."""
    if key.kept:
        return HiddenClaim()
    stream, layout, found = observed(decoder), key.original.layout, dict[str, Dyadic]()
    values = stream @ key.basis.inverse.T
    centred = stream - stream.mean(axis=0)
    inverse = np.linalg.pinv(centred.T @ centred, rcond=1e-12, hermitian=True)  # `lstsq` may not converge
    for subspace in layout.subspaces:
        own = subspace.holds or subspace.name
        if (name := key.variables.get(own, own)) in truth.subspaces:
            wanted = values[:, : layout.width][:, layout[subspace.name]]
            weights = inverse @ (centred.T @ (wanted - wanted.mean(axis=0)))
            found[name] = weights.T
    return HiddenClaim(subspaces=found)


def observed(decoder: Decoder) -> Dyadic:
    """Return the stream after each part of each layer in runs on inputs that are drawn: (number of vectors, width)."""
    fed = list(sequences(decoder, None, positions=POSITIONS, runs=RUNS))
    fed += islice(_random_tokens(decoder), RUNS - len(fed))
    found = [
        np.asarray(stream, dtype=np.float64)
        for tokens in fed
        for seen in observe_all(decoder, tokens, engine=Dense())
        for _, _, stream in seen.stages
    ]
    return np.array(found)


def _random_tokens(decoder: Decoder) -> Iterator[tuple[str, ...]]:
    """Yield sequences of random tokens: for weights of which few inputs are known, such as circuits with renamed tokens."""
    chance = random.Random(0)
    most = POSITIONS if decoder.positions is None else min(POSITIONS, decoder.positions)
    while True:
        yield tuple(chance.choices(decoder.vocabulary, k=most))


def blind(decoder: Decoder, truth: HiddenTruth) -> HiddenClaim:
    """Return the best claim made without a method; the key chooses."""
    chance, width = np.random.default_rng(0), truth.width
    claims = [embeddings(decoder, truth).subspaces, variance(decoder, truth).subspaces]
    best: dict[str, Dyadic] = {}
    for name, right in truth.subspaces.items():
        tried = [np.eye(width), chance.normal(size=right.shape), *(claim[name] for claim in claims)]
        bases = [orthonormal(each) for each in tried]
        scores = [2 * shared(basis, right) / (len(basis) + len(right)) for basis in bases]
        best[name] = bases[int(np.argmax(scores))]
    roles = [role for role in truth.heads.values() if role != NOTHING]
    commonest = max(sorted(set(roles)), key=roles.count, default=NOTHING)
    return HiddenClaim(heads=dict.fromkeys(truth.heads, commonest), subspaces=best)


def baseline(name: Baseline, decoder: Decoder, key: AnyKey) -> HiddenClaim:
    """Return the claim of a baseline about the hidden weights of a key.

    Raises:
        DisguiseError: for probes of trained weights.
    """
    truth = truth_of(key)
    made: Mapping[Baseline, Callable[[], HiddenClaim]] = {
        "embeddings": lambda: embeddings(decoder, truth),
        "cancelling": lambda: cancelling(decoder),
        "norms": lambda: norms(decoder),
        "variance": lambda: variance(decoder, truth),
        "probe": lambda: probe(decoder, _proved(key), truth),
        "blind": lambda: blind(decoder, truth),
    }
    return made[name]()


def _proved(key: AnyKey) -> Key:
    if isinstance(key, Key):
        return key
    what = "a probe is told the exact value of each variable in the stream, which trained weights hold only nearly"
    raise DisguiseError(f"{what}: use embeddings, cancelling, variance or blind")
