"""Why a decoder went wrong: the first layer and subspace with a wrong value."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import inf

import numpy as np

from tm2tfr.contract.specification import Specification, vector
from tm2tfr.engines.decode import Engine, Observation, observe, observe_all, observe_at
from tm2tfr.engines.overflow import nearest
from tm2tfr.engines.reading import SOFT, combination
from tm2tfr.runs.passes import WrongPasses, stages
from tm2tfr.runs.told import Attention, Cause, or_norm, passes_cause, positions_text
from tm2tfr.transformer.attention import exact_scores, in_sight, softmax
from tm2tfr.transformer.matrix import Rational
from tm2tfr.transformer.residual import Subspace
from tm2tfr.transformer.weights import Decoder, Head, Mask

MOST_PLACES = 512
"""The most positions of a head that are searched for a wrong value."""


def find_cause(
    decoder: Decoder,
    specification: Specification,
    position: int,
    *,
    engine: Engine,
    before: tuple[int, str] | None = None,
) -> Cause | None:
    """Return the first wrong value at `position`, or its cause at an earlier one.

    Stages are examined in the order in which they are computed, up to (not including) the stage `before`.
    Where a head looked at the wrong position, or at a wrong value, the search continues at the positions concerned.
    Where a whole sequence is labelled, each stage is examined at all its positions before the next.
    """
    if decoder.labeller or decoder.looks_ahead:
        return _first_of_all(decoder, specification, position, engine)
    tokens = specification.tokens[: position + 1]
    seen = observe(decoder, tokens, engine=engine)
    for layer, part, residual in seen.stages:
        if (layer, part) == before:
            return None
        wrong = _first_wrong(decoder, specification, position, (layer, part), list(residual), engine.dtype)
        if wrong is not None:
            subspace, value = wrong
            finder = _Finder(decoder, specification, position, engine, seen)
            return finder.cause(layer, part, subspace, value)
    return None


def _first_of_all(decoder: Decoder, specification: Specification, position: int, engine: Engine) -> Cause | None:
    """Return the first wrong value anywhere in a whole sequence: everything that it is made of is right.

    Of the positions with a wrong value after the same stage, `position` comes first.
    """
    observed = observe_all(decoder, specification.tokens, engine=engine)
    places = [position, *(i for i in range(len(observed)) if i != position)]
    for stage in stages(decoder, specification, observed[position]):
        if isinstance(stage, WrongPasses):
            return passes_cause(decoder, position, stage)
        for i in places:
            residual = list(observed[i].stages[stage.number][2])
            here = (stage.layer, stage.part)
            wrong = _first_wrong(decoder, stage.specification, i, here, residual, engine.dtype, len(observed))
            if wrong is not None:
                finder = _Finder(decoder, stage.specification, i, engine, observed[i], stage.made)
                return finder.cause(*here, *wrong)
    return None


def looked_elsewhere(
    decoder: Decoder, specification: Specification, observed: Sequence[Observation], *, engine: Engine
) -> Cause | None:
    """Return the first head that looks elsewhere than it claims, though what it carries is right; None if there is none.

    Args:
        observed: the run, position by position. Under softmax a head looks everywhere, and nothing is compared.
    """
    for i, seen in enumerate(observed):
        finder = _Finder(decoder, specification, i, engine, seen)
        for n, layer in enumerate(decoder.layers):
            for k, head in enumerate(layer.heads):
                cause = finder.elsewhere(n, k, head) if head.weighting != "softmax" else None
                if cause is not None:
                    return cause
    return None


@dataclass(frozen=True)
class _Looked:
    """A head of a layer, by its number, and where it looked: names need not be unique."""

    number: int
    head: Head
    attention: Attention

    @property
    def astray(self) -> bool:
        """Whether it looked anywhere else than it should."""
        return self.attention.attended != self.attention.expected


@dataclass(frozen=True)
class _Finder:
    decoder: Decoder
    specification: Specification
    position: int
    engine: Engine
    seen: Observation
    made: int | None = None

    def cause(self, layer: int, part: str, subspace: Subspace, found: list[float]) -> Cause:
        """Return the cause, given the first wrong stage and subspace."""
        looked = root = None
        if part == "attention":
            for k, head in self._writers(layer, subspace.name):
                found_there = self._looked(layer, k, head)
                if found_there is not None and (looked is None or found_there.astray):
                    looked = found_there
            root = self._root(layer, looked)
        if root is not None:
            return root
        holds = self.specification.holds(subspace.holds, layer, part)
        wanted = vector(subspace, self.specification.values(self.position)[subspace.holds]) if holds else None
        return Cause(
            position=self.position,
            layer=layer + 1,
            layer_name=self.decoder.layers[layer].name if layer >= 0 else "embedding",
            part=part,
            subspace=subspace.name,
            expected=_words(subspace, wanted) if wanted is not None else "0 (nothing is written there yet)",
            found=_words(subspace, found),
            attention=looked.attention if looked is not None and looked.astray else None,
            why=self._why(layer, part, subspace, looked),
            about=self.specification.about(self.position),
            made=self.made,
        )

    def elsewhere(self, layer: int, k: int, head: Head) -> Cause | None:
        """Return that a head looked elsewhere than it claims; None if it did not, or nothing is known of its claim."""
        looked = self._looked(layer, k, head)
        if looked is None or not looked.astray:
            return None
        return Cause(
            position=self.position,
            layer=layer + 1,
            layer_name=self.decoder.layers[layer].name,
            part="attention",
            subspace="where a head looks",
            expected=positions_text(looked.attention.expected),
            found=positions_text(looked.attention.attended),
            attention=looked.attention,
            why=self._why_elsewhere(layer, looked),
            about=self.specification.about(self.position),
        )

    def _writers(self, layer: int, subspace: str) -> Iterator[tuple[int, Head]]:
        place = self.decoder.layout[subspace]
        for k, head in enumerate(self.decoder.layers[layer].heads):
            if ((head.output.rows >= place.start) & (head.output.rows < place.stop)).any():
                yield k, head

    def _looked(self, layer: int, k: int, head: Head) -> _Looked | None:
        """Return where a head looked; None if it is not claimed to look anywhere that the specification knows."""
        scores, attended = self._attention(layer, k, head)
        expected = tuple(self.specification.attended(head.claim.attends, self.position)) if head.claim is not None else ()
        if not expected:
            return None
        attention = Attention(
            head=head.name,
            attended=tuple(map(int, attended)),
            expected=expected,
            score=nearest(scores[attended[0]]) + 0.0,  # not -0
            expected_score=nearest(scores[expected[0]]) + 0.0 if expected[0] in scores else -inf,
        )
        return _Looked(k, head, attention)

    def _attention(self, layer: int, k: int, head: Head) -> tuple[Mapping[int, float], Sequence[int]]:
        """Return a head's scores by position, those that its mask lets it see, and the positions attended to."""
        scores, attended = self.seen.heads[layer, k] if self.made is None else self.seen.looks[layer, k, self.made - 1]
        there = in_sight(head.mask, self.position, len(self.specification.tokens))
        return dict(zip(there, scores, strict=False)), attended

    def _root(self, layer: int, looked: _Looked | None) -> Cause | None:
        """Return the first wrong value at the attended positions before this layer, if there is one."""
        if looked is None or self.decoder.labeller or self.decoder.looks_ahead:
            return None  # nothing, or everything before this layer has been looked at
        places = sorted({*looked.attention.attended, *looked.attention.expected} - {self.position})
        if not places or len(places) > MOST_PLACES:
            return None
        before = (layer - 1, "feed_forward" if layer else "embedding")
        for j, seen in observe_at(self.decoder, self.specification.tokens, places, engine=self.engine):
            residual = next(list(x) for n, part, x in seen.stages if (n, part) == before)
            if _first_wrong(self.decoder, self.specification, j, before, residual, self.engine.dtype) is not None:
                return find_cause(self.decoder, self.specification, j, engine=self.engine, before=(layer, "attention"))
        return None

    def _why(self, layer: int, part: str, subspace: Subspace, looked: _Looked | None) -> str:
        if part == "embedding":
            return "the embedding weights are wrong"
        if looked is None:
            norm = self.decoder.layers[layer].feed_forward_norm if part == "feed_forward" else None
            return f"its inputs are right: the {part.replace('_', '-')} weights of this layer are wrong{or_norm(norm)}"
        if looked.astray:
            return self._why_elsewhere(layer, looked)
        if soft := self._softly(layer, looked):
            return soft
        remark = self.specification.remark(subspace.holds, self.position)
        also = or_norm(self.decoder.layers[layer].attention_norm)
        return remark or f"the head looked where it should: its value or output weights are wrong{also}"

    def _softly(self, layer: int, looked: _Looked) -> str | None:
        """Say how much weight a softmax head gave to other positions, if that made its answer wrong."""
        scores, _ = self._attention(layer, looked.number, looked.head)
        expected = looked.attention.expected
        if looked.head.weighting != "softmax" or len(expected) != 1:
            return None
        weights = softmax(np.asarray(list(scores.values()), dtype=np.float64))
        missing = 1 - float(weights[list(scores).index(expected[0])])
        if missing < np.finfo(np.float64).eps:
            return None
        return f"soft attention: {missing:.3g} of the weight went to other positions: use a lower temperature"

    def _why_elsewhere(self, layer: int, looked: _Looked) -> str:
        """Distinguish rounding from wrong weights: do these query and key weights look right in exact arithmetic?"""
        head, attention = looked.head, looked.attention
        there = in_sight(head.mask, self.position, len(self.specification.tokens))
        if hidden := set(attention.expected) - set(there):
            return f"its mask {head.mask!r} hides {positions_text(tuple(sorted(hidden)))}: use mask {_wider(head.mask)!r}"
        if self.decoder.layers[layer].attention_norm is not None:
            return (
                "it reads a layer norm, which is not computed in exact arithmetic: its weights are wrong, or it is rounding"
            )
        astray = set(attention.attended) - set(attention.expected)
        due = self._exact_score(layer, head, attention.expected)
        got = self._exact_score(layer, head, astray) if astray else due
        if got >= due:
            return "in exact arithmetic this head looks there as well: its query or key weights are wrong"
        if head.weighting == "softmax":
            return (
                f"soft attention: the true scores differ by {nearest(due - got):.3g}, but the values they are made of are "
                "no longer accurate enough: use a lower temperature"
            )
        top = max(abs(attention.score), abs(attention.expected_score))
        apart = float(np.spacing(np.dtype(self.engine.dtype).type(top)))
        return (
            f"rounding: the true scores differ by {nearest(due - got):.3g}, {self.engine.dtype} numbers as large as "
            f"these are {apart:.3g} apart: use a wider dtype, or the exact engine"
        )

    def _exact_score(self, layer: int, head: Head, places: Collection[int]) -> Rational:
        """Return the highest score of `places`, with this head's weights and the right values of the stream."""
        part = "feed_forward" if layer else "embedding"
        stream = partial(self.specification.stream, self.decoder.layout, layer=layer - 1, part=part)
        return max(exact_scores(head, stream(self.position), map(stream, places)))


