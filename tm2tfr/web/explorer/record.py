"""A run of the dense engine, recorded from the inside: every residual stream, every head's choice, every check.

The numbers are those of the forward pass that generated the tokens; nothing is computed a second time. The simulator
is used only by the check.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tm2tfr.contract.source import Truth
from tm2tfr.engines.decode import Engine, Observation, Session, Watch
from tm2tfr.runs import comparison
from tm2tfr.runs.comparison import Progress, Trace
from tm2tfr.transformer.attention import softmax
from tm2tfr.transformer.parts import NO_BOS, NORMS, TABLE, refuse_parts
from tm2tfr.transformer.residual import Subspace
from tm2tfr.transformer.weights import Decoder

_BLOCK = 256  # positions that are kept as they are before they are turned into columns
_MOST_SHARERS = 64
"""The most positions sharing a head's weight that are kept, where a run can be long."""
LayerPass = tuple[int, int]
"""A layer, from 0, and its pass, from 1; 0 where no loop runs the layer."""


@dataclass
class Content:
    """The content of one subspace after one stage, one value per position.

    `values` are numbers; for a labelled subspace, 0 is the zero vector, k + 1 its k-th label, and -1 anything else, whose
    coordinates are in `others` by position.
    """

    values: NDArray[np.integer] | NDArray[np.float64]
    others: dict[int, list[float]] = field(default_factory=dict)

    def upto(self, count: int) -> Content:
        """Return the first `count` positions."""
        return Content(self.values[:count], {i: row for i, row in self.others.items() if i < count})


PER_POSITION = ("winner", "count", "score", "runner", "runner_score")
"""The fields of `Attended` that are lists with one value per position."""


@dataclass
class Attended:
    """Where one head looked, one value per position.

    Args:
        uniform: the scores are all 0 by construction: the head takes the mean over all positions that its mask lets it see.
        winner: the first position attended to.
        count: the number of positions that share the weight.
        score: their score.
        runner, runner_score: the best of the other positions and its score, -1 and 0 if there are none.
        sharers: position -> the first positions that share the weight, if several but not all do.
        weights: of a head with softmax, the weights of the positions in sight, one position after the other.
    """

    uniform: bool
    winner: list[int] = field(default_factory=list)
    count: list[int] = field(default_factory=list)
    score: list[float] = field(default_factory=list)
    runner: list[int] = field(default_factory=list)
    runner_score: list[float] = field(default_factory=list)
    sharers: dict[int, list[int]] = field(default_factory=dict)
    weights: list[NDArray[np.float64]] = field(default_factory=list)

    def upto(self, count: int) -> Attended:
        """Return the first `count` positions."""
        lists = {name: getattr(self, name)[:count] for name in PER_POSITION}
        sharers = {i: places for i, places in self.sharers.items() if i < count}
        return replace(self, **lists, sharers=sharers, weights=self.weights[:count])


@dataclass(frozen=True)
class Recording:
    """A run: its trace, its layers in the order in which they ran, where their heads looked, and what each stage changed.

    Args:
        steps: each layer once, but those of a loop once for each pass.
        heads: by step and head.
        written: one dictionary per stage (the embedding, then attention and feed-forward of each step in turn): the number
            of a subspace -> its column, for the subspaces that this stage changes anywhere in the run.
        truth: the reference's run that it was compared with, if there was any.
        max_steps: the limit of that run.
    """

    decoder: Decoder
    trace: Trace
    steps: Sequence[LayerPass]
    heads: Sequence[Sequence[Attended]]
    written: Sequence[dict[int, Content]]
    truth: Truth | None = None
    max_steps: int | None = None


