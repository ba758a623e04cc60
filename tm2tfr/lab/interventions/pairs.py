"""Random interventions as data: pairs of runs, with what must come out, for methods that search for such variables.

A folder of JSON Lines (and Parquet), in shards of which each has a generator of its own: a shard is a function of the
subject, the inputs, the seed and its number, so that what is there is not made again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from tm2tfr.lab.interventions.draws import Draws
from tm2tfr.lab.interventions.files import as_parquet, card, head_of, row_of
from tm2tfr.lab.interventions.intervention import Intervention
from tm2tfr.lab.interventions.tried import MOST_FAILURES, Tried
from tm2tfr.lab.line.folder import CARD, ShardProgress, carried_out, folder_named, production
from tm2tfr.lab.line.manifest import arrow_or_error, json_lines
from tm2tfr.lab.line.pool import Job, Made, Pool, cut, stem

SHARD = 1_000
"""The number of interventions of a shard."""
BATCH = 200
"""The number of interventions that are made at once: more are hardly faster, and all their runs are in memory."""


def tried(
    name: str,
    draws: Draws,
    *,
    count: int,
    folder: str | Path | None = None,
    parquet: bool = False,
    keep_unknown: bool = False,
    outcomes: Mapping[str, int] | None = None,
    inputs: Mapping[str, object] | None = None,
    texts: Mapping[str, str] | None = None,
    resume: bool = False,
    progress: ShardProgress | None = None,
) -> Tried:
    """Carry out random interventions, and write them into a folder if one is given.

    Args:
        draws: the random interventions; count: how many of them.
        folder: a new or empty one.
        parquet: whether to write Parquet files beside the JSON Lines.
        keep_unknown: also write interventions whose expected answer is not known at every position.
        outcomes: outcome -> the number of inputs; None: not known.
        inputs: how the inputs were chosen, for the manifest.
        texts: file -> content, of what else is in the folder.
        resume: whether a folder of the same interventions is resumed: its finished shards are kept.
        progress: called after each intervention with the shards done, all of them, and the interventions made.

    Raises:
        UsageError: see `Draws.in_turn`.
        DatasetError: if PyArrow is missing for Parquet; for a folder of other interventions.
        OutputError: if the folder is not empty, or cannot be written.
    """
    first = draws.base(draws.words[0])
    draws, unbalanced = draws.in_turn()
    place = None if folder is None else folder_named(folder)
    found = Tried(
        name,
        first.engine.name,
        keep_unknown,
        draws.effective,
        draws.variables,
        unbalanced,
        outcomes or {},
        folder=place,
    )
    jobs = list(cut(range(count), SHARD))
    shown = _Shown(progress, len(jobs)) if progress is not None else None
    how = _How(found, draws, len(jobs), None if place is None else parquet, shown)

    def include(made: TriedShard) -> None:
        found.include(made.counts)
        found.differing += made.tried.differing
        found.failures += made.tried.failures[: MOST_FAILURES - len(found.failures)]

    if place is None:
        for made in carried_out(Pool(), tried_shard, jobs, how, len(jobs), shown):
            include(made)
        return found
    if parquet:
        arrow_or_error()
    head = head_of(found, first, draws.words, count, draws.seed, parquet=parquet)
    with production(place, "interventions", head, jobs, resume=resume, texts=texts) as line:
        for record in line.records:
            found.include(record.counts, reused=True)
        if shown is not None:
            shown.resume(len(line.records))
        for made in line.made(tried_shard, how, shown):
            include(made)
            if made.failed:  # what the weights do not do is not written
                return found
        shards = {stem(s["shard"], len(jobs)): s for s in line.listed()}
        entries = {name: {"counts": {n: s[n] for n in found.counts}, "files": s["files"]} for name, s in shards.items()}
        own = {
            "inputs": {**(inputs or {}), "outcomes": dict(found.inputs)},
            "unbalanced": dict(unbalanced),
            "shards": entries,
        }
        line.close({CARD: card(found, first, draws.seed, parquet=parquet)}, entries=own)
    return found


class _How(NamedTuple):
    """What all shards have in common.

    Args:
        of: the subject, the engine, and which interventions are in the data.
        draws: the interventions.
        parquet: whether there are such files as well; None: there are no files at all.
        shown: shows the interventions of a shard while they are made.
    """

    of: Tried
    draws: Draws
    shards: int
    parquet: bool | None
    shown: _Shown | None


class _Shown:
    """Shows the progress of shards, and of the one that is being made."""

    def __init__(self, progress: ShardProgress, shards: int) -> None:
        self._progress, self._standing = progress, (0, shards, 0)

    def __call__(self, done: int, shards: int, made: int) -> None:
        """Show finished shards, all of them, and the interventions made."""
        self._standing = done, shards, made
        self._progress(done, shards, made)

    def resume(self, done: int) -> None:
        """Begin with this many finished shards."""
        self._standing = done, self._standing[1], 0

    def within(self, more: int) -> None:
        """Show the interventions made in the current shard as well."""
        done, shards, made = self._standing
        self._progress(done, shards, made + more)


@dataclass(kw_only=True)
class TriedShard(Made):
    """The interventions of a shard."""

    tried: Tried

    @property
    def counts(self) -> Mapping[str, int]:
        return self.tried.counts

    @property
    def rows(self) -> int:
        return self.tried.number

    @property
    def failed(self) -> bool:
        return not self.tried.agrees


def tried_shard(job: Job[Sequence[int]], how: _How) -> TriedShard:
    """Carry out the interventions of these numbers, and make their files."""
    own = Tried(how.of.subject, how.of.engine, how.of.keep_unknown)
    made, rows = TriedShard(number=job.number, tried=own), list[Mapping[str, object]]()
    for start in range(0, len(job.work), BATCH):
        for done, draws in _carried_out(job.work[start : start + BATCH], how.draws):
            own.add(done, draws)
            if how.shown is not None:
                how.shown.within(own.number)
            if own.takes(done) and how.parquet is not None:
                rows.append(row_of(done))
    if how.parquet is not None:
        name = stem(job.number, how.shards)
        made.files[f"{name}.jsonl"] = json_lines(rows).encode()
        if how.parquet:
            made.files[f"{name}.parquet"] = as_parquet(rows)
    return made


def _carried_out(numbers: Sequence[int], draws: Draws) -> Iterator[tuple[Intervention, int]]:
    """Yield the results of the interventions of these numbers, and the number of draws that gave each."""
    for (base, settings), expected, many in draws.taken(numbers):
        yield base.compared(settings, expected), many
