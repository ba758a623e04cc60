"""What a circuit's decoder makes of position and bit before its units: the embedding, through a norm if there is one, and
where its heads look, at every position and for every input: read from queries and keys.

Arrays are (rows, positions, bit): a row of the matrix, at a position, fed the bit 0 or 1.

**By position** (``lookup``). The key of position j is (j, j²), the query at i is c·(2p, -1), so the score is
c(2pj - j²) = c(p² - (p - j)²): highest at j = p alone, by at least c. With c a power of two and p, j < b, all of pj and j²
and the scores are integers (times c) of at most (b - 1)²: exact as long as (b - 1)² ≤ 2^p in binary digits. For this the
keys and queries themselves must be exact: no terms cancel, and all are multiples of one power of two. Under softmax the
other positions get at most 2·Σ_{d≥1} e^{-cd²} times the weight of p.

**One-hot** (``paper``). The key of position j has component j alone, κ, the query at i the components of the operands:
equal, and above all others by some gap g. Average-hard attention shares the weight between the operands evenly; under
softmax R = (number of others)·e^{-g} of the weight of one operand goes astray, of the whole R/(2 + R), or R/(1 + R) where
it is alone.

In both, scores must not depend on the bits, so that this holds for all inputs.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import isqrt

import numpy as np

from tm2tfr.certificates.intervals import Interval, Rounding, quantum_of
from tm2tfr.certificates.kit import Refused
from tm2tfr.transformer.matrix import Floats, Ints, Matrix
from tm2tfr.transformer.weights import Decoder, Head, Norm


@dataclass(frozen=True)
class Embedded:
    """The stream of a decoder with a position table after its embedding."""

    decoder: Decoder
    table: Matrix

    @property
    def width(self) -> int:
        """The width d."""
        return self.decoder.layout.width

    @property
    def positions(self) -> int:
        """The number of positions, b."""
        return self.table.shape[1]

    @property
    def terms(self) -> int:
        """The most numbers that are added up where a row of a matrix reads the stream, but for three a direction."""
        return self.width + len(self.decoder.features)

    @property
    def embeddings(self) -> tuple[Matrix, ...]:
        """The matrices whose columns are added up."""
        return self.decoder.token_embedding, self.decoder.position_embedding, self.table

    @cached_property
    def features(self) -> Floats:
        """(features, positions): the value of each position feature."""
        places = np.arange(self.positions, dtype=np.float64)
        known = {"1": np.ones_like(places), "i": places, "i^2": places**2}
        if any(name not in known for name in self.decoder.features):
            unknown = next(name for name in self.decoder.features if name not in known)
            raise Refused("embedding", "the proof knows the position features 1, i and i^2", f"feature {unknown}")
        rows = [known[name] for name in self.decoder.features]
        return np.array(rows, dtype=np.float64).reshape(-1, self.positions)

    @cached_property
    def tokens(self) -> Floats:
        """(width, 2): the embedding of each bit."""
        return self.decoder.token_embedding.dense()

    def forms(self, matrix: Matrix, *, sizes: bool = False) -> Floats:
        """Return matrix · (embedding): (rows, positions, 2); `sizes`: of the absolute values of all terms instead."""
        table, place, tokens, features = self.table, self.decoder.position_embedding, self.tokens, self.features
        if sizes:
            matrix, table, place = (_absolute(m) for m in (matrix, table, place))
            tokens = np.abs(tokens)
        base = np.zeros((matrix.shape[0], self.positions))
        rows, columns, values = _product(matrix, table)
        np.add.at(base, (rows, columns), values)
        rows, columns, values = _product(matrix, place)
        for row, column, value in zip(rows.tolist(), columns.tolist(), values.tolist(), strict=True):
            base[row] += value * features[column]
        added: Floats = np.zeros((matrix.shape[0], 2))
        np.add.at(added, matrix.rows, matrix.values[:, None] * tokens[matrix.columns])
        whole: Floats = base[:, :, None] + added[:, None, :]
        return whole

    @cached_property
    def total(self) -> Floats:
        """(positions, 2): the sum of the entries."""
        total: Floats = self.forms(Matrix.from_dense(np.ones((1, self.width))))[0]
        return total

    @cached_property
    def entry_sizes(self) -> Floats:
        """(positions, 2): the sum of the absolute values of all that is added up in the entries."""
        sizes: Floats = self.forms(Matrix.from_dense(np.ones((1, self.width))), sizes=True)[0]
        return sizes

    @cached_property
    def squares(self) -> Floats:
        """(positions, 2): the sum of the squares of the entries; of a stream without position features."""
        both = np.zeros((2, self.positions))
        np.add.at(both.T, self.table.columns, (self.tokens[self.table.rows] * self.table.values[:, None]))
        own = np.bincount(self.table.columns, self.table.values**2, minlength=self.positions)
        squares: Floats = (self.tokens**2).sum(axis=0)[None, :] + own[:, None] + 2 * both.T
        return squares


@dataclass(frozen=True)
class Normed:
    """A stream through a norm: its mean, and 1/√(variance + ε), with what rounding does to both; of any one shape.

    Args:
        off: how much the computed mean may be off.
    """

    norm: Norm
    mean: Interval
    scale: Interval
    off: Floats

    @classmethod
    def of(
        cls, norm: Norm, width: int, terms: int, total: Interval, squares: Interval, size: Floats, rounding: Rounding
    ) -> Normed:
        """Return the norm of streams of `width` entries.

        Args:
            terms: the most numbers that are added up for the sum of the entries.
            total, squares, size: the sum of the entries, that of their squares, and that of the absolute values of all
                that is added up in them.

        Raises:
            Refused: if the norm may divide by 0, which engines refuse.
        """
        mean = Interval(total.lo / width, total.hi / width)
        off = rounding.gamma(terms) * size / width + rounding.lost(terms)
        centred = Interval(squares.lo - width * mean.size**2, squares.hi)
        rounded = rounding.gamma(terms + width) * size**2 + rounding.lost(terms + width)  # size² ≥ Σ of all terms squared
        variance = centred.widened(width * off**2 + rounded)
        whole = Interval(variance.lo / width + norm.epsilon, variance.hi / width + norm.epsilon)
        if not (whole.lo > 0).all():
            raise Refused("embedding", "a layer norm divides by a number that is not shown to be positive", "variance 0")
        root = Interval(1 / np.sqrt(whole.hi), 1 / np.sqrt(whole.lo))
        extra = rounding.gamma(4)
        return cls(norm, mean, Interval(root.lo * (1 - extra), root.hi * (1 + extra)), off)

    def read(self, reading: NormedMatrix, forms: Interval, sizes: Floats, terms: int, rounding: Rounding) -> Interval:
        """Return matrix · LN(x), (rows, …).

        Args:
            forms, sizes: (rows, …) matrix · gain · x, and the sum of the absolute values of its terms.
            terms: the most numbers that are added up in one of them.
        """
        wide, gamma = (-1, *(1,) * self.mean.lo.ndim), rounding.gamma(terms)
        sums, weights, constants, sized, plain = (
            array.reshape(wide)
            for array in (reading.sums, reading.weights, reading.constants, reading.sizes, reading.plain)
        )
        centred = forms - Interval.exactly(sums) * self.mean
        off = weights * (self.off + gamma * self.mean.size) + gamma * sizes
        scaled = centred.widened(off) * self.scale
        lost = rounding.lost(terms) * (1 + weights + plain)
        return (scaled + Interval.exactly(constants)).widened(gamma * sized + lost)

    def read_embedded(self, stream: Embedded, matrix: Matrix, rounding: Rounding) -> Interval:
        """Return matrix · LN(embedding): (rows, positions, 2)."""
        reading = NormedMatrix.of(matrix, self.norm)
        forms, sizes = stream.forms(reading.matrix), stream.forms(reading.matrix, sizes=True)
        return self.read(reading, Interval.exactly(forms), sizes, stream.terms, rounding)


@dataclass(frozen=True)
class NormedMatrix:
    """The image of a norm under a matrix.

    Args:
        matrix: matrix · gain.
        sums, weights: (rows,) its row sums, and those of its absolute values.
        constants, sizes: (rows,) matrix · bias, and the sum of the absolute values of its terms.
        plain: (rows,) the row sums of the absolute values of the matrix itself.
    """

    matrix: Matrix
    sums: Floats
    weights: Floats
    constants: Floats
    sizes: Floats
    plain: Floats

    @classmethod
    def of(cls, matrix: Matrix, norm: Norm) -> NormedMatrix:
        """Return how `matrix` reads what `norm` makes of a stream."""
        gain, bias = norm.gain.dense()[:, 0], norm.bias.dense()[:, 0]
        gained, shifted = matrix.values * gain[matrix.columns], matrix.values * bias[matrix.columns]
        sums, weights, constants, sizes, plain = (
            np.bincount(matrix.rows, terms, minlength=matrix.shape[0]).astype(np.float64)
            for terms in (gained, np.abs(gained), shifted, np.abs(shifted), np.abs(matrix.values))
        )
        return cls(Matrix(matrix.shape, matrix.rows, matrix.columns, gained), sums, weights, constants, sizes, plain)


def _absolute(matrix: Matrix) -> Matrix:
    return Matrix(matrix.shape, matrix.rows, matrix.columns, np.abs(matrix.values))


def _product(left: Matrix, right: Matrix) -> tuple[Ints, Ints, Floats]:
    """Return the terms of a product of sparse matrices: rows, columns and values, with places that occur more than once."""
    order = np.argsort(left.columns, kind="stable")
    columns = left.columns[order]
    starts, ends = np.searchsorted(columns, right.rows), np.searchsorted(columns, right.rows, side="right")
    counts = ends - starts
    which = np.repeat(np.arange(len(right.rows)), counts)
    at = order[np.repeat(starts - np.cumsum(counts) + counts, counts) + np.arange(int(counts.sum()))]
    return left.rows[at], right.columns[which], left.values[at] * right.values[which]


# ── where the heads look ─────────────────────────────────────────────────────────────────────────────────────
@dataclass(frozen=True)
class Looks:
    """Where a head looks at each position that answers a gate.

    Args:
        places: (gates, slots) the positions that share the weight evenly; one that has all of it is in every slot.
        stray: the most weight that goes elsewhere.
        tilt: how much the shares of two positions may differ.
        limit: the number of positions up to which the scores are in the right order; None: no limit.
    """

    head: Head
    places: Ints
    stray: float
    tilt: float
    limit: int | None


def looks(stream: Embedded, head: Head, normed: Normed | None, first: int, nets: list[str], rounding: Rounding) -> Looks:
    """Return where `head` looks from position `first` on.

    Args:
        nets: the names of the nets that are answered there, for refusals.

    Raises:
        Refused: if that depends on bits, or cannot be shown.
    """
    both = head.components
    query, key = (_only(matrix, both) for matrix in (head.query, head.key))
    queries, keys = (_read(stream, normed, matrix, rounding) for matrix in (query, key))
    for name, read, matrix in (("query", queries, query), ("key", keys, key)):
        if _depends(stream, matrix):
            raise Refused("attention", f"the {name} of head {head.name!r} depends on the bit that is fed", "0 and 1 differ")
        if read.lo.shape[0] == 0:
            raise Refused("attention", f"head {head.name!r} has no scores: it looks everywhere", f"no {name}")
    grains = [0.0 if normed is not None else _grain(stream, matrix) for matrix in (query, key)]
    if all(grains):
        plain = [stream.forms(matrix)[:, :, 0] for matrix in (query, key)]
        limits = [grain * 2.0**rounding.bits for grain in grains]  # `plain` itself is in float64
        small = bool((np.abs(plain[0]) < limits[0]).all()) and bool(rounding.digits or (plain[1] <= limits[1]).all())
        largest = None if rounding.digits is None else limits[1]
        if small and (found := _by_position(head, plain[0], plain[1], first, nets, largest)) is not None:
            return found
    return _one_hot(head, queries.hull(axis=2), keys.hull(axis=2), first, nets, rounding)


def _grain(stream: Embedded, matrix: Matrix) -> float:
    """Return a power of two of which all terms of what a matrix reads are multiples.

    It is 0 if there is none, if terms cancel, or if what is read depends on the bit that is fed.
    """
    forms, sizes = stream.forms(matrix), stream.forms(matrix, sizes=True)
    if not np.array_equal(np.abs(forms), sizes) or (forms[:, :, 0] != forms[:, :, 1]).any():
        return 0.0
    least = float(2.0 ** np.floor(np.log2(np.abs(matrix.values).min())))
    read = [m.values[np.isin(m.rows, matrix.columns)] for m in stream.embeddings]
    return least * quantum_of(matrix.values / least) * quantum_of(*read)


def _only(matrix: Matrix, rows: Ints) -> Matrix:
    keep = np.isin(matrix.rows, rows)
    places = np.searchsorted(rows, matrix.rows[keep])
    return Matrix((len(rows), matrix.shape[1]), places, matrix.columns[keep], matrix.values[keep])


def _depends(stream: Embedded, matrix: Matrix) -> bool:
    """Return whether a linear form differs between the bits; under a norm both bits have the same mean and variance."""
    difference = (stream.tokens[:, 1] - stream.tokens[:, 0])[matrix.columns] * matrix.values
    return bool(np.bincount(matrix.rows, difference, minlength=1).any())


def _read(stream: Embedded, normed: Normed | None, matrix: Matrix, rounding: Rounding) -> Interval:
    """Return the input of a matrix: (rows, positions, 2)."""
    if normed is None:
        off = rounding.error(stream.terms, stream.forms(matrix, sizes=True))
        return Interval.exactly(stream.forms(matrix)).widened(off)
    return normed.read_embedded(stream, matrix, rounding)


def _by_position(
    head: Head, queries: Floats, keys: Floats, first: int, nets: list[str], largest: float | None
) -> Looks | None:
    """Return where a head with the keys (j, j²) looks; None if it has others; they are exact up to `largest`."""
    places = np.arange(keys.shape[1], dtype=np.float64)
    if len(keys) == 2 and queries[0, -1] < 0:
        queries, keys = queries[::-1], keys[::-1]
    if len(keys) != 2 or not np.array_equal(keys, [places, places**2]):
        return None
    wanted, factors = queries[0, first:], -queries[1, first:]
    factor = float(factors[0])
    if not factor > 0 or not (factors == factor).all() or np.frexp(factor)[0] != 0.5:
        raise Refused(
            "attention", f"head {head.name!r} does not divide its queries by a power of two", f"factor {factor:g}"
        )
    found = wanted / (2 * factor)
    here = np.arange(first, first + len(found))
    wrong = np.flatnonzero((found != np.rint(found)) | ~(found >= 0) | ~(found <= here))
    if len(wrong):
        at = int(wrong[0])
        witness = f"position {first + at} looks for position {found[at]:g}"
        raise Refused("attention", f"head {head.name!r} looks for no position from 0 to its own", witness, net=nets[at])
    apart = np.arange(1.0, max(200, len(places)))
    # The factor is more than float64 loses in the sum; beyond 200 positions e^{-cd²} adds nothing that float64 can hold.
    astray = 2 * float(np.exp(-factor * apart**2).sum()) * (1 + 2**-30) if head.weighting == "softmax" else 0.0
    limit = None if largest is None else isqrt(int(largest)) + 1
    return Looks(head, found.astype(np.int64)[:, None], astray / (1 + astray), 0.0, limit)


def _one_hot(head: Head, queries: Interval, keys: Interval, first: int, nets: list[str], rounding: Rounding) -> Looks:
    """Return where a head with one-hot keys looks."""
    count = keys.lo.shape[1]
    if keys.lo.shape[0] > count:
        raise Refused(
            "attention", f"head {head.name!r} has neither one-hot keys nor the keys j and j²", "too many components"
        )
    own = np.argmax(keys.size, axis=1)
    off = keys.size.copy()
    off[np.arange(len(own)), own] = 0
    stray_key, key = float(off.max(initial=0.0)), keys[np.arange(len(own)), own]
    if len(set(own.tolist())) < len(own) or not key.lo.min(initial=np.inf) > 1e6 * stray_key:
        raise Refused("attention", f"head {head.name!r} has neither one-hot keys nor the keys j and j²", "keys overlap")
    products = queries * key[:, None]
    scores = Interval(np.zeros((count, count)), np.zeros((count, count)))  # (key position, position)
    scores.lo[own], scores.hi[own] = products.lo, products.hi
    # The other components of a key add to its score, also at a position that has no component of its own.
    rest = stray_key * queries.size.sum(axis=0)
    scores = scores.widened(rest + rounding.error(len(own), (queries.size * key.size[:, None]).sum(axis=0)))
    future = np.arange(count)[:, None] > np.arange(count)[None, :]
    scores.lo[future], scores.hi[future] = -np.inf, -np.inf
    return _best(head, scores[:, first:], first, nets)


def _best(head: Head, scores: Interval, first: int, nets: list[str]) -> Looks:
    """Return the best one or two positions of each column, and what others get."""
    order = np.argsort(scores.hi, axis=0)[::-1]
    padded = np.concatenate([order, order[:1], order[:1]])  # one position alone is its own second
    columns = np.arange(scores.lo.shape[1])
    one, two, three = padded[0], padded[1], padded[2]
    level = [scores[p, columns] for p in (one, two, three)]
    # A guess: two scores are taken as tied if a relative 2^-20 lies between them, far more than the width of intervals
    # around equal scores. A wrong guess is refused below, since then the third score is not behind, or the two are uneven.
    slack = np.minimum(level[0].size, 1e300) * 2.0**-20  # finite, whatever the scores are
    tied = (level[1].hi >= level[0].lo - slack) & (one != two)
    next_best = np.where(tied, level[2].hi, np.where(one == two, -np.inf, level[1].hi))
    next_best = np.where(tied & ((three == one) | (three == two)), -np.inf, next_best)
    gap = np.where(tied, np.minimum(level[0].lo, level[1].lo), level[0].lo) - next_best
    uneven = np.where(tied, np.maximum(level[0].hi, level[1].hi) - np.minimum(level[0].lo, level[1].lo), 0.0)
    hard = head.weighting != "softmax"
    wrong = np.flatnonzero(~(gap > 0) | (hard & ~(uneven <= 0)))
    if len(wrong):
        at = int(wrong[0])
        witness = f"position {first + at}, best positions {sorted({int(one[at]), int(two[at]), int(three[at])})}"
        raise Refused("attention", f"head {head.name!r} does not look at one or two positions alone", witness, net=nets[at])
    places = np.stack([one, np.where(tied, two, one)], axis=1)
    if hard:
        return Looks(head, places, 0.0, 0.0, None)
    others = first + 1 + columns - 1 - tied
    ratio = np.maximum(others, 0) * np.exp(-gap) * (1 + 2**-30)
    tilt = float(np.expm1(uneven).max(initial=0.0))
    return Looks(head, places, float((ratio / (ratio + 1 + tied)).max(initial=0.0)), tilt, None)
