"""A circuit's run as it must be: the bits of all nets, the rows of its table, and its outputs. No weights anywhere near."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tm2tfr.contract import ANY, Column
from tm2tfr.errors import InputError, counted, visible
from tm2tfr.sources.circuit.evaluate import Evaluation, evaluate
from tm2tfr.sources.circuit.netlist import Circuit
from tm2tfr.sources.circuit.specification import CircuitSpecification


@dataclass(frozen=True)
class CircuitResult:
    """What a run computes: pairs of the name of an output and its bit, in the circuit's order."""

    outputs: tuple[tuple[str, int], ...]

    @property
    def outcome(self) -> str:
        """The bits of the outputs, in order, as text."""
        return "".join(str(bit) for _, bit in self.outputs)

    def as_dict(self) -> dict[str, Any]:
        """Return the result as plain data."""
        return {"outcome": self.outcome, "outputs": dict(self.outputs)}


@dataclass(frozen=True)
class CircuitTruth:
    """The right run of a circuit on an input.

    Args:
        bits: those of the inputs, in order: 0 or 1, as numbers or as text.
        variant, epsilon: those of the weights, for the table and the specification.

    Raises:
        InputError: if there are not as many bits as inputs, or anything but bits.
    """

    circuit: Circuit
    bits: Sequence[int] | str
    variant: str = "lookup"
    epsilon: float = 0.0

    def __post_init__(self) -> None:
        given, wanted, name = list(self.bits), len(self.circuit.inputs), visible(self.circuit.name)
        wrong = next((n for n, bit in enumerate(given) if str(bit) not in ("0", "1")), None)
        if wrong is not None:
            raise InputError(f"{name}: bit {wrong} of the input is {given[wrong]!r}: use 0 or 1")
        if len(given) != wanted:
            there = "is 1 bit" if len(given) == 1 else f"are {len(given)} bits"
            raise InputError(f"{name}: there {there}, for {counted(wanted, 'input')}: give one bit for each input")

    @property
    def prompt(self) -> tuple[str, ...]:
        """The tokens of the input."""
        return tuple(map(str, map(int, self.bits)))

    @cached_property
    def symbols(self) -> tuple[int, ...]:
        """The bits of all nets: inputs, then gates, in order."""
        return tuple(map(int, self._evaluation.symbols))

    @cached_property
    def _evaluation(self) -> Evaluation:
        return evaluate(self.circuit, "".join(self.prompt))

    @property
    def outputs(self) -> Mapping[str, int]:
        """The bit of each output."""
        return self._evaluation.outputs

    def result(self) -> CircuitResult:
        """Return what the circuit computes."""
        return CircuitResult(tuple(self.outputs.items()))

    @cached_property
    def specification(self) -> CircuitSpecification:
        """What every subspace holds at every position, and where each head looks."""
        return CircuitSpecification(self.circuit, self.symbols, self.variant, self.epsilon)

    def rows(self, columns: Sequence[Column]) -> Iterator[tuple[Any, ...]]:
        """Yield the right cells at each position, one for each column; `ANY` where it does not matter what is there."""
        for i in range(len(self.symbols) - 1):
            values = self.specification.values(i)
            yield tuple(self._cell(column, i, values) for column in columns)

    def _cell(self, column: Column, i: int, values: Mapping[str, Any]) -> Any:
        if column.kind == "position":
            return i
        if column.kind == "fed":
            return str(self.symbols[i])
        before = i < len(self.circuit.inputs) - 1
        if column.kind == "answered":
            return ANY if before else str(self.symbols[i + 1])
        if column.kind == "bits":
            return column.named("".join(str(values[what]) for what in column.bits))
        return ANY if before and column.holds == "mean" else values[column.holds]
