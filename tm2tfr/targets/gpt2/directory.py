"""An export as a directory: written whole or not at all, and read again."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray
from safetensors import numpy as safetensors

from tm2tfr.errors import ExportError
from tm2tfr.targets.common.comparison import Right
from tm2tfr.targets.common.directory import KEY, Look, written
from tm2tfr.targets.common.reading import METADATA, mapping, texts, whole, why
from tm2tfr.targets.common.reading import tensors as stored
from tm2tfr.targets.gpt2.documents import FORMAT, VERSION, documents
from tm2tfr.targets.gpt2.recipe import Gpt2Recipe
from tm2tfr.targets.gpt2.tensors import Gpt2

TENSORS = "model.safetensors"


def exported(gpt2: Gpt2, truth: Right, folder: str | Path, *, look: Look | None = None) -> Path:
    """Write `gpt2` to `folder`, whole or not at all, and return it; see `written`.

    Raises:
        OutputError: see there.
    """
    files = documents(gpt2, truth, gpt2.recipe.statement)
    return written(folder, {**files, TENSORS: safetensors.save(gpt2.tensors(), METADATA)}, look=look)


# ── and back ────────────────────────────────────────────────────────────────────────────────────────────────
@dataclass(frozen=True)
class StoredGpt2:
    """The contents of an export: its configuration, its recipe, its stated origin, its tensors.

    `metadata` is that of the file of tensors.
    """

    folder: Path
    settings: dict[str, Any]
    recipe: Gpt2Recipe
    provenance: dict[str, str]
    tensors: dict[str, NDArray[Any]]
    metadata: dict[str, str]


def load(folder: str | Path, *, format: str = FORMAT, configuration: str = "config.json") -> StoredGpt2:
    """Read an export to GPT-2, or to another program by way of GPT-2.

    Args:
        format: the expected format; `configuration`: the file of its settings.

    Raises:
        ExportError: if `folder` is not an export, or is damaged.
    """
    folder = Path(folder)
    again = f"use a directory made by 'tm2tfr export --to {format.removeprefix('tm2tfr-')}'"
    try:
        settings = mapping(folder / configuration)
        if KEY not in settings:
            raise ExportError(f"{folder}: its configuration does not say that it is an export of a machine: {again}")
        document = settings[KEY]
        if document["format"] != format:
            raise ExportError(f"{folder}: this export has format {document['format']!r}, not {format!r}: {again}")
        if document["version"] != VERSION:
            raise ExportError(
                f"{folder}: this export has version {document['version']!r}, not {VERSION!r}: export it again"
            )
        recipe = Gpt2Recipe(**document["recipe"])
        whole(document["recipe"], "positions", "max_head")
        provenance = texts(document, "provenance")
        tensors, metadata = stored(folder / TENSORS)
    except OSError as error:
        raise ExportError(f"{folder}: {Path(error.filename or TENSORS).name} cannot be read: {again}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ExportError(f"{folder}: damaged ({why(error)}): {again}") from error
    return StoredGpt2(folder, settings, recipe, provenance, tensors, metadata)
