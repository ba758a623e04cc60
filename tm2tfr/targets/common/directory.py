"""An export as a directory: written whole or not at all, recognised by what it says about itself, read without trust.

An unknown setting may decide what is loaded or how a run goes, so a list of bad ones would be useless. Every value must be
the one that was written, or one that the program itself writes when it saves the same model again.
"""

from __future__ import annotations

import json
import os
import reprlib
import shutil
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import numpy as safetensors
from safetensors import safe_open

from tm2tfr.base import tempfiles
from tm2tfr.base.errors import ExportError, OutputError, Tm2tfrError, counted, listing
from tm2tfr.base.files import refusal
from tm2tfr.contract.shown import PlainData
from tm2tfr.sources.registry import named
from tm2tfr.transformer import provenance
from tm2tfr.transformer.weights import Decoder, digest

# ── The files of an export, read without trust: plain files of a limited size, and JSON in which no key occurs twice.
Array = NDArray[Any]
"""A tensor."""
MOST_TEXT = 2**28
"""The largest size of a JSON file of an export, in bytes."""
MOST_TENSORS = 2**31 + 2**27
"""The largest size of a file of tensors, in bytes: the weights, for which every target has this limit, and their names."""
METADATA = {"format": "pt"}
"""The metadata of a file of tensors; `transformers` needs it to read them."""


def check_plain(path: Path, most: int) -> None:
    """Check that `path` is a plain file, or a link to one, and not larger than `most` bytes.

    Raises:
        OSError: if it cannot be looked at.
        ValueError: if it is something else, or larger.
    """
    size = path.stat().st_size
    if not path.is_file():  # a pipe would be waited for, a device might never end
        raise ValueError(f"{path.name} is not a plain file")
    if size > most:
        raise ValueError(f"{path.name} has {size:,} bytes, but at most {most:,} are allowed")


def content(path: Path, most: int = MOST_TEXT) -> bytes:
    """Return the bytes of a plain file. See `check_plain` for errors."""
    check_plain(path, most)
    return path.read_bytes()


def parsed_text(text: str) -> Any:
    """Return the value of a text in JSON, as every reader of JSON must understand it.

    Raises:
        ValueError: if it is not JSON, or is ambiguous: a key twice in one object, a NaN.
    """
    try:
        return json.loads(text, object_pairs_hook=_once, parse_constant=_no_number)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def mapping(path: Path) -> PlainData:
    """Return the object in a JSON file in UTF-8. See `check_plain` and `parsed_text` for errors."""
    found = parsed_text(content(path).decode("utf-8"))
    if not isinstance(found, dict):
        raise ValueError(f"{path.name} does not contain a JSON object")
    return found


def tensors(path: Path) -> tuple[dict[str, Array], dict[str, str]]:
    """Return the tensors in a file by name, and the file's metadata.

    Raises:
        OSError: if it cannot be read.
        ValueError: if it is damaged, too large, or contains numbers that are neither float32 nor float64.
    """
    check_plain(path, MOST_TENSORS)
    try:
        with safe_open(path, "numpy") as file:
            said = dict(file.metadata() or {})
        found = safetensors.load_file(path)
    except OSError:
        raise
    except Exception as error:  # what numpy has no dtype for fails in as many ways as there are
        raise ValueError(f"{type(error).__name__}: {error}") from error
    if any(tensor.dtype not in (np.float32, np.float64) for tensor in found.values()):
        raise ValueError("its tensors are neither float32 nor float64")
    return found, said


def why(error: Exception) -> str:
    """Return the error in a file; for an error from another program, with its type."""
    return str(error) if type(error) is ValueError else f"{type(error).__name__}: {error}"


def texts(document: PlainData, name: str) -> dict[str, str]:
    """Return the entry `name` of a document, which must map texts to texts.

    Raises:
        KeyError, TypeError: if it is missing, or is something else.
    """
    found = document[name]
    if not isinstance(found, dict) or not all(isinstance(value, str) for value in found.values()):
        raise TypeError(f"{name!r} is not an object of texts")
    return found


def whole(recipe: PlainData, *names: str) -> None:
    """Check that the entries `names` of a recipe are whole numbers, and not booleans, which are integers in Python.

    Raises:
        TypeError: if one of them is something else.
    """
    for name in names:
        if type(recipe[name]) is not int:
            raise TypeError(f"{name!r} is {recipe[name]!r}, not a whole number")


def _once(pairs: list[tuple[str, Any]]) -> PlainData:
    found = dict(pairs)
    if len(found) < len(pairs):
        ((twice, _),) = Counter(name for name, _ in pairs).most_common(1)
        raise ValueError(f"the key {twice!r} occurs twice")
    return found


def _no_number(constant: str) -> Any:
    raise ValueError(f"{constant} is not a number in JSON")


ANY = frozenset({"transformers_version", "is_local", "local_files_only", "_name_or_path", "name_or_path"})
"""Entries about a program and a place that the program writes and never reads back: any value is right."""


class _Missing:
    def __repr__(self) -> str:
        return "missing"


MISSING = _Missing()
_short = reprlib.Repr()
_short.maxlevel, _short.maxdict, _short.maxlist, _short.maxstring, _short.maxother = 3, 3, 8, 60, 60


