"""The commands ``train``, a transformer that learns what others are compiled from, and ``compare``."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import typer

from tm2tfr.cli.arguments import specs
from tm2tfr.cli.options import argument, choice, count, file, number, option
from tm2tfr.cli.progress import training
from tm2tfr.errors import Interrupted, UsageError
from tm2tfr.training.options import DEVICES, MODELS, POSITIONS, REGIMES, ModelOptions, Positions, Regime, TrainingOptions

TASK, MODEL, TRAINING, GRID = "The task", "The model", "Training", "Grids"
"""The panels of the help."""
WITH_A_GRID = {"spec", "output", "grid", "resume", "workers", "scheduler", "as_json"}
"""The parameters that a grid does not give itself."""


def _config(text: str) -> dict[str, Any]:
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
            "--regime",
            of=tuple(REGIMES),
            panel=TASK,
            help="The answer only; steps shown, not scored; steps scored. Default: strong (of machines and circuits).",
        ),
    ] = None
    label: Annotated[
        str | None,
        option("--label", metavar="NAME", panel=TASK, help="Of a program or formula: learn this s-op or node."),
    ] = None
    program: Annotated[
        str | None,
        option("--program", metavar="NAME", panel=TASK, help="Of several machines or circuits: learn this one."),
    ] = None
    bits: Annotated[
        int | None, count("--bits", least=1, panel=TASK, help="Of binary-adder: bits of each number. Default: 8.")
    ] = None
    order: Annotated[
        Any,
        option("--order", metavar="ORDER", panel=TASK, help="Of binary-adder: paper-1, or paper-2. Default: paper-2."),
    ] = None
    intermediates: Annotated[
        Any,
        choice(
            "--intermediates",
            of=("gates", "carries"),
            panel=TASK,
            help="Of binary-adder: all gates, or the carry bits alone. Default: gates.",
        ),
    ] = None
    examples: Annotated[
        int | None,
        count(
            "--examples",
            least=1,
            panel=TASK,
            help="Of binary-adder: training examples. Default: 10,000, or all there are.",
        ),
    ] = None
    test_examples: Annotated[
        int | None,
        count(
            "--test-examples",
            least=1,
            panel=TASK,
            help="Of binary-adder: unseen examples. Default: 1,000, at most a quarter.",
        ),
    ] = None
    data_seed: Annotated[
        int | None, count("--data-seed", panel=TASK, help="Of binary-adder: the seed of the pairs. Default: 0.")
    ] = None


@dataclass(frozen=True, kw_only=True)
class ModelGroup(ModelOptions):
    """The shape of a model."""

    kind: Annotated[
        str,
        choice(
            "--model",
            of=MODELS,
            panel=MODEL,
            help="Its kind; compiled: start at the compiled weights of binary-adder. Default: mingpt.",
        ),
    ] = "mingpt"
    layers: Annotated[int, count("--layers", least=1, panel=MODEL, help="Layers. Default: 1.")] = 1
    heads: Annotated[int, count("--heads", least=1, panel=MODEL, help="Heads of each layer. Default: 1.")] = 1
    width: Annotated[
        int, count("--width", least=1, panel=MODEL, help="Dimensions of the residual stream. Default: 64.")
    ] = 64
    hidden: Annotated[
        int | None, count("--hidden", least=1, panel=MODEL, help="Units of a feed-forward layer. Default: 4 · width.")
    ] = None
    positions: Annotated[
        Positions,
        choice(
            "--positions",
            of=POSITIONS,
            panel=MODEL,
            help="Position embeddings of mingpt. Default: sinusoidal.",
        ),
    ] = "sinusoidal"
    dropout: Annotated[
        float, number("--dropout", panel=MODEL, help="The share of values set to 0 in training. Default: 0.")
    ] = 0.0
    spread: Annotated[
        float | None,
        number(
            "--spread",
            panel=MODEL,
            help="Of mingpt: the weights' standard deviation at the start. Default: as torch draws them.",
        ),
    ] = None
    frozen: Annotated[bool, option("--frozen", panel=MODEL, help="Of gpt2: its body stays random.")] = False
    noise: Annotated[
        float, number("--noise", panel=MODEL, help="Of compiled: what is added to the weights. Default: 0.")
    ] = 0.0
    config: Annotated[
        Any,
        option("--config", metavar="JSON", parser=_config, panel=MODEL, help="Of gpt2: more of its configuration."),
    ] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class TrainingGroup(TrainingOptions):
    """How a model is trained."""

    steps: Annotated[int, count("--steps", panel=TRAINING, help="At most N steps. Default: 3,000.")] = 3_000
    batch: Annotated[int, count("--batch", least=1, panel=TRAINING, help="Sequences in each step. Default: 32.")] = 32
    lr: Annotated[float, number("--lr", panel=TRAINING, help="The learning rate at its highest. Default: 0.003.")] = 3e-3
    warmup: Annotated[
        int, count("--warmup", panel=TRAINING, help="Steps in which the learning rate grows from 0. Default: 0.")
    ] = 0
    weight_decay: Annotated[
        float, number("--weight-decay", panel=TRAINING, help="AdamW's, of matrices alone. Default: 0.01.")
    ] = 0.01
    seed: Annotated[int, count("--seed", panel=TRAINING, help="The seed of weights, order and dropout. Default: 0.")] = 0
    evaluate_every: Annotated[
        int, count("--evaluate-every", least=1, panel=TRAINING, help="Steps between evaluations. Default: 250.")
    ] = 250
    threads: Annotated[
        int,
        count(
            "--threads",
            least=1,
            panel=TRAINING,
            help="Threads of torch; with 1, runs can be repeated exactly. Default: 1.",
        ),
    ] = 1
    device: Annotated[str, choice("--device", of=DEVICES, panel=TRAINING, help="The device to train on. Default: cpu.")] = (
        "cpu"
    )


def train(
    *,
    spec: Annotated[
        str | None,
        argument(
            "SPEC",
            specs,
            help="binary-adder for the paper's sums, or what tm2tfr dataset takes, or the folder of a data set.",
        ),
    ] = None,
    output: Annotated[Path, file("--output", "-o", metavar="DIR", help="The folder of the run.")],
    resume: Annotated[bool, option("--resume", help="Go on with the run, or the grid, in that folder.")] = False,
    as_json: Annotated[bool, option("--json", help="Print the record as JSON.")] = False,
    task: TaskGroup,
    model: ModelGroup,
    how: TrainingGroup,
    grid: Annotated[
        Path | None,
        file("--grid", panel=GRID, help="Train all combinations of this YAML: options with lists of values."),
    ] = None,
    workers: Annotated[
        int | None, count("--workers", least=1, panel=GRID, help="Use N processes. Default: one per core.")
    ] = None,
    scheduler: Annotated[
        str | None, option("--scheduler", metavar="tcp://HOST:PORT", panel=GRID, help="Use this Dask cluster instead.")
    ] = None,
    typed: frozenset[str] = frozenset(),
) -> None:
    """Train a transformer on runs, with evaluations on unseen inputs; learned, not compiled: nothing is proved of it."""
    from tm2tfr.places import check_folder

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
    from tm2tfr.training.record import training_report

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
    spec: str | None,
    output: Path,
    grid: Path,
    workers: int | None,
    scheduler: str | None,
    *,
    resume: bool,
    as_json: bool,
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
    run: Annotated[Path, argument("RUN", parser=Path, help="The folder of a finished run of tm2tfr train.")],
    plot: Annotated[
        Path | None, file("--plot", help="Draw both side by side in this .png, .svg or .pdf file (extra: plot).")
    ] = None,
    inputs: Annotated[int, count("--inputs", least=1, help="Look at N unseen inputs. Default: 100.")] = 100,
    as_json: Annotated[bool, option("--json", help="Print the numbers as JSON.")] = False,
) -> None:
    """Compare where a trained model looks with where the compiled weights look, in numbers and as a picture."""
    from tm2tfr.places import check_file

    check_file(plot)
    if plot is not None:
        from tm2tfr.softness.plot import checked

        checked(plot)
    from tm2tfr.api.training import compare as comparison
    from tm2tfr.training.compare.report import comparison_report, plot_comparison

    found = comparison(run, inputs=inputs)
    typer.echo(found.json() if as_json else comparison_report(found), nl=not as_json)
    if plot is not None:
        plot_comparison(found, plot)
        typer.echo(f"wrote {plot}", err=True)
