"""The result of a data set or a sweep as text."""

from __future__ import annotations

from tm2tfr.dataset.kinds import listed_in
from tm2tfr.dataset.make import Dataset
from tm2tfr.dataset.runs import Failure
from tm2tfr.dataset.sweep import Sweep
from tm2tfr.dataset.tally import Tally
from tm2tfr.errors import counted, visible


def summed(tally: Tally, noun: str = "machine", labels_by: str = "") -> str:
    """Return ``12 runs (10 accept, 2 halt), 345 rows, 2,415 cells compared``, of circuits ``8 runs, 16 bits compared``."""
    if noun == "circuit":
        return f"{counted(tally.runs, 'run')}, {counted(tally.cells, 'bit')} compared"
    if labels_by:
        return f"{counted(tally.runs, 'input')}, {counted(tally.cells, 'label')} by the {labels_by}"
    ends = ", ".join(f"{number:,} {outcome}" for outcome, number in sorted(tally.outcomes.items()))
    return f"{counted(tally.runs, 'run')}{ends and f' ({ends})'}, {tally.rows:,} rows, {tally.cells:,} cells compared"


def dataset_report(found: Dataset) -> str:
    """Return a few lines about a data set."""
    if found.failure is not None:
        head = f"{found.name}: FAILED after {summed(found.tally, found.noun)}"
        return f"{head}\n{failed(found.failure)}\nthe data set is not finished: {found.folder} contains nothing of this run"
    labels = found.labels_by
    within = f" in the prompt of {found.universal}" if found.universal else ""
    lines = [f"{found.name}{within}: {summed(found.tally, found.noun, labels)}{'' if labels else ', all agree'}"]
    for split, forms in found.examples.items():
        shown = ", ".join(f"{number:,} {form}" if len(forms) > 1 else form for form, number in forms.items())
        lines.append(f"{split}: {counted(sum(forms.values()), 'example')} ({shown})" if forms else f"{split}: no examples")
    if found.left_out:
        undefined = f"{counted(found.left_out, 'input')} on which the program is undefined"
        unended = f"{counted(found.left_out, 'run')} that did not end within the limit"
        lines.append(f"left out: {undefined if labels else unended}")
    if found.reused:
        lines.append(f"reused: {found.reused:,} of {counted(found.shards, 'shard')}")
    listed = f"{listed_in(found.noun)}, {'vocabulary.json, ' if found.one_vocabulary else ''}README.md"
    lines.append(f"wrote {found.folder}: {counted(found.shards, 'shard')}, manifest.json, {listed}")
    return "\n".join(lines)


def sweep_report(found: Sweep) -> str:
    """Return a line about a sweep, and one about its busy beavers, or the counterexample and how to reproduce it."""
    if found.failure is None:
        line = f"{found.name}: {counted(found.tally.machines, found.noun)}, {summed(found.tally, found.noun)}, all agree"
        return f"{line}\n{beavers}" if (beavers := found.families and _beavers(found.tally)) else line
    head = f"{found.name}: FAILED after {summed(found.tally, found.noun)}, all of which agree"
    return f"{head}\n{failed(found.failure)}\nreproduce: {found.again}"


def _beavers(tally: Tally) -> str:
    """Return the records of the runs from the blank tape; empty if none of them halts."""
    if tally.steps is None or tally.ones is None:
        return ""
    (steps, longest), (ones, fullest) = tally.steps, tally.ones
    most = f"{counted(steps, 'step')} ({visible(longest)}), {counted(ones, 'non-blank symbol')} ({visible(fullest)})"
    return f"the most among those that halt from the blank tape: {most}"


def failed(failure: Failure) -> str:
    """Return two lines or more: what differs, on which input, and how."""
    why = failure.why.replace("\n", "\n  ")
    return f"counterexample: {visible(failure.program.name)} on {failure.word!r}\n  {why}"
