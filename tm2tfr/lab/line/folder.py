"""The folder of a production line: locked, and filled with one finished shard after the other."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from tm2tfr.base.errors import DatasetError, OutputError
from tm2tfr.base.files import refusal, write_bytes, write_text
from tm2tfr.contract.shown import PlainData
from tm2tfr.lab.line import manifest
from tm2tfr.lab.line.manifest import JOURNAL, MANIFEST, Record
from tm2tfr.lab.line.pool import Job, Made, Pool, Task, pool, versions
from tm2tfr.runs.comparison import Progress

try:
    import fcntl
except ImportError:  # Windows has no such locks
    fcntl = None  # type: ignore[assignment]

CARD = "README.md"
VOCABULARY = "vocabulary.json"

ShardProgress = Callable[[int, int, int], None]
"""Called with the number of finished jobs, of all jobs, and of the rows made since the start."""

_Work = TypeVar("_Work")
_Options = TypeVar("_Options")
_Made = TypeVar("_Made", bound=Made)


@contextmanager
def production(
    folder: Path,
    noun: str,
    head: PlainData,
    jobs: Sequence[Job[_Work]],
    *,
    resume: bool,
    workers: int | None = 1,
    scheduler: str | None = None,
    folders: Iterable[str] = (),
    texts: Mapping[str, str] | None = None,
) -> Iterator[Production[_Work]]:
    """Yield a folder to be filled, which is locked until the end; its finished shards are verified and kept.

    Args:
        folder: new or empty; with `resume`, also one that was begun with the same head.
        noun: what is made, for messages: "a data set".
        head: the entries that must be equal for the folder to be resumed.
        jobs: all of them; each becomes a shard.
        workers, scheduler: see `tm2tfr.lab.line.pool.pool`.
        folders: the names of folders in it.
        texts: file -> content, written before the first shard.

    Raises:
        OutputError: if the folder is in use or cannot be written.
        DatasetError: if it cannot be resumed, or the workers cannot be reached.
    """
    with ExitStack() as stack:
        if exists := folder.is_dir():
            stack.enter_context(_locked(folder))
        with _blamed(folder):
            begun = resume and exists and any(folder.iterdir())
        refuse_used(folder, resume=begun)
        records, damaged = manifest.resumed(folder, noun, head) if begun else ([], [])
        kept = {record.number for record in records}
        missing = [job for job in jobs if job.number not in kept]
        crew = stack.enter_context(pool(workers, scheduler, len(missing)))  # before anything is written: it may fail
        prepare(folder, folders)
        if not exists:
            stack.enter_context(_locked(folder))
        for name in (name for record in damaged for name in record.files):  # or their makers would go on with them
            (folder / name).unlink(missing_ok=True)
        for name, text in (texts or {}).items():
            write_text(folder / name, text)
        manifest.begin(folder, head, records)
        yield Production(folder, head, crew, missing, len(jobs), records, len(records))


@dataclass
class Production(Generic[_Work]):
    """A folder that is being filled.

    Args:
        missing: the jobs to be done; shards: the number of all.
        records: the finished shards; reused: the number of those that were finished before.
    """

    folder: Path
    head: PlainData
    crew: Pool
    missing: Sequence[Job[_Work]]
    shards: int
    records: list[Record]
    reused: int

    def made(
        self, task: Task[_Work, _Options, _Made], options: _Options, progress: ShardProgress | None = None
    ) -> Iterator[_Made]:
        """Do the missing jobs, and yield the result of each after its shard is written.

        One that has failed is yielded as well; it is not written, and the last.
        """
        made: _Made
        for made in carried_out(
            self.crew, task, self.missing, options, self.shards, progress, reused=self.reused, keep=self._keep
        ):
            yield made
            if made.failed:
                return

    def make(self, task: Task[_Work, _Options, _Made], options: _Options, progress: Progress | None = None) -> None:
        """Do the missing jobs; progress: called with the numbers of finished jobs and of all jobs."""
        counting = None if progress is None else lambda done, every, _rows: progress(done, every)
        for _ in self.made(task, options, counting):
            pass

    def _keep(self, made: Made) -> None:
        """Write the files of a shard, and only then record them."""
        if made.failed:
            return
        for name, data in made.files.items():
            write_bytes(self.folder / name, data)
        record = Record.of(made)
        manifest.note(self.folder, record)
        self.records.append(record)

    def close(self, texts: Mapping[str, str], *, entries: PlainData | None = None) -> None:
        """Finish the folder: write its last files, then the manifest.

        Args:
            texts: file -> content.
            entries: the entries of the manifest after its head; by default the records of all shards, as ``made``.
        """
        for name, text in texts.items():
            write_text(self.folder / name, text)
        manifest.close(self.folder, {**self.head, **({"made": self.listed()} if entries is None else entries)})

    def listed(self) -> list[PlainData]:
        """Return the records of all shards as plain data, in the order of their numbers."""
        return [record.as_dict() for record in sorted(self.records, key=lambda record: record.number)]


def carried_out(
    crew: Pool,
    task: Task[_Work, _Options, _Made],
    jobs: Iterable[Job[_Work]],
    options: _Options,
    number: int,
    progress: ShardProgress | None = None,
    *,
    reused: int = 0,
    keep: Callable[[Made], None] | None = None,
) -> Iterator[_Made]:
    """Yield the results of the jobs in order, reporting progress after each.

    Args:
        number: that of all jobs, of which `reused` were done before.
        keep: called with each before it is yielded.

    Raises:
        DatasetError: if a worker's versions differ from this process's, since the bytes could differ.
    """
    rows, own = 0, versions()
    for place, made in enumerate(crew.map(task, jobs, options), start=reused + 1):
        if (theirs := made.versions) != own:
            names = [name for name in {**own, **theirs} if theirs.get(name) != own.get(name)]
            shown = ", ".join(f"{name} {theirs.get(name, 'none')}, here {own.get(name, 'none')}" for name in names)
            raise DatasetError(f"a worker has different versions ({shown}): install the same versions there as here")
        rows += made.rows
        if keep is not None:
            keep(made)
        yield made
        if progress:
            progress(place, number, rows)


# ── the folder itself
def folder_named(folder: object) -> Path:
    """Return the path of a folder that is given as text or as a path.

    Raises:
        OutputError: for anything else.
    """
    if not isinstance(folder, str | Path):
        raise OutputError(f"folder must be the name of a folder, not {folder!r}: use text or a pathlib.Path")
    return Path(folder)


def refuse_used(folder: Path, *, resume: bool) -> None:
    """Raise OutputError if the folder is not empty or is not a folder, or if a link in it leads out of it."""
    with _blamed(folder):
        for path in (*folder.glob("*"), *folder.glob("*/*")) if resume else ():
            if path.is_symlink():
                what = f"{path}: this is a symbolic link, and files are written within their own folder alone"
                raise OutputError(f"{what}: remove it, or choose another folder")
        if not resume and folder.is_dir() and any(folder.iterdir()):
            ours = (folder / JOURNAL).exists() or (folder / MANIFEST).exists()
            remedy = "resume it with --resume, or choose another folder" if ours else "choose another folder"
            raise OutputError(f"{folder}: this folder is not empty: {remedy}")
        if folder.exists() and not folder.is_dir():
            raise OutputError(f"{folder}: this is not a folder: choose another name")


def prepare(folder: Path, folders: Iterable[str] = ()) -> None:
    """Make the folder, and the folders in it.

    Raises:
        OutputError: if that is impossible.
    """
    with _blamed(folder):
        folder.mkdir(exist_ok=True)
        for name in folders:
            (folder / name).mkdir(exist_ok=True)
        for left in folder.glob("*/.tm2tfr-*.tmp"):  # left by a process that was killed
            with suppress(OSError):
                left.unlink()


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Keep other processes from filling the same folder; the lock ends with this process, and leaves nothing behind.

    The folder itself is locked, rather than a file in it, which a killed process would leave. Where the system or the
    file system has no such locks, nothing is locked.

    Raises:
        OutputError: if another process has locked it.
    """
    if fcntl is None:
        yield
        return
    with _blamed(folder):
        handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
            os.close(handle)
            what = f"{folder}: another process is writing to this folder"
            raise OutputError(f"{what}: wait until it ends, or choose another folder") from None
    try:
        yield
    finally:
        os.close(handle)


@contextmanager
def _blamed(folder: Path) -> Iterator[None]:
    """Turn the system's errors into OutputError, naming the folder."""
    try:
        yield
    except OSError as error:
        raise refusal(folder, error, folder.parent) from error
