"""The result of labelling as text."""

from __future__ import annotations

from tm2tfr.base.errors import counted
from tm2tfr.lab.datasets.folder import CARD, VOCABULARY
from tm2tfr.lab.datasets.manifest import MANIFEST
from tm2tfr.lab.labels.make import HOOKS, MadeLabels


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
    if found.left_out:
        lines.append(f"left out: {counted(found.left_out, 'input')} on which the {found.noun} is undefined")
    if found.reused:
        lines.append(f"reused: {found.reused:,} of {counted(found.shards, 'shard')}")
    listed = f"{MANIFEST}, {HOOKS}, {VOCABULARY}, {CARD}"
    return "\n".join([*lines, f"wrote {found.folder}: {counted(found.shards, 'shard')}, {listed}"])
