"""Attention heads rewritten so that the same positions win by scores that round better.

Adding to a score what is the same for all keys changes no attention. Neither does a positive factor.

*Lookup.* From q₁·j + q₂·j² to (q₁ + 2c·q₂)·(j - c) + q₂·(j - c)²; for |h| ≤ H and c near H/2 all that competes is a
quarter as large.

*Latest write.* To 2hk - k² comes -h², so that the score is near 0 where it matters, and the tie-break is not rounded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.weights import Decoder, Head

Form = dict[str, float]
"""A linear form by the names of directions."""
CENTRED, CENTRED_SQUARE = "i-c", "(i-c)^2"
"""Directions that an export adds to the stream."""


@dataclass(frozen=True)
class Scores:
    """A head's scores by components: query form times key form; the tie-break, if there is one, last.

    Args:
        unit: B: exact scores of different keys differ by a multiple of B, or B/(i+1) in a lookup.
    """

    components: tuple[tuple[Form, Form], ...]
    unit: float = 1.0


def sharpened(decoder: Decoder, head: Head, centre: int) -> Scores:
    """Return the scores of `head`, rewritten where it is a lookup or a latest write, else as they are."""
    names = decoder.layout.directions
    parts = [(q, k) for q, k in zip(forms(head.query, names), forms(head.key, names), strict=True) if q and k]
    features = {feature: name for name, feature in _features(decoder)}
    place, square, one = (features.get(f, "") for f in ("i", "i^2", "1"))
    return _lookup(parts, place, square, centre) or _latest(parts, place, one, names) or Scores(tuple(parts))


def _lookup(parts: Sequence[tuple[Form, Form]], place: str, square: str, centre: int) -> Scores | None:
    if len(parts) != 2 or {name for _, key in parts for name in key} != {place, square}:
        return None
    if any(len(key) != 1 for _, key in parts):
        return None
    by_key = {name: {d: w * weight for d, w in query.items()} for query, key in parts for name, weight in key.items()}
    linear, curve = by_key[place], by_key[square]
    moved = {d: linear.get(d, 0.0) + 2 * centre * curve.get(d, 0.0) for d in {**linear, **curve}}
    unit = max(map(abs, curve.values()))
    return Scores(((_nonzero(moved), {CENTRED: 1.0}), (curve, {CENTRED_SQUARE: 1.0})), unit)


def _latest(parts: Sequence[tuple[Form, Form]], place: str, one: str, names: Sequence[str]) -> Scores | None:
    if len(parts) != 3 or not one or list(parts[2][1]) != [place] or any(len(key) != 1 for _, key in parts):
        return None
    for query, key in parts[:2]:
        wanted, weight = next(iter(query.items()))
        if len(query) == 1 and f"{wanted}^2" in names:
            unit = weight * next(iter(key.values())) / 2
            if unit > 0:
                return Scores((*parts[:2], ({f"{wanted}^2": -unit}, {one: 1.0}), parts[2]), unit)
    return None


def _features(decoder: Decoder) -> Iterator[tuple[str, str]]:
    """Yield (direction, feature) for each direction that is just a position feature."""
    for row, entries in enumerate(decoder.position_embedding.by_row()):
        if list(entries.values()) == [1.0]:
            yield decoder.layout.directions[row], decoder.features[next(iter(entries))]


def forms(matrix: Matrix, names: Sequence[str]) -> list[Form]:
    """Return the rows of `matrix` as linear forms by name."""
    return [{names[c]: w for c, w in row.items()} for row in matrix.by_row()]


def _nonzero(form: Form) -> Form:
    return {d: w for d, w in form.items() if w}
