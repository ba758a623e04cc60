"""What every subspace of weights has to hold at every position of a run, and where each head has to look."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Protocol

from tm2tfr.transformer.residual import Residual, Subspace

VariableValue = Any
"""A label as text, None for ⊥; a number; or a mixture, label -> share."""


class Specification(Protocol):
    """What every subspace has to hold at every position of a run, and where each head has to look.

    It comes only from the reference. Keys are the claims of weights: what a subspace `holds`, and what a head `attends` to.
    Layers count from 0; the stages of a layer are its ``attention`` and its ``feed_forward``, and before the first there is
    the ``embedding``, of layer -1.
    """

    @property
    def tokens(self) -> Sequence[str]:
        """The tokens fed, from position 0 on, as far as this specification goes."""

    def covers(self, layout: Residual) -> bool:
        """Return whether it says what every subspace of `layout` holds."""

    def holds(self, what: str, layer: int, part: str) -> bool:
        """Return whether the subspace that holds `what` has its value after `part` of `layer`; before that, it is 0."""

    def values(self, i: int) -> Mapping[str, VariableValue]:
        """Return what each subspace holds at position `i` once written, see `vector`: a number, a label, None, numbers."""

    def stream(self, layout: Residual, i: int, layer: int, part: str) -> Sequence[VariableValue]:
        """Return the residual stream at position `i` after `part` of `layer`: (width,)."""
        values, stream = self.values(i), list[VariableValue]()
        for subspace in layout.subspaces:
            holds = self.holds(subspace.holds, layer, part)
            stream += vector(subspace, values[subspace.holds]) if holds else [0] * subspace.width
        return stream

    def attended(self, where: str, i: int) -> Sequence[int]:
        """Return the positions to which a head with the claim `where` attends from position `i`; none: no such claim."""

    def in_pass(self, layer: int, made: int) -> Specification:
        """Return the specification of the stages of `layer`, which a loop runs, in its pass number `made`, from 1."""
        return self

    def passes(self, loop: int) -> int | None:
        """Return the number of passes that loop number `loop`, from 0, must make; None if unknown."""
        return None

    def remark(self, what: str, i: int) -> str | None:
        """Return what is known about a wrong value of `what` at position `i` where every head looked as it has to."""
        return None

    def about(self, i: int) -> str | None:
        """Return which part of the program position `i` answers, in words; None if it answers no particular part."""
        return None


def vector(subspace: Subspace, value: VariableValue) -> list[VariableValue]:
    """Return a value of `Specification.values` as the coordinates of `subspace`.

    Args:
        value: a number; a label or None; or of a subspace with labels the number of each, 0 where it is left out.
    """
    if isinstance(value, Mapping):
        return [value.get(label, 0) for label in subspace.labels or ()]
    if subspace.labels is None:
        return [value if isinstance(value, int | float | Fraction) else 0]
    return [int(label == value) for label in subspace.labels]


STAGES = ("embedding", "attention", "feed_forward")
"""The parts after which there is a stream, in the order in which they are computed."""


def reached(since: tuple[int, str], layer: int, part: str) -> bool:
    """Return whether `since`, a layer and a part of it, has been computed after `part` of `layer`."""
    at, done = since
    return (at, STAGES.index(done)) <= (layer, STAGES.index(part))


def stage_text(stage: tuple[int, str], name: str = "") -> str:
    """Return a stage as people read it, with layers from 1: ``layer 4 (read tape), attention``, ``embedding``.

    Args:
        name: of the layer, if it has one of its own.
    """
    layer, part = stage
    if layer < 0:
        return "embedding"
    return f"layer {layer + 1}{f' ({name})' if name else ''}, {part.replace('_', '-')}"


LAYERS = "layers count from 1; the embedding is layer 0"
"""What JSON with records of stages says of them."""


def stage_record(stage: tuple[int, str]) -> dict[str, object]:
    """Return a stage as plain data for other programs, see `LAYERS`."""
    layer, part = stage
    return {"layer": layer + 1, "part": part}


def written(subspace: Subspace, layer: int, part: str) -> bool:
    """Return whether a subspace is claimed to hold its value after `part` of `layer`."""
    return reached(subspace.since or (-1, "embedding"), layer, part)


class ClaimedSpecification(Specification, Protocol):
    """The specification for weights whose claims say of each subspace when it has its value, and what that is."""

    layout: Residual
    """The residual stream of the weights."""

    def held(self, subspace: Subspace, i: int) -> VariableValue:
        """Return the value of a subspace of any layout at position `i` once written; None if unknown."""

    def holds(self, what: str, layer: int, part: str) -> bool:
        """Return whether the subspace that holds `what` has its value after `part` of `layer`."""
        subspace = self.layout.holding(what)
        return subspace is None or written(subspace, layer, part)

    def values(self, i: int) -> Mapping[str, VariableValue]:
        """Return the value of each subspace at position `i` once written."""
        return {subspace.holds: self.held(subspace, i) for subspace in self.layout.subspaces}

    def stream(self, layout: Residual, i: int, layer: int, part: str) -> Sequence[VariableValue]:
        """Return the residual stream at position `i` after `part` of `layer`: (width,), exact."""
        stream: list[VariableValue] = []
        for subspace in layout.subspaces:
            holds = written(subspace, layer, part)
            stream += vector(subspace, self.held(subspace, i)) if holds else [0] * subspace.width
        return stream
