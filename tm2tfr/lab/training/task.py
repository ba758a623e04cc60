"""The task of a training run: the paper's sums, a data set of any source, or the folder of a data set."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypedDict

from tm2tfr.base.choices import AdderOrder
from tm2tfr.base.errors import Tm2tfrError, TrainingError, did_you_mean, first_line, listing, visible
from tm2tfr.base.text.source import decoded
from tm2tfr.contract.shown import PlainData
from tm2tfr.lab.datasets.make import spec_of
from tm2tfr.lab.datasets.reader import read
from tm2tfr.lab.datasets.spec import DatasetSpec
from tm2tfr.lab.line.manifest import MANIFEST, arrow_or_error
from tm2tfr.lab.training.examples import TASK, Examples, Intermediates, TokenExample, adder_examples, examples_of
from tm2tfr.lab.training.record import REGIMES, SPEC_FILE, Regime, TrainingRun, one_of

TRAIN, TEST = "train", "test"
_SHOWN = REGIMES["medium"]
_FORM = ("form", "s-op", "node")
"""The column that says the form of supervision, or what has labels."""

_SUMS = ("bits", "order", "intermediates", "examples", "test_examples", "data_seed")
"""The options of the paper's own task, besides the regime."""

DatasetRow = PlainData


class TaskOptions(TypedDict, total=False):
    """The fields of a `LearningTask` besides its spec, as keywords of functions."""

    regime: Regime | None
    label: str | None
    program: str | None
    bits: int | None
    order: AdderOrder | None
    intermediates: Intermediates | None
    examples: int | None
    test_examples: int | None
    data_seed: int | None


