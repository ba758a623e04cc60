"""What is to be learned, as it is asked for: the paper's sums, a data set of any source, or a folder of one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict

from tm2tfr.dataset.circuits.spec import CircuitSpec
from tm2tfr.dataset.kinds import AnySpec
from tm2tfr.dataset.labels.spec import LabelSpec
from tm2tfr.dataset.library import load_spec
from tm2tfr.dataset.reader import read
from tm2tfr.dataset.spec import Spec
from tm2tfr.errors import NotFoundError, TrainingError
from tm2tfr.sources.circuit.library.arithmetic import Order
from tm2tfr.training.adder import TASK, TESTED, TRAINED, Intermediates, adder_examples
from tm2tfr.training.examples import Examples
from tm2tfr.training.options import REGIMES, Regime
from tm2tfr.training.record import TrainingRun
from tm2tfr.training.sources import folder_examples, spec_examples


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

    spec: AnySpec | str | Path
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
        if isinstance(self.spec, Spec | CircuitSpec | LabelSpec):
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
        spec: AnySpec | Path = read(text, file=name)
    else:
        spec = Path(data["folder"])
    if data["labels"]:
        return LearningTask(spec=spec, label=data["form"], **common)
    regime = next(regime for regime, form in REGIMES.items() if form == data["form"])
    return LearningTask(spec=spec, regime=regime, **common)
