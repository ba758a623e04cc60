"""Making labels: the folder, what hook points carry, the missing shards, the manifest."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tm2tfr.base.errors import InputError, visible
from tm2tfr.base.files import write_text
from tm2tfr.contract.source import Source
from tm2tfr.contract.specification import Specification
from tm2tfr.lab.datasets import manifest
from tm2tfr.lab.datasets.folder import CARD, VOCABULARY, ShardProgress, kept, prepared, refuse_used, results
from tm2tfr.lab.datasets.jobs import Job, Piece, arrow_or_error
from tm2tfr.lab.datasets.manifest import FORMAT, Record, sha256
from tm2tfr.lab.datasets.pool import pool
from tm2tfr.lab.datasets.runs import Failure, versions
from tm2tfr.lab.datasets.tally import Tally
from tm2tfr.lab.labels.card import card
from tm2tfr.lab.labels.hooks import Hooks, hooks_of
from tm2tfr.lab.labels.inputs import LabelInputs, chosen
from tm2tfr.lab.labels.promises import broken_promises
from tm2tfr.lab.labels.runs import LabelledRuns
from tm2tfr.lab.labels.shard import LABELS, RUNS, Labelling, labelled_shard, longest_run
from tm2tfr.runs.truths import truth_of
from tm2tfr.transformer import provenance
from tm2tfr.transformer.weights import Decoder, digest

HOOKS = "hooks.json"
SHARD = 10_000
"""The number of runs in a shard."""


@dataclass(frozen=True)
class MadeLabels:
    """Labels that were made, or the failure that prevented it.

    Args:
        folder, name, noun: where they are, of what, and what that is called.
        tally: all runs; after a failure, those before it.
        left_out: the number of inputs on which the program is undefined.
        shards, reused: the number of shards, and how many of them existed already.
        hooks: what the streams of exports carry.
        longest: the most positions of a run.
        failure: the first run that differs from the reference's.
        ways: how inputs were asked for, in words, see `LabelInputs.ways`.
    """

    folder: Path
    name: str
    noun: str
    tally: Tally
    left_out: int
    shards: int
    reused: int
    hooks: Hooks
    longest: int = 0
    failure: Failure | None = None
    ways: tuple[str, ...] = ()

    @property
    def broken(self) -> bool:
        """Whether something is left out of hooks.json that weights say to hold, since they say that they were compiled."""
        return bool(self.hooks.left_out) and provenance.source(self.hooks.decoder.provenance) is not None


def make(
    decoder: Decoder,
    program: Any,
    construction: Source[Any],
    folder: str | Path,
    asked: LabelInputs,
    *,
    engine: str,
    max_steps: int,
    positions: int | None = None,
    dtype: str = "float64",
    shard_size: int = SHARD,
    workers: int | None = None,
    scheduler: str | None = None,
    resume: bool = False,
    progress: ShardProgress | None = None,
) -> MadeLabels:
    """Make labels; see `tm2tfr.make_labels`.

    Raises:
        DatasetError, OutputError, EngineError, CompileError, InputError: as documented there.
    """
    folder, noun = Path(folder), construction.noun_of(program)
    arrow_or_error()
    labelled = LabelledRuns(decoder, program, engine, max_steps)
    words, how = chosen(program.name, noun, construction.inputs(program), decoder.positions, asked)
    if not words:
        raise InputError(f"{visible(program.name)}: there are no inputs: ask for some")
    if not labelled.defined(words):
        what = f"{visible(program.name)}: the {noun} is undefined on all of these inputs, so there is nothing to label"
        raise InputError(f"{what}: use other inputs")
    said = None if decoder.labeller else _specification(program, decoder, words[0])
    hooks = hooks_of(decoder, program, labelled.scheme, said, positions=positions, dtype=dtype)
    left_out = broken_promises(labelled, words, hooks.since)
    labelled = replace(labelled, left_out=frozenset(left_out))
    hooks = replace(hooks, scheme=labelled.scheme, left_out=left_out)
    every = list(_jobs(words, shard_size))
    head = _head(decoder, noun, program, words, labelled, shard_size, len(every))
    records = manifest.found(folder, head) if resume else []
    refuse_used(folder, resume=resume)
    there, reused = {record.number for record in records}, len(records)
    missing = [job for job in every if job.number not in there]
    found = MadeLabels(folder, program.name, noun, Tally(), 0, len(every), reused, hooks, ways=asked.ways)
    with pool(workers, scheduler, len(missing)) as crew:
        prepared(folder, (LABELS, RUNS))
        carried = {**hooks.as_dict(), "variables": [variable.as_dict() for variable in labelled.scheme.variables]}
        write_text(folder / HOOKS, json.dumps(carried, ensure_ascii=False, indent=1) + "\n")
        write_text(folder / VOCABULARY, json.dumps(decoder.vocabulary, ensure_ascii=False, indent=0) + "\n")
        manifest.begun(folder, head, records)
        labelling = Labelling(labelled, shard_size)
        for done in results(labelled_shard, missing, labelling, crew, progress, reused, len(every)):
            if done.failure is not None:
                return replace(_summed(found, records, done.tally), failure=done.failure)
            records.append(kept(folder, done, len(every)))
    found = replace(_summed(found, records), longest=longest_run(sorted((folder / RUNS).iterdir())))
    write_text(folder / CARD, card(program.name, noun, labelled.scheme, found.tally, hooks, found.longest))
    records.sort(key=lambda record: record.number)
    counts = {**found.tally.as_dict(), "left_out": found.left_out}
    own = {"name": program.name, "inputs": how, "seed": asked.seed, "max_steps": max_steps, "counts": counts}
    manifest.closed(folder, {**head, **own, "made": [record.as_dict() for record in records]})
    return found


def _specification(program: Any, decoder: Decoder, word: str) -> Specification:
    truth = truth_of(program, word, decoder, None if decoder.positions is not None else 0)
    if truth is None:  # never: a program is given
        raise TypeError(f"{program} has no reference")
    return truth.specification(0)


def _jobs(words: Sequence[str], size: int) -> Iterator[Job]:
    for number, start in enumerate(range(0, len(words), size)):
        yield Job(number, (Piece(("",), tuple(words[start : start + size])),))


def _head(
    decoder: Decoder, noun: str, program: Any, words: Sequence[str], runs: LabelledRuns, size: int, shards: int
) -> dict[str, Any]:
    """Return what has to be the same for a folder to be resumed."""
    facts = hashlib.sha256(json.dumps([list(words), runs.max_steps, size]).encode("utf-8", "surrogatepass")).hexdigest()
    source = provenance.source(decoder.provenance) or program.name
    return {
        "format": FORMAT,
        "versions": versions(),
        "engine": runs.engine,
        "inputs_sha256": facts,
        "weights_sha256": digest(decoder),
        f"{'program' if decoder.labeller else noun}s_sha256": sha256(source.encode()),
        "shards": shards,
    }


def _summed(found: MadeLabels, records: Sequence[Record], more: Tally | None = None) -> MadeLabels:
    tally = Tally()
    for each in (*(record.tally for record in records), *(() if more is None else (more,))):
        tally.add(each)
    return replace(found, tally=tally, left_out=sum(record.left_out for record in records))
