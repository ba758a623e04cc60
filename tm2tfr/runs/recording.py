"""A long run carried out to its end: block by block, with checkpoints, and with its rows written to a file."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

import numpy as np

from tm2tfr.base.errors import CheckpointError, Interrupted, OutputError
from tm2tfr.base.files import write_whole
from tm2tfr.engines.fast import Fast
from tm2tfr.runs import saved as checkpoints
from tm2tfr.runs.blocks import Labels, RowBlock, as_rows
from tm2tfr.runs.comparison import Trace
from tm2tfr.runs.long_run import LongRun
from tm2tfr.runs.options import RunOptions
from tm2tfr.runs.saved import About
from tm2tfr.runs.truths import blocks_of
from tm2tfr.tables.stream import RowWriter, open_rows
from tm2tfr.tables.stream_text import Coded, Columns
from tm2tfr.transformer.weights import Decoder


def in_blocks(
    decoder: Decoder,
    word: str,
    machine: Any,
    options: RunOptions,
    *,
    fed: Sequence[str] | None = None,
) -> Trace:
    """Run `decoder` on `word` with the fast engine, checked against `machine` if there is one, without keeping rows.

    Args:
        fed: where there is no machine, the tokens that are fed; None: one for each symbol of `word`.

    Without `options.checkpoint`, the checkpoint that is resumed is also the one that is written.

    Raises:
        Interrupted: if `options.stop` asks for it; the run is saved first.
        CheckpointError: if `options.resume` is not a checkpoint of this run.
        OutputError: if the rows or the checkpoint cannot be written.
        InputError, EngineError: see `LongRun`.
    """
    resume, out, max_steps = options.resume, options.out, options.max_steps
    _refuse_collisions(options.checkpoint, resume, out)
    about, saved = None, None
    if options.saved:
        blocks = None if machine is None else blocks_of(machine, decoder, max_steps)
        about = About.of(decoder, blocks, word, fed)
    rows: int | None = None
    if resume is not None and about is not None:
        found, saved = checkpoints.load(resume)
        checkpoints.refuse_another_run(resume, found, about)
        rows = found.rows
        if rows is not None and out is None:
            what = f"{resume}: this run writes its rows to a file, {rows:,} of them so far"
            raise CheckpointError(f"{what}: add the same --output as before, or start again without it")
    try:
        run = LongRun(decoder, word, machine=machine, fed=fed, max_steps=max_steps, saved=saved)
    except CheckpointError as error:
        raise CheckpointError(f"{resume}: {error}") from None
    if rows is not None and rows != run.standing.positions:
        what = f"{resume}: it counts {rows:,} rows in the file, but the run has {run.standing.positions:,}"
        raise CheckpointError(f"{what}: it was changed or damaged: start the run again with --checkpoint")
    with ExitStack() as stack:
        writer = None if out is None else stack.enter_context(_writer(out, resume, rows))
        _Recorder(run, decoder, about, writer, options).go()
        trace = run.trace(Fast())
        if writer is not None:
            writer.expect(trace.agreed)
    return trace


def _writer(out: Path, resume: Path | None, rows: int | None) -> RowWriter:
    """Return the writer of `out`, which continues after `rows` rows if a run is resumed."""
    if resume is None:
        return open_rows(out)
    if rows is None:
        what = f"{resume}: this run wrote no rows before, so {out} would start in the middle of it"
        raise CheckpointError(f"{what}: start again with --output, or resume without it")
    part = Path(os.path.realpath(out)).with_name(f"{Path(os.path.realpath(out)).name}.part")
    if out.is_file() and not part.exists():  # it was finished, at a limit: its rows are the beginning of the new file

        def write(file: IO[bytes]) -> None:
            with out.open("rb") as before:
                shutil.copyfileobj(before, file)

        write_whole(part, write)
    return open_rows(out, resume_at=rows)


def _refuse_collisions(checkpoint: Path | None, resume: Path | None, out: Path | None) -> None:
    """Raise OutputError if a file would be lost.

    That is, if one file is to be two things, or a checkpoint is to replace something that is not resumed.
    """
    if out is not None:
        rows = Path(os.path.realpath(out))
        for other in (checkpoint, resume):
            if other is not None and Path(os.path.realpath(other)) in (rows, rows.with_name(f"{rows.name}.part")):
                raise OutputError(f"{other}: the checkpoint and the rows cannot be in one file: rename one of them")
        if out.suffix.lower() == ".parquet" and (checkpoint is not None or resume is not None):
            what = f"{out}: a Parquet file that was cut off cannot be resumed, so a checkpoint would be useless"
            raise OutputError(f"{what}: use .csv or .jsonl, or omit the checkpoint")
    if checkpoint is None or not checkpoint.is_file():
        return
    if resume is not None and Path(os.path.realpath(resume)) == Path(os.path.realpath(checkpoint)):
        return
    try:
        checkpoints.about(checkpoint)
        remedy = f"resume it with --resume {checkpoint}, choose another name, or delete it"
    except CheckpointError:
        remedy = "it is not a checkpoint: choose another name"
    raise OutputError(f"{checkpoint}: this file already exists: {remedy}")


class _Recorder:
    """The loop, and what is written in between."""

    def __init__(
        self, run: LongRun, decoder: Decoder, about: About | None, writer: RowWriter | None, options: RunOptions
    ) -> None:
        self._run, self._decoder, self._about = run, decoder, about
        self._writer, self._options = writer, options
        self._checkpoint = options.checkpoint or options.resume

    def go(self) -> None:
        """Run to the end."""
        last, asked = time.monotonic(), self._options
        sink = None if self._writer is None else self._write
        if asked.stop is not None:
            asked.stop()  # from here on, the block at hand is finished first
        while not self._run.done:
            self._run.advance(sink)
            if asked.progress:
                standing = self._run.standing
                asked.progress(standing.positions, standing.steps)
            if asked.stop is not None and asked.stop():
                self.save()
                raise Interrupted(self.where())
            if time.monotonic() - last >= asked.every:
                self.save()
                last = time.monotonic()
        if not self._run.diverged:
            self.save()

    def save(self) -> None:
        """Write the checkpoint, if one is wanted, with the rows so far safe on the disk."""
        if self._checkpoint is None or self._about is None:
            return
        rows = None
        if self._writer is not None:
            self._writer.flush()
            rows = self._writer.rows
        checkpoints.save(self._checkpoint, replace(self._about, rows=rows), self._run.save())

    def where(self) -> str:
        """Return the position of the run, for whoever interrupted it."""
        standing = self._run.standing
        text = f"interrupted at position {standing.positions:,}, after {standing.steps:,} steps"
        if standing.compared:
            text += f"; {standing.compared:,} cells compared, all agree"
        if self._checkpoint is not None:
            text += f"; resume it with --resume {self._checkpoint}"
            text += f" --output {self._writer.path}" if self._writer is not None else ""
        elif self._writer is not None:
            text += f"; the rows so far are in {self._writer.part}"
        return text

    def _write(self, block: RowBlock) -> None:
        if self._writer is None:
            return
        sound = all(bool((c >= -1).all()) for c in (block.x, block.q, block.b, block.a))
        whole = all(bool((v == np.rint(v)).all()) for v in (block.m, block.h))
        if sound and whole:
            self._writer.write_columns(_columns(block, Labels.of(self._decoder), self._decoder.vocabulary))
        else:
            self._writer.write(as_rows(block, self._decoder))


def _columns(block: RowBlock, labels: Labels, vocabulary: tuple[str, ...]) -> Columns:
    return Columns(
        i=block.i,
        x=Coded(block.x, labels.x),
        q=Coded(block.q, labels.q),
        b=Coded(block.b, labels.b),
        m=block.m.astype(np.int64),
        h=block.h.astype(np.int64),
        a=Coded(block.a, labels.a),
        y=Coded(block.y, vocabulary),
    )
