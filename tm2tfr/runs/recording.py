"""Runs of the fast engine in blocks, recorded in files: their rows, and checkpoints from which they are resumed.

A checkpoint is a NumPy archive (.npz, uncompressed): the arrays of `LongRun.save`, and ``about``, JSON as bytes, with the
weights' digest, the machine's, the input word, the number of rows written to a file, and the digest of all this and of
every array. Written whole or not at all. A digest finds damage, and edits by somebody who does not make it anew; what must
hold in any case is checked by the modules that the arrays belong to (`tm2tfr.engines.fast.fresh`, `LongRun`).
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tm2tfr.base.errors import CheckpointError, Interrupted, OutputError
from tm2tfr.base.files import write_whole
from tm2tfr.contract.blocks import BlockReference
from tm2tfr.engines.fast import Fast
from tm2tfr.runs.blocks import Arrays, Labels, RowBlock, as_rows
from tm2tfr.runs.choose import NamedProgram, blocks_of
from tm2tfr.runs.comparison import Trace
from tm2tfr.runs.long_run import LongRun
from tm2tfr.runs.plan import RunOptions
from tm2tfr.transformer.weights import Decoder, digest

if TYPE_CHECKING:
    from tm2tfr.tables.stream import RowWriter
    from tm2tfr.tables.stream_text import Columns


def in_blocks(
    decoder: Decoder,
    word: str,
    machine: NamedProgram | None,
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
        found, saved = load(resume)
        refuse_another_run(resume, found, about)
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
    from tm2tfr.tables.stream import open_rows  # noqa: PLC0415  (a check without --output needs none)

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
        about_run(checkpoint)
        remedy = f"resume it with --resume {checkpoint}, choose another name, or delete it"
    except CheckpointError:
        remedy = "it is not a checkpoint: choose another name"
    raise OutputError(f"{checkpoint}: this file already exists: {remedy}")


class _Recorder:
    """The loop, and the files written in between."""

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
        save(self._checkpoint, replace(self._about, rows=rows), self._run.save())

    def where(self) -> str:
        """Return the position of the run, for the message about an interrupt."""
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
    from tm2tfr.tables.stream_text import Coded, Columns  # noqa: PLC0415

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


# ── checkpoints ────────────────────────────────────────────────────────────────────────────────────────────────────────
PROGRAM, FORMAT = "tm2tfr checkpoint", 3
ABOUT = "about"


@dataclass(frozen=True)
class About:
    """What identifies the run of a checkpoint, and the number of rows that it had written to a file."""

    weights: str
    machine: str
    input: str
    rows: int | None = None

    @classmethod
    def of(cls, decoder: Decoder, blocks: BlockReference | None, word: str, fed: Sequence[str] | None = None) -> About:
        """Return the identity of the run of `decoder` on `word`, compared with a machine's, or on the tokens `fed`."""
        lines = ("", *(fed or ())) if blocks is None else blocks.identity
        return cls(weights_digest(decoder), hashlib.sha256("\n".join(lines).encode()).hexdigest(), word)


def weights_digest(decoder: Decoder) -> str:
    """Return the SHA-256 of everything that an engine reads from a decoder."""
    heads = [[(head.mask, head.weighting) for head in layer.heads] for layer in decoder.layers]
    read = [digest(decoder), decoder.bos, decoder.stop, decoder.features, heads]
    return hashlib.sha256(json.dumps(read).encode()).hexdigest()


def save(path: Path, of: About, arrays: Arrays) -> None:
    """Write a checkpoint.

    Raises:
        OutputError: if it cannot be written; an existing checkpoint is then unchanged.
    """
    text = json.dumps({"program": PROGRAM, "format": FORMAT, **of.__dict__, "digest": _content(of, arrays)})
    every = {**arrays, ABOUT: np.frombuffer(text.encode(), dtype=np.uint8)}

    def write(file: IO[bytes]) -> None:
        np.savez(file, allow_pickle=False, **every)

    write_whole(path, write)


def load(path: Path) -> tuple[About, dict[str, NDArray[np.generic]]]:
    """Return the header of a checkpoint, and its arrays.

    Raises:
        CheckpointError: if there is no such file, or it is not a checkpoint of this version, or is damaged.
    """
    with _opened(path) as (said, digest, archive):
        arrays = {name: archive[name] for name in archive.files if name != ABOUT}
        if digest != _content(said, arrays):
            raise ValueError("changed")
        return said, arrays


def about_run(path: Path) -> About:
    """Return the header of a checkpoint, without reading its arrays. See `load` for errors."""
    with _opened(path) as (said, _, _):
        return said


def _content(of: About, arrays: Arrays) -> str:
    """Return the SHA-256 of everything in a checkpoint."""
    total = hashlib.sha256(json.dumps(of.__dict__).encode())
    for name, array in sorted(arrays.items()):
        total.update(json.dumps([name, array.dtype.str, array.shape]).encode())
        total.update(np.ascontiguousarray(array).data)
    return total.hexdigest()


@contextmanager
def _opened(path: Path) -> Iterator[tuple[About, str, Any]]:
    """Open a checkpoint, yield it with its digest, and report what is wrong with it, also while it is read."""
    import zipfile  # noqa: PLC0415  (as NumPy does)

    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            if any(member.compress_type != zipfile.ZIP_STORED for member in archive.zip.infolist()):
                raise ValueError("compressed, so that it may be larger than memory")
            said = json.loads(archive[ABOUT].tobytes())
            if said["program"] != PROGRAM:
                raise ValueError("from another program")
            if said["format"] != FORMAT:
                what = f"{path}: this checkpoint has format {said['format']}, but this version reads {FORMAT}"
                raise CheckpointError(f"{what}: resume it with the version that wrote it, or start again")
            rows = said["rows"]
            if not (rows is None or (type(rows) is int and rows >= 0)):
                raise ValueError("no number of rows")
            yield About(said["weights"], said["machine"], said["input"], rows), said["digest"], archive
    except FileNotFoundError as error:
        raise CheckpointError(f"{path}: there is no such file: start the run with --checkpoint {path}") from error
    except IsADirectoryError as error:
        raise CheckpointError(f"{path}: it is a folder: name a checkpoint file") from error
    except PermissionError as error:
        raise CheckpointError(f"{path}: no permission to read it: change its permissions, or start again") from error
    except CheckpointError:
        raise
    except Exception as error:  # zipfile, NumPy and json raise errors of all kinds where a file was edited
        what = f"{path}: it is not a checkpoint, or was changed or damaged"
        raise CheckpointError(f"{what}: start the run again with --checkpoint") from error


def refuse_another_run(path: Path, found: About, wanted: About) -> None:
    """Raise CheckpointError unless a checkpoint is from the run that is to be resumed."""
    for what, remedy in (
        ("weights", "name the machine or weight file that it was made with"),
        ("machine", "compare with the same machine as before, or with nothing"),
        ("input", f"it was made with --input {found.input!r}"),
    ):
        if getattr(found, what) != getattr(wanted, what):
            other = {"input": "another input", "weights": "other weights"}.get(what, "another machine to compare with")
            raise CheckpointError(f"{path}: this checkpoint is from a run with {other}: {remedy}, or start again")
