"""A forward pass layer by layer, as the dense and the exact engine run it; and numbers overwritten in the middle of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

from tm2tfr.base.errors import EngineError

# ── overwriting a part of the residual stream in the middle of a forward pass: what interventions on weights are made of
# An engine knows no names: a patch says after which part of which layer, where in the stream, and which numbers.
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


class Watch(Protocol):
    """An observer of a forward pass from the inside. Layers count from 0."""

    def stage(self, layer: int, part: str, residual: Any) -> None:
        """Receive the residual stream after `part`: ``embedding`` (layer -1), ``attention``, ``feed_forward``.

        residual: (width,).
        """

    def head(self, layer: int, head: int, scores: Any, attended: Any) -> None:
        """Receive a head's scores, and the positions that share its weight.

        scores: (n_key,), of the positions that its mask lets it see, in order: from 0 on, or from this one with mask past.
        """


class Passed(NamedTuple):
    """What there is at a position after a whole sequence was run: the stream after the last layer, and the logits."""

    residual: Any
    """(width,)"""
    logits: Any
    """(answers,)"""


class LayerByLayer(ABC):
    """A session that is run layer by layer, on the next position or on a whole sequence: the same numbers both ways.

    An engine says what the embedding, the parts of a layer and the logits are. A stream x, (width,), is changed in place.

    Args:
        layers, width: of the decoder.
    """

    def __init__(self, layers: int, width: int) -> None:
        self._depth, self._width, self._position = layers, width, 0
        self.residual: Any = ()
        self.logits: Any = ()

    def feed(self, token: int, watch: Watch | None = None, patches: Sequence[Patch] = ()) -> int:
        """Run the next position on `token` and return the first token with the largest logit.

        Args:
            patches: what is overwritten in the stream on the way; the watch sees it overwritten.

        Raises:
            EngineError: see `run`. The session cannot be used after that.
        """
        at = self._position
        (passed,) = self.run([token], {} if watch is None else {at: watch}, {at: patches} if patches else NO_PATCHES)
        self.residual, self.logits = passed
        return self._first_of_the_largest()

    def run(
        self, tokens: Sequence[int], watches: Mapping[int, Watch], patches: Mapping[int, Sequence[Patch]]
    ) -> list[Passed]:
        """Run the next positions on `tokens`, of which heads see all that their masks let them, and return what there is.

        Raises:
            EngineError: if a number is too large for the dtype, a layer norm divides by 0, or there are more tokens than
                positions in the position table, and for a patch that does not fit.
        """
        first, end = self._position, self._position + len(tokens)
        for own in patches.values():
            check_patches(own, self._depth, self._width)

        def staged(i: int, x: Any, layer: int, part: str) -> None:
            patched(x, patches.get(i, ()), layer, part)
            if part == "feed_forward":
                self._checked(x, layer, i)
            if i in watches:
                watches[i].stage(layer, part, x.copy())

        streams, plain = [], not (watches or patches)  # most positions are: a session feeds millions of them
        for i, token in enumerate(tokens, first):
            streams.append(x := self._embedded(token, i))
            if not plain:
                staged(i, x, -1, "embedding")
        self._position = end
        for n in range(self._depth):
            reads = [self._taken(n, x, i) for i, x in enumerate(streams, first)]
            for i, (x, read) in enumerate(zip(streams, reads, strict=True), first):
                if read is not None:
                    self._attend(n, x, read, i, end, watches.get(i))
            for i, x in enumerate(streams, first):
                if plain:
                    self._feed_forward(n, x, i)
                    self._checked(x, n, i)
                else:
                    staged(i, x, n, "attention")
                    self._feed_forward(n, x, i)
                    staged(i, x, n, "feed_forward")
        return [Passed(x, self._answers(x, i)) for i, x in enumerate(streams, first)]

    @abstractmethod
    def _embedded(self, token: int, position: int) -> Any:
        """Return the stream at a position before the first layer."""

    @abstractmethod
    def _taken(self, n: int, x: Any, position: int) -> Any:
        """Keep the keys and values of layer n for a position, and return what its heads read there; None: it has none."""

    @abstractmethod
    def _attend(self, n: int, x: Any, reads: Any, position: int, length: int, watch: Watch | None) -> None:
        """Add what the heads of layer n carry to x: all of them read the stream before any writes to it."""

    @abstractmethod
    def _feed_forward(self, n: int, x: Any, position: int) -> None:
        """Add what the feed-forward part of layer n answers to x."""

    @abstractmethod
    def _answers(self, x: Any, position: int) -> Any:
        """Return the logits of a position: (answers,)."""

    @abstractmethod
    def _first_of_the_largest(self) -> int:
        """Return the place of the first of the largest logits."""

    def _checked(self, x: Any, after: int, position: int) -> None:  # noqa: B027  (rationals never are)
        """Raise EngineError if a number of the stream after layer `after` is too large."""
