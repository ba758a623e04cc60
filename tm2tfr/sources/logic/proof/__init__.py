"""Proofs, from the weights of a formula or a program, that its heads are tieless and that rounding changes nothing."""
