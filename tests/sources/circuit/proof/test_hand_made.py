"""Weights made by hand that are wrong, or that the engine refuses, for a reason that a proof can easily overlook."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from tests.sources.circuit.proof.mutants import (
    changed,
    is_right,
    mutant,
    plus,
    rescaled,
    scaled,
    units_of,
    with_layer,
    with_units,
)
from tests.sources.circuit.running import PAPER, random_of, wrong_bits
from tests.strategies import tries
from tm2tfr.sources.circuit.compiler import compile_circuit
from tm2tfr.sources.circuit.library import load
from tm2tfr.sources.circuit.netlist import Circuit, Gate
from tm2tfr.sources.circuit.proof.certificate import CircuitProof
from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.weights import Decoder, matrices, replaced

FULL = load("full-adder")
SOME = random_of(PAPER, inputs=2, gates=3, seed=5)
Case = tuple[Decoder, Circuit]


def of_one_operand(gates: str, inputs: tuple[str, ...] = ("a", "b")) -> Circuit:
    """A circuit of gates NOR(x, x): for each letter one of that net."""
    made = tuple(Gate(f"g{n}", "1000", (net, net)) for n, net in enumerate(gates))
    return Circuit(name="not", inputs=inputs, gates=made, outputs=(("y", made[-1].net),))


def keys_that_trade_places() -> Case:
    """Position 2 has no key of its own, but enough of another to be looked at in place of position 1."""
    circuit = of_one_operand("ab")
    decoder = compile_circuit(circuit, "paper-hard")
    at, size = decoder.layout.width - 3, 2.0**-21
    query = {(0, at + 1): 1.0, (0, at + 2): -0.75 / size, (1, at + 2): 1.0}
    key = {(0, at): 1.0, (0, at + 1): size, (0, at + 2): -size, (1, at + 1): 1.0}
    shape = matrices(decoder)["layers.1.heads.0.key"].shape
    new = {f"layers.1.heads.0.{name}": Matrix.from_entries(shape, m) for name, m in (("query", query), ("key", key))}
    return replaced(decoder, new), circuit


def heads_that_cancel(whole: float) -> Case:
    """Each number that a head writes is exact, their sum with what is there is not."""
    decoder = compile_circuit(FULL)
    heads, target = decoder.layers[0].heads, decoder.layout.index("t111")
    writes = [{(target, 0): sign * whole} for sign in (1, 1, -1, -1)]
    more = [replace(heads[0], name=f"more {n}", output=plus(heads[0].output, w)) for n, w in enumerate(writes[1:])]
    more = [replace(h, output=Matrix.from_entries(h.output.shape, w)) for h, w in zip(more, writes[1:], strict=True)]
    first = replace(heads[0], output=plus(heads[0].output, writes[0]))
    return with_layer(decoder, heads=(first, *heads[1:], *more)), FULL


def biases_that_cancel(whole: float) -> Case:
    """A norm adds a large number to the mean and to its negative, of which units read half the difference."""
    decoder = compile_circuit(SOME, "paper")
    path, (up, down) = "layers.1.feed_forward.input", map(decoder.layout.index, ("mean", "-mean"))
    halves = {(r, c): -v / 2 for r, c, v in matrices(decoder)[path].entries() if c == up}
    decoder = changed(decoder, path, {**halves, **{(r, down): v for (r, _), v in halves.items()}})
    return changed(decoder, "layers.1.feed_forward_norm.bias", {(up, 0): whole, (down, 0): whole}), SOME


def faint_scores() -> Case:
    """Every weight is a fair number; a large epsilon, and products of them, make scores that float32 takes for 0."""
    circuit, by = of_one_operand("ab"), 2.0**-11
    decoder = compile_circuit(circuit, "paper")
    norm, (head,) = decoder.layers[0].attention_norm, decoder.layers[0].heads
    assert norm is not None
    lost = 1e13 / by * (decoder.layout.width / 4) ** 0.5
    parts = {"query": scaled(head.query, by), "key": scaled(head.key, by), "value": scaled(head.value, lost)}
    heads = (replace(head, weighting="average-hard", **parts),)
    decoder = with_layer(decoder, heads=heads, attention_norm=replace(norm, gain=scaled(norm.gain, by), epsilon=1e26))
    return rescaled(decoder, {"token_embedding": by, "position_table": by}), circuit


def large_epsilon() -> Case:
    decoder = compile_circuit(SOME, "paper")
    assert decoder.norm is not None
    return replace(decoder, norm=replace(decoder.norm, epsilon=1e60)), SOME


def invisible_weights() -> Case:
    """The product of two weights is 0 in float64, so that nothing seems to speak for the answer 1."""
    circuit = replace(FULL, gates=tuple(replace(gate, table="0" * len(gate.table)) for gate in FULL.gates))
    decoder = changed(compile_circuit(FULL), "unembedding_bias", {(0, 0): 2.0**-401 - 1})
    part = "layers.1.feed_forward."
    by = {f"{part}input": 2.0**800, f"{part}input_bias": 2.0**800, f"{part}output": 2.0**-600, "unembedding": 2.0**-600}
    return rescaled(decoder, by), circuit


def units_that_vanish() -> Case:
    """3,000 units write 2^-12 each beside 2^12, where float32 loses it; another unit takes the sum away again."""
    decoder = compile_circuit(SOME, "paper")
    one = decoder.layout.index("one")
    few = [({}, 1.0, {one: value}) for value in (2.0**12, *[2.0**-12] * 3000, -(2.0**12) - 3000 * 2.0**-12)]
    return with_units(decoder, few), SOME


def features_that_vanish() -> Case:
    """The same in the embedding, of as many position features; a bias takes the sum away again."""
    decoder = compile_circuit(FULL)
    target, unit = decoder.layout.index("t111"), units_of(decoder).units.index("case 111")
    values = (2.0**13, *[2.0**-11 * 0.99] * 2500)
    shape = (decoder.layout.width, 3 + len(values))
    place = plus(decoder.position_embedding, {(target, 3 + n): value for n, value in enumerate(values)}, shape)
    decoder = replace(decoder, features=(*decoder.features, *["1"] * len(values)), position_embedding=place)
    return changed(decoder, "layers.1.feed_forward.input_bias", {(unit, 0): -sum(values)}), FULL


def variance_0_before_the_first_gate() -> Case:
    """At position 0, fed 1, the head takes away all that is there, and the next norm divides by 0."""
    circuit = of_one_operand("b" * 14)
    decoder = compile_circuit(circuit, "paper")
    layout, (head,) = decoder.layout, decoder.layers[0].heads
    mean, other, here = layout.index("mean"), layout.index("-mean"), layout.width - 15
    decoder = changed(decoder, "position_table", {(mean, 0): -1.0, (other, 0): 1.0})
    there = decoder.token_embedding.dense()[:, 1] + matrices(decoder)["position_table"].dense()[:, 0]
    taken = {(row, 0): -float(there[row]) for row in np.flatnonzero(there) if row not in (mean, other)}
    value = Matrix(head.value.shape, head.value.rows, head.value.columns, np.full(2, 0.5))  # its norm divides by ½
    part = units_of(decoder)
    blind = {(r, here): -v for r, c, v in part.input.entries() if c == here}
    changed_head = replace(head, value=value, output=plus(head.output, taken))
    return with_layer(decoder, heads=(changed_head,), feed_forward=replace(part, input=plus(part.input, blind))), circuit


@pytest.mark.slow
def test_attention_that_goes_far_astray_is_bounded_at_any_distance() -> None:
    """Head a gives each of 410 positions almost as much as the one asked for; head b tells for which bit that matters."""
    inputs = tuple(f"x{n}" for n in range(600))
    circuit = Circuit(name="0", inputs=inputs, gates=(Gate("y", "00", ("x300",)),), outputs=(("y", "y"),))
    decoder = compile_circuit(circuit)
    a, *others = decoder.layers[0].heads
    decoder = with_layer(decoder, heads=(replace(a, weighting="softmax", query=scaled(a.query, 2.0**-16)), *others))
    at = decoder.layout.index
    decoder = with_units(decoder, [({at("x_a"): 1.0, at("x_b"): -2.0}, -0.9972, {at("y"): 2.0**14})])
    bits = "".join("0" if n == 300 else "1" for n in range(600))
    assert wrong_bits(decoder, circuit, [bits]) == 1
    (refusal,) = CircuitProof(decoder, circuit).certificate().refusals
    assert refusal.what == "CONST0(x300) must be 0 where the heads bring 000"


LOOKS = "attention: head 'operands' does not look at one or two positions alone"
DIVIDES = "embedding: a layer norm divides by a number that is not shown to be positive"
LARGE = "rounding: numbers may get too large for float32"
SMALL = "rounding: numbers may get too small for float64, in which the proof computes"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("case", "name", "dtype", "said"),
    [
        (keys_that_trade_places(), "exact", "rational", LOOKS),
        (heads_that_cancel(2.0**23), "dense", "float32", "gate: XOR(a, b, c) must be 0 where the heads bring 101111"),
        (heads_that_cancel(2.0**52), "fast", "float64", "gate: XOR(a, b, c) must be 0 where the heads bring 101111"),
        (biases_that_cancel(2.0**28), "dense", "float32", DIVIDES),
        (biases_that_cancel(2.0**57), "dense", "float64", "gate: XOR(x1, x1) must be 0 where the heads bring 00"),
        (faint_scores(), "dense", "float32", LOOKS),
        (large_epsilon(), "dense", "float32", LARGE),
        (invisible_weights(), "exact", "rational", SMALL),
        (units_that_vanish(), "dense", "float32", DIVIDES),
        (features_that_vanish(), "dense", "float32", "gate: XOR(a, b, c) must be 0 where the heads bring 000"),
        (variance_0_before_the_first_gate(), "dense", "float64", DIVIDES),
    ],
)
def test_it_is_wrong_and_not_certified(case: Case, name: str, dtype: str, said: str) -> None:
    decoder, circuit = case
    first = CircuitProof(decoder, circuit).certificate(name, dtype).refusals[0]
    assert f"{first.part}: {first.what}" == said
    assert not is_right(decoder, circuit, name, dtype)


@pytest.mark.parametrize(
    "case", [heads_that_cancel(2.0**23), biases_that_cancel(2.0**28), faint_scores(), large_epsilon(), units_that_vanish()]
)
def test_what_only_float32_gets_wrong_is_certified_in_float64(case: Case) -> None:
    decoder, circuit = case
    assert CircuitProof(decoder, circuit).certificate("dense", "float64").refusals == ()
    assert is_right(decoder, circuit, "dense", "float64")


# ── whatever is certified is right on every input, whatever was done to the weights
VARIANTS = ("lookup", "paper-hard", "paper")
ENGINES = (("dense", "float32"), ("dense", "float64"), ("fast", "float64"), ("exact", "rational"))


def circuit_of(number: int) -> Circuit:
    """Every other one has gates of one input alone, so that a head must look at one position, and some at none."""
    circuit = random_of(PAPER, inputs=1 + number % 3, gates=1 + number % 5, seed=number)
    if number % 2:
        return circuit
    chance = random.Random(number)
    alone = [Gate(gate.net, gate.table, (chance.choice(circuit.inputs),) * 2) for gate in circuit.gates]
    return replace(circuit, gates=tuple(alone))


@pytest.mark.slow
@pytest.mark.parametrize("variant", VARIANTS)
def test_no_changed_weights_are_certified_and_wrong(variant: str) -> None:
    """A third of 1,000 mutants for each variant; every engine and dtype that is certified is run on every input."""
    found, unsound = Counter[tuple[bool, bool]](), []
    many = tries(334)
    for number in range(many):
        circuit = circuit_of(number)
        what, decoder = mutant(compile_circuit(circuit, variant), number)
        for name, dtype in ENGINES:
            granted = CircuitProof(decoder, circuit).certificate(name, dtype).granted
            if granted or name == "dense":
                right = is_right(decoder, circuit, name, dtype)
                found[granted, right] += 1
                unsound += [f"{what} on {name} in {dtype}"] if granted and not right else []
    assert unsound == []
    assert found[True, True] > many / 3
    assert found[False, False] > many / 3
