"""Certificates of circuits: granted for what is right on every input, refused with the gate for what is not."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings

from tests.sources.circuit.proof.mutants import with_two_more
from tests.sources.circuit.running import PAPER, all_inputs, circuits, random_of, wrong_bits
from tm2tfr.certificates.kit import Refusal
from tm2tfr.engines import engine
from tm2tfr.sources.circuit.compiler import compile_circuit
from tm2tfr.sources.circuit.library import load
from tm2tfr.sources.circuit.netlist import Circuit, Gate
from tm2tfr.sources.circuit.proof.certificate import CircuitProof
from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.soft import softened
from tm2tfr.transformer.weights import Decoder, FeedForward, Norm, matrices, replaced

ADDER = load("binary-adder", bits=2)
FULL = load("full-adder")
ALL = [("dense", "float32"), ("dense", "float64"), ("fast", "float64"), ("exact", "rational")]


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(circuit=circuits())
def test_any_circuit_is_certified_by_lookup(circuit: Circuit) -> None:
    found = CircuitProof(compile_circuit(circuit), circuit).certificates()
    assert [(c.engine, c.dtype) for c in found] == ALL
    assert [str(refusal) for c in found for refusal in c.refusals] == []
    assert {(c.margin, c.stray) for c in found} == {(1.0, 0.0)}
    assert [c.most_positions for c in found] == [4097, 94_906_266, 94_906_266, None]


@pytest.mark.parametrize("variant", ["paper-hard", "paper"])
@pytest.mark.parametrize("seed", range(5))
def test_the_variants_of_the_paper_are_certified(variant: str, seed: int) -> None:
    circuit = random_of(PAPER, inputs=1 + seed, gates=1 + 7 * seed, seed=seed)
    for epsilon in (0.0, 1e-5) if variant == "paper" else (0.0,):
        proof = CircuitProof(compile_circuit(circuit, variant, epsilon=epsilon), circuit)
        assert [proof.certificate("dense", dtype).refusals for dtype in ("float32", "float64")] == [(), ()]
        assert proof.certificate("exact").granted == proof.certificate("fast").granted == (variant == "paper-hard")


@pytest.mark.similar
@pytest.mark.slow
@pytest.mark.parametrize("order", ["paper-1", "paper-2"])
@pytest.mark.parametrize("variant", ["lookup", "paper-hard", "paper"])
def test_adders_of_1_to_48_bits_are_certified_for_all_inputs(variant: str, order: str) -> None:
    for bits in range(1, 49):
        circuit = load("binary-adder", bits=bits, order=order)
        proof = CircuitProof(compile_circuit(circuit, variant), circuit)
        for dtype in ("float32", "float64"):
            assert str(proof.certificate("dense", dtype)).endswith(f"at {7 * bits} positions")


@pytest.mark.slow
def test_the_circuit_of_sha_256_is_certified_for_all_blocks() -> None:
    circuit = load("sha256")
    proof = CircuitProof(compile_circuit(circuit), circuit)
    certificate = proof.certificate("fast")
    assert certificate.granted
    assert certificate.gates == len(circuit.gates) > 40_000
    assert "float32 has exact scores for 4,097" in str(proof.certificate("dense", "float32"))


@pytest.mark.parametrize(("temperature", "granted"), [(0.25, True), (0.125, True), (0.5, False), (1.0, False)])
def test_lookup_is_certified_under_softmax_up_to_a_quarter(temperature: float, granted: bool) -> None:
    """Three operands, each with less than a sixth of its weight elsewhere: 3ρ < ½."""
    decoder = softened(compile_circuit(FULL), temperature)
    certificate = CircuitProof(decoder, FULL).certificate("dense")
    assert certificate.granted == granted
    if granted:
        assert 3 * certificate.stray < 0.5
        assert wrong_bits(decoder, FULL, all_inputs(FULL)) == 0


def changed(decoder: Decoder, path: str, row: int, column: int, value: float) -> Decoder:
    return replaced(decoder, {path: matrices(decoder)[path].with_entry(row, column, value)})


def test_a_wrong_table_entry_is_refused_with_the_gate_and_the_case() -> None:
    decoder = compile_circuit(FULL)
    layout = decoder.layout
    found = CircuitProof(changed(decoder, "position_table", layout.index("t110"), 3, 0.0), FULL).certificate("dense")
    assert found.refusals == (
        Refusal(
            part="gate",
            net="carry",
            what="MAJ(a, b, c) must be 1 where the heads bring 110",
            witness="logit of 1 minus logit of 0: -1",
        ),
    )
    assert json.loads(json.dumps(found.as_dict()))["granted"] is False


@pytest.mark.slow
@pytest.mark.parametrize("variant", ["lookup", "paper-hard", "paper"])
def test_whatever_is_certified_is_right(variant: str) -> None:
    """Each weight in turn set to 0, its negative, and 1 more: if it is certified, every input is right."""
    circuit = random_of(PAPER, inputs=2, gates=3, seed=5)
    decoder = compile_circuit(circuit, variant)
    granted = refused = 0
    for path, matrix in matrices(decoder).items():
        for row, column, value in list(matrix.entries())[::3]:
            for other in {0.0, -value, value + 1}:
                mutant = changed(decoder, path, row, column, other)
                if CircuitProof(mutant, circuit).certificate("dense").granted:
                    granted += 1
                    assert wrong_bits(mutant, circuit, all_inputs(circuit)) == 0
                else:
                    refused += 1
    assert refused > 30
    assert granted > 0


def test_a_wrong_gain_or_epsilon_of_a_norm_is_refused() -> None:
    decoder = compile_circuit(ADDER, "paper")
    norm, one = decoder.norm, decoder.layout.index("one")
    assert norm is not None
    wrong = replace(norm, gain=norm.gain.with_entry(one, 0, -1.0))
    found = CircuitProof(replace(decoder, norm=wrong), ADDER).certificate("dense")
    assert [refusal.part for refusal in found.refusals[:1]] == ["gate"]
    layer = replace(decoder.layers[0], feed_forward_norm=Norm(gain=norm.gain, bias=norm.bias, epsilon=9.0))
    assert not CircuitProof(replace(decoder, layers=(layer,)), ADDER).certificate("dense").granted


def test_another_circuit_is_refused() -> None:
    decoder = compile_circuit(FULL)
    assert CircuitProof(decoder, load("half-adder")).certificate().refusals[0].part == "shape"
    other = replace(FULL, gates=(FULL.gates[1], FULL.gates[0]))
    assert {refusal.net for refusal in CircuitProof(decoder, other).certificate().refusals} == {"sum", "carry"}


def test_weights_of_another_shape_are_refused() -> None:
    decoder = compile_circuit(FULL)
    named = replace(decoder, vocabulary=("0", "2"))
    assert CircuitProof(named, FULL).certificate().refusals[0].witness == "('0', '2')"


# ── what only rounding breaks: right in rational numbers, wrong as engines compute it ───────────────────────
def with_entries(decoder: Decoder, path: str, entries: dict[tuple[int, int], float]) -> Decoder:
    for (row, column), value in entries.items():
        decoder = changed(decoder, path, row, column, value)
    return decoder


def value_that_cancels(large: float) -> Decoder:
    decoder = with_two_more(compile_circuit(FULL))
    u, v = decoder.layout.width - 2, decoder.layout.width - 1
    table = {(row, i): large for row in (u, v) for i in range(decoder.positions or 0)}
    decoder = with_entries(decoder, "position_table", table)
    return with_entries(decoder, "layers.1.heads.0.value", {(0, u): 1.0, (0, v): -1.0})


def scores_that_cancel(large: float, part: str) -> Decoder:
    decoder = with_two_more(compile_circuit(FULL))
    u, v = decoder.layout.width - 2, decoder.layout.width - 1
    decoder = with_entries(decoder, "token_embedding", {(u, 1): large, (v, 1): large})
    return with_entries(decoder, f"layers.1.heads.2.{part}", {(0, u): 1.0, (0, v): -1.0})


def biases_that_cancel(large: float) -> Decoder:
    decoder = compile_circuit(FULL)
    decoder = changed(decoder, "unembedding", 0, decoder.layout.index("1"), 1.0)
    return with_entries(decoder, "unembedding_bias", {(0, 0): large, (1, 0): large})


def logits_that_vanish(size: float) -> Decoder:
    decoder = compile_circuit(FULL)
    decoder = changed(decoder, "unembedding", 1, decoder.layout.index("y"), 2 * size)
    return changed(decoder, "unembedding_bias", 0, 0, size)


@pytest.mark.parametrize(
    ("decoder", "dtype"),
    [
        (value_that_cancels(2.0**60), "float64"),
        (value_that_cancels(2.0**30), "float32"),
        (scores_that_cancel(2.0**60, "query"), "float64"),
        (scores_that_cancel(2.0**60, "key"), "float64"),
        (scores_that_cancel(2.0**30, "query"), "float32"),
        (biases_that_cancel(2.0**60), "float64"),
        (biases_that_cancel(2.0**30), "float32"),
        (logits_that_vanish(1e-46), "float32"),
    ],
)
def test_weights_that_rounding_makes_wrong_are_refused(decoder: Decoder, dtype: str) -> None:
    assert wrong_bits(decoder, FULL, all_inputs(FULL), engine("dense", dtype)) > 0
    assert wrong_bits(decoder, FULL, all_inputs(FULL), engine("exact")) == 0
    assert not CircuitProof(decoder, FULL).certificate("dense", dtype).granted


def test_the_mean_of_two_values_may_be_half_a_weight() -> None:
    """2^23 + ½ is 2^23 in float32, so that the mean 2½ is taken for 2."""
    circuit = Circuit(name="or", inputs=("a", "b"), gates=(Gate("y", "0111", ("a", "b")),), outputs=(("y", "y"),))
    plain = replace(circuit, gates=(Gate("y", "0001", ("a", "b")),))
    decoder, large = compile_circuit(plain, "paper-hard"), 2.0**23 - 2
    width, layout = decoder.layout.width, decoder.layout
    sign, mean, one, zero = (layout.index(name) for name in ("s", "mean", "one", "zero"))
    units = FeedForward(
        input=Matrix.from_entries((1, width), {(0, mean): 1.0, (0, zero): 1.0}),
        input_bias=Matrix.from_entries((1, 1), {(0, 0): -large}),
        output=Matrix.from_entries((width, 1), {(one, 0): 1.0}),
        output_bias=Matrix.from_entries((width, 1), {}),
        units=("mean",),
    )
    decoder = replace(
        with_entries(decoder, "position_table", {(zero, i): large for i in range(decoder.positions or 0)}),
        token_embedding=Matrix.from_entries((width, 2), {(sign, 0): 2.0, (sign, 1): 3.0}),
        layers=(replace(decoder.layers[0], feed_forward=units),),
        unembedding=Matrix.from_entries((2, width), {(1, one): 4.0}),
        unembedding_bias=Matrix.from_entries((2, 1), {(0, 0): 9.0}),
    )
    wrong = [wrong_bits(decoder, circuit, all_inputs(circuit), engine("dense", dtype)) for dtype in ("float32", "float64")]
    assert wrong == [2, 0]
    proof = CircuitProof(decoder, circuit)
    assert [proof.certificate("dense", dtype).granted for dtype in ("float32", "float64")] == [False, True]


def test_keys_that_are_integers_only_in_float64_are_refused() -> None:
    """A fifteenth of 15j² is j², but in float32 the rounded fifteenth of 15j² is not, for many j above 2,896."""
    decoder = compile_circuit(FULL)
    square, feature = decoder.layout.index("i^2"), decoder.features.index("i^2")
    decoder = changed(decoder, "position_embedding", square, feature, 15.0)
    for k, head in enumerate(decoder.layers[0].heads):
        row, value = next((r, v) for r, c, v in head.key.entries() if c == square)
        decoder = changed(decoder, f"layers.1.heads.{k}.key", row, square, value / 15)
    assert CircuitProof(decoder, FULL).certificate("dense", "float32").refusals[0].part == "attention"


def test_weights_that_the_engine_refuses_are_not_certified() -> None:
    decoder = changed(compile_circuit(FULL), "unembedding", 1, 18, 1e39)
    proof = CircuitProof(changed(decoder, "layers.1.feed_forward.output", 18, 0, 2.0**-60), FULL)
    assert proof.certificate("dense", "float32").refusals[0].what == "numbers may get too large for float32"
