"""What a check goes through: which inputs, and how they are run; and what it says while it does."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from tm2tfr.base.errors import InputError, UsageError, counted
from tm2tfr.runs.options import RunOptions, is_count

if TYPE_CHECKING:
    from tm2tfr.runs.comparison import Progress


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
        all_up_to: all inputs of up to so many tokens.
        random: so many random ones; seed: theirs, by default 0.
        soft: soft attention for these runs, a `Soft`.
        max_steps: of each run; None: 10,000, or the limit of an example.

    What else is said of each run, such as its engine, are fields of `RunOptions`.

    Raises:
        UsageError: for inputs that cannot be combined, and numbers that are none of inputs.
        InputError: for inputs that are no list of words.
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
        if isinstance(self.inputs, str) or not isinstance(self.inputs, Iterable):
            raise InputError(f"inputs must be a list of words, not {self.inputs!r}: write for example ['11', '1']")
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
            raise UsageError("tm2tfr check: --seed is that of random inputs: add --random, or omit it")
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


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One thing that a check says.

    Args:
        text: for people, one line or several; empty: nothing.
        data: returns it as plain data, which may take a proof; None: there is none.
        good: whether it is right; None: it judges nothing.
        note: whether it is beside the result, on standard error: notes and warnings.
    """

    text: str = ""
    data: Callable[[], Mapping[str, Any]] | None = None
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

    def as_dicts(self) -> list[dict[str, Any]]:
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
    def run(self, max_steps: int | None) -> Iterator[Shown]:
        """Yield what one run shows and hears; `max_steps` is its limit."""
        yield Shown()

    @contextmanager
    def inputs(self) -> Iterator[Progress | None]:
        """Yield what shows how many inputs are done, and of how many."""
        yield None

    def hear(self, said: Finding) -> None:
        """Take what a check says, as soon as it is known."""


NOBODY = Watcher()
