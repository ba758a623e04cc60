"""The source of a command (a name, a file, or a text in an option) with the options of its kind, and the help on them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, field, fields, make_dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, TypeVar

from tm2tfr.base.choices import CIRCUIT_FORMATS, LOGIC_LANGUAGES, READABLE
from tm2tfr.base.errors import Tm2tfrError, UsageError, visible
from tm2tfr.cli.options import (
    MACHINE_HELP,
    SOURCES,
    UNIVERSAL,
    argument,
    choice,
    count,
    machines,
    metavar_of,
    number,
    option,
)
from tm2tfr.cli.parameters import But, escaped, value
from tm2tfr.cli.universal import UniversalGroup
from tm2tfr.contract.options import (
    AUTOMATA,
    CIRCUITS,
    CONSTRUCTION,
    EVERY,
    FORMULAS,
    PROGRAMS,
    CircuitOptions,
    Declaration,
    LogicOptions,
    TuringOptions,
    everything,
    fields_of,
)

FORMATS = (*READABLE, *CIRCUIT_FORMATS, *LOGIC_LANGUAGES, "regex")
FromOption: TypeAlias = Annotated[
    str | None,
    choice(
        "The format of the file, such as jflap; 'tm2tfr convert --help' lists all. Default: by its extension or content.",
        of=FORMATS,
        metavar="FORMAT",
    ),
]
RANDOM_SEED = "The seed of --random, of the circuit 'random', and of the rules' order in prompts."
SAMPLE_SEED = "The seed of --sample, of the circuit 'random', and of the rules' order in prompts."
"""The help of ``--seed`` where the command itself has something random."""


def seed(panel: str, help: str) -> Any:
    """Return the option ``--seed`` of a command that has something random."""
    return option(help, metavar="N", panel=panel)


PARAMETERS: Mapping[str, object] = {
    "bits": option("The number of bits of a shipped circuit, such as binary-adder.", metavar="N", panel=CIRCUITS),
    "order": option("The order of the gates, paper-1 or paper-2 (binary-adder only).", metavar="ORDER", panel=CIRCUITS),
    **{name: option("", hidden=True) for name in ("select", "number", "inputs", "gates", "kinds")},
    "seed": seed(CONSTRUCTION, "The seed of the circuit 'random', and of the rules' order in prompts."),
}
"""The parameters of shipped circuits; 'tm2tfr list NAME' says more of them."""


def _declared(known: Sequence[Declaration]) -> Any:
    """Return an option of one construction or several, with the words and the help of each."""
    about, help = known[0].about, " ".join(dict.fromkeys(each.about.help for each in known))
    match known[0].kind:
        case "words":
            words = tuple(dict.fromkeys(word for each in known for word in each.words))
            return Annotated[str | None, choice(help, of=words, panel=about.panel)]
        case "count":
            return Annotated[int | None, count(help, least=1, panel=about.panel)]
        case "flag":
            return Annotated[bool | None, option(help, panel=about.panel)]
        case "number":
            return Annotated[float | None, number(help, panel=about.panel)]
    return Annotated[str | None, option(help, metavar=about.metavar, panel=about.panel)]


def _group(name: str, options: Mapping[str, object]) -> Any:
    """Return a group of options, each with the default None."""
    hints = [(option, hint, field(default=None)) for option, hint in options.items()]
    return make_dataclass(name, hints, namespace={"__module__": __name__}, frozen=True, kw_only=True, eq=False, repr=False)


COMPILED = {
    name: _declared(known) for name, known in everything().items() if not known[0].about.hidden | known[0].about.aside
}
"""The options of the constructions, but for those of a universal decoder."""
if TYPE_CHECKING:
    from typer.core import TyperCommand

    from tm2tfr.cli.parameters import LineContext

    ConstructionGroup: TypeAlias = Any
    ParameterGroup: TypeAlias = Any
else:
    ConstructionGroup = _group("ConstructionGroup", COMPILED)
    ParameterGroup = _group("ParameterGroup", {name: Annotated[str | None, each] for name, each in PARAMETERS.items()})


@dataclass(frozen=True, kw_only=True)
class Asked:
    """The source to load, and how to compile it.

    Args:
        command: the command that asks; empty: it takes no options of compiling.
        typed: the names of the parameters that were typed.
        draws: the option with which the command itself draws something, with this seed; empty: it never does.
        takes_alone: whether ``--universal`` without a machine is the decoder alone, not with the default in its prompt.

    Raises:
        UsageError: if more than one thing is named.
    """

    machine: Annotated[str | None, argument("SOURCE", machines, help=f"{MACHINE_HELP}. Default: chapter.")] = None
    from_: FromOption = None
    expression: Annotated[
        str | None, option('A circuit as an expression, such as "a ^ b & ~c".', "-e", metavar="TEXT", panel=SOURCES)
    ] = None
    truth_table: Annotated[
        str | None,
        option("A circuit as its truth table, such as 0110.", "--truth-table", metavar="BITS", panel=SOURCES),
    ] = None
    formula: Annotated[
        str | None, option("A formula of temporal logic, such as 'once Q[a] & !Q[b]'.", "-f", metavar="TEXT", panel=SOURCES)
    ] = None
    construction: ConstructionGroup = field(default_factory=ConstructionGroup)
    cut_registers: Annotated[
        bool,
        option(
            "Cut the file of a circuit at its registers: their outputs become inputs, what they take in becomes outputs.",
            panel=CIRCUITS,
        ),
    ] = False
    circuit: ParameterGroup = field(default_factory=ParameterGroup)
    decoder: Annotated[UniversalGroup, But(seed=None)] = field(default_factory=UniversalGroup)
    command: str = ""
    typed: frozenset[str] = frozenset()
    draws: str = ""
    takes_alone: bool = False

    def __post_init__(self) -> None:
        check_one(self.machine, self.texts)

    @property
    def texts(self) -> dict[str, str | None]:
        """The texts in place of a name, by option."""
        others = {"--expression": self.expression, "--truth-table": self.truth_table, "--formula": self.formula}
        return {**others, "--prompt": self.decoder.prompt}

    @property
    def named(self) -> bool:
        """Whether anything was given, and it is not a default."""
        return self.machine is not None or any(text is not None for text in self.texts.values())

    @property
    def alone(self) -> bool:
        """Whether it is a universal decoder without a machine."""
        return self.takes_alone and not self.named and self.decoder.universal is not None

    @property
    def argument(self) -> str:
        """The name, the path, or the text that the machine is given by."""
        given = self.decoder.universal if self.alone else self.machine
        return "chapter" if given is None else given

    @property
    def given(self) -> str:
        """The name, path or text of the source, for commands to paste and for messages."""
        texts = self.expression or self.truth_table or self.formula
        return texts or (self.decoder.prompt and "the prompt") or self.argument

    def __str__(self) -> str:
        return self.given

    @property
    def reading(self) -> tuple[str | None, ...]:
        """The files that the command may read, and must not overwrite."""
        return self.argument, self.decoder.universal

    @property
    def parameters(self) -> dict[str, str]:
        """The parameters of a shipped circuit, as they were given; a universal decoder's seed is that of its rules."""
        given = {name: text for name, text in vars(self.circuit).items() if text is not None}
        return {name: text for name, text in given.items() if name != "seed" or self.decoder.universal is None}

    @cached_property
    def options(self) -> Mapping[str, object]:
        """The options of a construction, as they were given.

        Raises:
            UsageError: see `UniversalGroup.options`.
        """
        seed = self.circuit.seed if self.decoder.universal is not None else None
        given = {**vars(self.construction), **self.decoder.options(seed)}
        return {name: each for name, each in given.items() if each is not None}


