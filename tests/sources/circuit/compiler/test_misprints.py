"""Misprints of Appendix A that change a bit: each printed form fails on a witness on which the repaired one is right.

The other rows of the list in docs/circuits/repairs.md are not here: their printed forms compute the same bits, or are text.
"""

from __future__ import annotations

from dataclasses import replace
from math import ceil, log

import numpy as np
import pytest

from tests.sources.circuit.running import PAPER, all_inputs, random_of, wrong_bits
from tm2tfr.sources.circuit.compiler import compile_circuit, paper_constants
from tm2tfr.sources.circuit.library import load
from tm2tfr.sources.circuit.netlist import Circuit, Gate
from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.residual import Residual, Subspace
from tm2tfr.transformer.weights import Decoder, Norm, matrices, replaced

NOR = random_of(("1000",), inputs=2, gates=12, seed=0)
FF = "layers.1.feed_forward"


def times(decoder: Decoder, factors: dict[str, float]) -> Decoder:
    found = matrices(decoder)
    scaled = {p: Matrix(found[p].shape, found[p].rows, found[p].columns, found[p].values * f) for p, f in factors.items()}
    return replaced(decoder, scaled)


def unshut(decoder: Decoder) -> Decoder:
    """The units of NOR as printed: the same at every position."""
    matrix, first = matrices(decoder)[f"{FF}.input"], decoder.layout["here"].start
    keep = matrix.columns < first
    return replaced(
        decoder, {f"{FF}.input": Matrix(matrix.shape, matrix.rows[keep], matrix.columns[keep], matrix.values[keep])}
    )


def folded(decoder: Decoder) -> Decoder:
    """The stream as printed, d = 3 + b: dimensions 4 to 9 are also the positions 1 to 6; the scales follow d."""
    d, positions = decoder.layout.width, decoder.positions or 0
    narrow = 3 + positions
    new = np.array([0, 1, 2, 3, 4, 5, 6, 7, 8, *range(3, narrow)])

    def moved(matrix: Matrix, axis: int) -> Matrix:
        array = matrix.dense()
        total = np.zeros((narrow, array.shape[1]) if axis == 0 else (array.shape[0], narrow))
        np.add.at(total if axis == 0 else total.T, new, array if axis == 0 else array.T)
        return Matrix.from_dense(total)

    layer = decoder.layers[0]
    head, after = layer.heads[0], layer.feed_forward
    assert after is not None
    ones = Norm(gain=Matrix.from_dense(np.ones((narrow, 1))), bias=Matrix.from_entries((narrow, 1), {}))
    layer = replace(
        layer,
        heads=(
            replace(
                head,
                query=moved(head.query, 1),
                key=moved(head.key, 1),
                value=moved(head.value, 1),
                output=moved(head.output, 0),
            ),
        ),
        feed_forward=replace(
            after, input=moved(after.input, 1), output=moved(after.output, 0), output_bias=moved(after.output_bias, 0)
        ),
        attention_norm=ones,
        feed_forward_norm=ones,
    )
    table = decoder.position_table
    assert table is not None
    whole = replace(
        decoder,
        layout=Residual(tuple(Subspace(f"dimension {n + 1}") for n in range(narrow))),
        token_embedding=moved(decoder.token_embedding, 0),
        position_embedding=Matrix.from_entries((narrow, 0), {}),
        position_table=moved(table, 0),
        layers=(layer,),
        unembedding=moved(decoder.unembedding, 1),
        norm=ones,
    )
    ratio = d / narrow
    scales = {"layers.1.heads.0.query": ratio, "layers.1.heads.0.value": ratio**0.5, f"{FF}.input_bias": ratio**-0.5}
    return times(whole, scales)


def outside_the_norm(decoder: Decoder) -> Decoder:
    """Residual (9): h_ln1 instead of h_emb is added to; the same as an embedding that is larger by √(d/4).

    The variance of what the second norm reads is then 1 + 2a²/d, and h, half of what it makes of 1, follows it.
    """
    d = decoder.layout.width
    factor, half = (d / 4) ** 0.5, (6 / (d + 2)) ** 0.5
    return times(decoder, {"token_embedding": factor, "position_table": factor, f"{FF}.input_bias": half})


def with_epsilon(decoder: Decoder, epsilon: float) -> Decoder:
    layer, norm = decoder.layers[0], decoder.norm
    assert norm is not None
    changed = replace(norm, epsilon=epsilon)
    layers = (replace(layer, attention_norm=changed, feed_forward_norm=changed),)
    return replace(decoder, layers=layers, norm=changed)


