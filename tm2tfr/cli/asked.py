"""What a command is about, as it was asked for: a name, a file, or a text given as an option, with what goes with it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click

from tm2tfr.choices import CIRCUIT_FORMATS, LOGIC_LANGUAGES, READABLE
from tm2tfr.cli.options import (
    MACHINE_HELP,
    Declared,
    choice,
    count,
    flag,
    machine,
    option,
)
from tm2tfr.cli.universal.options import DECLARED as UNIVERSAL
from tm2tfr.cli.universal.options import asked_options, keep_weights
from tm2tfr.errors import UsageError, visible
from tm2tfr.options import CIRCUITS, CONSTRUCTION, FORMULAS, Declaration, everything

PARAMETERS = ("bits", "order", "select", "number", "inputs", "gates", "kinds", "seed")
"""The parameters of shipped circuits, each an option of its name."""
SHOWN = {
    "bits": ("N", "Of a shipped circuit, such as binary-adder: the number of bits."),
    "order": ("ORDER", "Of binary-adder: the order of its gates, paper-1 or paper-2."),
    "seed": ("N", "The seed of the circuit 'random', and of the rules' order in prompts."),
}
"""Those that every help tells of; 'tm2tfr list NAME' tells of all."""


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What is to be loaded, and how it is to be compiled.

    Args:
        argument: a name, a path, a text, or ``-``.
        expression, truth_table: a circuit, in place of that.
        formula: a formula of temporal logic, likewise.
        prompt: the prompt of a universal decoder, likewise.
        format: the format of a text; None: it is recognised.
        cut_registers: whether a circuit is cut at its registers.
        alone: whether it is a universal decoder without a machine.
        takes_alone: whether the command takes one.
        named: whether anything was given, and it is not a default.
        parameters: those of a shipped circuit, as they were given.
        options: those of a construction, as they were given.
    """

    argument: str
    expression: str | None = None
    truth_table: str | None = None
    formula: str | None = None
    prompt: str | None = None
    format: str | None = None
    cut_registers: bool = False
    alone: bool = False
    takes_alone: bool = False
    named: bool = True
    parameters: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def given(self) -> str:
        """What was given, for commands to paste and for complaints."""
        return self.expression or self.truth_table or self.formula or (self.prompt and "the prompt") or self.argument

    def __str__(self) -> str:
        return self.given


def from_format(older: Sequence[str] = ()) -> Declared:
    """Declare ``--from``, the format of the text that a command is about; the command gets it as ``from_``.

    Args:
        older: other names of it; then the help lists all formats.
    """
    every = "one of these" if older else "such as jflap; 'tm2tfr convert --help' lists all"
    return choice(
        "--from",
        *older,
        "from_",
        of=(*READABLE, *CIRCUIT_FORMATS, *LOGIC_LANGUAGES),
        older=older,
        metavar=None if older else "FORMAT",
        last=not older,
        help=f"The format of the file, {every}. Default: by its ending or content.",
    )


_CUT_REGISTERS = flag(
    "--cut-registers",
    panel=CIRCUITS,
    help="Cut the file of a circuit at its registers: their outputs become inputs, what they take in becomes outputs.",
)
_EXPRESSION = option(
    "--expression", "-e", metavar="TEXT", panel=CIRCUITS, help='A circuit as an expression, such as "a ^ b & ~c".'
)
_TRUTH_TABLE = option(
    "--truth-table", "--table", metavar="BITS", panel=CIRCUITS, help="A circuit as its truth table, such as 0110."
)
_FORMULA = option(
    "--formula", "-f", metavar="TEXT", panel=FORMULAS, help="A formula of temporal logic, such as 'once Q[a] & !Q[b]'."
)


def _declared(name: str, known: Sequence[Declaration]) -> Declared:
    """Declare an option of one construction or several, each with its words and its help."""
    about, called = known[0].about, f"--{name.replace('_', '-')}"
    help = " ".join(dict.fromkeys(each.about.help for each in known))
    if known[0].kind == "words":
        words = tuple(dict.fromkeys(word for each in known for word in each.words))
        return choice(called, of=words, panel=about.panel, help=help)
    if known[0].kind == "count":
        return count(called, least=1, panel=about.panel, help=help)
    if known[0].kind == "flag":
        return flag(called, default=None, panel=about.panel, help=help)
    return option(called, metavar=about.metavar, panel=about.panel, help=help)


