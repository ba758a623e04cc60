"""What a job is made into: pure functions from a job to its result, for any worker anywhere."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from tm2tfr.lab.datasets.files import ExampleColumns, columns_of, encoded
from tm2tfr.lab.datasets.jobs import Job, Splitting, Tokens
from tm2tfr.lab.datasets.runs import Failure, How, versions
from tm2tfr.lab.datasets.tally import Tally

SplitExamples = tuple[str, ExampleColumns, Mapping[str, int]]
"""A split that has examples: its name, its examples, and the number of each form."""
_Run = TypeVar("_Run")
_How = TypeVar("_How", bound=How)


@dataclass(frozen=True)
class Making(Generic[_How]):
    """How runs become files; see `tm2tfr.lab.datasets.spec.DatasetSpec`."""

    how: _How
    columns: tuple[str, ...]
    forms: tuple[str, ...]
    keep_unfinished: bool
    splitting: Splitting
    formats: tuple[str, ...]

    def by_split(self, rows: Mapping[str, Sequence[tuple[Any, ...]]]) -> Iterator[SplitExamples]:
        """Yield the splits that have examples; rows: of each split, its examples, whose third entry is their form."""
        for split, some in rows.items():
            if some:
                yield (
                    split,
                    columns_of(some, self.columns),
                    {form: sum(row[2] == form for row in some) for form in self.forms},
                )


@dataclass
class Done:
    """The result of a job.

    Args:
        failure: the first run that differs from the reference's; then there are no files.
        versions: those of the worker's software.
        files: (split, format) -> the bytes of the file.
        examples: (split, form) -> their number.
        left_out: the number of runs that are not examples because they did not end, or are undefined.
    """

    number: int
    tally: Tally
    failure: Failure | None = None
    versions: dict[str, str] = field(default_factory=dict)
    files: dict[tuple[str, str], bytes] = field(default_factory=dict)
    examples: Counter[tuple[str, str]] = field(default_factory=Counter)
    left_out: int = 0

    @classmethod
    def of(cls, job: Job) -> Done:
        """Return the result of a job that has just begun."""
        return cls(job.number, Tally(), versions=versions())

    def agreeing(self, runs: Iterable[_Run | Failure]) -> Iterator[_Run]:
        """Yield the runs before the first that fails, and keep that one."""
        for run in runs:
            if isinstance(run, Failure):
                self.failure = run
                return
            yield run

    def write(self, splits: Iterable[SplitExamples], tokens: Tokens, formats: Iterable[str]) -> None:
        """Add the files of all splits, unless a run has failed."""
        for split, columns, numbers in splits if self.failure is None else ():
            self.examples.update({(split, form): number for form, number in numbers.items()})
            for format in formats:
                self.files[split, format] = encoded(columns, tokens, format)


def swept(checked: Callable[[Job, _How, Tally], Iterator[object]], job: Job, how: _How) -> Done:
    """Check the runs of a job up to the first that fails; checked: yields its runs, counting those that agree."""
    done = Done.of(job)
    with _no_search_for_cycles():
        for _ in done.agreeing(checked(job, how, done.tally)):
            pass
    return done


@contextmanager
def _no_search_for_cycles() -> Iterator[None]:
    """Leave Python's search for cyclic garbage for later: it looks at everything again and again, and there is little."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()