_UNIVERSAL = {each.name for each in fields(UniversalGroup)}
NOT_COMPILED = But(dict.fromkeys({*COMPILED, *_UNIVERSAL} - {"basis", "define", *PARAMETERS}))
"""The changes for a command that compiles nothing: it takes only the options that choose, draw or rewrite a source."""


def check_one(machine: str | None, texts: Mapping[str, str | None]) -> None:
    """Raise UsageError if more than one thing is given."""
    named = [name for name, each in {"a name": machine, **texts}.items() if each is not None]
    if machine is not None and named == ["a name", "--prompt"] and Path(machine).suffix.lower() == ".safetensors":
        what = "the weights that are to read a prompt are named after --universal"
        raise UsageError(f"tm2tfr: {what}: use --universal {visible(machine)} --prompt ...")
    if len(named) > 1:
        raise UsageError(f"tm2tfr: {named[0]} and {named[1]} cannot be combined: give one thing to work on")


def options_class(context: LineContext) -> type[Any] | None:
    """Return the class of the options of the source that is named in a line, ``context.obj``; None: none can be read."""
    words = [word for word in context.obj or () if word not in context.help_option_names]
    line = context.command.make_context(context.info_name, words, parent=context.parent, resilient_parsing=True)
    asked: Asked = value("asked", Asked, None, line.params)
    if asked.decoder.universal is not None or asked.decoder.prompt is not None:
        return TuringOptions
    if asked.expression is not None or asked.truth_table is not None:
        return CircuitOptions
    if asked.formula is not None:
        return LogicOptions
    if asked.machine in (None, "-"):
        return None
    from tm2tfr.api.subject import Subject

    with suppress(Tm2tfrError):
        found = Subject.read(str(asked.machine), format=asked.from_).construction
        return next((kind for kind in EVERY.values() if found is not None and issubclass(kind, found.options)), None)
    return None


