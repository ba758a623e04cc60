"""The constructions that there are, each imported when it is used."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tm2tfr.base.choices import AUTOMATON, AUTOMATON_TEXTS, CIRCUIT, LOGIC, LOGIC_LANGUAGES, RASP, TURING, UNIVERSAL
from tm2tfr.base.errors import (
    CompileError,
    ConversionError,
    Diagnostic,
    NotFoundError,
    OutputError,
    ReadError,
    UsageError,
    did_you_mean,
)
from tm2tfr.base.files import is_safetensors
from tm2tfr.contract.options import everything
from tm2tfr.contract.source import Source
from tm2tfr.sources import names

if TYPE_CHECKING:
    from tm2tfr.sources.automaton.formats.draft import LoadedAutomaton
    from tm2tfr.sources.logic.program import Language
    from tm2tfr.sources.logic.read import LoadedLogic
    from tm2tfr.sources.rasp.read import LoadedRasp

_MODULES = {
    UNIVERSAL: "tm2tfr.sources.turing.universal.source",
    TURING: "tm2tfr.sources.turing.source",
    CIRCUIT: "tm2tfr.sources.circuit.source",
    RASP: "tm2tfr.sources.rasp.source",
    LOGIC: "tm2tfr.sources.logic.source",
    AUTOMATON: "tm2tfr.sources.automaton.source",
}
"""The name of a construction in the provenance of weights -> the module with its `Source`, inner packages first."""


def named(name: str | None) -> Source[Any] | None:
    """Return the construction of weights whose provenance says `name`; without a name, they are a Turing machine's."""
    module = _MODULES.get(TURING if name is None else name)
    return None if module is None else _of(module)


def of_program(program: object) -> Source[Any] | None:
    """Return the construction whose programs are of this kind; None if there is none."""
    kind = type(program).__module__
    for module in _MODULES.values():
        package = module.rpartition(".")[0]
        if kind.startswith(f"{package}."):
            found = _of(module)
            return found if isinstance(program, found.type) else None
    return next((c for c in map(_of, _MODULES.values()) if isinstance(program, c.type)), None)


def whose(option: str) -> str:
    """Return the words for those to whose programs an option of some construction does not apply.

    Raises:
        CompileError: if no construction has it.
    """
    every = {name: known[0].about.whose for name, known in everything().items()}
    if option not in every:
        known = ", ".join(every)
        raise CompileError(f"no construction has an option {option!r}{did_you_mean(option, every)}: use one of {known}")
    return every[option]


class LoadedProgram(NamedTuple):
    """A program read from a text, with warnings, and the examples of a circuit's text."""

    program: Any
    remarks: tuple[Diagnostic, ...] = ()
    examples: tuple[Any, ...] = ()

    @property
    def warnings(self) -> tuple[str, ...]:
        """The warnings, as text."""
        return tuple(map(str, self.remarks))

    @property
    def name(self) -> str:
        """That of the program."""
        return str(self.program.name)


def of_object(given: object) -> LoadedProgram:
    """Return a program as if it had been read; one that was read as it is.

    Raises:
        NotFoundError: if it is a program of no construction.
    """
    if isinstance(given, LoadedProgram):
        return given
    if of_program(given) is None:
        kinds = "a machine, circuit, program, formula, automaton or decoder"
        problem = f"{given!r} ({type(given).__name__}) is not {kinds}, nor the name of one"
        remedy = "use one of these, a path, or a name that 'tm2tfr list' lists"
        raise NotFoundError(getattr(given, "not_a_program", f"{problem}: {remedy}"))  # a part of one says what to do
    return LoadedProgram(given)


