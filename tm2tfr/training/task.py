"""What is to be learned, as it is asked for: the paper's sums, a data set of any source, or a folder of one."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypedDict

from tm2tfr.dataset.jobs import arrow_or_error
from tm2tfr.dataset.library import load_spec
from tm2tfr.dataset.manifest import MANIFEST
from tm2tfr.dataset.reader import read
from tm2tfr.dataset.spec import DatasetSpec
from tm2tfr.errors import NotFoundError, TrainingError, did_you_mean, first_line, listing, visible
from tm2tfr.sources.circuit.library.arithmetic import Order
from tm2tfr.training.adder import TASK, TESTED, TRAINED, Intermediates, adder_examples
from tm2tfr.training.examples import Examples, TokenExample, examples_of
from tm2tfr.training.options import REGIMES, Regime
from tm2tfr.training.record import TrainingRun

# ── Data sets of every source as examples: of a spec, made here, or of the folder of a data set that was made.
TRAIN, TEST = "train", "test"
_SHOWN = REGIMES["medium"]
_FORM = ("form", "s-op", "node")
"""The column that says the form of supervision, or what has labels."""

DatasetRow = Mapping[str, Any]


def spec_examples(
    spec: DatasetSpec, *, regime: Regime | None = None, label: str | None = None, program: str | None = None
) -> Examples:
    """Return the runs of a spec as examples, made and checked as those of `tm2tfr.make_dataset`.

    Args:
        regime: of machines and circuits; by default ``strong``.
        label: of programs and formulas, the s-op or node whose values are learned; by default the program's own.
        program: of several programs, the name of the one to learn.

    Raises:
        TrainingError: if the spec has no such examples, or its programs cannot be told apart.
        DatasetError: if a run differs from the reference's, see `tm2tfr.make_dataset`.
    """
    labels = spec.per_position
    form = _form(regime, label, spec.name, labels=labels, known=spec.forms if labels else ())
    forms = (form or spec.forms[-1],) if labels else tuple(dict.fromkeys((form or _SHOWN, _SHOWN)))
    making = replace(spec.making(spec.how()), forms=forms, formats=("jsonl",))
    found: dict[str, list[DatasetRow]] = {name: [] for name, _ in spec.splits}
    for job in spec.jobs():
        done = spec.maker(job, making)
        if done.failure is not None:
            what = f"the decoder differs from the reference on {done.failure.word!r} ({done.failure.why})"
            raise TrainingError(f"{visible(spec.name)}: {what}: see tm2tfr sweep")
        for (split, _), data in done.files.items():
            found[split] += _lines(data.decode())
    told = {"spec": spec.text, "kind": spec.noun}
    return _of_rows(spec.name, found, forms[0], program, told, labels=labels)


def folder_examples(
    folder: str | Path, *, regime: Regime | None = None, label: str | None = None, program: str | None = None
) -> Examples:
    """Return the examples of a data set that `tm2tfr.make_dataset` made; see `spec_examples`.

    Raises:
        TrainingError: if there is no data set, or it has no such examples.
    """
    folder = Path(folder)
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
    form = _form(regime, label, str(folder), labels=labels, known=known) or known[-1]
    told = {"folder": str(folder), "spec": manifest.get("spec", ""), "kind": next(iter(one))}
    return _of_rows(name, splits, form, program, told, labels=labels)


def _form(regime: Regime | None, label: str | None, where: str, *, labels: bool, known: Sequence[str]) -> str | None:
    """Return the form of supervision, or what is to be labelled; None: by default.

    Raises:
        TrainingError: for one that is not there.
    """
    if labels:
        if regime is not None:
            raise TrainingError(f"{where}: labels are at every position, and all are scored: omit --regime")
        if label is not None and label not in known:
            raise TrainingError(
                f"{where}: nothing here is called {label!r}{did_you_mean(label, known)}: use one of {listing(known)}"
            )
        return label
    if label is not None:
        raise TrainingError(f"{where}: only programs and formulas have labels: omit --label")
    if regime is not None and regime not in REGIMES:
        raise TrainingError(f"unknown regime {regime!r}{did_you_mean(regime, REGIMES)}: use one of {', '.join(REGIMES)}")
    return REGIMES["strong" if regime is None else regime]


def _of_rows(
    name: str,
    splits: Mapping[str, Sequence[DatasetRow]],
    form: str,
    program: str | None,
    told: Mapping[str, Any],
    *,
    labels: bool,
) -> Examples:
    """Return the rows of a data set as examples, those of one form and one program."""
    train, test = _chosen_splits(name, {each: rows for each, rows in splits.items() if rows})
    noun = str(told["kind"])
    names = list(dict.fromkeys(str(row[noun]) for row in (*splits[train], *splits[test])))
    if program is not None and program not in names:
        raise TrainingError(
            f"{visible(name)}: no {noun} here is called {program!r}{did_you_mean(program, names)}: use another name"
        )
    if program is None and len(names) > 1 and "prompt_ids" not in splits[train][0]:  # not all in the prompt of one decoder
        what = f"these are {len(names):,} {noun}s, and the prompts do not say which is meant"
        raise TrainingError(f"{visible(name)}: {what}: choose one with --program, as in {names[0]!r}")
    both = []
    for split in (train, test):
        rows = [row for row in splits[split] if program is None or row[noun] == program]
        both.append(list(_examples(rows, form, labels=labels)))
    about = {**told, "labels": labels, "form": form, "programs": names if program is None else [program]}
    if len(names) > 100:
        about["programs"] = len(names)
    return examples_of(name, *both, labels=labels, about={**about, "splits": [train, test]})


def _chosen_splits(name: str, splits: Mapping[str, Sequence[DatasetRow]]) -> tuple[str, str]:
    """Return which splits are trained on and tested: those of these names, otherwise the first and the last."""
    names = list(splits)
    if len(names) < 2:
        what = "there are examples in only one split" if names else "there are no examples"
        raise TrainingError(f"{visible(name)}: {what}: use a spec with more inputs, and 'splits'")
    train = TRAIN if TRAIN in names else names[0]
    test = TEST if TEST in names and train != TEST else next(each for each in reversed(names) if each != train)
    return train, test


def _examples(rows: Iterable[DatasetRow], form: str, *, labels: bool) -> Iterator[TokenExample]:
    """Yield the rows of a form; what counts as the answer is what is scored where steps are only shown."""
    rows = list(rows)
    column = next((each for each in _FORM if rows and each in rows[0]), _FORM[0])
    shown = {} if labels else {_key(row): row["loss_mask"] for row in rows if row[column] == _SHOWN}
    for row in rows:
        if row[column] == form:
            scored = [bool(flag) for flag in row["loss_mask"]]
            answer = shown.get(_key(row), ()) if form == REGIMES["strong"] else scored
            flags = [bool(flag) for flag in answer] if len(answer) == len(scored) else scored
            yield TokenExample(row["prompt"], row["target"], scored, flags)


def _key(row: DatasetRow) -> tuple[Any, ...]:
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


class TaskOptions(TypedDict, total=False):
    """The fields of a `LearningTask` besides its spec, as keywords of functions."""

    regime: Regime | None
    label: str | None
    program: str | None
    bits: int | None
    order: Order | None
    intermediates: Intermediates | None
    examples: int | None
    test_examples: int | None
    data_seed: int | None


@dataclass(frozen=True, kw_only=True)
class LearningTask:
    """What a model is to learn; None: as by default. See `tm2tfr.training_examples`."""

    spec: DatasetSpec | str | Path
    regime: Regime | None = None
    label: str | None = None
    program: str | None = None
    bits: int | None = None
    order: Order | None = None
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
        if self.adder:
            return self._sums()
        for name in ("bits", "order", "intermediates", "examples", "test_examples", "data_seed"):
            if getattr(self, name) is not None:
                said = name.replace("_", "-")
                raise TrainingError(f"{said} is an option of {TASK}, the paper's task: omit it, or train on {TASK}")
        if isinstance(self.spec, DatasetSpec):
            return spec_examples(self.spec, regime=self.regime, label=self.label, program=self.program)
        if not isinstance(self.spec, str | Path):
            what = f"{self.spec!r} ({type(self.spec).__name__}) is neither a spec nor the name of one"
            raise NotFoundError(f"{what}: use a path, or the name of a shipped spec")
        if Path(self.spec).is_dir():
            return folder_examples(self.spec, regime=self.regime, label=self.label, program=self.program)
        return spec_examples(load_spec(self.spec), regime=self.regime, label=self.label, program=self.program)

    def _sums(self) -> Examples:
        if self.label is not None or self.program is not None:
            raise TrainingError(f"{TASK}: there is one program, without labels: omit the label and program options")
        return adder_examples(
            bits=8 if self.bits is None else self.bits,
            order=self.order or "paper-2",
            regime=self.regime or "strong",
            intermediates=self.intermediates or "gates",
            examples=TRAINED if self.examples is None else self.examples,
            test_examples=TESTED if self.test_examples is None else self.test_examples,
            data_seed=self.data_seed or 0,
        )


def task_of(run: TrainingRun) -> LearningTask:
    """Return what a run has learned, so that its examples can be made again.

    Raises:
        TrainingError: if its record does not say.
    """
    try:
        return _task_of(run.data)
    except KeyError as error:
        what = f"its record does not say how its examples are made again ({error} is missing)"
        raise TrainingError(f"{run.data.get('name', 'run')}: {what}: train it again") from error


def _task_of(data: Mapping[str, Any]) -> LearningTask:
    if data.get("task") == TASK:
        return LearningTask(
            spec=TASK,
            regime=data["regime"],
            bits=data["bits"],
            order=data["order"],
            intermediates=data["intermediates"],
            examples=data["examples"],
            test_examples=data["test_examples"],
            data_seed=data["data_seed"],
        )
    names = data["programs"]
    common = {"program": names[0] if isinstance(names, list) and len(names) == 1 else None}
    if data.get("folder") is None:
        text, name = str(data.get("spec", "")), str(data["name"])
        spec: DatasetSpec | Path = read(text, file=name)
    else:
        spec = Path(data["folder"])
    if data["labels"]:
        return LearningTask(spec=spec, label=data["form"], **common)
    regime = next(regime for regime, form in REGIMES.items() if form == data["form"])
    return LearningTask(spec=spec, regime=regime, **common)
