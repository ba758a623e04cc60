"""Where specs come from: a path, or the shelf of specs that is shipped with the package."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from tm2tfr.dataset.reader import read
from tm2tfr.dataset.spec import Spec
from tm2tfr.errors import NotFoundError, ReadError, did_you_mean


@cache
def _shelf() -> dict[str, Traversable]:
    """The shipped specs: within the package if it is installed, beside it in a checkout."""
    package = files("tm2tfr")
    folder: Traversable = package / "_specs"
    if not folder.is_dir():
        folder = Path(str(package)).parent / "specs"
    found = (f for f in folder.iterdir() if f.name.endswith(".yaml")) if folder.is_dir() else ()
    return {f.name.removesuffix(".yaml"): f for f in sorted(found, key=lambda f: f.name)}


def shipped_specs() -> tuple[str, ...]:
    """Return the names of the shipped specs, sorted."""
    return tuple(_shelf())


def load_spec(where: str | Path) -> Spec:
    """Read a spec from a path, or a shipped one by its name; a file of that name goes first.

    Raises:
        NotFoundError: if there is no such file and no such shipped spec.
        ReadError: if it cannot be read.
        SpecError: with every error of the document.
    """
    path, name = Path(where), str(where)
    if name in _shelf() and not path.is_file():
        return read(_shelf()[name].read_bytes(), file=_shelf()[name].name)
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        what = f"{name}: there is no such file, and no such spec is shipped{did_you_mean(name, _shelf())}"
        raise NotFoundError(f"{what}: shipped are {', '.join(_shelf())}") from None
    except (OSError, ValueError) as error:
        raise ReadError(f"{name}: this file cannot be read ({error}): choose another one") from None
    return read(text, file=name, folder=path.parent)
