"""SHA-256 as a circuit: digests equal to hashlib's, the round equal to the standard's formulas, and how many gates."""

from __future__ import annotations

import hashlib
import random

import numpy as np
import pytest

from tm2tfr.sources.circuit.evaluate import evaluate, evaluate_cases
from tm2tfr.sources.circuit.inputs import numbers_of, random_cases, read_input, shown_outputs
from tm2tfr.sources.circuit.library import load
from tm2tfr.sources.circuit.sha256 import digest, sha256

MESSAGES = ["", "abc", "x" * 55, "The quick brown fox jumps over the lazy dog", "Zwölf Boxkämpfer"]
MASK = 2**32 - 1


@pytest.mark.slow
def test_digests_are_those_of_hashlib() -> None:
    """The messages above, and 59 random ones of all lengths up to 55 bytes, all at once."""
    chance = random.Random(0)
    texts = MESSAGES + ["".join(chr(chance.randrange(128)) for _ in range(55 * k // 58)) for k in range(59)]
    circuit = sha256()
    cases = np.array([[int(bit) for bit in read_input(circuit, text)] for text in texts], dtype=np.uint8)
    outputs = evaluate_cases(circuit, cases)[:, [circuit.numbers[net] for _, net in circuit.outputs]]
    found = [digest("".join(map(str, row))) for row in outputs.tolist()]
    assert len(found) == 64
    assert found == [hashlib.sha256(text.encode()).hexdigest() for text in texts]


@pytest.mark.slow
def test_one_text_goes_in_and_its_digest_comes_out() -> None:
    circuit = load("sha256")
    found = evaluate(circuit, read_input(circuit, "abc"))
    assert shown_outputs(circuit, found.outputs) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert numbers_of(circuit.output_buses, found.outputs)["h0"] == 0xBA7816BF


@pytest.mark.slow
def test_how_many_gates() -> None:
    circuit = sha256()
    assert (len(circuit.inputs), len(circuit.gates), len(circuit.outputs)) == (512, 48_221, 256)
    assert circuit.kinds == {
        "XOR3": 22445,
        "MAJ": 17401,
        "XOR": 2339,
        "MUX": 1952,
        "AND": 1706,
        "XNOR": 1149,
        "OR": 1129,
        "NOT": 84,
        "1101": 16,
    }
    assert circuit.warnings == ()
    assert [bus.name for bus in circuit.buses] == [f"w{t}" for t in range(16)]
    assert circuit.outputs[0] == ("h0[31]", "h0[31]")


def rotated(word: int, places: int) -> int:
    return (word >> places | word << 32 - places) & MASK


def test_a_round_is_that_of_the_standard() -> None:
    """Section 6.2.2, step 3, with the constants of Section 4.2.2 as printed there."""
    for number, constant in ((0, 0x428A2F98), (1, 0x71374491), (31, 0x14292967), (63, 0xC67178F2)):
        circuit = load("sha256-round", number=number)
        assert circuit.warnings == ()
        rows = evaluate_cases(circuit, random_cases(circuit, 50, seed=number)).tolist()
        for row in rows:
            a, b, c, d, e, f, g, h, w = numbers_of(circuit.buses, dict(zip(circuit.inputs, row, strict=False))).values()
            upper1, upper0 = (
                (rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25)),
                (rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22)),
            )
            first = h + upper1 + (e & f ^ ~e & g) + constant + w & MASK
            second = upper0 + (a & b ^ a & c ^ b & c) & MASK
            want = (first + second & MASK, a, b, c, d + first & MASK, e, f, g)
            bits = {name: row[circuit.numbers[net]] for name, net in circuit.outputs}
            assert numbers_of(circuit.output_buses, bits) == dict(zip([f"next_{x}" for x in "abcdefgh"], want, strict=True))
    assert len(load("sha256-round").gates) == 562
