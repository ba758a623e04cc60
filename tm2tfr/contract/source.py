"""The contract of a construction: the columns of its table, and its reference runs. It knows no construction."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, Protocol, TypeVar

from tm2tfr.base.errors import CompileError, ShapeError, a_or_an
from tm2tfr.base.text.shown import probability

if TYPE_CHECKING:
    from tm2tfr.base.text.words import InputSpace
    from tm2tfr.certificates.kit import Proof, Questions
    from tm2tfr.contract.blocks import BlockReference, ManyLabels
    from tm2tfr.contract.model import SourceModel
    from tm2tfr.contract.modelled import DescribedModel
    from tm2tfr.contract.options import OptionValues
    from tm2tfr.contract.shown import AttentionOf, Examined, Page
    from tm2tfr.contract.specification import Specification
    from tm2tfr.transformer.residual import Residual, Subspace
    from tm2tfr.transformer.weights import Decoder

BOTTOM = "⊥"
"""A cell that contains nothing."""
Kind = Literal["position", "fed", "label", "number", "bits", "output", "answered", "probability"]
"""What the cells of a column are: the position i; the token fed at it, as text; the label of a subspace's one-hot vector
after the last layer, as text or None for the zero vector; the number in a subspace; the bits in several subspaces, as the
text of their digits or by name; the answer of an output, a label as text or a number; the token answered, as text; a
probability, of which the reference says nothing."""


@dataclass(frozen=True, kw_only=True)
class Column:
    """One column of the table of a run: the meaning of its cells, and their form.

    Args:
        name: its heading, and its key in files; no two columns of a table have the same.
        kind: see `Kind`. The first column of a table is the position, the second tells the token at it, the last is the
            token answered, or all others are the outputs of a sequence model, in their order.
        meaning: what it shows, in a few words.
        holds: for a label or number the claimed content of its subspace, wherever that is; for an output its name.
        subspace: otherwise the name of the subspace itself.
        bits: of bits, what their subspaces are claimed to hold, in order.
        names: pairs of the digits of such bits and their name, if they have one.
        real: of an output, whether it is a number; whole: whether its labels are whole numbers.
        signed: whether a positive number is shown with its sign, as moves are.
        tex: its heading in LaTeX, ``$q^{(i)}$``; by default its name.

    Raises:
        ShapeError: if a label or number is not read from exactly one thing, bits from nothing, or another column from
            anything.
    """

    name: str
    kind: Kind
    meaning: str
    holds: str = ""
    subspace: str | None = None
    bits: tuple[str, ...] = ()
    names: tuple[tuple[str, str], ...] = ()
    real: bool = False
    whole: bool = False
    signed: bool = False
    tex: str = ""

    def __post_init__(self) -> None:
        given = (bool(self.holds) and self.kind != "output") + (self.subspace is not None)
        if given != (self.kind in ("label", "number")):
            need = "exactly one of holds and subspace" if self.kind in ("label", "number") else "neither holds nor subspace"
            raise ShapeError(f"column {self.name!r}: it is a {self.kind}: give it {need}")
        if self.real and self.kind != "output":
            raise ShapeError(f"column {self.name!r}: it is a {self.kind}: only an output is said to be real")
        if bool(self.bits) != (self.kind == "bits"):
            raise ShapeError(f"column {self.name!r}: it is a {self.kind}: columns of kind bits have bits, and no others")

    @property
    def numeric(self) -> bool:
        """Whether its cells are numbers."""
        return self.kind in ("position", "number", "probability") or self.real

    def read_from(self, layout: Residual) -> Subspace | None:
        """Return the subspace of `layout` that it is read from; None if there is none of the right kind."""
        if self.kind == "output":
            return None
        found = layout.holding(self.holds) if self.subspace is None else None
        if self.subspace is not None and self.subspace in layout:
            found = layout.subspace(self.subspace)
        return found if found is not None and (found.labels is None) == (self.kind == "number") else None

    def read_bits(self, layout: Residual) -> tuple[Subspace, ...] | None:
        """Return the subspaces of `layout` that its bits are read from; None if it has none or some are not there."""
        found = [layout.holding(what) for what in self.bits]
        numbers = tuple(subspace for subspace in found if subspace is not None and subspace.labels is None)
        return numbers if numbers and len(numbers) == len(found) else None

    def named(self, digits: str) -> str:
        """Return bits, given as text, by their name; as they are if they have none."""
        return dict(self.names).get(digits, digits)

    def text(self, value: Any) -> str:
        """Return a cell as it is written: ⊥ for nothing, a positive number with its sign if the column is signed."""
        return probability(value) if self.kind == "probability" else shown(value, signed=self.signed)


def readable(columns: Sequence[Column], layout: Residual) -> bool:
    """Return whether every column that is read off a stream can be read off one with this layout."""
    return not unreadable(columns, layout)


def unreadable(columns: Sequence[Column], layout: Residual) -> list[str]:
    """Return the contents of columns that no subspace of `layout` holds, in order."""
    lacking = [c.holds for c in columns if c.kind in ("label", "number") and c.read_from(layout) is None]
    return lacking + [c.name for c in columns if c.kind == "bits" and c.read_bits(layout) is None]


FED, ANSWERED = "the token at this position", "the token that the model answers at this position"
POSITION = Column(name="i", kind="position", meaning="the position", tex="$i$")
"""The first column of every table."""
ANSWER = Column(name="y", kind="answered", meaning=ANSWERED, tex="$y^{(i)}$")
"""The last column of every table."""


def shown(value: Any, *, signed: bool = False) -> str:
    """Return a cell as it is written, see `Column.text`."""
    if value is None:
        return BOTTOM
    return f"+{value}" if signed and value > 0 else str(value)


# ── a run as the reference has it ───────────────────────────────────────────────────────────────────────────
AnyRow = tuple[Any, ...]
"""A row of any table: one entry per column, in order."""


class _Any:
    """See `ANY`."""

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return "ANY"


ANY = _Any()
"""A cell of which the reference says nothing: it equals everything. Which cell it is, ``is`` tells."""


class RunResult(Protocol):
    """What came out of a run of the reference."""

    @property
    def outcome(self) -> str: ...  # in a word or two
    @property
    def shown(self) -> str: ...  # it, for people: numbers or a digest instead of bits; nothing if the run was cut off
    @property
    def own(self) -> OptionValues: ...  # the source's own fields, as plain data


class Ending(NamedTuple):
    """A decoder that stops at the wrong position, although every cell so far agrees.

    Args:
        what: the list or table that decides it: ``stop tokens``.
        part: the part of it that is wrong: ``the list``.
        expected, found: in words.
        why: the consequence, and what to do.
    """

    what: str
    part: str
    expected: str
    found: str
    why: str


class Truth(Protocol):
    """A run of the reference on one input: rows as they come, and what is known about them. No weights anywhere near."""

    @property
    def noun(self) -> str: ...  # the noun for the program: ``machine``
    @property
    def reference(self) -> str: ...  # what this run is of: ``simulator``
    @property
    def name(self) -> str: ...  # of the program
    @property
    def input(self) -> str: ...  # as it is shown
    @property
    def prompt(self) -> Sequence[str]: ...  # the tokens of the input
    @property
    def blank(self) -> str: ...  # the text of an empty cell, for tables with a tape; otherwise empty

    def refuse(self, layout: Residual) -> None:
        """Raise CompileError if a decoder with this stream has no table that can be compared."""

    def rows(self, columns: tuple[Column, ...]) -> Iterator[AnyRow]:
        """Yield the row of every position, with these columns; `ANY` where the reference says nothing."""

    def result(self) -> RunResult:
        """Return the result, as far as `rows` has been taken."""

    def specification(self, upto: int) -> Specification:
        """Return the specification up to position `upto`."""

    def ending(self, decoder: Decoder) -> Ending | None:
        """Return the `Ending` of a `decoder` that stops at the wrong position, else None."""


class LabellerTruth(Protocol):
    """The common part of reference runs of sequence models, see `Truth`."""

    blank: str = ""

    @property
    def prompt(self) -> Sequence[str]:
        """The tokens of the input."""

    @property
    def values(self) -> Mapping[str, Sequence[Any]]:
        """The values of each output at every position, by name."""

    def __post_init__(self) -> None:
        _ = self.values

    def rows(self, columns: Sequence[Column]) -> Iterator[AnyRow]:
        """Yield the reference's cells at each position, one per column; `ANY` where a column is not an output."""
        values = self.values
        for i, token in enumerate(self.prompt):
            own = {"position": i, "fed": token}
            yield tuple(own.get(c.kind, values[c.holds][i] if c.holds in values else ANY) for c in columns)

    def ending(self, decoder: Decoder) -> Ending | None:
        """Return None: nothing is generated, so there is no ending."""
        return None


