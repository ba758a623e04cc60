"""The residual streams of the variants, by name; what a subspace holds is what it is called."""

from __future__ import annotations

from itertools import product

from tm2tfr.transformer.residual import Residual, Subspace

FEATURES = ("1", "i", "i^2")
OPERANDS = ("a", "b", "c")
"""The addresses of the operands: positions."""
VALUES = tuple(f"x_{operand}" for operand in OPERANDS)
"""The bits at these positions."""
CASES = tuple("".join(bits) for bits in product("01", repeat=len(OPERANDS)))
"""The values that the operands can have, in the order of truth tables: ``000`` … ``111``."""
TRUTH = tuple(f"t{case}" for case in CASES)
"""The bits of the truth table of the next gate."""


def lookup_layout() -> Residual:
    """Return the residual stream of ``lookup``: 19 numbers, whatever the circuit."""
    names = ("x", *FEATURES, *OPERANDS, *TRUTH, *VALUES, "y")
    return Residual(tuple(Subspace(name, holds=name) for name in names))


def hard_layout(positions: int) -> Residual:
    """Return the residual stream of ``paper-hard``: the sign of the bit, the mean, two flags, and one-hot positions."""
    return _one_hot(("s", "mean", "one", "zero"), positions)


def paper_layout(positions: int) -> Residual:
    """Return the residual stream of ``paper``: dimensions 1 to 9 of Appendix A, then positions of their own (repair 1)."""
    return _one_hot(("s", "-s", "-1", "mean", "-mean", "one", "zero", "-one", "-zero"), positions)


def _one_hot(names: tuple[str, ...], positions: int) -> Residual:
    here = Subspace("here", tuple(map(str, range(positions))), holds="here")
    return Residual((*(Subspace(name, holds=name) for name in names), here))
