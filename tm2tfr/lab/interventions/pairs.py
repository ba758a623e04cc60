"""Random interventions as data: pairs of runs, with what must come out, for methods that search for such variables.

A folder of JSON Lines (and Parquet), in shards of which each has a generator of its own: a shard is a function of the
subject, the inputs, the seed and its number, so that what is there is not made again.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from tm2tfr._version import __version__
from tm2tfr.base.errors import DatasetError
from tm2tfr.base.files import write_bytes, write_text
from tm2tfr.base.text.shown import code, escaped
from tm2tfr.lab.datasets.folder import CARD, ShardProgress, prepared, refuse_used
from tm2tfr.lab.datasets.jobs import arrow_or_error
from tm2tfr.lab.datasets.manifest import MANIFEST, sha256
from tm2tfr.lab.interventions.drawn import drawn
from tm2tfr.lab.interventions.intervened import Base
from tm2tfr.lab.interventions.intervention import Intervention, text_of_cell, text_of_stage
from tm2tfr.lab.interventions.patched import subspace_of
from tm2tfr.transformer.weights import digest

SHARD, MOST_FAILURES = 1_000, 3
"""The number of interventions of a shard; the most failures that are kept."""
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

    def reuse(self, counts: Mapping[str, int]) -> None:
        """Count the interventions of a shard that is there, see `counts`."""
        self.number += counts["interventions"]
        self.left_out += counts["left_out"]
        self.causal += counts["causal"]
        self.explained += counts["explained"]
        self.reused += counts["interventions"]

    def as_dict(self) -> dict[str, Any]:
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
    folder: Path | None = None,
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
        resume: whether a folder of the same interventions is continued: shards that are there are not made again.
        progress: called with the shards done, all of them, and the interventions made.

    Raises:
        DatasetError: if PyArrow is missing for Parquet; for a folder of other interventions.
        OutputError: if the folder is not empty, or cannot be written.
    """
    first = base(words[0])
    found = Tried(name, first.engine.name, folder=folder)
    starts, head, made = range(0, count, SHARD), dict[str, Any](), dict[str, Any]()
    if folder is not None:
        if parquet:
            arrow_or_error()
        head = _head(name, first, words, count, seed, parquet=parquet)
        made = _found(folder, head) if resume else _empty(folder)
    for number, start in enumerate(starts):
        stem = f"{number:05}-of-{len(starts):05}"
        if stem in made:
            found.reuse(made[stem]["counts"])
        else:
            own, rows = Tried(name, first.engine.name), []
            for run, settings in islice(drawn(words, base, seed=seed, start=start), min(SHARD, count - start)):
                done = run.intervened(settings)
                own.add(done)
                found.add(done)
                rows += [_row(done)] if folder is not None and done.known else []
            if folder is not None:
                if own.differing:
                    return found  # what the weights do not do is not written
                made[stem] = _written(folder, stem, rows, own, parquet=parquet)
                _note(folder, head, made)
        if progress is not None:
            progress(number + 1, len(starts), found.number)
    if folder is not None:
        write_text(folder / CARD, _card(found, first, count, seed, parquet=parquet))
        _note(folder, head, made)
    return found


# ── files ───────────────────────────────────────────────────────────────────────────────────────────────────
def _row(done: Intervention) -> dict[str, Any]:
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


