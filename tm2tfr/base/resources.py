"""Shipped files by kind, and files read by name, with the errors for those that do not exist."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from tm2tfr.base.errors import NotFoundError, ReadError, a_or_an, did_you_mean
from tm2tfr.base.text.source import MACHINE_BYTES, MAX_BYTES


class ResourceKind(NamedTuple):
    """A kind of shipped file.

    Args:
        folder: where its files are, beside the package in a checkout, with an underscore inside an installed one.
        noun: what one of them is called.
        endings: those of its files, the one of the shipped files first.
        command: the command that lists them, if there is one.
        most: the size of the largest file, in bytes.
    """

    folder: str
    noun: str
    endings: tuple[str, ...] = (".yaml", ".yml")
    command: str = ""
    most: int = MAX_BYTES


MACHINES = ResourceKind("machines", "machine", (".yaml", ".yml", ".jff", ".tm"), "tm2tfr list machines", most=MACHINE_BYTES)
SPECS = ResourceKind("specs", "spec")
PROGRAMS = ResourceKind("programs", "program", (".rasp",), "tm2tfr list programs")
FORMULAS = ResourceKind("formulas", "formula", (".tl",), "tm2tfr list formulas")
ATTENTION_PROGRAMS = ResourceKind("programs", "program", (".srasp",), "tm2tfr list formulas")
AUTOMATA = ResourceKind("automata", "automaton", (".jff", ".yaml", ".yml", ".regex"), "tm2tfr list automata")


@cache
def files_of(kind: ResourceKind) -> Mapping[str, Path]:
    """Return the shipped files of a kind by name, sorted."""
    package = Path(__file__).parent.parent  # not importlib.resources, whose imports take longer than what is done with it
    folder = package / f"_{kind.folder}"
    if not folder.is_dir():
        folder = package.parent / kind.folder
    ending = kind.endings[0]
    found = (f for f in folder.iterdir() if f.name.endswith(ending)) if folder.is_dir() else ()
    return dict(sorted((f.name.removesuffix(ending), f) for f in found))


def shipped(kind: ResourceKind) -> tuple[str, ...]:
    """Return the names of the shipped files of a kind, sorted."""
    return tuple(files_of(kind))


def shipped_text(kind: ResourceKind, name: str) -> str:
    """Return the text of a shipped file.

    Raises:
        NotFoundError: if none of that name is shipped.
    """
    if name not in files_of(kind):
        what = f"{name!r}: no {kind.noun} of this name is shipped{did_you_mean(name, shipped(kind))}"
        raise NotFoundError(f"{what}: name {_known(kind)}")
    return files_of(kind)[name].read_text(encoding="utf-8")


def is_file(name: str | Path) -> bool:
    """Return whether there is a file of this name; of one that is too long for a file there is none."""
    try:
        return Path(name).is_file()
    except OSError:
        return False


def is_shipped(kind: ResourceKind, name: str) -> bool:
    """Return whether `name`, given by a user, is that of a shipped file; a file of the same name wins."""
    return name in files_of(kind) and not is_file(name)


def display(name: str) -> str:
    """Return the name of a file as complaints about it name it."""
    return name if name and name.isprintable() else repr(name)


def contents(kind: ResourceKind, name: str) -> bytes:
    """Return the contents of the file called `name`: no more than it takes to see that it is too large.

    Raises:
        NotFoundError: if the file does not exist; the message suggests a file in that folder, or a shipped one.
        ReadError: if it cannot be read.
    """
    shown = display(name)
    try:
        with Path(name).open("rb") as stream:
            return stream.read(kind.most + 1)
    except (FileNotFoundError, NotADirectoryError):
        raise NotFoundError(f"{shown}: {_not_found(kind, name)}") from None
    except IsADirectoryError:
        raise ReadError(f"{shown}: this is a folder: name a file in it{_first_in(kind, name)}") from None
    except PermissionError:
        raise ReadError(f"{shown}: no permission to read this file: change its permissions, or name another file") from None
    except OSError as error:
        raise ReadError(f"{shown}: cannot be read ({error.strerror}): name another file") from None
    except ValueError:  # a NUL, or half a surrogate pair
        raise NotFoundError(f"{shown}: no file can have this name: remove the invalid characters") from None


def _not_found(kind: ResourceKind, name: str) -> str:
    """Return the message for a missing file or name: with a similar name (shipped, or in that folder), and the remedy."""
    path, known = Path(name), shipped(kind)
    is_path = bool(path.suffix) or path.name != name
    close = did_you_mean(path.name, _names_in(path.parent)) if is_path else ""
    close = close or did_you_mean(path.stem, known)
    close = close or (f" (did you mean {path.stem!r}?)" if path.stem in known else "")
    missing = "there is no such file" if path.parent.is_dir() else f"there is no folder {str(path.parent)!r}"
    unknown = "" if is_path else f", and no {kind.noun} of that name is shipped"
    return f"{missing}{unknown}{close}: name a file, or {_known(kind)}"


def _known(kind: ResourceKind) -> str:
    """Return the names that exist, as part of a remedy."""
    if kind.command:
        return f"{a_or_an(kind.noun)} that '{kind.command}' lists"
    return f"one of the shipped {kind.noun}s: {', '.join(shipped(kind))}"


def _names_in(folder: Path) -> list[str]:
    try:
        return [entry.name for entry in islice(folder.iterdir(), 1000)]
    except OSError:
        return []


def _first_in(kind: ResourceKind, folder: str) -> str:
    found = sorted(name for name in _names_in(Path(folder)) if name.endswith(kind.endings))
    return f", for example {str(Path(folder, found[0]))!r}" if found else ""
