"""Is an export still a machine? Its weights against the machine's, and its run against the simulator's."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from numpy.typing import NDArray

from tm2tfr.errors import ExportError
from tm2tfr.exported import ExportReference
from tm2tfr.targets.common.comparison import Model, compared
from tm2tfr.targets.common.directory import KEY, NAMES, README, inherited, strangers
from tm2tfr.targets.common.reference import reference_of
from tm2tfr.targets.common.settings import METADATA, configured, differences
from tm2tfr.targets.common.verdict import Trial, Verdict, cause, judged, refused, unloaded
from tm2tfr.targets.gpt2.documents import documents
from tm2tfr.targets.gpt2.export import CONFIGURATION, TENSORS, StoredGpt2, chosen, load
from tm2tfr.targets.gpt2.running import Gpt2Running, Reference
from tm2tfr.targets.gpt2.tensors import Gpt2
from tm2tfr.targets.gpt2.translated import translated
from tm2tfr.transformer.weights import Decoder


def verified(folder: str | Path, decoder: Decoder, machine: Any, word: str) -> Verdict:
    """Compare the export in `folder` with `machine`, compiled to `decoder`; run it on `word`.

    Raises:
        ExportError: if `folder` is not an export, has too few positions for the word, or cannot be run.
        InputError: if `word` is not over the input alphabet.
    """
    right = reference_of(machine, decoder)
    right.truth(word)
    stored = load(folder)
    try:
        recipe = chosen(decoder, right, **stored.options)
    except ExportError as error:
        return refused(right.named(), CONFIGURATION, error)
    gpt2 = translated(replace(decoder, provenance=stored.provenance), recipe)
    return judged_model(stored, right, gpt2, documents(gpt2, right), gpt2.tensors(), Gpt2Running, word)


def judged_model(
    stored: StoredGpt2,
    right: ExportReference,
    gpt2: Gpt2,
    texts: Mapping[str, str],
    tensors: Mapping[str, NDArray[Any]],
    load_model: Callable[[Path], SettingsModel],
    word: str,
) -> Verdict:
    """Return the verdict on an export that `transformers` loads.

    Args:
        texts, tensors: the right contents of its files; load_model: loads the model in a directory.
    """
    files = written_by(stored, texts, CONFIGURATION)
    reference = Reference({name: json.dumps(value) for name, value in files.items() if name != NAMES})

    def tried() -> Trial:
        running = load_model(stored.folder)
        return trial(running, stored, reference.unlike(running.settings), gpt2, right, word, gpt2.reads())

    beside = beside_tensors(stored, right.decoder, files, CONFIGURATION, reference)
    return judged(right.named(), beside, stored.tensors, tensors, partial(described, gpt2), tried)


def beside_tensors(
    stored: StoredGpt2,
    decoder: Decoder,
    files: Mapping[str, Mapping[str, Any]],
    configuration: str,
    reference: Reference | None = None,
) -> list[str]:
    """Return what differs beside the tensors of an export.

    Args:
        files: the right JSON files, see `written_by`.
        reference: what `transformers` makes of them; files may then be as it saves them, and the names be missing.
    """
    strange = list(strangers(stored.folder, {*files, README, TENSORS}))

    def again(file: str) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
        return (reference.saved.get(file, files[file]), reference.neutral.get(file, {})) if reference else ({}, {})

    optional, saved = (NAMES, None if strange else again) if reference else ("", None)
    return [
        *strange,
        *inherited(configuration, stored.provenance, decoder),
        *differences(stored.folder, files, optional=optional, again=saved),
        *configured(f"{TENSORS}, metadata", stored.metadata, METADATA),
    ]


def written_by(stored: StoredGpt2, texts: Mapping[str, str], configuration: str) -> dict[str, dict[str, Any]]:
    """Return the right JSON files of an export as its own version would write them; `texts`: as this version does."""
    right = {name: json.loads(text) for name, text in texts.items() if name != README}
    version = stored.settings[KEY].get("tm2tfr")
    if isinstance(version, str):
        right[NAMES]["tm2tfr"] = right[configuration][KEY]["tm2tfr"] = version
    return right


class TensorModel(Model, Protocol):
    """A model that shows the tensors it has loaded."""

    def tensors(self) -> dict[str, NDArray[Any]]:
        """Return the tensors that were loaded, by name."""


class SettingsModel(TensorModel, Protocol):
    """A model that shows its settings as well."""

    @property
    def settings(self) -> dict[str, Any]:
        """What was loaded beside the tensors, by file."""


def trial(
    model: TensorModel,
    stored: StoredGpt2,
    unlike: Iterable[str],
    gpt2: Gpt2,
    right: ExportReference,
    word: str,
    read: Callable[[NDArray[Any]], NDArray[Any]],
) -> Trial:
    """Run a model on `word`; `unlike`: what of its settings was not loaded as it should be; read: see `cause`."""
    run = compared(model, gpt2.vocabulary, right, word, gpt2.recipe.positions)
    why = cause(model, gpt2.decoder, run, read)
    loaded = (*unlike, *unloaded(model.tensors(), stored.tensors, TENSORS))
    return Trial(loaded, run, why, model.versions)


def described(gpt2: Gpt2, name: str, at: Sequence[int]) -> str:
    """Return in words what the entry of a tensor does."""
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
    name = f"head {heads[head].name!r}" if head < len(heads) else f"head {head}, which has no task"
    return f"{name}, {('query', 'key', 'value')[kind]} {slot}"


def _unit(gpt2: Gpt2, layer: int, unit: int) -> str:
    ffn = gpt2.decoder.layers[layer].feed_forward
    return f"unit {ffn.units[unit]!r}" if ffn is not None and unit < len(ffn.units) else f"unit {unit}, which has no task"


def _direction(gpt2: Gpt2, coordinate: int) -> str:
    sign, place = ("-", coordinate - gpt2.mirror) if coordinate >= gpt2.mirror else ("", coordinate)
    return f"{sign}{gpt2.directions[place]}" if place < len(gpt2.directions) else f"dimension {coordinate}, which is unused"
