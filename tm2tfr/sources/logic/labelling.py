"""Many words of a formula at once, and the examples of its author: what has to be answered, by the evaluator."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from tm2tfr.contract import BOTTOM, Examined
from tm2tfr.errors import CompileError, visible
from tm2tfr.sources.logic.evaluate import evaluate
from tm2tfr.sources.logic.evaluate_many import Grid, ManyRows, ManyWords
from tm2tfr.sources.logic.given.inputs import word_of
from tm2tfr.sources.logic.nodes import Node
from tm2tfr.sources.logic.program import LogicProgram, WordExample
from tm2tfr.sources.logic.truth import ENDS, LogicTruth, answered, shown_value
from tm2tfr.text.words import joined, written
from tm2tfr.transformer.outputs import Output
from tm2tfr.transformer.weights import Decoder


class LogicLabels:
    """What the evaluator says of many words, see `tm2tfr.contract.ManyLabels`: nothing is undefined.

    Raises:
        CompileError: if these are weights for other tokens, or do not answer what the program chooses.
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
        """Return a word as people write it as places.

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
        """Return that every word has values, and what each output is: (outputs, words, positions)."""
        return np.ones(len(words), dtype=bool), self.wanted(self._many.run(words))

    def wanted(self, found: ManyRows) -> NDArray[np.float64]:
        """Return what each output is where the values of nodes are known, see `tm2tfr.contract.ManyLabels`."""
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
    """Return what an output has to be on the words: (words, n); its first label is that of positions outside a word."""
    rows = found.rows[node]
    if output.labels is None:
        return rows.astype(np.float64)
    places = {label: place for place, label in enumerate(output.labels)}
    shown = found.labels.get(node, ("F", "T"))
    if output.labels[0] != (BOTTOM if node.kind == "label" else "F"):
        return np.full(rows.shape, -1.0)
    return np.array([places.get(label, -1) for label in shown], dtype=np.float64)[rows.astype(np.int64)]


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
    """Return what the evaluator says of an example: of each position, or of the last ones that it speaks of."""
    values = evaluate([program.root], example.word)[program.root]
    return tuple(str(shown_value(value, program.root.kind)) for value in values[-len(example.values) :])
