"""Data sets and sweeps of the runs of a spec: a folder of examples, or the first run that differs from the reference's."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tm2tfr._version import __version__
from tm2tfr.base.choices import AUTO
from tm2tfr.base.errors import counted
from tm2tfr.base.text.shown import escaped, markdown_table
from tm2tfr.lab.datasets.shard import Failure, How, Tally
from tm2tfr.lab.datasets.spec import DatasetSpec
from tm2tfr.lab.line.folder import CARD, VOCABULARY, ShardProgress, carried_out, folder_named, production
from tm2tfr.lab.line.manifest import MANIFEST, Record, sha256
from tm2tfr.lab.line.plan import versions
from tm2tfr.lab.line.pool import pool
from tm2tfr.lab.line.writing import arrow_or_error, readme

FORMAT = 1


@dataclass(frozen=True)
class Dataset:
    """A data set that was made, or the failure that prevented it.

    Args:
        title: what reports call it.
        tally: all its runs; after a failure, those before it.
        examples: their numbers by split and form.
        left_out: the number of runs that did not end.
        reused: how many of the `shards` existed already.
    """

    folder: Path
    spec: DatasetSpec
    title: str
    tally: Tally
    examples: dict[str, dict[str, int]]
    left_out: int
    shards: int
    reused: int
    failure: Failure | None = None

    @property
    def name(self) -> str:
        """That of its spec."""
        return self.spec.name


def make(
    spec: DatasetSpec,
    folder: str | Path,
    *,
    workers: int | None = None,
    scheduler: str | None = None,
    engine: str = AUTO,
    resume: bool = False,
    progress: ShardProgress | None = None,
    **options: Any,
) -> Dataset:
    """Make a data set; see `tm2tfr.make_dataset`.

    Args:
        options: see `DatasetSpec.how`.

    Raises:
        DatasetError, OutputError, EngineError, CompileError, WeightFileError: as documented there.
    """
    folder, how = folder_named(folder), spec.how(engine, **options)
    spec = spec.prompted(how, options)
    if "parquet" in spec.formats:
        arrow_or_error()
    jobs, programs = list(spec.jobs()), spec.listing
    texts = {spec.listing_file: programs}
    if spec.vocabulary is not None:
        texts[VOCABULARY] = json.dumps(spec.vocabulary, ensure_ascii=False, indent=0) + "\n"
    head, splits = _head(spec, how, programs, len(jobs)), [split for split, _ in spec.splits]
    with production(
        folder,
        "a data set",
        head,
        jobs,
        resume=resume,
        workers=workers,
        scheduler=scheduler,
        folders=splits,
        texts=texts,
    ) as line:
        for done in line.made(spec.maker, spec.making(how, len(jobs)), progress):
            if done.failure is not None:
                tally, examples, left_out = _totals(line.records, spec)
                tally.add(done.tally)
                return Dataset(
                    folder, spec, how.title(spec.name), tally, examples, left_out, len(jobs), line.reused, done.failure
                )
        tally, examples, left_out = _totals(line.records, spec)
        counts = {**tally.as_dict(), "left_out": left_out}
        own = {"name": spec.name, "seed": spec.seed, "counts": counts, "examples": examples, "spec": spec.text}
        entries = {**own, "made": line.listed()}
        line.close({CARD: card(spec, tally, examples, spec.formats)}, entries=entries)
    return Dataset(folder, spec, how.title(spec.name), tally, examples, left_out, len(jobs), line.reused)


def _head(spec: DatasetSpec, how: How, programs: str, shards: int) -> dict[str, object]:
    """Return what has to be the same for a folder to be resumed; programs: the text of machines.jsonl or its like."""
    weights = how.weights_digest
    return {
        "format": FORMAT,
        "versions": versions(),
        "engine": how.engine,
        "spec_sha256": sha256(spec.text.encode()),
        **({} if weights is None else {"weights_sha256": weights}),
        f"{spec.noun}s_sha256": sha256(programs.encode()),
        "shards": shards,
    }


def totals(records: Iterable[Record]) -> tuple[Tally, int]:
    """Return the counts of all shards, and the number of runs left out."""
    tally, left_out = Tally(), 0
    for record in records:
        tally.add(Tally.of(record.counts))
        left_out += record.counts["left_out"]
    return tally, left_out


def _totals(records: Sequence[Record], spec: DatasetSpec) -> tuple[Tally, dict[str, dict[str, int]], int]:
    """Return the totals of all shards: runs, examples by split and form in the order of the spec, runs left out."""
    numbers = Counter[tuple[str, str]]()
    for record in records:
        for split, forms in record.counts["examples"].items():
            numbers.update({(split, form): number for form, number in forms.items()})
    examples: dict[str, dict[str, int]] = {
        split: {f: numbers[split, f] for f in spec.forms if numbers[split, f]} for split, _ in spec.splits
    }
    tally, left_out = totals(records)
    return tally, examples, left_out


def dataset_report(found: Dataset) -> str:
    """Return a few lines about a data set."""
    spec = found.spec
    if found.failure is not None:
        head = f"{spec.name}: FAILED after {spec.summed(found.tally)}"
        return f"{head}\n{found.failure}\nthe data set is not finished: {found.folder} contains nothing of this run"
    lines = [f"{found.title}: {spec.result(found.tally)}"]
    for split, forms in found.examples.items():
        shown = ", ".join(f"{number:,} {form}" if len(forms) > 1 else form for form, number in forms.items())
        lines.append(f"{split}: {counted(sum(forms.values()), 'example')} ({shown})" if forms else f"{split}: no examples")
    if found.left_out:
        lines.append(f"left out: {spec.left_out(found.left_out)}")
    if found.reused:
        lines.append(f"reused: {found.reused:,} of {counted(found.shards, 'shard')}")
    listed = [MANIFEST, spec.listing_file, *([] if spec.vocabulary is None else [VOCABULARY]), CARD]
    lines.append(f"wrote {found.folder}: {counted(found.shards, 'shard')}, {', '.join(listed)}")
    return "\n".join(lines)


# ── The README of a data set, for people, with the header by which `datasets.load_dataset` finds the files.
def card(spec: DatasetSpec, tally: Tally, examples: Mapping[str, Mapping[str, int]], formats: Sequence[str]) -> str:
    """Return the text; the folder is read in one of the `formats`, Parquet if it is among them."""
    format, splits = max(formats), [split for split, _ in spec.splits if examples[split]]
    files = [f'  - split: {split}\n    path: "{split}/*.{format}"' for split in splits]
    return readme(
        ("- config_name: default", "  data_files:", *files) if splits else (),
        f"# {escaped(spec.name)}",
        f"{spec.about(tally, f'made by tm2tfr {__version__}')}.",
        markdown_table(("split", "examples"), ((split, f"{sum(examples[split].values()):,}") for split in splits)),
        markdown_table(("column", "contents"), spec.columns.items()),
        f"{spec.notes}`manifest.json` has the spec, seeds, counts and digests.\n"
        f"`datasets.load_dataset` reads the {format} files of this folder.",
    )


# ── sweeps
JOB = 1_000
"""The most runs in a job: few enough for progress to be shown soon."""


@dataclass(frozen=True)
class Sweep:
    """The result of a sweep.

    Args:
        name: what reports call it.
        tally: the runs that agree: all, or those before the failure.
        failure: the first run that does not agree.
        again: a command that reproduces it.
    """

    spec: DatasetSpec
    name: str
    tally: Tally
    failure: Failure | None = None
    again: str = ""


def sweep(
    spec: DatasetSpec,
    *,
    workers: int | None = None,
    scheduler: str | None = None,
    engine: str = AUTO,
    progress: ShardProgress | None = None,
    **options: Any,
) -> Sweep:
    """Check every run of a spec; see `tm2tfr.sweep`.

    Args:
        options: see `DatasetSpec.how`.

    Raises:
        DatasetError, EngineError, CompileError, WeightFileError: as documented there.
    """
    task, how = spec.sweeper, spec.how(engine, **options)
    title, size, tally = how.title(spec.name), min(spec.shard_size, JOB), Tally()
    number = sum(1 for _ in spec.jobs(size))
    with pool(workers, scheduler, number) as crew:
        for done in carried_out(crew, task, spec.jobs(size), how, number, progress):
            tally.add(done.tally)
            if done.failure is not None:
                return Sweep(spec, title, tally, done.failure, spec.again(done.failure, how))
    tally.machines = sum(len(piece.programs) for piece in spec.pieces())
    return Sweep(spec, title, tally)


def sweep_report(found: Sweep) -> str:
    """Return a line about a sweep, and one about its records, or the counterexample and how to reproduce it."""
    spec, tally = found.spec, found.tally
    if found.failure is None:
        line = f"{found.name}: {counted(tally.machines, spec.noun)}, {spec.summed(tally)}, all agree"
        return f"{line}\n{records}" if (records := spec.records(tally)) else line
    head = f"{found.name}: FAILED after {spec.summed(tally)}, all of which agree"
    return f"{head}\n{found.failure}\nreproduce: {found.again}"
