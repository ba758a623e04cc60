"""Transformers trained on runs, beside the compiled ones."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from tm2tfr.base.errors import TrainingError, required

if TYPE_CHECKING:
    from tm2tfr.lab.datasets.spec import DatasetSpec
    from tm2tfr.lab.training.comparison import AttentionComparison
    from tm2tfr.lab.training.examples import Examples
    from tm2tfr.lab.training.grid import GridResult, TrainingGrid
    from tm2tfr.lab.training.loop import TrainingProgress
    from tm2tfr.lab.training.record import ModelOptions, TrainingOptions, TrainingRun
    from tm2tfr.lab.training.task import TaskOptions
    from tm2tfr.runs.comparison import Progress


def train(
    spec: DatasetSpec | str | Path,
    folder: str | Path | None = None,
    *,
    model: ModelOptions | None = None,
    options: TrainingOptions | None = None,
    resume: bool = False,
    progress: TrainingProgress | None = None,
    stop: Callable[[], bool] | None = None,
    **task: Unpack[TaskOptions],
) -> TrainingRun:
    """Train a transformer on runs, and return its record: losses, and the share of right greedy answers to unseen inputs.

    The weights are learned, not compiled: nothing is proved about them, and another seed may learn less.

    >>> import tm2tfr
    >>> from tm2tfr.lab.training.record import TrainingOptions
    >>> run = tm2tfr.train("binary-adder", bits=2, options=TrainingOptions(steps=5))
    >>> run.steps, run.data["train"], run.data["test"], run.ended
    (5, 12, 4, 'all steps')

    Args:
        spec, task: see `training_examples`.
        folder: the folder for the record ``run.json``, the weights and, until the end, a checkpoint. Default: not saved.
        model: the shape, by default minGPT's with one layer, one head and a width of 64; or a pretrained model.
        options: the options of training: steps, learning rate, seed, ….
        resume: continue the interrupted run in `folder`; the result is that of an uninterrupted run.
        progress: called after each step with the numbers of steps done and of all, the loss, and the latest exact match or
            None.
        stop: called after each step; if it returns True, the run is saved and ends.

    Raises:
        TrainingError: if torch is missing, examples or pretrained model do not exist, or the folder has another run.
        OutputError: if the folder cannot be written.
        SpecError, NotFoundError, ReadError, DatasetError: see `tm2tfr.make_dataset`.
    """
    required("training needs torch", ["torch", "safetensors.torch"], "torch", error=TrainingError)
    from tm2tfr.lab.training.compiled import build, described
    from tm2tfr.lab.training.loop import train_model
    from tm2tfr.lab.training.record import ModelOptions, TrainingOptions

    shape, how = model or ModelOptions(), options or TrainingOptions()
    found = training_examples(spec, **task)
    made = build(shape, found, seed=how.seed)
    told = described(shape, made)
    return train_model(made, found, how, folder, about=told, resume=resume, progress=progress, stop=stop)


def training_examples(
    spec: DatasetSpec | str | Path,
    **task: Unpack[TaskOptions],
) -> Examples:
    """Return examples for training and testing a model: the paper's sums, or a data set of any source.

    >>> import tm2tfr
    >>> found = tm2tfr.training_examples("binary-adder", bits=3, regime="weak")
    >>> len(found.train), len(found.test), found.longest
    (48, 16, 8)

    Args:
        spec: ``binary-adder`` for the paper's task, see `tm2tfr.lab.training.examples`; otherwise a spec for
            `tm2tfr.make_dataset`, or the folder of a data set.
        task: any of these options.
        regime: for machines and circuits. ``strong`` (the default): the steps are shown and scored; ``medium``: shown, not
            scored; ``weak``: the answer follows the prompt.
        label: for a program or a formula, the s-op or node whose values are learned; by default its own.
        program: the name of one of several machines or circuits.
        bits, order, intermediates, examples, test_examples, data_seed: for the paper's task, see
            `tm2tfr.lab.training.examples.adder_examples`.

    Raises:
        TrainingError: if the examples do not exist, or an option does not apply to them.
        SpecError, NotFoundError, ReadError, DatasetError: see `tm2tfr.make_dataset`.
    """
    from tm2tfr.lab.training.task import LearningTask

    return LearningTask(spec=spec, **task).made()


def train_grid(
    grid: TrainingGrid | str | Path,
    folder: str | Path,
    *,
    spec: str | None = None,
    workers: int | None = None,
    scheduler: str | None = None,
    resume: bool = False,
    progress: Progress | None = None,
) -> GridResult:
    """Train a model for each combination of the options in a grid, on all cores or on a Dask cluster.

    Args:
        grid: a YAML file of options with lists of values, such as ``{data: binary-adder, bits: [3, 4], seed: [0, 1]}``.
        folder: a new or empty folder, for one folder per run.
        spec: the examples, see `training_examples`, if the grid does not name them.
        workers: the number of processes, by default one per core; 1 is this process.
        scheduler: the address of a Dask cluster to use instead.
        resume: train only unfinished runs.
        progress: called after each run with the numbers of finished runs, and of all.

    Raises:
        SpecError, NotFoundError, ReadError: if the grid cannot be read.
        TrainingError: if torch is missing, or an option is out of range.
        DatasetError: if Dask is missing, the cluster is lost, or the folder has other runs.
        OutputError: if the folder cannot be written, or is in use.
    """
    required("training needs torch", ["torch", "safetensors.torch"], "torch", error=TrainingError)
    from tm2tfr.lab.training.grid import load_grid
    from tm2tfr.lab.training.grid import train_grid as trained

    found = load_grid(grid, data=spec) if isinstance(grid, str | Path) else grid
    return trained(found, folder, workers=workers, scheduler=scheduler, resume=resume, progress=progress)


def compare(run: TrainingRun | str | Path, *, inputs: int = 100, word: str | None = None) -> AttentionComparison:
    """Compare the attention that a model has learned with that of the compiled weights, in numbers.

    Args:
        run: a finished run of `train`, or its folder.
        inputs: the most unseen inputs to compare on.
        word: compare only on this input, unseen or not.

    Raises:
        TrainingError: if torch is missing, the run is unfinished or damaged, there are no weights to compare with, or the
            model cannot read the word.
        InputError: if the word is not an input.
    """
    required("a comparison needs torch", ["torch", "safetensors.torch"], "torch", error=TrainingError)
    from tm2tfr.lab.training.comparison import compared_attention
    from tm2tfr.lab.training.record import TrainingRun, load_run
    from tm2tfr.lab.training.task import task_of
    from tm2tfr.runs.plan import is_count

    if not is_count(inputs, 1):
        raise TrainingError(f"the number of inputs must be 1 or more, not {inputs!r}: use for example 100")
    found = run if isinstance(run, TrainingRun) else load_run(run)
    return compared_attention(found, task_of(found).made(), inputs=inputs, word=word)
