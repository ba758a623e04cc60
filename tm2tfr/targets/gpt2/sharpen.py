"""Attention heads rewritten so that the same positions win by scores that round better.

Adding to a score what is the same for all keys changes no attention. Neither does a positive factor.

*Lookup.* From q₁·j + q₂·j² to (q₁ + 2c·q₂)·(j - c) + q₂·(j - c)²; for |h| ≤ H and c near H/2 all that competes is a
quarter as large.

*Latest write.* Cells are compared as points (u, v) of the plane (`Winding`). The score 2hk - k² + ρvj becomes

    2·u(h)·u(k) + 2·v(h)·v(k) - (u(k)² + v(k)²) + j/S,      S the span, a power of two, at least N:

less by the squared distance of the two points than the same number for all keys. Times S, all terms and with them all
partial sums are whole numbers: no kernel rounds any of them, in whatever order it adds, with or without fused
multiply-add, while S·3(U² + V²) + S is within the digits of the dtype. A cell that was written before: its key has
distance 0, all others 1 or more, and tie-breaks j/S differ by less than 1, so that the latest of its writes wins. A cell
that was not: the head has just arrived (h_i ≠ h_{i-1}, or it would be among the keys), from a neighbour, at distance 1,
which no key undercuts; of all keys at distance 1 that of position i itself is the latest. So the same position wins
as with 2hk - k², where the neighbour's is the nearest key.

What the head compares has to be in the stream: the lookups that fetch h and h_{i-1} fetch their points along.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.residual import Residual
from tm2tfr.transformer.weights import Decoder, Head

Form = dict[str, float]
"""A linear form by the names of directions."""
Carry = tuple[Form, Form]
"""What a head carries: a form that is read where it attends, and the form of directions that it is added to."""
CENTRED, CENTRED_SQUARE = "i-c", "(i-c)^2"
"""Directions that an export adds to the stream."""
POINT, POINT_SQUARE = ("u(i)", "v(i)"), "u(i)^2+v(i)^2"
"""The same: where position i is on the path of `Winding`."""


@dataclass(frozen=True)
class Scores:
    """A head's scores by components: query form times key form.

    Args:
        unit: B: exact scores of different keys differ by a multiple of B, or B/(i+1) in a lookup.
    """

    components: tuple[tuple[Form, Form], ...]
    unit: float = 1.0


@dataclass(frozen=True)
class Compared:
    """The numbers that the latest write compares, by the directions they are in: h, and the keys h_{i-1}."""

    wanted: str
    key: str

    def directions(self) -> tuple[str, ...]:
        """Return the directions for the points of both, and for the squares of the keys'."""
        return (*point(self.wanted), *point(self.key), point_square(self.key))


def point(name: str) -> tuple[str, str]:
    """Return the directions of u and v of a number."""
    return f"u({name})", f"v({name})"


def point_square(name: str) -> str:
    """Return the direction of u² + v² of a number."""
    return f"u({name})^2+v({name})^2"


def compared(decoder: Decoder) -> Compared | None:
    """Return what the latest write compares; None where there is no such head, or something but lookups writes it."""
    layout, features, squares = decoder.layout, _features(decoder), _squares(decoder)
    heads = [head for layer in decoder.layers for head in layer.heads]
    found = [c for head in heads if (c := _latest(_parts(head, layout), features, squares))]
    if len(found) != 1:
        return None
    for layer in decoder.layers:
        for head in layer.heads:
            looks = _linear_and_square(_parts(head, layout), features) is not None
            for read, written in carried(head, layout):
                if {found[0].wanted, found[0].key} & set(written) and not (looks and set(read) == {features["i"]}):
                    return None
    return found[0]


def sharpened(decoder: Decoder, head: Head, centre: int, span: int) -> Scores:
    """Return the scores of `head`, rewritten where it is a lookup or a latest write, else as they are."""
    layout, features = decoder.layout, _features(decoder)
    parts = _parts(head, layout)
    pair = _latest(parts, features, _squares(decoder))
    if pair is not None and pair == compared(decoder):
        return _on_the_path(pair, features["1"], features["i"], span)
    return _lookup(parts, features, centre) or Scores(tuple(parts))


