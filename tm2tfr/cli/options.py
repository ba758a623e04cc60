"""The options of the command line: how they are declared and read, their panels, and those that several commands share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer

from tm2tfr.base.choices import AUTO, DTYPES, ENGINES, WEIGHTINGS
from tm2tfr.cli import arguments
from tm2tfr.cli.reading import escaped
from tm2tfr.contract.options import CIRCUITS, CONSTRUCTION
from tm2tfr.runs.options import EVERY, MAX_STEPS, RunOptions
from tm2tfr.runs.plan import Soft

ENGINE_WORDS = (AUTO, *ENGINES)
REPORTS = ("text", "json")
ALL = "all"
"""The value of ``--explain`` when it is given without a layer."""
SOURCES, RUN, LONG_RUNS, UNIVERSAL, SLIDES = "Sources as text", "Running", "Long runs", "Universal decoder", "Slides"
"""The panels of a command's help; an option without a panel is listed first, under "Options"."""

MACHINE_HELP = (
    "A machine, a circuit, a program or a formula: a file, a .safetensors file of weights, the name of a shipped one (see "
    "'tm2tfr list'), bbchallenge text such as 1RB1LB_1LA1RZ, or '-' for standard input"
)


# ── how an option is declared: within ``Annotated`` ─────────────────────────────────────────────────────────
def option(help: str, *names: str, panel: str = "", **kwargs: Any) -> Any:
    """Return an option, see `typer.Option`; without a long name, it has that of its parameter.

    Args:
        help: its line in the help, which says the default in words.
    """
    return typer.Option(*names, help=escaped(help), rich_help_panel=panel or None, show_default=False, **kwargs)


def argument(name: str, complete: Callable[[str], list[str]] | None = None, **kwargs: Any) -> Any:
    """Return an argument, see `typer.Argument`."""
    return typer.Argument(metavar=name, autocompletion=complete, show_default=False, **kwargs)


def file(help: str, *names: str, metavar: str = "FILE", **kwargs: Any) -> Any:
    """Return an option that names a file; the shell completes it."""
    return option(help, *names, metavar=metavar, parser=Path, **kwargs)


def choice(
    help: str, *names: str, of: Sequence[str], metavar: str = "", commands: Mapping[str, str] | None = None, **kwargs: Any
) -> Any:
    """Return an option that takes one of several words; of others it may be known which command is meant."""
    reader = arguments.one_of(of, commands or {})
    return option(
        help, *names, metavar=metavar or metavar_of(of), parser=reader, autocompletion=arguments.among(of), **kwargs
    )


def metavar_of(of: Sequence[str]) -> str:
    """Return the words of an option as its help lists them; with spaces if they need more than one line at 80 columns."""
    return f"<{('|' if sum(map(len, of)) + len(of) <= 25 else ' | ').join(of)}>"


def count(help: str, *names: str, least: int = 0, metavar: str = "N", **kwargs: Any) -> Any:
    """Return an option that takes a whole number."""
    return option(help, *names, metavar=metavar, parser=arguments.counted_from(least), **kwargs)


def number(help: str, *names: str, **kwargs: Any) -> Any:
    """Return an option that takes a number."""
    return option(help, *names, metavar="X", parser=arguments.real_number, **kwargs)


# ── options of several commands ─────────────────────────────────────────────────────────────────────────────
WordOption: TypeAlias = Annotated[
    str | None,
    option(
        "The input: a word, or a JSON list of tokens; for a circuit: bits, numbers such as 0x3A+7, or text. Default: "
        "the source's own input, its first example, or zeros for a circuit.",
        "--input",
        "-i",
        metavar="WORD",
    ),
]


def bytes_of(text: str) -> Path:
    """Return the path of a file that is there."""
    path = Path(text)
    if not path.is_file():
        raise ValueError(f"{text!r} is not a file: name one")
    return path


BYTES = option(
    "The input is what this file contains, byte for byte (sha256 only).",
    "--file",
    metavar="FILE",
    parser=bytes_of,
    panel=CIRCUITS,
)
BytesOption: TypeAlias = Annotated[Path | None, BYTES]
OutputOption: TypeAlias = Annotated[Path | None, file("Write to this file instead of standard output.", "--output", "-o")]
DtypeOption: TypeAlias = Annotated[
    str | None, choice("The dense engine's numbers. Default: float64.", "--dtype", of=DTYPES, panel=RUN)
]
EngineOption: TypeAlias = Annotated[
    str,
    choice(
        "The engine that runs the weights. Default: auto (fast if Numba is installed, otherwise dense).",
        "--engine",
        of=ENGINE_WORDS,
        panel=RUN,
    ),
]
WorkersOption: TypeAlias = Annotated[
    int | None, count("Use N processes. Default: one per core.", "--workers", least=1, panel=RUN)
]
SchedulerOption: TypeAlias = Annotated[
    str | None,
    option("Use this Dask cluster instead of this machine.", "--scheduler", metavar="tcp://HOST:PORT", panel=RUN),
]


def steps(default: int = MAX_STEPS) -> Any:
    """Return the option that limits a run."""
    help = f"Stop after N steps of the machine, or gates of the circuit. Default: {default:,}."
    return count(help, "--max-steps", panel=RUN)


AttentionOption: TypeAlias = Annotated[
    str | None,
    choice("How scores become attention weights. Default: average-hard.", "--attention", of=WEIGHTINGS, panel=CONSTRUCTION),
]
TemperatureOption: TypeAlias = Annotated[
    str | None,
    option(
        "Softmax: divide queries by it, e.g. 2^-10. auto (default): by each head's own bound, or Theorem 26.",
        "--temperature",
        metavar="auto | local | theorem-26 | none | τ",
        panel=CONSTRUCTION,
    ),
]


@dataclass(frozen=True, kw_only=True)
class SoftGroup:
    """Soft attention."""

    attention: AttentionOption = None
    temperature: TemperatureOption = None

    @property
    def soft(self) -> Soft:
        """Both, as the library takes them."""
        return Soft(self.attention, self.temperature)


@dataclass(frozen=True, kw_only=True)
class RunGroup(RunOptions):
    """How a run is carried out."""

    max_steps: Annotated[int | None, steps()] = MAX_STEPS
    engine: Annotated[
        str,
        choice(
            "Run with numpy, exact rationals or compiled code. Default: auto (dense, or fast for long runs).",
            of=ENGINE_WORDS,
            panel=RUN,
        ),
    ] = AUTO
    dtype: DtypeOption = None


@dataclass(frozen=True, kw_only=True)
class RecordedGroup(RunGroup):
    """How a run is carried out, and recorded."""

    out: Annotated[
        Path | None,
        file(
            "Write the rows to this .jsonl, .csv or .parquet file during the run; of many inputs of a circuit, a line "
            "for each run (.jsonl or .csv).",
            "--output",
            "-o",
        ),
    ] = None
    checkpoint: Annotated[
        Path | None, file("Save the state of the run to this file regularly, and on Ctrl-C.", panel=LONG_RUNS)
    ] = None
    checkpoint_every: Annotated[
        float | None,
        option(
            f"The time between checkpoints. Default: {EVERY:g}.",
            metavar="SECONDS",
            parser=arguments.seconds,
            panel=LONG_RUNS,
        ),
    ] = None
    resume: Annotated[Path | None, file("Resume the run from this checkpoint.", panel=LONG_RUNS)] = None
