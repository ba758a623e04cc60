"""The specification of a data set or a sweep of circuits: circuits as they are chosen, and their inputs."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from tm2tfr.dataset.spec import CommonSpec
from tm2tfr.sources.circuit.inputs import all_cases, read_input
from tm2tfr.sources.circuit.netlist import Circuit

CIRCUIT_SPLIT_BY = ("run", "circuit", "input")


@dataclass(frozen=True)
class RandomBits:
    """`count` different random inputs, all being equally likely."""

    count: int
    seed: str


@dataclass(frozen=True)
class CircuitInputs:
    """The inputs of each circuit; `words` as people write them, see `tm2tfr.sources.circuit.inputs.read_input`."""

    words: tuple[str, ...] = ()
    every: bool = False
    random: tuple[RandomBits, ...] = ()

    def of(self, circuit: Circuit) -> tuple[str, ...]:
        """Return the bits of the different inputs of a circuit, in the order listed, all, random.

        Raises:
            InputError: if a word is no input of it, or it has too many inputs for all.
        """
        return tuple(dict.fromkeys(self._each(circuit)))

    def _each(self, circuit: Circuit) -> Iterator[str]:
        yield from (read_input(circuit, word) for word in self.words)
        if self.every:
            yield from ("".join(map(str, case)) for case in all_cases(circuit).tolist())
        for source in self.random:
            yield from drawn_bits(source, len(circuit.inputs))


def drawn_bits(source: RandomBits, inputs: int) -> Iterator[str]:
    """Yield different inputs; the reader has checked that there are enough."""
    chance, found = random.Random(f"{source.seed} over {inputs} bits"), set[int]()
    while len(found) < source.count:
        number = chance.getrandbits(inputs)
        if number not in found:
            found.add(number)
            yield f"{number:0{inputs}b}"


@dataclass(frozen=True)
class ChosenCircuit:
    """A circuit, how it was named, and how it is compiled.

    Args:
        argument: its name, or that of its file.
        parameters: those of a shipped circuit that were given.
        circuit: in the basis that the options ask for.
        options: see `tm2tfr.compile`.
    """

    argument: str
    parameters: Mapping[str, str]
    circuit: Circuit
    options: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class CircuitSpec(CommonSpec):
    """A data set, or a sweep, of Boolean circuits."""

    noun: ClassVar[str] = "circuit"

    circuits: tuple[ChosenCircuit, ...]
    inputs: CircuitInputs = field(default_factory=CircuitInputs)


def circuit_fingerprint(circuit: Circuit) -> str:
    """Return a digest of what a decoder generates for a circuit, regardless of its name and those of its nets."""
    number = circuit.numbers
    gates = [[gate.table, *(number[net] for net in gate.operands)] for gate in circuit.gates]
    facts: list[Any] = [len(circuit.inputs), gates, [number[net] for _, net in circuit.outputs]]
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()
