"""The figure: what is measured of each case, by the length of the words."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from tm2tfr.contract import ManyLabels
from tm2tfr.softness.figure_1.cases import MeasuredOn
from tm2tfr.softness.needed import Needed, growth, local_exponent, needed_exponent
from tm2tfr.softness.warmest import exponent
from tm2tfr.transformer.local import any_length
from tm2tfr.transformer.soft import largest_entry
from tm2tfr.transformer.weights import Decoder

LENGTHS = (8, 16, 32, 64)
"""The lengths of words that exponents are over."""
_FAR = (10**4, 10**8)
"""Between these numbers of positions the exponent of the largest entry is taken: there the largest feature decides."""


@dataclass(frozen=True, kw_only=True)
class FigureRow:
    """What is measured of a case.

    Args:
        entries: p, where the largest entry before the first layer grows like n^p with the number of positions.
        features: the position features.
        any_length: whether the local bounds are the same for any length.
        growth: the temperatures by length.
    """

    case: MeasuredOn
    layers: int
    heads: int
    entries: float
    features: tuple[str, ...]
    any_length: bool
    growth: tuple[Needed, ...]

    @property
    def needed(self) -> float | None:
        """The exponent of 1/τ, as needed, in the number of positions."""
        return needed_exponent(self.growth)

    @property
    def local(self) -> float | None:
        """That of the local bounds."""
        return local_exponent(self.growth)

    @property
    def theorem(self) -> float | None:
        """That of Theorem 26."""
        return exponent([(at.positions, at.theorem) for at in self.growth if at.theorem is not None])


@dataclass(frozen=True)
class Figure:
    """The figure, a row for each case."""

    rows: tuple[FigureRow, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return all of it as plain data."""
        return {
            "rows": [asdict(row) | {"needed": row.needed, "local": row.local, "theorem": row.theorem} for row in self.rows]
        }

    def json(self) -> str:
        """Return all of it as JSON, on one line."""
        return json.dumps(self.as_dict(), ensure_ascii=False) + "\n"


def row_of(case: MeasuredOn, decoder: Decoder, labels: ManyLabels, lengths: Sequence[int] = LENGTHS) -> FigureRow:
    """Return what is measured of the weights of a case: labels is what is right.

    Raises:
        EngineError: if the dense engine cannot run the weights.
    """
    near, far = (largest_entry(decoder, n) for n in _FAR)
    return FigureRow(
        case=case,
        layers=len(decoder.layers),
        heads=sum(len(layer.heads) for layer in decoder.layers),
        entries=math.log(far / near) / math.log(_FAR[1] / _FAR[0]),
        features=decoder.features,
        any_length=any_length(decoder),
        growth=growth(decoder, labels, lengths),
    )
