"""The options of each construction, each once: its type, its help, its words, and whose programs it is for.

From the fields of these classes come the options of the command line, the keywords of `tm2tfr.compile`, what the playground
can be asked, the table of the documentation, and the words for those to whose programs an option does not apply.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias, TypeVar, get_args, get_type_hints

from tm2tfr.base.choices import (
    AutomatonWay,
    Basis,
    CircuitVariant,
    LeftBoundary,
    LogicAnswers,
    LogicCompare,
    LogicVariant,
    RaspMask,
)
from tm2tfr.base.errors import CompileError, did_you_mean

CONSTRUCTION, CIRCUITS, PROGRAMS, FORMULAS = "The construction", "Circuits", "RASP programs", "Temporal logic"
AUTOMATA = "Automata"
"""The panels of options in a command's help."""
MOST_LENGTH = 10_000
"""The most tokens of an input that weights of limited length are compiled for."""


class OptionHelp(NamedTuple):
    """The help of an option, beside its name, its type and its default.

    Args:
        help: its line in a command's help.
        whose: the words for those to whose programs it does not apply.
        panel: its panel there.
        metavar: its value there, if it is text or a number.
        noun: the noun for its words in errors; by default its name.
        most: the largest number.
        hidden: whether only the library has it; aside: whether it is declared together with others, see `tm2tfr.cli`.
    """

    help: str
    whose: str
    panel: str = CONSTRUCTION
    metavar: str = ""
    noun: str = ""
    most: int = 10**9
    hidden: bool = False
    aside: bool = False


class Declaration(NamedTuple):
    """An option with its type.

    Args:
        kind: ``words`` (one of a few), ``count``, ``flag``, ``number``, ``text``, or ``any``.
        words: those that it takes.
    """

    name: str
    kind: Literal["words", "count", "flag", "number", "text", "any"]
    default: Any
    words: tuple[str, ...]
    about: OptionHelp


_A_LIST = "The tokens: abc, or a JSON list such as '[\"a\", 3]'. Default: the source's own."
_VARIANT = "a variant says how a decoder finds the operands of a circuit's gates, or how a formula is compiled"
_LONGEST = "the longest input is that of the weights of a RASP program, or of an automaton's scan"
_Alphabet: TypeAlias = Annotated[
    str | tuple[str | bool | int, ...] | None,
    OptionHelp(
        _A_LIST, "an alphabet is given for a RASP program, a formula of temporal logic, or an automaton", PROGRAMS, "TOKENS"
    ),
]
_Mask: TypeAlias = Annotated[
    RaspMask | None,
    OptionHelp(
        "future: heads see no position after their own (the default, if nothing looks ahead); none: they see all.",
        "a mask is chosen for the heads of the weights of a RASP program or of a formula",
        PROGRAMS,
    ),
]


@dataclass(frozen=True, kw_only=True)
class UniversalOptions:
    """A machine in the prompt of a universal decoder.

    Args:
        universal: S and K, as a pair or as the text ``8,4``; a `tm2tfr.Universal`; or weights of one, or a path to them.
            The matrices are the same for all machines; labels and tokens have this machine's names.
        tape: of its machines; by default ``both``, where the first token of the prompt says which.
        seed: the seed for the order of the rules in the prompt; by default the machine's own order.
    """

    universal: Annotated[
        Any, OptionHelp("", "a universal decoder runs Turing machines, which are in its prompt", aside=True)
    ] = None
    tape: Annotated[
        str | None,
        OptionHelp("", "the tape is that of the Turing machines in the prompt of a universal decoder", aside=True),
    ] = None
    seed: Annotated[
        int | None,
        OptionHelp("", "the seed is that of the order of rules in the prompt of a universal decoder", aside=True),
    ] = None


