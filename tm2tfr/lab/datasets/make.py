"""Making a data set: the folder, its finished shards, the missing jobs, the manifest."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tm2tfr.base.choices import AUTO
from tm2tfr.base.errors import counted
from tm2tfr.base.files import write_text
from tm2tfr.lab.datasets import manifest
from tm2tfr.lab.datasets.folder import CARD, VOCABULARY, ShardProgress, card, kept, prepared, refuse_used, results
from tm2tfr.lab.datasets.jobs import arrow_or_error
from tm2tfr.lab.datasets.pool import pool
from tm2tfr.lab.datasets.runs import Failure, versions
from tm2tfr.lab.datasets.spec import DatasetSpec
from tm2tfr.lab.datasets.tally import Tally


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
    folder, how = Path(folder), spec.how(engine, **options)
    spec = spec.prompted(how, options)
    if "parquet" in spec.formats:
        arrow_or_error()
    programs, every = spec.listing, list(spec.jobs())
    head = manifest.header(spec, versions(), how, programs, len(every))
    records = manifest.found(folder, head) if resume else []
    refuse_used(folder, resume=resume)
    reused, there = len(records), {record.number for record in records}
    missing = [job for job in every if job.number not in there]

    def dataset(failure: Failure | None = None) -> Dataset:
        tally, examples, left_out = manifest.totals(records, spec)
        return Dataset(folder, spec, how.title(spec.name), tally, examples, left_out, len(every), reused, failure)

    with pool(workers, scheduler, len(missing)) as crew:  # before anything is written: the cluster may not exist
        prepared(folder, (split for split, _ in spec.splits))
        write_text(folder / spec.listing_file, programs)
        if spec.vocabulary is not None:
            write_text(folder / VOCABULARY, json.dumps(spec.vocabulary, ensure_ascii=False, indent=0) + "\n")
        manifest.begun(folder, head, records)
        for done in results(spec.maker, missing, spec.making(how), crew, progress, reused, len(every)):
            if done.failure is not None:
                found = dataset(done.failure)
                found.tally.add(done.tally)
                return found
            records.append(kept(folder, done, len(every)))
    found = dataset()
    write_text(folder / CARD, card(spec, found.tally, found.examples, spec.formats))
    manifest.written(folder, head, spec, records)
    return found


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
    listed = ["manifest.json", spec.listing_file, *([] if spec.vocabulary is None else [VOCABULARY]), CARD]
    lines.append(f"wrote {found.folder}: {counted(found.shards, 'shard')}, {', '.join(listed)}")
    return "\n".join(lines)