def same(found: object, right: object) -> bool:
    """Return whether two JSON values are the same, also in kind: 1, 1.0, True and "1" are four values."""
    if type(found) is not type(right):
        return False
    if isinstance(found, dict) and isinstance(right, dict):
        return found.keys() == right.keys() and all(same(found[name], right[name]) for name in right)
    if isinstance(found, list) and isinstance(right, list):
        return len(found) == len(right) and all(same(a, b) for a, b in zip(found, right, strict=True))
    return repr(found) == repr(right) if isinstance(right, float) else bool(found == right)


def configured(file: str, found: PlainData, *forms: PlainData, neutral: PlainData | None = None) -> Iterator[str]:
    """Yield the settings in `file` that are not the recipe's: different, missing or additional ones.

    Args:
        forms: the allowed contents of the file: as written, and as the program saves it again.
        neutral: settings that only repeat the default.
    """
    for name in sorted({*found, *(name for form in forms for name in form)}):
        have, wanted = found.get(name, MISSING), [form.get(name, MISSING) for form in forms]
        if any(same(have, want) for want in wanted):
            continue
        if all(want is MISSING for want in wanted) and same(have, (neutral or {}).get(name, MISSING)):
            continue
        if name in ANY and any(type(have) is type(want) for want in wanted):
            continue
        want = next((want for want in wanted if want is not MISSING), MISSING)
        yield f"{file}: {_first(have, want, shown(name))}"


def differences(
    folder: Path,
    right: Mapping[str, PlainData],
    *,
    optional: str = "",
    again: Callable[[str], tuple[PlainData, PlainData]] | None = None,
) -> Iterator[str]:
    """Yield everything in the JSON files of an export that is not as it was written.

    Args:
        right: the contents with which each file was written; optional: the file that may be missing.
        again: from a file to what the program saves it as, and its neutral settings; only called if it matters.
    """
    for file, value in right.items():
        try:
            found = mapping(folder / file)
        except OSError as error:
            if file != optional or os.path.lexists(folder / file):
                yield f"{file}: {'missing' if isinstance(error, FileNotFoundError) else 'cannot be read'}"
        except ValueError as error:
            yield f"{file}: damaged ({error})"
        else:
            lines = list(configured(file, found, value))
            if lines and again is not None:
                saved, neutral = again(file)
                lines = list(configured(file, found, value, saved, neutral=neutral))
            yield from lines


def shown(name: str) -> str:
    """Return a name as messages show it: quoted and cut if it is long or not plain ASCII."""
    return name if name.isascii() and name.isprintable() and 0 < len(name) <= 80 else repr(name[:80])


def _first(found: object, right: object, path: str) -> str:
    """Return the first place at which two values are not the same, in words."""
    if isinstance(found, dict) and isinstance(right, dict):
        for name in [*right, *sorted(found.keys() - right.keys())]:
            have, want = found.get(name, MISSING), right.get(name, MISSING)
            if not same(have, want):
                return _first(have, want, f"{path}.{shown(name)}")
    if isinstance(found, list) and isinstance(right, list):
        if len(found) != len(right) and max(len(found), len(right)) > _short.maxlist:
            return f"{path} has {counted(len(found), 'element')}, should have {len(right):,}"
        for n, (have, want) in enumerate(zip(found, right, strict=True) if len(found) == len(right) else ()):
            if not same(have, want):
                return _first(have, want, f"{path}[{n}]")
    if isinstance(found, str) and isinstance(right, str) and max(len(found), len(right)) > _short.maxstring:
        at = next((n for n, (a, b) in enumerate(zip(found, right, strict=False)) if a != b), min(len(found), len(right)))
        have, want = (f"{text[max(0, at - 10) : at + 30]!r}" for text in (found, right))
        return f"{path} differs from character {at + 1:,} on: it is {have}, should be {want}"
    return f"{path} is {_said(found)}, should be {_said(right)}"


def _said(value: object) -> str:
    """Return a value on one line, shortened if it is long."""
    text = repr(value) if isinstance(value, str) and len(value) <= 60 else _short.repr(value)
    return text if len(text) <= 160 else f"{text[:157]}…"


NAMES = "tm2tfr.json"
"""The file with the names of everything, by which an export is recognised; its ``format`` names the target."""
KEY = "tm2tfr"
"""The entry of a ``config.json`` with the same data, in case a program has replaced our files with its own."""
README = "README.md"
"""The model card, for people: it is not compared, and may be missing."""
HARMLESS = frozenset({".git", ".gitattributes", ".gitignore", ".cache", ".DS_Store", "LICENSE"})
"""Further files that an export may contain, besides its own and any ``.md``: no program loads them."""
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
            tempfiles.replace_folder(  # checked again: verifying the new folder may have taken minutes
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


def document(folder: str | Path) -> PlainData:
    """Return the metadata of an export: its ``format``, its ``provenance``, and more.

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
    """Yield the entries of an export that do not belong there: besides `names`, only files that no program loads may be.

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
    """Yield the parts of an export's stated origin that do not fit the decoder: names may differ, the machine may not.

    Args:
        file: the file that has it; decoder: the compiled machine.
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