_Program = TypeVar("_Program")


def later(module: str, function: str) -> Callable[..., Any]:
    """Return a function of a module that is imported when it is called."""

    def call(*arguments: Any) -> Any:
        return getattr(import_module(module), function)(*arguments)

    return call


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Source(Generic[_Program]):
    """One kind of source, as the rest of the package sees it: a record of functions, whose imports happen when called.

    Args:
        name: as the provenance of weights names it.
        noun: the word for one of its programs: ``machine``.
        called: program -> the word for this program, where the kind has several.
        type: the class of its programs.
        options: the class of the options of its compiler, see `tm2tfr.contract.options`.
        machine: program -> the Turing machine in it, or None while its prompt has no machine; None: for other sources.
        prompted: whether the decoder reads its program in the prompt, after weights that are the same for a whole class.
        class_named: (program, options) -> the arguments that name this class on the command line.
        read: (text, file) -> the program that is stored with weights. Raises SpecError.
        restore: (program as it is stored with weights, their options, as text) -> the program that was compiled.
        prepare: (program, options) -> the program with these options applied, whose reference runs are compared with.
        cautions: (program as it is prepared, options, warnings about its text) -> the warnings that hold; None: the same.
        adapted: (program, input, verdict) -> the program with this own input and this verdict of halts without one, where
            they are given, and notes. Raises InputError, ConversionError.
        part: (program, output) -> the part that an output depends on; None: it has no outputs. Raises UsageError.
        targets: the formats that a program is written in.
        convert: (program, format) -> the conversion: its ``text`` (or bytes) and ``notes``. Raises ConversionError.
        format_for: (path) -> the format of such a file. Raises OutputError.
        check_ending: (program, path): refuse a file that would be read as another kind of program. Raises OutputError.
        inputs: program -> the space of its inputs, see `tm2tfr.base.text.words.InputSpace`.
        own_input: the input of a program when none is given.
        given: (program, input as people write it) -> the input. Raises InputError.
        of_bytes: (program, bytes) -> the input that they stand for; None: this program takes no bytes.
        fed: (program, input, decoder) -> the tokens that the decoder is fed; None: those of the input, one a character.
        tried: (program, the examples of its text) -> inputs to suggest where there is room for a few.
        enumerated: (program, the number of random inputs or None: all, seed) -> inputs, where all have one length.
        cases: (program, the most) -> inputs to try an export on, and whether there are no others; None: it has its own.
        compile: (program, options) -> weights. Raises CompileError for options that do not apply to the program.
        prove: (decoder, program) -> their proof; None: there are no certificates.
        limit: (decoder, program, engine, dtype, the largest |h|) -> the positions for which a run is certified, None: any.
        check_questions: (name of the subject, questions): refuse those that its proof cannot answer. Raises UsageError.
        truth: (program, input, decoder, the most steps) -> the run of the reference. Raises InputError.
        blocks: (program, decoder, the most steps) -> the reference of a batch, see `tm2tfr.contract.blocks`.
        outcomes: (program, inputs, the most steps) -> the reference's outcome on each input: the verdict, the bits of the
            outputs, or the value at the last position; None: it is undefined, or the run is cut off.
        labels: (program, decoder) -> the reference's outputs for batches of words. Raises CompileError.
        examined: (program, decoder) -> the examples of its author, compared with the reference.
        model: (program, decoder) -> the model of its runs. Raises CompileError. None: it has the next three.
        labelling: (program, decoder) -> the labels of its runs; causal: (program, input, decoder) -> its `CausalModel`;
        described: (program, decoder) -> its variables and patterns, for readers. All three raise CompileError.
        drawn: the endings of drawings; draw: (program, path): write one.
        dot, graph: program -> its graph, in DOT and for networkx.
        headings: program -> the headings of outputs in LaTeX, by their names; None: the names.
        nets: program -> the name of each position, and the number of operands that its gate has; None: they have no names.
        page: program -> the data of an explorer page beside its runs; None: no data.
        draw_run: (program, input, the weights and where their heads look, or None) -> a run as SVG; None: none is drawn.
        draw_requests: (program, the file that it is from) -> the runs that its text asks to draw, as SVG; None: none.
        exported: (decoder, source, program) -> its own `ExportReference`; None: nothing is special.
        canonical: (decoder, program) -> the weights as they are exported; None: as they are.
        split: (text of a prompt, vocabulary) -> its tokens, where the prompt begins with a program; None: it does not.
    """

    # what it is
    name: str
    noun: str
    called: Callable[[_Program], str] | None = None
    options: type[Any]
    type: type[_Program]
    machine: Callable[[_Program], Any] | None = None
    prompted: bool = False
    class_named: Callable[[_Program, OptionValues], str] | None = None
    # its programs as text
    read: Callable[[str, str], _Program]
    restore: Callable[[_Program, OptionValues], _Program] | None = None
    prepare: Callable[[_Program, OptionValues], _Program] | None = None
    cautions: Callable[[_Program, OptionValues, Sequence[str]], tuple[str, ...]] | None = None
    adapted: Callable[[_Program, str | None, str | None], tuple[_Program, tuple[str, ...]]] | None = None
    part: Callable[[_Program, str], _Program] | None = None
    targets: tuple[str, ...]
    convert: Callable[[_Program, str], Any]
    format_for: Callable[[Path], str]
    check_ending: Callable[[_Program, Path], None] | None = None
    # inputs
    inputs: Callable[[_Program], InputSpace]
    own_input: Callable[[_Program], str]
    given: Callable[[_Program, str], str]
    of_bytes: Callable[[_Program, bytes], str | None] | None = None
    fed: Callable[[_Program, str, Decoder], Sequence[str]] | None = None
    tried: Callable[[_Program, Sequence[Any]], Iterable[str]]
    enumerated: Callable[[_Program, int | None, int], Sequence[str]] | None = None
    cases: Callable[[_Program, int], tuple[Sequence[str], bool]] | None = None
    # weights
    compile: Callable[[_Program, OptionValues], Decoder]
    prove: Callable[[Decoder, _Program], Proof[Any]] | None = None
    limit: Callable[[Decoder, _Program, str, str, int], int | None] | None = None
    check_questions: Callable[[str, Questions], None] | None = None
    # the reference
    truth: Callable[[_Program, str, Decoder, int | None], Truth]
    blocks: Callable[[_Program, Decoder, int | None], BlockReference] | None = None
    outcomes: Callable[[_Program, Sequence[str], int | None], Sequence[str | None]]
    labels: Callable[[_Program, Decoder], ManyLabels] | None = None
    examined: Callable[[_Program, Decoder], Iterator[Examined]] | None = None
    model: Callable[[_Program, Decoder], SourceModel] | None = None
    labelling: Callable[[_Program, Decoder], Any] | None = None
    causal: Callable[[_Program, str, Decoder], Any] | None = None
    described: Callable[[_Program, Decoder], DescribedModel] | None = None
    # pages and drawings
    drawn: tuple[str, ...]
    dot: Callable[[_Program], str]
    draw: Callable[[_Program, Path], None]
    graph: Callable[[_Program], Any]
    headings: Callable[[_Program], Mapping[str, str]] | None = None
    nets: Callable[[_Program], Sequence[tuple[str, int]]] | None = None
    page: Callable[[_Program], Page] | None = None
    draw_run: Callable[[_Program, str, tuple[Decoder, AttentionOf] | None], str] | None = None
    draw_requests: Callable[[_Program, str], str | None] | None = None
    # exports
    exported: Callable[[Decoder, Any, _Program], Any] | None = None
    canonical: Callable[[Decoder, _Program], Decoder] | None = None
    split: Callable[[str, Collection[str]], Sequence[str]] | None = None

    def noun_of(self, program: _Program) -> str:
        """Return the name of a program."""
        return self.noun if self.called is None else self.called(program)

    def prompt(self, program: _Program, word: str, decoder: Decoder) -> Sequence[str]:
        """Return the tokens that `decoder` is fed for an input, without BOS: see `fed`."""
        return word if self.fed is None else self.fed(program, word, decoder)

    def explained(self, program: _Program, decoder: Decoder) -> DescribedModel:
        """Return the variables and the patterns of heads of its model, for readers. Raises CompileError if it has none."""
        if self.model is not None:
            from tm2tfr.contract.modelled import described  # noqa: PLC0415  (a run needs no model until it differs)

            return described(self.model(program, decoder), decoder)
        if self.described is None:
            raise CompileError(f"nothing is known of the model of {a_or_an(self.noun_of(program))}: explain another source")
        return self.described(program, decoder)

    def labels_of(self, program: _Program, decoder: Decoder) -> Any:
        """Return the object with the labels of its runs; None without labels."""
        if self.model is None:
            return None if self.labelling is None else self.labelling(program, decoder)
        from tm2tfr.contract.modelled import ModelLabels  # noqa: PLC0415

        return ModelLabels(self.model(program, decoder), decoder)

    def causal_runs(self, program: _Program, decoder: Decoder) -> Callable[[str], Any] | None:
        """Return the function from an input to its run as equations, see `CausalModel`; None: there is none."""
        if self.model is None:
            return None if self.causal is None else lambda word: self.causal(program, word, decoder)  # type: ignore[misc]
        from tm2tfr.contract.modelled import ModelRuns  # noqa: PLC0415

        model, end = self.model(program, decoder), () if decoder.bos is None else (decoder.bos,)

        def run(word: str) -> ModelRuns:
            self.truth(program, word, decoder, None)  # raises InputError for a word over another alphabet
            return ModelRuns(model, (*self.prompt(program, word, decoder), *end), decoder)

        return run
