"""Which parts of the stream are computed from which: the pattern of the weights that are not 0, and not what they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.weights import Decoder


@dataclass(frozen=True)
class WiredHead:
    """A head.

    Args:
        attends: what it is claimed to attend to; empty if nothing is claimed.
        query, key: what its queries and its keys are computed from.
    """

    attends: str
    query: frozenset[str]
    key: frozenset[str]


@dataclass
class Wire:
    """What a subspace of the stream is computed from, subspaces by their names.

    Args:
        head: the head that carries it there; None: it is computed by a feed-forward part, or by the embedding.
        reads: what is read: at the positions that the head attends to, or at its own.
    """

    head: WiredHead | None = None
    reads: set[str] = field(default_factory=set)


def wiring(decoder: Decoder) -> tuple[Mapping[str, Wire], Mapping[str, frozenset[str]]]:
    """Return what each subspace is computed from, and what each output is, all by their names."""
    layout = decoder.layout
    own = [subspace.name for subspace in layout.subspaces for _ in subspace.directions]
    found: dict[str, Wire] = {}
    for layer in decoder.layers:
        for head in layer.heads:
            claim = "" if head.claim is None else head.claim.attends
            wired = WiredHead(claim, _columns(head.query, own), _columns(head.key, own))
            read_by_value = _rows(head.value, own)
            for row, column, _ in head.output.entries():
                wire = found.setdefault(own[row], Wire())
                wire.head = wired
                wire.reads |= read_by_value.get(column, set())
        if layer.feed_forward is not None:
            read_by_unit = _rows(layer.feed_forward.input, own)
            for row, unit, _ in layer.feed_forward.output.entries():
                found.setdefault(own[row], Wire()).reads |= read_by_unit.get(unit, set())
    rows = _rows(decoder.unembedding, own)
    outputs, start = {}, 0
    for output in decoder.outputs:
        end = start + len(output.answers)
        outputs[output.name] = frozenset(what for row in range(start, end) for what in rows.get(row, ()))
        start = end
    return found, outputs


def _columns(matrix: Matrix, own: list[str]) -> frozenset[str]:
    return frozenset(own[column] for _, column, _ in matrix.entries())


def _rows(matrix: Matrix, own: list[str]) -> dict[int, set[str]]:
    found: dict[int, set[str]] = {}
    for row, column, _ in matrix.entries():
        found.setdefault(row, set()).add(own[column])
    return found
