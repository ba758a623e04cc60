"""Random circuits for property tests."""

from __future__ import annotations

from hypothesis import strategies as st

from tm2tfr.sources.circuit.netlist import Circuit, Gate


@st.composite
def circuits(draw: st.DrawFn, *, most_inputs: int = 5, most_gates: int = 12) -> Circuit:
    """Any tables over 0 to 3 operands, which may be equal; any nets as outputs, inputs among them."""
    inputs = tuple(f"x{k}" for k in range(draw(st.integers(1, most_inputs))))
    nets, gates = list(inputs), []
    for number in range(draw(st.integers(1, most_gates))):
        operands = tuple(draw(st.lists(st.sampled_from(nets), max_size=3)))
        table = format(draw(st.integers(0, 2**2 ** len(operands) - 1)), f"0{2 ** len(operands)}b")
        gates.append(Gate(f"n{number}", table, operands))
        nets.append(f"n{number}")
    driven = draw(st.lists(st.sampled_from(nets), min_size=1, max_size=4))
    outputs = tuple((f"y{number}", net) for number, net in enumerate(driven))
    return Circuit(name="random", inputs=inputs, gates=tuple(gates), outputs=outputs)
