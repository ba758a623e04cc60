"""Random interventions as data: pairs of runs, with what must come out, for methods that search for such variables.

A folder of JSON Lines (and Parquet), in shards of which each has a generator of its own: a shard is a function of the
subject, the inputs, the seed and its number, so that what is there is not made again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from tm2tfr._version import __version__
from tm2tfr.base.text.shown import code, escaped, markdown_table
from tm2tfr.contract.specification import LAYERS, stage_text
from tm2tfr.lab.interventions.draws import Drawn, drawn
from tm2tfr.lab.interventions.intervened import Base
from tm2tfr.lab.interventions.intervention import Intervention, text_of_cell
from tm2tfr.lab.labels.patches import HOOKS, SCHEMA, subspace_of
from tm2tfr.lab.line.folder import CARD, VOCABULARY, ShardProgress, carried_out, folder_named, production
from tm2tfr.lab.line.manifest import MANIFEST, arrow_or_error, json_lines, readme, sha256
from tm2tfr.lab.line.manifest import parquet as parquet_file
from tm2tfr.lab.line.pool import Job, Made, Pool, cut, stem
from tm2tfr.transformer.weights import digest

SHARD, MOST_FAILURES = 1_000, 3
"""The number of interventions of a shard; the most failures that are kept."""
BATCH = 200
"""The number of interventions that are made at once: more are hardly faster, and all their runs are in memory."""
COLUMNS: Mapping[str, str] = {
    "input": "the input of the base run",
    "base_tokens": "the tokens fed in the base run",
    "base_answers": "what is answered at each position of it",
    "variables": "the variables that are set, as the weights' subspaces claim to hold them",
    "positions": "where, from 0",
    "values": "what each is set to; ⊥ for nothing",
    "sources": "the input of the run that the value is from, null for a value that is from no run",
    "source_positions": "where in that run",
    "expected_tokens": "the tokens fed with the intervention, by the causal model of the source",
    "expected_answers": "what is answered at each position with it, null where it is not known",
    "known": "whether it is known what is answered, by position",
    "first": "the first position that is known and answers something else, null if none does",
    "why": "why none does",
}


@dataclass
class Tried:
    """The results of random interventions.

    Args:
        subject, engine: the subject that was run, and the engine that ran it.
        number: the number of interventions.
        keep_unknown: whether those with an unknown answer are in the data.
        unknown: the number of those with an unknown answer.
        causal: the number of those that are in the data and change an answer that is known.
        explained: the number of those with known answers and unknown cells, see `Intervention.explained`.
        failures: the first interventions in which the patched weights are wrong; differing: the number of all of them.
        folder: the folder of the data; None: no data are written.
        reused: the number of interventions that the folder already had.
    """

    subject: str
    engine: str
    keep_unknown: bool = False
    number: int = 0
    unknown: int = 0
    causal: int = 0
    explained: int = 0
    differing: int = 0
    failures: list[Intervention] = field(default_factory=list)
    folder: Path | None = None
    reused: int = 0

    @property
    def agrees(self) -> bool:
        """Whether the patched weights do what is expected in all of them."""
        return self.differing == 0

    @property
    def left_out(self) -> int:
        """The number of those that are not in the data, since what must be answered is not known."""
        return 0 if self.keep_unknown else self.unknown

    @property
    def counts(self) -> dict[str, int]:
        """The numbers of interventions, as the manifest has them."""
        counts = {"interventions": self.number, "left_out": self.left_out, "unknown": self.unknown}
        return {**counts, "causal": self.causal, "explained": self.explained}

    def takes(self, done: Intervention) -> bool:
        """Return whether an intervention is in the data."""
        return done.known or self.keep_unknown

    def add(self, done: Intervention) -> None:
        """Count an intervention."""
        self.number += 1
        self.unknown += not done.known
        self.causal += self.takes(done) and done.causal
        self.explained += done.known and bool(done.explained)
        self.differing += not done.agrees
        if not done.agrees and len(self.failures) < MOST_FAILURES:
            self.failures.append(done)

    def include(self, counts: Mapping[str, int], *, reused: bool = False) -> None:
        """Count the interventions of a shard, see `counts`; reused: whether the folder already had them."""
        self.number += counts["interventions"]
        self.unknown += counts["unknown"]
        self.causal += counts["causal"]
        self.explained += counts["explained"]
        self.reused += counts["interventions"] if reused else 0

    def as_dict(self) -> dict[str, object]:
        """Return it as plain data."""
        names = {"subject": self.subject, "engine": self.engine}
        counts = {**self.counts, "differ": self.differing, "agrees": self.agrees, "reused": self.reused}
        return {**names, **counts, "failures": [each.as_dict() for each in self.failures]}

    def __str__(self) -> str:
        said = [f"{self.subject}: {self.number:,} random interventions, the patched weights ({self.engine}) "]
        known, kept = self.number - self.unknown, self.number - self.left_out
        every = f"all {known:,} whose answers are known" if self.unknown else "all of them"
        said[0] += (
            f"do what is expected in {every}" if self.agrees else f"differ from what is expected in {self.differing:,}"
        )
        changing = "change an answer that is known" if kept > known else "change an answer"
        said.append(f"  {self.causal:,} {changing}, {kept - self.causal:,} do not")
        if self.unknown:
            kept_as = "are left out" if self.left_out else "are kept, with null in the place of what is not known"
            said.append(f"  {self.unknown:,} {kept_as}: what must be answered is not known, and not compared")
        if self.explained:
            said.append(f"  {self.explained:,} have cells of which nothing is known, which are not compared")
        if self.folder is not None:
            more = f", {self.reused:,} of which were there" if self.reused else ""
            said.append(f"  written to {self.folder}{more}")
        return "\n".join([*said, *(f"\n{failure}" for failure in self.failures[:1])])


def tried(
    name: str,
    words: Sequence[str],
    base: Callable[[str], Base],
    *,
    count: int,
    seed: int,
    folder: str | Path | None = None,
    parquet: bool = False,
    keep_unknown: bool = False,
    texts: Mapping[str, str] | None = None,
    resume: bool = False,
    progress: ShardProgress | None = None,
) -> Tried:
    """Carry out random interventions, and write them into a folder if one is given.

    Args:
        words: the inputs.
        base: input -> the run on it.
        count, seed: how many; the same seed gives the same.
        folder: a new or empty one.
        parquet: whether to write Parquet files beside the JSON Lines.
        keep_unknown: whether those are written too of which it is not known what must be answered at every position.
        texts: file -> content, of what else is in the folder.
        resume: whether a folder of the same interventions is resumed: its finished shards are kept.
        progress: called after each intervention with the shards done, all of them, and the interventions made.

    Raises:
        DatasetError: if PyArrow is missing for Parquet; for a folder of other interventions.
        OutputError: if the folder is not empty, or cannot be written.
    """
    first = base(words[0])
    place = None if folder is None else folder_named(folder)
    found, jobs = Tried(name, first.engine.name, keep_unknown, folder=place), list(cut(range(count), SHARD))
    shown = _Shown(progress, len(jobs)) if progress is not None else None
    how = _How(found, words, base, seed, len(jobs), None if place is None else parquet, shown)

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
    head = _head(found, first, words, count, seed, parquet=parquet)
    with production(place, "interventions", head, jobs, resume=resume, texts=texts) as line:
        for record in line.records:
            found.include(record.counts, reused=True)
        for made in line.made(tried_shard, how, shown):
            include(made)
            if made.failed:  # what the weights do not do is not written
                return found
        shards = {stem(s["shard"], len(jobs)): s for s in line.listed()}
        entries = {name: {"counts": {n: s[n] for n in found.counts}, "files": s["files"]} for name, s in shards.items()}
        line.close({CARD: _card(found, first, count, seed, parquet=parquet)}, entries={"shards": entries})
    return found


class _How(NamedTuple):
    """What all shards have in common.

    Args:
        of: the subject, the engine, and which interventions are in the data.
        parquet: whether there are such files as well; None: there are no files at all.
        shown: shows the interventions of a shard while they are made.
    """

    of: Tried
    words: Sequence[str]
    base: Callable[[str], Base]
    seed: int
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
    draws = drawn(how.words, how.base, seed=how.seed, start=job.work[0])
    for done in _in_batches(islice(draws, len(job.work))):
        own.add(done)
        if how.shown is not None:
            how.shown.within(own.number)
        if own.takes(done) and how.parquet is not None:
            rows.append(_row(done))
    if how.parquet is not None:
        name = stem(job.number, how.shards)
        made.files[f"{name}.jsonl"] = json_lines(rows).encode()
        if how.parquet:
            made.files[f"{name}.parquet"] = _as_parquet(rows)
    return made


def _in_batches(draws: Iterator[Drawn]) -> Iterator[Intervention]:
    """Yield the results of interventions, in their order; of each batch, those on the same run are made at once."""
    while batch := [*islice(draws, BATCH)]:
        numbers = defaultdict[str, list[int]](list)
        for number, (base, _) in enumerate(batch):
            numbers[base.input].append(number)
        found: dict[int, Intervention] = {}
        for own in numbers.values():
            found |= zip(own, batch[own[0]][0].batch([batch[number][1] for number in own]), strict=True)
        yield from (found[number] for number in range(len(batch)))


# ── files ───────────────────────────────────────────────────────────────────────────────────────────────────
def _row(done: Intervention) -> dict[str, object]:
    settings, unknown = done.settings, done.expected.unanswered
    return {
        "input": done.input,
        "base_tokens": list(done.without.tokens),
        "base_answers": [text_of_cell(answer) for answer in done.without.answers],
        "variables": [each.variable for each in settings],
        "positions": [each.position for each in settings],
        "values": [text_of_cell(each.value) for each in settings],
        "sources": [None if each.origin is None else each.origin[0] for each in settings],
        "source_positions": [None if each.origin is None else each.origin[1] for each in settings],
        "expected_tokens": list(done.expected.tokens),
        "expected_answers": [
            None if i in unknown else text_of_cell(answer) for i, answer in enumerate(done.expected.answers)
        ],
        "known": [i not in unknown for i in range(len(done.expected.answers))],
        "first": done.first,
        "why": done.why,
    }


def _as_parquet(rows: Sequence[Mapping[str, object]]) -> bytes:
    arrow = arrow_or_error()
    text, texts, numbers = arrow.string(), arrow.list_(arrow.string()), arrow.list_(arrow.int32())
    kinds = dict.fromkeys(COLUMNS, texts) | {"input": text, "why": text, "first": arrow.int32()}
    kinds |= {"positions": numbers, "source_positions": numbers, "known": arrow.list_(arrow.bool_())}
    schema = arrow.schema([arrow.field(name, kind) for name, kind in kinds.items()])
    return parquet_file([arrow.Table.from_pylist(list(rows), schema=schema)], schema, level=3)


def _head(found: Tried, base: Base, words: Sequence[str], count: int, seed: int, *, parquet: bool) -> dict[str, object]:
    """Return what has to be the same for a folder to be continued."""
    return {
        "format": 3,
        "tm2tfr": __version__,
        "subject": found.subject,
        "weights_sha256": digest(base.decoder),
        "inputs_sha256": sha256("\n".join(words).encode()),
        "engine": base.engine.name,
        "most_positions": base.most,
        "count": count,
        "seed": seed,
        "parquet": parquet,
        "keep_unknown": found.keep_unknown,
        "layers": LAYERS,
        "variables": {
            variable.name: {
                "meaning": variable.meaning,
                "kind": variable.kind,
                "layer": variable.since[0] + 1,
                "after": variable.since[1],
                "directions": [
                    direction
                    for holds in (variable.name, *variable.mirrors)
                    for direction in subspace_of(base.decoder.layout, variable, holds).directions
                ],
                "divided_by_i_plus_1": variable.share,
                "read_by": variable.read_by,
            }
            for variable in base.model.variables.values()
        },
    }


def _card(found: Tried, base: Base, count: int, seed: int, *, parquet: bool) -> str:
    files = f'  - split: train\n    path: "*.{"parquet" if parquet else "jsonl"}"'
    if found.keep_unknown:
        unknown = (
            f" Of {found.unknown:,} it is not known what must be answered at every position: `known` says where it is; "
        )
        unknown += "elsewhere the answer is null, and was not compared."
    else:
        unknown = f" {found.unknown:,} more were drawn and are left out: it is not known what must be answered."
    explained = f", but for {found.explained:,} runs with cells of which nothing is known." if found.explained else "."
    certain = "" if found.unknown > found.left_out else " with a known answer"
    known = "an answer that is known" if found.unknown and found.keep_unknown else "an answer"
    variables = (
        (code(v.name), escaped(v.meaning), stage_text(v.since), escaped(v.read_by) or "nothing")
        for v in base.model.variables.values()
    )
    return readme(
        ("- config_name: default", "  data_files:", files),
        f"# Interventions on {escaped(found.subject)}",
        f"{count - found.left_out:,} random interventions{certain}, made by tm2tfr {__version__} with the seed {seed}. "
        "Each sets one or two variables of a run, to values of another run (interchange interventions; Geiger et al. 2021, "
        "2024) or to any other. What must come out is computed from the source alone; the "
        f"{found.engine} engine ran the weights with the subspaces of these variables overwritten, and every cell that is "
        f"known was as expected{explained}",
        f"{found.causal:,} of them change {known}.{unknown if found.unknown else ''}",
        markdown_table(("column", "contents"), COLUMNS.items()),
        markdown_table(("variable", "what it is", "written after", "read by"), variables),
        f"`{HOOKS}` says how each variable is set in exported models: at which module, at which coordinates, with which "
        f"numbers; `{SCHEMA}` is its JSON schema, and `{VOCABULARY}` has the tokens by number. `{MANIFEST}` has the "
        "directions of each variable in the residual stream, the digest of the weights, the seed and the digests of all "
        "files.",
    )
