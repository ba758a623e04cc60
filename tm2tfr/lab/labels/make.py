"""Making labels: the folder, what hook points carry, the missing shards, the manifest."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tm2tfr._version import __version__
from tm2tfr.base.errors import InputError, a_or_an, counted, visible
from tm2tfr.base.text.shown import code, escaped, json_text, markdown_table
from tm2tfr.contract.labelling import Scheme
from tm2tfr.contract.source import Source
from tm2tfr.contract.specification import Specification
from tm2tfr.lab.datasets.balance import judged
from tm2tfr.lab.datasets.make import FORMAT, failed_shard, totals
from tm2tfr.lab.datasets.shard import Failure, Tally
from tm2tfr.lab.labels.files import (
    LABELS,
    RUNS,
    TEST,
    TRAIN,
    Labelling,
    labelled_shard,
    longest_run,
    test_inputs,
)
from tm2tfr.lab.labels.hooks import Hooks, InSubspaces, broken_promises, columns_in_weights, hooks_of
from tm2tfr.lab.labels.inputs import LabelInputs, chosen
from tm2tfr.lab.labels.patches import HOOKS, SCHEMA, schema, variables_of
from tm2tfr.lab.labels.runs import LabelledRuns
from tm2tfr.lab.line.folder import CARD, VOCABULARY, ShardProgress, folder_named, production
from tm2tfr.lab.line.manifest import MANIFEST, arrow_or_error, readme, sha256
from tm2tfr.lab.line.pool import cut, versions
from tm2tfr.runs.choose import truth_of
from tm2tfr.transformer import provenance
from tm2tfr.transformer.residual import Residual
from tm2tfr.transformer.weights import Decoder, digest

SHARD = 10_000
"""The number of runs in a shard."""


@dataclass(frozen=True)
class MadeLabels:
    """Labels that were made, or the failure that prevented it.

    Args:
        folder, name, noun: where they are, of what, and what that is called.
        tally: all runs; after a failure, those before it.
        left_out: the number of inputs on which the program is undefined.
        shards, reused: the number of shards, and how many of them existed already.
        hooks: what the streams of exports carry.
        longest: the most positions of a run.
        failure: the first run that differs from the reference's.
        ways: how inputs were asked for, in words, see `LabelInputs.ways`.
        outcomes: outcome -> the number of inputs, where random inputs are balanced by outcome.
        train, test: the numbers of inputs of the splits; none of `test`: there are no splits.
    """

    folder: Path
    name: str
    noun: str
    tally: Tally
    left_out: int
    shards: int
    reused: int
    hooks: Hooks
    longest: int = 0
    failure: Failure | None = None
    ways: tuple[str, ...] = ()
    train: int = 0
    test: int = 0
    outcomes: Mapping[str, int] = field(default_factory=dict)

    @property
    def broken(self) -> bool:
        """Whether something is left out of hooks.json that weights say to hold, since they say that they were compiled."""
        return bool(self.hooks.left_out) and provenance.source(self.hooks.decoder.provenance) is not None


def make(
    decoder: Decoder,
    program: Any,
    construction: Source[Any],
    folder: str | Path,
    asked: LabelInputs,
    *,
    engine: str,
    max_steps: int,
    positions: int | None = None,
    dtype: str = "float64",
    shard_size: int = SHARD,
    test: float | None = None,
    workers: int | None = None,
    scheduler: str | None = None,
    resume: bool = False,
    progress: ShardProgress | None = None,
) -> MadeLabels:
    """Make labels; see `tm2tfr.make_labels`.

    Raises:
        DatasetError, OutputError, EngineError, CompileError, InputError: as documented there.
    """
    folder, noun = folder_named(folder), construction.noun_of(program)
    arrow_or_error(otherwise="")
    labelled = LabelledRuns(decoder, program, engine, max_steps)
    words, how = chosen(judged(program, max_steps), noun, construction.inputs(program), decoder.positions, asked)
    if not words:
        raise InputError(f"{visible(program.name)}: there are no inputs: ask for some")
    if not labelled.defined(words):
        what = f"{visible(program.name)}: the {noun} is undefined on all of these inputs, so there is nothing to label"
        raise InputError(f"{what}: use other inputs")
    said = None if decoder.labeller else _specification(program, decoder, words[0])
    variables = variables_of(construction, program, decoder)
    hooks = hooks_of(decoder, program, labelled.scheme, said, positions=positions, dtype=dtype, variables=variables)
    left_out = broken_promises(labelled, words, hooks.since)
    labelled = replace(labelled, left_out=frozenset(left_out))
    hooks = replace(hooks, scheme=labelled.scheme, left_out=left_out)
    jobs = list(cut(words, shard_size))
    held_back = None if test is None else test_inputs(program.name, words, test, asked.seed)
    held = 0 if held_back is None else len(held_back)
    carried = {**hooks.as_dict(), "variables": [variable.as_dict() for variable in labelled.scheme.variables]}
    with production(
        folder,
        "labels",
        _head(decoder, noun, program, words, labelled, shard_size, len(jobs)) | ({} if test is None else {"test": test}),
        jobs,
        resume=resume,
        workers=workers,
        scheduler=scheduler,
        folders=(LABELS, RUNS),
        texts={
            HOOKS: json_text(carried),
            SCHEMA: schema(),
            VOCABULARY: json_text(decoder.vocabulary, indent=0),
        },
    ) as line:
        made = MadeLabels(folder, program.name, noun, Tally(), 0, len(jobs), line.reused, hooks, ways=asked.ways)
        how_made = Labelling(labelled, shard_size, len(jobs), held_back)
        failed = failed_shard(line.made(labelled_shard, how_made, progress))
        tally, undefined = totals(line.records, failed)
        if failed is not None:
            return replace(made, tally=tally, left_out=undefined, failure=failed.failure)
        longest = longest_run(sorted((folder / RUNS).iterdir()))
        counts = {**tally.as_dict(), "left_out": undefined}
        own = {"name": program.name, "inputs": how, "seed": asked.seed, "max_steps": max_steps, "counts": counts}
        own |= {"splits": {TRAIN: len(words) - held, TEST: held}} if held else {}
        text = card(program.name, noun, labelled.scheme, tally, hooks, longest, split=test is not None)
        line.close({CARD: text}, entries={**own, "made": line.listed()})
    made = replace(made, tally=tally, left_out=undefined, longest=longest, test=held, train=len(words) - held)
    return replace(made, outcomes=how.get("outcomes", {}))


def _specification(program: Any, decoder: Decoder, word: str) -> Specification:
    truth = truth_of(program, word, decoder, None if decoder.positions is not None else 0)
    if truth is None:  # never: a program is given
        raise TypeError(f"{program} has no reference")
    return truth.specification(0)


def _head(
    decoder: Decoder, noun: str, program: Any, words: Sequence[str], runs: LabelledRuns, size: int, shards: int
) -> dict[str, object]:
    """Return the facts that must be equal for a folder to be resumed."""
    facts = hashlib.sha256(json.dumps([list(words), runs.max_steps, size]).encode("utf-8", "surrogatepass")).hexdigest()
    source = provenance.source(decoder.provenance) or program.name
    return {
        "format": FORMAT,
        "versions": versions(),
        "engine": runs.engine,
        "inputs_sha256": facts,
        "weights_sha256": digest(decoder),
        f"{'program' if decoder.labeller else noun}s_sha256": sha256(source.encode()),
        "shards": shards,
    }


# ── The README of labels, for people, with the header by which `datasets.load_dataset` finds the files.
_NODE = re.compile(r"(?<![\w.])([sc][0-9]+)(?!\w)")

_FIRST = {
    "run": "the number of the run; `runs` has its input and what came out",
    "position": "the position in the run, from 0, and so in each exported model",
    "token": "the token fed at it; that of the next row is the next token",
    "token_id": "its number: its place in `vocabulary.json`, and so in each exported model",
}


def card(name: str, noun: str, scheme: Scheme, tally: Tally, hooks: Hooks, longest: int, *, split: bool = False) -> str:
    """Return the text; longest: the most positions of a run; split: whether there are a train and a test split."""
    columns, places, layout = dict[str, str](), columns_in_weights(scheme), hooks.decoder.layout
    if scheme.answers is not None:
        columns |= {
            "answer": "what the model answers at this position, in the prompt too",
            "answer_id": "its number, among the logits of that output",
        }
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
    configs = [
        f"- config_name: {LABELS}",
        "  default: true",
        *_data_files(LABELS, split=split),
        f"- config_name: {RUNS}",
        *_data_files(RUNS, split=split),
    ]
    contents = (
        (_cell(column), what if column in _FIRST else escaped(what), subspaces, variables)
        for column, what, subspaces, variables in rows
    )
    return readme(
        configs,
        f"# Labels of {escaped(name)}",
        f"Runs of {a_or_an(noun)} as a transformer computes them, made by tm2tfr {__version__}: "
        f"{counted(tally.runs, 'run')}, "
        f"{tally.rows:,} positions, each compared with the reference. One row is one position: row p of a run is position "
        f"p of every exported model, which is fed the run's tokens and nothing else. `hooks.json` says which variable each "
        f"hook point carries, along which directions, in the exports to: {targets}.",
        f"Attention: {long}." if long else "",
        f"The splits `{TRAIN}` and `{TEST}` have no input in common." if split else "",
        *(f"Left out: {code(name)}: {escaped(why)}." for name, why in hooks.left_out.items()),
        markdown_table(("column", "contents", "subspace", "variable"), contents),
        "Subspaces are those of the residual stream that hold the column as it is or, where that is said, something made "
        "from it; a variable is what `tm2tfr intervene --variables` and `tm2tfr.causal_variables` call what a subspace "
        "holds. `tm2tfr intervene` takes the names of subspaces and variables, and of columns that a subspace holds as "
        "they are. Layers and heads count from 1; `L2H0` is head 1 of layer 3 in the notation of TransformerLens, which "
        "counts from 0, and so does `hooks.json`.",
        *_nodes(scheme, [text for row in rows for text in row]),
        said.strip(),
        f'`datasets.load_dataset(folder, "{LABELS}")` reads the rows, and `"{RUNS}"` the inputs.',
    )


def _data_files(folder: str, *, split: bool) -> list[str]:
    """Return the lines of the header that say which files of a folder belong to which split."""
    if not split:
        return [f'  data_files: "{folder}/*.parquet"']
    each = ([f"  - split: {name}", f'    path: "{folder}/{name}-*.parquet"'] for name in (TRAIN, TEST))
    return ["  data_files:", *(line for lines in each for line in lines)]


def _held(layout: Residual, scheme: Scheme, column: str, places: InSubspaces | None) -> tuple[str, str]:
    """Return the subspaces of a column, and the variables that these hold."""
    whole = isinstance(places, tuple)
    made = [name for name, held in scheme.held.items() if held is not None and held.column == column]
    names = list(places) if isinstance(places, tuple) else made
    start = "" if whole or not names else "from it: "
    variables = names if scheme.by_name else [layout.subspace(name).holds for name in names]
    return tuple(start + ", ".join(map(_cell, each)) for each in (names, variables))  # type: ignore[return-value]


def _nodes(scheme: Scheme, texts: Iterable[str]) -> list[str]:
    """Return a table of the nodes that texts mention by number, and of their operands."""
    met, new = dict[str, str](), list(texts)
    while new:
        found = [name for text in new for name in _NODE.findall(text) if name in scheme.nodes and name not in met]
        met |= {name: scheme.nodes[name] for name in found}
        new = [scheme.nodes[name] for name in dict.fromkeys(found)]
    ordered = sorted(met, key=lambda name: (int(name[1:]), name))
    return [markdown_table(("node", "what it is"), ((_cell(name), _cell(met[name])) for name in ordered))] if met else []


def _cell(text: str) -> str:
    """Return text as code in a table, where a bar would begin the next cell."""
    return code(text).replace("|", "\\|")


# ── The result of labelling as text.
def labels_report(found: MadeLabels) -> str:
    """Return a few lines about labels."""
    runs = found.tally.summed()
    if found.failure is not None:
        unfinished = f"the labels are not finished: {found.folder} contains nothing of this run"
        return f"{found.name}: FAILED after {runs}\n{found.failure}\n{unfinished}"
    scheme = found.hooks.scheme
    variables, heads = counted(len(scheme.variables), "variable"), counted(len(scheme.heads), "head")
    lines = [f"{found.name}: {runs}, all agree", f"labels: {variables}, {heads}"]
    if len(found.ways) > 1:
        lines.append(f"inputs: {', '.join(found.ways)}; each input is labelled once")
    lines += [f"hooks: {', '.join(found.hooks.streams)}" if found.hooks.streams else "hooks: none"]
    lines += [f"no hooks for {target}, which tm2tfr export refuses: {why}" for target, why in found.hooks.refused.items()]
    lines += [f"left out: {name}: {why}" for name, why in found.hooks.left_out.items()]
    if found.broken:
        lines.append("these weights say that they were compiled, and what is left out is not what the compiler writes")
    if long := found.hooks.too_long(found.longest):
        lines.append(f"too long: {long}")
    if found.outcomes:
        lines.append("inputs: " + ", ".join(f"{number:,} {visible(name)}" for name, number in found.outcomes.items()))
    if found.test:
        lines.append(f"splits: {found.train:,} inputs to train on, {found.test:,} to test on")
    if found.left_out:
        lines.append(f"left out: {counted(found.left_out, 'input')} on which the {found.noun} is undefined")
    if found.reused:
        lines.append(f"reused: {found.reused:,} of {counted(found.shards, 'shard')}")
    listed = f"{MANIFEST}, {HOOKS}, {SCHEMA}, {VOCABULARY}, {CARD}"
    return "\n".join([*lines, f"wrote {found.folder}: {counted(found.shards, 'shard')}, {listed}"])
