"""Boolean circuits as checked, frozen data: inputs, gates over at most three operands, outputs by name."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, product
from typing import Literal, NamedTuple

from tm2tfr.base.errors import Diagnostic, Severity, SpecError, counted, did_you_mean, visible
from tm2tfr.sources.circuit.order import cycles, topological

NAMED: Mapping[int, Mapping[str, str]] = {
    0: {"0": "CONST0", "1": "CONST1"},
    1: {"01": "BUF", "10": "NOT", "00": "CONST0", "11": "CONST1"},
    2: {"0001": "AND", "0111": "OR", "1000": "NOR", "1110": "NAND", "0110": "XOR", "1001": "XNOR"},
    3: {
        "00000001": "AND",
        "01111111": "OR",
        "10000000": "NOR",
        "11111110": "NAND",
        "01101001": "XOR",
        "10010110": "XNOR",
        "00010111": "MAJ",
        "00110101": "MUX",
    },
}
"""Number of operands -> table -> the name of the gate. MUX is ``b if a = 0 else c``, of operands (a, b, c)."""
MOST_OPERANDS = 3
MOST_FAULTS = 100
"""Nobody reads more at once, and a damaged file of a million gates may have a million."""

_TABLES = tuple(frozenset(map("".join, product("01", repeat=2**k))) for k in range(MOST_OPERANDS + 1))
_MOST_SUGGESTED = 1000
_LONGEST_PATH = 12
_INDEXED = re.compile(r"(.+)\[([0-9]{1,9})\]")
_NUMBERED = re.compile(r"(.*[^0-9])([0-9]{1,9})")

Encoding = Literal["", "sha-256"]
ENCODED: Mapping[Encoding, tuple[int, int]] = {"sha-256": (512, 256)}
"""Encoding -> the numbers of inputs and outputs of the circuits that have it."""
Part = Literal["circuit", "input", "gate", "output"]


class Fault(NamedTuple):
    """One thing wrong, or probably not meant, with a part of a circuit.

    Args:
        part: the part with the error: an input, a gate, an output, or the circuit.
        number: which of them, counted from 0 in the order in which they were given; 0 for the circuit.
        operand: which operand of the gate, counted from 0; None if it is the gate.
        net: the name that the complaint is about: a net or an output; empty for the circuit.
        what: what is wrong.
        remedy: what to do.
    """

    part: Part
    number: int
    operand: int | None
    net: str
    what: str
    remedy: str

    def diagnostic(self, file: str, severity: Severity = "error") -> Diagnostic:
        """Return the complaint without a place in a text; `file` is the name of the circuit."""
        return Diagnostic(what=self.what, remedy=self.remedy, file=file, severity=severity)


class CircuitError(SpecError):
    """Raised for inputs, gates and outputs that are not a circuit; `faults` has the one that each complaint belongs to."""

    def __init__(self, name: str, found: Iterable[Fault]) -> None:
        self.faults: tuple[Fault, ...] = tuple(found)
        super().__init__(fault.diagnostic(name) for fault in self.faults)


@dataclass(frozen=True)
class Gate:
    """One gate: the net that it drives, as a function of other nets.

    Args:
        net: the name of the net.
        table: its 2^k bits as text, for the values of the k operands counted in binary, the first operand most
            significant: ``0110`` is XOR, ``0010`` is a AND NOT b.
        operands: the nets it reads, at most three; the same net may occur twice.
    """

    net: str
    table: str
    operands: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        """Its usual name, otherwise its table."""
        return NAMED.get(len(self.operands), {}).get(self.table, self.table)


@dataclass(frozen=True)
class Bus:
    """Nets that are the bits of one number.

    Args:
        name: what their names have in common.
        nets: their names, the least significant bit first.
    """

    name: str
    nets: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, repr=False)
class Circuit:
    """A circuit, in topological order: every gate reads inputs and nets of gates before it.

    Args:
        name: a name, for messages.
        inputs: the names of the input nets.
        gates: in the order in which a decoder generates their bits; `ordered` sorts others.
        outputs: pairs of the name of an output and the net that drives it, which may be an input.
        encoding: how a text becomes input bits, and outputs a result: as one block of SHA-256; empty: inputs are bits.

    Raises:
        CircuitError: a `SpecError` with every problem, not only the first.
    """

    name: str
    inputs: tuple[str, ...]
    gates: tuple[Gate, ...]
    outputs: tuple[tuple[str, str], ...]
    description: str = ""
    source: str = ""
    encoding: Encoding = ""

    def __post_init__(self) -> None:
        found = list(islice(_part_faults(self.inputs, self.gates, self.outputs), MOST_FAULTS))
        late = list(islice(_late_operands(self.inputs, self.gates), MOST_FAULTS))
        if late:
            found.extend(islice(_cycle_faults(self.inputs, self.gates), MOST_FAULTS))
        if found := found or late:
            raise CircuitError(self.name, found)

    @cached_property
    def numbers(self) -> Mapping[str, int]:
        """The position of each net's symbol in the sequence: inputs from 0, then gates, in order."""
        nets = (*self.inputs, *(gate.net for gate in self.gates))
        return {net: number for number, net in enumerate(nets)}

    @cached_property
    def kinds(self) -> Mapping[str, int]:
        """The number of gates of each kind, ``AND`` and ``AND3`` apart, most frequent first."""
        return dict(Counter(_counted_as(gate) for gate in self.gates).most_common())

    @cached_property
    def buses(self) -> tuple[Bus, ...]:
        """The buses of the inputs, in the order of their first bits; see `buses_of`."""
        return buses_of(self.inputs)

    @cached_property
    def output_buses(self) -> tuple[Bus, ...]:
        """The buses of the outputs, whose bits are names of outputs."""
        return buses_of(tuple(name for name, _ in self.outputs))

    @cached_property
    def warnings(self) -> tuple[Fault, ...]:
        """Warnings about unused inputs and gates that reach no output."""
        return tuple(islice(_warnings(self), MOST_FAULTS))

    def __repr__(self) -> str:
        parts = ((len(self.inputs), "input"), (len(self.gates), "gate"), (len(self.outputs), "output"))
        return visible(f"<Circuit {self.name}: {', '.join(counted(*part) for part in parts)}>")

    def _repr_html_(self) -> str:
        """Return a line about it and, if Graphviz's ``dot`` can draw it legibly, its drawing, for notebooks."""
        from tm2tfr.sources.circuit.drawing import html  # noqa: PLC0415

        return html(self)


