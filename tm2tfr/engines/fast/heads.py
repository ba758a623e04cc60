"""The heads of a decoder, rearranged for the kernel; see `plan`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from tm2tfr.engines.dependence import KEPT, TOKEN, WIDEST, Classes, LayerSources, Same, Sources, rows_of
from tm2tfr.engines.fast import arrays
from tm2tfr.engines.overflow import reach
from tm2tfr.engines.recognise import Recognition, Terms, combination
from tm2tfr.transformer.matrix import Floats, Ints
from tm2tfr.transformer.weights import Decoder, Head, Layer

KEY, SQUARE, PURE, OTHER = range(4)
"""The kind of a key component: k, k², a combination of position features, any."""


OfTokens = list[tuple[int, arrays.Entries]]
"""What tokens determine: (the layer, the row of a value matrix)."""
InGroups = list[tuple[int, list[tuple[int, arrays.Entries]]]]
"""The same of a grouped head: (the layer, (place in the group, row) of each value)."""


@dataclass
class _Lists:
    """The columns of `Heads` while they grow."""

    layer: list[int] = field(default_factory=lambda: [0])
    kind: list[int] = field(default_factory=list)
    finite: list[int] = field(default_factory=list)
    component: list[int] = field(default_factory=lambda: [0])
    value: list[int] = field(default_factory=lambda: [0])
    output: list[int] = field(default_factory=lambda: [0])
    linear: list[int] = field(default_factory=list)
    square: list[int] = field(default_factory=list)
    linear_weight: list[float] = field(default_factory=list)
    square_weight: list[float] = field(default_factory=list)
    tie: list[int] = field(default_factory=list)
    sign: list[int] = field(default_factory=list)
    slot: list[int] = field(default_factory=list)
    pool: list[int] = field(default_factory=list)
    hist: list[int] = field(default_factory=list)
    query: list[arrays.Entries] = field(default_factory=list)
    key: list[arrays.Entries] = field(default_factory=list)
    key_kind: list[int] = field(default_factory=list)
    key_terms: list[Terms] = field(default_factory=list)
    value_kind: list[int] = field(default_factory=list)
    value_place: list[int] = field(default_factory=list)
    value_row: list[arrays.Entries] = field(default_factory=list)
    value_terms: list[Terms] = field(default_factory=list)
    of_token: OfTokens = field(default_factory=list)
    in_groups: InGroups = field(default_factory=list)
    output_row: list[int] = field(default_factory=list)
    output_terms: list[arrays.Entries] = field(default_factory=list)
    columns: int = 0
    slots: int = 0
    pools: int = 0


def collect(
    decoder: Decoder, known: Sources, kinds: Sequence[Sequence[Recognition]], held: Sequence[Sequence[dict[int, float]]]
) -> arrays.Heads:
    """Return all heads of `decoder`; held: the values that each token determines, by layer."""
    layers = tuple(
        (n, Same(layer), Same(found), Same(around))
        for n, (layer, found, around) in enumerate(zip(decoder.layers, kinds, known.layers, strict=True))
        if layer.heads
    )
    embedded = Same(known.features), Same(known.weights)
    make = _without_tokens if decoder.layout.width <= WIDEST else _without_tokens.__wrapped__
    heads, of_token, given = make(layers, len(decoder.layers), reach(decoder).scores, *embedded, decoder.features)
    values = [arrays.token_values(held[n], row) for n, row in of_token] or [np.zeros(len(decoder.vocabulary))]
    return heads._replace(
        value_of_token=np.array(values).T.copy(),
        given=arrays.rows(row for n, table in given for row in arrays.values_by_token(held[n], table)),
    )


@lru_cache(maxsize=KEPT)
def _without_tokens(
    layers: tuple[tuple[int, Same[Layer], Same[Sequence[Recognition]], Same[LayerSources]], ...],
    number: int,
    finite: tuple[tuple[bool, ...], ...],
    features: Same[Ints],
    weights: Same[Floats],
    names: tuple[str, ...],
) -> tuple[arrays.Heads, OfTokens, InGroups]:
    """Return the heads of some of `number` layers, and what is left to be computed for each token."""
    lists = _Lists(finite=[int(score) for layer in finite for score in layer])
    of_layer = {n: (layer.part, found.part, around.part) for n, layer, found, around in layers}
    for n in range(number):
        if n in of_layer:
            layer, found, around = of_layer[n]
            known = Sources((), around.before, features.part, weights.part)
            for head, recognition in zip(layer.heads, found, strict=True):
                _add(lists, head, recognition)
                _add_values(lists, head, recognition, known, around.before, names, n)
                _add_outputs(lists, head)
        lists.layer.append(len(lists.kind))
    made: dict[str, Any] = {"value_of_token": np.zeros((0, 0)), "given": arrays.rows(())}
    for name in arrays.Heads._fields:
        if name not in made:
            made[name] = _MAKERS.get(name, arrays.ints)(getattr(lists, name))
    return arrays.Heads(**made), lists.of_token, lists.in_groups


def _numbers(values: list[float]) -> Floats:
    return np.array(values, dtype=np.float64)


_MAKERS: Mapping[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("linear_weight", "square_weight"), _numbers),
    **dict.fromkeys(("query", "key", "value_row", "output_terms"), arrays.rows),
    **dict.fromkeys(("key_terms", "value_terms"), arrays.terms_of),
}
"""Column of `Heads` -> the function that makes it from a list; `ints` for the others."""


def _add(lists: _Lists, head: Head, found: Recognition) -> None:
    start = lists.component[-1]
    places = {c: start + n for n, c in enumerate(found.components)}
    query, key = rows_of(head.query), rows_of(head.key)
    lists.kind.append(arrays.KINDS.index(found.kind))
    for c in found.components:
        lists.query.append(query[c])
        lists.key.append(key[c])
        lists.key_terms.append(found.pure.get(c, ()) if found.kind not in ("scan", "grouped") else ())
        lists.key_kind.append(_key_kind(found, c))
    lists.component.append(start + len(places))
    position, latest = found.kind == "position", found.kind == "latest"
    lists.linear.append(places[found.linear] if position else places.get(found.key, -1))
    lists.square.append(places[found.square] if position else places.get(found.key_square, -1))
    lists.linear_weight.append(found.linear_weight)
    lists.square_weight.append(found.square_weight)
    lists.tie.append(places.get(found.tie, -1))
    lists.sign.append(found.sign)
    lists.slot.append(lists.slots if latest else -1)
    lists.slots += latest
    lists.pool.append(lists.pools if found.kind == "grouped" else -1)
    lists.pools += found.kind == "grouped"
    lists.hist.append(lists.columns)
    if found.kind == "scan":
        lists.columns += len(places)


def _key_kind(found: Recognition, component: int) -> int:
    if found.kind in ("scan", "grouped"):
        return OTHER
    if component == found.key:
        return KEY
    return SQUARE if component == found.key_square else PURE


def _add_values(
    lists: _Lists, head: Head, found: Recognition, known: Sources, classes: Classes, names: tuple[str, ...], number: int
) -> None:
    """Add the value components that are not 0; those of a group have their place in it, the others in the history."""
    inside, by_token = 0, list[tuple[int, arrays.Entries]]()
    for row in rows_of(head.value):
        kind, place, terms = arrays.STORED, -1, None
        if found.kind == "grouped":
            place, inside = inside, inside + 1
            if all(classes[c] <= TOKEN for c, _ in row):
                kind = arrays.OF_TOKEN
                by_token.append((place, row))
        elif found.kind in ("position", "latest"):
            terms = combination(row, known, classes, names)
            if all(classes[c] <= TOKEN for c, _ in row):
                kind, place = arrays.OF_TOKEN, len(lists.of_token)
                lists.of_token.append((number, row))
            elif terms is not None:
                kind = arrays.OF_POSITION
        if kind == arrays.STORED and found.kind == "latest":
            place, inside = inside, inside + 1
        elif kind == arrays.STORED and found.kind not in ("mean", "grouped"):
            place, lists.columns = lists.columns, lists.columns + 1
        lists.value_kind.append(kind)
        lists.value_place.append(place)
        lists.value_row.append(row)
        lists.value_terms.append(terms if kind == arrays.OF_POSITION and terms else ())
    lists.value.append(len(lists.value_kind))
    if found.kind == "grouped":
        lists.in_groups.append((number, by_token))


def _add_outputs(lists: _Lists, head: Head) -> None:
    first = lists.value[-2]
    for row, terms in enumerate(rows_of(head.output)):
        if terms:
            lists.output_row.append(row)
            lists.output_terms.append([(first + component, weight) for component, weight in terms])
    lists.output.append(len(lists.output_row))
