"""Where machines come from: a path, standard input, or the machines shipped with the package."""

from __future__ import annotations

import sys
import warnings
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from itertools import islice
from pathlib import Path

from tm2tfr.errors import NotFoundError, ReadError, SpecWarning, did_you_mean
from tm2tfr.machine.formats import bbchallenge, registry
from tm2tfr.machine.formats.loaded import Loaded
from tm2tfr.machine.spec import Machine
from tm2tfr.text.source import MAX_BYTES

STDIN = "-"


@cache
def shelf(kind: str = "machines") -> dict[str, Traversable]:
    """Return the shipped files of a kind by name: inside the package if it is installed, beside it in a checkout."""
    package = files("tm2tfr")
    folder: Traversable = package / f"_{kind}"
    if not folder.is_dir():
        folder = Path(str(package)).parent / kind
    found = (f for f in folder.iterdir() if f.name.endswith(".yaml")) if folder.is_dir() else ()
    return {f.name.removesuffix(".yaml"): f for f in sorted(found, key=lambda f: f.name.removesuffix(".yaml"))}


def shipped() -> tuple[str, ...]:
    """Return the names of the shipped machines, sorted."""
    return tuple(shelf())


def shipped_text(name: str) -> str:
    """Return the YAML of a shipped machine.

    Raises:
        NotFoundError: if there is no machine of that name.
    """
    if name not in shelf():
        raise NotFoundError(
            f"{name!r}: no machine of this name is shipped{did_you_mean(name, shipped())}: 'tm2tfr machines' lists them"
        )
    return shelf()[name].read_text(encoding="utf-8")


def load(where: str | Path, *, format: str | None = None) -> Machine:
    """Load a machine from a path, from standard input (``-``), or a shipped one by its name.

    A name without a suffix or a slash means a file in the current folder if there is one. A name that is neither and
    looks like bbchallenge text, ``1RB1LB_1LA1RZ``, is read as such. The format of a file is determined by its extension
    or, failing that, its contents, unless `format` names it (`tm2tfr.machine.formats.registry`). Anything that the
    author of the machine may not have meant is issued as a `SpecWarning`.

    Raises:
        NotFoundError: if there is no such file and no such shipped machine.
        ReadError: if it cannot be read.
        ConversionError: if no such format is read.
        SpecError: with every error of the document.
    """
    loaded = load_with_warnings(where, format=format)
    for warning in loaded.warnings:
        warnings.warn(str(warning), SpecWarning, stacklevel=2)
    return loaded.machine


def load_with_warnings(where: str | Path, *, format: str | None = None) -> Loaded:
    """Load a machine as `load` does, but return the warnings with it instead of issuing them.

    Raises:
        NotFoundError, ReadError, ConversionError, SpecError: as for `load`.
    """
    if isinstance(where, str) and where in shelf() and not Path(where).is_file():
        return registry.read(shipped_text(where), file=shelf()[where].name, format=format or "yaml")
    if where == STDIN:
        return registry.read(_standard_input(), file="<stdin>", format=format)
    name = str(where)
    text = format in (None, "bbchallenge") and isinstance(where, str) and bbchallenge.is_argument(name)
    if text and not Path(name).exists():
        return registry.read(name, file=name, format="bbchallenge")
    shown = name if name and name.isprintable() else repr(name)
    return registry.read(_contents(name, shown), file=shown, format=format)


def _standard_input() -> bytes:
    if sys.stdin is None:
        raise ReadError("<stdin>: standard input is closed: name a file")
    try:
        return sys.stdin.buffer.read(MAX_BYTES + 1)
    except OSError as error:
        raise ReadError(f"<stdin>: standard input cannot be read ({error.strerror}): name a file") from None


def _contents(name: str, shown: str) -> bytes:
    """Read only enough of a file to tell whether it is too large: it may be endless."""
    try:
        with Path(name).open("rb") as stream:
            return stream.read(MAX_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        raise NotFoundError(f"{shown}: {_not_found(name)}") from None
    except IsADirectoryError:
        raise ReadError(f"{shown}: this is a folder: name a file in it{_first_in(name)}") from None
    except PermissionError:
        raise ReadError(f"{shown}: no permission to read this file: change its permissions, or name another file") from None
    except OSError as error:
        raise ReadError(f"{shown}: cannot be read ({error.strerror}): name another file") from None
    except ValueError:  # a NUL, or half a surrogate pair
        raise NotFoundError(f"{shown}: no file can have this name: remove the invalid characters") from None


def _not_found(name: str) -> str:
    """Return what is missing, what may be meant (a shipped machine, a file in that folder), and what to do."""
    path = Path(name)
    is_path = bool(path.suffix) or path.name != name
    close = did_you_mean(path.name, _names_in(path.parent)) if is_path else ""
    close = close or did_you_mean(path.stem, shipped())
    close = close or (f" (did you mean {path.stem!r}?)" if path.stem in shipped() else "")
    missing = "there is no such file" if path.parent.is_dir() else f"there is no folder {str(path.parent)!r}"
    unknown = "" if is_path else ", and no machine of that name is shipped"
    return f"{missing}{unknown}{close}: name a file, or a machine that 'tm2tfr machines' lists"


def _names_in(folder: Path) -> list[str]:
    try:
        return [entry.name for entry in islice(folder.iterdir(), 1000)]
    except OSError:
        return []


def _first_in(folder: str) -> str:
    machines = sorted(name for name in _names_in(Path(folder)) if name.endswith((".yaml", ".yml", ".jff", ".tm")))
    return f", for example {str(Path(folder, machines[0]))!r}" if machines else ""