def _counted_as(gate: Gate) -> str:
    three = len(gate.operands) == MOST_OPERANDS and gate.kind not in ("MAJ", "MUX", gate.table)
    return f"{gate.kind}3" if three else gate.kind


# ── errors in parts of a circuit ────────────────────────────────────────────────────────────────────────
def faults(inputs: Sequence[str], gates: Sequence[Gate], outputs: Sequence[tuple[str, str]]) -> Iterator[Fault]:
    """Yield the errors in the parts of a circuit: inputs, gates in any order, outputs, cycles."""
    yield from _part_faults(inputs, gates, outputs)
    yield from _cycle_faults(inputs, gates)


def _part_faults(inputs: Sequence[str], gates: Sequence[Gate], outputs: Sequence[tuple[str, str]]) -> Iterator[Fault]:
    if not inputs:
        remedy = "add one: a decoder continues from the bits of the inputs"
        yield Fault("circuit", 0, None, "", "the circuit has no inputs", remedy)
    if not gates:
        yield Fault("circuit", 0, None, "", "the circuit has no gates", "add one, for example a BUF of an input")
    driven: dict[str, Part] = {}
    for number, net in enumerate(inputs):
        if not net:
            yield Fault("input", number, None, net, "an input has an empty name", "name every input")
        elif net in driven:
            yield Fault("input", number, None, net, f"the input {net!r} is named twice", "name each input once")
        driven[net] = "input"
    for number, gate in enumerate(gates):
        if not gate.net or gate.net in driven:
            yield _net_fault(number, gate.net, driven)
        else:
            driven[gate.net] = "gate"
    known = driven.keys()
    for number, gate in enumerate(gates):
        k = len(gate.operands)
        if k > MOST_OPERANDS or gate.table not in _TABLES[k] or any(net not in known for net in gate.operands):
            yield from _gate_faults(number, gate, driven)
    yield from _output_faults(outputs, driven)


def ordered(inputs: Sequence[str], gates: Sequence[Gate], *, name: str = "circuit") -> tuple[Gate, ...]:
    """Return `gates`, given in any order, in topological order; a gate moves only to stand before one that reads it.

    A net that nothing drives is not complained of here, but by `faults`.

    Raises:
        CircuitError: if there are cycles, with a path of each; `name` is the name of the circuit in it.
    """
    order = topological(_needs(inputs, gates))
    if order is None:
        raise CircuitError(name, islice(_cycle_faults(inputs, gates), MOST_FAULTS))
    return tuple(gates[number] for number in order)


def _net_fault(number: int, net: str, driven: Mapping[str, Part]) -> Fault:
    if not net:
        return Fault("gate", number, None, net, "the net of a gate has an empty name", "name the net of every gate")
    problem = "is an input and also driven by a gate" if driven[net] == "input" else "is driven by two gates"
    return Fault("gate", number, None, net, f"the net {net!r} {problem}", "rename or remove one of the two")


def _gate_faults(number: int, gate: Gate, driven: Mapping[str, Part]) -> Iterator[Fault]:
    net, table, operands = gate.net, gate.table, gate.operands
    k = len(operands)
    if k > MOST_OPERANDS:
        remedy = f"split it into gates of at most {MOST_OPERANDS}"
        yield Fault("gate", number, None, net, f"the gate {net!r} has {k} operands", remedy)
    elif table not in _TABLES[k]:
        remedy = f"write {2**k} bits, 0 or 1, one for each case of {counted(k, 'operand')}"
        yield Fault("gate", number, None, net, f"the gate {net!r} has the table {_shortened(table)!r}", remedy)
    for place, operand in enumerate(operands):
        if operand not in driven:
            problem = f"the gate {net!r} reads {operand!r}, which nothing drives"
            yield Fault(
                "gate", number, place, operand, problem + _meant(operand, driven), "make it an input or add its gate"
            )