def loaded(given: str | Path, *, format: str | None = None, cut_registers: bool = False) -> LoadedProgram:
    """Return the program that a name, a path or a text stands for: a machine, circuit, RASP program, formula or automaton.

    A file comes before anything shipped of the same name; what is shipped comes in the order of `names.KINDS`;
    ``circuit:parity`` is the circuit, see `names.split`. A file is a program or a formula by its ending; a circuit or an
    automaton by its ending, or by its content where machines have the same ending, or none.

    Args:
        cut_registers: cut a circuit at its registers.

    Raises:
        NotFoundError, ReadError, ConversionError, SpecError: if it cannot be loaded.
        UsageError: for `cut_registers` and anything but the text of a circuit.
    """
    name = str(given)
    kind = None if format is not None or cut_registers else names.kind_of(given)
    if kind is not None:
        return _shipped(kind, name, given=name, format=None)
    automaton = _is_automaton(given, format)
    chosen = None if automaton else names.split(given)
    circuit = chosen is None and (_is_circuit_text(name, format) or (cut_registers and name == _STDIN))
    if cut_registers and not circuit:
        raise UsageError(f"{name}: --cut-registers is for a file of a circuit with registers: omit it")
    if automaton and name != _STDIN:
        return _automaton(given, format)
    if chosen is not None:
        return _shipped(*chosen, given=name, format=format)
    return _found(given, name, format, circuit=circuit, cut_registers=cut_registers)


def _found(given: str | Path, name: str, format: str | None, *, circuit: bool, cut_registers: bool) -> LoadedProgram:
    """Return the program of a name without its kind, a path or a text; circuit: whether it is a text of a circuit."""
    from tm2tfr.sources.turing.library import load_with_warnings  # noqa: PLC0415

    if name == _STDIN and format in (None, *(text.name for text in AUTOMATON_TEXTS)) and not cut_registers:
        return _of_standard_input(format)
    if format is None and _is_rasp(given):
        return _rasp(given)
    if format in LOGIC_LANGUAGES or (format is None and _is_logic(given)):
        return _logic(given, format)
    if circuit:
        from tm2tfr.sources.circuit.formats import registry as formats  # noqa: PLC0415

        return _circuit(formats.load_with_warnings(given, format=format, cut_registers=cut_registers))
    try:
        found = load_with_warnings(given, format=format)
    except NotFoundError as error:
        raise (_unknown(name) if _is_word(name) else error) from None
    return LoadedProgram(found.machine, found.warnings)


def _shipped(kind: str, name: str, *, given: str, format: str | None) -> LoadedProgram:
    """Return the shipped program of a kind and a name."""
    if format is not None:
        raise ConversionError(f"{given}: what is shipped has a format already: omit {format!r}")
    if kind == names.CIRCUIT:
        return built(name, {})
    text, text_kind = names.text_of(kind, name)
    return of_text(text, text_kind, file=names.file_of(kind, name), name=name)


def _is_rasp(given: str | Path) -> bool:
    """Return whether a name or a path is that of a RASP program, and of nothing shipped that comes before it."""
    from tm2tfr.sources.rasp.library import is_program  # noqa: PLC0415

    return is_program(given) and not _is_before(given)


def _is_before(given: str | Path) -> bool:
    """Return whether a name is that of a shipped machine or circuit."""
    return str(given) in names.of_kind(names.MACHINE) or str(given) in names.of_kind(names.CIRCUIT)


def _rasp(given: str | Path) -> LoadedProgram:
    from tm2tfr.sources.rasp.library import load  # noqa: PLC0415

    return _labeller(load(given))


def _is_logic(given: str | Path) -> bool:
    """Return whether a name or a path is that of a formula or a B-RASP or S-RASP program."""
    from tm2tfr.sources.logic.library import is_logic  # noqa: PLC0415

    return is_logic(given) and not _is_before(given)


def _is_automaton(given: str | Path, format: str | None) -> bool:
    """Return whether a name, a path or a text ``regex:…`` is that of an automaton."""
    from tm2tfr.sources.automaton.library import is_automaton  # noqa: PLC0415

    before = _is_before(given) or (format is None and (_is_rasp(given) or _is_logic(given)))
    return is_automaton(given, format) and not before


def _automaton(given: str | Path, format: str | None) -> LoadedProgram:
    from tm2tfr.sources.automaton.library import load  # noqa: PLC0415

    return _labeller(load(given, format))


def _logic(given: str | Path, format: str | None) -> LoadedProgram:
    """Return a formula or program, read in the language that is named; only then may it be on standard input."""
    from tm2tfr.sources.circuit.formats.registry import standard_input  # noqa: PLC0415
    from tm2tfr.sources.logic.library import from_text, load  # noqa: PLC0415

    language: Language | None = None if format is None else "tl" if format == "tl" else "srasp"
    if str(given) == _STDIN:
        return _labeller(from_text(standard_input(), language=language))
    return _labeller(load(given, language=language))


