"""A circuit's run as it must be: the bits of all nets, the rows of its table, and its outputs. No weights anywhere near."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import sqrt
from typing import Any

from tm2tfr.base.errors import CompileError, InputError, counted, visible
from tm2tfr.contract.source import ANY, Column, Ending, readable
from tm2tfr.contract.specification import Specification, reached
from tm2tfr.sources.circuit.columns import LOOKUP_COLUMNS, OPERANDS, PAPER_COLUMNS, TRUTH, widened
from tm2tfr.sources.circuit.evaluate import Evaluation, evaluate
from tm2tfr.sources.circuit.inputs import shown_outputs
from tm2tfr.sources.circuit.netlist import Circuit, Gate
from tm2tfr.transformer.residual import Residual
from tm2tfr.transformer.weights import Decoder

# ── what every subspace must hold at every position of a circuit's run, and where each head must look ─
# Worked out from the circuit and the right bits alone. With n inputs, position i answers symbol i + 1, so its gate is
# number i + 1 - n; before position n - 1 there is none, and nothing that is answered there matters.
#
# ``paper`` (Appendix A with the repairs): the four entries ±1 of the embedding have mean 0 and variance 4/d, those of the
# stream after attention mean 0 and variance (4 + 2a²)/d, where a is the mean of the operands' signs. So the layer norm
# makes a into a' = a/√((4 + 2a²)/d + ε), and with h half the value of a' at a = 1 the flags are
#
# NOR: one = max(0, -a' - h), zero = max(0, a' + h);   AND: one = max(0, a' - h), zero = max(0, h - a');
# XOR: one = h - |a'|, zero = max(0, |a'| - h).
#
# ``paper-hard`` has no norms: a' = a and h = 1/2. Under softmax these are the values in the limit; the attention that other
# positions get makes a difference of at most 2/d² to a.
Held = Mapping[str, str | int | Fraction]
"""What a subspace holds -> its number, or the label of its one-hot vector."""

_EMBEDDING, _ATTENTION, _FEED_FORWARD = (-1, "embedding"), (0, "attention"), (0, "feed_forward")
LOOKUP_WRITTEN: Mapping[str, tuple[int, str]] = {
    **dict.fromkeys(("x", "1", "i", "i^2", *OPERANDS, *TRUTH), _EMBEDDING),
    **dict.fromkeys((f"x_{operand}" for operand in OPERANDS), _ATTENTION),
    "y": _FEED_FORWARD,
}
PAPER_WRITTEN: Mapping[str, tuple[int, str]] = {
    **dict.fromkeys(("s", "-s", "-1", "here"), _EMBEDDING),
    **dict.fromkeys(("mean", "-mean"), _ATTENTION),
    **dict.fromkeys(("one", "zero", "-one", "-zero"), _FEED_FORWARD),
}
"""What is held -> (layer from 0, part) after which it has its value; before that, it is 0."""


@dataclass(frozen=True)
class CircuitSpecification(Specification):
    """The specification of a run.

    Args:
        circuit: the circuit that was compiled.
        symbols: the bits of all nets, inputs and then gates, in order.
        variant: see `tm2tfr.base.choices.CIRCUIT_VARIANTS`.
        epsilon: that of the layer norms of ``paper``.
    """

    circuit: Circuit
    symbols: Sequence[int]
    variant: str = "lookup"
    epsilon: float = 0.0

    @property
    def positions(self) -> int:
        """The number of positions of the run."""
        return len(self.symbols) - 1

    @property
    def tokens(self) -> tuple[str, ...]:
        """The token that is fed at each position."""
        return tuple(map(str, self.symbols[:-1]))

    @property
    def held(self) -> frozenset[str]:
        """Everything that subspaces may be claimed to hold."""
        return frozenset(LOOKUP_WRITTEN if self.variant == "lookup" else PAPER_WRITTEN)

    def covers(self, layout: Residual) -> bool:
        """Return whether every subspace of `layout` is claimed to hold something that this specification covers."""
        return all(subspace.holds in self.held for subspace in layout.subspaces)

    def written(self, what: str) -> tuple[int, str]:
        """Return the stage after which the subspace that holds `what` has its value."""
        return (LOOKUP_WRITTEN if self.variant == "lookup" else PAPER_WRITTEN)[what]

    def holds(self, what: str, layer: int, part: str) -> bool:
        """Return whether the subspace that holds `what` has its value after `part` of `layer`."""
        return reached(self.written(what), layer, part)

    def values(self, i: int) -> Held:
        """Return what every subspace holds at position `i`, once it is written."""
        return self._lookup_values(i) if self.variant == "lookup" else self._paper_values(i)

    def attended(self, where: str, i: int) -> Sequence[int]:
        """Return the positions that a head with the claim `where` must attend to from position `i`; none: no such claim."""
        if where == "operands":
            return range(i + 1) if self.gate(i) is None else sorted(set(self.addresses(i)))
        return (self.addresses(i)[OPERANDS.index(where)],) if where in OPERANDS else ()

    def about(self, i: int) -> str | None:
        """Return the gate whose bit position `i` answers, in words; None if it answers none."""
        gate = self.gate(i)
        if gate is None:
            return None
        return f"position {i} answers net {gate.net}: {gate.kind}({', '.join(gate.operands)})"

    def gate(self, i: int) -> Gate | None:
        """Return the gate whose bit position `i` answers; None before the last input."""
        number = i + 1 - len(self.circuit.inputs)
        return self.circuit.gates[number] if number >= 0 else None

    @cached_property
    def _numbers(self) -> Mapping[str, int]:
        nets = (*self.circuit.inputs, *(gate.net for gate in self.circuit.gates))
        return {net: number for number, net in enumerate(nets)}

    def addresses(self, i: int) -> tuple[int, ...]:
        """Return the positions of the operands: the last one in place of any that the gate lacks, 0 without a gate."""
        gate = self.gate(i)
        found = [self._numbers[net] for net in gate.operands] if gate is not None else []
        found = found or [0]
        return (*found, *[found[-1]] * (len(OPERANDS) - len(found)))

    def _lookup_values(self, i: int) -> Held:
        gate, addresses = self.gate(i), self.addresses(i)
        bits = [self.symbols[address] for address in addresses]
        return {
            "x": self.symbols[i],
            "1": 1,
            "i": i,
            "i^2": i * i,
            **dict(zip(OPERANDS, addresses, strict=True)),
            **dict(zip(TRUTH, map(int, "0" * len(TRUTH) if gate is None else widened(gate)), strict=True)),
            **{f"x_{operand}": bit for operand, bit in zip(OPERANDS, bits, strict=True)},
            "y": 0 if gate is None else self.symbols[i + 1],
        }

    def _paper_values(self, i: int) -> Held:
        sign, mean = 2 * self.symbols[i] - 1, self.mean(i)
        one, zero = self.flags(i, mean)
        embedded: dict[str, str | int | Fraction] = {"s": sign, "-s": -sign, "-1": -1, "here": str(i)}
        found = {"mean": mean, "-mean": -mean, "one": one, "zero": zero, "-one": -one, "-zero": -zero}
        return embedded | found

    def mean(self, i: int) -> Fraction:
        """Return the mean of the signs of the operands, each as often as it is one; of all so far if there is no gate."""
        gate = self.gate(i)
        if gate is None:
            return Fraction(2 * self._ones[i] - (i + 1), i + 1)
        signs = [2 * self.symbols[self._numbers[net]] - 1 for net in gate.operands]
        return Fraction(sum(signs), len(signs))

    @cached_property
    def _ones(self) -> list[int]:
        """The number of ones among the inputs up to each."""
        inputs = self.symbols[: len(self.circuit.inputs)]
        return [sum(inputs[: i + 1]) for i in range(len(inputs))]

    def flags(self, i: int, mean: Fraction) -> tuple[Fraction, Fraction]:
        """Return the flags for 1 and for 0, see the module."""
        gate = self.gate(i)
        if gate is None:
            return Fraction(0), Fraction(0)
        a, h = mean * self._scale(mean), self._scale(Fraction(1)) / 2
        nothing = Fraction(0)
        if gate.table == "1000":
            return max(nothing, -a - h), max(nothing, a + h)
        if gate.table == "0001":
            return max(nothing, a - h), max(nothing, h - a)
        return h - abs(a), max(nothing, abs(a) - h)

    def _scale(self, mean: Fraction) -> Fraction:
        """Return by what the layer norm after attention multiplies."""
        if self.variant == "paper-hard":
            return Fraction(1)
        width = 9 + self.positions
        return Fraction(1 / sqrt(float(4 + 2 * mean * mean) / width + self.epsilon))


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
    def own(self) -> dict[str, Any]:
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
        what = f"{visible(self.name)}: these weights cannot be compared with a circuit"
        tables = [columns for columns in (LOOKUP_COLUMNS, PAPER_COLUMNS) if readable(columns, layout)]
        if not tables:
            why = "their residual stream holds neither the operands of a gate nor the mean of their signs"
            raise CompileError(f"{what}, since {why}: run them without a check")
        if (tables[0] == LOOKUP_COLUMNS) != (self.variant == "lookup"):
            why = f"they say that their variant is {visible(self.variant)}, and their residual stream is that of another"
            raise CompileError(f"{what}, since {why}: compile the circuit again")

    def specification(self, upto: int) -> CircuitSpecification:
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

    def rows(self, columns: Sequence[Column]) -> Iterator[tuple[Any, ...]]:
        """Yield the right cells at each position, one for each column; `ANY` where it does not matter what is there."""
        for i in range(self.positions):
            values = self._specification.values(i)
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
