"""Inputs as people write them, with the words of each refusal, and results as people read them."""

from __future__ import annotations

import hashlib
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.sources.circuit.running import circuits
from tm2tfr.base.errors import InputError
from tm2tfr.sources.circuit.evaluate import Evaluation, evaluate, evaluate_cases, evaluate_words
from tm2tfr.sources.circuit.inputs import all_cases, numbers_of, random_cases, read_input, shown_outputs
from tm2tfr.sources.circuit.netlist import NAMED, Bus, Circuit, Gate
from tm2tfr.sources.circuit.sha256 import digest, hexadecimal, padded


def circuit(inputs: str, outputs: str = "y", **more: str) -> Circuit:
    names = tuple(inputs.split())
    driven = tuple((name, "gate") for name in outputs.split())
    return Circuit(name="test", inputs=names, gates=(Gate("gate", "01", names[:1]),), outputs=driven, **more)  # type: ignore[arg-type]


ADDER = circuit("a1 a2 a3 a4 b1 b2 b3 b4", "e1 e2 e3 e4 c5")
FALLING = circuit("a[1] a[0] cin")


@pytest.mark.parametrize(
    ("text", "bits"),
    [
        ("01101001", "01101001"),
        (" 01101001\n", "01101001"),
        ("6+9", "01101001"),
        ("0x6 + 0b1001", "01101001"),
        ("0X0006*0B1001", "01101001"),
        ("15, 0", "11110000"),
        ("10+11", "01011101"),
        ("007+1", "11101000"),
    ],
)
def test_an_input_is_read(text: str, bits: str) -> None:
    assert read_input(ADDER, text) == bits


def test_a_bus_may_fall() -> None:
    assert read_input(FALLING, "2+1") == "101"
    assert read_input(FALLING, "101") == "101"


def test_a_wide_bus_names_a_power() -> None:
    wide = circuit(" ".join(f"a[{k}]" for k in range(100)))
    assert read_input(wide, str(2**100 - 1)) == "1" * 100


def test_results_are_numbers_of_buses() -> None:
    found = {"e1": 1, "e2": 0, "e3": 0, "e4": 1, "c5": 1}
    assert shown_outputs(ADDER, found) == "e = 9, c5 = 1"
    assert numbers_of((Bus("x", ("p", "q")),), {"p": 0, "q": 1}) == {"x": 2}


@pytest.mark.slow
def test_all_cases_are_counted_in_binary() -> None:
    assert ["".join(map(str, row)) for row in all_cases(FALLING).tolist()] == [f"{k:03b}" for k in range(8)]
    assert all_cases(circuit(" ".join(f"x{k}" for k in range(20)))).shape == (2**20, 20)
    many = circuit(" ".join(f"x{k}" for k in range(21)))
    message = "21 inputs have 2^21 cases, and at most 2^20 are gone through: check random ones with random=1000, or certify"
    with pytest.raises(InputError, match=re.escape(message)):
        all_cases(many)


def test_random_cases_are_those_of_their_seed() -> None:
    assert random_cases(ADDER, 1000, seed=1).tolist() == random_cases(ADDER, 1000, seed=1).tolist()
    assert random_cases(ADDER, 1000, seed=1).tolist() != random_cases(ADDER, 1000, seed=2).tolist()
    assert random_cases(ADDER, 1000, seed=1).shape == (1000, 8)
    assert {0.4 < share < 0.6 for share in random_cases(ADDER, 1000, seed=1).mean(axis=0)} == {True}


# ── texts ───────────────────────────────────────────────────────────────────────────────────────────────
BLOCK = circuit(" ".join(f"m{k}" for k in range(512)), " ".join(f"d{k}" for k in range(256)), encoding="sha-256")


def test_a_text_is_one_padded_block() -> None:
    """The block of FIPS 180-4's own example, "abc"."""
    assert read_input(BLOCK, "abc") == padded("abc") == "011000010110001001100011" + "1" + "0" * 423 + f"{24:064b}"
    assert padded("") == "1" + "0" * 511
    assert padded("x" * 55)[440:] == "10000000" + f"{440:064b}"
    assert padded("ü") == f"{0xC3BC80:024b}".ljust(448, "0") + f"{16:064b}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0x616263", b"abc"),
        ("0x00", b"\0"),
        ("0xfF00", b"\xff\0"),
        ("0x" + "00" * 55, b"\0" * 55),
        ("a\0", b"a\0"),
        ("0x", b"0x"),
    ],
)
def test_bytes_are_written_in_hexadecimal(text: str, message: bytes) -> None:
    block = int.from_bytes(message + b"\x80", "big") << 8 * (63 - len(message)) | 8 * len(message)
    assert read_input(BLOCK, text) == f"{block:0512b}"
    assert hexadecimal(message) == f"0x{message.hex()}"


