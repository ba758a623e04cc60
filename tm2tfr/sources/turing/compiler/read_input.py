"""Step 3, first half, Eqs. 8.8-8.14: look up position h_i, which has the number h_i and the input symbol."""

from __future__ import annotations

from tm2tfr.sources.turing.compiler.head_position import BEFORE, HERE
from tm2tfr.sources.turing.compiler.layout import Boundary, without_rules
from tm2tfr.sources.turing.spec import Machine
from tm2tfr.transformer.gadgets import Transport, Unit, feed_forward, is_zero, lookup, unless
from tm2tfr.transformer.residual import Linear, Residual, at
from tm2tfr.transformer.weights import Head, Layer


@without_rules
def read_input(layout: Residual, machine: Machine, boundary: Boundary) -> Layer:
    """Return the layer that writes ``h``, ``h^2``, ``e_x(h)``, ``h_{i-1}`` and ``h_{i-1}^2``.

    ``e_x(h)`` is kept on the input symbols only: it is 0 where x_h is BOS or a triple, which is all that (8.18)
    requires. With the left-boundary repair the layer also writes ``[h=0]``.
    """
    two_way = machine.tape == "two-way"
    heads = lookups(layout, two_way, input_symbols(machine, "e_x(h+)" if two_way else "e_x(h)"))
    units = kept(machine) if two_way else []
    if boundary == "repaired":
        units += is_zero("[h=0]", "h", {"[h=0]": 1})
    return Layer(
        name="read input",
        meaning="from h/(i+1) to h itself, and the input symbol of that cell, by looking up position h",
        source="step 3, Eqs. 8.8-8.14; repair 2" + {"repaired": "; repair 4", "none": "; repair 5"}.get(boundary, ""),
        heads=heads,
        feed_forward=feed_forward(layout, units) if units else None,
        equation="h = argmax_j (2h·j − j^2)/(i+1)",
    )


def lookups(layout: Residual, two_way: bool, symbols: Transport = ()) -> tuple[Head, ...]:
    """Return the heads that look up the positions h_i and h_{i-1} for their numbers and squares.

    Args:
        symbols: the further values that the first of them carries; it attends to position h_i, or 0 if that is negative.
    """
    return _two_way(layout, symbols) if two_way else _one_way(layout, symbols)


def kept(machine: Machine) -> list[Unit]:
    """Return the units that write ``e_x(h)``: ``e_x(h+)``, but nothing left of 0 (repair 5)."""
    units: list[Unit] = []
    for a in machine.input_alphabet or ():
        here = {at("e_x(h)", a): 1.0}
        units += unless(f"e_x(h)[{a}] unless h < 0", {at("e_x(h+)", a): 1}, "h-", here)
    return units


def _one_way(layout: Residual, symbols: Transport) -> tuple[Head, ...]:
    here = [*_number("h"), *symbols]
    return (
        lookup(layout, "cell h", "Eq. 8.8", scaled=HERE, carries=here, attends="h"),
        lookup(layout, "cell h_{i-1}", "Eq. 8.11, repair 2", scaled=BEFORE, carries=_number("h_{i-1}"), attends="h_{i-1}"),
    )


def _two_way(layout: Residual, symbols: Transport) -> tuple[Head, ...]:
    # h = h⁺ - h⁻ and one of the two is 0: looked up separately, the numbers and the squares simply add up.
    here, before = [*_number("h"), *symbols], _number("h_{i-1}")
    left = [*_number("h", sign=-1), ({"i": 1.0}, {"h-": 1.0})]
    repair = "repair 5"
    return (
        lookup(layout, "cell h+", f"Eq. 8.8, {repair}", scaled={"h+/(i+1)": 1}, carries=here, attends="h+"),
        lookup(layout, "cell h-", f"Eq. 8.8, {repair}", scaled={"h-/(i+1)": 1}, carries=left, attends="h-"),
        lookup(
            layout, "cell h_{i-1}+", f"Eq. 8.11, {repair}", scaled={"h_{i-1}+/(i+1)": 1}, carries=before, attends="h_{i-1}+"
        ),
        lookup(
            layout,
            "cell h_{i-1}-",
            f"Eq. 8.11, {repair}",
            scaled={"h_{i-1}-/(i+1)": 1},
            carries=_number("h_{i-1}", sign=-1),
            attends="h_{i-1}-",
        ),
    )


def _number(name: str, sign: int = +1) -> list[tuple[Linear, Linear]]:
    return [({"i": 1.0}, {name: float(sign)}), ({"i^2": 1.0}, {f"{name}^2": 1.0})]


def input_symbols(machine: Machine, target: str) -> list[tuple[Linear, Linear]]:
    """Return the value map of a head that brings the input symbol of a position to the subspace `target`."""
    return [({at("e_x", a): 1.0}, {at(target, a): 1.0}) for a in machine.input_alphabet or ()]
