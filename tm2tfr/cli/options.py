"""The options of the command line: how they are declared, read and completed, and those that several commands share.

A reader takes what was typed, and raises `ValueError` with what is wrong with it and what to write instead.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer

from tm2tfr.base.choices import ATTENTIONS, AUTO, DTYPES, ENGINES
from tm2tfr.base.errors import UsageError, did_you_mean
from tm2tfr.cli.parameters import escaped
from tm2tfr.contract.options import CIRCUITS, CONSTRUCTION
from tm2tfr.runs.plan import EVERY, MAX_STEPS, RunOptions, Soft
from tm2tfr.runs.sampling import Sampling

MOST = 10**18
"""No run is as long as this; a larger count is a typing error."""
LEAST = "least"
"""In place of a number of dimensions: as few as are found."""
_PLAIN = re.compile(r"\d+(_\d+)*|\d{1,3}(,\d{3})+", re.ASCII)
_SECONDS = re.compile(r"\d+(\.\d*)?([eE][-+]?\d{1,3})?|\.\d+", re.ASCII)
_POWER = re.compile(r"(\d+)(?:\.(\d+))?[eE]\+?(\d{1,3})", re.ASCII)


def whole_number(text: str) -> int | None:
    """Return `text` as a whole number, None if it is not one: ``10000``, ``10_000``, ``10,000``, ``1e4``."""
    if sign := text.startswith("-"):
        text = text[1:]
    if _PLAIN.fullmatch(text) and len(text) < 100:
        number = int(re.sub("[_,]", "", text))
    elif found := _POWER.fullmatch(text):
        whole, fraction, power = found[1], (found[2] or "").rstrip("0"), int(found[3])
        if len(fraction) > power or len(whole) > 100:
            return None
        number = int(whole + fraction) * 10 ** (power - len(fraction))
    else:
        return None
    return -number if sign else number


def counted_from(least: int) -> Callable[[str], int]:
    """Return the reader of whole numbers from `least` on."""

    def count(text: str) -> int:
        number = whole_number(text.strip())
        if number is None:
            raise ValueError(f"{text!r} is not a whole number: write for example 10000, 10_000, 10,000 or 1e4")
        if not least <= number <= MOST:
            raise ValueError(f"{text} is out of range: use a whole number from {least} to 1e18")
        return number

    return count


def dimensions(text: str) -> int | str:
    """Return a whole number from 1 on, or the word ``least``."""
    if text == LEAST:
        return LEAST
    if whole_number(text.strip()) is None:
        raise ValueError(f"{text!r} is neither a whole number nor {LEAST!r}: use one of them")
    return counted_from(1)(text)


def seed_number(text: object, command: str) -> int:
    """Return the seed that `text` says.

    Args:
        command: the words of the command, for the message: ``tm2tfr check``.

    Raises:
        UsageError: if it is not a whole number from 0 to 1e18.
    """
    number = whole_number(str(text))
    if number is None or not 0 <= number <= MOST:
        raise UsageError(f"{command}: --seed: {str(text)[:40]!r} is not a seed: use a whole number from 0 to 1e18")
    return number


def seconds(text: str) -> float:
    """Return a length of time: 0 or more seconds."""
    number = float(text) if _SECONDS.fullmatch(text.strip()) else math.nan
    if not 0 <= number < math.inf:
        raise ValueError(f"{text!r} is not a number of seconds: use 0 or more, for example 60")
    return number


def real_number(text: str) -> float:
    """Return a number, such as ``3e-3``."""
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"{text!r} is not a number: write for example 0.003 or 3e-3") from None


def one_of(words: Sequence[str], commands: Mapping[str, str]) -> Callable[[str], str]:
    """Return the reader of one of a few words, in any case; `commands`: other words, each with the command to use."""

    def word(text: str) -> str:
        if text in commands:
            raise ValueError(f"{text!r} is written by a command of its own: use {commands[text]}")
        spelled = text.lower().replace("_", "-")
        found = next((each for each in words if each.lower().replace("_", "-") == spelled), None)
        if found is None:
            raise ValueError(f"unknown value {text!r}{did_you_mean(text, words)}: use one of {', '.join(words)}")
        return found

    return word


# ── what a shell is offered ─────────────────────────────────────────────────────────────────────────────────
def among(words: Sequence[str]) -> Callable[[str], list[str]]:
    """Return the function that completes one of a few words."""

    def complete(incomplete: str) -> list[str]:
        return [word for word in words if word.startswith(incomplete)]

    return complete


def machines(incomplete: str) -> list[str]:
    """Return the names of sources with this beginning; behind ``kind:``, those of the kind."""
    return _or_files(_names(incomplete), incomplete)


def listed(incomplete: str) -> list[str]:
    """Return the arguments of ``list`` with this beginning."""
    return _or_files(("machines", "circuits", "programs", "formulas", "automata", *_names(incomplete)), incomplete)


def specs(incomplete: str) -> list[str]:
    """Return the shipped specs with this beginning."""
    from tm2tfr.base.resources import SPECS, shipped

    return _or_files(shipped(SPECS), incomplete)


def models(incomplete: str) -> list[str]:
    """Return the models to train with this beginning, and folders."""
    from tm2tfr.lab.training.record import MODELS

    return _or_files(MODELS, incomplete)


def _names(incomplete: str) -> Iterable[str]:
    from tm2tfr.sources import names

    kind, colon, _ = incomplete.partition(":")
    if colon:
        return [f"{kind}:{name}" for name in names.of_kind(kind)] if kind in names.KINDS else ()
    return names.every()


def _or_files(known: Iterable[str], incomplete: str) -> list[str]:
    """Return the names with this beginning and the files of this folder; without a name none: the shell knows files."""
    names = [name for name in known if name.startswith(incomplete)]
    return list(dict.fromkeys([*names, *_files(incomplete)])) if names else []


def _files(beginning: str) -> list[str]:
    """Return the files of this folder with this beginning; hidden ones only if it is not empty."""
    try:
        names = sorted(os.listdir())
    except OSError:
        return []
    shown = [name for name in names if name.startswith(beginning) and (beginning or not name.startswith("."))]
    return [f"{name}/" if os.path.isdir(name) else name for name in shown]


# ── panels and words of the help ────────────────────────────────────────────────────────────────────────────
ENGINE_WORDS = (AUTO, *ENGINES)
REPORTS = ("text", "json")
ALL = "all"
"""The value of ``--explain`` when it is given without a layer."""
SOURCES, RUN, LONG_RUNS, UNIVERSAL, SLIDES = "Sources as text", "Running", "Long runs", "Universal decoder", "Slides"
PROBABILITIES = "Probabilities"
"""The panels of a command's help; an option without a panel is listed first, under "Options"."""

