"""An export as a directory: written whole or not at all, and read again."""

from __future__ import annotations

import json
import os
import secrets
import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors import numpy as safetensors

from tm2tfr.errors import ExportError, OutputError, listing
from tm2tfr.export.files import WHY
from tm2tfr.export.gpt2.documents import FILES, FORMAT, KEY, NAMES, VERSION, documents
from tm2tfr.export.gpt2.recipe import Recipe
from tm2tfr.export.gpt2.tensors import Gpt2
from tm2tfr.machine.spec import Machine

TENSORS = "model.safetensors"
Look = Callable[[Path], None]
"""Looks at a directory before it gets its name, and raises if it is not good."""


def exported(gpt2: Gpt2, machine: Machine, folder: str | Path, *, look: Look | None = None) -> Path:
    """Write `gpt2` to `folder`, whole or not at all, and return it; an earlier export there is replaced.

    Args:
        look: is shown the finished directory before it is put into its place.

    Raises:
        OutputError: if it cannot be written, or is a directory with anything else in it.
    """
    folder = Path(folder)
    _refuse_foreign(folder)
    target = Path(os.path.realpath(folder))
    beside = target.with_name(f".tm2tfr-{secrets.token_hex(8)}.tmp")
    try:
        beside.mkdir()
        try:
            _fill(beside, gpt2, machine)
            if look is not None:
                look(beside)
            _moved(beside, target)
        except BaseException:
            shutil.rmtree(beside, ignore_errors=True)
            raise
    except OSError as error:
        what, remedy = WHY.get(error.errno or 0, (error.strerror or str(error), "choose another place"))
        raise OutputError(f"{folder}: {what.format(folder=target.parent)}: {remedy}") from error
    return folder


def statement(recipe: Recipe) -> str:
    """Return what the bounds of `limits` say of an export."""
    head = "" if recipe.max_head >= recipe.positions - 1 else f" and |h| ≤ {recipe.max_head:,}"
    what = f"for every input and every run with at most {recipe.positions:,} positions{head}"
    return f"{what}, greedy generation in {recipe.dtype} gives exactly the machine's run"


def _fill(folder: Path, gpt2: Gpt2, machine: Machine) -> None:
    for name, text in documents(gpt2, machine, statement(gpt2.recipe)).items():
        (folder / name).write_text(text, encoding="utf-8", newline="\n")
    (folder / TENSORS).write_bytes(safetensors.save(gpt2.tensors(), {"format": "pt"}))


def _refuse_foreign(folder: Path) -> None:
    """Raise OutputError if `folder` is there and is not an earlier export, or an empty directory."""
    if not folder.exists():
        return
    if not folder.is_dir():
        raise OutputError(f"{folder}: there is a file of that name: choose another name for the directory")
    held = sorted(entry.name for entry in folder.iterdir())
    other = [name for name in held if name not in (*FILES, TENSORS)]
    if other or (held and NAMES not in held):
        what = f"{folder}: this directory is not an export, it holds {listing(other or held, most=3)}"
        raise OutputError(f"{what}: choose another name, or remove it")


def _moved(beside: Path, folder: Path) -> None:
    if not folder.exists():
        beside.rename(folder)
        return
    old = folder.with_name(f".tm2tfr-{secrets.token_hex(8)}.old")
    folder.rename(old)
    try:
        beside.rename(folder)
    except BaseException:
        old.rename(folder)
        raise
    with suppress(OSError):
        shutil.rmtree(old)


# ── and back ────────────────────────────────────────────────────────────────────────────────────────────────
@dataclass(frozen=True)
class Checkpoint:
    """What is read from an export: its configuration, its recipe, where it says it comes from, its tensors."""

    folder: Path
    settings: dict[str, Any]
    recipe: Recipe
    provenance: dict[str, str]
    tensors: dict[str, NDArray[Any]]


def load(folder: str | Path) -> Checkpoint:
    """Read an export.

    Raises:
        ExportError: if `folder` is no export, or damaged.
    """
    folder = Path(folder)
    again = "give a directory made by 'tm2tfr export --to gpt2'"
    try:
        settings = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        if KEY not in settings:
            raise ExportError(f"{folder}: its configuration does not say that it is an export of a machine: {again}")
        document = settings[KEY]
        if (document["format"], document["version"]) != (FORMAT, VERSION):
            raise ExportError(f"{folder}: an export of version {document['version']!r}, not {VERSION!r}: make it again")
        recipe = Recipe(**document["recipe"])
        provenance = {str(k): str(v) for k, v in document["provenance"].items()}
        tensors = safetensors.load_file(folder / TENSORS)
    except OSError as error:
        raise ExportError(f"{folder}: {Path(error.filename or folder).name} cannot be read: {again}") from error
    except (ValueError, KeyError, TypeError, AttributeError, SafetensorError) as error:
        raise ExportError(f"{folder}: damaged ({type(error).__name__}: {error}): {again}") from error
    if any(tensor.dtype not in (np.float32, np.float64) for tensor in tensors.values()):
        raise ExportError(f"{folder}: its tensors are neither float32 nor float64: {again}")
    return Checkpoint(folder, settings, recipe, provenance, tensors)
