"""Making a data set: the folder, its finished shards, the missing jobs, the manifest."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tm2tfr.dataset import manifest
from tm2tfr.dataset.folder import CARD, VOCABULARY, ShardProgress, card, kept, prepared, refuse_used, results
from tm2tfr.dataset.jobs import arrow_or_error, jobs
from tm2tfr.dataset.kinds import AnySpec, how_for, listed_in, listing, maker, tokens_listed
from tm2tfr.dataset.labels.spec import LabelSpec
from tm2tfr.dataset.pool import pool
from tm2tfr.dataset.prompting import in_prompts
from tm2tfr.dataset.runs import Failure, versions
from tm2tfr.dataset.shard import Making
from tm2tfr.dataset.spec import Spec, Splitting
from tm2tfr.dataset.tally import Tally
from tm2tfr.files import write_text


@dataclass(frozen=True)
class Dataset:
    """A data set that was made, or the failure that prevented it.

    Args:
        tally: all its runs; after a failure, those before it.
        examples: their numbers by split and form.
        left_out: the number of runs that did not end.
        reused: how many of the `shards` existed already.
        noun: what a program is called.
        labels_by: what the labels are by, where they are all that there is.
        one_vocabulary: whether the tokens of all examples are in one file.
        universal: the universal decoder in whose prompt the machines stand, if there is one.
    """

    folder: Path
    name: str
    tally: Tally
    examples: dict[str, dict[str, int]]
    left_out: int
    shards: int
    reused: int
    failure: Failure | None = None
    noun: str = "machine"
    labels_by: str = ""
    one_vocabulary: bool = False
    universal: str = ""


def make(
    spec: AnySpec,
    folder: str | Path,
    *,
    workers: int | None = None,
    scheduler: str | None = None,
    engine: str = "auto",
    resume: bool = False,
    universal: object = None,
    tape: str | None = None,
    seed: int | None = None,
    progress: ShardProgress | None = None,
) -> Dataset:
    """Make a data set; see `tm2tfr.make_dataset`.

    Raises:
        DatasetError, OutputError, EngineError, CompileError, WeightFileError: as documented there.
    """
    folder = Path(folder)
    how = how_for(spec, engine, universal=universal, tape=tape, seed=seed)
    if any(option is not None for option in (universal, tape, seed)):
        spec = in_prompts(spec, how.prompting)
    if "parquet" in spec.formats:
        arrow_or_error()
    programs, tokens, every = listing(spec), tokens_listed(spec), list(jobs(spec))
    making = Making(
        how,
        spec.forms,
        isinstance(spec, Spec) and spec.keep_unfinished,
        Splitting(spec.seed, spec.split_by, spec.splits, spec.lengths),
        spec.formats,
    )
    within = how.prompting
    weights = None if within is None else within.weights_digest
    head = manifest.header(spec, versions(), making.how.engine, programs, len(every), weights)
    records = manifest.found(folder, head) if resume else []
    refuse_used(folder, resume=resume)
    reused, there = len(records), {record.number for record in records}
    missing = [job for job in every if job.number not in there]
    with pool(workers, scheduler, len(missing)) as crew:  # before anything is written: the cluster may not exist
        prepared(folder, (split for split, _ in spec.splits))
        write_text(folder / listed_in(spec.noun), programs)
        if tokens is not None:
            write_text(folder / VOCABULARY, tokens)
        manifest.begun(folder, head, records)
        for done in results(maker(spec), missing, making, crew, progress, reused):
            if done.failure is not None:
                tally, examples, left_out = manifest.totals(records, spec)
                tally.add(done.tally)
                return Dataset(folder, spec.name, tally, examples, left_out, len(every), reused, done.failure, spec.noun)
            records.append(kept(folder, done, len(every)))
    tally, examples, left_out = manifest.totals(records, spec)
    write_text(folder / CARD, card(spec, tally, examples, spec.formats))
    manifest.written(folder, head, spec, records)
    labels_by = spec.labeller.reference if isinstance(spec, LabelSpec) else ""
    return Dataset(
        folder,
        spec.name,
        tally,
        examples,
        left_out,
        len(every),
        reused,
        noun=spec.noun,
        labels_by=labels_by,
        one_vocabulary=tokens is not None,
        universal="" if within is None else within.universal.name,
    )
