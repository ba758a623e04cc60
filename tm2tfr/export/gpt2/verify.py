"""Is a checkpoint still a machine? Its weights against the machine's, and its run against the simulator's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tm2tfr.engines.dense import Dense
from tm2tfr.export.gpt2.directory import Checkpoint, load
from tm2tfr.export.gpt2.documents import KEY, config
from tm2tfr.export.gpt2.running import Run, Running, compared
from tm2tfr.export.gpt2.tensors import PAD, SLOTS, UNK, Gpt2, translated
from tm2tfr.machine.spec import Machine
from tm2tfr.transformer.weights import Decoder

_SHOWN = 3
_COMPARED = 512
"""Positions beyond the first wrong token are not looked at for the cause, nor, without one, those beyond this."""


@dataclass(frozen=True)
class Verdict:
    """What was found out about a checkpoint.

    Args:
        weights: what differs between its weights or configuration and the machine's, most telling first.
        run: its run beside the simulator's; None if its vocabulary is not the machine's.
        cause: where in the residual stream the run first goes wrong; empty if nowhere.
        tensors: how many were compared; versions: what ran it.
    """

    machine: str
    weights: tuple[str, ...]
    run: Run | None
    cause: str
    tensors: int
    versions: str

    @property
    def same(self) -> bool:
        """Whether the checkpoint is the machine, in its weights and on the word it was run on."""
        return not self.weights and self.run is not None and self.run.difference is None

    def __str__(self) -> str:
        """Return the verdict in a few lines."""
        differ = f"{len(self.weights):,} difference{'' if len(self.weights) == 1 else 's'}"
        lines = [f"weights: {differ if self.weights else f'all {self.tensors} tensors are those of {self.machine}'}"]
        lines += [f"  {line}" for line in self.weights[:_SHOWN]]
        if self.run is None:
            lines.append("run: none, since the vocabulary is not the machine's")
        elif self.run.difference is None:
            how = "teacher-forced and generated" if self.run.generated else "teacher-forced"
            lines.append(f"run: {self.run.word!r}, {len(self.run.tokens):,} positions, {how}: the simulator's tokens")
        else:
            lines.append(f"run: {self.run.word!r}: {self.run.difference}")
        lines += [f"  {self.cause}"] if self.cause else []
        verdict = f"yes: this checkpoint is {self.machine}" if self.same else f"NO: this checkpoint is not {self.machine}"
        return "\n".join([*lines, f"ran in {self.versions}", verdict])


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
    weights = [*_configured(checkpoint, gpt2), *_weights(checkpoint, gpt2, right)]
    run, cause = None, ""
    own = {token: n for token, n in running.tokenizer.get_vocab().items() if token not in (PAD, UNK)}
    if own == {token: n for n, token in enumerate(decoder.vocabulary)}:
        run = compared(running, gpt2.vocabulary, machine, word, checkpoint.recipe.positions)
        cause = _cause(running, gpt2, run)
    else:
        weights.insert(0, "tokenizer.json: its vocabulary is not the machine's")
    return Verdict(machine.name, tuple(weights), run, cause, len(right), running.versions)


def _configured(checkpoint: Checkpoint, gpt2: Gpt2) -> Iterator[str]:
    """Yield the settings that are not the recipe's."""
    found = checkpoint.settings
    for name, value in config(gpt2).items():
        if name != KEY and name in found and found[name] != value:
            yield f"config.json: {name} is {found[name]!r}, should be {value!r}"


def _weights(checkpoint: Checkpoint, gpt2: Gpt2, right: dict[str, NDArray[Any]]) -> Iterator[str]:
    """Yield each weight that is another, tensor by tensor; of many in one tensor the first, and their number."""
    for name in sorted({*right, *checkpoint.tensors}):
        have, want = checkpoint.tensors.get(name), right.get(name)
        if have is None or want is None:
            yield f"{name}: {'missing' if have is None else 'is not the machine’s'}"
        elif have.shape != want.shape:
            yield f"{name}: has shape {have.shape}, should have {want.shape}"
        else:
            places = np.argwhere(have != want)
            if len(places):
                at = tuple(int(n) for n in places[0])
                more = f" (and {len(places) - 1:,} more in this tensor)" if len(places) > 1 else ""
                where = f"{name}[{', '.join(map(str, at))}]"
                yield f"{where} is {have[at]:.17g}, should be {want[at]:.17g}: {described(gpt2, name, at)}{more}"


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
    component = SLOTS.index(slot) if kind < 2 and slot in SLOTS else slot
    return f"{name}, {('query', 'key', 'value')[kind]} {component}"


def _unit(gpt2: Gpt2, layer: int, unit: int) -> str:
    ffn = gpt2.decoder.layers[layer].feed_forward
    return f"unit {ffn.units[unit]!r}" if ffn is not None and unit < len(ffn.units) else f"unit {unit}, which has no task"


def _direction(gpt2: Gpt2, coordinate: int) -> str:
    sign, place = ("-", coordinate - gpt2.mirror) if coordinate >= gpt2.mirror else ("", coordinate)
    return f"{sign}{gpt2.directions[place]}" if place < len(gpt2.directions) else f"dimension {coordinate}, which is unused"


# ── where a run goes wrong ──────────────────────────────────────────────────────────────────────────────────
class _Stages:
    """Keeps the stream of the plain engine before the first layer and after each."""

    def __init__(self) -> None:
        self.kept: list[NDArray[Any]] = []

    def stage(self, layer: int, part: str, residual: Any) -> None:
        if part in ("embedding", "feed_forward"):
            self.kept.append(residual)

    def head(self, layer: int, head: int, scores: Any, attended: Any) -> None:
        pass


def _cause(running: Running, gpt2: Gpt2, run: Run) -> str:
    """Return the first direction, by position and then by layer, that is not what the plain engine has there."""
    count = _COMPARED if run.difference is None else run.difference.position + 1
    number = {token: n for n, token in enumerate(gpt2.vocabulary)}
    tokens = [number[token] for token in run.tokens[:count]]
    streams, session = running.streams(tokens), Dense().start(gpt2.decoder)
    directions = gpt2.decoder.layout.directions
    scale = np.array([gpt2.scales[name] for name in directions])
    for i, token in enumerate(tokens):
        stages = _Stages()
        session.feed(token, stages)
        for n, wanted in enumerate(stages.kept):
            x = streams[n, i]
            found = scale * (x[: len(scale)] - x[gpt2.mirror : gpt2.mirror + len(scale)]) / 2
            off = np.flatnonzero(~(abs(found - wanted) <= 0.25 / (i + 1)))  # a NaN is off, too
            if len(off):
                at = int(off[0])
                where = f"layer {n} ({gpt2.decoder.layers[n - 1].name})" if n else "the embedding"
                told = f"{directions[at]} should be {wanted[at]:.9g}, is {found[at]:.9g}"
                return f"the stream first goes wrong at position {i}, after {where}: {told}"
    return ""
