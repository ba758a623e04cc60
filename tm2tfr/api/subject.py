"""The subject of a function or a command: a program, a decoder, or the name of one, in the same forms everywhere.

A program is what a construction compiles: a Turing machine, a Boolean circuit, a RASP program, or a formula.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tm2tfr.base.errors import CompileError, InputError, SpecWarning, UsageError, a_or_an, addressed, did_you_mean, visible
from tm2tfr.base.files import is_weights
from tm2tfr.base.waiting import waiting
from tm2tfr.contract.keywords import CircuitParameters
from tm2tfr.contract.options import CircuitOptions, everything, fields_of, option_called

if TYPE_CHECKING:
    from typing import TypeAlias, Unpack

    from tm2tfr.contract.keywords import CompileOptions
    from tm2tfr.contract.shown import PlainData
    from tm2tfr.contract.source import Source
    from tm2tfr.sources.circuit.netlist import Circuit
    from tm2tfr.sources.logic.program import LogicProgram
    from tm2tfr.sources.rasp.program import Program
    from tm2tfr.sources.registry import LoadedProgram
    from tm2tfr.sources.turing.spec import Machine
    from tm2tfr.sources.turing.universal.program import Universal
    from tm2tfr.transformer.weights import Decoder

    AnyProgram: TypeAlias = "Machine | Universal | Circuit | Program | LogicProgram"
    Given: TypeAlias = "Subject | Decoder | AnyProgram | LoadedProgram | str | Path"


@dataclass(frozen=True)
class Subject:
    """A program with the decoder compiled from it, or a decoder with the program stored with it, if there is one.

    >>> import tm2tfr
    >>> subject = tm2tfr.Subject.of("chapter")
    >>> subject.machine.tape, len(subject.decoder.layers)
    ('one-way', 6)

    The option ``universal`` puts a machine in the prompt of a universal decoder:

    >>> subject = tm2tfr.Subject.of("busy-beaver-5", universal=(8, 4))
    >>> len(subject.decoder.layers), subject.prompt("")[:3]
    (7, ('two-way', 'A,0', '→(B,1,+1)'))

    Args:
        name: the argument, or the name of the object.
        source: the machine, circuit, program, formula or automaton; for a machine in the prompt of a universal decoder a
            `Universal`; None for weights.
        weights: the decoder; None for a source.
        options: the options of the construction, by name; see `tm2tfr.compile`.
        warnings: warnings about the text.
        text: whether it was read from a text.
        examples: the examples in the text of a circuit, program or formula.
    """

    name: str
    source: AnyProgram | None = None
    weights: Decoder | None = None
    options: Mapping[str, object] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    text: bool = False
    examples: tuple[Any, ...] = ()

    def __post_init__(self) -> None:
        from tm2tfr.sources.registry import of_program
        from tm2tfr.transformer.weights import Decoder

        known = self.source is None or of_program(self.source) is not None
        if not known or not isinstance(self.weights, Decoder | None) or (self.source is None and self.weights is None):
            raise CompileError(
                f"{self.name}: a subject has a Machine, Circuit, Program, LogicProgram or Automaton as its source, "
                "a Decoder as its weights, or both"
            )
        for option in self.options:
            self._refuse_other(option)
        if self.options and self.source is None:
            remedy = f"omit {option_called(next(iter(self.options)))}"
            if "universal" in self.options:
                remedy = "give the machine, and weights as its universal option"
            raise CompileError(f"{self.name}: these weights are already compiled: {remedy}")

    def _refuse_other(self, option: str) -> None:
        """Raise CompileError if `option` is another construction's."""
        from tm2tfr.sources.registry import whose

        if self.construction is not None and option not in fields_of(self.construction.options):
            why = whose(option)
            name = "this" if self.name == self.noun else self.name
            raise CompileError(f"{name} is {a_or_an(self.noun)}, and {why}: omit {option_called(option)}")

    @classmethod
    def of(cls, given: Given, *, options: Mapping[str, object] | None = None, **more: Unpack[CompileOptions]) -> Subject:
        """Return the subject for an object, a name, a path or a text; warnings about a text are issued as `SpecWarning`.

        Args:
            given: a `Subject`, `Decoder`, `Machine`, `Universal`, `Circuit`, `Program`, `LogicProgram` or `Automaton`; the
                name of a shipped source; the path to a source in any format that is read, or to a weight file
                (.safetensors); bbchallenge text; ``regex:…``; ``-`` for text on standard input.
            options, more: options of the construction, as a dictionary or as keywords; for a shipped circuit also its
                parameters. See `tm2tfr.compile`.

        Raises:
            NotFoundError, ReadError, ConversionError, SpecError: if a text cannot be loaded.
            WeightFileError: if a weight file cannot be loaded.
            CompileError: for an option of another construction, or any option with weights, which are already compiled.
            UsageError: for an unknown option.
        """
        found = cls.read(*_built(given, {**(options or {}), **more}))
        issue(found.warnings)
        return found

    @classmethod
    def read(
        cls,
        given: Given,
        options: Mapping[str, object] | None = None,
        *,
        format: str | None = None,
        cut_registers: bool = False,
    ) -> Subject:
        """Return the subject like `of`, with its warnings in it instead of issued.

        Args:
            given, options: see `of`; without parameters of circuits.
            format: the format of a text; None: recognised from the text.
            cut_registers: cut a circuit at its registers.
        """
        asked = {name: value for name, value in (options or {}).items() if value is not None}
        return cls._found(given, format, cut_registers)._with(asked)

    @classmethod
    def _found(cls, given: Given, format: str | None, cut_registers: bool) -> Subject:
        from tm2tfr.sources.registry import loaded, of_object
        from tm2tfr.transformer.provenance import name
        from tm2tfr.transformer.weights import Decoder

        if cut_registers and (not isinstance(given, str | Path) or is_weights(given)):
            raise UsageError("--cut-registers is for a file of a circuit with registers: omit it")
        if isinstance(given, Subject):
            return given
        if isinstance(given, Decoder):
            return cls(name(given.provenance, "weights"), weights=given)
        if not isinstance(given, str | Path):
            found = of_object(given)
            return cls(found.name, found.program, warnings=found.warnings, examples=found.examples)
        if is_weights(given):
            from tm2tfr.sources.turing.compiler.version_1 import load

            return cls(str(given), weights=load(given))
        found = loaded(given, format=format, cut_registers=cut_registers)
        return cls(str(given), found.program, warnings=found.warnings, text=True, examples=found.examples)

    def _with(self, asked: Mapping[str, object]) -> Subject:
        if not asked:
            return self
        source, construction = self.source, self.construction
        if source is not None and construction is not None and construction.prepare is not None:
            source = construction.prepare(source, asked)
        noted = self.warnings
        if source is not None and construction is not None and construction.cautions is not None:
            noted = construction.cautions(source, asked, noted)
        found = replace(
            self,
            source=source,
            weights=None if self.source else self.weights,
            options={**self.options, **asked},
            warnings=noted,
        )
        _ = found.decoder  # refuses an option that does not apply, whether the decoder will be needed or not
        return found

    @property
    def compiled(self) -> bool:
        """Whether it is weights, not a source."""
        return self.source is None

    @cached_property
    def construction(self) -> Source[Any] | None:
        """The construction that compiles its program, or compiled its weights; None if unknown."""
        from tm2tfr.sources.registry import named, of_program
        from tm2tfr.transformer import provenance

        if self.source is not None:
            return of_program(self.source)
        return None if self.weights is None else named(provenance.construction(self.weights.provenance))

    @property
    def kind(self) -> Source[Any]:
        """The construction of its program.

        Raises:
            CompileError: if it is unknown, because weights do not state it.
        """
        if self.construction is None:
            raise CompileError(f"{self.name}: nothing is known of the kind of {type(self.right).__name__}")
        return self.construction

    @property
    def labeller(self) -> bool:
        """Whether its program has outputs at each token of a word, as RASP programs and formulas do."""
        return self.construction is not None and self.construction.labels is not None

    @property
    def prompted(self) -> bool:
        """Whether its decoder is universal: it runs the machine in its prompt."""
        return self.construction is not None and self.construction.prompted and self.program is not None

    @property
    def nets(self) -> Sequence[tuple[str, int]]:
        """The name of each position and the number of operands of its gate; empty if positions have no names."""
        if self.program is None or self.construction is None or self.construction.nets is None:
            return ()
        return self.construction.nets(self.program)

    @property
    def noun(self) -> str:
        """The noun for its program, such as ``machine``, which is also that of weights without a program."""
        if self.construction is None:
            return "machine"
        return self.construction.noun if self.program is None else self.construction.noun_of(self.program)

    @cached_property
    def decoder(self) -> Decoder:
        """The decoder: the weights, or compiled from the source.

        Raises:
            CompileError: if an option of the construction does not apply to the program.
        """
        if self.weights is not None:
            return self.weights
        with waiting(f"compiling {visible(str(self.right.name))}"):
            return self.kind.compile(self.right, self.options)

    @cached_property
    def program(self) -> Any:
        """The source, or the one stored with the weights; None if no source is stored.

        Raises:
            SpecError: if what is stored is not a program of the construction.
        """
        from tm2tfr.transformer import provenance

        if self.weights is None or self.source is not None:
            return self.source
        said = self.weights.provenance
        text = provenance.source(said)
        if not text or self.construction is None:
            return None
        found = self.construction.read(text, provenance.name(said, "<provenance>"))
        restore = self.construction.restore
        return found if restore is None else restore(found, provenance.options(said))

    @property
    def machine(self) -> Machine | None:
        """The program, if it is a Turing machine, or the one in the prompt of a universal decoder; otherwise None.

        Raises:
            SpecError: see `program`.
        """
        if self.program is None or self.construction is None or self.construction.machine is None:
            return None
        found: Machine | None = self.construction.machine(self.program)
        return found

    @property
    def lacks_machine(self) -> bool:
        """Whether it is a universal decoder without a machine in its prompt, which cannot run."""
        return self.prompted and self.machine is None

    @property
    def answers_at_once(self) -> bool:
        """Whether its weights answer all positions of a word in one pass, without steps."""
        return self.labeller or (self.weights is not None and self.weights.labeller)

    @property
    def right(self) -> Any:
        """The program that runs are compared with.

        Raises:
            CompileError: if no program is stored with the weights.
            SpecError: if the stored text is not a program of the construction.
        """
        from tm2tfr.transformer.provenance import is_hidden

        if self.program is None and self.weights is not None and is_hidden(self.weights.provenance):
            what = "these weights are hidden: they say neither what they compute nor where it is in the stream"
            remedy = "compare them with their original by 'tm2tfr disguise FILE --verify KEY'"
            raise CompileError(f"{what}: {remedy}, or read them with tm2tfr.load_weights(FILE)")
        if self.program is None:
            what = f"no {self.noun} is stored with these weights"
            raise CompileError(f"{what}: give {a_or_an(self.noun)}, or weights that were compiled from one")
        return self.program

    def turing(self, what: str) -> Machine:
        """Return the program, which must be a Turing machine; `what`, for the error, names the operation that needs one.

        Raises:
            CompileError: if the program is not a machine, or the weights have none.
        """
        right, machine = self.right, self.machine
        if self.lacks_machine:
            machine = right.right  # which says so
        if machine is None:
            noun = "something else" if self.construction is None else a_or_an(self.noun)
            raise CompileError(f"{self.name}: {what} takes a Turing machine, and this is {noun}: give a machine")
        return machine

    def prompt(self, word: str | None) -> Sequence[str]:
        """Return the tokens of the prompt for an input, see `word`.

        For weights without a program these are the characters of a text, or the tokens of a JSON list.

        Raises:
            InputError: see `word`; for a text, if the weights have no program and tokens of several characters.
        """
        from tm2tfr.base.text.words import tokens_in

        given, program, construction = self.word(word), self.program, self.construction
        if program is None:
            return tokens_in(given, self.decoder.vocabulary)
        return given if construction is None else construction.prompt(program, given, self.decoder)

    def word(self, word: str | None) -> str:
        """Return the input `word`; by default the program's own, or the empty word without a program.

        Raises:
            InputError: if it is not text, or not an input of the program.
        """
        if word is not None and not isinstance(word, str):
            raise InputError(f"an input word must be text, not {word!r}: write for example {self.word(None)!r}")
        program, construction = self.program, self.construction
        if program is None or construction is None:
            return word or ""
        return construction.own_input(program) if word is None else construction.given(program, word)


