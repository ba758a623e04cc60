"""The manifest of a folder, its files with digests and their origin; a journal until all are made; the formats of files.

The first entries of a manifest, its head, must be equal for the folder to be resumed. The journal has the head and one
line per finished shard. It becomes the manifest when all shards are finished.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from tm2tfr.base.errors import DatasetError, required
from tm2tfr.base.files import refusal, write_text
from tm2tfr.base.text.shown import json_text
from tm2tfr.contract.shown import PlainData
from tm2tfr.lab.line.pool import Made

if TYPE_CHECKING:
    import pyarrow as pa

MANIFEST = "manifest.json"
JOURNAL = f"{MANIFEST}.part"
_DIFFERENT = {
    "versions": "different versions",
    "tm2tfr": "a different version of tm2tfr",
    "seed_sha256": "a different seed",
    "spec_sha256": "a different spec",
    "grid_sha256": "a different grid",
    "inputs_sha256": "different inputs or another limit",
    "weights_sha256": "different weights",
    "machines_sha256": "different machines, or a machine file that has changed",
    "circuits_sha256": "different circuits, or a circuit's file that has changed",
    "programs_sha256": "a different program, or a program's file that has changed",
    "formulas_sha256": "a different formula, or a formula's file that has changed",
    "shards": "a different number of shards",
    "variables": "different variables",
}
"""Entry of a head -> the difference between two folders in it, in words; of other entries the name says it."""


@dataclass(frozen=True)
class Record:
    """A finished shard: its number, its maker's record, and its files with their sizes and digests."""

    number: int
    counts: PlainData
    files: Mapping[str, PlainData]

    @classmethod
    def of(cls, made: Made) -> Record:
        """Return the record of the result of a job."""
        files = {name: {"bytes": len(data), "sha256": sha256(data)} for name, data in sorted(made.files.items())}
        return cls(made.number, dict(made.counts), files)

    @classmethod
    def read(cls, record: PlainData) -> Record:
        """Return the record that `as_dict` turned into `record`."""
        counts = {key: value for key, value in record.items() if key not in ("shard", "files")}
        return cls(int(record["shard"]), counts, dict(record["files"]))

    def as_dict(self) -> dict[str, object]:
        """Return it as plain data."""
        return {"shard": self.number, **self.counts, "files": dict(self.files)}


def sha256(data: bytes) -> str:
    """Return the digest of some bytes."""
    return hashlib.sha256(data).hexdigest()


# ── writing
def begin(folder: Path, head: PlainData, records: Sequence[Record]) -> None:
    """Begin a journal with the shards that are finished."""
    write_text(folder / JOURNAL, "".join(map(_line, (head, *(record.as_dict() for record in records)))))


def note(folder: Path, record: Record) -> None:
    """Add a shard, whose files have been written, to the journal.

    Raises:
        OutputError: if the journal cannot be written.
    """
    try:
        with (folder / JOURNAL).open("a", encoding="utf-8") as file:
            file.write(_line(record.as_dict()))
    except OSError as error:
        raise refusal(folder / JOURNAL, error) from error


def close(folder: Path, document: PlainData) -> None:
    """Write the manifest, and remove the journal."""
    write_text(folder / MANIFEST, json_text(document))
    (folder / JOURNAL).unlink(missing_ok=True)


def _line(value: PlainData) -> str:
    return json.dumps(value, ensure_ascii=False) + "\n"


