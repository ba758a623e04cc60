"""``lookup``: three heads fetch the operands by their positions, eight ReLU units look their value up in the truth table.

The position table says, for the gate whose bit position i answers, where its operands are and what its truth table is. All
other weights are the same for every circuit.
"""

from __future__ import annotations

from tm2tfr.sources.circuit.compiler.paper import CASES, FEATURES, OPERANDS, TRUTH, VALUES, lookup_layout
from tm2tfr.sources.circuit.netlist import Circuit, Gate
from tm2tfr.transformer.gadgets import Unit, feed_forward, lookup, stacked
from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.residual import Residual
from tm2tfr.transformer.weights import Decoder, Head, Layer

TOKENS = ("0", "1")


def lookup_decoder(circuit: Circuit, positions: int) -> Decoder:
    """Return the decoder that answers the bit of symbol i + 1 at each position i from the last input on."""
    layout = lookup_layout()
    return Decoder(
        layout=layout,
        vocabulary=TOKENS,
        bos=None,
        stop=(),
        features=FEATURES,
        token_embedding=stacked(layout, [{}, {"x": 1.0}]).transposed,
        position_embedding=stacked(layout, [{feature: 1.0} for feature in FEATURES]).transposed,
        position_table=_position_table(circuit, layout, positions),
        layers=(_layer(layout),),
        unembedding=stacked(layout, [{}, {"y": 2.0}]),
        unembedding_bias=Matrix.from_entries((2, 1), {(0, 0): 1.0}),
    )


def _layer(layout: Residual) -> Layer:
    return Layer(
        name="gate",
        meaning="the bits of the operands, and the gate's value by its truth table",
        source="lookup by position, Eq. 8.8; truth table of the gate",
        heads=tuple(_operand(layout, operand, value) for operand, value in zip(OPERANDS, VALUES, strict=True)),
        feed_forward=feed_forward(layout, map(_unit, CASES)),
        equation="y = t_{x_a x_b x_c},  x_p = bit at position p",
    )


def _operand(layout: Residual, operand: str, value: str) -> Head:
    """Return the head that fetches one operand: score ``2pj - j²``, highest at j = p by 1."""
    return lookup(
        layout,
        f"operand {operand}",
        "Eq. 8.8",
        scaled={operand: 1.0},
        inverse="1",
        carries=[({"x": 1.0}, {value: 1.0})],
        attends=operand,
        constant=True,
    )


def _unit(case: str) -> Unit:
    """Return the unit of one case of the operands: ReLU(m - 3 + t) where m of them match, so t if all do, otherwise 0."""
    reads = {value: 1.0 if bit == "1" else -1.0 for value, bit in zip(VALUES, case, strict=True)}
    return Unit(f"case {case}", {**reads, f"t{case}": 1.0}, {"y": 1.0}, bias=-float(case.count("1")))


def _position_table(circuit: Circuit, layout: Residual, positions: int) -> Matrix:
    """Return the table whose column i describes the gate of symbol i + 1; those before the last input are 0."""
    entries: dict[tuple[int, int], float] = {}
    directions = [layout.index(name) for name in (*OPERANDS, *TRUTH)]
    for column, gate in enumerate(circuit.gates, start=len(circuit.inputs) - 1):
        row = (*_addresses(gate, circuit), *map(int, _widened(gate)))
        entries.update({(at, column): float(value) for at, value in zip(directions, row, strict=True) if value})
    return Matrix.from_entries((layout.width, positions), entries)


def _addresses(gate: Gate, circuit: Circuit) -> tuple[int, ...]:
    """Return the positions of three operands: the last one again for those that are missing, 0 if there is none."""
    found = [circuit.numbers[net] for net in gate.operands] or [0]
    return (*found, *found[-1:] * (len(OPERANDS) - len(found)))


def _widened(gate: Gate) -> str:
    """Return the truth table as one of three operands, of which it ignores those that are missing."""
    return "".join(bit * (len(CASES) // len(gate.table)) for bit in gate.table)
