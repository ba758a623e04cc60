"""From a circuit to a decoder: a token a gate, one layer, in the variant that is asked for."""

from __future__ import annotations

from dataclasses import replace

from tm2tfr.choices import CIRCUIT, CIRCUIT_VARIANTS
from tm2tfr.errors import CompileError, did_you_mean, visible
from tm2tfr.sources.circuit.compiler.lookup import lookup_decoder
from tm2tfr.sources.circuit.compiler.paper import paper_decoder, paper_hard_decoder
from tm2tfr.sources.circuit.netlist import Circuit
from tm2tfr.transformer.provenance import stated
from tm2tfr.transformer.weights import Decoder

_MOST_EPSILON = 1e6
_MOST_ONE_HOT = 10_000
"""The most positions as one-hot vectors: the dense engine keeps their square, and takes minutes for a run."""


def compile_circuit(circuit: Circuit, variant: str = "lookup", *, epsilon: float = 0.0, source: str = "") -> Decoder:
    """Return the decoder that generates the bits of `circuit`, in the order of its gates, from those of its inputs.

    With n inputs and g gates it has n + g - 1 positions; position i ≥ n - 1 answers the bit of symbol i + 1.

    Args:
        variant: see `tm2tfr.choices.CIRCUIT_VARIANTS`. The paper's take the gates NOR, AND and XOR of two operands alone.
        epsilon: that of the layer norms of ``paper``; the weights make up for it (repair 14).
        source: the text that the circuit was read from, for the provenance.

    Raises:
        CompileError: for an unknown variant, an epsilon without layer norms, or gates that the variant does not have.
    """
    name, positions = visible(circuit.name), len(circuit.inputs) + len(circuit.gates) - 1
    if variant not in CIRCUIT_VARIANTS:
        close = did_you_mean(str(variant), CIRCUIT_VARIANTS)
        raise CompileError(f"unknown variant {variant!r}{close}: use {', '.join(CIRCUIT_VARIANTS)}")
    number = isinstance(epsilon, int | float) and not isinstance(epsilon, bool)
    if not number or not 0 <= epsilon <= _MOST_EPSILON:
        raise CompileError(
            f"{name}: epsilon must be a number from 0 to {_MOST_EPSILON:g}, not {epsilon!r}: use for example 1e-5"
        )
    if variant != "lookup" and positions > _MOST_ONE_HOT:
        what = f"variant {variant} has a direction for each position, and {positions:,} are more than {_MOST_ONE_HOT:,}"
        raise CompileError(f"{name}: {what}: use the variant lookup")
    if epsilon and variant != "paper":
        raise CompileError(f"{name}: variant {variant} has no layer norms: omit epsilon, or use the variant paper")
    if variant == "lookup":
        decoder = lookup_decoder(circuit, positions)
    elif variant == "paper-hard":
        decoder = paper_hard_decoder(circuit, positions)
    else:
        decoder = paper_decoder(circuit, positions, epsilon)
    options = {"variant": variant, **({"epsilon": repr(float(epsilon))} if epsilon else {})}
    return replace(decoder, provenance=stated(CIRCUIT, source=source or circuit.source, name=circuit.name, options=options))
