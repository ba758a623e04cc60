"""``paper`` and ``paper-hard``: Appendix A with its repairs."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tests.sources.circuit.running import PAPER, all_inputs, random_of, some_inputs, watched, wrong_bits, wrong_bits_fast
from tests.strategies import tries
from tm2tfr.engines import engine
from tm2tfr.sources.circuit.compiler import compile_circuit, paper_constants
from tm2tfr.sources.circuit.library import load
from tm2tfr.sources.circuit.truth import CircuitTruth
from tm2tfr.transformer.attention import softmax
from tm2tfr.transformer.claims import Claim

VARIANTS = ("lookup", "paper-hard", "paper")
ORDERS = ("paper-1", "paper-2")


def sampled(inputs: list[str]) -> list[str]:
    """Return few inputs as they are, and a share of many."""
    return inputs if len(inputs) <= 64 else random.Random(0).sample(inputs, tries(len(inputs)))


def test_the_shape_is_that_of_the_appendix() -> None:
    decoder = compile_circuit(load("binary-adder", bits=2), "paper", epsilon=1e-5)
    assert decoder.positions == 14
    assert decoder.layout.width == 9 + 14
    assert decoder.layout.directions[:10] == (
        *("s", "-s", "-1", "mean", "-mean", "one", "zero", "-one", "-zero"),
        "here[0]",
    )
    assert [head.weighting for head in decoder.layers[0].heads] == ["softmax"]
    norms = (decoder.layers[0].attention_norm, decoder.layers[0].feed_forward_norm, decoder.norm)
    assert [norm.epsilon for norm in norms if norm is not None] == [1e-5] * 3
    assert decoder.layers[0].heads[0].claim == Claim(attends="operands", gap=paper_constants(14)[0] / 2, over="constant")


@pytest.mark.parametrize("positions", [1, 2, 3, 10, 2000])
def test_the_constants_give_the_weights_that_the_proof_needs(positions: int) -> None:
    d = 9 + positions
    stray = 1 / (5 + 2 * d * d)
    c1, c2 = paper_constants(positions)
    two = np.exp(c1 / 2)
    assert positions < 2 or two / (2 * two + positions - 2) > 0.5 - stray
    assert np.exp(c1) / (np.exp(c1) + positions - 1) > 1 - 2 * stray
    assert positions < 3 or c1 - 1 <= 2 * np.log(max((positions - 2) * (0.5 - stray) / (2 * stray), 1))
    assert np.exp(c2) > 999


@pytest.mark.slow
@pytest.mark.parametrize("variant", ["paper-hard", "paper"])
@pytest.mark.parametrize("seed", range(6))
def test_random_circuits_are_right(variant: str, seed: int) -> None:
    circuit = random_of(PAPER, inputs=1 + seed % 4, gates=1 + 5 * seed, seed=seed)
    for epsilon in (0.0, 1e-5) if variant == "paper" else (0.0,):
        decoder = compile_circuit(circuit, variant, epsilon=epsilon)
        for dtype in ("float64", "float32"):
            assert wrong_bits(decoder, circuit, all_inputs(circuit), engine("dense", dtype=dtype)) == 0


@pytest.mark.parametrize("variant", ["paper-hard", "paper"])
def test_every_stream_and_every_head_is_what_the_specification_says(variant: str) -> None:
    circuit = random_of(PAPER, inputs=3, gates=25, seed=3)
    decoder = compile_circuit(circuit, variant, epsilon=1e-5 if variant == "paper" else 0.0)
    close = 2e-3 if variant == "paper" else 1e-14
    for bits in all_inputs(circuit):
        specification = CircuitTruth(circuit, bits, variant, 1e-5).specification(0)
        for i, seen in enumerate(watched(decoder, circuit, bits)):
            for layer, part, stream in seen.stages:
                right = np.array(specification.stream(decoder.layout, i, layer, part), dtype=float)
                assert np.abs(stream - right).max() < close
            scores, attended = seen.heads[0, 0]
            right_places = list(specification.attended("operands", i))
            assert attended.tolist() == right_places
            if variant == "paper" and i >= 2:
                shares = softmax(scores)[right_places]
                assert np.abs(shares - 1 / len(right_places)).max() < 2 / (9 + 27) ** 2


@pytest.mark.slow
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("bits", [1, 2, 3, 4, 5])
def test_adders_are_right_on_all_inputs(bits: int, variant: str, order: str) -> None:
    circuit = load("binary-adder", bits=bits, order=order)
    decoder, inputs = compile_circuit(circuit, variant), all_inputs(circuit)
    if variant == "lookup":
        assert wrong_bits_fast(decoder, circuit, inputs) == 0
        inputs = inputs[::4]  # the dense engine too, as far as time allows
    assert wrong_bits(decoder, circuit, sampled(inputs)) == 0


@pytest.mark.slow
@pytest.mark.parametrize("order", ORDERS)
def test_larger_adders_are_right_on_a_thousand_random_inputs_by_lookup(order: str) -> None:
    for bits in range(6, 49):
        circuit = load("binary-adder", bits=bits, order=order)
        assert wrong_bits_fast(compile_circuit(circuit), circuit, some_inputs(circuit, tries(1000))) == 0


@pytest.mark.slow
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("bits", [8, 16, 32, 48])
def test_larger_adders_are_right_on_the_dense_engine(bits: int, variant: str, order: str) -> None:
    """Two inputs, in both dtypes; the certificate of each speaks of all inputs."""
    circuit = load("binary-adder", bits=bits, order=order)
    decoder = compile_circuit(circuit, variant)
    for dtype in ("float64", "float32"):
        assert wrong_bits(decoder, circuit, some_inputs(circuit, 2), engine("dense", dtype=dtype)) == 0


@pytest.mark.slow
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("bits", [1, 2, 5, 8, 16, 48])
def test_attention_of_adders_is_on_the_operands_alone(bits: int, variant: str, order: str) -> None:
    circuit = load("binary-adder", bits=bits, order=order)
    decoder = compile_circuit(circuit, variant)
    word = some_inputs(circuit, 1)[0]
    heads = [(k, head.claim.attends) for k, head in enumerate(decoder.layers[0].heads) if head.claim is not None]
    specification = CircuitTruth(circuit, word, variant).specification(0)
    for i, seen in enumerate(watched(decoder, circuit, word)):
        for k, where in heads:
            right = list(specification.attended(where, i))
            scores, attended = seen.heads[0, k]
            assert attended.tolist() == right
            if variant == "paper" and i >= len(circuit.inputs) - 1:
                shares = softmax(scores)[right]
                assert np.abs(shares - 1 / len(right)).max() < 2.0 / (9 + len(circuit.inputs) + len(circuit.gates)) ** 2


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.0, 1e-5])
@pytest.mark.parametrize(("inputs", "gates", "words"), [(3, 40, 8), (5, 120, 8), (8, 600, 4), (8, 2000, 1)])
def test_random_circuits_of_nor_gates_are_right(inputs: int, gates: int, words: int, epsilon: float) -> None:
    circuit = random_of(("1000",), inputs, gates, seed=gates)
    decoder = compile_circuit(circuit, "paper", epsilon=epsilon)
    for dtype in ("float64", "float32"):
        assert wrong_bits(decoder, circuit, some_inputs(circuit, words), engine("dense", dtype=dtype)) == 0
