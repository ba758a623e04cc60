"""The README of labels, for people, with the header by which `datasets.load_dataset` finds the files."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tm2tfr._version import __version__
from tm2tfr.base.errors import counted
from tm2tfr.base.text.shown import code, escaped
from tm2tfr.contract.labelling import Scheme
from tm2tfr.lab.datasets.tally import Tally
from tm2tfr.lab.labels.hooks import Hooks, InSubspaces, columns_in_weights
from tm2tfr.lab.labels.shard import LABELS, RUNS
from tm2tfr.transformer.residual import Residual

_NODE = re.compile(r"(?<![\w.])([sc][0-9]+)(?!\w)")

_FIRST = {
    "run": "the number of the run; `runs` has its input and what came out",
    "position": "the position in the run, from 0, and so in each exported model",
    "token": "the token fed at it",
    "token_id": "its number: its place in `vocabulary.json`, and so in each exported model",
}


def card(name: str, noun: str, scheme: Scheme, tally: Tally, hooks: Hooks, longest: int) -> str:
    """Return the text; longest: the most positions of a run."""
    columns, places, layout = dict[str, str](), columns_in_weights(scheme), hooks.decoder.layout
    if scheme.answers is not None:
        columns |= {"answer": "what is answered at it", "answer_id": "its number, among the logits of that output"}
    columns |= {variable.name: variable.meaning for variable in scheme.variables}
    columns |= {
        head.column: f"where layer {head.layer + 1}, head {head.head + 1} looks ({head.name}): {head.as_dict()['attends']}"
        for head in scheme.heads
        if head.seen != "all"
    }
    everywhere = [head for head in scheme.heads if head.seen == "all"]
    said = "".join(f"{head.column} ({head.name}) attends to {head.as_dict()['attends']}. " for head in everywhere)
    long = hooks.too_long(longest)
    targets = ", ".join(hooks.streams) or "none"
    rows = [
        (column, what, *_held(layout, scheme, column, places.get(column))) for column, what in (_FIRST | columns).items()
    ]
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
        "| column | contents | subspace | variable |",
        "|---|---|---|---|",
        *(
            f"| {_cell(column)} | {what if column in _FIRST else escaped(what)} | {subspaces} | {variables} |"
            for column, what, subspaces, variables in rows
        ),
        "",
        "Subspaces are those of the residual stream that hold the column as it is or, where that is said, something made "
        "from it; a variable is what `tm2tfr intervene --variables` and `tm2tfr.causal_variables` call what a subspace "
        "holds. `tm2tfr intervene` takes the names of subspaces and variables, and of columns that a subspace holds as "
        "they are. Layers and heads count from 1; `L2H0` is head 1 of layer 3 in the notation of TransformerLens, which "
        "counts from 0, and so does `hooks.json`.",
        "",
        *_nodes(scheme, [text for row in rows for text in row]),
        *((said.strip(), "") if said else ()),
        f'`datasets.load_dataset(folder, "{LABELS}")` reads the rows, and `"{RUNS}"` the inputs.',
        "",
    ]
    return "\n".join(lines)


def _held(layout: Residual, scheme: Scheme, column: str, places: InSubspaces | None) -> tuple[str, str]:
    """Return the subspaces of a column, and the variables that these hold."""
    whole = isinstance(places, tuple)
    made = [name for name, held in scheme.held.items() if held is not None and held.column == column]
    names = list(places) if isinstance(places, tuple) else made
    start = "" if whole or not names else "from it: "
    return tuple(start + ", ".join(map(_cell, each)) for each in (names, [layout.subspace(name).holds for name in names]))  # type: ignore[return-value]


def _nodes(scheme: Scheme, texts: Iterable[str]) -> list[str]:
    """Return a table of the nodes that texts have by number, and of those that these are made of."""
    met, new = dict[str, str](), list(texts)
    while new:
        found = [name for text in new for name in _NODE.findall(text) if name in scheme.nodes and name not in met]
        met |= {name: scheme.nodes[name] for name in found}
        new = [scheme.nodes[name] for name in dict.fromkeys(found)]
    ordered = sorted(met, key=lambda name: (int(name[1:]), name))
    head = ["| node | what it is |", "|---|---|"] if met else []
    return [*head, *(f"| {_cell(name)} | {_cell(met[name])} |" for name in ordered), *([""] if met else [])]


def _cell(text: str) -> str:
    """Return text as code in a table, where a bar would begin the next cell."""
    return code(text).replace("|", "\\|")
