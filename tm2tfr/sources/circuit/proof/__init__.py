"""Proofs, from the weights, that a decoder generates the bits of a circuit for every input."""