@pytest.mark.parametrize("inputs", [2, 3])
def test_row_1_scratch_dimensions_are_those_of_positions(inputs: int) -> None:
    wrong = 0
    for seed in range(3):
        circuit = random_of(("1000",), inputs, gates=12, seed=seed)
        repaired = unshut(compile_circuit(circuit, "paper"))
        assert wrong_bits(repaired, circuit, all_inputs(circuit)) == 0
        wrong += wrong_bits(folded(repaired), circuit, all_inputs(circuit))
    assert wrong > 0


def test_row_1_is_harmless_from_five_inputs_on() -> None:
    circuit = random_of(("1000",), inputs=5, gates=12, seed=0)
    assert wrong_bits(folded(unshut(compile_circuit(circuit, "paper"))), circuit, all_inputs(circuit)) == 0


def test_row_2_queries_by_dimension_fetch_the_operands_of_a_later_symbol() -> None:
    repaired = compile_circuit(NOR, "paper")
    query, first = matrices(repaired)["layers.1.heads.0.query"], repaired.layout["here"].start
    keep = query.columns - 2 >= first
    printed = Matrix(query.shape, query.rows[keep], query.columns[keep] - 2, query.values[keep])
    assert wrong_bits(repaired, NOR, all_inputs(NOR)) == 0
    decoder = replaced(repaired, {"layers.1.heads.0.query": printed})
    assert all(wrong_bits(decoder, NOR, [bits]) > 0 for bits in all_inputs(NOR))


def test_row_3_the_residual_of_the_definition_is_another_network_that_is_right_once_row_1_is_repaired() -> None:
    circuit = random_of(("1000",), inputs=4, gates=12, seed=1)
    repaired = unshut(compile_circuit(circuit, "paper"))
    assert wrong_bits(outside_the_norm(repaired), circuit, all_inputs(circuit)) == 0


def test_rows_5_and_6_a_sharpness_of_0_at_the_second_position() -> None:
    """As printed c₁ = 2·ln(i - 2)… has no value at i = 2; at least 1 as its argument gives c₁ = 0, uniform attention."""
    circuit = Circuit(name="not", inputs=("a", "b"), gates=(Gate("y", "1000", ("a", "a")),), outputs=(("y", "y"),))
    repaired = compile_circuit(circuit, "paper")
    assert wrong_bits(repaired, circuit, all_inputs(circuit)) == 0
    assert wrong_bits(times(repaired, {"layers.1.heads.0.query": 0.0}), circuit, all_inputs(circuit)) > 0


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_row_14_an_epsilon_of_the_norms_that_is_not_made_up_for(epsilon: float) -> None:
    """With 1e-5 this takes 260,000 positions; εd is what counts."""
    circuit = load("binary-adder", bits=3)
    inputs = all_inputs(circuit)[::3]
    assert wrong_bits(compile_circuit(circuit, "paper", epsilon=epsilon), circuit, inputs) == 0
    assert wrong_bits(with_epsilon(compile_circuit(circuit, "paper"), epsilon), circuit, inputs) > 0


def test_row_15_units_that_do_not_see_the_position_compute_one_kind_of_gate() -> None:
    circuit = random_of(PAPER, inputs=3, gates=15, seed=2)
    repaired = compile_circuit(circuit, "paper")
    assert wrong_bits(repaired, circuit, all_inputs(circuit)) == 0
    assert wrong_bits(unshut(repaired), circuit, all_inputs(circuit)) > 0


def test_row_20_an_epsilon_star_above_a_half_inverts_every_bit() -> None:
    """As printed c₂ = ⌈ln((1 - ε*)/ε*)⌉ is -2 at ε* = 0.9, and 0 at one half, where both logits are 0."""
    repaired = compile_circuit(NOR, "paper", epsilon_star=0.9)
    c2 = paper_constants(repaired.positions or 0, 0.9)[1]
    inputs = all_inputs(NOR)
    assert (c2, wrong_bits(repaired, NOR, inputs)) == (1, 0)
    for epsilon_star, printed in ((0.9, -2), (0.5, 0)):
        assert ceil(log((1 - epsilon_star) / epsilon_star)) == printed
        assert wrong_bits(times(repaired, {"unembedding": printed / c2}), NOR, inputs) > 0
