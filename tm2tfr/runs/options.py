"""What is asked of a run, as one value: from the command line, or a function of the library, to the engine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING

from tm2tfr.base.choices import AUTO
from tm2tfr.base.errors import EngineError, OutputError

if TYPE_CHECKING:
    from tm2tfr.engines.decode import Engine
    from tm2tfr.runs.comparison import Progress

MAX_STEPS = 10_000
"""The default limit on the steps of a run."""
EVERY = 60.0
"""The default number of seconds between two checkpoints."""


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """What is asked of a run.

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
        progress: called from time to time with the number of positions done and of the machine's steps.
        stop: asked between two blocks of positions whether to save the run and raise `Interrupted`.

    Raises:
        EngineError: for a limit that is not a number of steps, a time that is not one of seconds, a dtype beside an engine,
            and for anything else that is not what is said above.
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
