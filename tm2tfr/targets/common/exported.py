"""A finished export: where it is, and how it ran before it got its name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tm2tfr.targets.common.comparison import ComparedRun, Model, Right, told, tried


@dataclass(frozen=True, kw_only=True)
class Exported:
    """A finished export, and how it ran: `runs` and `versions` are empty if it was not verified."""

    folder: Path
    runs: tuple[ComparedRun, ...]
    versions: str

    @property
    def facts(self) -> tuple[str, ...]:
        """The size of the model, and what is guaranteed, in words."""
        raise NotImplementedError

    def __str__(self) -> str:
        """Return it in a few lines."""
        return "\n".join([*self.facts, told(self.runs, self.versions), f"wrote {self.folder}"])


@dataclass
class Rehearsal:
    """Loads a directory that is not yet in its place, and compares its runs with the right ones.

    Args:
        load: returns the model in a directory, run by the program that it is for.
        vocabulary: its tokens; truth: what says which of them are right.
        positions: the longest run.
        closer: raises ExportError if the model is not right in some other way.
        runs, versions: how it ran; empty until then.
    """

    load: Callable[[Path], Model]
    vocabulary: Sequence[str]
    truth: Right
    positions: int
    closer: Callable[[Model, ComparedRun], object] = lambda _model, _run: None
    runs: tuple[ComparedRun, ...] = field(default=(), init=False)
    versions: str = field(default="", init=False)

    def __call__(self, folder: Path) -> None:
        """Load and run what is in `folder`.

        Raises:
            ExportError: if a run is not right.
        """
        model = self.load(folder)
        self.runs, self.versions = tried(model, self.vocabulary, self.truth, self.positions), model.versions
        for run in self.runs:
            self.closer(model, run)
