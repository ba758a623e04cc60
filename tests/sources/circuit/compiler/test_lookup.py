"""``lookup``: any gate over at most three operands in one token, by weights that are the same for every circuit."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from tests.sources.circuit.running import all_inputs, circuits, generated, watched, wrong_bits
from tm2tfr.engines import engine
from tm2tfr.sources.circuit.compiler import compile_circuit
from tm2tfr.sources.circuit.library import load
from tm2tfr.sources.circuit.netlist import Circuit, Gate
from tm2tfr.sources.circuit.truth import CircuitTruth
from tm2tfr.transformer.claims import Claim
from tm2tfr.transformer.weights import digest, matrices

ADDER = load("full-adder")
MIXED = Circuit(
    name="mixed",
    inputs=("a", "b"),
    gates=(
        Gate("one", "1"),
        Gate("not", "10", ("a",)),
        Gate("and-not", "0010", ("a", "b")),
        Gate("mux", "00110101", ("not", "and-not", "one")),
        Gate("same", "0110", ("b", "b")),
    ),
    outputs=(("y", "mux"),),
)


def test_the_weights_are_71_numbers_beside_the_table() -> None:
    decoder = compile_circuit(ADDER)
    assert {path: matrix.nonzero for path, matrix in matrices(decoder).items() if path != "position_table"} == {
        "token_embedding": 1,
        "position_embedding": 3,
        "unembedding": 1,
        "unembedding_bias": 1,
        **{f"layers.1.heads.{k}.{name}": 2 for k in range(3) for name in ("query", "key")},
        **{f"layers.1.heads.{k}.{name}": 1 for k in range(3) for name in ("value", "output")},
        "layers.1.feed_forward.input": 32,
        "layers.1.feed_forward.input_bias": 7,
        "layers.1.feed_forward.output": 8,
        "layers.1.feed_forward.output_bias": 0,
    }
    assert decoder.nonzero - matrices(decoder)["position_table"].nonzero == 71
    assert (decoder.layout.width, decoder.heads, decoder.hidden, len(decoder.layers)) == (19, 3, 8, 1)
    assert (decoder.bos, decoder.stop, decoder.vocabulary, decoder.positions) == (None, (), ("0", "1"), 4)
    assert [head.claim for head in decoder.layers[0].heads] == [
        Claim(attends=operand, gap=1, lookup=True, over="constant") for operand in "abc"
    ]


def test_they_are_the_same_for_every_circuit() -> None:
    compiled = [compile_circuit(load(name)) for name in ("half-adder", "full-adder", "c17", "multiplier", "parity")]
    assert len({digest(decoder, without=("position_table",)) for decoder in compiled}) == 1
    assert len({digest(decoder) for decoder in compiled}) == len(compiled)


def test_the_table_is_the_circuit() -> None:
    table = compile_circuit(MIXED).position_table
    assert table is not None
    rows = table.dense()[[4, 5, 6, *range(7, 15)]].astype(int).T.tolist()
    assert rows == [
        [0] * 11,  # position 0 answers no gate
        [0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1],
        [0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0],
        [0, 1, 1, 0, 0, 0, 0, 1, 1, 0, 0],
        [3, 4, 2, 0, 0, 1, 1, 0, 1, 0, 1],
        [1, 1, 1, 0, 0, 1, 1, 1, 1, 0, 0],
    ]


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(circuit=circuits())
def test_any_circuit_is_right_on_every_engine(circuit: Circuit) -> None:
    decoder, inputs = compile_circuit(circuit), all_inputs(circuit)
    assert wrong_bits(decoder, circuit, inputs[:8]) == 0
    assert wrong_bits(decoder, circuit, inputs[:4], engine("dense", dtype="float32")) == 0
    assert wrong_bits(decoder, circuit, inputs[:2], engine("exact")) == 0


@pytest.mark.parametrize("circuit", [ADDER, MIXED, load("c17")], ids=lambda circuit: circuit.name)
def test_every_stream_and_every_head_is_what_the_specification_says(circuit: Circuit) -> None:
    decoder = compile_circuit(circuit)
    for bits in all_inputs(circuit):
        specification = CircuitTruth(circuit, bits).specification(0)
        for i, seen in enumerate(watched(decoder, circuit, bits)):
            for layer, part, stream in seen.stages:
                assert stream.tolist() == specification.stream(decoder.layout, i, layer, part)
            for k, where in enumerate("abc"):
                assert seen.heads[0, k][1].tolist() == list(specification.attended(where, i))


@pytest.mark.slow
@pytest.mark.parametrize("path", ["position_table", "layers.1.heads.1.query", "layers.1.feed_forward.input_bias"])
def test_wrong_weights_are_wrong_alike_on_every_engine(path: str) -> None:
    from tm2tfr.transformer.weights import replaced

    circuit = load("binary-adder", bits=3)
    decoder = compile_circuit(circuit)
    matrix = matrices(decoder)[path]
    row, column = int(matrix.rows[-1]), int(matrix.columns[-1])
    broken = replaced(decoder, {path: matrix.with_entry(row, column, 0.0)})
    inputs = all_inputs(circuit)[::5]
    runs = {name: [generated(broken, bits, engine(name)) for bits in inputs] for name in ("dense", "exact", "fast")}
    assert runs["dense"] == runs["exact"] == runs["fast"]
    assert wrong_bits(broken, circuit, inputs) > 0 == wrong_bits(decoder, circuit, inputs)
