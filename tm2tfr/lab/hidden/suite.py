"""Forty hidden models of all sources in three grades, made by one seed, with the keys in a folder of their own."""

from __future__ import annotations

import hashlib
import json
import os
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tm2tfr._version import __version__
from tm2tfr.base.errors import DisguiseError, listing
from tm2tfr.base.files import refusal, write_text
from tm2tfr.lab.hidden.claim import template
from tm2tfr.lab.hidden.disguise import GRADES, Disguised
from tm2tfr.lab.hidden.truth import answer
from tm2tfr.runs.comparison import Progress
from tm2tfr.transformer.storage import save

MODELS, KEYS, INDEX, README = "models", "keys", "suite.json", "README.md"
UNFINISHED = "unfinished.json"
FORMAT = "tm2tfr-suite"
DTYPE = "float64"
"""What hidden models are made for: in float32 some of them give other answers."""

MACHINES = (
    *("chapter", "busy-beaver-3", "parity", "palindromes", "binary-increment", "copy", "same-ends", "never-halts"),
    *("a-b-c", "find-a-one", "unary-subtraction", "divisible-by-3", "left-edge", "busy-beaver-5"),
)
CIRCUITS = ("full-adder", "half-adder", "c17", "multiplexer", "majority", "comparator")
PROGRAMS = (
    *("histogram", "sort-unique", "reverse", "shift", "mark-first", "detect-pattern", "smooth", "running-maximum"),
    *("swap-neighbours", "length"),
)
FORMULAS = (
    *("since-b", "a-n-b-n", "hop-1", "ends-in-110", "nearest-mark", "dyck-1-by-counting"),
    *("odd-ones-without-predicates", "last-write"),
)


@dataclass(frozen=True)
class Member:
    """One model of the suite: the name of what it is, and the options with which that is compiled."""

    name: str
    options: Mapping[str, Any]


MEMBERS = (
    *(Member(name, {}) for name in (*MACHINES, *CIRCUITS, *PROGRAMS, *FORMULAS)),
    Member("full-adder", {"variant": "paper-hard"}),
    Member("busy-beaver-2", {"universal": (3, 2)}),
)
"""What is hidden."""

Hide = Callable[[Member, int, int], Disguised]
"""(what, grade, seed) -> it, hidden."""


def make_suite(
    folder: str | Path, hide: Hide, *, seed: int, progress: Progress | None = None, resume: bool = False
) -> Path:
    """Write the suite to a folder, and return the folder; the same bytes for the same seed, resumed or not.

    It has ``models/01.safetensors`` and so on, beside each an empty claim, ``models/01.claim.json``; the keys as
    ``keys/01.json``; and ``suite.json``, which says of which grade each model is, and not what it is. Until all are made it
    has ``unfinished.json`` in its place, with the digest of each finished file.

    Args:
        hide: makes one of them.
        progress: called with how many are made, and how many there are.
        resume: keep the finished models of a folder whose files are as they were written, and make the others.

    Raises:
        OutputError: if it cannot be written.
        DisguiseError: if the folder is not empty; to resume: if it is no unfinished suite of this seed and version.
    """
    folder = Path(folder)
    try:
        kept = _kept(folder, seed) if resume else {}
        if not resume:
            _refuse_used(folder)
        for part in (folder, folder / MODELS, folder / KEYS):
            part.mkdir(exist_ok=True)
        found = list(_written(folder, hide, seed, progress, kept))
        write_text(folder / README, _readme(seed))
        write_text(folder / INDEX, _document(seed, found))
        (folder / UNFINISHED).unlink(missing_ok=True)
    except OSError as error:
        raise refusal(folder, error, folder.parent) from error
    return folder


def _document(seed: int, models: Sequence[Any], **more: Any) -> str:
    head = {"format": FORMAT, "version": "1", "seed": seed, "dtype": DTYPE}
    return json.dumps({**head, **more, "models": models}, indent=1) + "\n"


