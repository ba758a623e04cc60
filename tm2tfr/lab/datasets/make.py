"""Data sets and sweeps of the runs of a spec: a folder of examples, or the first run that differs from the reference's."""

from __future__ import annotations

import json
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Unpack

from tm2tfr._version import __version__
from tm2tfr.base import resources
from tm2tfr.base.choices import AUTO
from tm2tfr.base.errors import DatasetError, NotFoundError, SpecWarning, counted, visible
from tm2tfr.base.text.shown import escaped, json_text, markdown_table
from tm2tfr.base.text.words import number_of
from tm2tfr.lab.datasets.balance import numbers
from tm2tfr.lab.datasets.files import shared_tokens
from tm2tfr.lab.datasets.reader import read
from tm2tfr.lab.datasets.shard import BY_TOKENS, Done, Failure, How, PieceJob, Tally
from tm2tfr.lab.datasets.spec import DatasetSpec, HowOptions
from tm2tfr.lab.line.folder import CARD, VOCABULARY, ShardProgress, carried_out, folder_named, production
from tm2tfr.lab.line.manifest import MANIFEST, Record, arrow_or_error, readme, sha256
from tm2tfr.lab.line.pool import pool, versions
from tm2tfr.runs.plan import is_count
from tm2tfr.sources import names
from tm2tfr.sources.automaton.library import is_automaton
from tm2tfr.sources.circuit.formats.registry import by_ending, recognised
from tm2tfr.sources.circuit.library import GENERATORS
from tm2tfr.sources.circuit.netlist import Circuit
from tm2tfr.sources.logic.library import is_logic
from tm2tfr.sources.rasp.library import is_program
from tm2tfr.sources.registry import built, loaded
from tm2tfr.sources.turing.formats.bbchallenge import repeated
from tm2tfr.sources.turing.library import load_list
from tm2tfr.sources.turing.library import shipped as machines

# ── Where specs come from: a path, or the specs shipped with the package.
TRAINED, TESTED = 10_000, 1_000
"""How many words there are to train on, and longer ones to test, where the longest to train on is all that is said."""
MOST_INPUTS = 16
"""Without a spec, a circuit with at most this many inputs is run on all of them."""


def spec_of(given: object, max_length: int | None = None) -> DatasetSpec:
    """Return a spec that is given as such, as a file, or by its name; see `load_spec`.

    Raises:
        NotFoundError: also for anything else.
        DatasetError: also for a longest word beside a spec, which says it itself.
    """
    if isinstance(given, DatasetSpec):
        if max_length is not None:
            raise DatasetError(f"{given.name}: a spec says its lengths itself: omit max_length")
        return given
    if not isinstance(given, str | Path):
        what = f"{given!r} ({type(given).__name__}) is neither a spec nor the name of one"
        raise NotFoundError(f"{what}: use a path, or the name of a shipped spec")
    if max_length is not None and not is_count(max_length, 1):
        raise DatasetError(f"max_length must be a number of tokens, not {max_length!r}: use 1 or more, or None")
    return load_spec(given, max_length=max_length)


def load_spec(where: str | Path, *, max_length: int | None = None) -> DatasetSpec:
    """Read a spec from a path, or a shipped one by its name; a file of that name takes precedence.

    The name of a shipped circuit, or the file of a circuit, stands for a spec of that circuit: on all inputs, where
    these are at most 2^16, otherwise on 1,000 random ones. That of a RASP program, a formula or an automaton stands for
    1,000 random inputs with 1 to 10 tokens, and with a single token for all of them. A list of bbchallenge machines
    stands for a spec of these on the blank tape, with at most 1,000 steps; a `SpecWarning` says which are on several
    lines.

    Args:
        max_length: of what labels words, the longest word of the split ``train``; the split ``test`` has words of more
            tokens, up to four times as many.

    Raises:
        NotFoundError: if there is no such file and no such shipped spec.
        ReadError: if it cannot be read.
        SpecError: with every error of the document.
        ConversionError: if the file of a circuit cannot be read.
        DatasetError: for a longest word of anything else.
    """
    where = _plain(where)
    name = str(where)
    labels = is_program(where) or is_logic(where) or is_automaton(where)
    if labels and name not in machines() and name not in GENERATORS:
        return _of_labeller(name, max_length)
    if max_length is not None:
        what = f"{resources.display(name)}: a longest word to train on is that of a program, a formula or an automaton"
        raise DatasetError(f"{what}: omit --max-length, or write 'split by: length' in the spec")
    if isinstance(where, str) and resources.is_shipped(resources.SPECS, name):
        return read(resources.shipped_text(resources.SPECS, name), file=f"{name}.yaml")
    if isinstance(where, str) and name in GENERATORS and not Path(name).is_file():
        return _of_circuit(name, built(name, {}).program)
    if (listed := load_list(where)) is not None:
        if (note := repeated(listed)) is not None:
            warnings.warn(f"{resources.display(name)}: warning: {note}", SpecWarning, stacklevel=2)
        machines_of = json.dumps([each.text for each in listed])
        return read(f"machines: {machines_of}\ninputs: ['']\n", file=f"{Path(name).stem}.yaml")
    if _is_circuit_file(name):
        return _of_circuit(name, loaded(where).program)
    return read(resources.contents(resources.SPECS, name), file=resources.display(name), folder=Path(name).parent)


