"""YAML -> the spec of a data set of a RASP program, with every complaint at its place in the text."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tm2tfr.dataset.common import WordsReader
from tm2tfr.dataset.rasp.spec import RASP_SPLIT_BY, RaspSpec
from tm2tfr.dataset.words import MOST_WORDS, Inputs, number_of
from tm2tfr.errors import InputError, Tm2tfrError, visible
from tm2tfr.sources.rasp.given.inputs import word_of
from tm2tfr.sources.rasp.given.library import load, shipped
from tm2tfr.sources.rasp.program import Program
from tm2tfr.text.nodes import Map, Scalar
from tm2tfr.text.reading import Reading
from tm2tfr.text.section import Section

RASP_KEYS = (
    "name",
    "description",
    "seed",
    "program",
    "s-ops",
    "inputs",
    "splits",
    "split by",
    "shard size",
    "formats",
)


def names_program(root: Map) -> bool:
    """Return whether a document is a spec of a RASP program: one with a key ``program``, or nearly."""
    return any(isinstance(key, Scalar) and key.text.lower() in ("program", "programs") for key, _ in root.pairs)


def read_program(reading: Reading, root: Map, folder: Path | None, text: str, name: str) -> RaspSpec:
    """Return the spec of a document; `name` is for one that does not give its own.

    Raises:
        SpecError: with every error of the document, in the order of the text.
    """
    top = Section.of(reading, "a spec of a RASP program", root, RASP_KEYS)
    return _RaspReader(reading, top, folder).spec(text, name)


@dataclass
class _RaspReader(WordsReader):
    def spec(self, text: str, name: str) -> RaspSpec:
        """Return the spec of the whole document."""
        for key, remedy in (("program", "add a line 'program: sort'"), ("inputs", "add a line 'inputs: {up to: 5}'")):
            if key not in self.top:
                self.reading.error(None, f"there is no key {key!r}", remedy)
        program = self.program() if "program" in self.top else None
        inputs = self.inputs() if "inputs" in self.top else Inputs()
        common = self.common(text, name, RASP_SPLIT_BY)
        if program is None:
            raise self.reading.log.failure()
        known = tuple(dict.fromkeys([*program.sops, program.chosen]))
        chosen = self.top.choices("s-ops", known) if "s-ops" in self.top else (program.chosen,)
        self.check_words(program, inputs)
        self.reading.log.conclude()
        return RaspSpec(program=program, inputs=inputs, **{**common, "forms": chosen})

    def program(self) -> Program | None:
        """Return the program that is named, with its alphabet; None if it cannot be loaded."""
        place, value = self.top.place("program"), self.top.text("program", "")
        beside = value if self.folder is None else str(self.folder / value)
        try:
            found = load(value if value in shipped() and not Path(beside).is_file() else beside).program
        except Tm2tfrError as error:
            said = str(error).splitlines()[0]
            self.reading.error(place, f"this program cannot be loaded ({said})", "fix it, or name another")
            return None
        if not found.alphabet:
            what = f"{visible(found.name)} does not say its alphabet"
            self.reading.error(place, what, "add a line '# alphabet: abc' at the top of its file")
            return None
        return found

    def check_words(self, program: Program, inputs: Inputs) -> None:
        """Report listed words that are no inputs, and requests for more inputs than exist or fit in memory."""
        name, tokens = visible(program.name), len(program.alphabet)
        for word, node in self.listed.items():
            try:
                word_of(program, word)
            except InputError as error:
                what, _, remedy = str(error).rpartition(": ")
                self.reading.error(node, what, remedy)
        for source in inputs.random:
            most = number_of(tokens, source.shortest, source.longest)
            if source.shortest < 1:
                self.reading.error(self.sources[source], "an input has at least one token", "start the lengths at 1")
            elif source.count > most:
                what = f"{source.count:,} different inputs are requested, but {name} has {most:,} of that length"
                self.reading.error(self.sources[source], what, f"ask for at most {most:,}, or use 'up to'")
        if inputs.number(tokens) > MOST_WORDS:
            self.reading.error(
                self.top.place("inputs"), f"these are more than {MOST_WORDS:,} inputs for {name}", "ask for fewer"
            )