# ── the help: the options that apply to every source, and to the one that is named before --help ────────────
AnyCommand = TypeVar("AnyCommand", bound="TyperCommand")
TITLES = {kind: name[0].upper() + name[1:] for name, kind in EVERY.items()}
"""The class of a construction's options -> what its sources are called."""
OWN = dict(zip(EVERY.values(), (UNIVERSAL, CIRCUITS, PROGRAMS, FORMULAS, AUTOMATA), strict=True))
"""The class of a construction's options -> the panel of the options that only its sources have."""
WRITTEN = ("-o", "--key", "--seed", "--random")
"""The options of an example that are there for every source."""
MORE = "Machines, circuits, RASP programs, formulas and automata have further options: name the source before --help, as in"


def of_source(command: AnyCommand, context: LineContext) -> tuple[AnyCommand, type[Any] | None]:
    """Return a command with the options that apply to the source in the line that was typed, and the class of these.

    Where no source is named, or it cannot be read, all options are there, and there is no class.
    """
    kind = options_class(context) if any(param.name == "expression" for param in command.params) else None
    if kind is None:
        return command, None
    shown = copy(command)
    shown.params = [copy(param) for param in command.params if kind in (kinds_of(param) or [kind])]
    for param in shown.params:
        if kinds_of(param):
            _of_kind(param, kind)
    return shown, kind


def for_help(command: AnyCommand, context: LineContext, example: str | None, earlier: str = "") -> AnyCommand:
    """Return a command as its help shows it, by the line that was typed, ``context.obj``; its help ends with an example.

    Args:
        example: what stands behind the command in it; None: the help has no example.
        earlier: the line that makes the files of the example, if it needs any.
    """
    found, kind = of_source(command, context)
    shown = copy(found)
    if kind is not None and example is not None:
        example = _example_for([word for word in context.obj if word not in context.help_option_names], example)
    elif any(param.name == "expression" for param in command.params):  # it takes every kind of source
        shown.params = [param for param in command.params if not kinds_of(param)]
        shown.epilog = f"{MORE}: {context.command_path} palindromes --help"
    if example is not None:
        line = f"tm2tfr {command.name} {example}".rstrip()
        shown.help = f"{command.help}\n\n" + escaped(f"Example: {earlier} && {line}" if earlier else f"Example: {line}")
    return shown


def _example_for(typed: Sequence[str], example: str) -> str | None:
    """Return what stands behind a command in an example for the source that was typed, with the outputs of `example`.

    Inputs, heads and variables of `example` are those of another source, and are left out; None if nothing would be left.
    """
    first, *rest = shlex.split(example)
    if [first] == list(typed):
        return example
    if "--set" in rest:
        return None
    source = Path(typed[0])
    named = source.stem if source.suffix else typed[0]
    if re.fullmatch(r"\w[\w-]*", named):
        rest = [word.replace(first, named) for word in rest]
    if str(source) in rest:
        rest[rest.index(str(source))] = f"{named}.yaml"  # it is converted to another format
    outputs = [word for option, value in pairwise(rest) if option in WRITTEN for word in (option, value)]
    return shlex.join([*typed, *outputs])


def _of_kind(param: Any, kind: type[Any]) -> None:
    """Have an option speak of one construction alone, in its panel."""
    if param.rich_help_panel == UNIVERSAL:
        return
    known = fields_of(kind).get(param.name)
    if known is not None and known.about.help:
        param.help = escaped(known.about.help)
        param.metavar = metavar_of(known.words) if known.words else param.metavar
    param.rich_help_panel = TITLES[kind]


def kinds_of(param: Any) -> list[type[Any]]:
    """Return the constructions that an option is for, each as the class of its options; none: for every one."""
    panel = param.rich_help_panel
    if panel != CONSTRUCTION and panel not in OWN.values():
        return []
    named = [kind for kind in OWN if param.name in fields_of(kind) or (kind is CircuitOptions and param.name in PARAMETERS)]
    return named or [kind for kind, own in OWN.items() if own == panel]
