"""The command ``train``: a transformer that learns what others are compiled from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from tm2tfr.cli import options
from tm2tfr.cli.arguments import FILE, NUMBER, SPEC
from tm2tfr.cli.pages import command
from tm2tfr.cli.progress import training
from tm2tfr.errors import Interrupted, UsageError

TASK, MODEL, TRAINING, GRID = "The task", "The model", "Training", "Grids"
"""The panels of the help."""
WITH_A_GRID = ("spec", "output", "grid", "resume", "workers", "scheduler", "as_json")
"""The parameters that a grid does not give itself."""


@command(summary="Train a transformer on runs", example="tm2tfr train binary-adder --bits 8 -o run")
@options.argument(
    "spec",
    type=SPEC,
    required=False,
    help="binary-adder for the paper's sums, or what tm2tfr dataset takes, or the folder of a data set.",
)
@options.file("--output", "-o", metavar="DIR", required=True, help="The folder of the run.")
@options.flag("--resume", help="Go on with the run, or the grid, in that folder.")
@options.flag("--json", "as_json", help="Print the record as JSON.")
@options.choice(
    "--regime",
    of=("weak", "medium", "strong"),
    panel=TASK,
    help="The answer only; steps shown, not scored; steps scored. Default: strong (of machines and circuits).",
)
@options.option("--label", metavar="NAME", panel=TASK, help="Of a program or formula: learn this s-op or node.")
@options.option("--program", metavar="NAME", panel=TASK, help="Of several machines or circuits: learn this one.")
@options.count("--bits", least=1, panel=TASK, help="Of binary-adder: bits of each number. Default: 8.")
@options.option("--order", metavar="ORDER", panel=TASK, help="Of binary-adder: paper-1, or paper-2. Default: paper-2.")
@options.choice(
    "--intermediates",
    of=("gates", "carries"),
    panel=TASK,
    help="Of binary-adder: all gates, or the carry bits alone. Default: gates.",
)
@options.count(
    "--examples", least=1, panel=TASK, help="Of binary-adder: training examples. Default: 10,000, or all there are."
)
@options.count(
    "--test-examples", least=1, panel=TASK, help="Of binary-adder: unseen examples. Default: 1,000, at most a quarter."
)
@options.count("--data-seed", panel=TASK, help="Of binary-adder: the seed of the pairs. Default: 0.")
@options.choice(
    "--model",
    of=("mingpt", "gpt2", "compiled"),
    default="mingpt",
    panel=MODEL,
    help="Its kind; compiled: start at the compiled weights of binary-adder. Default: mingpt.",
)
@options.count("--layers", least=1, default=1, panel=MODEL, help="Layers. Default: 1.")
@options.count("--heads", least=1, default=1, panel=MODEL, help="Heads of each layer. Default: 1.")
@options.count("--width", least=1, default=64, panel=MODEL, help="Dimensions of the residual stream. Default: 64.")
@options.count("--hidden", least=1, panel=MODEL, help="Units of a feed-forward layer. Default: 4 · width.")
@options.choice(
    "--positions",
    of=("sinusoidal", "one-hot", "learned"),
    default="sinusoidal",
    panel=MODEL,
    help="Position embeddings of mingpt. Default: sinusoidal.",
)
@options.option(
    "--dropout",
    type=NUMBER,
    metavar="X",
    default=0.0,
    panel=MODEL,
    help="The share of values set to 0 in training. Default: 0.",
)
@options.option(
    "--spread",
    type=NUMBER,
    metavar="X",
    panel=MODEL,
    help="Of mingpt: the weights' standard deviation at the start. Default: as torch draws them.",
)
@options.flag("--frozen", panel=MODEL, help="Of gpt2: its body stays random.")
@options.option(
    "--noise",
    type=NUMBER,
    metavar="X",
    default=0.0,
    panel=MODEL,
    help="Of compiled: what is added to the weights. Default: 0.",
)
@options.option("--config", metavar="JSON", panel=MODEL, help="Of gpt2: more of its configuration.")
@options.count("--steps", default=3_000, panel=TRAINING, help="At most N steps. Default: 3,000.")
@options.count("--batch", least=1, default=32, panel=TRAINING, help="Sequences in each step. Default: 32.")
@options.option(
    "--lr", type=NUMBER, metavar="X", default=3e-3, panel=TRAINING, help="The learning rate at its highest. Default: 0.003."
)
@options.count("--warmup", default=0, panel=TRAINING, help="Steps in which the learning rate grows from 0. Default: 0.")
@options.option(
    "--weight-decay",
    type=NUMBER,
    metavar="X",
    default=0.01,
    panel=TRAINING,
    help="AdamW's, of matrices alone. Default: 0.01.",
)
@options.count("--seed", default=0, panel=TRAINING, help="The seed of weights, order and dropout. Default: 0.")
@options.count("--evaluate-every", least=1, default=250, panel=TRAINING, help="Steps between evaluations. Default: 250.")
@options.count(
    "--threads",
    least=1,
    default=1,
    panel=TRAINING,
    help="Threads of torch; with 1, runs can be repeated exactly. Default: 1.",
)
@options.choice("--device", of=("cpu", "cuda"), default="cpu", panel=TRAINING, help="The device to train on. Default: cpu.")
@options.file("--grid", panel=GRID, help="Train all combinations of this YAML: options with lists of values.")
@options.count("--workers", least=1, panel=GRID, help="Use N processes. Default: one per core.")
@options.option("--scheduler", metavar="tcp://HOST:PORT", panel=GRID, help="Use this Dask cluster instead.")
@click.pass_context
def train(context: click.Context, /, spec: str | None, output: Path, **given: Any) -> None:
    """Train a transformer on runs, with evaluations on unseen inputs; learned, not compiled: nothing is proved of it."""
    from tm2tfr.places import check_folder

    check_folder(output)
    if given["grid"] is not None:
        _grid(context, spec, output, given)
        return
    for name in ("workers", "scheduler"):
        if given[name] is not None:
            raise UsageError(f"tm2tfr train: --{name} is for grids: omit it, or use --grid FILE")
    if spec is None:
        raise UsageError("tm2tfr train: nothing is named to train on: use for example binary-adder")
    _one(spec, output, given)


def _one(spec: str, output: Path, given: dict[str, Any]) -> None:
    """Train one model."""
    from tm2tfr.api.training import train as trained
    from tm2tfr.training.options import ModelOptions, TrainingOptions
    from tm2tfr.training.record import training_report

    model = ModelOptions(
        kind=given["model"],
        layers=given["layers"],
        heads=given["heads"],
        width=given["width"],
        hidden=given["hidden"],
        positions=given["positions"],
        dropout=given["dropout"],
        config=_config(given["config"]),
        spread=given["spread"],
        frozen=given["frozen"],
        noise=given["noise"],
    )
    how = TrainingOptions(
        steps=given["steps"],
        batch=given["batch"],
        lr=given["lr"],
        warmup=given["warmup"],
        weight_decay=given["weight_decay"],
        seed=given["seed"],
        evaluate_every=given["evaluate_every"],
        threads=given["threads"],
        device=given["device"],
    )
    with training() as shown:
        run = trained(
            spec,
            output,
            model=model,
            options=how,
            resume=given["resume"],
            progress=shown.progress,
            stop=shown.stop,
            regime=given["regime"],
            label=given["label"],
            program=given["program"],
            bits=given["bits"],
            order=given["order"],
            intermediates=given["intermediates"],
            examples=given["examples"],
            test_examples=given["test_examples"],
            data_seed=given["data_seed"],
        )
    if not run.finished:
        raise Interrupted(f"interrupted after {run.steps:,} of {how.steps:,} steps: resume it with --resume")
    click.echo(run.json() if given["as_json"] else training_report(run), nl=not given["as_json"])
    click.echo(f"wrote {output}", err=True)


def _config(text: str | None) -> dict[str, Any]:
    """Return the configuration of a GPT-2.

    Raises:
        UsageError: if it is not a JSON object.
    """
    try:
        found = json.loads(text or "{}")
    except ValueError:
        found = None
    if not isinstance(found, dict):
        what = f"tm2tfr train: --config {text!r} is not a JSON object"
        raise UsageError(f"""{what}: write for example '{{"activation_function": "relu"}}'""")
    return found


def _grid(context: click.Context, spec: str | None, output: Path, given: dict[str, Any]) -> None:
    """Train all models of a grid."""
    for param in context.command.params:
        name = str(param.name)
        if name not in WITH_A_GRID and context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            what = f"tm2tfr train: {param.opts[0]} stands beside --grid"
            raise UsageError(f"{what}: write it in the grid, as '{name.replace('_', ' ')}: …'")
    from tm2tfr.api.training import train_grid

    with training() as shown:
        found = train_grid(
            given["grid"],
            output,
            spec=spec,
            workers=given["workers"],
            scheduler=given["scheduler"],
            resume=given["resume"],
            progress=shown.runs,
        )
    click.echo(json.dumps(found.as_dict(), ensure_ascii=False) if given["as_json"] else found.table())
    click.echo(f"wrote {output}", err=True)


# ── The command ``compare``: learned attention beside compiled.
@command(summary="Compare learned attention with compiled", example="tm2tfr compare run --plot figure-2.svg")
@options.argument("run", type=FILE, help="The folder of a finished run of tm2tfr train.")
@options.file("--plot", help="Draw both side by side in this .png, .svg or .pdf file (extra: plot).")
@options.count("--inputs", least=1, default=100, help="Look at N unseen inputs. Default: 100.")
@options.flag("--json", "as_json", help="Print the numbers as JSON.")
def compare(run: Path, plot: Path | None, inputs: int, as_json: bool) -> None:
    """Compare where a trained model looks with where the compiled weights look, in numbers and as a picture."""
    from tm2tfr.places import check_file

    check_file(plot)
    if plot is not None:
        from tm2tfr.softness.plot import checked

        checked(plot)
    from tm2tfr.api.training import compare as comparison
    from tm2tfr.training.compare.report import comparison_report, plot_comparison

    found = comparison(run, inputs=inputs)
    click.echo(found.json() if as_json else comparison_report(found), nl=not as_json)
    if plot is not None:
        plot_comparison(found, plot)
        click.echo(f"wrote {plot}", err=True)
