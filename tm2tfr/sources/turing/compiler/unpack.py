"""Step 1, Eq. 8.5: unpack the token x_i = (q_i, b_{i-1}, m_{i-1}); q, b = ⊥ (all zeros) and m = 0 for others."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from tm2tfr.sources.turing.compiler.layout import without_rules
from tm2tfr.sources.turing.spec import Machine
from tm2tfr.sources.turing.tokens import parsed
from tm2tfr.transformer.gadgets import Unit, feed_forward, gated, rectified
from tm2tfr.transformer.residual import Residual, at, total
from tm2tfr.transformer.weights import Layer


@without_rules
def unpack(layout: Residual, machine: Machine, tokens: tuple[str, ...]) -> Layer:
    """Return the layer that writes ``e_q``, ``e_b``, ``m`` and ``m/(i+1)``."""
    return Layer(
        name="unpack",
        meaning="unpack the token: state, symbol written, move",
        source="step 1, Eq. 8.5; repair 2",
        feed_forward=feed_forward(layout, unpacking(tokens)),
        equation="x_i = (q, b, m)",
    )


def unpacking(tokens: Sequence[str]) -> list[Unit]:
    """Return the units of `unpack`, for the triples among `tokens`."""
    states: defaultdict[str, list[str]] = defaultdict(list)
    symbols: defaultdict[str, list[str]] = defaultdict(list)
    moves: defaultdict[int, list[str]] = defaultdict(list)
    every = [at("e_x", token) for token in tokens]
    for token, direction in zip(tokens, every, strict=True):
        if (triple := parsed(token)) is not None:
            states[triple.state].append(direction)
            symbols[triple.symbol].append(direction)
            moves[triple.move].append(direction)
    units: list[Unit] = []
    for subspace, carriers in (("e_q", states), ("e_b", symbols)):
        for label, directions in carriers.items():
            target = at(subspace, label)
            units += rectified(target, total(directions), {target: 1})
    for move in (+1, -1):
        if carriers_of_move := moves[move]:
            units += _moved(move, carriers_of_move, every)
    return units


def _moved(move: int, carriers: Sequence[str], every: Sequence[str]) -> tuple[Unit, ...]:
    # m/(i+1) is needed because -2·h·m, with h unbounded, is not Lipschitz: only a bounded number can be gated.
    own = set(carriers)
    others = total(direction for direction in every if direction not in own)
    return (
        *rectified(f"m = {move:+d}", total(carriers), {"m": move}),
        *gated(f"m/(i+1), m = {move:+d}", {"1/(i+1)": 1}, others, {"m/(i+1)": move}),
    )