def _output_faults(outputs: Sequence[tuple[str, str]], driven: Mapping[str, Part]) -> Iterator[Fault]:
    names: set[str] = set()
    for number, (name, net) in enumerate(outputs):
        if not name:
            yield Fault("output", number, None, name, "an output has an empty name", "name every output")
        elif name in names:
            yield Fault("output", number, None, name, f"the output {name!r} is named twice", "name each output once")
        names.add(name)
        if net not in driven:
            of = "" if name == net else f", of the net {net!r},"
            problem = f"the output {name!r}{of} is driven by nothing{_meant(net, driven)}"
            yield Fault("output", number, None, net, problem, "name an input or the net of a gate")


def _meant(net: str, driven: Mapping[str, Part]) -> str:
    return did_you_mean(net, islice(driven, _MOST_SUGGESTED))


def _shortened(text: str) -> str:
    return text if len(text) <= 20 else f"{text[:20]}…"


def _needs(inputs: Iterable[str], gates: Sequence[Gate]) -> list[list[int]]:
    """Return for each gate the numbers of the gates that it reads; the first one counts where two drive one net."""
    number = {gate.net: n for n, gate in reversed(list(enumerate(gates)))}
    for net in inputs:
        number.pop(net, None)
    return [[number[net] for net in gate.operands if net in number] for gate in gates]


def _cycle_faults(inputs: Sequence[str], gates: Sequence[Gate]) -> Iterator[Fault]:
    needs = _needs(inputs, gates)
    if topological(needs) is not None:
        return
    for cycle in cycles(needs):
        nets = [gates[number].net for number in (*cycle, cycle[0])]
        if len(nets) > _LONGEST_PATH:
            nets[_LONGEST_PATH // 2 : -(_LONGEST_PATH // 2)] = [f"… {len(nets) - _LONGEST_PATH:,} more …"]
        path = " -> ".join(map(visible, nets))
        remedy = "cut it: a circuit has no memory"
        yield Fault("gate", cycle[0], None, gates[cycle[0]].net, f"there is a cycle: {path}", remedy)


def _late_operands(inputs: Iterable[str], gates: Iterable[Gate]) -> Iterator[Fault]:
    known = set(inputs)
    for number, gate in enumerate(gates):
        for place, operand in enumerate(gate.operands):
            if operand not in known:
                problem = f"the gate {gate.net!r} reads {operand!r}, which a later gate drives"
                yield Fault("gate", number, place, operand, problem, "sort the gates with 'ordered'")
        known.add(gate.net)


def _warnings(circuit: Circuit) -> Iterator[Fault]:
    if not circuit.outputs:
        yield Fault("circuit", 0, None, "", "the circuit has no outputs", "name the nets that are its result")
    used = {net for _, net in circuit.outputs}
    read = used.union(*(gate.operands for gate in circuit.gates))
    for number, net in enumerate(circuit.inputs):
        if net not in read:
            yield Fault("input", number, None, net, f"the input {net!r} is not used", "remove it, if that is not meant")
    useless = []
    for number, gate in reversed(list(enumerate(circuit.gates))):
        if gate.net in used:
            used.update(gate.operands)
        else:
            useless.append((number, gate.net))
    for number, net in reversed(useless):
        remedy = "remove it, or add an output"
        yield Fault("gate", number, None, net, f"the gate {net!r} reaches no output", remedy)


# ── buses ───────────────────────────────────────────────────────────────────────────────────────────────
def buses_of(names: Sequence[str]) -> tuple[Bus, ...]:
    """Return `names` as buses, in the order of their first bits.

    ``a[0] a[1] …`` is the bus ``a``, and so is ``a1 a2 a3`` or ``a0 a1``, if it is numbered without gaps from 0 or 1;
    the bit of the smallest number is the least significant one. Any other name is a bus of one bit.
    """
    families: dict[tuple[str, bool], list[tuple[int, str]]] = {}
    for name in names:
        if (match := _INDEXED.fullmatch(name)) is not None:
            families.setdefault((match[1], True), []).append((int(match[2]), name))
        elif (match := _NUMBERED.fullmatch(name)) is not None:
            families.setdefault((match[1], False), []).append((int(match[2]), name))
    taken, bus = set(names), dict[str, Bus]()
    for (stem, bracketed), family in sorted(families.items(), key=lambda item: not item[0][1]):
        bits = sorted(family)
        numbers = [number for number, _ in bits]
        plain = not bracketed and (len(bits) == 1 or numbers[0] > 1)
        if not plain and stem not in taken and numbers == list(range(numbers[0], numbers[0] + len(bits))):
            taken.add(stem)
            bus |= dict.fromkeys((name for _, name in bits), Bus(stem, tuple(name for _, name in bits)))
    return tuple(dict.fromkeys(bus.get(name, Bus(name, (name,))) for name in names))