@dataclass(frozen=True, kw_only=True)
class TuringOptions(UniversalOptions):
    """How a Turing machine is compiled (Pérez et al. 2021, Theorem 8.2 of the chapter).

    Args:
        left_boundary: the move emitted for a step left of cell 0, one-way: m = 0, or m = -1 as printed (Exercise 8.3).
    """

    left_boundary: Annotated[
        LeftBoundary | None,
        OptionHelp(
            "One-way tape: 'repaired' (default), or 'chapter' to see Exercise 8.3 go wrong.",
            "the left boundary is that of a Turing machine's one-way tape",
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class CircuitOptions:
    """How a Boolean circuit is compiled.

    Args:
        variant: how a position finds the operands of its gate; ``paper-hard`` and ``paper`` are Appendix A of the paper,
            repaired, and rewrite a circuit in NOR, AND and XOR if it is not in them.
        basis: rewrite it in these gates first: ``nor``, or ``paper`` for NOR, AND and XOR of two operands.
        epsilon: for the variant ``paper``, the epsilon of its layer norms; by default 0.
        epsilon_star: of the variant ``paper``, ε*: each bit has a probability above 1 - ε*.
    """

    variant: Annotated[
        CircuitVariant | None,
        OptionHelp(
            "Circuits: how a gate finds its operands, by lookup (default), or by Appendix A, repaired: paper-hard, paper.",
            _VARIANT,
        ),
    ] = None
    basis: Annotated[
        Basis | None,
        OptionHelp(
            "Rewrite the circuit in these gates first: 'nor' alone, or the paper's NOR, AND and XOR.",
            "a basis is that of a circuit's gates",
            CIRCUITS,
        ),
    ] = None
    epsilon: Annotated[
        float | None, OptionHelp("", "an epsilon is that of the layer norms of a circuit's decoder", hidden=True)
    ] = None
    epsilon_star: Annotated[
        float | None,
        OptionHelp(
            "Variant paper: ε* of Appendix A; each bit gets a probability above 1 - ε*. Default: 0.001.",
            "ε* is that of the bits that a circuit's decoder answers",
            CIRCUITS,
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class RaspOptions:
    """How a RASP program is compiled.

    Args:
        sop: the s-op; None: the program's own choice.
        alphabet: its tokens; None: the program's.
        max_length: the longest input.
        mask: of the heads; None: ``future`` if no selection can look ahead, otherwise ``none``.
        max_values, max_units: see `tm2tfr.sources.sequence.compiler.Limits`.
        unbounded: for inputs of any length, see `tm2tfr.sources.sequence.compiler.compile_unbounded`.

    Raises:
        CompileError: for options that cannot be combined.
    """

    sop: Annotated[
        str | None,
        OptionHelp(
            "The s-op to compile, and what it needs. Default: the one assigned last.",
            "an s-op is one of a RASP program",
            PROGRAMS,
            "NAME",
        ),
    ] = None
    alphabet: _Alphabet = None
    max_length: Annotated[
        int | None,
        OptionHelp(
            "The longest input. Default: the program's own, otherwise 10.",
            _LONGEST,
            PROGRAMS,
            most=MOST_LENGTH,
        ),
    ] = None
    mask: _Mask = None
    max_values: Annotated[
        int | None,
        OptionHelp(
            "The most values of an s-op, or of s-ops together. Default: 4,096.",
            "the most values are those of an s-op of a RASP program",
            PROGRAMS,
        ),
    ] = None
    max_units: Annotated[
        int | None,
        OptionHelp(
            "The most entries of a table. Default: 65,536.",
            "the most units are those of a table of a RASP program's weights",
            PROGRAMS,
        ),
    ] = None
    unbounded: Annotated[
        bool,
        OptionHelp(
            "Compile for inputs of any length; counts are looked up.",
            "inputs of any length are asked of a RASP program's weights",
            PROGRAMS,
        ),
    ] = False

    def __post_init__(self) -> None:
        if self.unbounded and self.mask == "future":
            raise CompileError("--unbounded counts positions that are still to come: omit --mask future")
        for option, given in (("--max-length", self.max_length), ("--max-values", self.max_values)):
            if self.unbounded and given is not None:
                raise CompileError(f"--unbounded is for inputs of any length, and needs no {option}: omit one of them")


@dataclass(frozen=True, kw_only=True)
class LogicOptions:
    """How a formula, or a B-RASP, S-RASP or C-RASP program, is compiled.

    Args:
        define: the name of the definition that is compiled; None: the program's own choice.
        alphabet: its tokens; None: the program's.
        mask: ``future``: a decoder, whose heads see no later position; ``none``: an encoder, which sees the whole word.
            None: a decoder if nothing looks right.
        compare: how numbers are compared, see `tm2tfr.base.choices.LOGIC_COMPARE`.
        variant: see `tm2tfr.base.choices.LogicVariant`.
        answers: which nodes are outputs, see `tm2tfr.base.choices.LogicAnswers`.
        steep: whether queries grow with the position, or in an encoder with the length, so that softmax needs no
            temperature; a decoder has none for counts.

    Raises:
        CompileError: for options that cannot be combined.
    """

    define: Annotated[
        str | None,
        OptionHelp(
            "The definition to compile. Default: its own choice, or the last.",
            "a definition is one of a formula, or of a B-RASP or S-RASP program",
            FORMULAS,
            "NAME",
        ),
    ] = None
    alphabet: _Alphabet = None
    mask: _Mask = None
    compare: Annotated[
        LogicCompare,
        OptionHelp(
            "How counts are compared: by lookup (default), or by the sign of their difference, with bounded features.",
            "numbers are compared by lookup or by sign in formulas of temporal logic",
            FORMULAS,
            noun="way to compare",
        ),
    ] = "lookup"
    variant: Annotated[
        LogicVariant,
        OptionHelp(
            "Formulas: ours (default); paper: neighbours, ties and look-ups as Theorems 12 to 22 print them; unique: with "
            "leftmost and rightmost heads.",
            _VARIANT,
            noun="variant of formulas",
        ),
    ] = "ours"
    answers: Annotated[
        LogicAnswers,
        OptionHelp(
            "The outputs, one column each: all parts (default), or only the definitions.",
            "parts that are answered, or definitions, are those of a formula",
            FORMULAS,
            noun="way to answer",
        ),
    ] = "all"
    steep: Annotated[
        bool,
        OptionHelp(
            "Queries that grow with the position, or with --mask none the length, so that softmax needs no temperature.",
            "steep queries are those of the weights of a formula",
            FORMULAS,
        ),
    ] = False

    def __post_init__(self) -> None:
        if self.steep and self.variant == "unique":
            raise CompileError("--steep is for softmax, which --variant unique does not have: omit one of them")
        if self.steep and self.compare == "sign":
            raise CompileError(
                "--steep multiplies keys of look-ups, and the sign head looks nothing up: omit --compare sign"
            )


@dataclass(frozen=True, kw_only=True)
class AutomatonOptions:
    """How a finite automaton is compiled.

    Args:
        by: ``star-free``: by its cascade in B-RASP, for words of any length; ``scan``: by composing the maps of tokens in
            RASP, for words of limited length; ``steps``: one layer per token, for such words too. None: the first possible.
        alphabet: its tokens; None: those that it reads. Others lead to a trap state; a regular expression is read anew.
        max_length: of a scan, or of steps, the longest word.
    """

    by: Annotated[
        AutomatonWay | None,
        OptionHelp(
            "How an automaton is compiled: star-free (B-RASP, the default if it is star-free), or in RASP up to "
            "--max-length: scan or steps.",
            "the way is that of a finite automaton",
            AUTOMATA,
            noun="way to compile an automaton",
        ),
    ] = None
    alphabet: _Alphabet = None
    max_length: Annotated[
        int | None,
        OptionHelp("The longest word of a scan, or of steps. Default: 10.", _LONGEST, PROGRAMS, most=MOST_LENGTH),
    ] = None


EVERY: Mapping[str, type[object]] = {
    "Turing machines": TuringOptions,
    "circuits": CircuitOptions,
    "RASP programs": RaspOptions,
    "formulas": LogicOptions,
    "automata": AutomatonOptions,
}
"""What is compiled -> the class of its options."""


def option_called(name: str) -> str:
    """Return an option as messages name it: ``--left-boundary``."""
    return f"--{name.replace('_', '-')}"


def fields_of(kind: type[Any]) -> dict[str, Declaration]:
    """Return the options of a class by name, those of a class that it extends behind its own."""
    hints, found = get_type_hints(kind, include_extras=True), {}
    own = [option for option in fields(kind) if option.name in kind.__annotations__]
    for option in (*own, *(f for f in fields(kind) if f not in own)):
        of_type, about = get_args(hints[option.name])[0], hints[option.name].__metadata__[0]
        found[option.name] = Declaration(option.name, *_kind(of_type), about)._replace(default=option.default)
    return found


def _kind(of_type: object) -> tuple[Any, None, tuple[str, ...]]:
    """Return the kind of a type, no default, and its words."""
    parts = [part for part in get_args(of_type) if part is not type(None)] or [of_type]
    words = parts if isinstance(parts[0], str) else get_args(parts[0])
    if words and isinstance(words[0], str):
        return "words", None, tuple(words)
    return {bool: "flag", int: "count", float: "number", str: "text"}.get(parts[0], "any"), None, ()


def everything() -> dict[str, tuple[Declaration, ...]]:
    """Return all options by name, each as the constructions have it; several have a variant."""
    found: dict[str, tuple[Declaration, ...]] = {}
    for kind in EVERY.values():
        for name, known in fields_of(kind).items():
            found[name] = (*found.get(name, ()), known)
    return found


OptionValues = Mapping[str, Any]
"""Options by name, before they are checked."""
_Options = TypeVar("_Options")


def read_options(kind: type[_Options], options: OptionValues) -> _Options:
    """Return the options that are given by name, as values or, as in provenance, as text; None: the default.

    Raises:
        CompileError: for an unknown word, an invalid number, and options that cannot be combined.
    """
    known = fields_of(kind)
    asked = {name: value for name, value in options.items() if name in known and value is not None}
    return kind(**{name: _valid(known[name], value) for name, value in asked.items()})


def _valid(option: Declaration, value: object) -> object:
    if option.kind == "words" and value not in option.words:
        noun, close = option.about.noun or option.name, did_you_mean(str(value), option.words)
        *others, last = option.words
        known = f"{', '.join(others)} or {last}" if others else last
        raise CompileError(f"unknown {noun} {value!r}{close}: use {known}")
    if option.kind == "flag":
        return value not in (False, "False")
    return _whole(option, value) if option.kind == "count" else value


def _whole(option: Declaration, value: object) -> int:
    number, most = value, option.about.most
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 10:
        number = int(value)
    if not isinstance(number, int) or isinstance(number, bool) or not 1 <= number <= most:
        name = option_called(option.name)
        raise CompileError(f"{name} must be a whole number from 1 to {most:,}, not {value!r}: use for example 10")
    return number
