"""Where specs come from: a path, or the specs shipped with the package."""

from __future__ import annotations

from pathlib import Path

from tm2tfr.dataset.reader import read
from tm2tfr.dataset.spec import Spec
from tm2tfr.errors import NotFoundError, ReadError, did_you_mean
from tm2tfr.machine.library import shelf


def shipped_specs() -> tuple[str, ...]:
    """Return the names of the shipped specs, sorted."""
    return tuple(shelf("specs"))


def load_spec(where: str | Path) -> Spec:
    """Read a spec from a path, or a shipped one by its name; a file of that name takes precedence.

    Raises:
        NotFoundError: if there is no such file and no such shipped spec.
        ReadError: if it cannot be read.
        SpecError: with every error of the document.
    """
    path, name, specs = Path(where), str(where), shelf("specs")
    if name in specs and not path.is_file():
        return read(specs[name].read_bytes(), file=specs[name].name)
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        what = f"{name}: there is no such file, and no spec of that name is shipped{did_you_mean(name, specs)}"
        raise NotFoundError(f"{what}: name a file, or one of the shipped specs: {', '.join(specs)}") from None
    except (OSError, ValueError) as error:
        raise ReadError(f"{name}: cannot be read ({error}): name another file") from None
    return read(text, file=name, folder=path.parent)
