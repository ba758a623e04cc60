"""The choices for an export, and the constants that follow from them. All of them but gamma are powers of two."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isqrt
from typing import ClassVar

from tm2tfr.targets.common.fitting import Options, Recipe
from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.residual import Residual
from tm2tfr.transformer.weights import Decoder, Head

# ── Attention heads rewritten so that the same positions win by scores that round better.
#
# Adding to a score what is the same for all keys changes no attention. Neither does a positive factor.
#
# *Lookup.* From q₁·j + q₂·j² to (q₁ + 2c·q₂)·(j - c) + q₂·(j - c)²; for |h| ≤ H and c near H/2 all that competes is a
# quarter as large.
#
# *Latest write.* Cells are compared as points (u, v) of the plane (`Winding`). The score 2hk - k² + ρvj becomes
#
#     2·u(h)·u(k) + 2·v(h)·v(k) - (u(k)² + v(k)²) + j/S,      S the span, a power of two, at least N:
#
# less by the squared distance of the two points than the same number for all keys. Times S, all terms and with them all
# partial sums are whole numbers: no kernel rounds any of them, in whatever order it adds, with or without fused
# multiply-add, while S·3(U² + V²) + S is within the digits of the dtype. A cell that was written before: its key has
# distance 0, all others 1 or more, and tie-breaks j/S differ by less than 1, so that the latest of its writes wins. A cell
# that was not: the head has just arrived (h_i ≠ h_{i-1}, or it would be among the keys), from a neighbour, at distance 1,
# which no key undercuts; of all keys at distance 1 that of position i itself is the latest. So the same position wins
# as with 2hk - k², where the neighbour's is the nearest key.
#
# What the head compares has to be in the stream: the lookups that fetch h and h_{i-1} fetch their points along.
Form = dict[str, float]
"""A linear form by the names of directions."""
Carry = tuple[Form, Form]
"""A value that a head carries: the form that is read where it attends, and the form that it is added to."""
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
    """Return the values that a head carries, by component."""
    outputs = forms(head.output.transposed, layout)
    return tuple(zip(forms(head.value, layout), outputs, strict=True))


def _parts(head: Head, layout: Residual) -> list[tuple[Form, Form]]:
    return [(q, k) for q, k in zip(forms(head.query, layout), forms(head.key, layout), strict=True) if q and k]


def _linear_and_square(parts: Sequence[tuple[Form, Form]], features: dict[str, str]) -> tuple[Form, Form] | None:
    """Return the queries against i and i² if `parts` are the parts of a lookup, else None."""
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
    return Scores((({d: w for d, w in moved.items() if w}, {CENTRED: 1.0}), (curve, {CENTRED_SQUARE: 1.0})), unit)


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


@dataclass(frozen=True, kw_only=True)
class Gpt2Recipe(Recipe):
    """How a decoder becomes a GPT-2; `positions` are the rows of the position table.

    Args:
        stock: use GPT-2's own epsilon and GELU; otherwise a layer norm that is the identity, and ReLU.
    """

    stock: bool = False
    proved_in: ClassVar[str] = "limits"
    """The module with the bounds on rounding."""

    @property
    def options(self) -> Options:
        """The options of the export that have this recipe."""
        return {"positions": self.positions, "max_head": self.max_head, "dtype": self.dtype, "stock": self.stock}

    def assured(self, beyond: str) -> str:
        """Return the paragraph of a model card that says how far the model is right, and what lies `beyond`."""
        where = f"`tm2tfr/targets/gpt2/{self.proved_in}.py`"
        return f"""**How far it is right.** {self.stated}
