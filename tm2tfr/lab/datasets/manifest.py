"""The contents of a folder: its files, their digests, the spec and the versions that made them; and the journal.

The journal has one line per finished shard. It becomes the manifest when all shards are finished.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tm2tfr.base.errors import DatasetError, OutputError
from tm2tfr.base.files import write_text
from tm2tfr.lab.datasets.runs import How
from tm2tfr.lab.datasets.shard import Done
from tm2tfr.lab.datasets.spec import DatasetSpec
from tm2tfr.lab.datasets.tally import Tally

FORMAT = 1
MANIFEST = "manifest.json"
JOURNAL = f"{MANIFEST}.part"
_WHAT = {
    "format": "a different format",
    "versions": "different versions",
    "engine": "a different engine",
    "spec_sha256": "a different spec",
    "inputs_sha256": "different inputs or another limit",
    "weights_sha256": "different weights",
    "machines_sha256": "different machines, or a machine file that has changed",
    "circuits_sha256": "different circuits, or a circuit's file that has changed",
    "programs_sha256": "a different program, or a program's file that has changed",
    "formulas_sha256": "a different formula, or a formula's file that has changed",
    "shards": "a different number of shards",
}
"""The values of the header that must be the same for a folder to be resumed, and what it was made with otherwise."""


@dataclass(frozen=True)
class Record:
    """A finished shard: its number, its counts, and its files with their digests."""

    number: int
    tally: Tally
    examples: dict[str, dict[str, int]]
    left_out: int
    files: dict[str, dict[str, Any]]

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        counts = {**self.tally.as_dict(), "left_out": self.left_out, "examples": self.examples}
        return {"shard": self.number, **counts, "files": self.files}

    @classmethod
    def of(cls, found: dict[str, Any]) -> Record:
        """Return the record that `as_dict` turned into `found`."""
        return cls(found["shard"], Tally.of(found), found["examples"], found["left_out"], found["files"])


def recorded(done: Done, names: dict[tuple[str, str], str]) -> Record:
    """Return the record of a worker's result; `names` are those of its files."""
    examples: dict[str, dict[str, int]] = {}
    for (split, form), number in sorted(done.examples.items()):
        examples.setdefault(split, {})[form] = number
    files = {names[key]: {"bytes": len(data), "sha256": sha256(data)} for key, data in sorted(done.files.items())}
    return Record(done.number, done.tally, examples, done.left_out, files)


def sha256(data: bytes) -> str:
    """Return the digest of some bytes."""
    return hashlib.sha256(data).hexdigest()


def header(spec: DatasetSpec, versions: dict[str, str], how: How, programs: str, shards: int) -> dict[str, Any]:
    """Return the header of every manifest of this spec; programs: the text of machines.jsonl or its like."""
    weights = how.weights_digest
    return {
        "format": FORMAT,
        "versions": versions,
        "engine": how.engine,
        "spec_sha256": sha256(spec.text.encode()),
        **({} if weights is None else {"weights_sha256": weights}),
        f"{spec.noun}s_sha256": sha256(programs.encode()),
        "shards": shards,
    }


def totals(records: list[Record], spec: DatasetSpec) -> tuple[Tally, dict[str, dict[str, int]], int]:
    """Return the totals of all shards: runs, examples by split and form in the order of the spec, runs left out."""
    tally, numbers = Tally(), Counter[tuple[str, str]]()
    for record in records:
        tally.add(record.tally)
        for split, forms in record.examples.items():
            numbers.update({(split, form): number for form, number in forms.items()})
    examples: dict[str, dict[str, int]] = {
        split: {f: numbers[split, f] for f in spec.forms if numbers[split, f]} for split, _ in spec.splits
    }
    return tally, examples, sum(record.left_out for record in records)


def written(folder: Path, head: dict[str, Any], spec: DatasetSpec, records: list[Record]) -> None:
    """Write the manifest, and remove the journal."""
    records = sorted(records, key=lambda record: record.number)
    tally, examples, left_out = totals(records, spec)
    document = {
        **head,
        "name": spec.name,
        "seed": spec.seed,
        "counts": {**tally.as_dict(), "left_out": left_out},
        "examples": examples,
        "spec": spec.text,
        "made": [record.as_dict() for record in records],
    }
    closed(folder, document)


def closed(folder: Path, document: dict[str, Any]) -> None:
    """Write a manifest, and remove the journal."""
    write_text(folder / MANIFEST, json.dumps(document, ensure_ascii=False, indent=1) + "\n")
    (folder / JOURNAL).unlink(missing_ok=True)


def begun(folder: Path, head: dict[str, Any], records: list[Record]) -> None:
    """Begin a journal with the shards that are finished."""
    write_text(folder / JOURNAL, "".join(_line(line) for line in (head, *(record.as_dict() for record in records))))


def noted(folder: Path, record: Record) -> None:
    """Add a shard, whose files have been written, to the journal.

    Raises:
        OutputError: if the journal cannot be written.
    """
    try:
        with (folder / JOURNAL).open("a", encoding="utf-8") as file:
            file.write(_line(record.as_dict()))
    except OSError as error:
        what = f"{folder / JOURNAL}: cannot be written ({error.strerror})"
        raise OutputError(f"{what}: fix that, and resume with --resume") from error


def _line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False) + "\n"


def found(folder: Path, head: dict[str, Any]) -> list[Record]:
    """Return the shards of a folder whose files all exist and have the right digests.

    Raises:
        DatasetError: if it is not such a folder, or was made from a different spec or by different versions.
    """
    try:
        before, records = _read(folder)
    except FileNotFoundError:
        raise DatasetError(f"{folder}: there is no data set to resume here: omit --resume") from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        what = f"{folder}: the manifest here cannot be read ({type(error).__name__}: {error})"
        raise DatasetError(f"{what}: make the data set again in another folder") from error
    for key, what in _WHAT.items():
        if before.get(key) != head.get(key):
            other = f"{what}{_changed(before.get(key), head.get(key))}"
            raise DatasetError(f"{folder}: the data set here was made with {other}: make this one in another folder")
    return [record for record in records if all(_sound(folder / n, f) for n, f in record.files.items())]


def _read(folder: Path) -> tuple[dict[str, Any], list[Record]]:
    if (folder / JOURNAL).exists():
        first, *lines = (folder / JOURNAL).read_text(encoding="utf-8").split("\n")
        return json.loads(first), [Record.of(json.loads(line)) for line in lines[:-1]]  # the last line is empty or cut off
    document = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    return document, [Record.of(record) for record in document["made"]]


def _sound(path: Path, file: dict[str, Any]) -> bool:
    try:
        return bool(sha256(path.read_bytes()) == file["sha256"])
    except OSError:
        return False


def _changed(before: Any, now: Any) -> str:
    """Return the difference between two values of the header, if they are short."""
    if isinstance(before, dict) and isinstance(now, dict):
        names = [name for name in {**before, **now} if before.get(name) != now.get(name)]
        return " (" + ", ".join(f"{name} {before.get(name, 'none')}, now {now.get(name, 'none')}" for name in names) + ")"
    return f" ({before}, now {now})" if max(len(str(before)), len(str(now))) < 40 else ""
