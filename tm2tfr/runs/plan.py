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
        max_steps: stop after this many steps of the machine, or gates of a circuit; None: run to the end. The default is
            for runs that may have no end: one whose length is known runs to it.
        keep_rows: keep the rows in the trace; the fast engine keeps none of a run that is recorded in files.
        checkpoint: write the state of the run to this file every `checkpoint_every` seconds (with the fast engine),
            by default every 60.
        resume: resume the run from this checkpoint.
        out: write the rows to this .jsonl, .csv or .parquet file as they come.
        sampling: show probabilities of tokens, and draw them if it has a seed; None: neither.
        progress: called from time to time with the number of positions done and of the machine's steps.
        stop: asked between two blocks of positions whether to save the run and raise `Interrupted`.

    Raises:
        EngineError: for a limit that is not a number of steps, a time that is not one of seconds, a dtype beside an engine,
            and for any other value of the wrong type.
        OutputError: for a file that is not given by its name.
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
        """Whether the run leaves anything in a file."""
        return self.saved or self.out is not None


def check_engine(engine: object, dtype: object) -> None:
    """Raise EngineError unless `engine` is a name or an engine, and `dtype` a name that is not given beside an engine."""
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
    """Return how what is not a list of words is written as one."""
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
    """Return the name of a file or folder that has to be given, as a path.

    Raises:
        OutputError: if it is neither text nor a path.
    """
    found = path(name, what)
    if found is None:
        raise OutputError(f"{what} must be the name of a file, not None: use text or a pathlib.Path")
    return found


# ── a check: which inputs, how they are run, and what it says ─────────────────────────────────────────────────
class Soft(NamedTuple):
    """Soft attention, as it is asked for; by default what the weights have.

    Args:
        attention: ``average-hard`` or ``softmax``.
        temperature: with softmax, τ as text, such as ``2^-10``, or a word, see `tm2tfr.soften`.
    """

    attention: str | None = None
    temperature: str | None = None


HARD = Soft()


@dataclass(frozen=True, kw_only=True)
class Plan(RunOptions):
    """Which inputs a check goes through, and how they are run: what ``tm2tfr check`` is asked for.

    Without any inputs these are the examples of the author; of a circuit without examples all inputs, or 100 random ones if
    there are more than 2^10; of a program or a formula its examples, all inputs of up to the most tokens at which there
    are at most 20,000, and 200 longer ones; of a machine without examples its own input.

    Args:
        inputs: these, as people write them.
        every: all inputs of a circuit, at most 2^20.
        all_up_to: all inputs of at most this many tokens.
        random: the number of random inputs; seed: theirs, by default 0.
        soft: soft attention for these runs, a `Soft`.
        max_steps: of each run; None: 10,000, or the limit of an example.

    What else is said of each run, such as its engine, are fields of `RunOptions`.

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
        """The seed of random inputs."""
        return self.seed or 0

    @property
    def by_default(self) -> bool:
        """Whether no inputs are asked for."""
        return not self.inputs and not self.every and self.all_up_to is None and self.random is None


class Finding(NamedTuple):
    """One thing that a check says.

    Args:
        text: for people, one line or several; empty: nothing.
        data: returns it as plain data, which may take a proof; None: there is none.
        good: whether it is right; None: it judges nothing.
        note: whether it is beside the result, on standard error: notes and warnings.
    """

    text: str = ""
    data: Callable[[], PlainData] | None = None
    good: bool | None = None
    note: bool = False


@dataclass(frozen=True, repr=False)
class CheckReport:
    """What a check found.

    Args:
        said: everything, in order.
    """

    said: tuple[Finding, ...]

    @property
    def passed(self) -> bool:
        """Whether everything that was compared is right."""
        return all(each.good is not False for each in self.said)

    @property
    def notes(self) -> tuple[str, ...]:
        """What is to be said beside it: notes and warnings."""
        return tuple(each.text for each in self.said if each.note)

    def as_dicts(self) -> list[PlainData]:
        """Return it as plain data: one object for each run, or for many of them together."""
        return [dict(each.data()) for each in self.said if each.data is not None]

    def __repr__(self) -> str:
        """Return whether it passed, and how many lines it has."""
        return f"<CheckReport: {'passed' if self.passed else 'FAILED'}, {counted(len(str(self).splitlines()), 'line')}>"

    def __str__(self) -> str:
        """Return it in lines."""
        return "\n".join(each.text for each in self.said if each.text and not each.note)


class Shown(NamedTuple):
    """What a run gets: `progress` shows how far it is, `stop` says whether it is to be saved and ended."""

    progress: Progress | None = None
    stop: Callable[[], bool] | None = None


class Watcher:
    """Who is shown how far a long run is, and hears what a check says: nobody. A command line shows it on a terminal."""

    @contextmanager
    def run(self, max_steps: int | None, *, steady: bool) -> Iterator[Shown]:
        """Yield what one run shows and hears; `max_steps` is its limit, and `steady`: every step takes the same time."""
        yield Shown()

    @contextmanager
    def inputs(self) -> Iterator[Progress | None]:
        """Yield what shows how many inputs are done, and of how many."""
        yield None

    def hear(self, said: Finding) -> None:
        """Take what a check says, as soon as it is known; that a run will be slow is said before it as well."""


NOBODY = Watcher()