def fetched(head: Head, decoder: Decoder) -> tuple[Carry, ...]:
    """Return all that a head carries; a lookup that fetches h or h_{i-1} fetches its point along."""
    layout, features, pair = decoder.layout, _features(decoder), compared(decoder)
    own = carried(head, layout)
    if pair is None:
        return own
    more: list[Carry] = []
    for read, written in own:
        for name in (pair.wanted, pair.key):
            if name in written:
                sign = written[name] * read[features["i"]]
                more += [({of: 1.0}, {to: sign}) for of, to in zip(POINT, point(name), strict=True)]
                more += [({POINT_SQUARE: 1.0}, {point_square(name): 1.0})] if name == pair.key else []
    return (*own, *more)


def carried(head: Head, layout: Residual) -> tuple[Carry, ...]:
    """Return what a head carries, by its components."""
    outputs = forms(head.output.transposed, layout)
    return tuple(zip(forms(head.value, layout), outputs, strict=True))


def _parts(head: Head, layout: Residual) -> list[tuple[Form, Form]]:
    return [(q, k) for q, k in zip(forms(head.query, layout), forms(head.key, layout), strict=True) if q and k]


def _linear_and_square(parts: Sequence[tuple[Form, Form]], features: dict[str, str]) -> tuple[Form, Form] | None:
    """Return the queries against i and i² if `parts` are those of a lookup."""
    place, square = features.get("i", ""), features.get("i^2", "")
    if len(parts) != 2 or {name for _, key in parts for name in key} != {place, square}:
        return None
    if any(len(key) != 1 for _, key in parts):
        return None
    by_key = {name: {d: w * weight for d, w in query.items()} for query, key in parts for name, weight in key.items()}
    return by_key[place], by_key[square]


def _lookup(parts: Sequence[tuple[Form, Form]], features: dict[str, str], centre: int) -> Scores | None:
    found = _linear_and_square(parts, features)
    if found is None:
        return None
    linear, curve = found
    moved = {d: linear.get(d, 0.0) + 2 * centre * curve.get(d, 0.0) for d in {**linear, **curve}}
    unit = max(map(abs, curve.values()))
    return Scores(((_nonzero(moved), {CENTRED: 1.0}), (curve, {CENTRED_SQUARE: 1.0})), unit)


def _latest(parts: Sequence[tuple[Form, Form]], features: dict[str, str], squares: dict[str, str]) -> Compared | None:
    """Return what is compared if `parts` are B·(2hk - k²) + T·v·j, 0 < T ≤ B; `squares`: see `_squares`."""
    if len(parts) != 3 or any(len(key) != 1 for _, key in parts) or not {"1", "i", "1/(i+1)"} <= set(features):
        return None
    tie, (last, weight) = parts[2][0], next(iter(parts[2][1].items()))
    if last != features["i"] or set(tie) != {features["1/(i+1)"]}:
        return None
    most = tie[features["1/(i+1)"]] * weight
    queries = {name: {d: w * weight for d, w in query.items()} for query, key in parts[:2] for name, weight in key.items()}
    for key, wanted in queries.items():
        if key not in squares:
            continue
        gap = -queries.get(squares[key], {}).get(features["1"], 0.0)
        for name in wanted:
            right = {key: {name: 2 * gap}, squares[key]: {features["1"]: -gap}}
            if 0 < most <= gap and queries == right and name in squares:
                return Compared(name, key)
    return None


def _on_the_path(pair: Compared, one: str, place: str, span: int) -> Scores:
    products = [({of: 2.0}, {to: 1.0}) for of, to in zip(point(pair.wanted), point(pair.key), strict=True)]
    return Scores((*products, ({one: -1.0}, {point_square(pair.key): 1.0}), ({one: 1 / span}, {place: 1.0})))


def _features(decoder: Decoder) -> dict[str, str]:
    """Return feature -> direction for each direction that is just a position feature."""
    return {feature: name for name, feature in _plain_features(decoder)}


def _squares(decoder: Decoder) -> dict[str, str]:
    """Return direction -> the direction of its square, for each number that is claimed to have one in the stream."""
    held = {s.holds: s.name for s in decoder.layout.subspaces if s.labels is None}
    return {name: held[f"{what}^2"] for what, name in held.items() if what and f"{what}^2" in held}


def _plain_features(decoder: Decoder) -> Iterator[tuple[str, str]]:
    for row, entries in enumerate(decoder.position_embedding.by_row()):
        if list(entries.values()) == [1.0]:
            yield decoder.layout.directions[row], decoder.features[next(iter(entries))]


def forms(matrix: Matrix, layout: Residual) -> list[Form]:
    """Return the rows of `matrix` as linear forms by name."""
    return [layout.named(row) for row in matrix.by_row()]


def _nonzero(form: Form) -> Form:
    return {d: w for d, w in form.items() if w}
