"""A suite: forty hidden models of all sources in three grades, sealed: nobody without the keys can make them again.

All that is drawn comes from one seed of 128 bits, which lies with the keys: which sources (`tm2tfr.lab.hidden.population`),
in which order, and how each is disguised. What is published has a digest of the seed, by which the suite can be resumed,
and later shown to be the one that was announced.
"""

from __future__ import annotations

import hashlib
import json
import random
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tm2tfr._version import __version__
from tm2tfr.base.errors import DatasetError, DisguiseError
from tm2tfr.base.text.shown import json_text
from tm2tfr.lab.hidden.baselines import Baseline, baseline
from tm2tfr.lab.hidden.claim import answer, template
from tm2tfr.lab.hidden.disguise import GRADES, Disguised
from tm2tfr.lab.hidden.keys import load_any_key, truth_of
from tm2tfr.lab.hidden.population import FAMILIES, SHIPPED, Member
from tm2tfr.lab.hidden.score import KINDS, ClaimScores, mean_of, score, shown
from tm2tfr.lab.line.folder import folder_named, production
from tm2tfr.lab.line.manifest import sha256
from tm2tfr.lab.line.pool import Job, Made
from tm2tfr.runs.comparison import Progress
from tm2tfr.runs.plan import is_count
from tm2tfr.transformer.storage import dumps, load

MODELS, KEYS, INDEX, README = "models", "keys", "suite.json", "README.md"
SEED = f"{KEYS}/seed.json"
"""Where the seed is: with the keys."""
SEED_BITS = 128
ENTRY = ("model", "claim", "key", "grade", "digest")
"""What the index says of a model."""
FORMAT = "tm2tfr-suite"
DTYPE = "float64"
"""What hidden models are made for, and compared in."""
OF_SHIPPED, OF_EACH_FAMILY = 12, 7
SIZE = OF_SHIPPED + OF_EACH_FAMILY * len(FAMILIES)
"""The number of models."""

HiddenMember = tuple[Member, int, int]
"""What is hidden, its grade, and the seed of its disguise."""
Hide = Callable[[Member, int, int], Disguised]
"""Makes it, hidden, its tokens and outputs renamed."""


def make_suite(
    folder: str | Path,
    hide: Hide,
    *,
    seed: int | None = None,
    workers: int | None = 1,
    progress: Progress | None = None,
    resume: bool = False,
) -> Path:
    """Write the suite to a folder, and return the folder; the same bytes for the same seed, resumed or not.

    It has ``models/01.safetensors`` and so on, beside each an empty claim, ``models/01.claim.json``; the keys as
    ``keys/01.json``, the seed beside them; and ``suite.json``, which says of which grade each model is, and not what it is.

    Args:
        hide: makes one of them; with several workers, a function that is found by its name.
        seed: None: a random one of 128 bits, or that of the folder that is resumed.
        workers: the number of processes; None: one per core.
        progress: called with how many are made, and how many there are.
        resume: keep the finished models of a folder whose files are as they were written, and make the others.

    Raises:
        OutputError: if the folder is in use or cannot be written.
        DatasetError: if it cannot be resumed: it has no suite of this seed and version.
    """
    folder = folder_named(folder)
    if seed is None:
        begun = resume and folder.is_dir() and any(folder.iterdir())
        seed = _kept_seed(folder) if begun else secrets.randbits(SEED_BITS)
    jobs = [Job(n, work) for n, work in enumerate(members(seed))]
    head = {"format": FORMAT, "tm2tfr": __version__, "seed_sha256": sha256(str(seed).encode())}
    texts = {SEED: json_text({"seed": seed})}

    with production(
        folder, "hidden models", head, jobs, resume=resume, workers=workers, folders=(MODELS, KEYS), texts=texts
    ) as line:
        line.make(hidden_model, hide, progress)
        models = [{name: shard[name] for name in ENTRY} for shard in line.listed()]
        line.close({README: _readme(), INDEX: json_text({**head, "version": "2", "dtype": DTYPE, "models": models})})
    return folder