def record(
    decoder: Decoder,
    word: str,
    *,
    truth: Truth | None,
    engine: Engine,
    max_steps: int | None,
    progress: Progress | None = None,
    fed: Sequence[str] | None = None,
) -> Recording:
    """Run `decoder` on `word`, check it against `truth` if there is one, and return everything that was recorded.

    Args:
        fed: without a truth, the tokens that are fed; None: one for each character of `word`.

    Raises:
        InputError: if `word` is not over the machine's input alphabet.
        EngineError: if the decoder's vocabulary lacks one of its symbols; for weights with a part that no page shows.
    """
    refuse_parts(decoder, "the explorer", "see tm2tfr trace", known=(TABLE, NORMS, NO_BOS))
    recorder = _Recorder(decoder)
    watched: Any = _Watched(engine, recorder)
    if truth is None:
        tokens = word if fed is None else fed
        trace = comparison.run(decoder, tokens, engine=watched, max_steps=max_steps, keep_rows=True, progress=progress)
        trace = replace(trace, input=word)
    else:
        trace = comparison.check(decoder, truth, engine=watched, max_steps=max_steps, keep_rows=True, progress=progress)
    return replace(recorder.recording(decoder, trace), truth=truth, max_steps=max_steps)


class _Recorder:
    """Records what an engine shows, one position at a time; see `tm2tfr.engines.decode.Watch`.

    Args:
        steps: see `Recording`; None: each layer once.
        most_sharers: the most positions sharing a head's weight that are kept.
    """

    def __init__(
        self, decoder: Decoder, steps: Sequence[LayerPass] | None = None, most_sharers: int = _MOST_SHARERS
    ) -> None:
        self._subspaces = decoder.layout.subspaces
        self._places = [decoder.layout[s.name] for s in self._subspaces]
        self._steps = [(n, 0) for n in range(len(decoder.layers))] if steps is None else steps
        self._stages = 1 + 2 * len(self._steps)
        self._most_sharers = most_sharers
        self._soft = [[head.weighting == "softmax" for head in decoder.layers[layer].heads] for layer, _ in self._steps]
        self.heads = [[Attended(head.uniform) for head in decoder.layers[layer].heads] for layer, _ in self._steps]
        self._streams: list[NDArray[np.float64]] = []
        self._blocks: list[list[dict[int, Content]]] = [[] for _ in range(self._stages)]
        self._start = 0

    def stage(self, layer: int, part: str, residual: NDArray[np.float64]) -> None:
        """Keep the residual stream after a stage."""
        self._streams.append(residual)
        if len(self._streams) == self._stages * _BLOCK:
            self._put_away()

    def head(
        self, step: int, head: int, scores: NDArray[np.float64], attended: NDArray[np.intp], *, first: int = 0
    ) -> None:
        """Keep where a head looked, and the runner-up.

        Args:
            step: the index of the step, which is the layer's where no loop runs it again.
            first: the position of the first score.
        """
        kept, winner, count = self.heads[step][head], int(attended[0]), len(attended)
        if kept.uniform:
            return
        here = len(kept.winner)
        kept.winner.append(winner)
        kept.count.append(count)
        kept.score.append(float(scores[winner - first]))
        if self._soft[step][head]:
            kept.weights.append(softmax(scores))
        others = count < len(scores)
        if others:
            rest = scores.copy()
            rest[attended - first] = -np.inf
        runner = int(rest.argmax()) if others else -1
        kept.runner.append(first + runner if others else -1)
        kept.runner_score.append(float(scores[runner]) if others else 0.0)
        if others and count > 1:
            kept.sharers[here] = attended[: self._most_sharers].tolist()

    def recording(self, decoder: Decoder, trace: Trace) -> Recording:
        """Return what was recorded at the positions of `trace`; the engine may have continued beyond them."""
        written = [{n: column.upto(trace.tokens) for n, column in stage.items()} for stage in self._finished()]
        heads = [[seen.upto(trace.tokens) for seen in layer] for layer in self.heads]
        return Recording(decoder, trace, self._steps, heads, written)

    def _finished(self) -> list[dict[int, Content]]:
        """Return the columns of each stage."""
        del self._streams[len(self._streams) - len(self._streams) % self._stages :]  # from a position that was refused
        if self._streams:
            self._put_away()
        first, *rest = self._blocks
        standing = [[block[n] for block in first] for n in range(len(self._subspaces))]
        whole = [{n: _joined(columns) for n, columns in enumerate(standing)}]
        for blocks in rest:
            changed = sorted({n for block in blocks for n in block})
            for n in changed:
                standing[n] = [block.get(n, old) for block, old in zip(blocks, standing[n], strict=True)]
            whole.append({n: _joined(standing[n]) for n in changed})
        return whole

    def _put_away(self) -> None:
        """Turn the residual streams kept so far into columns, without the subspaces that a stage did not change."""
        block = np.array(self._streams, dtype=np.float64).reshape(
            len(self._streams) // self._stages, self._stages, self._streams[0].shape[0]
        )
        self._streams.clear()
        before: NDArray[np.float64] | None = None
        for number in range(self._stages):
            stream, found = block[:, number], dict[int, Content]()
            for n, (subspace, place) in enumerate(zip(self._subspaces, self._places, strict=True)):
                part = stream[:, place]
                if before is None or not np.array_equal(part, before[:, place]):
                    found[n] = _column(subspace, part, self._start)
            self._blocks[number].append(found)
            before = stream
        self._start += len(block)


