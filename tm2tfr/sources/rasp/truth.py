"""A run of a RASP program as it must be: the values of its outputs at every position. No weights anywhere near."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tm2tfr.base.errors import CompileError, visible
from tm2tfr.base.text.words import by_length, joined, written
from tm2tfr.contract.shown import Examined
from tm2tfr.contract.source import LabellerTruth
from tm2tfr.sources.rasp.evaluate import Stages, Undefined, evaluate
from tm2tfr.sources.rasp.evaluate_many import ManyInputs, ManyValues
from tm2tfr.sources.rasp.library import word_of
from tm2tfr.sources.rasp.model.specification import RaspSpecification
from tm2tfr.sources.rasp.program import Program, shown_atom
from tm2tfr.sources.rasp.sops import SOp
from tm2tfr.sources.rasp.values import numeric, shown_value
from tm2tfr.transformer.residual import Residual
from tm2tfr.transformer.weights import Decoder


@dataclass(frozen=True)
class RaspResult:
    """The answers of a program.

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
    def shown(self) -> str:
        """The outcome."""
        return self.outcome

    @property
    def own(self) -> dict[str, str | list[str]]:
        """What there is to say of it beside the outcome, as plain data."""
        return {"sop": self.sop, "values": list(self.values)}


def answered(program: Program, decoder: Decoder) -> list[SOp]:
    """Return the s-ops of a program that weights answer, output by output.

    Raises:
        CompileError: if an output is not an s-op of the program, or the s-op that it chooses is not an output.
    """
    sops = [program.choosing(output.name).sop for output in decoder.outputs]
    if program.sop not in sops:
        what = f"{visible(program.name)}: no output of these weights is {program.chosen!r}, the s-op that is to be compared"
        raise CompileError(f"{what}: compile the program again, or choose an output with --sop")
    return sops


def refuse_loops(program: Program, decoder: Decoder, what: str) -> None:
    """Raise CompileError if weights have loops; what: what there is not, in each pass of them, with its verb.

    Raises:
        CompileError: see there.
    """
    if decoder.loops:
        problem = f"{visible(program.name)}: these weights have loops, and {what} of a single pass over the layers"
        raise CompileError(f"{problem}: use a program without 'repeat'")


@dataclass(frozen=True)
class RaspTruth(LabellerTruth):
    """The right run of a program on an input.

    Args:
        decoder: the weights to compare with, of which only the names of outputs, and claims, are read.

    Raises:
        InputError: if it is not an input of the program.
        Undefined: if the program is undefined on it.
        CompileError: if an output of the weights is not an s-op of the program.
    """

    program: Program
    input: str
    decoder: Decoder = field(repr=False)

    noun = "program"
    reference = "interpreter"

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
    def values(self) -> dict[str, tuple[str | int | Fraction, ...]]:
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


def plain_value(value: bool | int | Fraction) -> int | Fraction:
    """Return a number, a whole one as an int."""
    number = Fraction(value)
    return number.numerator if number.denominator == 1 else number


