"""YAML -> the spec of a data set or a sweep, with every complaint at its place in the text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from tm2tfr.base.choices import BASES, CIRCUIT_VARIANTS
from tm2tfr.base.errors import InputError, Tm2tfrError, UsageError, plural, visible
from tm2tfr.base.text.nodes import List, Map, Node, Reading, Scalar, Section, compose, kind
from tm2tfr.base.text.source import Log, decoded
from tm2tfr.lab.datasets.circuits import CIRCUIT_SPLIT_BY, ChosenCircuit, CircuitSpec
from tm2tfr.lab.datasets.common import BALANCED, BEGIN, END, CommonReader
from tm2tfr.lab.datasets.labels import ALL_NODES, LABEL_SPLIT_BY, OF_AUTOMATA, OF_LOGIC, OF_RASP, AnyLabelSource, LabelSpec
from tm2tfr.lab.datasets.machines.reader import read_machines
from tm2tfr.lab.datasets.spec import MOST_WORDS, DatasetSpec, Inputs
from tm2tfr.sources import registry
from tm2tfr.sources.automaton.library import is_automaton
from tm2tfr.sources.circuit.inputs import MOST_INPUTS_OF_ALL, read_input
from tm2tfr.sources.circuit.library import GENERATORS, generator
from tm2tfr.sources.circuit.netlist import Circuit
from tm2tfr.sources.logic import library as formulas
from tm2tfr.sources.rasp import library as programs
from tm2tfr.sources.turing.formats.bbchallenge import is_argument
from tm2tfr.sources.turing.formats.draft import stem
from tm2tfr.sources.turing.library import shipped


def read(text: str | bytes, *, file: str, folder: Path | None = None) -> DatasetSpec:
    """Read a spec from YAML: of machines, or, if it names circuits or a RASP program, of these.

    Args:
        file: the name of the text in error messages.
        folder: where files of machines and circuits are looked for; by default the current one.

    Raises:
        SpecError: with every error of the document, in the order of the text.
    """
    source = decoded(text, file=file)
    reading = Reading(Log(source))
    machine = f"write a spec that lists it, such as 'machines: [{file}]' with 'inputs: {{up to: 3}}'"
    if Path(file).suffix in (".jff", ".tm"):
        reading.error(None, "this is a machine, not a spec", machine)
        raise reading.log.failure()
    root = compose(source)
    if not isinstance(root, Map):
        empty = root is None or (isinstance(root, Scalar) and root.null)
        what = "the document is empty" if root is None or empty else f"the document is {kind(root)}, not a mapping"
        reading.error(None if empty else root, what, "a spec has at least the keys 'machines' and 'inputs'")
        raise reading.log.failure()
    given = reading, root, folder, source.text, stem(file)
    if names_circuits(root):
        return read_circuits(*given)
    if names_labeller(root):
        return read_labeller(*given)
    keys = {key.text for key, _ in root.pairs if isinstance(key, Scalar)}
    if {"start state", "table"} <= keys and not {"machines", "inputs"} & keys:
        reading.error(None, "this is a machine, not a spec", machine)
        raise reading.log.failure()
    return read_machines(*given)


# ── YAML -> the spec of a data set or a sweep of circuits, with every complaint at its place in the text.
CIRCUIT_KEYS = (*BEGIN, "circuits", "parameters", "variant", "basis", "inputs", "supervision", *END)
_ENDS = ("the run of a circuit ends with its last gate", "remove this key")
_REFUSED = {
    "machines": ("a spec is about machines or about circuits", "write a spec for each"),
    "max steps": _ENDS,
    "unfinished": _ENDS,
    "left boundary": ("a circuit has no tape, and so no left boundary", "remove this key"),
}
_REFUSED_INPUTS = {
    "up to": ("the inputs of a circuit all have as many bits as it has inputs", "write 'all: true' for all of them"),
    "length": ("the inputs of a circuit all have as many bits as it has inputs", "remove this key"),
}
_YES_OR_NO = ("true", "false")


def names_circuits(root: Map) -> bool:
    """Return whether a document is a spec of circuits: one with a key ``circuits``, or nearly."""
    return any(isinstance(key, Scalar) and key.text.lower() in ("circuit", "circuits") for key, _ in root.pairs)


def read_circuits(reading: Reading, root: Map, folder: Path | None, text: str, name: str) -> CircuitSpec:
    """Return the spec of a document; `name` is for one that does not give its own.

    Raises:
        SpecError: with every error of the document, in the order of the text.
    """
    top = Section.of(reading, "a spec of circuits", _without(reading, root, _REFUSED), CIRCUIT_KEYS)
    return _CircuitReader(reading, top, folder).spec(text, name)


def _without(reading: Reading, node: Map, refused: dict[str, tuple[str, str]]) -> Map:
    """Return a mapping without keys, also of mappings in it, that make no sense for circuits; report them, and why."""
    kept: list[tuple[Node, Node]] = []
    for key, value in node.pairs:
        meant = key.text.replace("_", " ").replace("-", " ") if isinstance(key, Scalar) else ""
        if meant in refused:
            what, remedy = refused[meant]
            reading.error(key, f"{meant!r} is not for circuits: {what}", remedy)
        elif isinstance(value, Map):
            kept.append((key, _without(reading, value, refused)))
        elif isinstance(value, List):
            items = tuple(_without(reading, item, refused) if isinstance(item, Map) else item for item in value.items)
            kept.append((key, replace(value, items=items)))
        else:
            kept.append((key, value))
    return replace(node, pairs=tuple(kept))


@dataclass
class _CircuitReader(CommonReader):
    ways: ClassVar[tuple[str, ...]] = ("words", "all", "random")
    random_keys: ClassVar[tuple[str, ...]] = ("count", "seed", BALANCED)
    random_example: ClassVar[str] = "{count: 100}"
    examples: ClassVar[Mapping[str, str]] = {"circuits": "'circuits: [half-adder]'", "inputs": "'inputs: {all: true}'"}

    def spec(self, text: str, name: str) -> CircuitSpec:
        """Return the spec of the whole document."""
        self.needs("circuits", "inputs")
        circuits = self.circuits() if "circuits" in self.top else ()
        inputs = self.inputs() if "inputs" in self.top else Inputs()
        spec = CircuitSpec(
            circuits=circuits, inputs=inputs, **self.common(text, name, CIRCUIT_SPLIT_BY, several=len(circuits) > 1)
        )
        for chosen in circuits:
            self.check_inputs(chosen.circuit, inputs)
        self.reading.log.conclude()
        return spec

    # ── circuits ────────────────────────────────────────────────────────────────────────────────────────────
    def circuits(self) -> tuple[ChosenCircuit, ...]:
        """Return the circuits of a list of names and files."""
        items = self.names(self.top.found["circuits"][1], "circuit", "[binary-adder, mine.bench]")
        if not items:
            return ()
        known = {"variant": CIRCUIT_VARIANTS, "basis": BASES}
        options = {key: self.top.choice(key, words) for key, words in known.items() if key in self.top}
        chosen = partial(self.chosen, parameters=self.parameters(items), options=options)
        return tuple(self.loaded(items, "circuit", "name", chosen))

    def chosen(self, item: Scalar, *, parameters: dict[str, str], options: dict[str, str]) -> ChosenCircuit | None:
        """Return the circuit that an item of the list names, compiled as `options` say."""
        argument = self.shipped_or_file(item.text)
        own = parameters if argument in GENERATORS else {}
        program = self.program(argument, own)
        construction = registry.of_program(program)
        if construction is None or construction.inputs(program).length is None:
            self.reading.error(item, "this is a machine", "name machines under 'machines', in another spec")
            return None
        if construction.prepare is not None:
            program = construction.prepare(program, options)
        return ChosenCircuit(argument, own, program, options)

    def program(self, argument: str, parameters: dict[str, str]) -> Any:
        """Return the program that a name or a file of the list stands for: a circuit, or a program of another kind.

        Raises:
            Tm2tfrError: if there is no such file, and no circuit of that name is shipped; if it cannot be read.
        """
        if argument in GENERATORS:
            return registry.built(argument, parameters).program
        if Path(argument).suffix or Path(argument).exists():
            return registry.loaded(argument).program
        name = Path(argument).name
        return registry.loaded(name).program if name in shipped() or is_argument(name) else generator(name)

    def shipped_or_file(self, name: str) -> str:
        """Return the argument that a name in the spec stands for."""
        return self.argument(name, known=name in GENERATORS)

    def parameters(self, items: list[Scalar]) -> dict[str, str]:
        """Return the valid parameters of the shipped circuits."""
        if "parameters" not in self.top:
            return {}
        section = self.top.section("parameters", _PARAMETERS, "{bits: 4}")
        generated = [item.text for item in items if self.shipped_or_file(item.text) in GENERATORS]
        found: dict[str, str] = {}
        for key, (place, value) in section.found.items() if section is not None else ():
            if not generated:
                self.reading.error(place, "parameters are those of shipped circuits, and none is named", "remove them")
                break
            text = value.text if isinstance(value, Scalar) else ""
            impossible = [name for name in generated if not self.possible(name, key, text, place)]
            if not impossible:
                found[key] = text
        return found

    def possible(self, name: str, key: str, text: str, place: Node) -> bool:
        """Return whether a shipped circuit has a parameter, and this value; if not, report it."""
        known = {parameter.name: parameter for parameter in GENERATORS[name].parameters}
        if key not in known:
            remedy = f"it has {', '.join(known)}" if known else "it has none"
            self.reading.error(place, f"{name} has no parameter {key!r}", f"{remedy}: remove this one")
            return False
        try:
            known[key].value(name, text)
        except UsageError as error:
            what, _, remedy = error.typed.removeprefix(f"{name}: --").rpartition(": ")
            self.reading.error(place, f"{name}: {what}", remedy)
            return False
        return True

    # ── inputs ──────────────────────────────────────────────────────────────────────────────────────────────
    def meaningful(self, inputs: Map) -> Map:
        return _without(self.reading, inputs, _REFUSED_INPUTS)

    def up_to(self, within: Section) -> int:
        every = "all" in within and within.choice("all", _YES_OR_NO) == "true"
        return MOST_INPUTS_OF_ALL if every else -1

    def lengths(self, section: Section) -> tuple[int, int] | None:
        return 0, 0

    def check_inputs(self, circuit: Circuit, inputs: Inputs) -> None:
        """Report listed words that a circuit cannot take, and requests for more inputs than exist or fit in memory."""
        name, bits = visible(circuit.name), len(circuit.inputs)
        for word, node in self.listed.items():
            try:
                read_input(circuit, word)
            except InputError as error:
                what, _, remedy = str(error).rpartition(": ")
                self.reading.error(node, what, remedy)
        place = self.top.place("inputs")
        if inputs.up_to >= 0 and bits > MOST_INPUTS_OF_ALL:
            what = f"{name} has {bits} inputs, and at most 2^{MOST_INPUTS_OF_ALL} cases are gone through"
            self.reading.error(place, what, "use 'random' with a 'count' to draw some of them")
        for source in inputs.random:
            if source.count.bit_length() > bits and source.count > 2**bits:
                what = f"{source.count:,} different inputs are requested, but {name} has {2**bits:,}"
                self.reading.error(self.sources[source], what, f"ask for at most {2**bits:,}, or use 'all'")
        if len(inputs.words) + sum(source.count for source in inputs.random) > MOST_WORDS:
            self.reading.error(place, f"these are more than {MOST_WORDS:,} inputs for {name}", "ask for fewer")


_PARAMETERS = tuple(dict.fromkeys(p.name for generator in GENERATORS.values() for p in generator.parameters))


# ── YAML -> the spec of a data set of what labels words, with every complaint at its place in the text.
PROGRAM, FORMULA, AUTOMATON = "program", "formula", "automaton"
"""The keys that name what is labelled: a program of any kind, a formula, or an automaton."""


def names_labeller(root: Map) -> bool:
    """Return whether a document is a spec of a program, a formula or an automaton: with a key for it, or nearly."""
    known = (PROGRAM, f"{PROGRAM}s", FORMULA, f"{FORMULA}s", AUTOMATON, plural(AUTOMATON))
    return any(isinstance(key, Scalar) and key.text.lower() in known for key, _ in root.pairs)


def read_labeller(reading: Reading, root: Map, folder: Path | None, text: str, name: str) -> LabelSpec:
    """Return the spec of a document; `name` is for one that does not give its own.

    Raises:
        SpecError: with every error of the document, in the order of the text.
    """
    said = {key.text: value for key, value in root.pairs if isinstance(key, Scalar)}
    named = said.get(PROGRAM)
    key = next((key for key in (FORMULA, AUTOMATON) if key in said), PROGRAM)
    text_named = named.text if isinstance(named, Scalar) else ""
    logic, automaton = _is_of_logic(text_named, folder), _is_of_automata(text_named, folder)
    labeller: AnyLabelSource = OF_AUTOMATA if automaton else OF_LOGIC if logic else OF_RASP
    if key != PROGRAM:
        labeller = OF_LOGIC if key == FORMULA else OF_AUTOMATA
    top = Section.of(reading, f"a spec of {labeller.kind}", root, (*BEGIN, key, labeller.key, "inputs", *END))
    return _LabelReader(reading, top, folder).of(labeller, key, text, name)


def _is_of_logic(name: str, folder: Path | None) -> bool:
    beside = name if folder is None else str(folder / name)
    return formulas.is_logic(name) and not (programs.is_program(name) and not Path(beside).is_file())


def _is_of_automata(name: str, folder: Path | None) -> bool:
    beside = name if folder is None else str(folder / name)
    return is_automaton(beside if Path(beside).is_file() else name) and not programs.is_program(name)


@dataclass
class _LabelReader(CommonReader):
    random_keys: ClassVar[tuple[str, ...]] = (*CommonReader.random_keys, "first")

    def of(self, labeller: AnyLabelSource, key: str, text: str, name: str) -> LabelSpec:
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
        common["forms"] = forms
        return LabelSpec(program=program, labeller=labeller, inputs=inputs, **common)

    def program(self, labeller: AnyLabelSource, key: str) -> Any:
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

    def is_token(self, labeller: AnyLabelSource, program: Any, text: str) -> bool:
        """Return whether a text is one token of the program's alphabet."""
        try:
            return len(labeller.word_of(program, text)) == 1
        except InputError:
            return False

    def check_inputs(
        self, labeller: AnyLabelSource, program: Any, inputs: Inputs, lengths: tuple[tuple[str, int, int], ...]
    ) -> None:
        """Report invalid words, and requests for more words than exist, fit in memory, or have a split."""
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
        for source in inputs.random:
            if source.first and not self.is_token(labeller, program, source.first):
                known = ", ".join(map(labeller.shown, program.alphabet))
                what = f"{source.first!r} is not a token of {visible(program.name)}"
                self.reading.error(self.sources[source], what, f"let words begin with one of {known}")
        self.check_numbers(program.name, len(program.alphabet), inputs, least=1)
        drawn = {n for source in inputs.random for n in range(max(1, source.shortest), source.longest + 1)}
        if lengths and (lost := sorted((drawn | set(range(1, inputs.up_to + 1))) - there)):
            what = f"no split has words of {lost[0]} tokens"
            self.reading.error(self.top.place("splits"), what, "add them to the lengths of a split")
