"""The options of the command line: what can be chosen, the words of its help, and the panel that it stands in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import click

from tm2tfr.arguments import COUNT, FILE, MACHINE, ONE_OR_MORE, SECONDS, OneOf

ENGINES = ("auto", "dense", "exact", "fast")
DTYPES = ("float64", "float32")
BOUNDARIES = ("repaired", "chapter")
ATTENTIONS = ("average-hard", "softmax")
TABLE_FORMATS = ("text", "markdown", "latex", "csv", "json", "jsonl", "html")
EXPORT_TARGETS = ("gpt2", "lens", "torch", "onnx")
REPORT_FORMATS = ("text", "json")
SOFT_FORMATS = ("text", "csv", "json")

MAX_STEPS = 10_000
"""How many steps of the machine a run makes where nothing else is said."""
RUN, LONG_RUNS, CONSTRUCTION = "How it is run", "Long runs", "The construction"
"""The panels of a command's help; what stands in none is listed first, as its options."""

MACHINE_HELP = (
    "A machine file, the name of a shipped machine (see 'tm2tfr machines'), bbchallenge text such as 1RB1LB_1LA1RZ, "
    "'-' for standard input"
)

Declared = Callable[[Any], Any]
"""What `option` and its like return: a decorator of a command."""


class Option(click.Option):
    """An option in a panel of the help, perhaps with older names that still work and are not shown."""

    def __init__(self, *args: Any, panel: str = "", older: Sequence[str] = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.panel, self.older = panel, tuple(older)

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Return the line of the help, without the older names."""
        known = self.opts
        self.opts = [name for name in known if name not in self.older]
        try:
            return super().get_help_record(ctx)
        finally:
            self.opts = known

    def get_error_hint(self, ctx: click.Context | None) -> str:
        """Return what a message calls this option: its long name."""
        shown = [name for name in self.opts if name not in self.older]
        return next((name for name in shown if name.startswith("--")), shown[0])


class Argument(click.Argument):
    """An argument with a line of help of its own."""

    def __init__(self, *args: Any, help: str = "", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.words = help

    def get_help_record(self, ctx: click.Context) -> tuple[str, str]:
        """Return the line of the help."""
        return self.human_readable_name.upper(), self.words

    def get_error_hint(self, ctx: click.Context | None) -> str:
        """Return what a message calls this argument."""
        return self.human_readable_name.upper()


def option(*names: str, **kwargs: Any) -> Declared:
    """Declare an option of a command, see `Option`."""
    return click.option(*names, cls=Option, **kwargs)


def argument(name: str, **kwargs: Any) -> Declared:
    """Declare an argument of a command, see `Argument`."""
    return click.argument(name, cls=Argument, **kwargs)


def machine(help: str, **kwargs: Any) -> Declared:
    """Declare the machine that a command is about."""
    return argument("machine", type=MACHINE, help=help, **kwargs)


def file(*names: str, **kwargs: Any) -> Declared:
    """Declare an option that names a file; the shell completes it."""
    return option(*names, **{"type": FILE, "metavar": "FILE", **kwargs})


def choice(*names: str, of: Sequence[str], **kwargs: Any) -> Declared:
    """Declare an option that takes one of a few words."""
    return option(*names, type=OneOf(of), **kwargs)


def count(*names: str, least: int = 0, **kwargs: Any) -> Declared:
    """Declare an option that takes a whole number."""
    return option(*names, type=ONE_OR_MORE if least else COUNT, **{"metavar": "N", **kwargs})


def flag(*names: str, **kwargs: Any) -> Declared:
    """Declare an option that is given or not."""
    return option(*names, is_flag=True, **kwargs)


def max_steps(default: int = MAX_STEPS) -> Declared:
    """Declare the limit of a run."""
    help = f"Stop after N steps of the machine. Default: {default:,}."
    return count("--max-steps", default=default, help=help, panel=RUN)


subject = machine(f"{MACHINE_HELP}, or a .safetensors file. Default: chapter.", default="chapter")
word = option("--input", "-i", "word", metavar="WORD", help="The input word. Default: the machine's own.")
output = file("--output", "-o", help="Write to this file instead of standard output.")
rows = file(
    "--output", "-o", "--out", older=["--out"], help="Write the rows to this .jsonl, .csv or .parquet file, as they come."
)
engine = choice(
    "--engine",
    of=ENGINES,
    default="auto",
    panel=RUN,
    help="What runs the weights: numpy, exact rationals, or compiled code. Default: auto, dense and for long runs fast.",
)
dtype = choice("--dtype", of=DTYPES, panel=RUN, help="The dense engine's numbers. Default: float64.")
checkpoint = file(
    "--checkpoint", panel=LONG_RUNS, help="Write the state of the run to this file now and then, and on Ctrl-C."
)
checkpoint_every = option(
    "--checkpoint-every",
    type=SECONDS,
    default=60.0,
    panel=LONG_RUNS,
    help="How often it is written. Default: 60.",
)
resume = file("--resume", panel=LONG_RUNS, help="Resume the run from this checkpoint.")
left_boundary = choice(
    "--left-boundary",
    of=BOUNDARIES,
    panel=CONSTRUCTION,
    help="One-way tape: 'repaired' (default), or 'chapter' to see Exercise 8.3 go wrong.",
)
attention = choice(
    "--attention", of=ATTENTIONS, panel=CONSTRUCTION, help="How scores become weights. Default: average-hard."
)
temperature = option(
    "--temperature",
    metavar="auto|τ",
    panel=CONSTRUCTION,
    help="Softmax: queries are divided by it, e.g. 0.001 or 2^-10. auto (default): Theorem 26 for the run's length.",
)