def _written(folder: Path, stem: str, rows: Sequence[Mapping[str, Any]], own: Tried, *, parquet: bool) -> dict[str, Any]:
    """Write the files of a shard and return what the manifest says of it."""
    data = {f"{stem}.jsonl": "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()}
    if parquet:
        data[f"{stem}.parquet"] = _parquet(rows)
    for name, content in data.items():
        write_bytes(folder / name, content)
    files = {name: {"bytes": len(content), "sha256": sha256(content)} for name, content in data.items()}
    return {"counts": own.counts, "files": files}


def _parquet(rows: Sequence[Mapping[str, Any]]) -> bytes:
    arrow = arrow_or_error()
    text, texts, numbers = arrow.string(), arrow.list_(arrow.string()), arrow.list_(arrow.int32())
    kinds = dict.fromkeys(COLUMNS, texts) | {"input": text, "why": text, "first": arrow.int32()}
    kinds |= {"positions": numbers, "source_positions": numbers}
    schema = arrow.schema([arrow.field(name, kind) for name, kind in kinds.items()])
    sink = io.BytesIO()
    options = {"compression": "zstd", "compression_level": 3, "version": "2.6", "data_page_version": "1.0"}
    with arrow.parquet.ParquetWriter(sink, schema, **options) as writer:
        writer.write_table(arrow.Table.from_pylist(list(rows), schema=schema))
    return sink.getvalue()


def _head(name: str, base: Base, words: Sequence[str], count: int, seed: int, *, parquet: bool) -> dict[str, Any]:
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
        "layers": "layers count from 0; the embedding is layer -1",
        "variables": {
            variable.name: {
                "meaning": variable.meaning,
                "kind": variable.kind,
                "layer": variable.since[0],
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


def _note(folder: Path, head: Mapping[str, Any], made: Mapping[str, Any]) -> None:
    write_text(
        folder / MANIFEST, json.dumps({**head, "shards": dict(sorted(made.items()))}, ensure_ascii=False, indent=1) + "\n"
    )


def _empty(folder: Path) -> dict[str, Any]:
    """Make the folder, which is new or empty.

    Raises:
        OutputError: if it is not, or cannot be made.
    """
    refuse_used(folder, resume=False)
    prepared(folder, ())
    return {}


def _found(folder: Path, head: Mapping[str, Any]) -> dict[str, Any]:
    """Return the shards of a folder whose files are as they were written.

    Raises:
        DatasetError: if it has other interventions, or none.
    """
    try:
        before = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        shards = dict(before["shards"])
    except FileNotFoundError:
        raise DatasetError(f"{folder}: there are no interventions to resume here: omit --resume") from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        what = f"{folder}: the manifest here cannot be read ({type(error).__name__})"
        raise DatasetError(f"{what}: write the interventions into another folder") from error
    for key, value in head.items():
        if before.get(key) != value:
            what = f"{folder}: the interventions here have another {key.replace('_', ' ')}"
            raise DatasetError(f"{what}: write these into another folder")
    return {stem: shard for stem, shard in shards.items() if _sound(folder, shard)}


def _sound(folder: Path, shard: Mapping[str, Any]) -> bool:
    with suppress(OSError, KeyError, TypeError):
        return all(sha256((folder / name).read_bytes()) == file["sha256"] for name, file in shard["files"].items())
    return False


def _card(found: Tried, base: Base, count: int, seed: int, *, parquet: bool) -> str:
    format = "parquet" if parquet else "jsonl"
    head = [
        "---",
        "configs:",
        "- config_name: default",
        "  data_files:",
        f'  - split: train\n    path: "*.{format}"',
        "---",
        "",
    ]
    more = f" {found.left_out:,} more were drawn and are left out: it is not known what must be answered."
    left_out = more if found.left_out else ""
    lines = [
        f"# Interventions on {escaped(found.subject)}",
        "",
        f"{count - found.left_out:,} random interventions with a known answer, made by tm2tfr {__version__} with the "
        f"seed {seed}. Each sets one or two variables of a run, to values of another run (interchange interventions; "
        "Geiger et al. 2021, 2024) or to any other. What must come out is computed from the source alone; the "
        f"{found.engine} engine ran the weights with the subspaces of these variables overwritten, and every cell of every "
        "run was as expected"
        + (f", but for {found.explained:,} runs with cells of which nothing is known." if found.explained else "."),
        "",
        f"{found.causal:,} of them change an answer.{left_out}",
        "",
        "| column | contents |",
        "|---|---|",
        *(f"| {name} | {what} |" for name, what in COLUMNS.items()),
        "",
        "| variable | what it is | written after | read by |",
        "|---|---|---|---|",
        *(
            f"| {code(v.name)} | {escaped(v.meaning)} | {text_of_stage(v.since)} | {escaped(v.read_by) or 'nothing'} |"
            for v in base.model.variables.values()
        ),
        "",
        f"`{MANIFEST}` has the directions of each variable in the residual stream, the digest of the weights, the seed "
        "and the digests of all files.",
        "",
    ]
    return "\n".join([*head, *lines])
