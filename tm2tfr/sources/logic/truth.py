"""A run of a formula or a program as it must be: every node at every position of a word. No weights anywhere near."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from tm2tfr.contract import ANY, BOTTOM, Column, Ending
from tm2tfr.errors import CompileError, visible
from tm2tfr.sources.logic.evaluate import LogicValue, evaluate
from tm2tfr.sources.logic.given.inputs import word_of
from tm2tfr.sources.logic.nodes import Node
from tm2tfr.sources.logic.outputs import output_names
from tm2tfr.sources.logic.program import LogicProgram
from tm2tfr.sources.logic.specification import LogicSpecification
from tm2tfr.text.words import joined
from tm2tfr.transformer.residual import Residual
from tm2tfr.transformer.weights import Decoder

ENDS = ("BOS", "EOS")
"""The tokens before and after a word."""


@dataclass(frozen=True)
class LogicResult:
    """What a formula or a program says of a word.

    Args:
        node: the name of what was compiled.
        values: what it is at each position of the word, as text.
        verdict: of a bit, ``accept`` if it is true at the last position, otherwise ``reject``; None of anything else.
        numbers: whether the values are numbers.
    """

    node: str
    values: tuple[str, ...]
    verdict: str | None
    numbers: bool = False

    @property
    def outcome(self) -> str:
        """The verdict; if there is none, the values."""
        return self.verdict or joined(self.values, numbers=self.numbers)

    @property
    def said(self) -> str:
        """It, as people are told."""
        if self.verdict is None:
            return f"{self.node} = {self.outcome}"
        is_true = "true" if self.verdict == "accept" else "false"
        return f"{self.verdict}: {self.node} is {is_true} at the last position"

    @property
    def own(self) -> dict[str, Any]:
        """What there is to say of it beside the outcome, as plain data."""
        return {"node": self.node, "values": list(self.values)}


def answered(program: LogicProgram, decoder: Decoder) -> list[Node]:
    """Return the nodes of a program that weights answer, output by output.

    Raises:
        CompileError: if there are none, one of them is no node of the program, or none is the one that it chooses.
    """
    if not decoder.outputs:
        what = f"{visible(program.name)}: these weights have no outputs, by which formulas and programs answer"
        raise CompileError(f"{what}: compile it again")
    names = {name: node for node, name in output_names(program).items()}
    known = [names[output.name] for output in decoder.outputs if output.name in names]
    if len(known) < len(decoder.outputs):
        strange = next(output.name for output in decoder.outputs if output.name not in names)
        what = f"{visible(program.name)}: these weights have an output {strange!r}, which is no part of it"
        raise CompileError(f"{what}: compile it again")
    if program.root not in known:
        what = f"{visible(program.name)}: no output of these weights is {next(iter(names))!r}, which is to be compared"
        raise CompileError(f"{what}: compile it again, or choose a definition with --define")
    return known


def shown_value(value: LogicValue | None, kind: str) -> Any:
    """Return what a node is at a position as a cell: T or F, a label, a number; F, ⊥ and `ANY` where it is None, outside
    the word.
    """
    if kind == "number":
        return ANY if value is None else value
    if kind == "label":
        return BOTTOM if value is None else value
    return "T" if value else "F"


@dataclass(frozen=True)
class LogicTruth:
    """The right run of a formula or a program on a word.

    Args:
        decoder: the weights to compare with, of which only the names of outputs, claims, and whether the vocabulary has an
            EOS are read.

    Raises:
        InputError: if it is not a word over the program's alphabet.
        CompileError: see `answered`.
    """

    program: LogicProgram
    input: str
    decoder: Decoder = field(repr=False)

    reference = "evaluator"
    blank = ""

    def __post_init__(self) -> None:
        _ = self.values

    @property
    def noun(self) -> str:
        """``formula`` or ``program``."""
        return self.program.noun

    @property
    def name(self) -> str:
        """The name of the program."""
        return self.program.name

    @cached_property
    def word(self) -> tuple[str, ...]:
        """The tokens of the word."""
        return word_of(self.program, self.input)

    @cached_property
    def prompt(self) -> tuple[str, ...]:
        """BOS, the tokens of the word, and EOS if the weights have one."""
        return (ENDS[0], *self.word, *ENDS[1:][: ENDS[1] in self.decoder.vocabulary])

    @cached_property
    def nodes(self) -> Mapping[Node, tuple[LogicValue, ...]]:
        """What every node is at each position of the word."""
        return evaluate(self.program, self.word)

    @cached_property
    def values(self) -> dict[str, tuple[Any, ...]]:
        """What each output is at every position of the prompt, see `shown_value`."""
        found = {}
        for node, output in zip(answered(self.program, self.decoder), self.decoder.outputs, strict=True):
            there = (None, *self.nodes[node], *[None][: len(self.prompt) - 1 - len(self.word)])
            found[output.name] = tuple(shown_value(value, node.kind) for value in there)
        return found

    def refuse(self, layout: Residual) -> None:
        """Raise CompileError if the weights have no outputs to compare."""
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

    def result(self) -> LogicResult:
        """Return the values of what was compiled, and the verdict at the last position of the word."""
        root = self.program.root
        values = tuple(str(shown_value(value, root.kind)) for value in self.nodes[root])
        verdict = None if root.kind != "bit" else "accept" if values[-1] == "T" else "reject"
        return LogicResult(output_names(self.program)[root], values, verdict, numbers=root.kind == "number")

    def specification(self, upto: int) -> LogicSpecification:
        """Return what every subspace holds at every position, and where each head looks."""
        return self._specification

    @cached_property
    def _specification(self) -> LogicSpecification:
        return LogicSpecification.of(self.word, self.nodes, self.decoder)

    def ending(self, decoder: Decoder) -> Ending | None:
        """A formula answers at every position of its word, and generates nothing: there is no ending."""
        return None
