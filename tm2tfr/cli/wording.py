"""Results in words: the lines around a table, the verdict, the activation vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tm2tfr.errors import counted, shortened, spaced, visible

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tm2tfr.api.subject import Subject
    from tm2tfr.trace.activations import Activation
    from tm2tfr.trace.check import Trace

VERDICTS = {"accept": "ACC: the machine accepts", "reject": "REJ: the machine rejects", "halt": "HALT: the machine halts"}


def heading(subject: Subject) -> str:
    """Return the lines above a summary: what the program is, or the name of weights without one."""
    from tm2tfr.cli.about import about

    if subject.construction is None or subject.program is None:
        return subject.name
    return about(subject.construction).heading(subject.program, subject.decoder)


def verdict(trace: Trace, subject: Subject) -> str:
    """Return the lines below a table: the verdict, the counts, and the result of the check."""
    if trace.answer == "limit" and trace.divergence is not None and not trace.rows:
        where = "" if trace.divergence.column == "stop" else ", the first that differs"
        lines = [f"stopped at position {trace.divergence.position:,}{where}"]
    elif trace.answer == "limit" and trace.divergence is not None and trace.divergence.column == "stop":
        lines = [f"no verdict, {counted(trace.tokens, 'position')} processed"]
    elif trace.T is None:
        what = "stopped by --max-steps" if trace.noun == "circuit" else "no verdict within the limit of --max-steps"
        lines = [f"{what}, {counted(trace.tokens, 'position')} processed"]
    elif trace.noun == "circuit":
        lines = [f"{counted(trace.T, 'gate')}: {_outputs(trace)}"]
    elif trace.labels and trace.result is not None:
        lines = [visible(trace.result.said)] if trace.divergence is None else []
    else:
        said = VERDICTS.get(trace.answer, f"{visible(trace.answer)}: the run ends")
        if (decoder := subject.decoder).positions is not None and not decoder.stop:
            said = "the run ends where the position table does"
        lines = [f"{said}, after T = {trace.T:,} intermediate step{'' if trace.T == 1 else 's'}"]
    if trace.result is not None and trace.noun == "machine":
        truth = trace.result
        lines.append(
            f"simulator: {truth.outcome} after {counted(truth.steps, 'step')}, "
            f"{counted(truth.cells_visited, 'cell')} visited, final tape {shortened(truth.tape)}"
        )
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


def _outputs(trace: Trace) -> str:
    """Return the outputs of a circuit's run in words: where every bit agrees, those of the reference are the decoder's."""
    if trace.divergence is not None:
        return f"the run differs from the evaluator's at position {trace.divergence.position:,}"
    return visible(trace.result.shown) if trace.result.shown else "it has no outputs"


def input_line(trace: Trace) -> str:
    """Return the line that names the machine and the input, where no table shows them."""
    return f"{visible(trace.machine)} on {shortened(trace.input)}"


def vectors(found: Mapping[str, Activation], subject: Subject, position: int) -> str:
    """Return the activation vectors at a position, each with what it adds to the previous one, or changes of it."""
    from tm2tfr.trace.rows import is_turing

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
