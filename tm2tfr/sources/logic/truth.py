"""A run of a formula or a program as it must be: every node at every position of a word. No weights anywhere near."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tm2tfr.base.errors import CompileError, visible
from tm2tfr.base.text.words import by_length, joined, written
from tm2tfr.contract.shown import Examined
from tm2tfr.contract.source import ANY, BOTTOM, LabellerTruth
from tm2tfr.sources.logic.evaluate import LogicValue, evaluate
from tm2tfr.sources.logic.evaluate_many import Grid, ManyRows, ManyWords
from tm2tfr.sources.logic.library import word_of
from tm2tfr.sources.logic.model.specification import LogicSpecification
from tm2tfr.sources.logic.nodes import Node
from tm2tfr.sources.logic.program import LogicProgram, WordExample
from tm2tfr.sources.logic.write import former_names, output_names
from tm2tfr.transformer.claims import Output
from tm2tfr.transformer.residual import Residual
from tm2tfr.transformer.weights import Decoder

ENDS = ("BOS", "EOS")
"""The tokens before and after a word."""


@dataclass(frozen=True)
class LogicResult:
    """The values of a formula or a program on a word.

    Args:
        node: the name of what was compiled.
        values: its values at each position of the word, as text.
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
    def shown(self) -> str:
        """The outcome."""
        return self.outcome

    @property
    def own(self) -> dict[str, str | list[str]]:
        """The fields beside the outcome, as plain data."""
        return {"node": self.node, "values": list(self.values)}


def answered(program: LogicProgram, decoder: Decoder) -> list[Node]:
    """Return the nodes of a program that weights answer, output by output.

    Raises:
        CompileError: if there are none, one is not a node of the program, or the node that it chooses is not an output.
    """
    if not decoder.outputs:
        what = f"{visible(program.name)}: these weights have no outputs, by which formulas and programs answer"
        raise CompileError(f"{what}: compile it again")
    names = {name: node for named in (former_names, output_names) for node, name in named(program).items()}
    known = [names[output.name] for output in decoder.outputs if output.name in names]
    if len(known) < len(decoder.outputs):
        strange = next(output.name for output in decoder.outputs if output.name not in names)
        what = f"{visible(program.name)}: these weights have an output {strange!r}, which is not a part of it"
        raise CompileError(f"{what}: compile it again")
    if program.root not in known:
        wanted = output_names(program)[program.root]
        what = f"{visible(program.name)}: no output of these weights is {wanted!r}, which is to be compared"
        raise CompileError(f"{what}: compile it again, or choose a definition with --define")
    return known


def shown_value(value: LogicValue | None, kind: str) -> Any:
    """Return the value of a node at a position as a cell: T or F, a label, or a number.

    Outside the word, where the value is None, the cell is F, ⊥ or `ANY`.
    """
    if kind == "number":
        return ANY if value is None else value
    if kind == "label":
        return BOTTOM if value is None else value
    return "T" if value else "F"


@dataclass(frozen=True)
class LogicTruth(LabellerTruth):
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
        """The values of each output at every position of the prompt, see `shown_value`."""
        found = {}
        for node, output in zip(answered(self.program, self.decoder), self.decoder.outputs, strict=True):
            there = (None, *self.nodes[node], *[None][: len(self.prompt) - 1 - len(self.word)])
            found[output.name] = tuple(shown_value(value, node.kind) for value in there)
        return found

    def refuse(self, layout: Residual) -> None:
        """Raise CompileError if the weights have no outputs to compare."""
        answered(self.program, self.decoder)

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


