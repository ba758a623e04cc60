"""Dead code by products of matrices: what is read, followed back from the unembedding through weights alone, with no run.

A head is dead if its output times value has no part in the span of what is read behind it, a unit if its writes have none;
what a part that is alive reads is added to that span. A compiler would do this first, and so does whoever looks for decoys:
what it finds is the base line of decoys, layers and units.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tm2tfr.disguises.dyadic import Dyadic
from tm2tfr.transformer.weights import Decoder

CLOSE = 1e-9
"""A part of this share, or less, is none."""


@dataclass(frozen=True)
class DeadCode:
    """What is dead: paths of heads, numbers of layers from 1, paths of units, as in a claim."""

    heads: frozenset[str] = frozenset()
    layers: frozenset[int] = frozenset()
    units: frozenset[str] = frozenset()

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {"heads": sorted(self.heads), "layers": sorted(self.layers), "units": sorted(self.units)}

    @classmethod
    def from_dict(cls, found: Mapping[str, Any]) -> DeadCode:
        """Return what `as_dict` wrote.

        Raises:
            TypeError, KeyError: if it is not that.
        """
        return cls(frozenset(found["heads"]), frozenset(map(int, found["layers"])), frozenset(found["units"]))


def dead_code(decoder: Decoder) -> DeadCode:
    """Return the heads, layers and units of a decoder that nothing reads."""
    heads, layers, units = set[str](), set[int](), set[str]()
    read = _span([decoder.unembedding.dense()], decoder.layout.width)
    for number in range(len(decoder.layers), 0, -1):
        layer, alive = decoder.layers[number - 1], False
        if (part := layer.feed_forward) is not None:
            live = _seen(read, part.output.dense())
            units |= {f"layers.{number}.units.{u}" for u in np.flatnonzero(~live)}
            alive = bool(live.any())
            read = _span([read, part.input.dense()[live]], decoder.layout.width)
        forms = [read]
        for k, head in enumerate(layer.heads):
            if _seen(read, head.output.dense() @ head.value.dense()).any():
                forms += [matrix.dense() for matrix in (head.query, head.key, head.value)]
                alive = True
            else:
                heads.add(f"layers.{number}.heads.{k}")
        read = _span(forms, decoder.layout.width)
        if not alive:
            layers.add(number)
    return DeadCode(frozenset(heads), frozenset(layers), frozenset(units))


def _span(forms: Iterable[Dyadic], width: int) -> Dyadic:
    """Return an orthonormal basis of what forms, (n, width) each, span."""
    rows: Dyadic = np.vstack([form for form in forms if len(form)] or [np.zeros((0, width))])
    sizes = np.linalg.norm(rows, axis=1)
    rows = rows[sizes > 0] / sizes[sizes > 0, None]
    if not len(rows):
        return rows
    _, found, basis = np.linalg.svd(rows, full_matrices=False)
    return np.asarray(basis[found > CLOSE * found[0]], dtype=np.float64)


def _seen(read: Dyadic, written: Dyadic) -> Any:
    """Return of each column of what is written, (width, n), whether any of it is in the span of what is read: (n,)."""
    parts = np.linalg.norm(read @ written, axis=0) if len(read) else np.zeros(written.shape[1])
    return parts > CLOSE * max(1e-300, float(np.abs(written).max(initial=0.0)))
