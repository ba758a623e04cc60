"""A circuit in other formats: those that can also be read, Verilog, drawings, and LaTeX."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from tm2tfr.base.errors import ConversionError, OutputError, did_you_mean
from tm2tfr.base.text import tex
from tm2tfr.base.text.shown import WrittenSource
from tm2tfr.sources.circuit.drawing import function_of, refuse_large, to_dot, to_mermaid
from tm2tfr.sources.circuit.formats import registry
from tm2tfr.sources.circuit.netlist import Circuit, Gate

# ── A circuit as LaTeX: a table of its gates, and the graph in TikZ. Both compile with pdfLaTeX.
_TABLE = r"% needs nothing in the preamble"
_PICTURE = tex.needs("", "tikz")
_BETWEEN = {"AND": r"\wedge", "OR": r"\vee", "XOR": r"\oplus"}
_NEGATED = {"NAND": "AND", "NOR": "OR", "XNOR": "XOR", "NOT": "BUF"}
_LEVEL, _ROW = 2.4, 0.9


def gate_table(circuit: Circuit) -> str:
    r"""Return the gates as a ``tabular``: the number of the symbol, the net, and its function, ``d_1 = a_1 \oplus b_1``.

    Raises:
        OutputError: if there are too many gates, as for drawings.
    """
    refuse_large(circuit)
    lines = [_TABLE, r"\begin{tabular}{rll}", r"\hline", r"symbol & gate & function \\", r"\hline"]
    for number, gate in enumerate(circuit.gates, start=len(circuit.inputs)):
        lines.append(rf"{number} & {tex.text(function_of(gate))} & ${_maths(gate.net)} = {_formula(gate)}$ \\")
    lines.append(r"\hline")
    for name, net in circuit.outputs:
        lines.append(rf" & output & ${_maths(name)} = {_maths(net)}$ \\")
    return "\n".join([*lines, r"\hline", r"\end{tabular}", ""])


def tikz(circuit: Circuit) -> str:
    """Return the graph as a ``tikzpicture``: a column for each level, inputs at the left, outputs at the right.

    Raises:
        OutputError: if there are too many gates, as for drawings.
    """
    refuse_large(circuit)
    lines = [
        _PICTURE,
        r"\begin{tikzpicture}[",
        r"  every node/.style={draw, align=center, font=\scriptsize, inner sep=2pt}, >=latex,",
        r"  gate/.style={rounded corners}, output/.style={double}]",
    ]
    level = dict.fromkeys(circuit.inputs, 0)
    for gate in circuit.gates:
        level[gate.net] = 1 + max((level[net] for net in gate.operands), default=0)
    labels = {net: f"${_maths(net)}$" for net in circuit.inputs}
    labels |= {gate.net: rf"{tex.text(function_of(gate))}\\${_maths(gate.net)}$" for gate in circuit.gates}
    used: dict[int, int] = {}

    def node(name: str, style: str, column: int, label: str) -> None:
        row = used[column] = used.get(column, -1) + 1
        lines.append(rf"  \node[{style}] ({name}) at ({_LEVEL * column:.1f}, {0 - _ROW * row:.1f}) {{{label}}};")

    for net, number in circuit.numbers.items():
        node(f"n{number}", "gate" if number >= len(circuit.inputs) else "", level[net], labels[net])
    last = 1 + max(level.values())
    for number, (name, _) in enumerate(circuit.outputs):
        node(f"y{number}", "output", last, f"${_maths(name)}$")
    for gate in circuit.gates:
        end = circuit.numbers[gate.net]
        lines += (rf"  \draw[->] (n{circuit.numbers[net]}) -- (n{end});" for net in gate.operands)
    lines += (rf"  \draw[->] (n{circuit.numbers[net]}) -- (y{k});" for k, (_, net) in enumerate(circuit.outputs))
    return "\n".join([*lines, r"\end{tikzpicture}", ""])


def _formula(gate: Gate) -> str:
    names = [_maths(net) for net in gate.operands]
    kind = _NEGATED.get(gate.kind, gate.kind)
    if kind in _BETWEEN:
        formula = f" {_BETWEEN[kind]} ".join(names)
    elif kind == "BUF":
        formula = names[0]
    elif kind.startswith("CONST"):
        formula = gate.table[0]
    else:
        word = rf"\mathrm{{{kind.lower()}}}" if kind != gate.table else rf"f_{{{gate.table}}}"
        formula = f"{word}({', '.join(names)})"
    return rf"\overline{{{formula}}}" if gate.kind in _NEGATED else formula


def _maths(name: str) -> str:
    return tex.maths(name).rstrip()


_PICTURES: Mapping[str, tuple[Callable[[Circuit], str], tuple[str, ...]]] = {
    "mermaid": (to_mermaid, (".mmd",)),
    "dot": (to_dot, (".dot", ".gv")),
    "tikz": (tikz, (".tikz",)),
    "latex": (gate_table, (".tex",)),
}
CIRCUIT_TARGETS = (*registry.CIRCUIT_WRITABLE, *_PICTURES)
"""Everything that a circuit is written in."""


def convert(circuit: Circuit, format: str) -> WrittenSource:
    """Return `circuit` in a format.

    Raises:
        ConversionError: if there is no such format, or it cannot express the circuit: then with the reason.
    """
    if format in _PICTURES:
        return WrittenSource(_PICTURES[format][0](circuit))
    if format not in CIRCUIT_TARGETS:
        problem = f"circuits cannot be written as {format!r}{did_you_mean(str(format), CIRCUIT_TARGETS)}"
        raise ConversionError(f"{problem}: use one of {', '.join(CIRCUIT_TARGETS)}")
    return WrittenSource(registry.write(circuit, format))


def format_for(output: Path) -> str:
    """Return the format of files with the extension of `output`.

    Raises:
        OutputError: if there is none.
    """
    suffix = output.suffix.lower()
    found = registry.by_ending(output.name)
    pictures = (name for name, (_, endings) in _PICTURES.items() if suffix in endings)
    name = found.name if found is not None else next(pictures, None)
    if name is None:
        raise OutputError(f"{output}: no format has the extension {suffix!r}: use --to {', '.join(CIRCUIT_TARGETS)}")
    return name
