"""Step 2, Eqs. 8.6-8.7: the head position as the sum of the moves, by uniform attention."""

from __future__ import annotations

from tm2tfr.sources.turing.compiler.layout import without_rules
from tm2tfr.sources.turing.spec import Machine
from tm2tfr.transformer.gadgets import Unit, feed_forward, mean, rectified
from tm2tfr.transformer.residual import Linear, Residual
from tm2tfr.transformer.weights import Head, Layer

HERE: Linear = {"h/(i+1)": 1}
BEFORE: Linear = {"h/(i+1)": 1, "m/(i+1)": -1}
"""h_{i-1}/(i+1) = h_i/(i+1) - m_{i-1}/(i+1): bounded, so no product of h and m is needed (repair 2)."""


@without_rules
def head_position(layout: Residual, machine: Machine) -> Layer:
    """Return the layer that writes ``h/(i+1)`` and, on a two-way tape, its positive and negative parts.

    The mean of m_{-1} … m_{i-1} over the i+1 positions j ≤ i is h_i/(i+1), since h_i is their sum.
    """
    units = halves() if machine.tape == "two-way" else []
    return Layer(
        name="head position",
        meaning="where the head is: the mean of all moves so far is h/(i+1)",
        source="step 2, Eqs. 8.6-8.7" + ("; repair 5" if units else ""),
        heads=(sum_of_moves(layout),),
        feed_forward=feed_forward(layout, units) if units else None,
        equation="h/(i+1) = 1/(i+1) · Σ_{j≤i} m_{j-1}",
    )


def sum_of_moves(layout: Residual) -> Head:
    """Return the head that writes ``h/(i+1)``."""
    return mean(layout, "sum of moves", "Eq. 8.6", [({"m": 1}, {"h/(i+1)": 1})], attends="all")


def halves() -> list[Unit]:
    """Return the units that write the positive and negative parts of h_i/(i+1) and h_{i-1}/(i+1) (repair 5)."""
    units: list[Unit] = []
    for name, value in (("h", HERE), ("h_{i-1}", BEFORE)):
        units += rectified(f"{name}+/(i+1)", value, {f"{name}+/(i+1)": 1})
        negative = {direction: -coefficient for direction, coefficient in value.items()}
        units += rectified(f"{name}-/(i+1)", negative, {f"{name}-/(i+1)": 1})
    return units