def _plain(where: str | Path) -> str | Path:
    """Return a name without its kind, or the name of its file, where that is the kind that stands for a spec."""
    kind, name = names.split(where) or ("", "")
    if kind == names.MACHINE:
        raise DatasetError(f"{where}: a machine does not stand for a spec: write one that has 'machines: [{name}]'")
    if kind == names.CIRCUIT:
        return name
    return names.file_of(kind, name) if kind else where


def _is_circuit_file(name: str) -> bool:
    format = by_ending(name)
    if format is None or not Path(name).is_file():
        return False
    return format.name != "yaml" or recognised(resources.contents(resources.SPECS, name)) is format


def _of_circuit(name: str, circuit: Circuit) -> DatasetSpec:
    """Return the spec that the name of a circuit, or of its file, stands for."""
    inputs = "{all: true}" if len(circuit.inputs) <= MOST_INPUTS else "{random: {count: 1000}}"
    return read(f"circuits: [{json.dumps(name)}]\ninputs: {inputs}\n", file=f"{Path(name).stem}.yaml")


def _of_labeller(name: str, max_length: int | None) -> DatasetSpec:
    """Return the spec that the name of a RASP program, a formula or an automaton, or of its file, stands for."""
    letters = len(loaded(name).program.alphabet)
    if max_length is None:
        inputs = _inputs([(1_000, 1, 10)], letters) if letters > 1 else "{up to: 10}"
        return read(f"program: {json.dumps(name)}\ninputs: {inputs}\n", file=f"{Path(name).stem}.yaml")
    longer = max_length + 1, 4 * max_length
    inputs = _inputs([(TRAINED, 1, max_length), (TESTED, *longer)], letters)
    splits = f"split by: length\nsplits: {{train: 1 to {max_length}, test: {longer[0]} to {longer[1]}}}"
    return read(f"program: {json.dumps(name)}\ninputs: {inputs}\n{splits}\n", file=f"{Path(name).stem}.yaml")


def _inputs(wanted: Sequence[tuple[int, int, int]], letters: int) -> str:
    """Return the inputs of a spec: numbers of random words, each with the shortest and longest, as far as there are any."""
    random = [
        f"{{count: {min(count, number_of(letters, shortest, longest))}, length: {shortest} to {longest}}}"
        for count, shortest, longest in wanted
    ]
    return f"{{random: [{', '.join(random)}]}}"


FORMAT = 2


@dataclass(frozen=True)
class Dataset:
    """A data set that was made, or the failure that prevented it.

    Args:
        title: what reports call it.
        tally: all its runs; after a failure, those before it.
        examples: their numbers by split and form.
        left_out: the number of runs that did not end.
        outcomes: program -> outcome -> the number of its inputs, where random inputs are balanced by outcome.
        shared: split -> the number of its examples that have the tokens of an example of the first split.
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
    outcomes: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    shared: Mapping[str, int] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The name of its spec."""
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
    **options: Unpack[HowOptions],
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
        texts[VOCABULARY] = json_text(spec.vocabulary, indent=0)
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
        failed = failed_shard(line.made(spec.maker, spec.making(how, len(jobs)), progress))
        tally, left_out = totals(line.records, failed)
        examples = _examples(line.records, spec)
        made = Dataset(folder, spec, how.title(spec.name), tally, examples, left_out, len(jobs), line.reused)
        if failed is not None:
            return replace(made, failure=failed.failure)
        shared = shared_tokens(folder, examples, spec.formats[0]) if spec.may_share_tokens else {}
        made = replace(made, outcomes=_outcomes(spec, jobs), shared=shared)
        counts = {**tally.as_dict(), "left_out": left_out}
        own = {"name": spec.name, "seed": spec.seed, "counts": counts, "examples": examples, "spec": spec.text}
        own |= {"split_by": spec.split_by} | ({"shared_tokens": shared} if spec.may_share_tokens else {})
        own |= {"outcomes": made.outcomes} if made.outcomes else {}
        entries = {**own, "made": line.listed()}
        line.close({CARD: card(spec, tally, examples, spec.formats, shared)}, entries=entries)
    return made


