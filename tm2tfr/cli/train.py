"""The commands ``train`` (a transformer that learns from runs of a source) and ``compare``."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tm2tfr.base.errors import Interrupted, UsageError
from tm2tfr.cli.options import argument, choice, count, file, models, number, option, specs
from tm2tfr.cli.progress import training
from tm2tfr.lab.training.record import (
    DEVICES,
    MODELS,
    POSITIONS,
    REGIMES,
    ModelOptions,
    Positions,
    Regime,
    TrainingOptions,
)

if TYPE_CHECKING:
    from tm2tfr.contract.shown import PlainData

TASK, MODEL, TRAINING, GRID = "The task", "The model", "Training", "Grids"
"""The panels of the help."""
WITH_A_GRID = {"spec", "output", "grid", "resume", "workers", "scheduler", "as_json"}
"""The parameters that a grid does not give itself."""


def _config(text: str) -> PlainData:
    """Return the configuration of a GPT-2."""
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise ValueError(f"""{text!r} is not a JSON object: write for example '{{"activation_function": "relu"}}'""")
    return found


@dataclass(frozen=True, kw_only=True)
class TaskGroup:
    """What is to be learned."""

    regime: Annotated[
        Regime | None,
        choice(
            "weak: score the answer only; medium: show the steps, but do not score them; strong: score them too. Default: "
            "strong (of machines and circuits).",
            of=tuple(REGIMES),
            panel=TASK,
        ),
    ] = None
    label: Annotated[
        str | None, option("Learn this s-op or node (programs and formulas only).", metavar="NAME", panel=TASK)
    ] = None
    program: Annotated[
        str | None, option("Learn this machine or circuit of a spec that has several.", metavar="NAME", panel=TASK)
    ] = None
    bits: Annotated[int | None, count("Bits of each number (binary-adder only). Default: 8.", least=1, panel=TASK)] = None
    order: Annotated[
        Any, option("Gate order, paper-1 or paper-2 (binary-adder only). Default: paper-2.", metavar="ORDER", panel=TASK)
    ] = None
    intermediates: Annotated[
        Any,
        choice(
            "All gates, or the carry bits alone (binary-adder only). Default: gates.", of=("gates", "carries"), panel=TASK
        ),
    ] = None
    examples: Annotated[
        int | None,
        count("Training examples (binary-adder only). Default: 10,000, or all if there are fewer.", least=1, panel=TASK),
    ] = None
    test_examples: Annotated[
        int | None, count("Unseen examples (binary-adder only). Default: 1,000, at most a quarter.", least=1, panel=TASK)
    ] = None
    data_seed: Annotated[int | None, count("The seed of the pairs (binary-adder only). Default: 0.", panel=TASK)] = None


@dataclass(frozen=True, kw_only=True)
class ModelGroup(ModelOptions):
    """The shape of a model."""

    kind: Annotated[
        str,
        option(
            "compiled: start at the compiled weights of binary-adder; a folder: that of a pretrained GPT-2, whose body is "
            "frozen. Default: mingpt.",
            "--model",
            metavar=f"<{' | '.join(MODELS)} | DIR>",
            autocompletion=models,
            panel=MODEL,
        ),
    ] = "mingpt"
    layers: Annotated[int, count("Layers. Default: 1.", least=1, panel=MODEL)] = 1
    heads: Annotated[int, count("Heads of each layer. Default: 1.", least=1, panel=MODEL)] = 1
    width: Annotated[int, count("Dimensions of the residual stream. Default: 64.", least=1, panel=MODEL)] = 64
    hidden: Annotated[int | None, count("Units of a feed-forward layer. Default: 4 · width.", least=1, panel=MODEL)] = None
    positions: Annotated[
        Positions, choice("Position embeddings of mingpt. Default: sinusoidal.", of=POSITIONS, panel=MODEL)
    ] = "sinusoidal"
    dropout: Annotated[float, number("The share of values set to 0 in training. Default: 0.", panel=MODEL)] = 0.0
    spread: Annotated[
        float | None,
        number("Standard deviation of the initial weights (mingpt only). Default: PyTorch's own.", panel=MODEL),
    ] = None
    frozen: Annotated[bool, option("Keep the random weights of the body, and train the rest (gpt2 only).", panel=MODEL)] = (
        False
    )
    sublayers: Annotated[
        str | None,
        option(
            "The order of attention (s) and feed-forward (f) sublayers, such as sfsf, in place of --layers (mingpt only).",
            metavar="ORDER",
            panel=MODEL,
        ),
    ] = None
    noise: Annotated[float, number("Noise added to the weights (compiled only). Default: 0.", panel=MODEL)] = 0.0
    config: Annotated[
        Any, option("Further fields of the configuration (gpt2 only).", metavar="JSON", parser=_config, panel=MODEL)
    ] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class TrainingGroup(TrainingOptions):
    """How a model is trained."""

    steps: Annotated[int, count("At most N steps. Default: 3,000.", panel=TRAINING)] = 3_000
    batch: Annotated[int, count("Sequences in each step. Default: 32.", least=1, panel=TRAINING)] = 32
    lr: Annotated[float, number("The learning rate at its highest. Default: 0.003.", panel=TRAINING)] = 3e-3
    warmup: Annotated[int, count("Steps in which the learning rate grows from 0. Default: 0.", panel=TRAINING)] = 0
    weight_decay: Annotated[float, number("AdamW's, of matrices alone. Default: 0.01.", panel=TRAINING)] = 0.01
    seed: Annotated[int, count("The seed of weights, order and dropout. Default: 0.", panel=TRAINING)] = 0
    evaluate_every: Annotated[int, count("Steps between evaluations. Default: 250.", least=1, panel=TRAINING)] = 250
    threads: Annotated[
        int, count("Threads of torch; with 1, runs can be repeated exactly. Default: 1.", least=1, panel=TRAINING)
    ] = 1
    device: Annotated[str, choice("The device to train on. Default: cpu.", of=DEVICES, panel=TRAINING)] = "cpu"


def train(
    *,
    spec: Annotated[
        str | None,
        argument(
            "SPEC",
            specs,
            help="binary-adder (the paper's sums), a spec or source as for 'tm2tfr dataset', or a folder of data.",
        ),
    ] = None,
    output: Annotated[Path, file("The folder of the run.", "-o", metavar="DIR")],
    resume: Annotated[bool, option("Resume the run, or the grid, in that folder.")] = False,
    as_json: Annotated[bool, option("Print the record as JSON.", "--json")] = False,
    task: TaskGroup,
    model: ModelGroup,
    how: TrainingGroup,
    grid: Annotated[
        Path | None,
        file("Train every combination of the values in this YAML file, whose keys are the options above.", panel=GRID),
    ] = None,
    workers: Annotated[int | None, count("Use N processes. Default: one per core.", least=1, panel=GRID)] = None,
    scheduler: Annotated[
        str | None, option("Use this Dask cluster instead.", metavar="tcp://HOST:PORT", panel=GRID)
    ] = None,
    typed: frozenset[str] = frozenset(),
) -> None:
    """Train a transformer on the runs of a source, and evaluate it on unseen inputs.

    These weights are learned, not compiled: nothing is proved about them. The command needs PyTorch.
    """
    from tm2tfr.base.files import check_folder

    check_folder(output)
    if grid is not None:
        if beside := sorted(typed - WITH_A_GRID):
            name = "model" if beside[0] == "kind" else beside[0].replace("_", "-")
            what = f"tm2tfr train: --{name} stands beside --grid"
            raise UsageError(f"{what}: write it in the grid, as '{name.replace('-', ' ')}: …'")
        _grid(spec, output, grid, workers, scheduler, resume=resume, as_json=as_json)
        return
    for name in ("workers", "scheduler"):
        if name in typed:
            raise UsageError(f"tm2tfr train: --{name} is for grids: omit it, or use --grid FILE")
    if spec is None:
        raise UsageError("tm2tfr train: nothing is named to train on: use for example binary-adder")
    from tm2tfr.api.training import train as trained
    from tm2tfr.lab.training.record import training_report

    with training() as shown:
        run = trained(
            spec,
            output,
            model=model,
            options=how,
            resume=resume,
            progress=shown.progress,
            stop=shown.stop,
            regime=task.regime,
            label=task.label,
            program=task.program,
            bits=task.bits,
            order=task.order,
            intermediates=task.intermediates,
            examples=task.examples,
            test_examples=task.test_examples,
            data_seed=task.data_seed,
        )
    if not run.finished:
        raise Interrupted(f"interrupted after {run.steps:,} of {how.steps:,} steps: resume it with --resume")
    typer.echo(run.json() if as_json else training_report(run), nl=not as_json)
    typer.echo(f"wrote {output}", err=True)


def _grid(
    spec: str | None, output: Path, grid: Path, workers: int | None, scheduler: str | None, *, resume: bool, as_json: bool
) -> None:
    """Train all models of a grid."""
    from tm2tfr.api.training import train_grid

    with training() as shown:
        found = train_grid(
            grid, output, spec=spec, workers=workers, scheduler=scheduler, resume=resume, progress=shown.runs
        )
    typer.echo(json.dumps(found.as_dict(), ensure_ascii=False) if as_json else found.table())
    typer.echo(f"wrote {output}", err=True)


def compare(
    *,
    runs: Annotated[
        list[Path],
        argument(
            "RUN…", parser=Path, help="The folder of a run of 'tm2tfr train'; or folders of grids, or .jsonl records."
        ),
    ],
    plot: Annotated[
        Path | None,
        file("Draw both, or the best runs of grids by n, to this .png, .svg or .pdf file (extra: plot)."),
    ] = None,
    inputs: Annotated[int, count("Look at N unseen inputs. Default: 100.", least=1)] = 100,
    word: Annotated[
        str | None, option("Look at this input only, even if it was trained on.", "--input", "-i", metavar="WORD")
    ] = None,
    as_json: Annotated[bool, option("Print the numbers as JSON.", "--json")] = False,
    typed: frozenset[str] = frozenset(),
) -> None:
    """Compare where a trained model looks with where the compiled weights look.

    Given folders of grids, or several runs, it prints the best exact match for each size and regime instead.
    """
    from tm2tfr.base.files import check_file

    check_file(plot)
    if word is not None and "inputs" in typed:
        raise UsageError("tm2tfr compare: --input stands beside --inputs: omit one of the two")
    if plot is not None:
        from tm2tfr.lab.softness.report import checked

        checked(plot)
    from tm2tfr.lab.training.best import has_many

    if len(runs) > 1 or has_many(runs[0]):
        _best(runs, plot, typed, as_json=as_json)
        return
    from tm2tfr.api.training import compare as comparison

    found = comparison(runs[0], inputs=inputs, word=word)
    from tm2tfr.lab.training.comparison import comparison_report, plot_comparison  # imports torch, which was asked for

    typer.echo(found.json() if as_json else comparison_report(found), nl=not as_json)
    if plot is not None:
        plot_comparison(found, plot)
        typer.echo(f"wrote {plot}", err=True)


def _best(runs: list[Path], plot: Path | None, typed: frozenset[str], *, as_json: bool) -> None:
    """Print the best runs of grids, and draw them."""
    from tm2tfr.lab.training.best import plot_best, trained_runs

    for name, said in (("inputs", "--inputs"), ("word", "--input")):
        if name in typed:
            raise UsageError(f"tm2tfr compare: {said} is about the attention of one run: omit it, or name one run")
    found = trained_runs(*runs)
    typer.echo(found.json() if as_json else found.table(), nl=not as_json)
    if plot is not None:
        plot_best(found, plot)
        typer.echo(f"wrote {plot}", err=True)
