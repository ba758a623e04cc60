"""The options of the command line: their choices, their help, and their panels."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from tm2tfr.choices import AUTO, DTYPES, ENGINES, WEIGHTINGS
from tm2tfr.cli.arguments import COUNT, FILE, MACHINE, ONE_OR_MORE, SECONDS, OneOf
from tm2tfr.options import CIRCUITS, CONSTRUCTION

ENGINE_WORDS = (AUTO, *ENGINES)
REPORTS = ("text", "json")
ALL = "all"
"""The value of ``--explain`` when it is given without a layer."""
MAX_STEPS, EVERY = 10_000, 60.0
"""The defaults of a run: those of `tm2tfr.runs.options`, which ``--help`` does not import."""
RUN, LONG_RUNS, UNIVERSAL, SLIDES = "Running", "Long runs", "Universal decoder", "Slides"
"""The panels of a command's help; an option without a panel is listed first, under "Options"."""

MACHINE_HELP = (
    "A machine, a circuit, a program or a formula: a file, a .safetensors file of weights, the name of a shipped one (see "
    "'tm2tfr list'), bbchallenge text such as 1RB1LB_1LA1RZ, or '-' for standard input"
)

Declared = Callable[[Any], Any]
"""The type that `option` and the other functions here return: a decorator of a command."""


class Option(click.Option):
    """An option in a panel of the help, the `last` ones at its end; older names still work but are not shown."""

    def __init__(self, *args: Any, panel: str = "", last: bool = False, older: Sequence[str] = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.panel, self.last, self.older = panel, last, tuple(older)

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Return the line of the help, without the older names."""
        known = self.opts
        self.opts = [name for name in known if name not in self.older]
        try:
            return super().get_help_record(ctx)
        finally:
            self.opts = known

    def get_error_hint(self, ctx: click.Context | None) -> str:
        """Return the name of this option in messages: its long name."""
        shown = [name for name in self.opts if name not in self.older]
        return next((name for name in shown if name.startswith("--")), shown[0])


class Argument(click.Argument):
    """An argument with its own line of help."""

    def __init__(self, *args: Any, help: str = "", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.words = help

    def get_help_record(self, ctx: click.Context) -> tuple[str, str]:
        """Return the line of the help."""
        return self.human_readable_name.upper(), self.words

    def get_error_hint(self, ctx: click.Context | None) -> str:
        """Return the name of this argument in messages."""
        return self.human_readable_name.upper()


def option(*names: str, **kwargs: Any) -> Declared:
    """Declare an option of a command, see `Option`."""
    return click.option(*names, cls=Option, **kwargs)


def argument(name: str, **kwargs: Any) -> Declared:
    """Declare an argument of a command, see `Argument`."""
    return click.argument(name, cls=Argument, **kwargs)


def machine(help: str, **kwargs: Any) -> Declared:
    """Declare the machine that a command takes."""
    return argument("machine", type=MACHINE, help=help, **kwargs)


def file(*names: str, **kwargs: Any) -> Declared:
    """Declare an option that names a file; the shell completes it."""
    return option(*names, **{"type": FILE, "metavar": "FILE", **kwargs})


def choice(*names: str, of: Sequence[str], commands: Mapping[str, str] | None = None, **kwargs: Any) -> Declared:
    """Declare an option that takes one of several words; of others it may be known which command is meant, see `OneOf`."""
    return option(*names, type=OneOf(of, commands), **kwargs)


def count(*names: str, least: int = 0, **kwargs: Any) -> Declared:
    """Declare an option that takes a whole number."""
    return option(*names, type=ONE_OR_MORE if least else COUNT, **{"metavar": "N", **kwargs})


def flag(*names: str, **kwargs: Any) -> Declared:
    """Declare an option without a value."""
    return option(*names, is_flag=True, **kwargs)


def max_steps(default: int = MAX_STEPS) -> Declared:
    """Declare the limit of a run."""
    help = f"Stop after N steps of the machine, or gates of the circuit. Default: {default:,}."
    return count("--max-steps", default=default, help=help, panel=RUN)


word = option(
    "--input",
    "-i",
    "word",
    metavar="WORD",
    help="The input: a word, or a JSON list of tokens; of a circuit bits, numbers such as 0x3A+7, or text. Default: the "
    "program's own, its first example, or of a circuit zeros.",
)


def bytes_of(**kwargs: Any) -> Declared:
    """Declare ``--file``, the input of a circuit that takes bytes; the command gets it as ``contents``."""
    kind = click.Path(exists=True, dir_okay=False, path_type=Path)
    help = "The input is what this file contains, byte for byte: of sha256."
    return file("--file", "contents", type=kind, panel=CIRCUITS, help=help, **kwargs)


output = file("--output", "-o", help="Write to this file instead of standard output.")
attention = choice(
    "--attention", of=WEIGHTINGS, panel=CONSTRUCTION, help="How scores become attention weights. Default: average-hard."
)
temperature = option(
    "--temperature",
    metavar="auto|local|theorem-26|none|τ",
    panel=CONSTRUCTION,
    help="Softmax: divide queries by it, e.g. 2^-10. auto (default): by each head's own bound, or Theorem 26.",
)

# ── the options of a run, which a command gets as one value ─────────────────────────────────────────────────
rows = file(
    "--output",
    "-o",
    "--out",
    older=["--out"],
    help="Write the rows to this .jsonl, .csv or .parquet file during the run; of many inputs of a circuit, a line for "
    "each run (.jsonl or .csv).",
)
_engine = choice(
    "--engine",
    of=ENGINE_WORDS,
    default=AUTO,
    panel=RUN,
    help="Run with numpy, exact rationals or compiled code. Default: auto (dense, or fast for long runs).",
)
dtype = choice("--dtype", of=DTYPES, panel=RUN, help="The dense engine's numbers. Default: float64.")
_checkpoint = file("--checkpoint", panel=LONG_RUNS, help="Save the state of the run to this file regularly, and on Ctrl-C.")
_checkpoint_every = option(
    "--checkpoint-every",
    type=SECONDS,
    panel=LONG_RUNS,
    help=f"The time between checkpoints. Default: {EVERY:g}.",
)
_resume = file("--resume", panel=LONG_RUNS, help="Resume the run from this checkpoint.")


def run(*, recorded: bool = False, limit: Declared | None = None) -> Declared:
    """Declare the options of a run; the command gets them as one `RunOptions`, called ``run``.

    Args:
        recorded: with those of a run that is recorded: checkpoints, and what `rows` declares, which the command adds.
        limit: ``--max-steps``, if not as usual.
    """

    def declared(command: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(command)
        def gathered(
            *,
            engine: str,
            dtype: str | None,
            max_steps: int | None,
            checkpoint: Path | None = None,
            checkpoint_every: float | None = None,
            resume: Path | None = None,
            **others: Any,
        ) -> Any:
            from tm2tfr.runs.options import RunOptions

            options = RunOptions(
                engine=engine,
                dtype=dtype,
                max_steps=max_steps,
                checkpoint=checkpoint,
                checkpoint_every=checkpoint_every,
                resume=resume,
                out=others.pop("output") if recorded else None,
            )
            return command(run=options, **others)

        files = [_checkpoint, _checkpoint_every, _resume] if recorded else []
        every = [limit or max_steps(), _engine, dtype, *files]
        for each in reversed(every):
            gathered = each(gathered)
        return gathered

    return declared
