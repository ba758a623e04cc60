"""YAML -> the spec of a data set of what labels words, with every complaint at its place in the text."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tm2tfr.base.errors import InputError, Tm2tfrError, visible
from tm2tfr.base.text.nodes import Map, Reading, Scalar, Section
from tm2tfr.lab.datasets.common import BEGIN, END, CommonReader
from tm2tfr.lab.datasets.labels.labeller import LabelSource
from tm2tfr.lab.datasets.labels.of_logic import OF_LOGIC
from tm2tfr.lab.datasets.labels.of_rasp import OF_RASP
from tm2tfr.lab.datasets.labels.spec import ALL_NODES, LABEL_SPLIT_BY, LabelSpec
from tm2tfr.lab.datasets.spec import Inputs
from tm2tfr.sources.logic import library as formulas
from tm2tfr.sources.rasp import library as programs

PROGRAM, FORMULA = "program", "formula"
"""The keys that name what is labelled: a program of any kind, or a formula."""


def names_labeller(root: Map) -> bool:
    """Return whether a document is a spec of a program or a formula: one with a key for it, or nearly."""
    known = (PROGRAM, f"{PROGRAM}s", FORMULA, f"{FORMULA}s")
    return any(isinstance(key, Scalar) and key.text.lower() in known for key, _ in root.pairs)


def read_labeller(reading: Reading, root: Map, folder: Path | None, text: str, name: str) -> LabelSpec:
    """Return the spec of a document; `name` is for one that does not give its own.

    Raises:
        SpecError: with every error of the document, in the order of the text.
    """
    said = {key.text: value for key, value in root.pairs if isinstance(key, Scalar)}
    named = said.get(PROGRAM)
    logic = FORMULA in said or (isinstance(named, Scalar) and _is_of_logic(named.text, folder))
    labeller, key = (OF_LOGIC, FORMULA if FORMULA in said else PROGRAM) if logic else (OF_RASP, PROGRAM)
    top = Section.of(reading, f"a spec of {labeller.kind}", root, (*BEGIN, key, labeller.key, "inputs", *END))
    return _LabelReader(reading, top, folder).of(labeller, key, text, name)


def _is_of_logic(name: str, folder: Path | None) -> bool:
    beside = name if folder is None else str(folder / name)
    return formulas.is_logic(name) and not (programs.is_program(name) and not Path(beside).is_file())


@dataclass
class _LabelReader(CommonReader):
    def of(self, labeller: LabelSource, key: str, text: str, name: str) -> LabelSpec:
        """Return the spec of the whole document."""
        for each, example in ((key, labeller.example), ("inputs", "{up to: 5}")):
            if each not in self.top:
                self.reading.error(None, f"there is no key {each!r}", f"add a line '{each}: {example}'")
        program = self.program(labeller, key) if key in self.top else None
        inputs = self.inputs() if "inputs" in self.top else Inputs()
        common = self.common(text, name, LABEL_SPLIT_BY)
        if program is None:
            raise self.reading.log.failure()
        known = labeller.names(program)
        chosen = self.top.choices(labeller.key, (*known, ALL_NODES)) if labeller.key in self.top else known[-1:]
        self.check_inputs(labeller, program, inputs, common.get("lengths", ()))
        self.reading.log.conclude()
        forms = known if ALL_NODES in chosen and ALL_NODES not in known else chosen
        return LabelSpec(program=program, labeller=labeller, inputs=inputs, **{**common, "forms": forms})

    def program(self, labeller: LabelSource, key: str) -> Any:
        """Return the program that is named, with its alphabet; None if it cannot be loaded."""
        place, value = self.top.place(key), self.top.text(key, "")
        bare = Path(value).stem if Path(value).suffix in labeller.endings else value
        argument = self.argument(value, known=bare in labeller.shipped() and value == Path(value).name)
        try:
            found: Any = labeller.load(argument).program
        except Tm2tfrError as error:
            said = str(error).splitlines()[0]
            self.reading.error(place, f"this {key} cannot be loaded ({said})", "fix it, or name another")
            return None
        if not found.alphabet:
            what = f"{visible(found.name)} does not say its alphabet"
            self.reading.error(place, what, "add a line '# alphabet: abc' at the top of its file")
            return None
        return found

    def check_inputs(
        self, labeller: LabelSource, program: Any, inputs: Inputs, lengths: tuple[tuple[str, int, int], ...]
    ) -> None:
        """Report listed words that are none, and requests for more words than exist, fit in memory, or have a split."""
        there = {n for _, shortest, longest in lengths for n in range(shortest, longest + 1)}
        for word, node in self.listed.items():
            try:
                length = len(labeller.word_of(program, word))
            except InputError as error:
                what, _, remedy = str(error).rpartition(": ")
                self.reading.error(node, what, remedy)
                continue
            if lengths and length not in there:
                self.reading.error(node, f"no split has words of {length} tokens", "add them to the lengths of a split")
        self.check_numbers(program.name, len(program.alphabet), inputs, least=1)
        drawn = {n for source in inputs.random for n in range(max(1, source.shortest), source.longest + 1)}
        if lengths and (lost := sorted((drawn | set(range(1, inputs.up_to + 1))) - there)):
            what = f"no split has words of {lost[0]} tokens"
            self.reading.error(self.top.place("splits"), what, "add them to the lengths of a split")
