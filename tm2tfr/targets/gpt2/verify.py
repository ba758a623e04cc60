"""Is an export still a program? Its weights against the program's, and its run against the reference's."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from tm2tfr.base.errors import ExportError
from tm2tfr.targets.common.comparison import compared, words
from tm2tfr.targets.common.directory import KEY, NAMES, README, inherited, strangers
from tm2tfr.targets.common.reference import reference_of
from tm2tfr.targets.common.settings import METADATA, configured, differences
from tm2tfr.targets.common.verdict import Trial, Verdict, cause, judged, refused, unloaded
from tm2tfr.targets.gpt2.export import TENSORS, ByGpt2, StoredGpt2, load
from tm2tfr.targets.gpt2.running import Reference
from tm2tfr.targets.gpt2.tensors import Gpt2
from tm2tfr.transformer.weights import Decoder


def verified(program: ByGpt2, folder: str | Path, decoder: Decoder, machine: Any, word: str | None) -> Verdict:
    """Compare the export in `folder` with `machine`, compiled to `decoder`; run it on `word`.

    Raises:
        ExportError: if `folder` is not an export, has too few positions for the word, or cannot be run.
        InputError: if `word` is not an input of the program.
    """
    right, configuration = reference_of(machine, decoder), program.configuration
    if word is not None and not decoder.labeller:
        right.truth(word)
    stored = load(folder, format=program.format, configuration=configuration)
    options = stored.options
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

    def again(file: str) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
        return reference.saved.get(file, files[file]), reference.neutral.get(file, {})

    saved = None if strange or program.loaded else again
    beside = [
        *strange,
        *inherited(configuration, stored.provenance, decoder),
        *differences(stored.folder, files, optional="" if program.loaded else NAMES, again=saved),
        *configured(f"{TENSORS}, metadata", stored.metadata, METADATA),
    ]

    def tried() -> Trial:
        model, gpt2 = program.load(stored.folder), made.gpt2
        unlike = reference.unlike(model.settings)  # before the model is used, which changes a tokenizer
        given = words(right, gpt2.recipe.positions)[0] if word is None else word
        run = compared(model, gpt2.vocabulary, right, given, gpt2.recipe.positions)
        loaded = (*unlike, *unloaded(model.tensors(), stored.tensors, TENSORS))
        return Trial(loaded, run, cause(model, gpt2.decoder, run, made.reads()), model.versions)

    return judged(right.named(), beside, stored.tensors, program.tensors(made), partial(program.described, made), tried)


def written_by(stored: StoredGpt2, texts: Mapping[str, str], configuration: str) -> dict[str, dict[str, Any]]:
    """Return the right JSON files of an export as its own version would write them; `texts`: as this version does."""
    right = {name: json.loads(text) for name, text in texts.items() if name != README}
    version = stored.settings[KEY].get("tm2tfr")
    if isinstance(version, str):
        right[NAMES]["tm2tfr"] = right[configuration][KEY]["tm2tfr"] = version
    return right


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
