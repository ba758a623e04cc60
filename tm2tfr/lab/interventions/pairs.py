"""Random interventions as data: pairs of runs, with what must come out, for methods that search for such variables.

A folder of JSON Lines (and Parquet), in shards of which each has a generator of its own: a shard is a function of the
subject, the inputs, the seed and its number, so that what is there is not made again.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from tm2tfr._version import __version__
from tm2tfr.base.errors import Tm2tfrError, UsageError
from tm2tfr.base.text.shown import code, escaped, markdown_table
from tm2tfr.contract.model import ModelVariable
from tm2tfr.contract.modelled import CausalValue
from tm2tfr.contract.specification import LAYERS, stage_text
from tm2tfr.lab.interventions.intervened import Base
from tm2tfr.lab.interventions.intervention import Intervention, VariableSetting, subspace_of, text_of_cell
from tm2tfr.lab.line.folder import CARD, ShardProgress, carried_out, folder_named, production
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
    "expected_answers": "what is answered at each position with it",
    "first": "the first position that answers something else, null if none does",
    "why": "why none does",
}


@dataclass
class Tried:
    """The results of random interventions.

    Args:
        subject, engine: the subject that was run, and the engine that ran it.
        number: the number of interventions.
        left_out: the number of those with an unknown answer, which are not in the data; the next two leave them out.
        causal: the number of those that change an answer.
        explained: the number of those with unknown cells, see `Intervention.explained`.
        failures: the first interventions in which the patched weights are wrong; differing: the number of all of them.
        folder: the folder of the data; None: no data are written.
        reused: the number of interventions that the folder already had.
    """

    subject: str
    engine: str
    number: int = 0
    left_out: int = 0
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
    def counts(self) -> dict[str, int]:
        """The numbers of interventions, as the manifest has them."""
        counts = {"interventions": self.number, "left_out": self.left_out}
        return {**counts, "causal": self.causal, "explained": self.explained}

    def add(self, done: Intervention) -> None:
        """Count an intervention."""
        self.number += 1
        self.left_out += not done.known
        self.causal += done.known and done.causal
        self.explained += done.known and bool(done.explained)
        self.differing += not done.agrees
        if not done.agrees and len(self.failures) < MOST_FAILURES:
            self.failures.append(done)

    def include(self, counts: Mapping[str, int], *, reused: bool = False) -> None:
        """Count the interventions of a shard, see `counts`; reused: whether the folder already had them."""
        self.number += counts["interventions"]
        self.left_out += counts["left_out"]
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
        known = self.number - self.left_out
        every = f"all {known:,} whose answers are known" if self.left_out else "all of them"
        said[0] += (
            f"do what is expected in {every}" if self.agrees else f"differ from what is expected in {self.differing:,}"
        )
        said.append(f"  {self.causal:,} change an answer, {known - self.causal:,} do not")
        if self.left_out:
            said.append(f"  {self.left_out:,} are left out: what must be answered is not known")
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
        resume: whether a folder of the same interventions is resumed: its finished shards are kept.
        progress: called with the shards done, all of them, and the interventions made.

    Raises:
        DatasetError: if PyArrow is missing for Parquet; for a folder of other interventions.
        OutputError: if the folder is not empty, or cannot be written.
    """
    first = base(words[0])
    place = None if folder is None else folder_named(folder)
    found, jobs = Tried(name, first.engine.name, folder=place), list(cut(range(count), SHARD))
    how = _How(found.engine, name, words, base, seed, len(jobs), None if place is None else parquet)

    def include(made: TriedShard) -> None:
        found.include(made.counts)
        found.differing += made.tried.differing
        found.failures += made.tried.failures[: MOST_FAILURES - len(found.failures)]

    if place is None:
        for made in carried_out(Pool(), tried_shard, jobs, how, len(jobs), progress):
            include(made)
        return found
    if parquet:
        arrow_or_error()
    head = _head(name, first, words, count, seed, parquet=parquet)
    with production(place, "interventions", head, jobs, resume=resume) as line:
        for record in line.records:
            found.include(record.counts, reused=True)
        for made in line.made(tried_shard, how, progress):
            include(made)
            if made.failed:  # what the weights do not do is not written
                return found
        shards = {stem(s["shard"], len(jobs)): s for s in line.listed()}
        entries = {name: {"counts": {n: s[n] for n in found.counts}, "files": s["files"]} for name, s in shards.items()}
        line.close({CARD: _card(found, first, count, seed, parquet=parquet)}, entries={"shards": entries})
    return found


class _How(NamedTuple):
    """What all shards have in common; parquet: whether there are such files as well, None: there are no files at all."""

    engine: str
    subject: str
    words: Sequence[str]
    base: Callable[[str], Base]
    seed: int
    shards: int
    parquet: bool | None


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
    made, rows = TriedShard(number=job.number, tried=Tried(how.subject, how.engine)), list[Mapping[str, object]]()
    draws = drawn(how.words, how.base, seed=how.seed, start=job.work[0])
    for done in _in_batches(islice(draws, len(job.work))):
        made.tried.add(done)
        if done.known and how.parquet is not None:
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
    settings = done.settings
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
        "expected_answers": [text_of_cell(answer) for answer in done.expected.answers],
        "first": done.first,
        "why": done.why,
    }


