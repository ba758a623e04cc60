"""Forty hidden models of all sources in three grades, made by one seed, with the keys in a folder of their own."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tm2tfr._version import __version__
from tm2tfr.lab.hidden.claim import answer, template
from tm2tfr.lab.hidden.disguise import GRADES, Disguised
from tm2tfr.lab.line.folder import production
from tm2tfr.lab.line.plan import Job, Made
from tm2tfr.runs.comparison import Progress
from tm2tfr.transformer.storage import dumps

MODELS, KEYS, INDEX, README = "models", "keys", "suite.json", "README.md"
ENTRY = ("model", "claim", "key", "grade", "digest")
"""What the index says of a model."""
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


HiddenMember = tuple[Member, int, int]
"""What is hidden, its grade, and the seed."""


def make_suite(
    folder: str | Path,
    hide: Hide,
    *,
    seed: int,
    workers: int | None = 1,
    progress: Progress | None = None,
    resume: bool = False,
) -> Path:
    """Write the suite to a folder, and return the folder; the same bytes for the same seed, resumed or not.

    It has ``models/01.safetensors`` and so on, beside each an empty claim, ``models/01.claim.json``; the keys as
    ``keys/01.json``; and ``suite.json``, which says of which grade each model is, and not what it is.

    Args:
        hide: makes one of them; with several workers, a function that is found by its name.
        workers: the number of processes; None: one per core.
        progress: called with how many are made, and how many there are.
        resume: keep the finished models of a folder whose files are as they were written, and make the others.

    Raises:
        OutputError: if the folder is in use or cannot be written.
        DatasetError: if it cannot be resumed: it has no suite of this seed and version.
    """
    folder = Path(folder)
    jobs = [Job(n, (member, grade, 1_000 * seed + n + 1)) for n, (member, grade) in enumerate(members(seed))]
    head = {"format": FORMAT, "tm2tfr": __version__, "seed": seed}

    def tell(done: int, every: int, _rows: int) -> None:
        if progress is not None:
            progress(done, every)

    with production(folder, "hidden models", head, jobs, resume=resume, workers=workers, folders=(MODELS, KEYS)) as line:
        for _ in line.made(hidden_model, hide, tell):
            pass
        models = [{name: shard[name] for name in ENTRY} for shard in line.listed()]
        index = {"format": FORMAT, "version": "1", "seed": seed, "dtype": DTYPE, "models": models}
        line.close({README: _readme(seed), INDEX: json.dumps(index, indent=1) + "\n"})
    return folder


@dataclass
class HiddenModel(Made):
    """The files of a hidden model, and what the index says of it."""

    entry: Mapping[str, Any] = field(default_factory=dict)

    @property
    def counts(self) -> Mapping[str, Any]:
        return self.entry


def hidden_model(job: Job[HiddenMember], hide: Hide) -> HiddenModel:
    """Hide a model, and make its files."""
    made, name = hide(*job.work), f"{job.number + 1:02}"
    model, claim, key = f"{MODELS}/{name}.safetensors", f"{MODELS}/{name}.claim.json", f"{KEYS}/{name}.json"
    files = {
        model: dumps(made.decoder),
        key: made.key.text().encode(),
        claim: template(answer(made.key)).encode(),
    }
    entry = dict(zip(ENTRY, (model, claim, key, job.work[1], made.key.digest), strict=True))
    return HiddenModel(job.number, files, entry=entry)


def members(seed: int) -> list[tuple[Member, int]]:
    """Return what is hidden and in which grade, in the order of the suite of this seed; each grade a third."""
    every = list(MEMBERS)
    random.Random(f"tm2tfr suite {seed}").shuffle(every)
    return [(member, GRADES[n % len(GRADES)]) for n, member in enumerate(every)]


def _readme(seed: int) -> str:
    return f"""# Hidden models

{len(MEMBERS)} transformers whose weights were compiled and then disguised, seed {seed}, by `tm2tfr disguise --suite`.
`{INDEX}` lists them with their grades. Each has an empty claim beside it, with the words to be used. Withhold the folder
`{KEYS}`: it has the answers. `tm2tfr score {KEYS}/01.json {MODELS}/01.claim.json` scores a claim.

The weights are {DTYPE}, and were compared with their originals in {DTYPE}: run them in it. In float32 some models, those
with layers that round, give other answers than their originals.
"""