# ── The interpreter's answers for a batch of inputs, and for the examples of a program's author.
class RaspLabels:
    """The interpreter's values for a batch of inputs, see `tm2tfr.contract.blocks.ManyLabels`.

    Raises:
        CompileError: if these are weights for other tokens, or without the output that the program chooses.
    """

    reference = RaspTruth.reference

    def __init__(self, program: Program, decoder: Decoder) -> None:
        if set(map(shown_atom, program.alphabet)) != set(decoder.vocabulary):
            what = f"{visible(program.name)}: the alphabet of the program is not the vocabulary of these weights"
            raise CompileError(f"{what}: compile the program again, with the same --alphabet")
        self._program, self._alphabet = program, program.alphabet
        self._places = {shown_atom(token): place for place, token in enumerate(program.alphabet)}
        self._tokens = np.array([decoder.numbers[shown_atom(token)] for token in program.alphabet], dtype=np.int64)
        self._sops = answered(program, decoder)
        self.many = ManyInputs(self._sops, program.alphabet)
        self._numeric = numeric(node for node in self.many.nodes if isinstance(node, SOp))
        self._labels = [
            None if output.labels is None else {label: n for n, label in enumerate(output.labels)}
            for output in decoder.outputs
        ]

    @property
    def letters(self) -> int:
        """The number of tokens in the alphabet."""
        return len(self._alphabet)

    def read(self, text: str) -> Sequence[int]:
        """Return the indices of an input's tokens.

        Raises:
            InputError: see `word_of`.
        """
        return [self._places[shown_atom(token)] for token in word_of(self._program, text)]

    def written(self, word: Sequence[int]) -> str:
        """Return an input as people write it."""
        return written([self._alphabet[place] for place in word])

    def fed(self, words: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the numbers of the tokens fed: those of the inputs."""
        return self._tokens[words]

    def __call__(self, words: NDArray[np.int64]) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
        """Return on which inputs the program is defined, and its outputs on these: (outputs, inputs, n)."""
        found = self.many.run(words)
        return found.defined, self.wanted(found)

    def wanted(self, found: ManyValues) -> NDArray[np.float64]:
        """Return the values of outputs from known values, see `ManyLabels`: (outputs, inputs, n)."""
        wanted = []
        for sop, labels in zip(self._sops, self._labels, strict=True):
            atoms = found.atoms[sop]
            if labels is None:
                known = [np.inf if isinstance(atom, str) else float(atom) for atom in atoms]
            else:
                known = [labels.get(shown_value(atom, self._numeric[sop]), -1) for atom in atoms]
            places = found.places[sop] if found.defined.all() else found.places[sop][found.defined]
            wanted.append(np.array(known, dtype=np.float64).take(places.T))
        return np.stack(wanted).transpose(0, 2, 1)

    def outcomes(self, words: NDArray[np.int64]) -> Sequence[str]:
        """Return the values of the first output, as `RaspResult.outcome` has them."""
        found, sop = self.many.run(words), self._sops[0]
        numbers = self._labels[0] is None
        shown = [
            str(plain_value(atom)) if numbers and not isinstance(atom, str) else shown_value(atom, self._numeric[sop])
            for atom in found.atoms[sop]
        ]
        return [joined([shown[place] for place in row]) for row in found.places[sop][found.defined].tolist()]


def outcomes(program: Program, words: Sequence[str], max_steps: int | None) -> list[str | None]:
    """Return the value of the program's s-op at the last position, see `tm2tfr.contract.source.Source.outcomes`."""
    many, sop = ManyInputs([program.sop], program.alphabet), program.sop
    inputs = [word_of(program, word) for word in words]
    numbers = numeric(node for node in many.nodes if isinstance(node, SOp))[sop]
    found: list[str | None] = [None] * len(words)
    for batch in by_length(inputs):
        values = many([inputs[n] for n in batch])
        for n, place, defined in zip(batch, values.places[sop][:, -1].tolist(), values.defined.tolist(), strict=True):
            found[n] = shown_value(values.atoms[sop][place], numbers) if defined else None
    return found


def examined(program: Program, decoder: Decoder) -> Iterator[Examined]:
    """Yield the examples of a program, compared with the interpreter."""
    positions = decoder.positions
    for example in program.examples:
        sop = program.choosing(example.sop).sop
        found: tuple[str, ...] | str = "undefined"
        with suppress(Undefined):
            found = tuple(map(shown_atom, evaluate(sop, example.input).values[sop]))
        fits = (positions is None or len(example.input) <= positions) and set(example.input) <= set(program.alphabet)
        yield Examined(
            of=example.sop,
            word=written(example.input),
            expected="undefined" if example.error else tuple(map(shown_atom, example.output)),
            found=found,
            runs=fits and not example.error,
            why="as the interpreter says" if example.error or fits else "the weights do not take this input",
        )
