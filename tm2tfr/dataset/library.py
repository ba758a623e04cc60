"""Where specs come from: a path, or the specs shipped with the package."""

from __future__ import annotations

from pathlib import Path

from tm2tfr import shelf
from tm2tfr.dataset.reader import read
from tm2tfr.dataset.spec import Spec


def shipped_specs() -> tuple[str, ...]:
    """Return the names of the shipped specs, sorted."""
    return shelf.shipped(shelf.SPECS)


def load_spec(where: str | Path) -> Spec:
    """Read a spec from a path, or a shipped one by its name; a file of that name takes precedence.

    Raises:
        NotFoundError: if there is no such file and no such shipped spec.
        ReadError: if it cannot be read.
        SpecError: with every error of the document.
    """
    name = str(where)
    if isinstance(where, str) and shelf.on_shelf(shelf.SPECS, name):
        return read(shelf.shipped_text(shelf.SPECS, name), file=f"{name}.yaml")
    return read(shelf.contents(shelf.SPECS, name), file=shelf.display(name), folder=Path(name).parent)
