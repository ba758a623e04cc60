"""Which attention heads need not scan every earlier position, and the conditions that make that sound.

Everything is decided from the matrices. Properties of values (that a key's second component is the square of its
first, an integer; that a score is concave) are checked by the engine on the actual numbers, at every position;
if one fails, the engine starts again and scans that head. So a wrong guess here costs time and nothing else.

Mean. No component is non-zero in both the query and the key matrix: every score is 0, all positions share the
attention, and the sum over them is the previous sum plus one term.

Position. Every component of the key is a combination of the position features i and i², and each of these occurs once.
The score is then γj + δj², with no added constant in whose rounding it could get lost; where δ < 0 it is concave in j
with its real maximum at v = -γ/2δ. Its rounded value can be maximal only near v, and it is only computed there, see
`fast.attention`.

Latest. The key is (k, k², constants …, one tie-break that is a multiple of i), where k and k² may be anything. Where
k is an integer, k² its square, and the query's coefficient of k² is negative, the score without the tie-break is
concave in k. Among the positions of one k all other products are equal, so that the exact score is monotone in j,
with the sign of the query's tie-break: that sign is the same at all positions if the query component is a combination
of features with coefficients of one sign, and none of them is ever negative (interval analysis over the embedding). So
only the latest position of each k (the earliest for the negative sign) can win, exactly.

Grouped. None of the above, and no component of the key reads a direction that is a function of the position alone, so
that the key may well take few values: a token's class, or what a head found there. Positions whose keys are equal
have equal scores, bit by bit, so that one score for each key that has occurred decides which positions share the
attention. How many keys there are shows in the run; where grouping does not pay, the head is scanned, see `fast.groups`.

Scan. All others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal

import numpy as np

from tm2tfr.engines import dependence
from tm2tfr.engines.overflow import reach
from tm2tfr.transformer.matrix import Floats, Ints
from tm2tfr.transformer.positions import feature
from tm2tfr.transformer.weights import Decoder, Head, Layer

HeadKind = Literal["mean", "position", "latest", "grouped", "scan"]
Terms = tuple[tuple[str, float, float], ...]
"""A combination of position features: (feature, weight of the embedding, weight of the key) in order of summation."""


@dataclass(frozen=True)
class Recognition:
    """The kind of a head.

    Args:
        kind, why: the kind that was recognised, and on what grounds; or why the head must be scanned.
        components: the components of query and key that matter.
        pure: component -> its combination of features, for key components made of position features alone.
        linear, square, linear_weight, square_weight: position: the components of i and i², and their coefficients.
        key, key_square, tie: latest: the components k, k² and the tie-break.
        sign: latest: +1 if the latest position of a key wins, -1 if the earliest.
    """

    kind: HeadKind
    why: str
    components: tuple[int, ...] = ()
    pure: Mapping[int, Terms] = field(default_factory=dict)
    linear: int = -1
    square: int = -1
    linear_weight: float = 0.0
    square_weight: float = 0.0
    key: int = -1
    key_square: int = -1
    tie: int = -1
    sign: int = 0


def recognise(decoder: Decoder) -> tuple[tuple[Recognition, ...], ...]:
    """Return the kind of each head of each layer; one whose scores may get too large for floats is scanned."""
    known, fits = dependence.sources(decoder), reach(decoder).scores
    of_layer = _of_layer if decoder.layout.width <= dependence.WIDEST else _of_layer.__wrapped__
    embedded, names = (dependence.Same(known.features), dependence.Same(known.weights)), decoder.features
    return tuple(
        of_layer(dependence.Same(layer), dependence.Same(around), *embedded, names, small) if layer.heads else ()
        for layer, around, small in zip(decoder.layers, known.layers, fits, strict=True)
    )


@lru_cache(maxsize=dependence.KEPT)
def _of_layer(
    layer: dependence.Same[Layer],
    around: dependence.Same[dependence.LayerSources],
    features: dependence.Same[Ints],
    weights: dependence.Same[Floats],
    names: tuple[str, ...],
    small: tuple[bool, ...],
) -> tuple[Recognition, ...]:
    """Return the kind of each head of a layer; small: whether their scores are finite."""
    known = dependence.Sources((), around.part.before, features.part, weights.part)
    return tuple(
        recognised(head, known, around.part.before, names) if fits else _unbounded(head)
        for head, fits in zip(layer.part.heads, small, strict=True)
    )


def _unbounded(head: Head) -> Recognition:
    """Return a scan: every score must be computed to see whether it is finite."""
    components = tuple(head.components.tolist())
    return _scan(components, "its scores may get too large for floats")


def recognised(head: Head, known: dependence.Sources, classes: dependence.Classes, names: tuple[str, ...]) -> Recognition:
    """Return the kind of `head`; classes: (width,) the sources of what it reads."""
    components = tuple(head.components.tolist())
    if not components:
        return Recognition("mean", "queries or keys are 0: all positions share the attention, so a running sum is kept")
    keys = dependence.rows_of(head.key)
    found = _searched(head, components, keys, known, classes, names)
    if found.kind == "scan" and not any(classes[c] == dependence.POSITION for k in components for c, _ in keys[k]):
        why = "its key contains no position: positions are grouped by key, and each key is scored once"
        return Recognition("grouped", why, components)
    return found


def _searched(
    head: Head,
    components: tuple[int, ...],
    keys: list[list[tuple[int, float]]],
    known: dependence.Sources,
    classes: dependence.Classes,
    names: tuple[str, ...],
) -> Recognition:
    """Return the kind of a head that can be searched by position or by key; or why it cannot."""
    pure = {}
    for c in components:
        terms = combination(keys[c], known, classes, names)
        if terms is not None:
            pure[c] = terms
    if len(pure) == len(components):
        return _position(components, pure)
    rest = [c for c in components if c not in pure]
    if len(rest) != 2:
        return _scan(
            components, f"{len(rest)} components of its key depend on more than the position; expected none or two"
        )
    return _latest(head, components, pure, (rest[0], rest[1]), combination_of_query(head, known, classes, names))


def combination(
    row: list[tuple[int, float]], known: dependence.Sources, classes: dependence.Classes, names: tuple[str, ...]
) -> Terms | None:
    """Return a row of a matrix as a combination of position features; None if it reads anything else."""
    terms = []
    for direction, weight in row:
        if classes[direction] == dependence.ZERO:
            continue
        if classes[direction] not in (dependence.CONSTANT, dependence.POSITION) or known.features[direction] < 0:
            return None
        terms.append((names[known.features[direction]], float(known.weights[direction]), weight))
    return tuple(terms)


def combination_of_query(
    head: Head, known: dependence.Sources, classes: dependence.Classes, names: tuple[str, ...]
) -> dict[int, Terms | None]:
    """Return each component of the query as a combination of position features; None if it reads anything else."""
    return {c: combination(row, known, classes, names) for c, row in enumerate(dependence.rows_of(head.query))}


def _position(components: tuple[int, ...], pure: Mapping[int, Terms]) -> Recognition:
    places: dict[str, list[tuple[int, float]]] = {}
    for c, terms in pure.items():
        for name, embedded, weight in terms:
            places.setdefault(name, []).append((c, embedded * weight))
    if set(places) != {"i", "i^2"} or any(len(places.get(f, ())) != 1 for f in ("i", "i^2")):
        return _scan(components, "its score is not the sum of one multiple of j and one of j²")
    (linear, linear_weight), (square, square_weight) = places["i"][0], places["i^2"][0]
    return Recognition(
        "position",
        "its keys are position features, its score is concave in the position: searched around the maximum",
        components,
        pure,
        linear=linear,
        square=square,
        linear_weight=linear_weight,
        square_weight=square_weight,
    )


def _latest(
    head: Head,
    components: tuple[int, ...],
    pure: Mapping[int, Terms],
    rest: tuple[int, int],
    query: Mapping[int, Terms | None],
) -> Recognition:
    moving = [c for c, terms in pure.items() if any(name != dependence.CONSTANT_FEATURE for name, _, _ in terms)]
    if len(moving) != 1 or [f for f, _, _ in pure[moving[0]]] != ["i"]:
        return _scan(
            components, "its key does not have exactly one tie-break, a component that is a multiple of the position"
        )
    tie = moving[0]
    sign = _sign(query[tie]) * _sign(pure[tie], strict=False)
    if sign == 0:
        return _scan(components, "the sign of its tie-break is not the same at all positions")
    which = "latest" if sign > 0 else "earliest"
    return Recognition(
        "latest",
        f"its keys are (k, k², …, a tie-break): searched among the {which} position of each k",
        components,
        pure,
        key=rest[0],
        key_square=rest[1],
        tie=tie,
        sign=sign,
    )


def _sign(terms: Terms | None, *, strict: bool = True) -> int:
    """Return +1 or -1 if the combination has that sign at every position (or may be 0, unless `strict`)."""
    known = [feature(name).values for name, _, _ in terms or ()]
    if not terms or "any sign" in known or (strict and "positive" not in known):
        return 0
    signs = {np.sign(embedded * weight) for _, embedded, weight in terms}
    return int(signs.pop()) if len(signs) == 1 else 0


def _scan(components: tuple[int, ...], why: str) -> Recognition:
    return Recognition("scan", why, components)
