r"""A circuit as LaTeX: a table of its gates, and the graph in TikZ. Both compile with pdfLaTeX."""

from __future__ import annotations

from tm2tfr.sources.circuit.drawing import function_of, refuse_large
from tm2tfr.sources.circuit.netlist import Circuit, Gate
from tm2tfr.text import tex

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
