"""``paper`` and ``paper-hard``: one head with one-hot positions, Appendix A with its repairs.

The query of position i points at the operands of symbol i + 1 (repair 2), with the score c₁/2 each, or c₁ where both are
the same (repair 6); the head carries the mean a of their signs. The scratch dimensions are not those of positions
(repair 1): d = 9 + b for b positions. What is added to is the stream itself (repair 3), as in pre-LN models; there is one
ReLU (repair 4).
"""

from __future__ import annotations

from math import ceil, floor, log, sqrt

from tm2tfr.sources.circuit.compiler.layout import hard_layout, paper_layout
from tm2tfr.sources.circuit.compiler.units import Flag, gate_units, refuse_others
from tm2tfr.sources.circuit.netlist import Circuit
from tm2tfr.transformer.claims import Claim
from tm2tfr.transformer.gadgets import Transport, feed_forward, stacked
from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.residual import Linear, Residual, at
from tm2tfr.transformer.weights import Decoder, Head, Layer, Norm

DOUBT = 1e-3
"""ε*: every answer after the input has a probability above 1 - ε*."""


def paper_hard_decoder(circuit: Circuit, positions: int) -> Decoder:
    """Return the decoder without norms: signs ±1, scores 0 and 1, flags at least 1/2 apart."""
    refuse_others(circuit, "paper-hard")
    layout = hard_layout(positions)
    layer = Layer(
        name="gate",
        meaning="the mean of the operands' signs, and from it the gate's value",
        source="Appendix A, without softmax and norms",
        heads=(_head(circuit, layout, (1.0, 1.0), 1.0, [({"s": 1.0}, {"mean": 1.0})]),),
        feed_forward=feed_forward(
            layout, gate_units(circuit, 0.5, lambda value: {"one": value}, lambda value: {"zero": value})
        ),
        equation="mean = (s_j + s_k)/2;  one - zero > 0 iff the gate is 1",
    )
    return _decoder(layout, positions, layer, signs=({"s": -1.0}, {"s": 1.0}), gain=1.0)


def paper_decoder(circuit: Circuit, positions: int, epsilon: float) -> Decoder:
    """Return the decoder of Appendix A, with the constants of the paper.

    With d the width and ε its δ = 1/(5 + 2d²): c₁ = 2·ln of the least number that gives either of two operands more than
    ½ - ε of the weight, and one that is both more than 1 - 2ε, among up to b positions; c₂ = ln((1 - ε*)/ε*); both
    the next integer above (repairs 5, 6, 13).

    Args:
        epsilon: that of the layer norms. Query, value and h are scaled by what they make of the numbers that they read
            (repair 14); at 0 these are the paper's (d/4)^½ and (d/6)^½.
    """
    refuse_others(circuit, "paper")
    layout = paper_layout(positions)
    d = layout.width
    c1, c2 = paper_constants(positions)
    embedded, attended = sqrt(4 / d + epsilon), sqrt(6 / d + epsilon)
    carries: Transport = [({"s": embedded}, {"mean": 1.0}), ({"-s": embedded}, {"-mean": 1.0})]
    score = embedded * embedded * c1 / 2
    norm = Norm(gain=Matrix.from_entries((d, 1), {(n, 0): 1.0 for n in range(d)}), bias=_none(d), epsilon=epsilon)
    layer = Layer(
        name="gate",
        meaning="the mean of the operands' signs, and from it the gate's value",
        source="Appendix A (1)-(14), repairs 1-15",
        heads=(_head(circuit, layout, (score, 2 * score), c1 / 2, carries, soft=True),),
        feed_forward=feed_forward(layout, gate_units(circuit, 0.5 / attended, _flag("one"), _flag("zero"))),
        attention_norm=norm,
        feed_forward_norm=norm,
        equation="mean = (s_j + s_k)/2;  one - zero > 0 iff the gate is 1",
    )
    signs: tuple[Linear, Linear] = ({"s": -1.0, "-s": 1.0, "-1": -1.0}, {"s": 1.0, "-s": -1.0, "-1": -1.0})
    return _decoder(layout, positions, layer, signs=signs, gain=(5.0 + 2.0 * d * d) * d * d * c2, norm=norm)


def paper_constants(positions: int) -> tuple[int, int]:
    """Return c₁ and c₂ for b = `positions`, see `paper_decoder`."""
    d = 9 + positions
    stray = 1 / (5 + 2 * d * d)
    two, same = (positions - 2) * (0.5 - stray) / (2 * stray), sqrt((positions - 1) * (1 - 2 * stray) / (2 * stray))
    return floor(2 * log(max(1.0, two, same))) + 1, ceil(log((1 - DOUBT) / DOUBT)) + 1


def _flag(name: str) -> Flag:
    return lambda value: {name: value, f"-{name}": -value}


def _none(rows: int) -> Matrix:
    return Matrix.from_entries((rows, 1), {})


def _head(
    circuit: Circuit, layout: Residual, weights: tuple[float, float], gap: float, carries: Transport, *, soft: bool = False
) -> Head:
    """Return the head that attends to the operands alone.

    Args:
        weights: those of an operand in the query, and of one that is both operands; any other position has none.
        gap: by how much the score of an operand is above that of other positions, 0.
    """
    first, positions = len(circuit.inputs) - 1, range(len(circuit.inputs) - 1 + len(circuit.gates))
    query: list[dict[str, float]] = [{} for _ in positions]
    for i, gate in enumerate(circuit.gates, start=first):
        addresses = {circuit.numbers[net] for net in gate.operands}
        for address in addresses:
            query[address][at("here", str(i))] = weights[len(addresses) == 1]
    return Head(
        name="operands",
        source="Appendix A (21)-(26)",
        query=stacked(layout, query),
        key=stacked(layout, [{at("here", str(i)): 1.0} for i in positions]),
        value=stacked(layout, [read for read, _ in carries]),
        output=stacked(layout, [write for _, write in carries]).transposed,
        weighting="softmax" if soft else "average-hard",
        claim=Claim(attends="operands", gap=gap, over="constant"),
    )


def _decoder(
    layout: Residual, positions: int, layer: Layer, *, signs: tuple[Linear, Linear], gain: float, norm: Norm | None = None
) -> Decoder:
    table = {(layout.index(at("here", str(i))), i): 1.0 for i in range(positions)}
    return Decoder(
        layout=layout,
        vocabulary=("0", "1"),
        bos=None,
        stop=(),
        features=(),
        token_embedding=stacked(layout, signs).transposed,
        position_embedding=Matrix.from_entries((layout.width, 0), {}),
        position_table=Matrix.from_entries((layout.width, positions), table),
        layers=(layer,),
        unembedding=stacked(layout, [{"zero": gain}, {"one": gain}]),
        unembedding_bias=_none(2),
        norm=norm,
    )
