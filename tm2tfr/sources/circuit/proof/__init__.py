"""Proofs, from the weights, that a decoder generates the bits of a circuit for every input."""

from tm2tfr.sources.circuit.proof.certificate import CircuitCertificate, CircuitProof, prove
from tm2tfr.sources.circuit.proof.stream import CircuitRefusal

__all__ = ["CircuitCertificate", "CircuitProof", "CircuitRefusal", "prove"]
