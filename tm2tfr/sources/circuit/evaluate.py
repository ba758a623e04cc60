"""The reference evaluator: the bits of all nets, gate by gate. It knows nothing of transformers.

Many cases are evaluated at once: bit k of a net's word is its value in case k, and a word is an integer of any length.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tm2tfr.sources.circuit.netlist import Circuit

Bits = NDArray[np.uint8]
"""Values 0 and 1."""


@dataclass(frozen=True)
class Evaluation:
    """The values of a circuit on one input.

    Args:
        symbols: the bits of the whole sequence as text: those of the inputs, then those of the gates, in order.
        outputs: the name of each output -> its bit, 0 or 1.
    """

    symbols: str
    outputs: Mapping[str, int]

    @property
    def output_bits(self) -> str:
        """The bits of the outputs as text, in the order of the circuit."""
        return "".join(map(str, self.outputs.values()))


def evaluate(circuit: Circuit, bits: str) -> Evaluation:
    """Return what `circuit` computes from `bits`, the bits of its inputs as text, in order."""
    value = dict(zip(circuit.inputs, map(int, bits), strict=True))
    for gate in circuit.gates:
        case = 0
        for net in gate.operands:
            case = 2 * case + value[net]
        value[gate.net] = int(gate.table[case])
    return Evaluation("".join(map(str, value.values())), {name: value[net] for name, net in circuit.outputs})


def evaluate_cases(circuit: Circuit, cases: Bits) -> Bits:
    """Return the bits of all nets in many cases at once.

    Args:
        cases: (cases, inputs), the bits of the inputs.

    Returns:
        (cases, nets): the bits of the inputs, then those of the gates, in order.
    """
    number = len(cases)
    packed = np.packbits(cases.T, axis=1, bitorder="little")
    inputs = [int.from_bytes(row.tobytes(), "little") for row in packed]
    words = evaluate_words(circuit, inputs, ones=(1 << number) - 1)
    data = b"".join(word.to_bytes(packed.shape[1], "little") for word in words)
    rows = np.frombuffer(data, dtype=np.uint8).reshape(len(words), packed.shape[1])
    return np.ascontiguousarray(np.unpackbits(rows, axis=1, bitorder="little", count=number).T)


def evaluate_words(circuit: Circuit, inputs: Sequence[int], *, ones: int) -> list[int]:
    """Return the words of all nets: those of the inputs, then those of the gates, in order.

    Args:
        inputs: a word for each input.
        ones: the word that has a 1 for each case.
    """
    words = dict(zip(circuit.inputs, inputs, strict=True))
    for gate in circuit.gates:
        words[gate.net] = _word(gate.table, [words[net] for net in gate.operands], ones)
    return list(words.values())


def _word(table: str, operands: Sequence[int], ones: int) -> int:
    """Return the value of a gate: its first operand chooses between the two halves of the table."""
    if not operands:
        return ones if table == "1" else 0
    half = len(table) // 2
    if half == 1:
        low, high = (ones if bit == "1" else 0 for bit in table)
    else:
        low, high = (_word(part, operands[1:], ones) for part in (table[:half], table[half:]))
    return low ^ (operands[0] & (low ^ high))


def outcomes(circuit: Circuit, words: Sequence[str], max_steps: int | None) -> list[str | None]:
    """Return the bits of the outputs for each input, see `tm2tfr.contract.source.Source.outcomes`."""
    if not words:
        return []
    cases = np.frombuffer("".join(words).encode(), dtype=np.uint8).reshape(len(words), len(circuit.inputs)) - ord("0")
    bits = evaluate_cases(circuit, cases)[:, [circuit.numbers[net] for _, net in circuit.outputs]]
    return ["".join(map(str, row)) for row in bits.tolist()]