MACHINE_HELP = (
    "A machine, circuit, program, formula or automaton: the name of a shipped one (see 'tm2tfr list'), a file, weights "
    "(.safetensors), bbchallenge text such as 1RB1LB_1LA1RZ, or '-' for standard input"
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
    reader = one_of(of, commands or {})
    return option(help, *names, metavar=metavar or metavar_of(of), parser=reader, autocompletion=among(of), **kwargs)


def metavar_of(of: Sequence[str]) -> str:
    """Return the words of an option as its help lists them; with spaces if they need more than one line at 80 columns."""
    return f"<{('|' if sum(map(len, of)) + len(of) <= 25 else ' | ').join(of)}>"


def count(help: str, *names: str, least: int = 0, metavar: str = "N", **kwargs: Any) -> Any:
    """Return an option that takes a whole number."""
    return option(help, *names, metavar=metavar, parser=counted_from(least), **kwargs)


def number(help: str, *names: str, **kwargs: Any) -> Any:
    """Return an option that takes a number."""
    return option(help, *names, metavar="X", parser=real_number, **kwargs)


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
    choice(
        "How scores become attention weights: average-hard (default) or softmax.",
        "--attention",
        of=ATTENTIONS,
        metavar="KIND",
        panel=CONSTRUCTION,
    ),
]
TemperatureOption: TypeAlias = Annotated[
    str | None,
    option(
        "Divide the queries of softmax attention by τ, such as 2^-10, or by a rule: auto (default; the bound of each head, "
        "or Theorem 26), local, per-position, none, paper or theorem-26.",
        "--temperature",
        metavar="τ",
        panel=CONSTRUCTION,
    ),
]


ChangesOption: TypeAlias = Annotated[
    list[str] | None,
    option(
        "Change a weight before the run, such as 'layers.4.heads.0.query[h,1]=-1'; can be repeated. Layers count from 1, "
        "heads of a layer from 0; 'tm2tfr compile --explain' prints the names.",
        "--set",
        metavar="WEIGHT=VALUE",
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
class OutputGroup:
    """How the output layer is read."""

    probabilities: Annotated[
        bool,
        option("Show the probability of each token, by softmax of the logits, and of the runner-up.", panel=PROBABILITIES),
    ] = False
    sample: Annotated[
        bool,
        option("Draw each token by its probability, with --seed, instead of taking the best.", panel=PROBABILITIES),
    ] = False
    output_temperature: Annotated[
        float | None,
        number(
            "Divide the logits by X before softmax. Default: 1; near 0 the best token always wins.", panel=PROBABILITIES
        ),
    ] = None

    def sampling(self, parameters: Mapping[str, str], command: str) -> Sampling | None:
        """Return the sampling, None if no option asks for it.

        Args:
            parameters: those of the source, with ``seed``.
            command: the words of the command.

        Raises:
            UsageError: for an invalid seed, or a temperature alone.
            EngineError: for a temperature that is not a positive number.
        """
        if not self.sample and not self.probabilities:
            if self.output_temperature is not None:
                what = f"{command}: --output-temperature is for --probabilities and --sample"
                raise UsageError(f"{what}: add --probabilities or --sample, or omit it; attention has --temperature")
            return None
        seed = seed_number(parameters.get("seed", 0), command) if self.sample else None
        return Sampling(seed=seed, temperature=1.0 if self.output_temperature is None else self.output_temperature)


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
            "Write the rows to this .jsonl, .csv or .parquet file during the run; for many inputs, one line per run "
            "(.jsonl or .csv).",
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
            parser=seconds,
            panel=LONG_RUNS,
        ),
    ] = None
    resume: Annotated[Path | None, file("Resume the run from this checkpoint.", panel=LONG_RUNS)] = None
