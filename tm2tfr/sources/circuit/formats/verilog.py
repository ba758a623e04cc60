"""Structural Verilog, written only: one module with an ``assign`` for each gate."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tm2tfr.sources.circuit.building import FreshNames
from tm2tfr.sources.circuit.formats.blif import cubes
from tm2tfr.sources.circuit.formats.names import legalised
from tm2tfr.sources.circuit.netlist import Circuit, Gate

_SIMPLE = re.compile(r"[A-Za-z_][A-Za-z0-9_$]*")
_CARRIED = re.compile(r"[!-~]+")
_RESERVED = """
always and assign automatic begin buf bufif0 bufif1 case casex casez cell cmos config deassign default defparam
design disable edge else end endcase endconfig endfunction endgenerate endmodule endprimitive endspecify endtable
endtask event for force forever fork function generate genvar highz0 highz1 if ifnone incdir include initial inout
input instance integer join large liblist library localparam macromodule medium module nand negedge nmos nor
noshowcancelled not notif0 notif1 or output parameter pmos posedge primitive pull0 pull1 pulldown pullup
pulsestyle_onevent pulsestyle_ondetect rcmos real realtime reg release repeat rnmos rpmos rtran rtranif0 rtranif1
scalared showcancelled signed small specify specparam strong0 strong1 supply0 supply1 table task time tran tranif0
tranif1 tri tri0 tri1 triand trior trireg unsigned use uwire vectored wait wand weak0 weak1 while wire wor xnor xor
"""
_KEYWORDS = frozenset(_RESERVED.split())
_SIGNS = {"AND": ("&", ""), "OR": ("|", ""), "XOR": ("^", ""), "NAND": ("&", "~"), "NOR": ("|", "~"), "XNOR": ("^", "~")}


def write(circuit: Circuit) -> str:
    """Return `circuit` as a module; names that are not plain ones are escaped, with a backslash and a blank."""
    legal = legalised(circuit, _CARRIED.fullmatch)
    return "".join(f"{line}\n" for line in (*legal.comments("//"), *_module(legal.circuit)))


def _module(circuit: Circuit) -> Iterator[str]:
    outputs = {net for net, _ in circuit.outputs}
    fresh = FreshNames(circuit.numbers)
    renamed = {net: fresh(net) for net in circuit.inputs if net in outputs}  # a port has one direction
    ports = [f"input wire {identifier(net)}" for net in circuit.inputs]
    ports += [f"output wire {identifier(renamed.get(net, net))}" for net, _ in circuit.outputs]
    yield f"module {_plain(circuit.name)} ("
    yield from (f"  {port}{',' if number < len(ports) else ''}" for number, port in enumerate(ports, 1))
    yield ");"
    yield from (f"  wire {identifier(gate.net)};" for gate in circuit.gates if gate.net not in outputs)
    yield from (f"  assign {identifier(gate.net)} = {_expression(gate)};" for gate in circuit.gates)
    yield from (f"  assign {identifier(name)} = {identifier(net)};" for net, name in renamed.items())
    yield "endmodule"


def identifier(name: str) -> str:
    """Return a name as Verilog writes it; an escaped one ends with a blank."""
    return name if _SIMPLE.fullmatch(name) and name not in _KEYWORDS else f"\\{name} "


def _plain(name: str) -> str:
    found = re.sub("[^A-Za-z0-9_]+", "_", name).strip("_") or "circuit"
    return found if _SIMPLE.fullmatch(found) and found not in _KEYWORDS else f"m_{found}"


def _expression(gate: Gate) -> str:
    nets = [identifier(net) for net in gate.operands]
    if gate.kind in ("CONST0", "CONST1"):
        return f"1'b{gate.kind[-1]}"
    if gate.kind in ("BUF", "NOT"):
        return nets[0] if gate.kind == "BUF" else f"~{nets[0]}"
    if gate.kind == "MUX":
        return f"{nets[0]} ? {nets[2]} : {nets[1]}"
    if gate.kind in _SIGNS:
        sign, before = _SIGNS[gate.kind]
        joined = f" {sign} ".join(nets)
        return f"{before}({joined})" if before else joined
    signs = {"0": "~", "1": ""}
    products = [
        " & ".join(signs[sign] + net for sign, net in zip(cube, nets, strict=True) if sign != "-")
        for cube in cubes(gate.table)
    ]
    return " | ".join(f"({product})" if product else "1'b1" for product in products) or "1'b0"
