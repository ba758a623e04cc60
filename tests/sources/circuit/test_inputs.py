"""Inputs as people write them, with the words of each refusal, and results as people read them."""

from __future__ import annotations

import hashlib
import re

import pytest

from tm2tfr.base.errors import InputError
from tm2tfr.sources.circuit.inputs import all_cases, numbers_of, random_cases, read_input, shown_outputs
from tm2tfr.sources.circuit.library.sha256 import digest, hexadecimal, padded
from tm2tfr.sources.circuit.netlist import Bus, Circuit, Gate


def circuit(inputs: str, outputs: str = "y", **more: str) -> Circuit:
    names = tuple(inputs.split())
    driven = tuple((name, "gate") for name in outputs.split())
    return Circuit(name="test", inputs=names, gates=(Gate("gate", "01", names[:1]),), outputs=driven, **more)  # type: ignore[arg-type]


ADDER = circuit("a1 a2 a3 a4 b1 b2 b3 b4", "e1 e2 e3 e4 c5")
FALLING = circuit("a[1] a[0] cin")
EIGHT_BITS = "give a bit for each input, or a number for each of a (4 bits), b (4 bits)"


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


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0110", f"4 bits for 8 inputs: {EIGHT_BITS}"),
        ("", f"0 bits for 8 inputs: {EIGHT_BITS}"),
        ("5", f"1 number where there must be 2: {EIGHT_BITS}"),
        ("5+1+", f"3 numbers where there must be 2: {EIGHT_BITS}"),
        ("01102001", f"1 number where there must be 2: {EIGHT_BITS}"),
        ("5+", "'' is not a number: give a number for each of a (4 bits), b (4 bits), such as 58, 0x3A or 0b111010"),
        ("-5+1", "'-5' is not a number: give a number for each of a (4 bits), b (4 bits), such as 58, 0x3A or 0b111010"),
        ("٣+1", "'٣' is not a number: give a number for each of a (4 bits), b (4 bits), such as 58, 0x3A or 0b111010"),
        ("5+16", "'16' does not fit b, which has 4 bits: use at most 15"),
        ("0x3A+0x17", "'0x3A' does not fit a, which has 4 bits: use at most 15"),
        (f"1+{'9' * 5000}", f"'{'9' * 30}…' does not fit b, which has 4 bits: use at most 15"),
    ],
)
def test_an_input_is_refused(text: str, message: str) -> None:
    with pytest.raises(InputError, match=f"^{re.escape(f'input of test: {message}')}$"):
        read_input(ADDER, text)


def test_many_buses_are_not_all_named() -> None:
    with pytest.raises(InputError, match=r"h \(1 bit\) and 2 more$"):
        read_input(circuit("a b c d e f g h i j"), "2")


def test_a_wide_bus_names_a_power() -> None:
    wide = circuit(" ".join(f"a[{k}]" for k in range(100)))
    assert read_input(wide, str(2**100 - 1)) == "1" * 100
    with pytest.raises(InputError, match=r"does not fit a, which has 100 bits: use at most 2\^100 - 1$"):
        read_input(wide, str(2**100))


def test_results_are_numbers_of_buses() -> None:
    found = {"e1": 1, "e2": 0, "e3": 0, "e4": 1, "c5": 1}
    assert shown_outputs(ADDER, found) == "e = 9, c5 = 1"
    assert numbers_of((Bus("x", ("p", "q")),), {"p": 0, "q": 1}) == {"x": 2}


@pytest.mark.slow
def test_all_cases_are_counted_in_binary() -> None:
    assert ["".join(map(str, row)) for row in all_cases(FALLING).tolist()] == [f"{k:03b}" for k in range(8)]
    assert all_cases(circuit(" ".join(f"x{k}" for k in range(20)))).shape == (2**20, 20)
    many = circuit(" ".join(f"x{k}" for k in range(21)))
    message = (
        "21 inputs have 2^21 cases, and at most 2^20 are gone through: check random ones with --random 1000, or certify"
    )
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


def test_half_a_byte_is_refused() -> None:
    words = "input: 0x123 has 3 digits after 0x: write two for each byte; the bytes of this text itself are 0x30783132…"
    with pytest.raises(InputError, match=f"^{words}$"):
        read_input(BLOCK, "0x123")


@pytest.mark.parametrize(("text", "size"), [("x" * 56, 56), ("ü" * 28, 56), ("€" * 19, 57)])
def test_a_longer_text_is_refused(text: str, size: int) -> None:
    message = f"input: the text has {size} bytes, and one block of SHA-256 takes 55: shorten it; a longer text would need"
    with pytest.raises(InputError, match=f"^{re.escape(message)}"):
        read_input(BLOCK, text)


def test_bytes_of_the_command_line_are_kept_and_half_a_pair_is_refused() -> None:
    assert padded("\udcff")[:16] == "1111111110000000"
    with pytest.raises(InputError, match="^input: the text is not Unicode: remove the surrogates from it$"):
        padded("\ud800")


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