def _labeller(found: LoadedLogic | LoadedRasp | LoadedAutomaton) -> LoadedProgram:
    return LoadedProgram(found.program, found.warnings, found.program.examples)


def _of_standard_input(format: str | None) -> LoadedProgram:
    """Return the program on standard input."""
    from tm2tfr.sources.circuit.formats import registry as formats  # noqa: PLC0415

    data = formats.standard_input()
    if is_safetensors(data[:9], len(data)):
        raise ReadError("<stdin>: this is a weight file, and standard input is for the text of a machine: name the file")
    return of_text(data, kind_of_text(data, format=format), file="<stdin>", name="stdin", folder=Path())


def kind_of_text(text: str | bytes, *, format: str | None = None) -> tuple[str, str]:
    """Return the name of the construction of a text whose file is not known, by its content, and the name of its format.

    It is a circuit, a RASP program, a formula or an automaton if it looks like one, otherwise a machine.

    Args:
        text: the whole text.
        format: its format, if it is not to be guessed.

    Raises:
        ConversionError: if no such format is read.
    """
    from tm2tfr.sources.automaton.formats import registry as automata  # noqa: PLC0415
    from tm2tfr.sources.circuit.formats import registry as circuits  # noqa: PLC0415
    from tm2tfr.sources.logic import library as formulas  # noqa: PLC0415
    from tm2tfr.sources.logic.read import language_of  # noqa: PLC0415
    from tm2tfr.sources.rasp import library as programs  # noqa: PLC0415
    from tm2tfr.sources.turing.formats import registry as machines  # noqa: PLC0415

    data = text if isinstance(text, bytes) else text.encode(errors="replace")
    written = format is None and not data.lstrip(b"\xef\xbb\xbf \t\r\n").startswith((b"<", b"{"))  # neither XML nor JSON
    if format == RASP or (written and programs.looks_like(data)):
        return RASP, RASP
    if format in LOGIC_LANGUAGES or (written and formulas.looks_like(data)):
        return LOGIC, format or language_of(data.decode(errors="replace"))
    recognised = "regex" if format == "regex" else automata.recognised(data)
    if recognised is not None and format in (None, recognised):
        return AUTOMATON, recognised
    if format is not None and format != "yaml" and format in circuits.CIRCUIT_READABLE:
        return CIRCUIT, format
    told = circuits.recognised(data)
    if told is not None and told.name not in _DOUBTFUL and format in (None, told.name):
        return CIRCUIT, told.name
    return TURING, machines.format_of(text, "<text>") if format is None else format


def of_text(
    text: str | bytes, kind: tuple[str, str], *, file: str = "<text>", name: str = "", folder: Path | None = None
) -> LoadedProgram:
    """Return the program that a text describes; no other file is read for it, but for ``load "x";`` of RASP in `folder`.

    Args:
        text: the whole text.
        kind: its construction and its format, see `kind_of_text`.
        file: the name of the text, for messages.
        name: that of the program, where its text does not say it.
        folder: where the statement ``load`` of a RASP program looks for other programs; None: it is refused.

    Raises:
        ConversionError: if no such format is read.
        SpecError: with every error of the text.
    """
    construction, format = kind
    if construction == RASP:
        from tm2tfr.sources.rasp.read import read as read_rasp  # noqa: PLC0415

        return _labeller(read_rasp(text, file=file, folder=folder, name=name or "program"))
    if construction == LOGIC:
        from tm2tfr.sources.logic.read import read as read_logic  # noqa: PLC0415

        return _labeller(read_logic(text, file=file, name=name or "formula", language="tl" if format == "tl" else "srasp"))
    if construction == AUTOMATON:
        from tm2tfr.sources.automaton.formats import registry as automata  # noqa: PLC0415

        return _labeller(automata.read(text, file=file, format=format))
    if construction == CIRCUIT:
        from tm2tfr.sources.circuit.formats import registry as circuits  # noqa: PLC0415

        return _circuit(circuits.read(text, file=file, format=format))
    from tm2tfr.sources.turing.formats.registry import read as read_machine  # noqa: PLC0415

    found = read_machine(text, file=file, format=format)
    return LoadedProgram(found.machine, found.warnings)


