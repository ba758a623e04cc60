"""From a Boolean circuit to a decoder with one layer, in three variants."""

from tm2tfr.sources.circuit.compiler.compiler import compile_circuit

__all__ = ["compile_circuit"]
