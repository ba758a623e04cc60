"""Inputs as people write them: bits, ``0110``, numbers for the buses, ``0x3A+0x17``, or a text; and the result in words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import numpy as np

from tm2tfr.base.errors import InputError, counted, visible
from tm2tfr.sources.circuit.evaluate import Bits
from tm2tfr.sources.circuit.netlist import Bus, Circuit
from tm2tfr.sources.circuit.sha256 import digest, padded

MOST_INPUTS_OF_ALL = 20
"""Two to the power of this are a million cases."""

_SEPARATORS = re.compile(r"\s*[+*,]\s*")
_NUMBER = re.compile(r"0[xX](?P<x>[0-9a-fA-F]+)|0[bB](?P<b>[01]+)|(?P<d>[0-9]+)")
_BASES = {"x": 16, "b": 2, "d": 10}
_MOST_BUSES_NAMED = 8


def read_input(circuit: Circuit, text: str) -> str:
    """Return the bits of the inputs of `circuit`, in order, from an argument.

    A text of as many 0s and 1s as there are inputs is the bits. Otherwise there is a number for each bus, in order,
    decimal, ``0x3A`` or ``0b110``, with ``+``, ``*`` or a comma between them. A circuit with an encoding takes any text,
    and bytes as ``0x616263``.

    Raises:
        InputError: if it is neither; if a number does not fit its bus.
    """
    bits = text.strip()
    if len(bits) == len(circuit.inputs) and not bits.strip("01"):
        return bits
    if circuit.encoding == "sha-256":
        return padded(text)
    if not bits.strip("01"):
        problem = f"{counted(len(bits), 'bit')} for {counted(len(circuit.inputs), 'input')}"
        raise _refused(circuit, problem, f"give a bit for each input, or {_wanted(circuit)}")
    parts = _SEPARATORS.split(bits)
    if len(parts) != len(circuit.buses):
        problem = f"{counted(len(parts), 'number')} where there must be {len(circuit.buses)}"
        raise _refused(circuit, problem, f"give a bit for each input, or {_wanted(circuit)}")
    value: dict[str, str] = {}
    for bus, part in zip(circuit.buses, parts, strict=True):
        number = _fitting(circuit, bus, part)
        value |= {net: str(number >> place & 1) for place, net in enumerate(bus.nets)}
    return "".join(value[net] for net in circuit.inputs)


def numbers_of(buses: Iterable[Bus], bits: Mapping[str, int]) -> dict[str, int]:
    """Return the name of each bus -> its number; `bits` has the bit of each net."""
    return {bus.name: sum(bits[net] << place for place, net in enumerate(bus.nets)) for bus in buses}


def shown_outputs(circuit: Circuit, outputs: Mapping[str, int]) -> str:
    """Return the bits of the outputs in words: ``s = 81, carry = 0``, or a digest."""
    if circuit.encoding == "sha-256":
        return digest("".join(map(str, outputs.values())))
    return ", ".join(f"{name} = {number}" for name, number in numbers_of(circuit.output_buses, outputs).items())


def all_cases(circuit: Circuit) -> Bits:
    """Return all inputs, counted in binary, the first input most significant: (2^inputs, inputs).

    Raises:
        InputError: if there are more than 2^20.
    """
    inputs = len(circuit.inputs)
    if inputs > MOST_INPUTS_OF_ALL:
        problem = f"{inputs} inputs have 2^{inputs} cases, and at most 2^{MOST_INPUTS_OF_ALL} are gone through"
        raise _refused(circuit, problem, "check random ones with --random 1000, or certify the circuit for all of them")
    numbers = np.arange(2**inputs, dtype=np.uint32)
    return (numbers[:, None] >> np.arange(inputs - 1, -1, -1, dtype=np.uint32) & 1).astype(np.uint8)


def random_cases(circuit: Circuit, number: int, *, seed: int) -> Bits:
    """Return `number` random inputs: (number, inputs)."""
    return np.random.default_rng(seed).integers(0, 2, (number, len(circuit.inputs)), dtype=np.uint8)


def _fitting(circuit: Circuit, bus: Bus, part: str) -> int:
    """Return the number that `part` writes, if it is one and fits `bus`."""
    match = _NUMBER.fullmatch(part)
    if match is None or match.lastgroup is None:
        remedy = f"give {_wanted(circuit)}, such as 58, 0x3A or 0b111010"
        raise _refused(circuit, f"{_short(part)} is not a number", remedy)
    digits = match[match.lastgroup].lstrip("0") or "0"
    width = len(bus.nets)
    if len(digits) > width or (number := int(digits, _BASES[match.lastgroup])) >> width:
        most = f"{2**width - 1}" if width <= 64 else f"2^{width} - 1"
        problem = f"{_short(part)} does not fit {visible(bus.name)}, which has {counted(width, 'bit')}"
        raise _refused(circuit, problem, f"use at most {most}")
    return number


def _wanted(circuit: Circuit) -> str:
    """Return ``a number for each of a (8 bits), b (8 bits)``, as part of a remedy."""
    named = [f"{visible(bus.name)} ({counted(len(bus.nets), 'bit')})" for bus in circuit.buses[:_MOST_BUSES_NAMED]]
    more = len(circuit.buses) - len(named)
    return f"a number for each of {', '.join(named)}{f' and {more} more' if more else ''}"


def _short(part: str) -> str:
    return repr(part if len(part) <= 30 else f"{part[:30]}…")


def _refused(circuit: Circuit, what: str, remedy: str) -> InputError:
    return InputError(f"input of {visible(circuit.name)}: {what}: {remedy}")
