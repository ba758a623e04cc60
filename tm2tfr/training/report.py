"""A training run in words."""

from __future__ import annotations

from tm2tfr.errors import counted
from tm2tfr.text.columns import aligned
from tm2tfr.training.record import ALL_STEPS, RIGHT, TrainingRun

_SHOWN = ("kind", "layers", "heads", "width", "positions")
_WHY = {RIGHT: "every answer is right, and the loss is small", ALL_STEPS: "all steps are done"}
_ROWS = 12
"""At most this many evaluations are listed."""


def training_report(run: TrainingRun) -> str:
    """Return the evaluations of a run and its result, as lines."""
    data = run.data
    lines = [
        f"{data['name']}: {data['train']:,} training examples, {data['test']:,} unseen ones",
        f"{_model(run)}{counted(run.parameters, 'parameter')}, {run.trained:,} trained",
        "",
        *_table(run),
    ]
    if run.exact_match is not None:
        right = round(run.exact_match * data["test"])
        every = "" if run.every_token in (None, run.exact_match) else f"; every scored token {run.every_token:.4f}"
        taken = f"{counted(run.steps, 'step')}, {run.cpu_seconds:.1f} seconds of the processor"
        lines += ["", f"Exact match {run.exact_match:.4f} ({right:,} of {data['test']:,} unseen inputs){every}."]
        if run.base_rate is not None:
            same = round(run.base_rate * data["test"])
            lines += [f"The most frequent answer alone would be right for {same:,} of them: {run.base_rate:.4f}."]
        lines += [f"Ended after {taken}: {_WHY.get(run.ended, run.ended)}."]
    return "\n".join(lines)


def _model(run: TrainingRun) -> str:
    told = run.model
    if not all(name in told for name in _SHOWN):
        return f"{told.get('kind', 'model')}: "
    shape = f"{counted(told['layers'], 'layer')}, {counted(told['heads'], 'head')}, width {told['width']}"
    positions = "" if told["kind"] == "gpt2" else f", {told['positions']} positions"
    return f"{told['kind']}, {shape}{positions}: "


def _table(run: TrainingRun) -> list[str]:
    """Return the loss and the shares of exact answers by step."""
    losses = dict(run.losses)
    every = -(-len(run.evaluations) // _ROWS)
    shown = (
        [each for n, each in enumerate(run.evaluations, 1) if n % every == 0 or n == len(run.evaluations)] if every else []
    )
    rows = [["steps", "loss", "exact match", "every scored token"]]
    for step, answer, scored in shown:
        near = [losses[at] for at in losses if at <= step]
        rows.append([f"{step:,}", f"{near[-1]:.4f}" if near else "-", f"{answer:.4f}", f"{scored:.4f}"])
    return aligned(rows, {0, 1, 2, 3}) if shown else []