def _wider(mask: Mask) -> Mask:
    """Return a mask that hides less."""
    return "none" if mask != "none" else mask


def _first_wrong(
    decoder: Decoder,
    spec: Specification,
    i: int,
    stage: tuple[int, str],
    residual: list[float],
    dtype: str,
    length: int | None = None,
) -> tuple[Subspace, list[float]] | None:
    """Return the first subspace whose value after `stage` is wrong, with that value.

    Numbers may be off by a few roundings of `dtype`, relative to their size or to 1/(i+1), or 1/length; rationals must be
    exact. Under softmax, integers and labels may be off by `SOFT` instead; multiples of 1/(i+1) pass through uniform heads
    only.

    Args:
        length: the length of the sequence, if it runs at once.
    """
    layout, soft = decoder.layout, decoder.soft
    slack = 0.0 if dtype == "rational" else 8 * float(np.finfo(dtype).eps)
    wanted, per = spec.stream(layout, i, *stage), 1 / (length or i + 1)
    for subspace in layout.subspaces:
        place = layout[subspace.name]
        allowed = SOFT if soft and not subspace.share else 0.0
        for f, w in zip(residual[place], wanted[place], strict=True):
            off = f - w if dtype == "rational" else float(f) - float(w)
            if not abs(off) <= max(allowed, slack * max(abs(float(w)), per)):  # a NaN is wrong as well
                return subspace, residual[place]
    return None


def _words(subspace: Subspace, values: Sequence[float]) -> str:
    if subspace.labels is None:
        return f"{nearest(values[0]):.9g}"
    if not any(values):
        return "⊥ (0)"
    text = combination(subspace.labels, values)
    return text[1:-1] if sum(v != 0 for v in values) == 1 and 1 in values else text