def _as_parquet(rows: Sequence[Mapping[str, object]]) -> bytes:
    arrow = arrow_or_error()
    text, texts, numbers = arrow.string(), arrow.list_(arrow.string()), arrow.list_(arrow.int32())
    kinds = dict.fromkeys(COLUMNS, texts) | {"input": text, "why": text, "first": arrow.int32()}
    kinds |= {"positions": numbers, "source_positions": numbers}
    schema = arrow.schema([arrow.field(name, kind) for name, kind in kinds.items()])
    return parquet_file([arrow.Table.from_pylist(list(rows), schema=schema)], schema, level=3)


def _head(name: str, base: Base, words: Sequence[str], count: int, seed: int, *, parquet: bool) -> dict[str, object]:
    """Return what has to be the same for a folder to be continued."""
    return {
        "format": 2,
        "tm2tfr": __version__,
        "subject": name,
        "weights_sha256": digest(base.decoder),
        "inputs_sha256": sha256("\n".join(words).encode()),
        "engine": base.engine.name,
        "most_positions": base.most,
        "count": count,
        "seed": seed,
        "parquet": parquet,
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
    more = f" {found.left_out:,} more were drawn and are left out: it is not known what must be answered."
    explained = f", but for {found.explained:,} runs with cells of which nothing is known." if found.explained else "."
    variables = (
        (code(v.name), escaped(v.meaning), stage_text(v.since), escaped(v.read_by) or "nothing")
        for v in base.model.variables.values()
    )
    return readme(
        ("- config_name: default", "  data_files:", files),
        f"# Interventions on {escaped(found.subject)}",
        f"{count - found.left_out:,} random interventions with a known answer, made by tm2tfr {__version__} with the "
        f"seed {seed}. Each sets one or two variables of a run, to values of another run (interchange interventions; "
        "Geiger et al. 2021, 2024) or to any other. What must come out is computed from the source alone; the "
        f"{found.engine} engine ran the weights with the subspaces of these variables overwritten, and every cell of every "
        f"run was as expected{explained}",
        f"{found.causal:,} of them change an answer.{more if found.left_out else ''}",
        markdown_table(("column", "contents"), COLUMNS.items()),
        markdown_table(("variable", "what it is", "written after", "read by"), variables),
        f"`{MANIFEST}` has the directions of each variable in the residual stream, the digest of the weights, the seed "
        "and the digests of all files.",
    )


# ── Random interventions: which run, which variable, where, and to what; the same for one seed on any machine.
INTERCHANGED = 0.6
"""The share of values that are taken from another run, or another position of it; the others are any that there may be."""
SEVERAL = 0.15
"""The share of interventions that set two variables."""
FAR = 3
"""How far beyond the run's values a number without a largest value is drawn."""


Drawn = tuple[Base, list[VariableSetting]]
"""A random intervention: the run that it is made on, and what is set."""


def drawn(words: Sequence[str], base: Callable[[str], Base], *, seed: int, start: int = 0) -> Iterator[Drawn]:
    """Yield random interventions on runs on these inputs, without end.

    Each has a generator of its own, so that intervention number k is the same wherever one starts.

    Args:
        base: input -> the run on it.
        start: the number of the first one.

    Raises:
        UsageError: if there is nothing to be set.
    """
    number = start
    while True:
        chance = random.Random(f"{seed} intervention {number}")
        number += 1
        yield _one(chance, words, base)


def _one(chance: random.Random, words: Sequence[str], base: Callable[[str], Base]) -> Drawn:
    here, source = base(chance.choice(words)), chance.choice(words)
    variables = [variable for variable in here.model.variables.values() if not variable.unset]
    if not variables or not here.run.cells:
        raise UsageError(f"{here.name}: there is no variable that can be set")
    settings: list[VariableSetting] = []
    for _ in range(2 if chance.random() < SEVERAL else 1):
        variable, position = chance.choice(variables), chance.randrange(len(here.run.cells))
        if any((each.variable, each.position) == (variable.name, position) for each in settings):
            continue
        before: CausalValue = here.run.cells[position][variable.name]
        origin: tuple[str, int] | None = None
        value = _ANY
        if chance.random() < INTERCHANGED:
            other = base(source)
            at = chance.randrange(len(other.run.cells))
            value = _allowed(variable, other.run.cells[at].get(variable.name))
            origin = other.input, at
        if value is _ANY:
            value, origin = _any_value(chance, variable, [cells[variable.name] for cells in here.run.cells]), None
        settings.append(VariableSetting(variable.name, variable.name, position, value, before, origin))
    return here, settings


_ANY: Any = object()


def _allowed(variable: ModelVariable, value: CausalValue) -> CausalValue:
    """Return a value of another run, if it can be set; otherwise `_ANY`."""
    if isinstance(value, Mapping):
        return _ANY
    try:
        return variable.checked(value, "")
    except Tm2tfrError:
        return _ANY


def _any_value(chance: random.Random, variable: ModelVariable, seen: Sequence[CausalValue]) -> CausalValue:
    if variable.among:
        return chance.choice(variable.among)
    if variable.kind == "label":
        return chance.choice([*variable.labels, *([None] if variable.nothing else [])])
    numbers = [int(value) for value in seen if isinstance(value, int)] or [0]
    least = min(numbers) - FAR if variable.least is None else variable.least
    largest = max(numbers) + FAR if variable.largest is None else variable.largest
    return chance.randint(least, max(least, largest))
