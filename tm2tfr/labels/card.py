"""The README of labels, for people, with the header by which `datasets.load_dataset` finds the files."""

from __future__ import annotations

from tm2tfr._version import __version__
from tm2tfr.dataset.tally import Tally
from tm2tfr.errors import counted
from tm2tfr.labels.hooks import Hooks
from tm2tfr.labels.names import InSubspaces, columns_in_weights
from tm2tfr.labels.shard import LABELS, RUNS
from tm2tfr.labels.variables import Scheme
from tm2tfr.text.markdown import code, escaped

_FIRST = {
    "run": "the number of the run; `runs` has its input and what came out",
    "position": "the position in the run, from 0, and so in each exported model",
    "token": "the token fed at it",
    "token_id": "its number: its place in `vocabulary.json`, and so in each exported model",
}


def card(name: str, noun: str, scheme: Scheme, tally: Tally, hooks: Hooks, longest: int) -> str:
    """Return the text; longest: the most positions of a run."""
    columns, places = dict[str, str](), columns_in_weights(scheme)
    if scheme.answers is not None:
        columns |= {"answer": "what is answered at it", "answer_id": "its number, among the logits of that output"}
    columns |= {variable.name: variable.meaning for variable in scheme.variables}
    columns |= {
        head.column: f"where head {head.head} of layer {head.layer} looks ({head.name}): {head.as_dict()['attends']}"
        for head in scheme.heads
        if head.seen != "all"
    }
    everywhere = [head for head in scheme.heads if head.seen == "all"]
    said = "".join(f"{head.column} ({head.name}) attends to {head.as_dict()['attends']}. " for head in everywhere)
    long = hooks.too_long(longest)
    targets = ", ".join(hooks.streams) or "none"
    lines = [
        "---",
        "configs:",
        f"- config_name: {LABELS}",
        "  default: true",
        f'  data_files: "{LABELS}/*.parquet"',
        f"- config_name: {RUNS}",
        f'  data_files: "{RUNS}/*.parquet"',
        "---",
        "",
        f"# Labels of {escaped(name)}",
        "",
        f"Runs of a {noun} as a transformer computes them, made by tm2tfr {__version__}: {counted(tally.runs, 'run')}, "
        f"{tally.rows:,} positions, each compared with the reference. One row is one position: row p of a run is position "
        f"p of every exported model, which is fed the run's tokens and nothing else. `hooks.json` says which variable each "
        f"hook point carries, along which directions, in the exports to: {targets}.",
        "",
        *((f"Attention: {long}.", "") if long else ()),
        *(each for name, why in hooks.left_out.items() for each in (f"Left out: {code(name)}: {escaped(why)}.", "")),
        "| column | contents | subspace |",
        "|---|---|---|",
        *(f"| {code(column)} | {what} | {_held(places.get(column))} |" for column, what in _FIRST.items()),
        *(f"| {code(column)} | {escaped(what)} | {_held(places.get(column))} |" for column, what in columns.items()),
        "",
        "Subspaces are those of the residual stream that hold the column as it is; `tm2tfr intervene` takes both names. "
        "Layers and heads count from 0, as in TransformerLens.",
        "",
        *((said.strip(), "") if said else ()),
        f'`datasets.load_dataset(folder, "{LABELS}")` reads the rows, and `"{RUNS}"` the inputs.',
        "",
    ]
    return "\n".join(lines)


def _held(places: InSubspaces | None) -> str:
    return ", ".join(map(code, places)) if isinstance(places, tuple) else ""
