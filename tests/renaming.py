"""Decoders whose heads, layers, subspaces and units have other names: all that names may change is what is shown."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

from tm2tfr.transformer.residual import Residual
from tm2tfr.transformer.weights import Decoder, Head, Layer

STYLES = ("foreign", "rotated", "shuffled", "alike")
"""``foreign``: each name is one letter of a script that occurs nowhere else, so that a text can be turned back.
``rotated``: the names that were there, given to others. ``shuffled``: the same in a random order, but heads are called by
the claims of others. ``alike``: all heads, layers and units are called the same, and subspaces like heads; only the
names of directions must be unique.
"""
_FIRST_LETTER = 0xAC00  # Hangul syllables


@dataclass(frozen=True)
class Renamed:
    """A decoder with other names, and what was called what: `subspaces`, `layers`, `heads`, `units` from new to old names.

    Where new names are not unique, the old ones are known by place alone.
    """

    decoder: Decoder
    original: Decoder
    letters: dict[int, str]

    def restored(self, text: str) -> str:
        """Return a text with the old names; in the style ``foreign`` alone."""
        return text.translate(self.letters)

    def subspace(self, name: str) -> str:
        """Return what the subspace `name` was called."""
        places = zip(self.decoder.layout.subspaces, self.original.layout.subspaces, strict=True)
        return next((old.name for new, old in places if new.name == name), name)


def renamed(decoder: Decoder, style: str, seed: int = 0) -> Renamed:
    """Return `decoder` with every head, layer, subspace and unit renamed in one of `STYLES`."""
    dice, letters = random.Random(seed), dict[int, str]()

    def others(names: Sequence[str], *, unique: bool = False) -> list[str]:
        given = list(names)
        if style == "foreign":
            return list(_letters(names, letters))
        if style == "rotated":
            return [*given[1:], *given[:1]]
        if style == "shuffled":
            dice.shuffle(given)
            return given
        return [f"cell h{n}" for n in range(len(given))] if unique else ["cell h"] * len(given)

    spaces = decoder.layout.subspaces
    layout = tuple(replace(s, name=n) for s, n in zip(spaces, others([s.name for s in spaces], unique=True), strict=True))
    claims = style == "shuffled"  # the keys of the specification, given to others
    every = [head for layer in decoder.layers for head in layer.heads]
    heads = iter(others([head.claim.attends if claims and head.claim else head.name for head in every]))
    units = iter(others([u for layer in decoder.layers if layer.feed_forward for u in layer.feed_forward.units]))
    names = iter(
        others([layer.name for layer in decoder.layers]) if style != "alike" else ["unembedding"] * len(decoder.layers)
    )

    def head_of(head: Head) -> Head:
        return replace(head, name=next(heads))

    def layer_of(layer: Layer) -> Layer:
        ffn = layer.feed_forward
        if ffn is not None:
            ffn = replace(ffn, units=tuple(next(units) for _ in ffn.units))
        return replace(layer, name=next(names), heads=tuple(map(head_of, layer.heads)), feed_forward=ffn)

    changed = replace(decoder, layout=Residual(layout), layers=tuple(map(layer_of, decoder.layers)))
    return Renamed(changed, decoder, letters)


def _letters(names: Sequence[str], letters: dict[int, str]) -> Iterator[str]:
    for name, letter in zip(names, count(_FIRST_LETTER + len(letters)), strict=False):
        letters[letter] = name
        yield chr(letter)


def nameless(cause: dict[str, Any] | None, found: Renamed) -> dict[str, Any] | None:
    """Return a cause as data without the names of heads and layers, and with the old name of its subspace."""
    if cause is None:
        return None
    plain = {key: value for key, value in cause.items() if key != "layer_name"}
    if plain["attention"] is not None:
        plain["attention"] = {key: value for key, value in plain["attention"].items() if key != "head"}
    return {**plain, "subspace": found.subspace(plain["subspace"])}
