"""A circuit's run as it must be: the bits of all nets, the rows of its table, and its outputs. No weights anywhere near."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any

from tm2tfr.base.errors import CompileError, InputError, counted, listing, visible
from tm2tfr.contract.source import ANY, AnyRow, Column, Ending, readable, unreadable
from tm2tfr.contract.specification import Specification
from tm2tfr.sources.circuit.columns import (
    LOOKUP_COLUMNS,
    PAPER_COLUMNS,
    columns,
)
from tm2tfr.sources.circuit.evaluate import Evaluation, evaluate
from tm2tfr.sources.circuit.inputs import shown_outputs
from tm2tfr.sources.circuit.model import CircuitSpecification
from tm2tfr.sources.circuit.netlist import Circuit
from tm2tfr.transformer.residual import Residual
from tm2tfr.transformer.weights import Decoder


@dataclass(frozen=True)
class CircuitResult:
    """What a run computes.

    Args:
        outputs: pairs of the name of an output and its bit, in the circuit's order.
        shown: the same in words: a number for each bus, or a digest.
        cut_off: whether the run was cut off before its last gate.
    """

    outputs: tuple[tuple[str, int], ...]
    shown: str = ""
    cut_off: bool = False

    @classmethod
    def of(cls, circuit: Circuit, outcome: str) -> CircuitResult:
        """Return what `outcome` says: the bits of the outputs, or ``limit``."""
        if outcome == "limit" and circuit.outputs:
            return cls((), "", cut_off=True)
        outputs = {name: int(bit) for (name, _), bit in zip(circuit.outputs, outcome, strict=True)}
        return cls(tuple(outputs.items()), shown_outputs(circuit, outputs))

    @property
    def outcome(self) -> str:
        """The bits of the outputs, in order, as text; ``limit`` if the run was cut off."""
        if self.cut_off:
            return "limit"
        return "".join(str(bit) for _, bit in self.outputs)

    @property
    def own(self) -> dict[str, object]:
        """What there is to say of it beside the outcome, as plain data."""
        return {"outputs": dict(self.outputs), "result": self.shown}

    def unmet(self, example: Any) -> list[str]:
        """Return in what it is not what an example says, whose `outputs` are bits as text, by name."""
        bits = dict(self.outputs)
        wrong = {name: bit for name, bit in example.outputs.items() if str(bits[name]) != bit}
        return [f"{name} = {bit}, the evaluator {bits[name]}" for name, bit in wrong.items()]


@dataclass(frozen=True)
class CircuitTruth:
    """The right run of a circuit on an input.

    Args:
        bits: those of the inputs, in order: 0 or 1, as numbers or as text.
        variant, epsilon: those of the weights, for the table and the specification.
        max_steps: the run is cut off after so many gates; None: it has all of them.

    Raises:
        InputError: if there are not as many bits as inputs, or anything but bits.
    """

    circuit: Circuit
    bits: Sequence[int] | str
    variant: str = "lookup"
    epsilon: float = 0.0
    max_steps: int | None = None

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
    def positions(self) -> int:
        """The number of positions of the run."""
        gates = len(self.circuit.gates) if self.max_steps is None else min(self.max_steps, len(self.circuit.gates))
        return len(self.circuit.inputs) - 1 + gates

    @property
    def outputs(self) -> Mapping[str, int]:
        """The bit of each output."""
        return self._evaluation.outputs

    def result(self) -> CircuitResult:
        """Return what the circuit computes; of a run that is cut off nothing."""
        if self.positions < len(self.symbols) - 1:
            return CircuitResult((), "", cut_off=True)
        return CircuitResult(tuple(self.outputs.items()), shown_outputs(self.circuit, self.outputs))

    @property
    def noun(self) -> str:
        """What is run."""
        return "circuit"

    @property
    def reference(self) -> str:
        """What says what is right: the bits, gate by gate."""
        return "evaluator"

    @property
    def name(self) -> str:
        """The circuit's name."""
        return self.circuit.name

    @property
    def input(self) -> str:
        """The bits of the inputs, in order, as text."""
        return "".join(self.prompt)

    @property
    def blank(self) -> str:
        """A circuit has no tape."""
        return ""

    def refuse(self, layout: Residual) -> None:
        """Raise CompileError if a decoder with this stream has no table of a circuit's run, or another variant's."""
        lacking = unreadable(columns(self.variant), layout)
        if not lacking:
            return
        why, remedy = f"no subspace of their residual stream holds {listing(lacking, most=3)}", "run them without a check"
        if any(readable(table, layout) for table in (LOOKUP_COLUMNS, PAPER_COLUMNS)):
            stated = visible(self.variant)
            why = f"they say that their variant is {stated}, and their residual stream is that of another"
            remedy = "compile the circuit again"
        what = f"{visible(self.name)}: these weights cannot be compared with a circuit"
        raise CompileError(f"{what}, since {why}: {remedy}")

    def specification(self, upto: int) -> Specification:
        """Return what every subspace holds at every position, and where each head looks."""
        return self._specification

    @cached_property
    def _specification(self) -> CircuitSpecification:
        return CircuitSpecification(self.circuit, self.symbols, self.variant, self.epsilon)

    def ending(self, decoder: Decoder) -> Ending | None:
        """Return what is wrong with where `decoder` stops: where its position table ends, and nowhere else."""
        wanted = len(self.symbols) - 1
        if decoder.positions != wanted:
            found = "endless" if decoder.positions is None else f"{decoder.positions:,}"
            return self._ending(
                "position table", "its length", f"{wanted:,}", found, "the run does not end with the last gate"
            )
        if decoder.stop:
            return self._ending(
                "stop tokens", "the list", "empty", ", ".join(decoder.stop), "a run ends before its last gate"
            )
        return None

    def _ending(self, what: str, part: str, expected: str, found: str, why: str) -> Ending:
        why = f"the weights are right so far, but {why}: compile the circuit again"
        return Ending(what=what, part=part, expected=expected, found=found, why=why)

    def rows(self, columns: Sequence[Column]) -> Iterator[AnyRow]:
        """Yield the right cells at each position, one for each column; `ANY` where it does not matter what is there."""
        return islice(zip(*map(self._cells, columns), strict=True), self.positions)

    def _cells(self, column: Column) -> Sequence[Any]:
        """Return the cells of a column at all positions: the evaluator's bits, and what the model makes of them."""
        bits, held = list(map(str, self.symbols)), self._specification.columns
        if column.kind == "position":
            return range(len(bits) - 1)
        if column.kind == "fed":
            return bits[:-1]
        if column.kind == "bits":
            tables = zip(*(held[name].tolist() for name in column.bits), strict=True)
            return [column.named("".join(map(str, table))) for table in tables]
        cells = bits[1:] if column.kind == "answered" else held[column.holds].tolist()
        before = len(self.circuit.inputs) - 1 if column.kind == "answered" or column.holds == "mean" else 0
        return [*[ANY] * before, *cells[before:]]
