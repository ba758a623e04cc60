"""An export to GPT-2, or by way of it, as a directory: translated, written, run, read again, and compared."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import methodcaller
from pathlib import Path
from typing import Generic, Protocol, TypeVar, Unpack

from safetensors import numpy as safetensors

from tm2tfr.base.errors import ExportError, counted
from tm2tfr.contract.exported import ExportReference
from tm2tfr.contract.shown import PlainData
from tm2tfr.targets.common.comparison import WITHOUT, Model
from tm2tfr.targets.common.directory import (
    KEY,
    METADATA,
    NAMES,
    README,
    Array,
    configured,
    differences,
    inherited,
    mapping,
    strangers,
    texts,
    whole,
    why,
)
from tm2tfr.targets.common.directory import tensors as stored
from tm2tfr.targets.common.fitting import Options
from tm2tfr.targets.common.reference import reference_of
from tm2tfr.targets.common.verdict import Exported, Rehearsal, Verdict, judged, refused, unloaded
from tm2tfr.targets.gpt2.documents import VERSION
from tm2tfr.targets.gpt2.recipe import Gpt2Recipe
from tm2tfr.targets.gpt2.running import Reference
from tm2tfr.targets.gpt2.tensors import Gpt2, Translated
from tm2tfr.transformer.provenance import is_hidden
from tm2tfr.transformer.weights import Decoder

T = TypeVar("T", bound=Translated)
TENSORS, CONFIGURATION = "model.safetensors", "config.json"


class ShownModel(Model, Protocol):
    """A model that shows what it has loaded."""

    @property
    def settings(self) -> PlainData:
        """What was loaded beside the tensors, by file."""

    def tensors(self) -> dict[str, Array]:
        """Return the tensors that were loaded, by name."""


@dataclass(frozen=True)
class ByGpt2(Generic[T]):
    """A target that is built from a GPT-2.

    Args:
        title: its name in messages; format: the ``format`` of an export.
        required: raises ExportError unless the program that runs an export is installed; `otherwise`: the alternative.
        made: (decoder with the provenance that is stated, reference, options) -> the model. Raises ExportError.
        documents: the text of each file beside the tensors, by name; tensors: the tensors, by name.
        described: (model, name of a tensor, place) -> the effect of the entry there, as text.
        load: returns the model in a directory.
        configuration: the file of its settings.
        streams: whether an export is only right if its stream is the dense engine's.
        loaded: the files that `transformers` loads as they are; None: all, which may also be as it saves them again.
    """

    title: str
    format: str
    required: Callable[..., object]
    made: Callable[..., T]
    documents: Callable[[T, ExportReference], Mapping[str, str]]
    described: Callable[[T, str, Sequence[int]], str]
    load: Callable[[Path], ShownModel]
    tensors: Callable[[T], dict[str, Array]] = methodcaller("tensors")
    configuration: str = CONFIGURATION
    streams: bool = True
    loaded: tuple[str, ...] | None = None


@dataclass(frozen=True)
class StoredGpt2:
    """The contents of an export: its configuration, its recipe, its stated origin, its tensors.

    `metadata` is that of the file of tensors.
    """

    folder: Path
    settings: PlainData
    recipe: Gpt2Recipe
    provenance: dict[str, str]
    tensors: dict[str, Array]
    metadata: dict[str, str]


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
        """The size of the model, and its guarantees, as text."""
        recipe, made = self.gpt2.recipe, self.made
        depth, heads = counted(len(self.gpt2.decoder.layers), "layer"), counted(made.heads, "head")
        size = f"{depth}, {heads}, width {made.width}, {recipe.dtype}"
        return (
            f"{self.title}: {size}, {self.parameters / 1e6:,.2f} million parameters",
            f"{'by bounds on rounding: ' if recipe.certified else ''}{recipe.statement}",
        )


def export(
    program: ByGpt2[T],
    decoder: Decoder,
    machine: object,
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
        program.required(otherwise=WITHOUT)
    right = reference_of(machine, decoder)
    made = program.made(decoder, right, **options)
    tensors = program.tensors(made)
    # a direction of hidden weights mixes what they compute with what decoys write, which softmax need not make exact
    read = made.reads() if program.streams and not is_hidden(decoder.provenance) else None
    look = Rehearsal(program.load, made.gpt2.vocabulary, right, made.gpt2.recipe.positions, read)
    files: dict[str, str | bytes] = {**program.documents(made, right), TENSORS: safetensors.save(tensors, METADATA)}
    parameters = sum(tensor.size for tensor in tensors.values())
    return Gpt2Exported(**look.written(folder, files, verify=verify), title=program.title, made=made, parameters=parameters)


def verified(program: ByGpt2[T], folder: str | Path, decoder: Decoder, machine: object, word: str | None) -> Verdict:
    """Compare the export in `folder` with `machine`, compiled to `decoder`; run it on `word`.

    Raises:
        ExportError: if `folder` is not an export, has too few positions for the word, or cannot be run.
        InputError: if `word` is not an input of the program.
    """
    right, configuration = reference_of(machine, decoder), program.configuration
    if word is not None and not decoder.labeller:
        right.truth(word)
    stored = load(folder, format=program.format, configuration=configuration)
    options = stored.recipe.options
    if decoder.labeller:  # a recipe has a number there even where nothing is bounded by it
        options["max_head"] = options["max_head"] or None
    try:
        made = program.made(replace(decoder, provenance=stored.provenance), right, **options)
    except ExportError as error:
        return refused(right.named(), configuration, error)
    files = written_by(stored, program.documents(made, right), configuration)
    own = program.loaded or [name for name in files if name != NAMES]
    reference = Reference({name: json.dumps(files[name]) for name in own})
    strange = list(strangers(stored.folder, {*files, README, TENSORS}))

    def again(file: str) -> tuple[PlainData, PlainData]:
        return reference.saved.get(file, files[file]), reference.neutral.get(file, {})

    saved = None if strange or program.loaded else again
    beside = [
        *strange,
        *inherited(configuration, stored.provenance, decoder),
        *differences(stored.folder, files, optional="" if program.loaded else NAMES, again=saved),
        *configured(f"{TENSORS}, metadata", stored.metadata, METADATA),
    ]

    def unlike(model: ShownModel) -> Iterator[str]:
        yield from reference.unlike(model.settings)
        yield from unloaded(model.tensors(), stored.tensors, TENSORS)

    look = Rehearsal(program.load, made.gpt2.vocabulary, right, made.gpt2.recipe.positions, made.reads())
    tried = partial(look.trial, stored.folder, word, unlike)
    return judged(right.named(), beside, stored.tensors, program.tensors(made), partial(program.described, made), tried)


def written_by(stored: StoredGpt2, texts: Mapping[str, str], configuration: str) -> dict[str, PlainData]:
    """Return the right JSON files of an export as its own version would write them; `texts`: as this version does."""
    right = {name: json.loads(text) for name, text in texts.items() if name != README}
    version = stored.settings[KEY].get("tm2tfr")
    if isinstance(version, str):
        right[NAMES]["tm2tfr"] = right[configuration][KEY]["tm2tfr"] = version
    return right


def described(gpt2: Gpt2, name: str, at: Sequence[int]) -> str:
    """Return the effect of an entry of a tensor, as text."""
    parts = name.removeprefix("transformer.").split(".")
    if parts[0] == "h":
        layer = gpt2.decoder.layers[int(parts[1])]
        return f"layer {int(parts[1]) + 1} ({layer.name}), {_in_layer(gpt2, int(parts[1]), '.'.join(parts[2:]), at)}"
    if parts[0] == "wte":
        return f"embedding of {gpt2.vocabulary[at[0]]}: {_direction(gpt2, at[1])}"
    if parts[0] == "wpe":
        return f"embedding of position {at[0]}: {_direction(gpt2, at[1])}"
    if parts[0] == "lm_head":
        return f"logit of {gpt2.answered[at[0]]}, reads {_direction(gpt2, at[1])}"
    if parts[0] == "ln_f":
        return f"last layer norm, at {_direction(gpt2, at[0])}"
    return f"{name.removeprefix('bert.')} at {', '.join(map(str, at))}"


def _in_layer(gpt2: Gpt2, layer: int, part: str, at: Sequence[int]) -> str:
    first, last = at[0], at[-1]
    words = {
        "attn.c_attn.weight": lambda: f"{_head(gpt2, layer, last)}, reads {_direction(gpt2, first)}",
        "attn.c_attn.bias": lambda: f"{_head(gpt2, layer, last)}, bias",
        "attn.c_proj.weight": lambda: f"{_head(gpt2, layer, 2 * gpt2.width + first)}, writes {_direction(gpt2, last)}",
        "mlp.c_fc.weight": lambda: f"{_unit(gpt2, layer, last)}, reads {_direction(gpt2, first)}",
        "mlp.c_fc.bias": lambda: f"{_unit(gpt2, layer, last)}, bias",
        "mlp.c_proj.weight": lambda: f"{_unit(gpt2, layer, first)}, writes {_direction(gpt2, last)}",
    }
    return words[part]() if part in words else f"{part}, at {_direction(gpt2, first)}"


def _head(gpt2: Gpt2, layer: int, column: int) -> str:
    kind, rest = divmod(column, gpt2.width)
    head, slot = divmod(rest, gpt2.head_size)
    heads = gpt2.decoder.layers[layer].heads
    name = f"head {heads[head].name!r}" if head < len(heads) else f"head {head + 1}, which has no task"
    return f"{name}, {('query', 'key', 'value')[kind]} {slot}"


def _unit(gpt2: Gpt2, layer: int, unit: int) -> str:
    ffn = gpt2.decoder.layers[layer].feed_forward
    return f"unit {ffn.units[unit]!r}" if ffn is not None and unit < len(ffn.units) else f"unit {unit}, which has no task"


def _direction(gpt2: Gpt2, coordinate: int) -> str:
    sign, place = ("-", coordinate - gpt2.mirror) if coordinate >= gpt2.mirror else ("", coordinate)
    return f"{sign}{gpt2.directions[place]}" if place < len(gpt2.directions) else f"dimension {coordinate}, which is unused"