# ── The evaluator's answers for a batch of words, and for the examples of a formula's author.
class LogicLabels:
    """The evaluator's values for a batch of words, see `tm2tfr.contract.blocks.ManyLabels`: nothing is undefined.

    Raises:
        CompileError: if these are weights for other tokens, or without the output that the program chooses.
    """

    reference = LogicTruth.reference

    def __init__(self, program: LogicProgram, decoder: Decoder) -> None:
        if set(program.alphabet) != set(decoder.vocabulary) - set(ENDS):
            what = f"{visible(program.name)}: the alphabet of the {program.noun} is not the vocabulary of these weights"
            raise CompileError(f"{what}: compile the {program.noun} again, with the same --alphabet")
        self._program, self._alphabet, numbers = program, program.alphabet, decoder.numbers
        self._places = {token: place for place, token in enumerate(program.alphabet)}
        self._tokens = np.array([numbers[token] for token in program.alphabet], dtype=np.int64)
        self._before, self._after = ([numbers[end]] if end in numbers else [] for end in ENDS)
        self._answered = list(zip(answered(program, decoder), decoder.outputs, strict=True))
        self._many = ManyWords([node for node, _ in self._answered], program.alphabet)

    @property
    def letters(self) -> int:
        """The number of tokens in the alphabet."""
        return len(self._alphabet)

    def read(self, text: str) -> Sequence[int]:
        """Return the indices of a word's tokens.

        Raises:
            InputError: see `word_of`.
        """
        return [self._places[token] for token in word_of(self._program, text)]

    def written(self, word: Sequence[int]) -> str:
        """Return a word as people write it."""
        return written([self._alphabet[place] for place in word])

    def fed(self, words: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the numbers of the tokens fed: BOS, those of the words, and EOS if the weights have one."""
        ends = (np.array(end, dtype=np.int64) for end in (self._before, self._after))
        before, after = (np.broadcast_to(end, (len(words), len(end))) for end in ends)
        return np.concatenate([before, self._tokens[words], after], axis=1)

    def __call__(self, words: NDArray[np.int64]) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
        """Return that every word is defined, and the values of each output: (outputs, words, positions)."""
        return np.ones(len(words), dtype=bool), self.wanted(self._many.run(words))

    def wanted(self, found: ManyRows) -> NDArray[np.float64]:
        """Return the values of outputs from the values of nodes, see `tm2tfr.contract.blocks.ManyLabels`."""
        around = ((0, 0), (len(self._before), len(self._after)))
        wanted = [
            np.pad(_wanted(node, output, found), around, constant_values=np.nan if output.labels is None else 0)
            for node, output in self._answered
        ]
        return np.stack(wanted)

    def outcomes(self, words: NDArray[np.int64]) -> Sequence[str]:
        """Return the verdicts; of anything but bits, the values of what was compiled, as `LogicResult.outcome` has them."""
        found, root = self._many.run(words), self._program.root
        rows = found.rows[root]
        if root.kind == "bit":
            return np.where(rows[:, -1], "accept", "reject").tolist()  # type: ignore[no-any-return]
        shown, numbers = found.labels.get(root), root.kind == "number"
        texts = [[str(value) if shown is None else shown[value] for value in row] for row in rows.tolist()]
        return [joined(row, numbers=numbers) for row in texts]


def _wanted(node: Node, output: Output, found: ManyRows) -> Grid:
    """Return the right values of an output on words: (words, n); its first label is that of positions outside a word."""
    rows = found.rows[node]
    if output.labels is None:
        return rows.astype(np.float64)
    places = {label: place for place, label in enumerate(output.labels)}
    shown = found.labels.get(node, ("F", "T"))
    if output.labels[0] != (BOTTOM if node.kind == "label" else "F"):
        return np.full(rows.shape, -1.0)
    return np.array([places.get(label, -1) for label in shown], dtype=np.float64)[rows.astype(np.int64)]


def outcomes(program: LogicProgram, words: Sequence[str], max_steps: int | None) -> list[str | None]:
    """Return the verdict, or what is not a bit at the last position, see `tm2tfr.contract.source.Source.outcomes`."""
    many, root = ManyWords([program.root], program.alphabet), program.root
    inputs, found = [word_of(program, word) for word in words], dict[int, str | None]()
    for batch in by_length(inputs):
        rows = many([inputs[n] for n in batch])
        for row, n in enumerate(batch):
            value = rows.values(root, row)[-1]
            found[n] = ("accept" if value else "reject") if root.kind == "bit" else str(value)
    return [found[n] for n in range(len(words))]


def examined(program: LogicProgram, decoder: Decoder) -> Iterator[Examined]:
    """Yield the examples of a formula or a program, compared with the evaluator."""
    for example in program.examples:
        chosen = program.choosing(example.of) if example.of else program
        known = set(example.word) <= set(program.alphabet)
        yield Examined(
            of=chosen.chosen or program.noun,
            word=written(example.word),
            expected=example.values,
            found=_found(chosen, example),
            runs=known,
            why="" if known else "the weights do not take this word",
            kind="of",
            reference=LogicTruth.reference,
            numbers=chosen.root.kind == "number",
        )


def _found(program: LogicProgram, example: WordExample) -> tuple[str, ...]:
    """Return the evaluator's values for an example: at each position, or only at the last ones."""
    values = evaluate([program.root], example.word)[program.root]
    return tuple(str(shown_value(value, program.root.kind)) for value in values[-len(example.values) :])
