"""A finished export: where it is, and how it ran before it got its name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tm2tfr.base.errors import ExportError
from tm2tfr.contract.exported import ExportReference
from tm2tfr.targets.common.comparison import ComparedRun, Model, told, tried
from tm2tfr.targets.common.directory import written
from tm2tfr.targets.common.settings import Array
from tm2tfr.targets.common.verdict import cause


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
        vocabulary: its tokens; right: what they are compared with.
        positions: the longest run.
        read: from the model's stream, (its width,), to the values of the decoder's directions; None: they are not compared.
        runs, versions: how it ran; empty until then.
    """

    load: Callable[[Path], Model]
    vocabulary: Sequence[str]
    right: ExportReference
    positions: int
    read: Callable[[Array], Array] | None = None
    runs: tuple[ComparedRun, ...] = field(default=(), init=False)
    versions: str = field(default="", init=False)

    def __call__(self, folder: Path) -> None:
        """Load and run what is in `folder`.

        Raises:
            ExportError: if a run is not right, or the stream.
        """
        model = self.load(folder)
        self.runs, self.versions = tried(model, self.vocabulary, self.right, self.positions), model.versions
        for run in self.runs:
            if self.read is not None and (wrong := cause(model, self.right.decoder, run, self.read)):
                raise ExportError(f"on {run.given} in {model.versions} {wrong}: nothing was written")

    def written(self, folder: str | Path, files: Mapping[str, str | bytes], *, verify: bool) -> dict[str, Any]:
        """Write an export, after a rehearsal if it is to be verified, and return the fields of `Exported`.

        Raises:
            ExportError: if it is not right.
            OutputError: see `tm2tfr.targets.common.directory.written`.
        """
        place = written(folder, files, look=self if verify else None)
        return {"folder": place, "runs": self.runs, "versions": self.versions}