def _kept_seed(folder: Path) -> int:
    """Return the seed of a suite that was begun."""
    try:
        seed = json.loads((folder / SEED).read_text(encoding="utf-8"))["seed"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        what = f"{folder}: this folder has no {SEED} with the seed of a suite"
        raise DatasetError(f"{what}: put it back, name the seed, or choose another folder") from error
    if not is_count(seed, 0):
        raise DatasetError(f"{folder}/{SEED}: the seed is a whole number, not {seed!r}: put the file back")
    return int(seed)


@dataclass
class HiddenModel(Made):
    """The files of a hidden model, and what the index says of it."""

    entry: Mapping[str, object] = field(default_factory=dict)

    @property
    def counts(self) -> Mapping[str, object]:
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


def members(seed: int) -> list[HiddenMember]:
    """Return what the suite of a seed hides, in its order, each grade a third: 12 shipped sources, 7 of each family."""
    chance = random.Random(f"tm2tfr suite {seed}")
    every = chance.sample(SHIPPED, OF_SHIPPED)
    every += [Member(name, drawn=chance.getrandbits(64)) for name in FAMILIES for _ in range(OF_EACH_FAMILY)]
    chance.shuffle(every)
    return [(member, GRADES[n % len(GRADES)], _own_seed(seed, n)) for n, member in enumerate(every)]


def _own_seed(seed: int, number: int) -> int:
    """Return the seed of one disguise, from which neither that of the suite nor that of another one follows."""
    return int(hashlib.sha256(f"tm2tfr suite {seed} {number}".encode()).hexdigest()[:32], 16)


# ── baselines on a suite, by grade
@dataclass(frozen=True)
class SuiteScores:
    """The scores of a baseline on all models of a suite.

    Args:
        grades: grade -> kind -> the mean measure of the models that have such things, and the mean of their `base`.
        models: grade -> the number of models.
    """

    baseline: str
    grades: Mapping[int, Mapping[str, tuple[float | None, float | None]]]
    models: Mapping[int, int]

    def as_dict(self) -> dict[str, object]:
        """Return it as plain data."""
        grades = {
            str(grade): {kind: {"measure": mean, "base": base} for kind, (mean, base) in kinds.items()}
            for grade, kinds in self.grades.items()
        }
        return {"baseline": self.baseline, "models": {str(g): n for g, n in self.models.items()}, "grades": grades}

    def __str__(self) -> str:
        lines = [f"{self.baseline:<12}" + "".join(f"{f'grade {grade}':>10} {'base':>7}" for grade in self.grades)]
        for kind in KINDS:
            cells = (self.grades[grade][kind] for grade in self.grades)
            lines.append(f"{kind:<12}" + "".join(f"{shown(mean):>10} {shown(base):>7}" for mean, base in cells))
        counts = ", ".join(f"{number} of grade {grade}" for grade, number in self.models.items())
        return "\n".join(
            (*lines, f"means over models: {counts}; base: the score of a claim that knows only how many of each there are")
        )


def score_suite(folder: str | Path, name: Baseline, progress: Progress | None = None) -> SuiteScores:
    """Return the scores of a baseline on a suite with its keys.

    Raises:
        DisguiseError: if it is not a suite, or a key cannot be read.
        WeightFileError: if a model cannot be read.
    """
    folder = folder_named(folder)
    try:
        listed = json.loads((folder / INDEX).read_text(encoding="utf-8"))["models"]
        entries = [(folder / each["model"], folder / each["key"], int(each["grade"])) for each in listed]
    except (OSError, ValueError, KeyError, TypeError) as error:
        what, remedy = f"{folder}: it has no {INDEX} that lists hidden models", "name a key, or a folder made by"
        remedy = f"{remedy} 'tm2tfr disguise --suite'"
        if (parent := folder.resolve().parent / INDEX).is_file():
            remedy = f"name the folder above, {parent.parent}"
        raise DisguiseError(f"{what}: {remedy}") from error
    found: dict[int, list[ClaimScores]] = {grade: [] for grade in sorted({grade for _, _, grade in entries})}
    for number, (model, key_path, grade) in enumerate(entries, start=1):
        key = load_any_key(key_path)
        found[grade].append(score(baseline(name, load(model), key), truth_of(key)))
        if progress:
            progress(number, len(entries))
    grades = {
        grade: {
            kind: (mean_of([each.kinds[kind].measure for each in scores]), mean_of([each.base[kind] for each in scores]))
            for kind in KINDS
        }
        for grade, scores in found.items()
    }
    return SuiteScores(name, grades, {grade: len(scores) for grade, scores in found.items()})


def _readme() -> str:
    return f"""# Hidden models

{SIZE} transformers, compiled and then disguised, their tokens and outputs renamed, by `tm2tfr disguise --suite`:
{OF_SHIPPED} of shipped sources, {SIZE - OF_SHIPPED} of random machines, circuits, programs and formulas. `{INDEX}` lists
them with their grades. Each has an empty claim beside it, with the words to be used. Withhold the folder `{KEYS}`: it has
the answers, and the seed. `tm2tfr score {KEYS}/01.json {MODELS}/01.claim.json` scores a claim.

The weights are {DTYPE}, and were compared with their originals in {DTYPE} alone: run them in it.
"""
