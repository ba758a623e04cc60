"""The same runs one by one, in the words of a batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tm2tfr.base.errors import EngineError
from tm2tfr.contract.source import Column
from tm2tfr.engines import engine as engine_named
from tm2tfr.runs.batches.batch import REFUSED, Batch
from tm2tfr.runs.options import MAX_STEPS, RunOptions
from tm2tfr.runs.rows import columns_of
from tm2tfr.runs.rows import rows as rows_of
from tm2tfr.runs.run import carried_out
from tm2tfr.sources.registry import of_program
from tm2tfr.transformer.weights import Decoder


def shown(batch: Batch, run: int) -> list[tuple[Any, ...]]:
    """Return the rows of a run as the table has them."""
    rows = slice(*batch.offsets[run : run + 2])
    named = {name: (*labels, "⟨…⟩", None) for name, labels in batch.labels.items()}  # -2, -1
    cells: list[list[Any]] = []
    for column in columns_of(batch.decoder):
        found = batch.columns[column.name][rows] if column.name in batch.columns else None
        if found is not None and found.ndim == 2:
            cells.append([_bits(column, bits) for bits in found.tolist()])
        elif found is not None:
            cells.append([named[column.name][code] for code in found] if column.name in named else found.tolist())
        elif column.kind == "position":
            cells.append(list(range(rows.stop - rows.start)))
        else:
            tokens = batch.answers if column.kind == "answered" else batch.tokens
            cells.append([batch.vocabulary[token] for token in tokens[rows]])
    return list(zip(*cells, strict=True))


def _bits(column: Column, bits: Sequence[float]) -> str:
    return column.named("".join(str(int(bit)) for bit in bits)) if {*bits} <= {0, 1} else "⟨…⟩"


def plain(cell: Any) -> Any:
    return "⟨…⟩" if isinstance(cell, str) and cell.startswith("⟨") else cell


def assert_same(batch: Batch, decoder: Decoder, program: Any, words: Sequence[str], limit: int = MAX_STEPS) -> None:
    """Compare every run of a batch with the run by itself: the trace of the blocks, and every row."""
    assert batch.inputs == tuple(words)
    right = program if batch.results is not None else None
    construction = of_program(program)
    assert construction is not None
    for run, given in enumerate(words):
        word = construction.given(program, given)
        prompt = word if construction.fed is None else construction.fed(program, word, decoder)
        options = RunOptions(engine=batch.engine, max_steps=limit, keep_rows=False)
        try:
            trace = carried_out(decoder, word, right, options, fed=prompt if right is None else None)
        except EngineError:  # of a labeller also while the cause is sought of what differs before that position
            wrong = decoder.labeller and batch.differs[run] >= 0
            assert wrong or (batch.outcomes[run], batch.differs[run]) == (REFUSED, -1)
            continue
        assert batch.outcomes[run] == trace.answer, (run, word)
        assert (None if batch.T[run] < 0 else batch.T[run]) == trace.T
        gap = trace.divergence
        assert batch.differs[run] == (-1 if gap is None else gap.position), (run, word, gap)
        assert batch.compared[run] == trace.compared
        if batch.results is not None:
            assert batch.results.outcomes[run] == trace.result.outcome
            _same_result(batch, run, trace.result)
        else:
            assert batch.offsets[run + 1] - batch.offsets[run] == trace.tokens
        rows = shown(batch, run)
        seen = rows_of(decoder, prompt, engine=engine_named(batch.engine), max_positions=len(rows))
        assert [tuple(map(plain, row)) for row in seen] == rows


def _same_result(batch: Batch, run: int, result: Any) -> None:
    found = batch.results
    if found is None or not len(found.steps):
        return
    told = found.steps[run], found.tapes[run], found.visited[run], found.ones[run]
    assert told == tuple(getattr(result, name) for name in ("steps", "tape", "cells_visited", "ones"))


def equal(first: Batch, second: Batch) -> bool:
    """Return whether two batches are the same, to the last number."""
    names = ("offsets", "tokens", "answers", "outcomes", "T", "differs", "compared")
    same = all(np.array_equal(getattr(first, name), getattr(second, name)) for name in names)
    same &= set(first.columns) == set(second.columns)
    same &= all(np.array_equal(first.columns[name], second.columns[name], equal_nan=True) for name in first.columns)
    if first.results is None or second.results is None:
        return same and first.results is second.results
    results = all(
        np.array_equal(getattr(first.results, n), getattr(second.results, n)) for n in ("outcomes", "steps", "ones")
    )
    return same and results and list(first.results.tapes) == list(second.results.tapes)