def _built(given: Given, options: Mapping[str, object]) -> tuple[Given, PlainData]:
    """Return a subject and its options; where parameters of a shipped circuit are among these, the circuit that they build.

    Raises:
        UsageError: for what is neither an option of a construction nor a parameter of this circuit.
    """
    from tm2tfr.sources.names import parameters_of
    from tm2tfr.sources.registry import built

    names = everything()
    flags = {name for name, known_as in names.items() if known_as[0].kind == "flag"}
    asked = {n: value for n, value in options.items() if value is not None and not (n in flags and value is False)}
    known = parameters_of(given) if isinstance(given, str) else ()
    own = {name for name in asked if name not in names or (name == "seed" and name in known and "universal" not in asked)}
    if not own:
        return given, asked
    unknown = next((name for name in sorted(own) if name not in known), "")
    applying = (*(fields_of(CircuitOptions) if known else names), *known)  # only circuits have parameters
    close = " (mask='future' makes weights causal)" if unknown == "causal" else did_you_mean(unknown, applying)
    if close or (unknown and unknown not in CircuitParameters.__annotations__):
        raise UsageError(f"compile has no option {unknown!r}{close}: use one of {', '.join(applying)}")
    circuit = built(str(getattr(given, "name", given)), {name: asked.pop(name) for name in own}).program
    return circuit, asked