@dataclass(frozen=True, kw_only=True)
class LearningTask:
    """The task of a model; None: the default. See `tm2tfr.training_examples`."""

    spec: DatasetSpec | str | Path
    regime: Regime | None = None
    label: str | None = None
    program: str | None = None
    bits: int | None = None
    order: AdderOrder | None = None
    intermediates: Intermediates | None = None
    examples: int | None = None
    test_examples: int | None = None
    data_seed: int | None = None

    @property
    def adder(self) -> bool:
        """Whether it is the paper's own task."""
        return self.spec == TASK and not Path(TASK).exists()

    def made(self) -> Examples:
        """Return the examples.

        Raises:
            TrainingError: if there are none, or an option does not apply.
            SpecError, NotFoundError, ReadError, DatasetError: if the spec cannot be read.
        """
        sums = {name: value for name in _SUMS if (value := getattr(self, name)) is not None}
        if self.adder:
            if self.label is not None or self.program is not None:
                raise TrainingError(f"{TASK}: there is one program, without labels: omit the label and program options")
            return adder_examples(regime=self.regime or "strong", **sums)
        for name in sums:
            said = name.replace("_", "-")
            raise TrainingError(f"{said} is an option of {TASK}, the paper's task: omit it, or train on {TASK}")
        if isinstance(self.spec, str | Path) and Path(self.spec).is_dir():
            return self._of_folder(Path(self.spec))
        return self._of_spec(spec_of(self.spec))

    # ── data sets of every source as examples: of a spec, made here, or of the folder of a data set that was made
    def _of_spec(self, spec: DatasetSpec) -> Examples:
        """Return the runs of a spec as examples, made and checked as those of `tm2tfr.make_dataset`."""
        labels = spec.per_position
        form = self._form(spec.name, labels=labels, known=spec.forms if labels else ())
        forms = (form or spec.forms[-1],) if labels else tuple(dict.fromkeys((form or _SHOWN, _SHOWN)))
        jobs = list(spec.jobs())
        making = replace(spec.making(spec.how(), len(jobs)), forms=forms, formats=("jsonl",))
        found: dict[str, list[DatasetRow]] = {name: [] for name, _ in spec.splits}
        for job in jobs:
            done = spec.maker(job, making)
            if done.failure is not None:
                what = f"the decoder differs from the reference on {done.failure.word!r} ({done.failure.why})"
                raise TrainingError(f"{visible(spec.name)}: {what}: see tm2tfr sweep")
            for name, data in done.files.items():
                found[name.split("/")[0]] += _lines(data.decode())
        told = {"spec": spec.text, "kind": spec.noun, "labels": labels, "form": forms[0]}
        if isinstance(self.spec, str | Path) and Path(self.spec).is_file():
            told[SPEC_FILE] = str(self.spec)
        return self._of_rows(spec.name, found, told)

    def _of_folder(self, folder: Path) -> Examples:
        """Return the examples of a data set that `tm2tfr.make_dataset` made."""
        try:
            manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
            splits = {name: list(_folder_rows(folder / name)) for name in manifest["examples"]}
            name = str(manifest["name"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            what = f"there is no finished data set here ({first_line(error)})"
            raise TrainingError(f"{folder}: {what}: make one with tm2tfr dataset") from error
        one = next((row for rows in splits.values() for row in rows), None)
        if one is None:
            raise TrainingError(f"{folder}: this data set has no examples: make another one")
        column = next(each for each in _FORM if each in one)
        labels = column != _FORM[0]
        known = list(dict.fromkeys(str(row[column]) for rows in splits.values() for row in rows))
        form = self._form(str(folder), labels=labels, known=known) or known[-1]
        told = {"folder": str(folder), "spec": manifest.get("spec", ""), "kind": next(iter(one))}
        return self._of_rows(name, splits, {**told, "labels": labels, "form": form})

    def _form(self, where: str, *, labels: bool, known: Sequence[str]) -> str | None:
        """Return the form of supervision, or what is to be labelled; None: by default.

        Raises:
            TrainingError: for one that is not there.
        """
        regime, label = self.regime, self.label
        if labels:
            if regime is not None:
                raise TrainingError(f"{where}: labels are at every position, and all are scored: omit --regime")
            if label is not None and label not in known:
                what = f"nothing here is called {label!r}{did_you_mean(label, known)}"
                raise TrainingError(f"{where}: {what}: use one of {listing(known)}")
            return label
        if label is not None:
            raise TrainingError(f"{where}: only programs and formulas have labels: omit --label")
        regime = "strong" if regime is None else regime
        one_of("regime", regime, REGIMES)
        return REGIMES[regime]

    def _of_rows(self, name: str, splits: Mapping[str, Sequence[DatasetRow]], told: PlainData) -> Examples:
        """Return the rows of a data set as examples, those of one form and one program.

        Raises:
            TrainingError: if there are no such examples, or programs cannot be told apart.
        """
        train, test = _chosen_splits(name, {each: rows for each, rows in splits.items() if rows})
        noun, labels, program = str(told["kind"]), bool(told["labels"]), self.program
        names = list(dict.fromkeys(str(row[noun]) for row in (*splits[train], *splits[test])))
        if program is not None and program not in names:
            what = f"no {noun} here is called {program!r}{did_you_mean(program, names)}"
            raise TrainingError(f"{visible(name)}: {what}: use another name")
        if program is None and len(names) > 1 and "prompt_ids" not in splits[train][0]:  # not all in one decoder's prompt
            what = f"these are {len(names):,} {noun}s, and the prompts do not say which is meant"
            raise TrainingError(f"{visible(name)}: {what}: choose one with --program, as in {names[0]!r}")
        both = []
        for split in (train, test):
            rows = [row for row in splits[split] if program is None or row[noun] == program]
            both.append(list(_examples(rows, told["form"], labels=labels)))
        programs = names if program is None else [program]
        about = {**told, "programs": len(names) if len(names) > 100 else programs, "splits": [train, test]}
        return examples_of(name, *both, labels=labels, about=about)


def _chosen_splits(name: str, splits: Mapping[str, Sequence[DatasetRow]]) -> tuple[str, str]:
    """Return the splits to train on and to test: `train` and `test`, otherwise the first and the last."""
    names = list(splits)
    if len(names) < 2:
        what = "there are examples in only one split" if names else "there are no examples"
        raise TrainingError(f"{visible(name)}: {what}: use a spec with more inputs, and 'splits'")
    train = TRAIN if TRAIN in names else names[0]
    test = TEST if TEST in names and train != TEST else next(each for each in reversed(names) if each != train)
    return train, test


def _examples(rows: Iterable[DatasetRow], form: str, *, labels: bool) -> Iterator[TokenExample]:
    """Yield the rows of a form; the answer is the part that is scored if steps are only shown."""
    rows = list(rows)
    column = next((each for each in _FORM if rows and each in rows[0]), _FORM[0])
    shown = {} if labels else {_key(row): row["loss_mask"] for row in rows if row[column] == _SHOWN}
    for row in rows:
        if row[column] == form:
            scored = [bool(flag) for flag in row["loss_mask"]]
            answer = shown.get(_key(row), ()) if form == REGIMES["strong"] else scored
            flags = [bool(flag) for flag in answer] if len(answer) == len(scored) else scored
            yield TokenExample(row["prompt"], row["target"], scored, flags)


def _key(row: DatasetRow) -> tuple[object, ...]:
    return next(iter(row.values())), row["input"], tuple(row["prompt"])


def _lines(text: str) -> Iterator[DatasetRow]:
    yield from (json.loads(line) for line in text.split("\n") if line)


def _folder_rows(folder: Path) -> Iterator[DatasetRow]:
    """Yield the rows of a split, from its files of one format."""
    if found := sorted(folder.glob("*.jsonl")):
        for file in found:
            yield from _lines(file.read_text(encoding="utf-8"))
        return
    for file in sorted(folder.glob("*.parquet")):
        yield from arrow_or_error().parquet.read_table(file).to_pylist()


def task_of(run: TrainingRun) -> LearningTask:
    """Return the task of a run, from which its examples can be made again.

    Raises:
        TrainingError: if its record does not say.
    """
    try:
        return _task_of(run)
    except KeyError as error:
        what = f"its record does not say how its examples are made again ({error} is missing)"
        raise TrainingError(f"{run.data.get('name', 'run')}: {what}: train it again") from error


def _task_of(run: TrainingRun) -> LearningTask:
    data = run.data
    if data.get("task") == TASK:
        return LearningTask(spec=TASK, **{name: data[name] for name in ("regime", *_SUMS)})
    names, folder = data["programs"], data.get("folder")
    program = names[0] if isinstance(names, list) and len(names) == 1 else None
    spec = recorded_spec(run) if folder is None else Path(folder)
    if data["labels"]:
        return LearningTask(spec=spec, label=data["form"], program=program)
    regime = next(regime for regime, form in REGIMES.items() if form == data["form"])
    return LearningTask(spec=spec, regime=regime, program=program)


def recorded_spec(run: TrainingRun) -> DatasetSpec:
    """Return the spec that a run's data were made from.

    Raises:
        TrainingError: if the run does not say.
        SpecError: if it cannot be read any more, since a file that it names is not there.
    """
    text = run.data.get("spec")
    if not text:
        raise TrainingError("the record of this run does not say what its data were made from: train on a data set's spec")
    return read(str(text), file=str(run.data["name"]), folder=_beside_spec(run, str(text)))


def _beside_spec(run: TrainingRun, text: str) -> Path | None:
    """Return the folder in which the files that a run's spec names are looked for; None: the current one.

    The spec is looked for where it was, from the current folder and then from each folder above the run: a run is
    compared from anywhere, also after both have moved together.
    """
    file = run.data.get(SPEC_FILE)
    if file is None:
        return None
    itself = json.dumps(file) in text  # the file of a program stands for a spec that names it
    for root in (Path(), *(() if run.folder is None else run.folder.absolute().parents)):
        path = root / file
        if itself and path.is_file():
            return root
        with suppress(OSError, Tm2tfrError):
            if decoded(path.read_bytes(), file=file).text == text:
                return path.parent
    return None
