"""An export as a directory: written whole or not at all, and recognised by what it says about itself."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from tm2tfr.base import tempfiles
from tm2tfr.base.errors import ExportError, OutputError, Tm2tfrError, listing
from tm2tfr.base.files import refusal
from tm2tfr.sources.registry import named
from tm2tfr.targets.common.settings import mapping, shown, texts, why
from tm2tfr.transformer import provenance
from tm2tfr.transformer.weights import Decoder, digest

NAMES = "tm2tfr.json"
"""The file with the names of everything, by which an export is recognised; its ``format`` says for which program."""
KEY = "tm2tfr"
"""The entry of a ``config.json`` that says the same, in case a program has overwritten our files with its own."""
README = "README.md"
"""The model card, for people: it may say anything, or be missing."""
HARMLESS = frozenset({".git", ".gitattributes", ".gitignore", ".cache", ".DS_Store", "LICENSE"})
"""What an export may contain besides its files and any ``.md``: no program loads it."""
Look = Callable[[Path], None]
"""Checks a directory before it gets its name, and raises if it is wrong."""


def written(folder: str | Path, files: Mapping[str, str | bytes], *, look: Look | None = None) -> Path:
    """Write `files` to `folder`, whole or not at all, and return it; an earlier export of the kind there is replaced.

    Args:
        files: name -> contents; one of them is called `NAMES`.
        look: checks the finished directory before it is moved into place.

    Raises:
        OutputError: if it cannot be written, or is a directory that contains anything else.
    """
    folder = Path(folder)
    target = Path(os.path.realpath(folder))
    beside = tempfiles.beside(target)
    try:
        _refuse_foreign(target, files, folder)
        beside.mkdir()
        try:
            for name, content in files.items():
                (beside / name).write_bytes(content.encode() if isinstance(content, str) else content)
            if look is not None:
                look(beside)
            tempfiles.replace_folder(  # refused again: the look at the new one may have taken minutes
                beside,
                target,
                refuse=lambda old: _refuse_foreign(old, files, folder),
                names=lambda _: sorted(files, key=NAMES.__eq__),  # as long as `NAMES` is there, it is known for an export
            )
        except BaseException:
            shutil.rmtree(beside, ignore_errors=True)
            raise
    except OSError as error:
        raise refusal(folder, error, target.parent) from error
    return folder


def document(folder: str | Path) -> dict[str, Any]:
    """Return what an export says about itself: its ``format``, its ``provenance``, and more.

    Raises:
        ExportError: if `folder` is not an export, or is damaged.
    """
    folder = Path(folder)
    again = "use a directory made by 'tm2tfr export'"
    try:
        if (folder / NAMES).exists():
            found = mapping(folder / NAMES)
        else:
            settings = mapping(folder / "config.json")
            if KEY not in settings:
                raise ExportError(f"{folder}: its configuration does not say that it is an export of a machine: {again}")
            found = settings[KEY]
        if provenance.is_version_1(said := texts(found, "provenance")):
            raise ExportError(f"{folder}: an earlier version of tm2tfr made this export: export it again")
        return {**found, "format": str(found["format"]), "provenance": said}
    except OSError as error:
        raise ExportError(f"{folder}: {Path(error.filename or folder).name} cannot be read: {again}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise ExportError(f"{folder}: damaged ({why(error)}): {again}") from error


def strangers(folder: Path, names: Collection[str]) -> Iterator[str]:
    """Yield what is in an export and does not belong there: besides `names`, only what no program loads may be.

    A module with the name of one that the program imports, another file of weights, an adapter, a template, code: a
    program takes whatever it looks for by name for a part of the model.

    Raises:
        ExportError: if the directory cannot be read.
    """
    try:
        entries = sorted(folder.iterdir())
    except OSError as error:
        raise ExportError(f"{folder}: cannot be listed ({error.strerror}): use a readable directory") from error
    for entry in entries:
        file = entry.name in names or entry.suffix == ".md"
        if file and not entry.is_file():
            yield f"{shown(entry.name)}: is not a plain file"
        elif not file and entry.name not in HARMLESS:
            yield f"{shown(entry.name)}: does not belong to such an export and may change what is run: remove it"


def inherited(file: str, stated: Mapping[str, str], decoder: Decoder) -> Iterator[str]:
    """Yield what cannot be true of an export's stated origin: names may differ, the machine may not.

    Args:
        file: the file that has it; decoder: what the machine is compiled to.
    """
    own = decoder.provenance
    for name, said in stated.items():
        if name not in own:
            yield f"{file}: provenance.{shown(name)} is not part of an export"
        elif name == provenance.SOURCE and said != own[name] and not _compiles_to(said, decoder):
            yield f"{file}: the machine stored with it is a different one"
        elif name not in (provenance.SOURCE, provenance.NAME, provenance.TM2TFR) and said != own[name]:
            yield f"{file}: provenance.{name} is {said[:60]!r}, should be {own[name]!r}"


def _compiles_to(text: str, decoder: Decoder) -> bool:
    try:
        construction = named(provenance.construction(decoder.provenance))
        if construction is None:
            return False
        program = construction.read(text, "<provenance>")
        return digest(construction.compile(program, provenance.options(decoder.provenance))) == digest(decoder)
    except Tm2tfrError:
        return False


def _refuse_foreign(found: Path, files: Collection[str], folder: Path) -> None:
    """Raise OutputError, about `folder`, if `found` exists and is neither an earlier export nor an empty directory."""
    if not found.exists():
        return
    if not found.is_dir():
        raise OutputError(f"{folder}: there is a file with that name: choose another name for the directory")
    entries = sorted(found.iterdir())
    held = [entry.name for entry in entries]
    other = [entry.name for entry in entries if entry.name not in files or (entry.is_dir() and not entry.is_symlink())]
    if other or (held and NAMES not in held):
        kind = "an export of this kind" if NAMES in held else "an export"
        what = f"{folder}: this directory is not {kind}; it contains {listing(other or held, most=3)}"
        raise OutputError(f"{what}: choose another name, or remove it")
