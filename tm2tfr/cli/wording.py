"""Results in words: the lines around a table, the verdict, the activation vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tm2tfr.base.errors import counted, shortened, spaced, visible
from tm2tfr.cli.about import about

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tm2tfr.api.subject import Subject
    from tm2tfr.runs.activations import Activation
    from tm2tfr.runs.comparison import Trace


def heading(subject: Subject) -> str:
    """Return the lines above a summary: what the program is, or the name of weights without one."""
    if subject.construction is None or subject.program is None:
        return subject.name
    return about(subject.construction).heading(subject.program, subject.decoder)


def verdict(trace: Trace, subject: Subject) -> str:
    """Return the lines below a table: the verdict, the counts, and the result of the check."""
    telling = about(None if trace.result is None else subject.construction)
    if trace.answer == "limit" and trace.divergence is not None and not trace.rows:
        where = "" if trace.divergence.column == "stop" else ", the first that differs"
        lines = [f"stopped at position {trace.divergence.position:,}{where}"]
    elif trace.answer == "limit" and trace.divergence is not None and trace.divergence.column == "stop":
        lines = [f"no verdict, {counted(trace.tokens, 'position')} processed"]
    else:
        lines = list(telling.ended(trace, subject.decoder))
    if trace.result is not None:
        lines += telling.concluded(trace.result)
    soft = "; softmax" if trace.soft else ""
    if trace.soft and trace.temperature:
        soft += f"{', temperature' if isinstance(trace.temperature, str) else ' at temperature'} {trace.temperature}"
    lines.append(f"engine: {trace.engine}, {trace.dtype}, {counted(trace.tokens, 'position')}{soft}")
    lines += [f"scanned: {line}" for line in trace.scanned]
    if trace.result is None:
        lines.append(f"check: none, since no {trace.noun} to compare with is stored with these weights")
    elif trace.divergence is None:
        lines.append(f"check: {counted(trace.compared, 'cell')} compared with the {trace.reference}, all agree")
    else:
        lines.append(f"check: FAILED after {counted(trace.compared, 'cell')}: {trace.divergence}")
    return "\n".join(lines)


def input_line(trace: Trace) -> str:
    """Return the line that names the machine and the input, where no table shows them."""
    return f"{visible(trace.machine)} on {shortened(trace.input)}"


def vectors(found: Mapping[str, Activation], subject: Subject, position: int) -> str:
    """Return the activation vectors at a position, each with what it adds to the previous one, or changes of it."""
    from tm2tfr.runs.rows import is_turing

    known: dict[str, object] = {}
    equations = " (Eqs. 8.4-8.19)" if is_turing(subject.decoder.layout) else ""
    lines, width = [f"activation vectors at position {position}{equations}"], max(map(len, found)) + 1
    for name, vector in found.items():
        new = [
            f"{k} = {'⊥' if v is None else spaced(str(v))}" for k, v in vector.items() if k not in known or known[k] != v
        ]
        lines.append(f"  {visible(name):<{width}}{', '.join(new) or '(no change)'}")
        known |= vector
    return "\n".join(lines)
