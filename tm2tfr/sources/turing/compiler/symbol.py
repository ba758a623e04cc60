"""Eq. 8.18: the symbol under the head is the latest write, else the input symbol, else the blank."""

from __future__ import annotations

from tm2tfr.sources.turing.compiler.layout import without_rules
from tm2tfr.sources.turing.spec import Machine
from tm2tfr.transformer.gadgets import Unit, conjunction, feed_forward, rectified
from tm2tfr.transformer.residual import Residual, at, total
from tm2tfr.transformer.weights import Layer


@without_rules
def symbol(layout: Residual, machine: Machine) -> Layer:
    """Return the layer that writes ``e_a``.

    With f = [h_{j*-1} = h], w = [b_{j*-1} ≠ ⊥] and u = [x_h ∈ Σ], and since "x and not (f and w)" is
    x - (x and f and w) for bits:

        a = b_{j*-1}  where f and w;   a = x_h  where u and not (f and w);   a = blank  where neither.

    The flag f has a ReLU layer of its own (repair 9), so it is available here.
    """
    found = {"[h_{j*-1}=h]": 1.0}
    written = total(at("e_b(j*-1)", b) for b in machine.tape_alphabet)
    sigma = machine.input_alphabet or ()
    anything = total(at("e_x(h)", a) for a in sigma)
    blank = at("e_a", machine.blank)
    units: list[Unit] = []
    for b in machine.tape_alphabet:
        units += conjunction(f"written {b}", [found, {at("e_b(j*-1)", b): 1.0}], {at("e_a", b): 1.0})
    for a in sigma:
        given, target = {at("e_x(h)", a): 1.0}, at("e_a", a)
        units += rectified(f"input {a}", given, {target: 1.0})
        units += conjunction(f"input {a}, overwritten", [given, found, written], {target: -1.0})
    # blank = not (f and w) and not u = 1 - (f and w) - u + (u and f and w)
    units.append(Unit("blank", {}, {blank: 1.0}, bias=1.0))
    units += conjunction("blank, overwritten", [found, written], {blank: -1.0})
    if sigma:
        units += rectified("blank, input", anything, {blank: -1.0})
        units += conjunction("blank, input overwritten", [anything, found, written], {blank: 1.0})
    return Layer(
        name="symbol",
        meaning="the symbol under the head: the latest write, else the input, else blank",
        source="step 3, Eq. 8.18; repair 9",
        feed_forward=feed_forward(layout, units),
        equation="a = b_{j*-1} if h_{j*-1} = h, else x_h, else blank",
    )
