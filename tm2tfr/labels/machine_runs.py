"""Runs of machines as columns: each compared with the simulator's, cell by cell, by the fast engine or row by row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tm2tfr.engines import engine as engine_named
from tm2tfr.engines.decode import prompted
from tm2tfr.labels.of_turing import RawRows, recoded
from tm2tfr.runs.truths import AnyMachine, machine_truth_of
from tm2tfr.trace.check import Trace, check
from tm2tfr.transformer.weights import Decoder


@dataclass(frozen=True)
class Differs:
    """The first of some runs that differs from the reference's, and how; agreed: the number of runs before it."""

    word: str
    why: str
    agreed: int


@dataclass(frozen=True)
class RunsInColumns:
    """The runs of one machine; see `tm2tfr.labels.runs.LabelledRuns`."""

    decoder: Decoder
    program: AnyMachine
    engine: str
    max_steps: int

    def on(self, words: Sequence[str]) -> tuple[RawRows, tuple[str, ...], Differs | None, int]:
        """Return the rows of the runs up to the first that differs, what came out of each, what differs, and the cells."""
        if self.engine == "fast":
            return self._batch(words)
        parts: list[RawRows] = []
        outcomes: list[str] = []
        cells, differs = 0, None
        for word in words:
            raw, trace = self._by_row(word)
            if trace.divergence is not None or not trace.agrees:
                differs = Differs(word, str(trace.divergence or f"{trace.tokens} tokens, {trace.result}"), len(parts))
                break
            parts.append(raw)
            outcomes.append(trace.answer)
            cells += trace.compared
        return _joined(parts), tuple(outcomes), differs, cells

    def _batch(self, words: Sequence[str]) -> tuple[RawRows, tuple[str, ...], Differs | None, int]:
        """Return the same, of all runs in one call of compiled code."""
        from tm2tfr.runs.batches.carried import batch_of  # noqa: PLC0415  (it needs Numba, which is optional)

        batch = batch_of(self.decoder, self.program, words, checked=True, max_steps=self.max_steps, workers=1)
        wrong = np.flatnonzero((batch.differs >= 0) | (batch.compared == 0))
        agreed, differs = len(batch), None
        if len(wrong):
            agreed = int(wrong[0])
            differs = Differs(words[agreed], str(batch.divergence(agreed) or batch.trace(agreed).result), agreed)
        rows = int(batch.offsets[agreed])
        own = {name: batch.columns[name][:rows].astype(np.int32) for name in ("q", "b", "m", "h", "a")}
        sizes = np.array([len(word) for word in words[:agreed]], dtype=np.int64)
        raw = RawRows(batch.offsets[: agreed + 1], sizes, batch.tokens[:rows], batch.answers[:rows], **own)
        return raw, tuple(batch.outcomes[:agreed].tolist()), differs, int(batch.compared[:agreed].sum())

    def _by_row(self, word: str) -> tuple[RawRows, Trace]:
        truth = machine_truth_of(self.program, word, self.decoder, self.max_steps)
        named = engine_named(self.engine)
        trace = check(self.decoder, truth, engine=named, max_steps=self.max_steps, keep_rows=True)
        holder, numbers = self.decoder.layout.holder, self.decoder.numbers
        columns = {"y": np.array([numbers.get(row.y, -1) for row in trace.rows], dtype=np.int32)}
        for name in "qba":
            names = tuple(str(getattr(row, name)) for row in trace.rows)
            columns[name] = recoded(names, holder(f"e_{name}").labels)
        for name in "mh":
            columns[name] = np.array([int(getattr(row, name)) for row in trace.rows], dtype=np.int32)
        return self._raw(word, columns), trace

    def _raw(self, word: str, columns: dict[str, NDArray[np.int32]]) -> RawRows:
        rows = len(columns["y"])
        truth = machine_truth_of(self.program, "", self.decoder, 0)
        fed = np.array(prompted(self.decoder, (*truth.lead, *word)), dtype=np.int32)
        tokens = np.concatenate([fed, columns["y"][len(fed) - 1 : -1]])[:rows].astype(np.int32)
        own = {name: columns[name] for name in ("q", "b", "m", "h", "a")}
        return RawRows(np.array([0, rows]), np.array([len(word)]), tokens, columns["y"], **own)


_NOTHING = np.zeros(0, dtype=np.int32)


def _joined(parts: Sequence[RawRows]) -> RawRows:
    """Return the rows of several runs as one."""
    if not parts:
        return RawRows(np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.int64), *[_NOTHING] * 7)
    sizes = np.concatenate([part.sizes for part in parts])
    offsets = np.concatenate([[0], np.cumsum([part.offsets[-1] for part in parts])]).astype(np.int64)
    columns: list[Any] = [np.concatenate(each) for each in list(zip(*parts, strict=True))[2:]]
    return RawRows(offsets, sizes, *columns)