def outside() -> int:
    """Return the ``stacklevel`` that points a warning at the code which called this package."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "tm2tfr":
        frame, level = frame.f_back, level + 1
    return level


def issue(texts: Sequence[str]) -> None:
    """Issue warnings about a text as `SpecWarning`, for the code that called this package."""
    for text in texts:
        warnings.warn(addressed(text), SpecWarning, stacklevel=outside())


def recompiled(given: Given, left_boundary: str | None) -> Subject:
    """Return a subject for a function that still takes an option of the construction, with a warning where it is given.

    Raises:
        CompileError: see `Subject.of`.
    """
    if left_boundary is not None:
        what = "left_boundary is an option of compiling: pass tm2tfr.compile(machine, left_boundary=...) instead"
        warnings.warn(what, DeprecationWarning, stacklevel=outside())
    return Subject.of(given, options={"left_boundary": left_boundary})


def judged(found: Subject, machine: Given | None) -> tuple[Subject, Subject]:
    """Return a subject, and the subject with its reference: itself, or `machine` in any form.

    On the weights of a universal decoder, which run the machine in their prompt, the other one is put there.

    Raises:
        CompileError: if it has an option of the construction, which only matters for what is compiled; if it does not fit
            into the prompt.
    """
    if machine is None:
        return found, found
    other = Subject.of(machine)
    if other.options:
        option = option_called(next(iter(other.options)))
        raise CompileError(f"{other.name}: a machine to compare with has no {option}: give the machine alone")
    if found.prompted and other.machine is not None:
        placed = Subject.of(other.right, universal=found.decoder)
        return placed, placed
    return found, other
