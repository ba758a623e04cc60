"""Overwriting a part of the residual stream in the middle of a forward pass: what interventions on weights are made of.

An engine knows no names: a patch says after which part of which layer, where in the stream, and which numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import Any

from tm2tfr.errors import EngineError

_PARTS = ("attention", "feed_forward")


@dataclass(frozen=True)
class Patch:
    """Numbers that take the place of those in the stream, at one position, once a part of a layer is computed.

    Args:
        layer: from 0; -1 for the embedding.
        part: ``embedding``, ``attention`` or ``feed_forward``: what reads the stream afterwards sees the new numbers.
        start: the first coordinate that is overwritten.
        values: the numbers from there on.

    Raises:
        EngineError: for a stage that there is in no decoder, a negative coordinate, or no numbers.
    """

    layer: int
    part: str
    start: int
    values: tuple[int | float | Fraction, ...]

    def __post_init__(self) -> None:
        known = self.part == "embedding" if self.layer == -1 else self.layer >= 0 and self.part in _PARTS
        if not known:
            what = f"nothing is patched after {self.part!r} of layer {self.layer}"
            raise EngineError(f"{what}: use (-1, 'embedding'), (n, 'attention') or (n, 'feed_forward') with n from 0 on")
        if self.start < 0 or not self.values:
            raise EngineError(
                f"a patch overwrites at least one coordinate from 0 on, not {len(self.values)} at {self.start}"
            )


NO_PATCHES: Mapping[int, Sequence[Patch]] = MappingProxyType({})
"""Position -> what is overwritten there: nothing anywhere."""


def patched(x: Any, patches: Iterable[Patch], layer: int, part: str) -> None:
    """Overwrite the stream x, (width,), an array or a list, in place, by those of `patches` that are of this stage."""
    for patch in patches:
        if (patch.layer, patch.part) == (layer, part):
            numbers = patch.values if isinstance(x, list) else [float(value) for value in patch.values]
            x[patch.start : patch.start + len(numbers)] = numbers


def check_patches(patches: Sequence[Patch], layers: int, width: int) -> None:
    """Raise EngineError if a patch is of a layer that a decoder does not have, or goes beyond its stream."""
    for patch in patches:
        if patch.layer >= layers:
            raise EngineError(f"these weights have {layers} layers, and a patch is of layer {patch.layer}, counted from 0")
        if (end := patch.start + len(patch.values)) > width:
            raise EngineError(f"the stream has {width} coordinates, and a patch overwrites coordinate {end - 1}")
