"""Thousands of damaged texts in every format: each is a circuit or an error that says what to do; nothing else."""

from __future__ import annotations

import random

import pytest

from tests.sources.circuit.formats.test_complaints import GOLDEN, data_of
from tests.strategies import tries
from tm2tfr.base.errors import SpecError
from tm2tfr.sources.circuit import library
from tm2tfr.sources.circuit.evaluate import evaluate
from tm2tfr.sources.circuit.formats import registry
from tm2tfr.sources.circuit.formats.registry import CIRCUIT_READABLE

TEXTS = tries(3_000)
"""How many a format."""
FEW = 150

WORDS = r"""
INPUT( OUTPUT( = ( ) , # \ | - 0 1 2 01 0110 . .names .inputs .outputs .end .latch .model DFF( NOT( AND( LUT
0x aag aig c i0 o0 l0 ~ & ^ and or not if else ; : [ ] { } ' " - ? ! * gates: inputs: outputs: examples: XOR
MUX CONST1 vdd net output is
"""
TOKENS = [*WORDS.split(), " ", "\n", "\r\n", "\u2028", "\0", "é", "9" * 20]


def sound(format: str) -> list[bytes]:
    """The texts that are damaged: every golden one, and as many circuits of the library."""
    written = [registry.write(library.load(name), format) for name in ("half-adder", "full-adder", "c17", "majority")]
    golden = [data_of(case) for case in GOLDEN.cases if case.file == format]
    return [*golden, *(text if isinstance(text, bytes) else text.encode() for text in written * 12)]


def damaged(chance: random.Random, texts: list[bytes]) -> bytes:
    """Return a text, damaged one to three times."""
    text = chance.choice(texts)
    for _ in range(chance.choice([1, 1, 2, 3])):
        at = chance.randrange(len(text) + 1)
        length = chance.choice([1, 1, 2, 5, 20])
        match chance.randrange(7):
            case 0:
                text = text[:at] + bytes([chance.randrange(256)]) + text[at + 1 :]
            case 1:
                text = text[:at] + text[at + length :]
            case 2:
                text = text[: at + length] + text[at:]
            case 3:
                text = text[:at] + chance.choice(TOKENS).encode() + text[at:]
            case 4:
                text = text[:at]
            case 5:
                other = chance.choice(texts)
                start = chance.randrange(len(other) + 1)
                text = text[:at] + other[start : start + 10 * length] + text[at:]
            case _:
                lines = text.split(b"\n")
                chance.shuffle(lines)
                text = b"\n".join(lines)
    return text


def is_circuit(data: bytes, format: str | None) -> bool:
    """Return whether a text is a circuit, which can be evaluated; if not, it says why."""
    try:
        circuit = registry.read(data, file="f", format=format).circuit
    except SpecError as error:
        refused = error
    else:
        assert len(evaluate(circuit, "1" * len(circuit.inputs)).outputs) == len(circuit.outputs) > 0
        return True
    assert all(d.what and d.remedy for d in refused.diagnostics)
    assert any(d.severity == "error" for d in refused.diagnostics)
    return False


def tried(format: str, count: int) -> int:
    """Return how many of the damaged texts are circuits."""
    chance, texts, found = random.Random(format), sound(format), 0
    for _ in range(count):
        data = damaged(chance, texts)
        try:
            found += is_circuit(data, format)
        except Exception as error:
            error.add_note(f"text: {data!r}")
            raise
    return found


@pytest.mark.parametrize("format", CIRCUIT_READABLE)
def test_a_few_damaged_texts(format: str) -> None:
    assert 0 < tried(format, FEW) < FEW


@pytest.mark.slow
@pytest.mark.parametrize("format", CIRCUIT_READABLE)
def test_a_damaged_text_is_a_circuit_or_an_error(format: str) -> None:
    assert TEXTS // 50 < tried(format, TEXTS) < TEXTS - TEXTS // 50  # both answers are given


@pytest.mark.slow
@pytest.mark.parametrize("format", CIRCUIT_READABLE)
def test_any_text_in_a_format_that_it_is_not_in(format: str) -> None:
    others = [data_of(case) for case in GOLDEN.cases if case.file != format]
    assert sum(is_circuit(data, format) for data in others) < len(others) // 2
