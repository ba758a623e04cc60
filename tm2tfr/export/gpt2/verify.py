"""Is a checkpoint still a machine? Its weights against the machine's, and its run against the simulator's."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tm2tfr.export.checkpoints.comparison import Model, compared
from tm2tfr.export.checkpoints.directory import KEY, NAMES, document, renamed
from tm2tfr.export.checkpoints.verdict import Verdict, cause, differing
from tm2tfr.export.gpt2.directory import load, statement
from tm2tfr.export.gpt2.documents import config, generation, names, tokenizer_config
from tm2tfr.export.gpt2.running import Running
from tm2tfr.export.gpt2.tensors import PAD, UNK, Gpt2, translated
from tm2tfr.machine.spec import Machine
from tm2tfr.transformer.weights import Decoder

_UNSEEN = {KEY, "torch_dtype", "tokenizer_class"}
"""Settings that decide nothing once a checkpoint is loaded."""


def verified(folder: str | Path, decoder: Decoder, machine: Machine, word: str) -> Verdict:
    """Compare the checkpoint in `folder` with `machine`, compiled to `decoder`; run it on `word`.

    Raises:
        ExportError: if `folder` is no export, is too short for the word, or cannot be run.
        InputError: if `word` is not over the input alphabet.
    """
    machine.check_input(word)
    checkpoint = load(folder)
    gpt2 = translated(decoder, checkpoint.recipe)
    right, running = gpt2.tensors(), Running(checkpoint.folder)
    found = [
        *_loaded("config.json", running.model.config, config(gpt2)),
        *_loaded("generation_config.json", running.model.generation_config, generation(gpt2)),
        *_loaded("tokenizer_config.json", running.tokenizer, tokenizer_config(gpt2)),
        *(renamed(document(folder), names(gpt2, statement(gpt2.recipe))) if (checkpoint.folder / NAMES).exists() else ()),
        *differing(checkpoint.tensors, right, partial(described, gpt2)),
    ]
    return judged(running, found, len(right), gpt2, machine, word, _read(gpt2))


class Tokenized(Model, Protocol):
    """A model with a tokenizer of `transformers`."""

    tokenizer: Any


def judged(
    model: Tokenized,
    weights: Sequence[str],
    tensors: int,
    gpt2: Gpt2,
    machine: Machine,
    word: str,
    read: Callable[[NDArray[Any]], NDArray[Any]],
) -> Verdict:
    """Run a model on `word`, and return the verdict on it.

    Args:
        weights: what differs in its weights, of so many `tensors`; `read`: see `cause`.
    """
    decoder = gpt2.decoder
    own = {token: n for token, n in model.tokenizer.get_vocab().items() if token not in (PAD, UNK)}
    if own != {token: n for n, token in enumerate(decoder.vocabulary)}:
        weights = ["tokenizer.json: its vocabulary is not the machine's", *weights]
        return Verdict(machine.name, tuple(weights), None, "", tensors, model.versions)
    run = compared(model, gpt2.vocabulary, machine, word, gpt2.recipe.positions)
    why = cause(model, decoder, gpt2.vocabulary, run, read)
    return Verdict(machine.name, tuple(weights), run, why, tensors, model.versions)


def configured(file: str, found: Mapping[str, Any], right: Mapping[str, Any]) -> Iterator[str]:
    """Yield the settings, in `file`, that are not the recipe's: others, missing ones, further ones."""
    for name in sorted({*found, *right}):
        have, want = (repr(settings[name]) if name in settings else "missing" for settings in (found, right))
        if have != want:
            yield f"{file}: {name} is {have}, should be {want}"


def _loaded(file: str, given: object, right: Mapping[str, Any]) -> Iterator[str]:
    """Yield what `transformers` took from `file`, or where there is nothing from its defaults, that is not the recipe's."""
    wanted = {name: value for name, value in right.items() if name not in _UNSEEN}
    found = {name: getattr(given, name, None) for name in wanted}
    yield from configured(file, {name: str(x)[6:] if name == "dtype" else x for name, x in found.items()}, wanted)


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
        return f"logit of {gpt2.vocabulary[at[0]]}, reads {_direction(gpt2, at[1])}"
    return f"last layer norm, at {_direction(gpt2, at[0])}"


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


def _read(gpt2: Gpt2) -> Callable[[NDArray[Any]], NDArray[Any]]:
    """Return what reads the decoder's values off a stream that holds them twice, scaled."""
    scale = np.array([gpt2.scales[name] for name in gpt2.decoder.layout.directions])
    width, mirror = len(scale), gpt2.mirror
    return lambda x: scale * (x[:width] - x[mirror : mirror + width]) / 2
