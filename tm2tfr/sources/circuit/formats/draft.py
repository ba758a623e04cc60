"""The nets of a circuit's text with their lines, and the complaints about them, as far as it has been read."""

from __future__ import annotations

import re
from array import array
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import PurePath
from typing import NamedTuple, NoReturn

from tm2tfr.base.errors import Diagnostic, Span, counted, listing
from tm2tfr.base.text.source import MOST_DIAGNOSTICS, Log, Mark
from tm2tfr.sources.circuit.building import FreshNames
from tm2tfr.sources.circuit.formats.pieces import NetFunction, gates_of
from tm2tfr.sources.circuit.netlist import Circuit, Encoding, Gate
from tm2tfr.sources.circuit.order import cycles, topological


# ── the value that every reader of a circuit's format returns ─────────────────────────────────────────
@dataclass(frozen=True, kw_only=True)
class CircuitExample:
    """The expectation of a document about its circuit: with these input bits, these outputs.

    Args:
        input: the input bits as text, in the order of the circuit's inputs.
        outputs: the name of an output -> its bit; outputs that are left out may be anything.
    """

    input: str
    outputs: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class LoadedCircuit:
    """A circuit, with warnings, and the examples of its document."""

    circuit: Circuit
    warnings: tuple[Diagnostic, ...] = ()
    examples: tuple[CircuitExample, ...] = ()


def stem(file: str) -> str:
    """Return the default name of a circuit: that of its file."""
    return "circuit" if file.startswith("<") else PurePath(file).stem or "circuit"


_ENOUGH = 5 * MOST_DIAGNOSTICS
"""Reading ends after this many complaints: a large file of another format has one in each line."""
_INSIDE = (r"[^\s=(),|:;\\&^~{}'\"]", r"\w")
"""The characters within a name, in most formats, and in those where names may be in brackets."""

UNROLL = "only combinational circuits are read: cut it there with --cut-registers, or unroll it in time"
"""The remedy for a latch or a flip-flop."""
_BIT = re.compile(r"(.+?)((?:\[[0-9]+\])*)")


class Register(NamedTuple):
    """A latch or a flip-flop, whose output is a net of this name.

    Args:
        data: the net that it takes in.
        reset: its first value, ``0`` or ``1``; empty where none is stated.
        line: where it stands.
    """

    data: str
    reset: str
    line: int | None


