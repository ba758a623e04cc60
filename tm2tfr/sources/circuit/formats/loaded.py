"""The value that every reader of a circuit's format returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePath

from tm2tfr.errors import Diagnostic
from tm2tfr.sources.circuit.netlist import Circuit


@dataclass(frozen=True, kw_only=True)
class CircuitExample:
    """What a document promises about its circuit: with these input bits, these outputs.

    Args:
        input: the input bits as text, in the order of the circuit's inputs.
        outputs: the name of an output -> its bit; outputs that are left out may be anything.
    """

    input: str
    outputs: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class LoadedCircuit:
    """A circuit, warnings about what its author may not have meant, and the examples of its document."""

    circuit: Circuit
    warnings: tuple[Diagnostic, ...] = ()
    examples: tuple[CircuitExample, ...] = ()


def stem(file: str) -> str:
    """Return the name of a circuit that does not give its own: that of its file."""
    return "circuit" if file.startswith("<") else PurePath(file).stem or "circuit"
