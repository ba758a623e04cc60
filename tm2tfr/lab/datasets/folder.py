"""The folder of a data set: refused if it is in use, made, and filled with one finished shard after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from tm2tfr._version import __version__
from tm2tfr.base.errors import DatasetError, OutputError
from tm2tfr.base.files import refusal, write_bytes
from tm2tfr.base.text.shown import escaped
from tm2tfr.lab.datasets import manifest
from tm2tfr.lab.datasets.jobs import Job
from tm2tfr.lab.datasets.manifest import JOURNAL, MANIFEST, Record
from tm2tfr.lab.datasets.pool import Pool
from tm2tfr.lab.datasets.runs import versions
from tm2tfr.lab.datasets.shard import Done
from tm2tfr.lab.datasets.spec import DatasetSpec
from tm2tfr.lab.datasets.tally import Tally

CARD = "README.md"
VOCABULARY = "vocabulary.json"

ShardProgress = Callable[[int, int, int], None]
"""Called with the number of finished jobs, of all jobs, and of the trace rows made since the start."""


def results(
    task: Callable[[Job, Any], Done],
    missing: Iterable[Job],
    how: Any,
    crew: Pool,
    progress: ShardProgress | None,
    reused: int,
    number: int,
) -> Iterator[Done]:
    """Yield the results of the missing jobs of all, `number`, reporting progress.

    Raises:
        DatasetError: if a worker's versions differ from this process's, since the bytes could differ.
    """
    rows, own = 0, versions()
    for place, done in enumerate(crew.map(task, missing, how), start=reused + 1):
        if (theirs := done.versions) != own:
            names = [name for name in {**own, **theirs} if theirs.get(name) != own.get(name)]
            shown = ", ".join(f"{name} {theirs.get(name, 'none')}, here {own.get(name, 'none')}" for name in names)
            raise DatasetError(f"a worker has different versions ({shown}): install the same versions there as here")
        rows += done.tally.rows
        yield done
        if progress:
            progress(place, number, rows)


def kept(folder: Path, done: Done, shards: int) -> Record:
    """Write the files of a shard, and only then record them."""
    names = {(split, format): f"{split}/{done.number:05}-of-{shards:05}.{format}" for split, format in done.files}
    for key, data in done.files.items():
        write_bytes(folder / names[key], data)
    record = manifest.recorded(done, names)
    manifest.noted(folder, record)
    return record


def refuse_used(folder: Path, *, resume: bool) -> None:
    """Raise OutputError if the folder is not empty or is not a folder, or if a link in it leads out of it."""
    with _blamed(folder):
        for path in (*folder.glob("*"), *folder.glob("*/*")) if resume else ():
            if path.is_symlink():
                what = f"{path}: this is a symbolic link, and a data set is written within its own folder"
                raise OutputError(f"{what}: remove it, or choose another folder")
        if not resume and folder.is_dir() and any(folder.iterdir()):
            ours = (folder / JOURNAL).exists() or (folder / MANIFEST).exists()
            remedy = "resume it with --resume, or choose another folder" if ours else "choose another folder"
            raise OutputError(f"{folder}: this folder is not empty: {remedy}")
        if folder.exists() and not folder.is_dir():
            raise OutputError(f"{folder}: this is not a folder: choose another name")


def prepared(folder: Path, splits: Iterable[str] = ()) -> None:
    """Make the folder, and one in it for each split.

    Raises:
        OutputError: if that is impossible.
    """
    with _blamed(folder):
        folder.mkdir(exist_ok=True)
        for split in splits:
            (folder / split).mkdir(exist_ok=True)
        for left in folder.glob("*/.tm2tfr-*.tmp"):  # left by a process that was killed
            with suppress(OSError):
                left.unlink()


@contextmanager
def _blamed(folder: Path) -> Iterator[None]:
    """Turn the system's errors into OutputError, naming the folder."""
    try:
        yield
    except OSError as error:
        raise refusal(folder, error, folder.parent) from error


# ── The README of a data set, for people, with the header by which `datasets.load_dataset` finds the files.
def card(spec: DatasetSpec, tally: Tally, examples: Mapping[str, Mapping[str, int]], formats: Sequence[str]) -> str:
    """Return the text; the folder is read in one of the `formats`, Parquet if it is among them."""
    splits = [split for split, _ in spec.splits if examples[split]]
    format = max(formats)
    head = ["---", "configs:", "- config_name: default", "  data_files:"]
    for split in splits:
        head += [f"  - split: {split}", f'    path: "{split}/*.{format}"']
    head = [*head, "---", ""] if splits else []
    shares = {split: sum(examples[split].values()) for split in splits}
    lines = [
        f"# {escaped(spec.name)}",
        "",
        f"{spec.about(tally, f'made by tm2tfr {__version__}')}.",
        "",
        "| split | examples |",
        "|---|---|",
        *(f"| {split} | {number:,} |" for split, number in shares.items()),
        "",
        "| column | contents |",
        "|---|---|",
        *(f"| {name} | {what} |" for name, what in spec.columns.items()),
        "",
        f"{spec.notes}`manifest.json` has the spec, seeds, counts and digests.",
        f"`datasets.load_dataset` reads the {format} files of this folder.",
        "",
    ]
    return "\n".join([*head, *lines])
