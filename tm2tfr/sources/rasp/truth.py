"""A run of a RASP program as it must be: the values of its outputs at every position. No weights anywhere near."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

from tm2tfr.contract import ANY, Column, Ending
from tm2tfr.errors import CompileError, visible
from tm2tfr.sources.rasp.evaluate import Stages, evaluate
from tm2tfr.sources.rasp.given.inputs import word_of
from tm2tfr.sources.rasp.program import Program, shown_atom
from tm2tfr.sources.rasp.sops import SOp
from tm2tfr.sources.rasp.specification import RaspSpecification
from tm2tfr.sources.rasp.specification.claims import numeric, shown_value
from tm2tfr.text.words import joined
from tm2tfr.transformer.residual import Residual
from tm2tfr.transformer.weights import Decoder


@dataclass(frozen=True)
class RaspResult:
    """What a program answers.

    Args:
        sop: the s-op that was compiled.
        values: its values, one per position, as text.
    """

    sop: str
    values: tuple[str, ...]

    @property
    def outcome(self) -> str:
        """The values: one after the other where each is one character, otherwise as a list."""
        return joined(self.values)

    @property
    def said(self) -> str:
        """It, as people are told."""
        return f"{self.sop} = {self.outcome}"

    @property
    def own(self) -> dict[str, Any]:
        """What there is to say of it beside the outcome, as plain data."""
        return {"sop": self.sop, "values": list(self.values)}


def answered(program: Program, decoder: Decoder) -> list[SOp]:
    """Return the s-ops of a program that weights answer, output by output.

    Raises:
        CompileError: if one of the outputs is no s-op of the program, or none is the one that it chooses.
    """
    sops = [program.choosing(output.name).sop for output in decoder.outputs]
    if program.sop not in sops:
        what = f"{visible(program.name)}: no output of these weights is {program.chosen!r}, the s-op that is to be compared"
        raise CompileError(f"{what}: compile the program again, or choose an output with --sop")
    return sops


@dataclass(frozen=True)
class RaspTruth:
    """The right run of a program on an input.

    Args:
        decoder: the weights to compare with, of which only the names of outputs, and claims, are read.

    Raises:
        InputError: if it is not an input of the program.
        Undefined: if the program is undefined on it.
        CompileError: if an output of the weights is no s-op of the program.
    """

    program: Program
    input: str
    decoder: Decoder = field(repr=False)

    noun = "program"
    reference = "interpreter"
    blank = ""

    def __post_init__(self) -> None:
        _ = self.values

    @property
    def name(self) -> str:
        """The name of the program."""
        return self.program.name

    @cached_property
    def prompt(self) -> tuple[str, ...]:
        """The tokens of the input, as text."""
        return tuple(map(shown_atom, self.stages.word))

    @cached_property
    def stages(self) -> Stages:
        """What the interpreter says of everything that the outputs need."""
        sops = [self.program.choosing(output.name).sop for output in self.decoder.outputs]
        return evaluate(sops or [self.program.sop], word_of(self.program, self.input))

    @cached_property
    def values(self) -> dict[str, tuple[Any, ...]]:
        """The values of each output at every position: as text, where it is a label, or as numbers."""
        stages, counted_as_numbers = self.stages, numeric(self.stages.values)
        found = {}
        for output in self.decoder.outputs:
            sop = self.program.choosing(output.name).sop
            known = stages.values[sop]
            if output.labels is None:
                found[output.name] = tuple(value if isinstance(value, str) else plain_value(value) for value in known)
            else:
                found[output.name] = tuple(shown_value(value, counted_as_numbers[sop]) for value in known)
        return found

    def refuse(self, layout: Residual) -> None:
        """Raise CompileError if the weights have no outputs to compare."""
        if not self.decoder.outputs:
            what = f"{visible(self.name)}: these weights have no outputs, and a RASP program answers by outputs"
            raise CompileError(f"{what}: compile the program again")
        answered(self.program, self.decoder)

    def rows(self, columns: Sequence[Column]) -> Iterator[tuple[Any, ...]]:
        """Yield the right cells at each position, one for each column; `ANY` where a column is none of the outputs."""
        for i, token in enumerate(self.prompt):
            yield tuple(self._cell(column, i, token) for column in columns)

    def _cell(self, column: Column, i: int, token: str) -> Any:
        if column.kind == "position":
            return i
        if column.kind == "fed":
            return token
        values = self.values.get(column.holds)
        return ANY if values is None else values[i]

    def result(self) -> RaspResult:
        """Return the values of the s-op that was compiled."""
        name = self.decoder.outputs[0].name if self.decoder.outputs else self.program.chosen
        return RaspResult(name, tuple(map(str, self.values.get(name, ()))))

    def specification(self, upto: int) -> RaspSpecification:
        """Return what every subspace holds at every position, and where each head looks."""
        return self._specification

    @cached_property
    def _specification(self) -> RaspSpecification:
        return RaspSpecification.of(self.stages, self.decoder)

    def ending(self, decoder: Decoder) -> Ending | None:
        """A program answers at every position of its input, and generates nothing: there is no ending."""
        return None


def plain_value(value: bool | int | Fraction) -> int | Fraction:
    """Return a number, a whole one as an int."""
    number = Fraction(value)
    return number.numerator if number.denominator == 1 else number