def test_bytes_of_the_command_line_are_kept_and_half_a_pair_is_refused() -> None:
    assert padded("\udcff")[:16] == "1111111110000000"


def test_any_text_but_512_bits_is_a_text() -> None:
    assert read_input(BLOCK, "01" * 256) == "01" * 256
    assert read_input(BLOCK, "0101") == padded("0101")
    assert read_input(BLOCK, " 1+2 ") == padded(" 1+2 ")


def test_the_result_is_a_digest() -> None:
    known = hashlib.sha256(b"abc").hexdigest()
    bits = f"{int(known, 16):0256b}"
    assert digest(bits) == known
    assert shown_outputs(BLOCK, {f"d{k}": int(bit) for k, bit in enumerate(bits)}) == known
    assert digest("0" * 256) == "0" * 64


# ── the reference evaluator: one case by the tables themselves, many at once by words, one against the other
FULL = Circuit(
    name="full",
    inputs=("a", "b", "c"),
    gates=(Gate("s", "01101001", ("a", "b", "c")), Gate("m", "00010111", ("a", "b", "c"))),
    outputs=(("sum", "s"), ("carry", "m"), ("first", "a")),
)
MEANING = {
    "CONST0": lambda: 0,
    "CONST1": lambda: 1,
    "BUF": lambda a: a,
    "NOT": lambda a: 1 - a,
    "AND": lambda *bits: min(bits),
    "OR": lambda *bits: max(bits),
    "NAND": lambda *bits: 1 - min(bits),
    "NOR": lambda *bits: 1 - max(bits),
    "XOR": lambda *bits: sum(bits) % 2,
    "XNOR": lambda *bits: 1 - sum(bits) % 2,
    "MAJ": lambda *bits: int(sum(bits) > 1),
    "MUX": lambda a, b, c: c if a else b,
}


@pytest.mark.parametrize(
    ("bits", "symbols", "outputs"),
    [
        ("000", "00000", "000"), ("001", "00110", "100"), ("010", "01010", "100"), ("011", "01101", "010"),
        ("100", "10010", "101"), ("101", "10101", "011"), ("110", "11001", "011"), ("111", "11111", "111"),
    ],
)  # fmt: skip
def test_a_full_adder(bits: str, symbols: str, outputs: str) -> None:
    found = evaluate(FULL, bits)
    assert found == Evaluation(symbols, dict(zip(("sum", "carry", "first"), map(int, outputs), strict=True)))
    assert found.output_bits == outputs


@pytest.mark.parametrize(("k", "table"), [(k, table) for k, named in NAMED.items() for table in named])
def test_every_named_gate_is_what_its_name_says(k: int, table: str) -> None:
    gate = Gate("y", table, ("a", "b", "c")[:k])
    circuit = Circuit(name="one", inputs=("a", "b", "c"), gates=(gate,), outputs=(("y", "y"),))
    for case in range(8):
        bits = f"{case:03b}"
        want = MEANING[gate.kind](*map(int, bits[: 0 if gate.kind.startswith("CONST") else k]))
        assert evaluate(circuit, bits).outputs == {"y": want}
    words = evaluate_words(circuit, [0b11110000, 0b11001100, 0b10101010], ones=0b11111111)
    assert [words[3] >> case & 1 for case in range(8)] == [
        evaluate(circuit, f"{case:03b}").outputs["y"] for case in range(8)
    ]


@pytest.mark.slow
@given(circuits(), st.data())
def test_many_cases_at_once_are_each_case(circuit: Circuit, data: st.DataObject) -> None:
    bits = st.text(st.sampled_from("01"), min_size=len(circuit.inputs), max_size=len(circuit.inputs))
    cases = data.draw(st.lists(bits, min_size=1, max_size=70))
    found = evaluate_cases(circuit, np.array([[int(bit) for bit in case] for case in cases], dtype=np.uint8))
    assert found.dtype == np.uint8
    assert found.shape == (len(cases), len(circuit.numbers))
    assert ["".join(map(str, row)) for row in found.tolist()] == [evaluate(circuit, case).symbols for case in cases]
