"""An export to GPT-2, or by way of it, as a directory: translated, written, run, and read again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import methodcaller
from pathlib import Path
from typing import Any, Protocol, Unpack

from numpy.typing import NDArray
from safetensors import numpy as safetensors

from tm2tfr.base.errors import ExportError, counted
from tm2tfr.contract.exported import ExportReference
from tm2tfr.targets.common.comparison import WITHOUT, Model
from tm2tfr.targets.common.directory import KEY
from tm2tfr.targets.common.exported import Exported, Rehearsal
from tm2tfr.targets.common.fitting import Options
from tm2tfr.targets.common.reference import reference_of
from tm2tfr.targets.common.settings import METADATA, Array, mapping, texts, whole, why
from tm2tfr.targets.common.settings import tensors as stored
from tm2tfr.targets.gpt2.documents import VERSION
from tm2tfr.targets.gpt2.recipe import Gpt2Recipe
from tm2tfr.targets.gpt2.tensors import Gpt2
from tm2tfr.transformer.weights import Decoder

TENSORS, CONFIGURATION = "model.safetensors", "config.json"


class ShownModel(Model, Protocol):
    """A model that shows what it has loaded."""

    @property
    def settings(self) -> dict[str, Any]:
        """What was loaded beside the tensors, by file."""

    def tensors(self) -> dict[str, NDArray[Any]]:
        """Return the tensors that were loaded, by name."""


class Translated(Protocol):
    """What a decoder becomes for a program: a GPT-2, or something that is made from it."""

    @property
    def gpt2(self) -> Gpt2: ...  # from which it is made
    @property
    def heads(self) -> int: ...  # the attention heads of each layer
    @property
    def width(self) -> int: ...  # the dimension of the stream
    def reads(self) -> Callable[[Array], Array]: ...  # reads the decoder's values off a stream


@dataclass(frozen=True)
class ByGpt2:
    """A program to which decoders go by way of GPT-2.

    Args:
        title: what it is called in what is said of an export; format: the ``format`` of an export.
        required: raises ExportError unless what runs an export is installed; takes the alternative to it.
        made: (decoder with the provenance that is stated, reference, options) -> the model. Raises ExportError.
        documents: the text of each file beside the tensors, by name; tensors: the tensors, by name.
        described: (model, name of a tensor, place) -> what the entry there does, in words.
        load: returns the model in a directory.
        configuration: the file of its settings.
        streams: whether an export is only right if its stream is the dense engine's.
        loaded: the files that `transformers` loads as they are; None: all, which may also be as it saves them again.
    """

    title: str
    format: str
    required: Callable[[str], object]
    made: Callable[..., Translated]
    documents: Callable[[Any, ExportReference], Mapping[str, str]]
    described: Callable[[Any, str, Sequence[int]], str]
    load: Callable[[Path], ShownModel]
    tensors: Callable[[Any], dict[str, Array]] = methodcaller("tensors")
    configuration: str = CONFIGURATION
    streams: bool = True
    loaded: tuple[str, ...] | None = None


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

    @property
    def options(self) -> dict[str, Any]:
        """The options with which it was exported."""
        recipe = self.recipe
        chosen = {"positions": recipe.positions, "max_head": recipe.max_head, "dtype": recipe.dtype}
        return {**chosen, "stock": recipe.stock}


def load(folder: str | Path, *, format: str, configuration: str = CONFIGURATION) -> StoredGpt2:
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


@dataclass(frozen=True, kw_only=True)
class Gpt2Exported(Exported):
    """A finished export; parameters: the number of its weights."""

    title: str
    made: Translated
    parameters: int

    @property
    def gpt2(self) -> Gpt2:
        """The GPT-2, also of an export that was made from it."""
        return self.made.gpt2

    @property
    def facts(self) -> tuple[str, ...]:
        """The size of the model, and what is guaranteed, in words."""
        recipe, made = self.gpt2.recipe, self.made
        depth, heads = counted(len(self.gpt2.decoder.layers), "layer"), counted(made.heads, "head")
        size = f"{depth}, {heads}, width {made.width}, {recipe.dtype}"
        return (
            f"{self.title}: {size}, {self.parameters / 1e6:,.2f} million parameters",
            f"{'by bounds on rounding: ' if recipe.certified else ''}{recipe.statement}",
        )


def export(
    program: ByGpt2,
    decoder: Decoder,
    machine: Any,
    folder: str | Path,
    *,
    verify: bool = True,
    **options: Unpack[Options],
) -> Gpt2Exported:
    """Write `decoder` for `program`; see `tm2tfr.export_to`.

    Before it gets its name, its runs are compared with the reference's, and its stream with the dense engine's.

    Raises:
        ExportError, OutputError: see there.
    """
    if verify:
        program.required(WITHOUT)
    right = reference_of(machine, decoder)
    made = program.made(decoder, right, **options)
    tensors = program.tensors(made)
    read = made.reads() if program.streams else None
    look = Rehearsal(program.load, made.gpt2.vocabulary, right, made.gpt2.recipe.positions, read)
    files: dict[str, str | bytes] = {**program.documents(made, right), TENSORS: safetensors.save(tensors, METADATA)}
    parameters = sum(tensor.size for tensor in tensors.values())
    return Gpt2Exported(**look.written(folder, files, verify=verify), title=program.title, made=made, parameters=parameters)
