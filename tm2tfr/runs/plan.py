"""The options of a run, as one value, from a command or the library to the engine; and the plan of a check."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tm2tfr.base.choices import AUTO
from tm2tfr.base.errors import EngineError, InputError, OutputError, UsageError, counted
from tm2tfr.runs.sampling import Sampling

if TYPE_CHECKING:
    from tm2tfr.contract.shown import PlainData
    from tm2tfr.engines.decode import Engine
    from tm2tfr.runs.comparison import Progress

MAX_STEPS = 10_000
"""The default limit on the steps of a run."""
EVERY = 60.0
"""The default number of seconds between two checkpoints."""


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """The options of a run.

    Args:
        engine: ``auto``, ``dense``, ``exact``, ``fast``, or an engine object; for ``auto`` see `tm2tfr.runs.choose`.
        dtype: ``float64`` (the default) or ``float32``, for ``dense``; an engine object has its own.
        max_steps: stop after this many steps of the machine, or gates of a circuit; None: run to the end. The default
            limits only runs that may not end: a run of known length is complete.
        keep_rows: keep the rows in the trace; the fast engine keeps none if the run is recorded in files.
        checkpoint: write the state of the run to this file every `checkpoint_every` seconds (with the fast engine),
            by default every 60.
        resume: resume the run from this checkpoint.
        out: write the rows to this .jsonl, .csv or .parquet file as they come.
        sampling: show probabilities of tokens, and draw tokens if it has a seed; None: neither.
        progress: called from time to time with the numbers of positions and of machine steps done.
        stop: called between two blocks of positions; if it returns True, the run is saved and raises `Interrupted`.

    Raises:
        EngineError: for an invalid limit or time, a dtype beside an engine object, or any other invalid value.
        OutputError: for a file that is not a path.
    """

    engine: str | Engine = AUTO
    dtype: str | None = None
    max_steps: int | None = MAX_STEPS
    keep_rows: bool = True
    checkpoint: Path | None = None
    checkpoint_every: float | None = None
    resume: Path | None = None
    out: Path | None = None
    sampling: Sampling | None = None
    progress: Progress | None = None
    stop: Callable[[], bool] | None = None

    def __post_init__(self) -> None:
        check_engine(self.engine, self.dtype)
        check_steps(self.max_steps)
        if not isinstance(self.keep_rows, bool):
            raise EngineError(f"keep_rows must be True or False, not {self.keep_rows!r}")
        for name in ("progress", "stop"):
            if (found := getattr(self, name)) is not None and not callable(found):
                raise EngineError(f"{name} must be a function, not {found!r}: omit it, or pass one")
        _check_seconds(self.checkpoint_every, self.saved)
        for name in ("checkpoint", "resume", "out"):
            object.__setattr__(self, name, path(getattr(self, name), name))
        if self.sampling is not None and not isinstance(self.sampling, Sampling):
            raise EngineError(f"sampling must be a Sampling, not {self.sampling!r}: use tm2tfr.Sampling(seed=0)")
        if self.sampling is not None and self.recorded:
            what = "a run that is recorded in files has no probabilities, and draws no tokens"
            raise EngineError(f"{what}: omit sampling, or write its table with tm2tfr table --format json")

    @property
    def saved(self) -> bool:
        """Whether the run is saved or resumed."""
        return self.checkpoint is not None or self.resume is not None

    @property
    def every(self) -> float:
        """The number of seconds between two checkpoints."""
        return EVERY if self.checkpoint_every is None else self.checkpoint_every

    @property
    def recorded(self) -> bool:
        """Whether the run writes a file."""
        return self.saved or self.out is not None


def check_engine(engine: object, dtype: object) -> None:
    """Raise EngineError unless `engine` is a name or an engine, and `dtype` a name, which an engine object excludes."""
    if not isinstance(engine, str) and (isinstance(engine, type) or not hasattr(engine, "start")):
        raise EngineError(f"{engine!r} is not an engine: use auto, dense, exact or fast, or an engine object")
    if dtype is not None and (not isinstance(dtype, str) or not dtype):
        raise EngineError(f"{dtype!r} is not the name of a dtype: use 'float64' or 'float32'")
    if dtype is not None and not isinstance(engine, str):
        what = (
            f"the engine {getattr(engine, 'name', engine)} already computes in {getattr(engine, 'dtype', 'its own dtype')}"
        )
        raise EngineError(f"{what}: omit dtype, or name the engine: engine='dense', dtype={dtype!r}")


def _check_seconds(every: object, saved: bool) -> None:
    if every is None:
        return
    if isinstance(every, bool) or not isinstance(every, int | float) or not 0 <= every < inf:
        raise EngineError(f"checkpoint_every must be a number of seconds, not {every!r}: use 0 or more, for example 60")
    if not saved:
        raise EngineError("checkpoint_every only applies to a run with a checkpoint: add checkpoint or resume, or omit it")


def check_steps(max_steps: object) -> None:
    """Raise EngineError unless `max_steps` is a limit on the steps of a run, or None."""
    if max_steps is None or is_count(max_steps):
        return
    raise EngineError(f"max_steps must be a whole number of steps, not {max_steps!r}: use for example 10_000, or None")


def as_list(inputs: object) -> str:
    """Return the advice on how to write a value as a list of words."""
    return f"write {[inputs]!r}" if isinstance(inputs, str) else "write words as text in a list"


def is_count(number: object, least: int = 0) -> bool:
    """Return whether `number` is a whole number from `least` on."""
    return isinstance(number, int) and not isinstance(number, bool) and number >= least


def path(name: object, what: str) -> Path | None:
    """Return the name of a file as a path.

    Raises:
        OutputError: if it is neither text nor a path.
    """
    if name is None:
        return None
    if isinstance(name, str | Path) and "\0" not in str(name):
        return Path(name)
    raise OutputError(f"{what} must be the name of a file, not {name!r}: use text or a pathlib.Path")


def needed_path(name: object, what: str) -> Path:
    """Return the required name of a file or folder as a path.

    Raises:
        OutputError: if it is neither text nor a path.
    """
    found = path(name, what)
    if found is None:
        raise OutputError(f"{what} must be the name of a file, not None: use text or a pathlib.Path")
    return found


# ── a check: which inputs, how they are run, and what it says ─────────────────────────────────────────────────
class Soft(NamedTuple):
    """The attention of a run; by default that of the weights.

    Args:
        attention: ``average-hard`` or ``softmax``.
        temperature: with softmax, τ as text, such as ``2^-10``, or a word, see `tm2tfr.soften`.
    """

    attention: str | None = None
    temperature: str | None = None


HARD = Soft()


@dataclass(frozen=True, kw_only=True)
class Plan(RunOptions):
    """The inputs of a check, and the options of their runs, as for the command ``tm2tfr check``.

    By default a check runs the author's examples. A circuit without examples runs on all inputs, or on 100 random ones if
    it has more than 2^10. A program or a formula also runs on all inputs up to the greatest length at which there are at
    most 20,000, and on 200 longer ones. A machine without examples runs on its own input.

    Args:
        inputs: inputs to run, as people write them.
        every: run all inputs of a circuit, at most 2^20.
        all_up_to: run all inputs of at most this many tokens; the report counts verdicts and lists accepted inputs.
        random, seed: the number of random inputs, and their seed, by default 0.
        out: with `every`, `all_up_to` or `random`, write one line per run to this .jsonl or .csv file.
        soft: soft attention for these runs, a `Soft`.
        max_steps: the most steps of each run; None: 10,000, or the limit of an example.

    The other options of each run, such as its engine, are those of `RunOptions`.

    Raises:
        UsageError: for inputs that cannot be combined, and invalid numbers of inputs.
        InputError: for inputs that are not a list of words.
        EngineError, OutputError: see `RunOptions`.
    """

    inputs: tuple[str, ...] = ()
    every: bool = False
    all_up_to: int | None = None
    random: int | None = None
    seed: int | None = None
    soft: Soft = HARD
    max_steps: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.sampling is not None:
            raise UsageError(
                "a plan checks, and a sampled run is not a check: use tm2tfr.check(subject, word, sampling=...)"
            )
        if isinstance(self.inputs, str) or not isinstance(self.inputs, Iterable):
            raise InputError(f"inputs must be a list of words, not {self.inputs!r}: {as_list(self.inputs)}")
        object.__setattr__(self, "inputs", tuple(self.inputs))
        if not isinstance(self.soft, tuple) or len(self.soft) != len(HARD):
            raise UsageError(f"soft must be a Soft, not {self.soft!r}: use tm2tfr.Soft('softmax')")
        object.__setattr__(self, "soft", Soft(*self.soft))
        asked = {"--all": self.every or None, "--random": self.random, "--all-up-to": self.all_up_to}
        given = [name for name, value in asked.items() if value is not None]
        if self.inputs and given:
            raise UsageError(f"tm2tfr check: {given[0]} and --input cannot be combined: omit one of them")
        if self.every and len(given) > 1:
            raise UsageError(f"tm2tfr check: --all and {given[1]} cannot be combined: omit one of them")
        for name, value in {"--random": self.random, "--all-up-to": self.all_up_to}.items():
            if value is not None and not is_count(value, 1):
                raise UsageError(f"tm2tfr check: {name} cannot be {value!r}: use a whole number from 1 on")
        if self.seed is not None and self.random is None:
            raise UsageError("tm2tfr check: --seed is for random inputs: add --random, or omit it")
        if self.seed is not None and not is_count(self.seed):
            raise UsageError(f"tm2tfr check: the seed cannot be {self.seed!r}: use a whole number from 0 on")

    @property
    def drawn(self) -> int:
        """The seed of the random inputs."""
        return self.seed or 0

    @property
    def by_default(self) -> bool:
        """Whether the plan names no inputs."""
        return not self.inputs and not self.every and self.all_up_to is None and self.random is None


class Finding(NamedTuple):
    """One finding of a check.

    Args:
        text: one line or several, for people; empty: none.
        data: returns the finding as plain data, which may take a proof; None: no data.
        good: whether the result is right; None: no judgement.
        note: whether it is a note or a warning, for standard error.
    """

    text: str = ""
    data: Callable[[], PlainData] | None = None
    good: bool | None = None
    note: bool = False


@dataclass(frozen=True, repr=False)
class CheckReport:
    """The findings of a check.

    Args:
        said: the findings, in order.
    """

    said: tuple[Finding, ...]

    @property
    def passed(self) -> bool:
        """Whether all compared cells agree."""
        return all(each.good is not False for each in self.said)

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes and warnings beside the findings."""
        return tuple(each.text for each in self.said if each.note)

    def as_dicts(self) -> list[PlainData]:
        """Return the findings as plain data: one object per run, or one per batch of runs."""
        return [dict(each.data()) for each in self.said if each.data is not None]

    def __repr__(self) -> str:
        """Return whether it passed, and its number of lines."""
        return f"<CheckReport: {'passed' if self.passed else 'FAILED'}, {counted(len(str(self).splitlines()), 'line')}>"

    def __str__(self) -> str:
        """Return the findings as lines."""
        return "\n".join(each.text for each in self.said if each.text and not each.note)


class Shown(NamedTuple):
    """The callbacks of a run: `progress` shows its progress, `stop` returns whether to save and end it."""

    progress: Progress | None = None
    stop: Callable[[], bool] | None = None


class Watcher:
    """Receives progress and findings, and ignores them. The command line has one that shows them on a terminal."""

    @contextmanager
    def run(self, max_steps: int | None, *, steady: bool) -> Iterator[Shown]:
        """Yield the callbacks of one run; `max_steps` is its limit, and `steady`: every step takes the same time."""
        yield Shown()

    @contextmanager
    def inputs(self) -> Iterator[Progress | None]:
        """Yield a callback for the numbers of inputs done, and of all."""
        yield None

    def hear(self, said: Finding) -> None:
        """Take a finding as soon as it is known; the warning that a run will be slow comes before the run."""


NOBODY = Watcher()