def _kept(folder: Path, seed: int) -> dict[str, dict[str, Any]]:
    """Return the finished models of an unfinished suite, by number, all of whose files have their digests."""
    if not folder.exists() or not os.listdir(folder):
        return {}
    path = folder / UNFINISHED
    try:
        said = json.loads(path.read_bytes())
        stated = {name: said[name] for name in ("format", "seed", "tm2tfr")}
        finished = {str(each["number"]): (dict(each["entry"]), dict(each["files"])) for each in said["models"]}
    except (FileNotFoundError, ValueError, TypeError, KeyError) as error:
        what = f"{folder}: it is no unfinished suite: {UNFINISHED} is missing or damaged"
        raise DisguiseError(f"{what}: omit --resume, and name another folder") from error
    if stated != (own := {"format": FORMAT, "seed": seed, "tm2tfr": __version__}):
        name = next(name for name in own if stated[name] != own[name])
        what = f"{folder}: it was begun with {name} {stated[name]!r}, and this is {own[name]!r}"
        raise DisguiseError(f"{what}: resume it with the same, or name another folder")
    return {
        number: {"entry": entry, "files": files}
        for number, (entry, files) in finished.items()
        if set(files) == set(_files(number)) and all(_sha256(folder / file) == files[file] for file in files)
    }


def _files(name: str) -> tuple[str, str, str]:
    return f"{MODELS}/{name}.safetensors", f"{MODELS}/{name}.claim.json", f"{KEYS}/{name}.json"


def _sha256(path: Path) -> str | None:
    """Return the digest of a file; None if there is none."""
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else None


def members(seed: int) -> list[tuple[Member, int]]:
    """Return what is hidden and in which grade, in the order of the suite of this seed; each grade a third."""
    every = list(MEMBERS)
    random.Random(f"tm2tfr suite {seed}").shuffle(every)
    return [(member, GRADES[n % len(GRADES)]) for n, member in enumerate(every)]


def _written(
    folder: Path, hide: Hide, seed: int, progress: Progress | None, kept: Mapping[str, dict[str, Any]]
) -> Iterator[dict[str, Any]]:
    every, finished = members(seed), list[dict[str, Any]]()
    for number, (member, grade) in enumerate(every, start=1):
        name = f"{number:02}"
        model, claim, key = files = _files(name)
        if name in kept:
            entry = kept[name]["entry"]
        else:
            made = hide(member, grade, 1_000 * seed + number)
            save(made.decoder, folder / model)
            made.key.save(folder / key)
            write_text(folder / claim, template(answer(made.key)))
            entry = {"model": model, "claim": claim, "key": key, "grade": grade, "digest": made.key.digest}
        finished.append({"number": name, "entry": entry, "files": {file: _sha256(folder / file) for file in files}})
        write_text(folder / UNFINISHED, _document(seed, finished, tm2tfr=__version__))
        if progress is not None:
            progress(number, len(every))
        yield entry


def _refuse_used(folder: Path) -> None:
    """Raise DisguiseError if a folder has anything in it."""
    if folder.is_dir() and (held := sorted(os.listdir(folder))):
        what = f"{folder}: this folder is not empty; it contains {listing(held, most=3)}"
        remedy = "resume it with --resume, or " if UNFINISHED in held else ""
        raise DisguiseError(f"{what}: {remedy}choose another name, or remove it")


def _readme(seed: int) -> str:
    return f"""# Hidden models

{len(MEMBERS)} transformers whose weights were compiled and then disguised, seed {seed}, by `tm2tfr disguise --suite`.
`{INDEX}` lists them with their grades. Each has an empty claim beside it, with the words to be used. Withhold the folder
`{KEYS}`: it has the answers. `tm2tfr score {KEYS}/01.json {MODELS}/01.claim.json` scores a claim.

The weights are {DTYPE}, and were compared with their originals in {DTYPE}: run them in it. In float32 some models, those
with layers that round, give other answers than their originals.
"""
