"""An export as a directory: written whole or not at all, and read again."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors import numpy as safetensors

from tm2tfr.errors import ExportError
from tm2tfr.export.checkpoints.directory import KEY, Look, written
from tm2tfr.export.checkpoints.fitting import statement as said
from tm2tfr.export.gpt2.documents import FORMAT, VERSION, documents
from tm2tfr.export.gpt2.recipe import Recipe
from tm2tfr.export.gpt2.tensors import Gpt2
from tm2tfr.machine.spec import Machine

TENSORS = "model.safetensors"


def exported(gpt2: Gpt2, machine: Machine, folder: str | Path, *, look: Look | None = None) -> Path:
    """Write `gpt2` to `folder`, whole or not at all, and return it; see `written`.

    Raises:
        OutputError: see there.
    """
    texts = documents(gpt2, machine, statement(gpt2.recipe))
    return written(folder, {**texts, TENSORS: safetensors.save(gpt2.tensors(), {"format": "pt"})}, look=look)


def statement(recipe: Recipe) -> str:
    """Return what the bounds of `limits` say of an export."""
    return said(recipe.positions, recipe.max_head, recipe.dtype)


# ── and back ────────────────────────────────────────────────────────────────────────────────────────────────
@dataclass(frozen=True)
class Checkpoint:
    """What is read from an export: its configuration, its recipe, where it says it comes from, its tensors."""

    folder: Path
    settings: dict[str, Any]
    recipe: Recipe
    provenance: dict[str, str]
    tensors: dict[str, NDArray[Any]]


def load(folder: str | Path, *, format: str = FORMAT, configuration: str = "config.json") -> Checkpoint:
    """Read an export to GPT-2, or to another program by way of GPT-2.

    Args:
        format: what it is; `configuration`: the file of its settings.

    Raises:
        ExportError: if `folder` is no export, or damaged.
    """
    folder = Path(folder)
    again = f"give a directory made by 'tm2tfr export --to {format.removeprefix('tm2tfr-')}'"
    try:
        settings = json.loads((folder / configuration).read_text(encoding="utf-8"))
        if KEY not in settings:
            raise ExportError(f"{folder}: its configuration does not say that it is an export of a machine: {again}")
        document = settings[KEY]
        if document["format"] != format:
            raise ExportError(f"{folder}: an export of format {document['format']!r}, not {format!r}: {again}")
        if document["version"] != VERSION:
            raise ExportError(f"{folder}: an export of version {document['version']!r}, not {VERSION!r}: make it again")
        recipe = Recipe(**document["recipe"])
        provenance = {str(k): str(v) for k, v in document["provenance"].items()}
        tensors = safetensors.load_file(folder / TENSORS)
    except OSError as error:
        raise ExportError(f"{folder}: {Path(error.filename or TENSORS).name} cannot be read: {again}") from error
    except (ValueError, KeyError, TypeError, AttributeError, SafetensorError) as error:
        raise ExportError(f"{folder}: damaged ({type(error).__name__}: {error}): {again}") from error
    if any(tensor.dtype not in (np.float32, np.float64) for tensor in tensors.values()):
        raise ExportError(f"{folder}: its tensors are neither float32 nor float64: {again}")
    return Checkpoint(folder, settings, recipe, provenance, tensors)
