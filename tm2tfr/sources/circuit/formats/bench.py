"""ISCAS netlists, ``.bench``: ``INPUT(a)``, ``OUTPUT(s)``, ``s = NAND(a, b, c)``, a ``#`` begins a comment.

The functions are AND, OR, XOR, NAND, NOR and XNOR of any number of operands (XNOR is the complement of the parity), NOT
and BUF (or BUFF) of one, ``MUX(s, a, b)`` (a if s is 0, otherwise b), MAJ of three; ``s = vdd`` and ``s = gnd`` are the
constants. ``s = LUT 0x8 (a, b)`` is berkeley-abc's table: bit m of the number is the value where the first operand is
bit 0 of m, the second one bit 1, and so on. ``q = DFF(d)`` is a register, at which the circuit can be cut.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tm2tfr.base.errors import counted, did_you_mean
from tm2tfr.base.text.source import Log, SourceText
from tm2tfr.sources.circuit.building import ASSOCIATIVE
from tm2tfr.sources.circuit.formats.draft import LoadedCircuit, NetDraft, stem
from tm2tfr.sources.circuit.formats.names import legalised, restore
from tm2tfr.sources.circuit.formats.pieces import MOST_TABLE_OPERANDS
from tm2tfr.sources.circuit.netlist import Circuit, Gate

_WRITTEN_SHORT = 6

_PORT = re.compile(r"\s*(INPUT|OUTPUT)\s*\(\s*([^\s=(),]+)\s*\)\s*", re.IGNORECASE)
_GATE = re.compile(r"\s*([^\s=(),]+)\s*=\s*([A-Za-z]\w*)\s*\(([^()=]*)\)\s*")
_CONSTANT = re.compile(r"\s*([^\s=(),]+)\s*=\s*(vdd|gnd)\s*", re.IGNORECASE)
_LUT = re.compile(r"\s*([^\s=(),]+)\s*=\s*LUT\s+(\S+)\s*\(([^()=]*)\)\s*", re.IGNORECASE)
_DEFINED = re.compile(r"\s*([^\s=(),]+)\s*=")
_LEGAL = re.compile(r"[A-Za-z0-9_$][A-Za-z0-9_.\[\]$:<>/-]*")

_FUNCTIONS = {name: name for name in ASSOCIATIVE}
_FUNCTIONS |= {"NOT": "NOT", "INV": "NOT", "BUF": "BUF", "BUFF": "BUF", "MUX": "MUX", "MAJ": "MAJ"}
_ARITY = {"NOT": 1, "BUF": 1, "MUX": 3, "MAJ": 3}
_CLOCKED = ("DFF", "DFFSR", "DFFRSE", "FF", "LATCH", "DLATCH", "SDFF")
_REMEDY = "write INPUT(net), OUTPUT(net) or net = AND(net, net)"
_CLOSE, _OPEN = "add ')'", "remove ')', or add '('"
_KNOWN = ", ".join(dict.fromkeys(_FUNCTIONS.values()))


def looks_like(text: str) -> bool:
    """Return whether the first line that says anything is one of this format."""
    first = next((line for line in text.splitlines() if line.split("#")[0].strip()), "").split("#")[0]
    return bool(_PORT.fullmatch(first) or _GATE.fullmatch(first) or _LUT.fullmatch(first))


def read(source: SourceText, *, cut: bool = False) -> LoadedCircuit:
    """Read a circuit; `cut` it at its registers.

    Raises:
        SpecError: with every error.
    """
    draft = NetDraft(Log(source), name=stem(source.file), cut=cut)
    comments = []
    for number, text in enumerate(source.lines):
        line, hash_sign, _ = text.partition("#")
        if hash_sign and text.startswith("#"):
            comments.append((number, text))
        elif (gate := _GATE.fullmatch(line)) is not None:
            _read_gate(draft, number, *gate.groups())
        elif (port := _PORT.fullmatch(line)) is not None:
            kind, net = port.groups()
            if kind.upper() == "INPUT":
                draft.add_input(net, number)
            else:
                draft.add_output(net, net, number)
        elif line.strip():
            _read_rare(draft, number, line)
    restore(draft, comments)
    return draft.loaded()


def _read_gate(draft: NetDraft, line: int, net: str, function: str, inside: str) -> None:
    name = _FUNCTIONS.get(function) or _FUNCTIONS.get(function.upper())
    if name is None and function.upper() in _CLOCKED and inside.strip() and len(inside.split(",")) == 1:
        draft.add_register(net, inside.strip(), "", line)
        return
    if name is None:
        draft.broken.add(net)
        _unknown(draft, line, net, function)
        return
    operands = _operands(draft, line, net, inside)
    if operands is None:
        return
    wanted = _ARITY.get(name, len(operands))
    if len(operands) != wanted:
        draft.broken.add(net)
        problem = f"{function} has {counted(wanted, 'operand')}, not {len(operands)}"
        draft.error(line, function, problem, f"write {net} = {function}({', '.join('abc'[:wanted])})")
        return
    draft.add_gate(net, name, operands, line)


def _operands(draft: NetDraft, line: int, net: str, inside: str) -> list[str] | None:
    """Return the operands of a gate; if they cannot be read, report it and return None."""
    operands = [operand.strip() for operand in inside.split(",")]
    if not inside.strip():
        draft.error(
            line, net, f"the gate {net!r} has no operands", f"write {net} = AND(a, b), or {net} = vdd for a constant"
        )
    elif not all(operands):
        draft.error(line, net, f"an operand of the gate {net!r} is missing", "write a net before and after each comma")
    elif torn := next((operand for operand in operands if len(operand.split()) > 1), None):
        draft.error(line, torn, f"{torn!r} is more than one net", "write a comma between operands")
    else:
        return operands
    draft.broken.add(net)
    return None


def _unknown(draft: NetDraft, line: int, net: str, function: str) -> None:
    if function.upper() in _CLOCKED:
        problem = f"the net {net!r} is the output of a flip-flop or latch ({function}) of several operands"
        draft.error(line, function, problem, f"write {net} = {function}(a), and what its other operands do as gates")
    else:
        close = did_you_mean(function.upper(), _FUNCTIONS)
        draft.error(line, function, f"unknown function {function!r}{close}", f"use one of {_KNOWN}")


def _read_rare(draft: NetDraft, line: int, text: str) -> None:
    """Read a constant or a table, or report the error in a line."""
    if (constant := _CONSTANT.fullmatch(text)) is not None:
        draft.add_gate(constant[1], "1" if constant[2].lower() == "vdd" else "0", (), line)
    elif (lut := _LUT.fullmatch(text)) is not None:
        _read_table(draft, line, *lut.groups())
    else:
        defined = _DEFINED.match(text)
        if defined:
            draft.broken.add(defined[1])
        what, remedy = _unreadable(text, defined[1] if defined else None)
        draft.error(line, None, what, remedy)


def _unreadable(text: str, net: str | None) -> tuple[str, str]:
    """Return the error in a line, and the remedy."""
    spread = "write each statement on one line"
    excess = text.count("(") - text.count(")")
    if excess:
        problem = f"a parenthesis is not {'closed' if excess > 0 else 'opened'}"
        return problem, f"{_CLOSE if excess > 0 else _OPEN}; {spread}"
    if text.count("(") > 1:
        return "this is more than one gate", f"{spread}, and give the inner gate a net of its own"
    if re.match(r"\s*(INPUT|OUTPUT)\b", text, re.IGNORECASE):
        return "INPUT and OUTPUT name one net in parentheses", "write INPUT(net), a line for each"
    if text.strip().startswith("=") or ("(" in text and "=" not in text):
        return "the net that this gate drives is missing", "write net = AND(a, b)"
    if net is not None and "(" not in text:
        return f"the net {net!r} is not defined by a gate", f"write {net} = BUFF(a), {net} = vdd or {net} = gnd"
    return "this line is neither an input, an output nor a gate", _REMEDY


def _read_table(draft: NetDraft, line: int, net: str, number: str, inside: str) -> None:
    operands = _operands(draft, line, net, inside)
    if operands is None:
        return
    draft.broken.add(net)
    size = 2 ** min(len(operands), MOST_TABLE_OPERANDS)
    if len(operands) > MOST_TABLE_OPERANDS:
        problem = f"a table of {len(operands)} operands has more than {size:,} bits"
        draft.error(line, number, problem, f"split it into tables of at most {MOST_TABLE_OPERANDS} operands")
    elif not _is_table(number, len(operands), size):
        problem = f"{number if len(number) < 40 else number[:40] + '…'!r} is not a table of {counted(size, 'bit')}"
        draft.error(line, number, problem, "write it as a hexadecimal number, such as 0x8 for AND")
    else:
        draft.broken.discard(net)
        draft.add_gate(net, f"{int(number, 16):0{size}b}"[::-1], operands[::-1], line)


def _is_table(number: str, operands: int, size: int) -> bool:
    """Whether a number has `size` bits; a large table is written in full, so that no short line asks for much memory."""
    if not re.fullmatch("0[xX][0-9a-fA-F]+", number) or len(number) > 3 + size // 4 or int(number, 16) >= 2**size:
        return False
    return operands <= _WRITTEN_SHORT or len(number) == 2 + size // 4


def write(circuit: Circuit) -> str:
    """Return `circuit` as a netlist; names that the format cannot carry are replaced, and kept in comments."""
    legal = legalised(circuit, _LEGAL.fullmatch)
    return "".join(f"{line}\n" for line in (*legal.comments(), *_statements(legal.circuit)))


def _statements(circuit: Circuit) -> Iterator[str]:
    yield from (f"INPUT({net})" for net in circuit.inputs)
    yield from (f"OUTPUT({net})" for net, _ in circuit.outputs)
    yield from (f"{gate.net} = {_definition(gate)}" for gate in circuit.gates)


def _definition(gate: Gate) -> str:
    kind = {"BUF": "BUFF"}.get(gate.kind, gate.kind)
    if kind in ("CONST0", "CONST1"):
        return "vdd" if kind == "CONST1" else "gnd"
    if kind == gate.table:
        return f"LUT 0x{int(gate.table[::-1], 2):x} ({', '.join(reversed(gate.operands))})"
    return f"{kind}({', '.join(gate.operands)})"
