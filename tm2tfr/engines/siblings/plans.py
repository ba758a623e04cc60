"""The plans of decoders that differ in their first layers alone, as the words by which compiled code is handed them.

Of a plan (`tm2tfr.engines.fast.plan`) a first layer decides the units of moving directions, what each token determines,
and what heads carry of that. Everything else is that of one of the decoders, the *template*. `Plans.plan` returns the
plan of one decoder as arrays: the same as `plan.plan` makes of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tm2tfr.engines.dependence import TOKEN, Classes
from tm2tfr.engines.fast.arrays import OF_TOKEN, Plan, Rows
from tm2tfr.engines.siblings.first_layers import FirstLayers, read_from
from tm2tfr.transformer.matrix import Floats, Ints


class OfOneShape(NamedTuple):
    """Arrays of one shape, those of all decoders: (N, …)."""

    arrays: NDArray[Any]

    def of(self, n: int) -> NDArray[Any]:
        """Return that of decoder n."""
        found: NDArray[Any] = self.arrays[n]
        return found

    def words(self) -> Ints:
        """Return the address and the shape of each: (N, words)."""
        number = len(self.arrays)
        start, step = _address(self.arrays), self.arrays.strides[0]
        shape = np.tile(np.array(self.arrays.shape[1:], dtype=np.int64), (number, 1))
        return np.column_stack([start + np.arange(number, dtype=np.int64) * step, shape])


class OfAnySize(NamedTuple):
    """Vectors of any size, one after the other; that of decoder n is ``flat[cuts[n] : cuts[n + 1]]``."""

    flat: NDArray[Any]
    cuts: Ints

    def of(self, n: int) -> NDArray[Any]:
        """Return that of decoder n."""
        return self.flat[self.cuts[n] : self.cuts[n + 1]]

    def words(self) -> Ints:
        """Return the address and the size of each: (N, 2)."""
        return np.column_stack([_address(self.flat) + self.cuts[:-1] * self.flat.itemsize, np.diff(self.cuts)])


def _address(array: NDArray[Any]) -> int:
    return int(array.__array_interface__["data"][0])


class RowsOfEach(NamedTuple):
    """The `Rows` of each decoder."""

    start: OfOneShape
    number: OfAnySize
    weight: OfAnySize

    def of(self, n: int) -> Rows:
        """Return those of decoder n."""
        return Rows(self.start.of(n), self.number.of(n), self.weight.of(n))

    @classmethod
    def made(cls, sizes: Ints, number: Ints, weight: Floats, more: Rows | None = None) -> RowsOfEach:
        """Return tables from their entries one after the other; sizes: (N, rows), of each row; more: rows behind each."""
        last = Rows(np.zeros(1, dtype=np.int64), number[:0], weight[:0]) if more is None else more
        own = sizes.sum(axis=1)
        starts = np.zeros((len(sizes), sizes.shape[1] + len(last.start)), dtype=np.int64)
        np.cumsum(sizes, axis=1, out=starts[:, 1 : sizes.shape[1] + 1])
        starts[:, sizes.shape[1] :] = own[:, None] + last.start
        cuts = _cuts(own + len(last.number))
        return cls(
            OfOneShape(starts),
            *(OfAnySize(_joined(own, cuts, *pair), cuts) for pair in zip((number, weight), last[1:], strict=True)),
        )


def _cuts(sizes: Ints) -> Ints:
    found = np.zeros(len(sizes) + 1, dtype=np.int64)
    np.cumsum(sizes, out=found[1:])
    return found


def _joined(own: Ints, cuts: Ints, flat: NDArray[Any], last: NDArray[Any]) -> NDArray[Any]:
    """Return the parts of `flat`, of sizes `own`, each with `last` behind it."""
    if not len(last):
        return np.ascontiguousarray(flat)
    found = np.empty(int(cuts[-1]), dtype=flat.dtype)
    before = np.repeat(cuts[:-1] - _cuts(own)[:-1], own)
    found[np.arange(len(flat)) + before] = flat
    found[(cuts[1:] - len(last))[:, None] + np.arange(len(last))] = last
    return found


class Plans:
    """The plans of some of the decoders with these first layers: those that can have the template's in all else.

    Args:
        some: (N,) the places of the decoders among those of `first`.
        template: the plan of one of them, see `can_be_template`.
        entry: (width,) the sources at the beginning of its tail.
    """

    def __init__(self, first: FirstLayers, some: Ints, template: Plan, entry: Classes) -> None:
        self._template = template
        body, heads = template.body, template.heads
        needed, moving = first.needed[some], first.moving[some]
        of_token, new, has = first.of_token[some], first.new[some], first.has | first.changed[some]
        units, rows = int(body.layer_units[1]), int(body.layer_rows[1])
        begun: NDArray[np.bool_] = np.any(of_token, axis=2)
        long = begun[needed].reshape(len(some), units)
        seeds = read_from(np.where(of_token, first.read[some], 0.0), first.held, first.has)
        numbered = np.where(long, np.cumsum(long, axis=1) - 1, -1)
        self.bias = OfOneShape(
            np.column_stack([first.bias[some][needed].reshape(len(some), units), _behind(body.bias[units:], some)])
        )
        self.seed = OfOneShape(np.column_stack([numbered, _behind(body.seed[units:], some)]))
        self.seeds = OfOneShape(_seeds(seeds, begun))
        self.unit = _entries(first.read[some], needed, ~of_token, more=_from(body.unit, units))
        self.row_bias = OfOneShape(
            np.column_stack([first.offset[some][moving].reshape(len(some), rows), _behind(body.row_bias[rows:], some)])
        )
        place = np.cumsum(needed, axis=1) - 1
        self.row_units = _entries(first.write[some], moving, more=_from(body.row_units, rows), place=place)
        self.assigned = _by_token(new, first.changed[some], layers=len(body.layer_units) - 1)
        self.of_token = _by_token(new, has & (entry <= TOKEN))
        self.value_of_token = OfOneShape(self._values(heads.value_kind == OF_TOKEN, new, has))

    def _values(self, which: NDArray[np.bool_], new: Floats, has: NDArray[np.bool_]) -> Floats:
        """Return what heads carry of the directions that a token determines: (N, V, values)."""
        heads, number = self._template.heads, len(new)
        found = np.zeros((number, *heads.value_of_token.shape))
        for value in np.flatnonzero(which).tolist():
            cut = slice(int(heads.value_row.start[value]), int(heads.value_row.start[value + 1]))
            row = np.zeros((number, 1, new.shape[2]))
            row[:, 0, heads.value_row.number[cut]] = heads.value_row.weight[cut]
            found[:, :, heads.value_place[value]] = read_from(row, new, has)[:, 0]
        return found

    def plan(self, n: int) -> Plan:
        """Return the plan of decoder n."""
        body = self._template.body._replace(
            bias=self.bias.of(n),
            seed=self.seed.of(n),
            seeds=self.seeds.of(n),
            unit=self.unit.of(n),
            row_bias=self.row_bias.of(n),
            row_units=self.row_units.of(n),
            assigned=self.assigned.of(n),
        )
        tail = self._template.tail._replace(of_token=self.of_token.of(n))
        heads = self._template.heads._replace(value_of_token=self.value_of_token.of(n))
        return self._template._replace(body=body, tail=tail, heads=heads)

    def words(self, places: Plan) -> tuple[Ints, Ints]:
        """Return the places of the words in which the plans differ, and these: (words,), (N, words).

        Args:
            places: those of the plan, see `tm2tfr.native.loading.places`.
        """
        body = places.body
        leaves: list[tuple[Any, OfOneShape | OfAnySize]] = [
            (body.bias, self.bias),
            (body.seed, self.seed),
            (body.seeds, self.seeds),
            (body.row_bias, self.row_bias),
            (places.heads.value_of_token, self.value_of_token),
        ]
        tables = (body.unit, self.unit), (body.row_units, self.row_units), (body.assigned, self.assigned)
        for at, table in (*tables, (places.tail.of_token, self.of_token)):
            leaves += zip(at, table, strict=True)
        found = [(at, leaf.words()) for at, leaf in leaves]
        where = [np.arange(at, at + words.shape[1]) for at, words in found]
        return np.concatenate(where), np.hstack([words for _, words in found])


def can_be_template(template: Plan, vocabulary: int) -> bool:
    """Return whether the plans of a decoder's siblings can be made from its own.

    That is so where the first layer has no heads, no head is grouped, and nothing that a token determines is changed by
    the layers between the first and the tail, nor begins a long row in them.
    """
    body, heads = template.body, template.heads
    units, changed = int(body.layer_units[1]) if len(body.layer_units) > 1 else 0, body.assigned.start
    return (
        len(body.layer_units) > 1
        and heads.layer[1] == 0
        and not (heads.pool >= 0).any()
        and template.early.layer < 0
        and not (body.seed[units:] >= 0).any()
        and bool(changed[vocabulary] == changed[-1])
    )


def _behind(last: NDArray[Any], some: Ints) -> NDArray[Any]:
    return np.tile(last, (len(some), 1))


def _from(table: Rows, row: int) -> Rows:
    """Return the rows from `row` on."""
    first = int(table.start[row])
    return Rows(table.start[row:] - first, table.number[first:], table.weight[first:])


def _entries(
    weights: Floats,
    rows: NDArray[np.bool_],
    some: NDArray[np.bool_] | None = None,
    *,
    more: Rows,
    place: Ints | None = None,
) -> RowsOfEach:
    """Return entries of some rows of matrices, with rows of the template behind them.

    Args:
        weights: (N, rows, columns), `rows`: (N, rows) which of them, as many of each decoder.
        some: (N, rows, columns) which entries; None: all.
        place: (N, columns) the number by which a column is called; None: its own.
    """
    there = (weights != 0) & rows[:, :, None]
    if some is not None:
        there &= some
    n, r, c = np.nonzero(there)
    sizes = there.sum(axis=2)[rows].reshape(len(weights), -1)
    return RowsOfEach.made(sizes, c if place is None else place[n, c], weights[n, r, c], more)


def _by_token(values: Floats, some: NDArray[np.bool_], layers: int = 1) -> RowsOfEach:
    """Return some of the values of each token, of the first of some layers; values, some: (N, V, W)."""
    n, t, c = np.nonzero(some)
    sizes = some.sum(axis=2)
    nothing = np.zeros((len(values), (layers - 1) * values.shape[1]), dtype=np.int64)
    return RowsOfEach.made(np.hstack([sizes, nothing]), c, values[n, t, c])


def _seeds(values: Floats, some: NDArray[np.bool_]) -> Floats:
    """Return what long beginnings of rows are for each token: (N, V, seeds); values: (N, H, V), some: (N, H)."""
    number = int(some[0].sum()) if len(some) else 0
    return values[some].reshape(len(values), number, values.shape[2]).transpose(0, 2, 1).copy()


def sizes_of(first: FirstLayers) -> Iterable[tuple[int, int]]:
    """Yield of each decoder the number of units that moving directions need, and of those with long beginnings."""
    long = first.of_token.any(axis=2).sum(axis=1).tolist()
    return zip(first.needed.sum(axis=1).tolist(), long, strict=True)
