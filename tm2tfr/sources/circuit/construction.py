"""The constructions of Section 4 and Appendix A of the paper: what everything else knows of Boolean circuits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tm2tfr.choices import CIRCUIT as NAME
from tm2tfr.contract import Construction, Truth
from tm2tfr.sources.circuit.formats import native, registry
from tm2tfr.sources.circuit.inputs import read_input
from tm2tfr.sources.circuit.netlist import Circuit
from tm2tfr.transformer.provenance import option
from tm2tfr.transformer.weights import Decoder


def _compile(circuit: Circuit, options: Mapping[str, Any]) -> Decoder:
    from tm2tfr.sources.circuit.compiler import compile_circuit

    variant, epsilon = options.get("variant", "lookup"), options.get("epsilon", 0.0)
    return compile_circuit(circuit, variant, epsilon=epsilon, source=native.write(circuit))


def _truth(circuit: Circuit, bits: str, decoder: Decoder, max_steps: int | None) -> Truth:
    from tm2tfr.sources.circuit.truth import CircuitTruth

    said = decoder.provenance
    return CircuitTruth(circuit, bits, option(said, "variant") or "lookup", float(option(said, "epsilon") or 0))


def _read(text: str, file: str) -> Circuit:
    return registry.read(text, file=file, format="yaml").circuit


def _own_input(circuit: Circuit) -> str:
    return "0" * len(circuit.inputs)


CONSTRUCTION = Construction(
    name=NAME,
    noun="circuit",
    type=Circuit,
    options={
        "variant": "a variant says how a decoder finds the operands of a circuit's gates",
        "basis": "a basis is that of a circuit's gates",
        "epsilon": "an epsilon is that of the layer norms of a circuit's decoder",
    },
    compile=_compile,
    truth=_truth,
    read=_read,
    own_input=_own_input,
    given=read_input,
)
