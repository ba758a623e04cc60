"""Many inputs of a RASP program at once, and the examples of its author: what has to be answered, by the interpreter."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

from tm2tfr.contract import Examined
from tm2tfr.errors import CompileError, visible
from tm2tfr.sources.rasp.evaluate import Undefined, evaluate
from tm2tfr.sources.rasp.evaluate_many import ManyInputs, ManyValues
from tm2tfr.sources.rasp.given.inputs import word_of
from tm2tfr.sources.rasp.program import Program, shown_atom
from tm2tfr.sources.rasp.sops import SOp
from tm2tfr.sources.rasp.specification.claims import numeric, shown_value
from tm2tfr.sources.rasp.truth import RaspTruth, answered, plain_value
from tm2tfr.text.words import joined, written
from tm2tfr.transformer.weights import Decoder


class RaspLabels:
    """What the interpreter says of many inputs, see `tm2tfr.contract.ManyLabels`.

    Raises:
        CompileError: if these are weights for other tokens, or do not answer what the program chooses.
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
        """Return an input as people write it as places.

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
        """Return on which inputs the program is defined, and for those what each output is: (outputs, inputs, n)."""
        found = self.many.run(words)
        return found.defined, self.wanted(found)

    def wanted(self, found: ManyValues) -> NDArray[np.float64]:
        """Return what each output is where the values are known, see `tm2tfr.contract.ManyLabels`: (outputs, inputs, n)."""
        wanted = []
        for sop, labels in zip(self._sops, self._labels, strict=True):
            atoms = found.atoms[sop]
            if labels is None:
                known = [np.inf if isinstance(atom, str) else float(atom) for atom in atoms]
            else:
                known = [labels.get(shown_value(atom, self._numeric[sop]), -1) for atom in atoms]
            wanted.append(np.array(known, dtype=np.float64)[found.places[sop][found.defined]])
        return np.stack(wanted)

    def outcomes(self, words: NDArray[np.int64]) -> Sequence[str]:
        """Return the values of the first output, as `RaspResult.outcome` has them."""
        found, sop = self.many.run(words), self._sops[0]
        numbers = self._labels[0] is None
        shown = [
            str(plain_value(atom)) if numbers and not isinstance(atom, str) else shown_value(atom, self._numeric[sop])
            for atom in found.atoms[sop]
        ]
        return [joined([shown[place] for place in row]) for row in found.places[sop][found.defined].tolist()]


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