That follows from a proof of the weights in exact arithmetic and bounds on the rounding of floating point, in
{where}. The bounds hold for any order in which a kernel adds, with and without fused multiply-add;
each operation is assumed to be rounded with all digits of {self.dtype}. There is no position beyond: {beyond}.
Load it in {self.dtype}, as its configuration says: nothing is proved for fewer digits."""

    @property
    def span(self) -> int:
        """S, a power of two, at least N: the stream holds i/S, (i/S)², h/S and (h/S)²."""
        return span(self.positions)

    @property
    def centre(self) -> int:
        """c: lookups compare h - c with j - c, whose squares are a quarter of the size."""
        return centre(self.max_head)

    @cached_property
    def winding(self) -> Winding:
        """The path on which the latest write compares cells."""
        return Winding(self.max_head)

    @property
    def digit(self) -> int:
        """A power of two, at least U and V: the stream holds u and v divided by it."""
        return span(max(self.winding.reach))

    @property
    def digit_square(self) -> int:
        """A power of two, at least U² + V²: the stream holds u² + v² divided by it."""
        return span(self.winding.square)

    @property
    def temperature(self) -> float:
        """1/τ, by which queries are multiplied: even the weight of the strongest rival is then exactly 0."""
        return float(self.span * SHARPNESS)

    @property
    def gain(self) -> float:
        """K: a feed-forward layer's input is multiplied by it and its output divided, which turns GELU into ReLU."""
        return float(gain(self.positions)) if self.stock else 1.0

    @property
    def sink(self) -> float:
        """C: a constant direction in every token's embedding, the layer norm's variance; 0: none is needed."""
        return SINK[self.dtype] if self.stock else 0.0

    @property
    def epsilon(self) -> float:
        """The layer norm's epsilon: so large that nothing else counts, or GPT-2's."""
        return 1e-5 if self.stock else 2.0**100

    def gamma(self, width: int) -> float:
        """Return the layer norm's weight, all alike, for `width` dimensions: what undoes the division."""
        return math.sqrt(2 * self.sink**2 / width + self.epsilon) if self.stock else 2.0**50

    @property
    def activation(self) -> str:
        """The activation by the name that GPT-2's configuration gives it."""
        return "gelu_new" if self.stock else "relu"


SHARPNESS = 2**14
"""The gaps of all scores, at their smallest, times the temperature, where nothing is rounded."""
SINK = {"float64": 2.0**30, "float32": 2.0**13}
"""dtype -> C."""


def span(positions: int) -> int:
    """Return the least power of two that is at least `positions`, or whatever number is given."""
    return 1 << max(0, positions - 1).bit_length()


def centre(head: int) -> int:
    """Return c for |h| ≤ `head`."""
    return head // 2


def gain(positions: int) -> int:
    """Return K: 64 times the span, so that 1/(i+1) is past the bend of GELU; at least 2^16."""
    return max(2**16, 64 * span(positions))


@dataclass(frozen=True)
class Winding:
    """Cells as points of the plane: a path of whole numbers (u, v) that winds, so that scores of far cells stay small.

    The path starts at (0, 0) and goes through the plane in rows: up row 0 to v = V, down row 1 to v = -V, up row 2, and so
    on; cells left of 0 are at the opposite points. Different cells are at different points, neighbours at a distance of 1::

        v =  V   3  4  15 …        V = 3: cells 0, 1, 2, 3 are row 0, cells 4 to 10 row 1, cells 11 to 17 row 2
                 2  5  14
                 1  6  13          u(-h) = -u(h), v(-h) = -v(h), and u² + v² is the same for h and -h
                 0  7  …

    The squared distance of two cells takes the place of (h - k)². It is 0 where h = k, else at least 1, at most about 4H
    where (h - k)² is 4H²: that is what makes room for the tie-break within the digits of a float. The nearest of several
    *other* cells may be another one by this distance, except that the neighbour of a cell is never farther than any.
    The points with |h| ≤ `head` have the least u² + v², or nearly.

    Raises:
        ValueError: for a negative bound.
    """

    head: int

    def __post_init__(self) -> None:
        if self.head < 0:
            raise ValueError(f"a bound on |h| cannot be negative, as {self.head} is")

    @cached_property
    def turn(self) -> int:
        """V: rows go from -V to V."""
        return isqrt(self.head // 2)

    def point(self, cell: int) -> tuple[int, int]:
        """Return (u, v) of a cell; (0, 0) beyond `head`, where nobody asks."""
        sign, far = (-1, -cell) if cell < 0 else (1, cell)
        if far > self.head:
            return 0, 0
        if far <= self.turn:
            return 0, cell
        row, place = divmod(far - self.turn - 1, 2 * self.turn + 1)
        along = place - self.turn if row % 2 else self.turn - place
        return sign * (row + 1), sign * along

    @property
    def reach(self) -> tuple[int, int]:
        """U and V: the largest |u| and |v|."""
        return -(-(self.head - self.turn) // (2 * self.turn + 1)), self.turn

    @property
    def square(self) -> int:
        """U² + V², which no u² + v² exceeds."""
        return sum(most * most for most in self.reach)
