"""A circuit in other formats: those that can also be read, Verilog, drawings, and LaTeX."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tm2tfr.errors import ConversionError, OutputError, did_you_mean
from tm2tfr.sources.circuit.drawing import to_dot, to_mermaid
from tm2tfr.sources.circuit.formats import registry
from tm2tfr.sources.circuit.latex import gate_table, tikz
from tm2tfr.sources.circuit.netlist import Circuit

_PICTURES: Mapping[str, tuple[Callable[[Circuit], str], tuple[str, ...]]] = {
    "mermaid": (to_mermaid, (".mmd",)),
    "dot": (to_dot, (".dot", ".gv")),
    "tikz": (tikz, (".tikz",)),
    "latex": (gate_table, (".tex",)),
}
CIRCUIT_TARGETS = (*registry.CIRCUIT_WRITABLE, *_PICTURES)
"""Everything that a circuit is written in."""


@dataclass(frozen=True)
class WrittenCircuit:
    """A circuit in a format: its text, or its bytes, and what the reader should know about the translation."""

    text: str | bytes
    notes: tuple[str, ...] = ()


def convert(circuit: Circuit, format: str) -> WrittenCircuit:
    """Return `circuit` in a format.

    Raises:
        ConversionError: if there is no such format, or it cannot express the circuit: then with the reason.
    """
    if format in _PICTURES:
        return WrittenCircuit(_PICTURES[format][0](circuit))
    if format not in CIRCUIT_TARGETS:
        what = f"circuits cannot be written as {format!r}{did_you_mean(str(format), CIRCUIT_TARGETS)}"
        raise ConversionError(f"{what}: use one of {', '.join(CIRCUIT_TARGETS)}")
    return WrittenCircuit(registry.write(circuit, format))


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