_OPTIONS = {
    name: _declared(name, known)
    for name, known in everything().items()
    if not known[0].about.hidden and not known[0].about.aside
}
"""The options of the constructions, but for those of a universal decoder."""


def subject(
    default: str | None = "chapter",
    *,
    help: str = "",
    compiled: bool = True,
    without: Sequence[str] = (),
    takes_alone: bool = False,
    older_from: Sequence[str] = (),
    seed: tuple[str, str] | None = None,
) -> Declared:
    """Declare what a command is about; the command gets it as one `Asked`, called ``asked``.

    Args:
        default: what it is about when nothing is given; None: something has to be.
        compiled: with the options of the constructions.
        without: but for these of programs and formulas, which the command declares itself.
        older_from: other names of ``--from``, see `from_format`.
        takes_alone: whether ``--universal`` without a machine is the decoder alone, not with the default in its prompt.
        seed: the panel and the help of ``--seed``, if the command itself has something random.
    """

    def declared(command: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(command)
        def gathered(
            *,
            machine: str | None,
            expression: str | None,
            truth_table: str | None,
            formula: str | None,
            from_: str | None,
            cut_registers: bool,
            universal: str | None = None,
            states: int | None = None,
            symbols: int | None = None,
            tape: str | None = None,
            prompt: str | None = None,
            **others: Any,
        ) -> Any:
            found = {name: value for name in PARAMETERS if (value := others.pop(name)) is not None}
            texts = {"--expression": expression, "--truth-table": truth_table, "--formula": formula, "--prompt": prompt}
            check_one(machine, texts)
            nothing = machine is None and not any(text is not None for text in texts.values())
            if nothing and default is None:
                context = click.get_current_context()
                raise click.MissingParameter(ctx=context, param=context.command.params[0])
            chosen = {name: others.pop(name) for name in _OPTIONS if name in others and name not in without}
            seed = found.pop("seed", None) if universal is not None else None
            chosen |= asked_options(universal=universal, states=states, symbols=symbols, tape=tape, seed=seed)
            keep_weights(universal, others.get("output"))
            alone = takes_alone and nothing and universal is not None
            asked = Asked(
                argument=machine or (alone and universal) or default or "",
                expression=expression,
                truth_table=truth_table,
                formula=formula,
                prompt=prompt,
                format=from_,
                cut_registers=cut_registers,
                alone=alone,
                takes_alone=takes_alone,
                named=not nothing,
                parameters=found,
                options={name: value for name, value in chosen.items() if value is not None},
            )
            return command(asked=asked, **others)

        every = [machine(f"{MACHINE_HELP}.{help or f' Default: {default}.' if default else help}", default=None)]
        every += [
            from_format(older_from),
            _EXPRESSION,
            _TRUTH_TABLE,
            _CUT_REGISTERS,
            *(_parameter(name, seed) for name in PARAMETERS),
        ]
        names = [name for name in _OPTIONS if name not in without] if compiled else ["basis", "define"]
        every += [*(_OPTIONS[name] for name in names), *(UNIVERSAL if compiled else ())]
        every.append(_FORMULA)
        for each in reversed(every):
            gathered = each(gathered)
        return gathered

    return declared


def _parameter(name: str, seed: tuple[str, str] | None) -> Declared:
    """Declare the option of a parameter; of ``--seed``, which is not of circuits alone, with this panel and help."""
    metavar, help = SHOWN.get(name, ("VALUE", ""))
    panel = CIRCUITS
    if name == "seed":
        panel, help = seed or (CONSTRUCTION, help)
    return option(f"--{name}", metavar=metavar, panel=panel, help=help, hidden=name not in SHOWN)


def check_one(machine: str | None, texts: Mapping[str, str | None]) -> None:
    """Raise UsageError if more than one thing is given."""
    named = [name for name, value in {"a name": machine, **texts}.items() if value is not None]
    if machine is not None and named == ["a name", "--prompt"] and Path(machine).suffix.lower() == ".safetensors":
        what = "the weights that are to read a prompt are named after --universal"
        raise UsageError(f"tm2tfr: {what}: use --universal {visible(machine)} --prompt ...")
    if len(named) > 1:
        raise UsageError(f"tm2tfr: {named[0]} and {named[1]} cannot be combined: give one thing to work on")