def _column(subspace: Subspace, part: NDArray[np.float64], start: int) -> Content:
    """part: (n_positions, width of the subspace), starting at position `start`."""
    if subspace.labels is None:
        return Content(part[:, 0].copy())
    if not subspace.labels:
        return Content(np.zeros(len(part)))
    best, sizes = part.argmax(axis=1), np.abs(part).sum(axis=1)
    clean = (sizes == 1.0) & (part[np.arange(len(part)), best] == 1.0)
    values = np.where(clean, best + 1, np.where(sizes == 0.0, 0, -1))
    return Content(values, {start + int(n): part[n].tolist() for n in np.flatnonzero(values == -1)})


def _joined(columns: Sequence[Content]) -> Content:
    others = {i: row for column in columns for i, row in column.others.items()}
    return Content(np.concatenate([column.values for column in columns]), others)


@dataclass(frozen=True)
class _Watched:
    """An engine whose sessions report to a recorder."""

    stand_in: Engine
    recorder: Watch

    @property
    def name(self) -> str:
        return self.stand_in.name

    @property
    def dtype(self) -> str:
        return self.stand_in.dtype

    def start(self, decoder: Decoder) -> _Session:
        return _Session(self.stand_in.start(decoder), self.recorder)


class _Session:
    """A session that reports to a recorder."""

    def __init__(self, session: Session, recorder: Watch) -> None:
        self._session, self._recorder = session, recorder

    @property
    def residual(self) -> Any:
        return self._session.residual

    @property
    def logits(self) -> Any:
        return self._session.logits

    def feed(self, token: int, watch: Watch | None = None) -> int:
        return self._session.feed(token, self._recorder)


def replayed(decoder: Decoder, trace: Trace, seen: Sequence[Observation], *, truth: Truth | None = None) -> Recording:
    """Return the recording of a run of which all positions were observed at once, as a sequence model's are.

    Args:
        seen: (n_positions,), as `tm2tfr.engines.decode.observe_all` returns them.
        truth: the reference's run that it was compared with, if there was any.
    """
    looped = {layer for loop in decoder.loops for layer in range(loop.first - 1, loop.last)}
    ran = zip(seen[0].stages, seen[0].passes, strict=True)
    steps = [(layer, (before + 1) * (layer in looped)) for (layer, part, _), before in ran if part == "attention"]
    recorder = _Recorder(decoder, steps, most_sharers=len(seen))
    for i, each in enumerate(seen):
        for layer, part, residual in each.stages:
            recorder.stage(layer, part, np.asarray(residual, dtype=np.float64))
        for n, (layer, number) in enumerate(steps):
            for k, head in enumerate(decoder.layers[layer].heads):
                scores, attended = each.looks[layer, k, max(0, number - 1)]
                first = i if head.mask == "past" else 0
                recorder.head(n, k, np.asarray(scores, dtype=np.float64), np.asarray(attended), first=first)
    return replace(recorder.recording(decoder, trace), truth=truth)
