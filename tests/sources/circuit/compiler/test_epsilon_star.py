"""ε* of Appendix A as an option: the bits are right, each with the probability that is promised, and the weights say so."""

from __future__ import annotations

from dataclasses import replace
from math import log, log1p

import numpy as np
import pytest

import tm2tfr
from tests.sources.circuit.running import DENSE, PAPER, all_inputs, random_of, wrong_bits
from tm2tfr.base.errors import CompileError
from tm2tfr.engines import engine, generate
from tm2tfr.sources.circuit.compiler import EPSILON_STAR, compile_circuit, paper_constants
from tm2tfr.sources.circuit.proof.certificate import CircuitProof
from tm2tfr.sources.circuit.truth import CircuitTruth
from tm2tfr.transformer.provenance import options
from tm2tfr.transformer.weights import Decoder, digest

MIXED = random_of(PAPER, inputs=3, gates=12, seed=5)
VALUES = (5e-324, 1e-300, 2.0**-53, 1e-12, 1e-3, 0.1, 0.5, 0.9, 1 - 2.0**-53)
"""The smallest float above 0, the largest below 1, and some between them."""


def needed(epsilon_star: float) -> float:
    """The lead of a logit at which the better of two tokens has the probability 1 - ε*, and no less than half."""
    return max(0.0, log1p(-epsilon_star) - log(epsilon_star))


def leads(decoder: Decoder) -> list[float]:
    """How far ahead the right bit's logit is at each gate, for all inputs; negative where the bit is wrong."""
    found = []
    for bits in all_inputs(MIXED):
        symbols = CircuitTruth(MIXED, bits).symbols
        for step in list(generate(decoder, bits, engine=DENSE))[len(MIXED.inputs) - 1 :]:
            logits, right = np.asarray(step.logits), symbols[step.position + 1]
            found.append(float(logits[right] - logits[1 - right]))
    return found


@pytest.mark.parametrize("epsilon_star", VALUES)
def test_every_bit_is_right_with_the_probability_that_is_promised(epsilon_star: float) -> None:
    decoder = compile_circuit(MIXED, "paper", epsilon_star=epsilon_star)
    for dtype in ("float64", "float32"):
        assert wrong_bits(decoder, MIXED, all_inputs(MIXED), engine("dense", dtype=dtype)) == 0
        found = CircuitProof(decoder, MIXED).certificate("dense", dtype)
        assert found.granted
        assert needed(epsilon_star) < found.lead <= min(leads(decoder)) * (1 + 1e-6)


def test_a_smaller_one_makes_the_lead_larger_and_nothing_else() -> None:
    near, far = (compile_circuit(MIXED, "paper", epsilon_star=value) for value in (0.1, 1e-9))
    assert digest(near, without=("unembedding",)) == digest(far, without=("unembedding",))
    c2 = [paper_constants(near.positions or 0, value)[1] for value in (0.1, 1e-9)]
    assert c2 == [4, 22]
    assert min(leads(far)) / min(leads(near)) == pytest.approx(22 / 4)


def test_the_lead_of_a_certificate_follows_the_weights() -> None:
    decoder = compile_circuit(MIXED, "paper", epsilon_star=1e-9)
    thin = replace(decoder, unembedding=compile_circuit(MIXED, "paper", epsilon_star=0.5).unembedding)
    one, other = (CircuitProof(each, MIXED).certificate().lead for each in (decoder, thin))
    assert one / other == pytest.approx(22)


def test_without_one_it_is_a_thousandth_and_the_weights_are_as_before() -> None:
    plain, said = compile_circuit(MIXED, "paper"), compile_circuit(MIXED, "paper", epsilon_star=EPSILON_STAR)
    assert EPSILON_STAR == 0.001
    assert digest(plain) == digest(said)
    assert "epsilon_star" not in options(plain.provenance)


def test_the_weights_say_it_and_are_compiled_again_from_what_they_say() -> None:
    decoder = tm2tfr.compile("full-adder", variant="paper", epsilon_star=1e-300)
    stated = options(decoder.provenance)
    assert stated["epsilon_star"] == "1e-300"
    assert digest(tm2tfr.Subject.of("full-adder", options=stated).decoder) == digest(decoder)
    assert tm2tfr.check(decoder, "110").agrees


@pytest.mark.parametrize("value", [0, 1, -1e-3, 2.0, float("nan"), float("inf"), True, "few"])
def test_what_is_no_probability_of_an_error_is_refused(value: object) -> None:
    with pytest.raises(CompileError, match="ε\\* must be a number above 0 and below 1, not .*: use for example 1e-6"):
        compile_circuit(MIXED, "paper", epsilon_star=value)  # type: ignore[arg-type]


@pytest.mark.parametrize("variant", ["lookup", "paper-hard"])
def test_other_variants_have_none(variant: str) -> None:
    with pytest.raises(CompileError, match=f"variant {variant} has another: omit epsilon_star, or use the variant paper"):
        compile_circuit(MIXED, variant, epsilon_star=0.1)