def _is_word(name: str) -> bool:
    """Return whether a name is not a path, but may be that of a shipped source."""
    return bool(name) and name.isprintable() and not Path(name).suffix and Path(name).name == name


def _unknown(name: str) -> NotFoundError:
    """Return the error for a name that nothing has, with the shipped machine, circuit or program that may be meant."""
    kinds, close = "machine, circuit, program, formula or automaton", did_you_mean(name, names.every())
    expression = "write 'regex:(a|b)*ab' for a regular expression, or " if {*"()[]|*"} & {*name} else ""
    problem = f"{name}: there is no such file, and no {kinds} of that name is shipped{close}"
    return NotFoundError(f"{problem}: {expression}name a file, or what 'tm2tfr list' lists")


def check_target(output: Path) -> None:
    """Raise OutputError if programs of no kind are written to files with the ending of `output`."""
    refusals = []
    for module in _MODULES.values():
        try:
            _of(module).format_for(output)
        except OutputError as error:
            refusals.append(error)
    if len(refusals) == len(_MODULES):
        raise refusals[0]


def built(name: str, parameters: Mapping[str, object]) -> LoadedProgram:
    """Return a shipped circuit with these parameters.

    Raises:
        UsageError: if there is no shipped circuit of that name, or it has no such parameter, or not that value.
    """
    from tm2tfr.sources.circuit import library  # noqa: PLC0415

    found = names.generator_named(name)
    if found is None:
        given, known = f"--{next(iter(parameters))}", ", ".join(library.GENERATORS)
        close = did_you_mean(name, library.GENERATORS)
        problem = f"{name} is not a shipped circuit{close}, and only these have parameters"
        raise UsageError(f"{problem}: omit {given}, or name one of {known}")
    return LoadedProgram(library.load(found.name, **parameters))


def of_expression(text: str) -> LoadedProgram:
    """Return the circuit of expressions in Python's syntax, such as ``a ^ b & ~c``.

    Raises:
        SpecError: with every error of the text.
    """
    from tm2tfr.sources.circuit.formats import registry as formats  # noqa: PLC0415

    return _circuit(formats.from_expression(text))


def of_formula(text: str) -> LoadedProgram:
    """Return the formula of temporal logic that is given as text, such as ``once Q[a]``; it is named by its text.

    Raises:
        SpecError: with every error of the text.
    """
    from tm2tfr.sources.logic.read import read  # noqa: PLC0415

    return _labeller(read(text, file="<formula>", name=text, language="tl"))


def of_truth_table(text: str) -> LoadedProgram:
    """Return the circuit of a truth table, such as ``0110``.

    Raises:
        SpecError: with every error of the text.
    """
    from tm2tfr.sources.circuit.formats import registry as formats  # noqa: PLC0415

    return _circuit(formats.from_table(text))


def _circuit(found: Any) -> LoadedProgram:
    return LoadedProgram(found.circuit, found.warnings, found.examples)


def _is_circuit_text(name: str, format: str | None) -> bool:
    """Return whether a file, or standard input, is to be read as a circuit."""
    from tm2tfr.sources.circuit.formats import registry as formats  # noqa: PLC0415

    if format is not None and format != "yaml":
        return format in formats.CIRCUIT_READABLE
    chosen = formats.by_ending(name)
    if chosen is not None and chosen.name != "yaml":
        return True
    beginning = _beginning(name)
    told = formats.recognised(beginning) if beginning else None
    return told is not None and (chosen is None or told.name == "yaml") and told.name not in _DOUBTFUL


_STDIN = "-"
_DOUBTFUL = ("expression", "truth-table")
"""Formats of circuits that are recognised by their endings, or by name: too many other texts look like them."""


def _beginning(name: str) -> bytes:
    """Return how a file begins; nothing if it cannot be read, which its reader reports."""
    with suppress(OSError, ValueError):
        if Path(name).is_file():
            with Path(name).open("rb") as file:
                return file.read(1 << 16)
    return b""


def _of(module: str) -> Source[Any]:
    found: Source[Any] = import_module(module).SOURCE
    return found