@dataclass
class NetDraft:
    """Inputs, definitions and outputs in the order of the text; lines count from 0, None if there is no place."""

    log: Log
    name: str
    description: str = ""
    source: str = ""
    encoding: Encoding = ""
    inputs: dict[str, int | None] = field(default_factory=dict)
    outputs: dict[str, tuple[str, int | None]] = field(default_factory=dict)
    drivers: dict[str, int] = field(default_factory=dict)
    """Net -> the number of its definition."""
    functions: list[NetFunction] = field(default_factory=list)
    operands: list[tuple[str, ...]] = field(default_factory=list)
    lines: array[int] = field(default_factory=lambda: array("q"))
    broken: set[str] = field(default_factory=set)
    """Nets whose definition could not be read: this was reported in its place, and nothing more is said about them."""
    registers: dict[str, Register] = field(default_factory=dict)
    """Net -> the latch or flip-flop that it is the output of."""
    cut: bool = False
    """Whether to cut the circuit at its registers; otherwise they are an error."""
    optional: frozenset[str] = frozenset()
    """Nets that are left out, without a word, if they reach no output."""
    places: dict[tuple[int, str | None, bool], tuple[int, int] | None] = field(default_factory=dict)
    """(line, token, whether its last place is meant) -> where it begins and ends."""

    # ── complaints ──────────────────────────────────────────────────────────────────────────────────────
    def error(self, line: int | None, token: str | None, what: str, remedy: str, *, last: bool = False) -> None:
        """Record an error at a token of a line: at its first place, or at the last one.

        Raises:
            SpecError: after `_ENOUGH` complaints.
        """
        self.log.add(self.span(line, token, last=last), what, remedy)
        if len(self.log.found) >= _ENOUGH:
            raise self.log.failure()

    def refuse(self, line: int | None, token: str | None, what: str, remedy: str) -> NoReturn:
        """Record an error after which there is nothing more to read.

        Raises:
            SpecError: with every complaint.
        """
        self.error(line, token, what, remedy)
        raise self.log.failure()

    def warn(self, line: int | None, token: str | None, what: str, remedy: str) -> None:
        """Record a warning at a token of a line."""
        self.log.add(self.span(line, token), what, remedy, "warning")

    def span(self, line: int | None, token: str | None = None, *, last: bool = False) -> Span | None:
        """Return the first or last place of a token in a line; the whole line if it is not there as it is."""
        if line is None or line >= len(self.log.source.lines):
            return None
        text = self.log.source.lines[line]
        if (line, token, last) not in self.places:  # once: it may be reported often, and the line may be long
            self.places[line, token, last] = _place(text, token, last=last)
        if (place := self.places[line, token, last]) is not None:
            return self.log.source.span(Mark(line, place[0]), Mark(line, place[1]))
        stripped = text.strip()
        start = text.find(stripped)
        return self.log.source.span(Mark(line, start), Mark(line, start + len(stripped)))

    # ── definitions ─────────────────────────────────────────────────────────────────────────────────────
    def add_input(self, net: str, line: int | None) -> None:
        """Add an input."""
        if self.driven(net):
            self.twice(net, line)
            return
        self.inputs[net] = line

    def add_register(self, net: str, data: str, reset: str, line: int | None) -> None:
        """Add a latch or a flip-flop; see `Register`."""
        if self.driven(net):
            self.twice(net, line)
            return
        self.registers[net] = Register(data, reset, line)

    def add_gate(self, net: str, function: NetFunction, operands: Sequence[str], line: int | None) -> None:
        """Add the definition of a net."""
        if self.driven(net):
            self.twice(net, line)
            return
        self.drivers[net] = len(self.functions)
        self.functions.append(function)
        self.operands.append(tuple(operands))
        self.lines.append(-1 if line is None else line)

    def add_output(self, name: str, net: str, line: int | None) -> None:
        """Add an output."""
        if name in self.outputs:
            _, first = self.outputs[name]
            problem = f"the output {name!r} is named a second time{_in(first)}"
            self.error(line, name, problem, "remove one of the two", last=line == first)
            return
        self.outputs[name] = (net, line)

    def twice(self, net: str, line: int | None) -> None:
        """Report that a net has two drivers."""
        if net in self.inputs:
            first, problem = self.inputs[net], f"the net {net!r} is an input already"
        elif net in self.registers:
            first, problem = self.registers[net].line, f"the net {net!r} is the output of a register already"
        else:
            first, problem = self.line_of(self.drivers[net]), f"the net {net!r} is defined a second time"
        self.error(line, net, problem + _in(first), "remove or rename one of the two", last=line == first)

    def driven(self, net: str) -> bool:
        """Whether a net is an input, the output of a register, or defined."""
        return net in self.inputs or net in self.drivers or net in self.registers

    def knows(self, net: str) -> bool:
        """Whether a net is driven, or taken."""
        return self.driven(net) or net in self.broken

    def rename(self, names: Mapping[str, str]) -> None:
        """Give some nets other names, which no net has."""
        self.inputs = {names.get(net, net): line for net, line in self.inputs.items()}
        self.drivers = {names.get(net, net): number for net, number in self.drivers.items()}
        self.operands = [tuple(names.get(net, net) for net in operands) for operands in self.operands]
        self.outputs = {name: (names.get(net, net), line) for name, (net, line) in self.outputs.items()}
        self.registers = {
            names.get(net, net): register._replace(data=names.get(register.data, register.data))
            for net, register in self.registers.items()
        }

    def line_of(self, number: int) -> int | None:
        """Return the line of a definition."""
        return None if self.lines[number] < 0 else self.lines[number]

    # ── the circuit ─────────────────────────────────────────────────────────────────────────────────────
    def loaded(self, examples: tuple[CircuitExample, ...] = ()) -> LoadedCircuit:
        """Return the circuit, with warnings.

        Raises:
            SpecError: with every error of the text.
        """
        if self.registers:
            self._cut_registers()
        self._undefined()
        order = self._order()
        self.log.conclude()
        circuit = self._circuit(self._needed(order))
        return LoadedCircuit(circuit=circuit, warnings=self.log.conclude(), examples=examples)

    def _cut_registers(self) -> None:
        """Make the outputs of registers inputs, and their inputs outputs; report the registers if this is not requested."""
        first, *others = self.registers
        if not self.cut:
            are = "is" if len(others) == 1 else "are"
            more = f", as {are} {len(others):,} more: {listing(others, most=8)}" if others else ""
            self.error(self.registers[first].line, first, f"the net {first!r} is the output of a register{more}", UNROLL)
        fresh = FreshNames([*self.outputs, *self.inputs, *self.drivers, *self.registers])
        following, resets = list[str](), dict[str, list[str]]()
        for net, register in self.registers.items():
            self.inputs[net] = register.line
            name = _following(net)
            following.append(fresh(name) if name in self.outputs or self.driven(name) else name)
            self.outputs[following[-1]] = (register.data, register.line)
            resets.setdefault(register.reset, []).append(net)
        if self.cut:
            count = len(self.registers)
            problem = f"{counted(count, 'register')} {'is' if count == 1 else 'are'} cut: "
            problem += f"now inputs: {listing([first, *others], most=4)}; now outputs: {listing(following, most=4)}"
            said = [
                f"{listing(nets, most=4)} {f'with {reset}' if reset else 'with a value that the file does not state'}"
                for reset, nets in sorted(resets.items(), reverse=True)
            ]
            remedy = f"the registers begin: {'; '.join(said)}"
            self.warn(self.registers[first].line, first, problem, remedy)
            self.description = " ".join(
                filter(None, [self.description, f"Cut at its registers, which begin: {'; '.join(said)}."])
            )

    def _undefined(self) -> None:
        """Report missing inputs, outputs and drivers; each net once, where it is first read."""
        sound = not self.log.found
        if sound and not self.inputs:
            self.error(None, None, "there is no input", "name at least one net that is given from outside")
        if sound and not self.outputs:
            self.error(None, None, "there is no output", "name the nets whose values are wanted")
        known, drivers = self.inputs.keys() | self.broken, self.drivers
        for number, operands in enumerate(self.operands):
            for net in operands:
                if net not in drivers and net not in known:
                    known.add(net)
                    self._nothing_drives(net, self.line_of(number))
        for net, line in self.outputs.values():
            if net not in drivers and net not in known:
                known.add(net)
                self._nothing_drives(net, line)

    def _nothing_drives(self, net: str, line: int | None) -> None:
        close = self.log.did_you_mean(net, chain(self.inputs, self.drivers))
        self.error(line, net, f"nothing drives the net {net!r}{close}", "define it by a gate, or make it an input")

    def _order(self) -> Iterable[int]:
        """Return the numbers of the definitions in topological order; report cycles."""
        ahead = range(len(self.functions))
        drivers = self.drivers
        if all(drivers.get(net, -1) < number for number, operands in enumerate(self.operands) for net in operands):
            return ahead
        needs = [[drivers[net] for net in operands if net in drivers] for operands in self.operands]
        order = topological(needs)
        if order is not None:
            return order
        nets = list(drivers)
        for cycle in cycles(needs):
            path = [nets[number] for number in cycle]
            shown = " -> ".join([*path[:12], *(["…"] if len(path) > 12 else []), path[0]])
            problem = f"the net {path[0]!r} depends on itself: {shown}"
            self.error(self.line_of(cycle[0]), path[0], problem, "break the cycle: a circuit has no feedback")
        return ahead

    def _needed(self, order: Iterable[int]) -> list[int]:
        """Return the definitions that make up the circuit; warn about gates that reach no output and inputs without use."""
        nets = list(self.drivers)
        needed = {net for net, _ in self.outputs.values()}
        dead = list[int]()
        omitted = set[int]()
        for number in reversed(order := list(order)):
            if nets[number] in needed:
                needed.update(self.operands[number])
            elif nets[number] in self.optional:
                omitted.add(number)
            else:
                dead.append(number)
        if dead:
            number = min(dead)
            said = listing([nets[k] for k in sorted(dead)], most=4)
            problem = f"{counted(len(dead), 'gate')} reach{'es' if len(dead) == 1 else ''} no output: {said}"
            self.warn(self.line_of(number), nets[number], problem, "remove what is not needed, or make it an output")
        read = {net for operands in self.operands for net in operands} | {net for net, _ in self.outputs.values()}
        if unused := [net for net in self.inputs if net not in read]:
            problem = f"{counted(len(unused), 'input')} {'is' if len(unused) == 1 else 'are'} never read: "
            self.warn(
                self.inputs[unused[0]], unused[0], problem + listing(unused, most=4), "fix this if it is not intended"
            )
        return [number for number in order if number not in omitted]

    def _circuit(self, order: Iterable[int]) -> Circuit:
        nets = list(self.drivers)
        fresh = FreshNames([*nets, *self.inputs])
        gates: list[Gate] = []
        for number in order:
            gates += gates_of(nets[number], self.functions[number], self.operands[number], fresh)
        inputs, outputs = tuple(self.inputs), tuple((name, net) for name, (net, _) in self.outputs.items())
        if not gates:  # a circuit has at least one
            gates = [Gate(fresh(name), "01", (net,)) for name, net in outputs]
            outputs = tuple((name, gate.net) for (name, _), gate in zip(outputs, gates, strict=True))
        return Circuit(
            name=self.name,
            inputs=inputs,
            gates=tuple(gates),
            outputs=outputs,
            description=self.description,
            source=self.source,
            encoding=self.encoding,
        )


def _following(net: str) -> str:
    """Return the name of the next value of a register: ``q_next[3]`` of ``q[3]``, so that buses stay buses."""
    match = _BIT.fullmatch(net)
    return f"{match[1]}_next{match[2]}" if match else f"{net}_next"


def _in(line: int | None) -> str:
    return "" if line is None else f"; the first is in line {line + 1}"


def _place(text: str, token: str | None, *, last: bool) -> tuple[int, int] | None:
    """Return where the first or last place of a token in a line begins and ends; None if it is not there as it is."""
    for inside in _INSIDE if token else ():
        found = re.finditer(f"(?<!{inside}){re.escape(token or '')}(?!{inside})", text)
        chosen = next(iter(deque(found, 1) if last else found), None)
        if chosen is not None:
            return chosen.span()
    return None