# ── resuming
def resumed(folder: Path, noun: str, head: PlainData) -> tuple[list[Record], list[Record]]:
    """Return the shards of a folder whose files all exist and have the right digests, and the others that it records.

    Args:
        noun: what is made, for messages: "a data set".

    Raises:
        DatasetError: if the folder has something else, or was made with another head.
    """
    try:
        before, records = _read(folder)
    except FileNotFoundError:
        raise DatasetError(f"{folder}: this folder has nothing to resume: choose another folder") from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        what = f"{folder}: the manifest here cannot be read ({type(error).__name__}: {error})"
        raise DatasetError(f"{what}: choose another folder") from error
    same = json.loads(json.dumps(head))  # as it is read again: tuples are lists
    for key in (*same, *(key for key in before if key.endswith("_sha256"))):
        if (then := before.get(key)) != (now := same.get(key)):
            what = _DIFFERENT.get(key, f"a different {key.replace('_', ' ')}")
            made = f"this folder has {noun} made with {what}{_change(then, now)}"
            raise DatasetError(f"{folder}: {made}: choose another folder")
    intact = [all(_intact(folder / name, file) for name, file in record.files.items()) for record in records]
    return list(compress(records, intact)), [record for record, whole in zip(records, intact, strict=True) if not whole]


def _read(folder: Path) -> tuple[PlainData, list[Record]]:
    if (folder / JOURNAL).exists():
        first, *lines = (folder / JOURNAL).read_text(encoding="utf-8").split("\n")
        head = dict(json.loads(first))
        return head, [Record.read(json.loads(line)) for line in lines[:-1]]  # the last is empty or cut off
    document = dict(json.loads((folder / MANIFEST).read_text(encoding="utf-8")))
    if "made" in document:
        return document, [Record.read(record) for record in document["made"]]
    shards = document["shards"]  # the manifest of interventions has shards by name
    return document, [Record(int(name[:5]), shard["counts"], shard["files"]) for name, shard in shards.items()]


def _intact(path: Path, file: PlainData) -> bool:
    try:
        return bool(sha256(path.read_bytes()) == file["sha256"])
    except OSError:
        return False


def _change(then: object, now: object) -> str:
    """Return the difference between two entries of heads, if they are short."""
    if isinstance(then, dict) and isinstance(now, dict):
        names = [name for name in {**then, **now} if then.get(name) != now.get(name)]
        change = ", ".join(f"{name} {then.get(name, 'none')}, now {now.get(name, 'none')}" for name in names)
        return f" ({change})" if len(change) < 200 else ""
    return f" ({then}, now {now})" if max(len(str(then)), len(str(now))) < 40 else ""


# ── The forms of files in a folder: Parquet, JSON Lines, and a README with the header that `datasets.load_dataset` reads.
def arrow_or_error(otherwise: str = "remove parquet from the formats") -> ModuleType:
    """Return PyArrow; `otherwise`: what to do without it.

    Raises:
        DatasetError: if it is missing.
    """
    modules = ("pyarrow", "pyarrow.parquet")
    return required("Parquet needs PyArrow", modules, "dataset", otherwise=otherwise, error=DatasetError)[0]


def parquet(
    tables: Iterable[pa.Table],
    schema: pa.Schema,
    *,
    level: int,
    group: int | None = None,
    metadata: Mapping[str, bytes] | None = None,
    **options: object,
) -> bytes:
    """Return a Parquet file whose bytes follow from its tables and PyArrow's version: every setting is given explicitly.

    Args:
        tables: Arrow tables, in order; group: the rows of a row group; level: of the compression by Zstandard.
        metadata: further entries of the file's metadata.
        options: of `pyarrow.parquet.ParquetWriter`.
    """
    sink, arrow = io.BytesIO(), arrow_or_error()
    fixed = {"compression": "zstd", "compression_level": level, "version": "2.6", "data_page_version": "1.0"}
    with arrow.parquet.ParquetWriter(sink, schema, **fixed, **options) as writer:
        if metadata is not None:
            writer.add_key_value_metadata(metadata)
        for table in tables:
            writer.write_table(table, row_group_size=group)
    return sink.getvalue()


def json_lines(rows: Iterable[Mapping[str, object]]) -> str:
    """Return a line of JSON for each row."""
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def readme(configs: Sequence[str], *blocks: str) -> str:
    """Return a README: the configurations of `datasets.load_dataset`, as lines of YAML, then blocks of Markdown."""
    head = ["\n".join(["---", "configs:", *configs, "---"])] if configs else []
    return "\n\n".join([*head, *(block for block in blocks if block)]) + "\n"
