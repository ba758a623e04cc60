"""A machine in other formats: those that can also be read, drawings, and LaTeX; and with a verdict for its halts."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from tm2tfr.base.choices import HALT_VERDICTS, PICTURES, WRITABLE, HaltVerdict
from tm2tfr.base.errors import ConversionError, OutputError, did_you_mean, visible
from tm2tfr.base.text.tex import maths, needs
from tm2tfr.sources.turing.drawing import DotLayout, InCm, dot_layout, to_dot, to_mermaid
from tm2tfr.sources.turing.formats import registry
from tm2tfr.sources.turing.formats.lossless import ACCEPT, Translation, Written, fresh
from tm2tfr.sources.turing.graph import to_graph
from tm2tfr.sources.turing.spec import MOVE_LETTERS, Machine, Rule

# ── A machine as LaTeX: the table of δ, and the state graph in TikZ. Both compile with pdfLaTeX.
_TABLE, _PICTURE = needs("", "booktabs"), needs("", "tikz")
_STYLES = {None: "", "accept": ", accepting", "reject": ", dashed", "halt": ", rectangle, rounded corners"}


def delta_table(machine: Machine) -> str:
    """Return δ as a ``tabular``: a row for each state, a column for each tape symbol, (r, b, m) in a cell.

    A missing rule is shown as a dash, and a halting state by its outcome.
    """
    gamma = machine.tape_alphabet
    lines = [_TABLE, rf"\begin{{tabular}}{{l{'l' * len(gamma)}}}", r"\toprule"]
    blank = {machine.blank: " (blank)"}
    heads = (rf"{_maths(a)}{blank.get(a, '')}" for a in gamma)
    lines += [rf"$\delta$ & {' & '.join(heads)} \\", r"\midrule"]
    lines += [rf"{_row(machine, q)} \\" for q in machine.states]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])


def _row(machine: Machine, q: str) -> str:
    name = _maths(q) + (" (start)" if q == machine.start else "")
    outcome = machine.outcome_of(q)
    if outcome is not None:
        return rf"{name} & \multicolumn{{{len(machine.tape_alphabet)}}}{{l}}{{{outcome}}}"
    rules = (machine.transitions.get((q, a)) for a in machine.tape_alphabet)
    return " & ".join([name, *(_triple(rule) if rule else "--" for rule in rules)])


def _triple(rule: Rule) -> str:
    return rf"$({maths(rule.state)}, {maths(rule.write)}, \mathrm{{{MOVE_LETTERS[rule.move]}}})$"


def _maths(name: str) -> str:
    return f"${maths(name).rstrip()}$"


# ── TikZ ────────────────────────────────────────────────────────────────────────────────────────────────
def tikz(machine: Machine) -> str:
    r"""Return the state graph as a ``tikzpicture``, laid out by Graphviz's program ``dot`` where it is installed.

    Otherwise, and if there are more than 100 states, they are on a circle with the start state at its left. An arrow is
    labelled ``0,1 → x, R`` as in the other drawings.
    """
    lines = [
        _PICTURE,
        r"\begin{tikzpicture}[",
        r"  state/.style={circle, draw, minimum size=9mm, inner sep=1.5pt},",
        r"  accepting/.style={double, double distance=1.5pt},",
        r"  label/.style={fill=white, inner sep=1pt, align=center, font=\scriptsize},",
        r"  every node/.style={font=\small}, >=latex]",
    ]
    where = dot_layout(machine)
    body = _on_a_circle(machine) if where is None else _laid_out(machine, where)
    return "\n".join([*lines, *body, r"\end{tikzpicture}", ""])


def _laid_out(machine: Machine, where: DotLayout) -> Iterator[str]:
    """Yield the nodes and arrows where ``dot`` puts them."""
    ids = {q: f"s{k}" for k, q in enumerate(machine.states)}
    for q, ((x, y), width) in where.states.items():
        style = f"state{_STYLES[machine.outcome_of(q)]}, minimum size={width:.2f}cm"
        yield rf"  \node[{style}] ({ids[q]}) at ({x:.2f}, {y:.2f}) {{{_maths(q)}}};"
    yield rf"  \draw[->] {_curve(where.start)};"
    for q, r, labels in _arrows(machine):
        x, y = where.labels[q, r]
        yield rf"  \draw[->] {_curve(where.arrows[q, r])};"
        yield rf"  \node[label] at ({x:.2f}, {y:.2f}) {{{labels}}};"


def _curve(points: Sequence[InCm]) -> str:
    """Return a Bézier curve of 3n + 1 points, and a line to the last point."""
    first, *others = (f"({x:.2f}, {y:.2f})" for x, y in points)
    pieces = (f".. controls {a} and {b} .. {c}" for a, b, c in zip(*[iter(others[:-1])] * 3, strict=True))
    return " ".join([first, *pieces, f"-- {others[-1]}"])


def _on_a_circle(machine: Machine) -> Iterator[str]:
    """Yield the nodes and arrows of a drawing with the states on a circle."""
    n = len(machine.states)
    radius = max(2.2, 0.62 * n)
    order = [machine.start, *(q for q in machine.states if q != machine.start)]
    angles = {q: (180 - 360 * k / n) % 360 for k, q in enumerate(order)}
    ids = {q: f"s{k}" for k, q in enumerate(order)}
    for q, angle in angles.items():
        style = _STYLES[machine.outcome_of(q)]
        x, y = (radius * f(math.radians(angle)) for f in (math.cos, math.sin))
        yield (rf"  \node[state{style}] ({ids[q]}) at ({x:.2f}, {y:.2f}) {{{_maths(q)}}};")
    yield (rf"  \draw[->] ([xshift=-8mm]{ids[machine.start]}.west) -- ({ids[machine.start]}.west);")
    for q, r, labels in _arrows(machine):
        if q == r:
            out, back = angles[q] + 20, angles[q] - 20
            if q == machine.start:  # beside the arrow that marks it
                out, back = angles[q] - 50, angles[q] - 80
            bend = f"out={out:.0f}, in={back:.0f}, looseness=7"
            place = f"midway, anchor={((out + back) / 2 + 180) % 360:.0f}"
        else:
            bend, place = "bend left=14", "pos=0.4"
        yield rf"  \draw[->] ({ids[q]}) to[{bend}] node[label, {place}] {{{labels}}} ({ids[r]});"


def _arrows(machine: Machine) -> Iterator[tuple[str, str, str]]:
    """Yield (q, r, the label) for each pair of states with a rule from q to r."""
    for q, targets in to_graph(machine).adjacency():
        for r, edges in targets.items():
            actions: dict[str, list[str]] = {}
            for a, edge in edges.items():
                write = "" if edge["write"] == a else f"{_maths(edge['write'])}, "
                actions.setdefault(write + MOVE_LETTERS[edge["move"]], []).append(_maths(a))
            yield q, r, r" \\ ".join(rf"{','.join(read)} $\to$ {action}" for action, read in actions.items())


_PICTURES: Mapping[str, tuple[Callable[[Machine], str], tuple[str, ...]]] = {
    "mermaid": (to_mermaid, (".mmd",)),
    "dot": (to_dot, (".dot", ".gv")),
    "tikz": (tikz, (".tikz",)),
    "latex": (delta_table, (".tex",)),
}
TARGETS = (*WRITABLE, *PICTURES)


def convert(machine: Machine, format: str) -> Written:
    """Return `machine` in a format, with notes for the reader about the translation.

    Raises:
        ConversionError: if there is no such format, or it cannot express the machine: then with the reason.
    """
    if format in _PICTURES:
        return Written(_PICTURES[format][0](machine))
    if format not in TARGETS:
        problem = f"machines cannot be written as {format!r}{did_you_mean(str(format), TARGETS)}"
        raise ConversionError(f"{problem}: use one of {', '.join(TARGETS)}")
    return registry.write(machine, format)


def with_verdict(machine: Machine, verdict: HaltVerdict) -> Translation:
    """Return `machine` with a verdict for its halts, and a note for the reader; the description says it, too.

    To reject changes no run. To accept, a run has to enter a state: where a rule is missing, it makes one more step, which
    leaves the tape as it is.

    Raises:
        ConversionError: if there is no such verdict, or the machine has verdicts.
    """
    if verdict not in HALT_VERDICTS:
        problem = f"{verdict!r} is not a verdict{did_you_mean(str(verdict), HALT_VERDICTS)}"
        raise ConversionError(f"{problem}: use one of {', '.join(HALT_VERDICTS)}")
    if machine.decides:
        problem = f"{visible(machine.name)}: this machine has verdicts of its own"
        raise ConversionError(f"{problem}: omit --verdict, which is for machines that halt without one")
    ends = tuple(q for q in machine.states if q in machine.halting_states)
    note = f"every halt is taken to {verdict}"
    missing = machine.missing_rules if verdict == "accept" else ()
    if missing:
        ends = ends or (ACCEPT if ACCEPT not in machine.states else fresh(ACCEPT, machine.states),)
        note += f"; where a rule is missing, a run makes one more step, into the state {ends[0]!r}"
    examples = (
        replace(e, outcome=verdict, steps=None if missing else e.steps) if e.outcome == "halt" else e
        for e in machine.examples
    )
    found = replace(
        machine,
        transitions={**machine.transitions, **{(q, a): Rule(ends[0], a, 0) for q, a in missing}},
        states=tuple(dict.fromkeys([*machine.states, *ends])),
        accept=ends if verdict == "accept" else (),
        reject=ends if verdict == "reject" else (),
        description=" ".join(filter(None, [machine.description, f"{note[0].upper()}{note[1:]}."])),
        examples=tuple(examples),
        yaml=None,
    )
    return Translation(found, "", (note,))


def format_for(output: Path) -> str:
    """Return the format of files with the extension of `output`.

    Raises:
        OutputError: if there is none, or several.
    """
    suffix = output.suffix.lower()
    pictures = (name for name, (_, endings) in _PICTURES.items() if suffix in endings)
    known = (f for f in registry.by_extension(output.name) if f in TARGETS and registry.WRITTEN_TO.get(suffix, f) == f)
    found = [*known, *pictures]
    if len(found) != 1:
        which = f"{suffix!r} may be {' or '.join(found)}" if found else f"no format has the extension {suffix!r}"
        raise OutputError(f"{output}: {which}: use --to {', '.join(found or TARGETS)}")
    return found[0]
