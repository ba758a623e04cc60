"""Dead code by products of matrices: what is read, followed back from the unembedding through weights alone, with no run.

A head is dead if its output times value has no part in the span of what is read behind it, a unit if its writes have none;
what a part that is alive reads is added to that span. A compiler would do this first, and so does a search for decoys:
its result is the baseline of decoys, layers and units.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tm2tfr.contract.shown import PlainData
from tm2tfr.engines.decode import generate, observe_all
from tm2tfr.engines.dense import Dense
from tm2tfr.lab.hidden.dyadic import Dyadic
from tm2tfr.targets.common import reference
from tm2tfr.targets.common.reference import reference_of
from tm2tfr.transformer.weights import Decoder

CLOSE = 1e-9
"""A part of at most this share counts as no part."""


@dataclass(frozen=True)
class DeadCode:
    """What is dead: paths of heads, numbers of layers from 1, paths of units, as in a claim."""

    heads: frozenset[str] = frozenset()
    layers: frozenset[int] = frozenset()
    units: frozenset[str] = frozenset()

    def as_dict(self) -> dict[str, object]:
        """Return it as plain data."""
        return {"heads": sorted(self.heads), "layers": sorted(self.layers), "units": sorted(self.units)}

    @classmethod
    def from_dict(cls, found: PlainData) -> DeadCode:
        """Return what `as_dict` wrote.

        Raises:
            TypeError, KeyError: if it is not that.
        """
        return cls(frozenset(found["heads"]), frozenset(map(int, found["layers"])), frozenset(found["units"]))


def dead_code(decoder: Decoder) -> DeadCode:
    """Return the heads, layers and units of a decoder that nothing reads."""
    return followed_back(decoder)[0]


def followed_back(decoder: Decoder) -> tuple[DeadCode, list[Dyadic]]:
    """Return what is dead, and for each layer an orthonormal basis of what is read of what its heads write."""
    heads, layers, units = set[str](), set[int](), set[str]()
    spans: list[Dyadic] = []
    read = span_of([decoder.unembedding.dense()], decoder.layout.width)
    for number in range(len(decoder.layers), 0, -1):
        layer, alive = decoder.layers[number - 1], False
        if (part := layer.feed_forward) is not None:
            live = _seen(read, part.output.dense())
            units |= {f"layers.{number}.units.{u}" for u in np.flatnonzero(~live)}
            alive = bool(live.any())
            read = span_of([read, part.input.dense()[live]], decoder.layout.width)
        spans.insert(0, read)
        forms = [read]
        for k, head in enumerate(layer.heads):
            if _seen(read, head.output.dense() @ head.value.dense()).any():
                forms += [matrix.dense() for matrix in (head.query, head.key, head.value)]
                alive = True
            else:
                heads.add(f"layers.{number}.heads.{k}")
        read = span_of(forms, decoder.layout.width)
        if not alive:
            layers.add(number)
    return DeadCode(frozenset(heads), frozenset(layers), frozenset(units)), spans


def span_of(forms: Iterable[Dyadic], width: int) -> Dyadic:
    """Return an orthonormal basis of the span of forms, (n, width) each."""
    rows: Dyadic = np.vstack([form for form in forms if len(form)] or [np.zeros((0, width))])
    sizes = np.linalg.norm(rows, axis=1)
    rows = rows[sizes > 0] / sizes[sizes > 0, None]
    if not len(rows):
        return rows
    _, found, basis = np.linalg.svd(rows, full_matrices=False)
    return np.asarray(basis[found > CLOSE * found[0]], dtype=np.float64)


def _seen(read: Dyadic, written: Dyadic) -> NDArray[np.bool_]:
    """Return for each column that is written, (width, n), whether it has a part in the span of what is read: (n,)."""
    parts = np.linalg.norm(read @ written, axis=0) if len(read) else np.zeros(written.shape[1])
    return parts > CLOSE * max(1e-300, float(np.abs(written).max(initial=0.0)))


# ── What the numbers of a decoder look like as it runs: which floats hold exactly, and which heads have ties.
#
# The proof does not need this. It decides which directions may be mixed, so that answers stay right in floats too:
# equal scores have to stay equal, and a sum of 1/(i+1) and others rounds.
POSITIONS = 96
"""The positions of a run that are looked at."""
RUNS = 24
"""The most runs that are looked at."""
DIGITS = 2.0**-12
"""A number is one that floats hold exactly if it is a multiple of this."""
BOUNDED = 8.0
"""What is never larger than this may be added to queries and to hidden units of decoys."""


@dataclass(frozen=True)
class Profile:
    """What was seen of a decoder.

    Args:
        exact: (width,) whether a direction held multiples of `DIGITS` alone.
        bounded: (width,) whether it was never larger than `BOUNDED`.
        bits: (width,) whether it was never anything but 0 and 1.
        ties: (layer, head), both from 0, of the heads that attended to several positions at once.
        sequences: the tokens that were fed.
    """

    exact: NDArray[np.bool_]
    bounded: NDArray[np.bool_]
    bits: NDArray[np.bool_]
    ties: frozenset[tuple[int, int]]
    sequences: tuple[tuple[str, ...], ...]


def profiled(decoder: Decoder, program: object, more: Sequence[tuple[str, ...]] = ()) -> Profile:
    """Return what is seen of a decoder in runs of the dense engine, always the same.

    Args:
        program: what it was compiled from; None: it is run on prompts made from its vocabulary.
        more: further sequences of tokens to feed.
    """
    exact, bounded, bits = (np.ones(decoder.layout.width, dtype=bool) for _ in range(3))
    ties: set[tuple[int, int]] = set()
    fed = (*sequences(decoder, program, positions=POSITIONS, runs=RUNS), *more)
    for tokens in fed:
        for i, seen in enumerate(observe_all(decoder, tokens, engine=Dense())):
            for _, _, stream in seen.stages:
                exact &= np.asarray(stream) / DIGITS == np.rint(np.asarray(stream) / DIGITS)
                bounded &= np.abs(stream) <= BOUNDED
                bits &= np.isin(stream, (0.0, 1.0))
            for place, (_, attended) in seen.heads.items():
                if (attended is None and i > 0) or (attended is not None and len(attended) > 1):
                    ties.add(place)
    for number, layer in enumerate(decoder.layers):
        ties |= {(number, k) for k, head in enumerate(layer.heads) if head.uniform}
    for number, k in ties:  # a mean may be a multiple of `DIGITS` in what was seen, and not be one elsewhere
        exact[decoder.layers[number].heads[k].output.rows] = False
    return Profile(exact, bounded, bits & exact, frozenset(ties), fed)


def sequences(decoder: Decoder, program: object, *, positions: int, runs: int) -> Iterator[tuple[str, ...]]:
    """Yield whole sequences of tokens, as `decoder` is fed them, its own answers among them, always the same."""
    for prompt in prompts_of(decoder, program, positions=positions, runs=runs):
        if decoder.labeller:
            yield prompt
        else:
            yield tuple(step.token for step in generate(decoder, prompt, engine=Dense(), max_positions=positions))


def prompts_of(decoder: Decoder, program: object, *, positions: int, runs: int) -> list[tuple[str, ...]]:
    """Return what `decoder` is fed, always the same: the own input and examples, all short words or random ones."""
    most = positions if decoder.positions is None else min(positions, decoder.positions)
    if decoder.labeller:
        every = [reference.tokens_of(reference.fed(decoder, word)) for word in reference.inputs(decoder)]
    else:
        every = [tuple(prompt) for prompt in _prompts(decoder, program, most)]
    fed = 0 if decoder.bos is None else 1
    least = 1 - fed
    found = [tokens for tokens in dict.fromkeys(every) if least <= len(tokens) <= most - fed]
    if not found and not least:
        found = [()]
    if len(found) > runs:
        short, rest = found[: runs // 3], found[runs // 3 :]
        found = [*short, *random.Random(0).sample(rest, runs - len(short))]
    return found


def _prompts(decoder: Decoder, program: object, most: int) -> Iterator[Sequence[str]]:
    right = reference_of(program, decoder)
    return (tuple(right.truth(word).prompt) for word in right.inputs(most))