def _outcomes(spec: DatasetSpec, jobs: Iterable[PieceJob]) -> dict[str, dict[str, int]]:
    """Return program -> outcome -> the number of its inputs, where random inputs are balanced; otherwise nothing."""
    found: dict[str, list[str | None]] = {}
    for piece in (piece for job in jobs for piece in job.work) if spec.inputs.balanced else ():
        for program in piece.programs:
            found.setdefault(program.name, []).extend(spec.judged(program).outcomes(piece.words))
    return {name: numbers(outcomes) for name, outcomes in found.items()}


def _head(spec: DatasetSpec, how: How, programs: str, shards: int) -> dict[str, object]:
    """Return the facts that must be equal for a folder to be resumed; programs: the text of machines.jsonl or its like."""
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


def failed_shard(shards: Iterable[Done]) -> Done | None:
    """Make all shards, up to the first that fails, and return that one; None: all have succeeded."""
    return next((done for done in shards if done.failure is not None), None)


def totals(records: Iterable[Record], failed: Done | None = None) -> tuple[Tally, int]:
    """Return the counts of all shards, and of the agreeing runs of one that has failed; the number of runs left out."""
    tally, left_out = Tally(), 0
    for record in records:
        tally.add(Tally.of(record.counts))
        left_out += record.counts["left_out"]
    if failed is not None:
        tally.add(failed.tally)
    return tally, left_out


def _examples(records: Iterable[Record], spec: DatasetSpec) -> dict[str, dict[str, int]]:
    """Return the numbers of examples of all shards, by split and form in the order of the spec."""
    numbers = Counter[tuple[str, str]]()
    for record in records:
        for split, forms in record.counts["examples"].items():
            numbers.update({(split, form): number for form, number in forms.items()})
    return {split: {f: numbers[split, f] for f in spec.forms if numbers[split, f]} for split, _ in spec.splits}


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
    lines += [f"{each} Use 'split by: {BY_TOKENS}'." for each in _shared(spec, found.examples, found.shared)]
    for program, outcomes in found.outcomes.items():
        shown = ", ".join(f"{number:,} {visible(outcome)}" for outcome, number in outcomes.items())
        lines.append(f"inputs of {visible(program)}: {shown}")
    if found.left_out:
        lines.append(f"left out: {spec.left_out(found.left_out)}")
    if found.reused:
        lines.append(f"reused: {found.reused:,} of {counted(found.shards, 'shard')}")
    listed = [MANIFEST, spec.listing_file, *([] if spec.vocabulary is None else [VOCABULARY]), CARD]
    lines.append(f"wrote {found.folder}: {counted(found.shards, 'shard')}, {', '.join(listed)}")
    return "\n".join(lines)


# ── The README of a data set, for people, with the header by which `datasets.load_dataset` finds the files.
_SPLIT_BY = {
    "run": "No run is in two splits.",
    "input": "No input is in two splits.",
    "length": "Each split has inputs of its own lengths.",
    BY_TOKENS: "No two splits have an example with the same tokens.",
}
"""What splits a data set -> what follows."""


def card(
    spec: DatasetSpec,
    tally: Tally,
    examples: Mapping[str, Mapping[str, int]],
    formats: Sequence[str],
    shared: Mapping[str, int] | None = None,
) -> str:
    """Return the text; the folder is read in one of the `formats`, Parquet if it is among them.

    Args:
        shared: see `Dataset.shared`.
    """
    format, splits = max(formats), [split for split, _ in spec.splits if examples[split]]
    files = [f'  - split: {split}\n    path: "{split}/*.{format}"' for split in splits]
    return readme(
        ("- config_name: default", "  data_files:", *files) if splits else (),
        f"# {escaped(spec.name)}",
        f"{spec.about(tally, f'made by tm2tfr {__version__}')}.",
        markdown_table(("split", "examples"), ((split, f"{sum(examples[split].values()):,}") for split in splits)),
        " ".join(
            [_SPLIT_BY.get(spec.split_by, f"No {spec.noun} is in two splits."), *_shared(spec, examples, shared or {})]
        ),
        markdown_table(("column", "contents"), spec.columns.items()),
        f"{spec.notes}`manifest.json` has the spec, seeds, counts and digests.\n"
        f"`datasets.load_dataset` reads the {format} files of this folder.",
    )


def _shared(spec: DatasetSpec, examples: Mapping[str, Mapping[str, int]], shared: Mapping[str, int]) -> Iterator[str]:
    """Yield a sentence for each split with examples that have the tokens of an example of the first split."""
    for split, number in shared.items():
        if number:
            many = sum(examples[split].values())
            share = f"{number:,} of {many:,} examples of {split} ({number / many:.0%})"
            yield f"{share} have the same tokens as an example of {spec.splits[0][0]}."


# ── sweeps
JOB = 2_000
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
    **options: Unpack[HowOptions],
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
