"""Step 3, second half, Eqs. 8.15-8.17: attend to the latest write of the cell under the head."""

from __future__ import annotations

from tm2tfr.sources.turing.compiler.layout import without_rules
from tm2tfr.sources.turing.spec import Machine
from tm2tfr.transformer.gadgets import equal, feed_forward, latest
from tm2tfr.transformer.residual import Linear, Residual, at
from tm2tfr.transformer.weights import Layer


@without_rules
def read_tape(layout: Residual, machine: Machine) -> Layer:
    """Return the layer that writes ``h_{j*-1}``, ``e_b(j*-1)`` and ``[h_{j*-1}=h]``.

    Token x_j carries the write b_{j-1} to cell h_{j-1}; j* ≤ i is the latest j with h_{j-1} = h_i. Where no such
    j exists, the head finds another cell's write, and the flag stays 0. Then there is only one nearest cell: the cells
    visited are contiguous, so they all lie to one side. So in any case the head has the gap that `latest` states.
    """
    symbols: list[tuple[Linear, Linear]] = [({at("e_b", b): 1.0}, {at("e_b(j*-1)", b): 1.0}) for b in machine.tape_alphabet]
    retrieve = latest(
        layout,
        "latest write",
        "Eq. 8.15",
        wanted="h",
        key=("h_{i-1}", "h_{i-1}^2"),
        carries=[({"h_{i-1}": 1.0}, {"h_{j*-1}": 1.0}), *symbols],
        attends="j*",
    )
    return Layer(
        name="read tape",
        meaning="the latest write of the cell under the head, and whether there was one",
        source="step 3, Eqs. 8.15-8.17",
        heads=(retrieve,),
        feed_forward=feed_forward(layout, equal("h_{j*-1} = h", "h_{j*-1}", "h", "[h_{j*-1}=h]")),
        equation="j* = argmax_j 2h·h_{j-1} − h_{j-1}^2 + j/(2(i+1))",
    )
