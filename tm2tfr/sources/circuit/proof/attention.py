"""Where the heads look, at every position and for every input: read from queries and keys.

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
from math import isqrt

import numpy as np

from tm2tfr.sources.circuit.proof.stream import Embedded, Interval, Normed, Refused, Rounding, quantum_of
from tm2tfr.transformer.matrix import Floats, Ints, Matrix
from tm2tfr.transformer.weights import Head


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
        limits = [grain * 2.0 ** (rounding.digits or 53) for grain in grains]  # `plain` itself is in float64
        small = bool((np.abs(plain[0]) < limits[0]).all()) and bool(rounding.digits or (plain[1] <= limits[1]).all())
        largest = None if rounding.digits is None else limits[1]
        if small and (found := _by_position(head, plain[0], plain[1], first, nets, largest)) is not None:
            return found
    return _one_hot(head, _either(queries), _either(keys), first, nets, rounding)


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


def _either(read: Interval) -> Interval:
    """Return what holds for both bits that can be fed."""
    return Interval(read.lo.min(axis=2), read.hi.max(axis=2))


def _only(matrix: Matrix, rows: Ints) -> Matrix:
    keep = np.isin(matrix.rows, rows)
    places = np.searchsorted(rows, matrix.rows[keep])
    return Matrix((len(rows), matrix.shape[1]), places, matrix.columns[keep], matrix.values[keep])


def _depends(stream: Embedded, matrix: Matrix) -> bool:
    """Return whether a linear form differs between the bits; under a norm both bits have the same mean and variance."""
    difference = (stream.tokens[:, 1] - stream.tokens[:, 0])[matrix.columns] * matrix.values
    return bool(np.bincount(matrix.rows, difference, minlength=1).any())


def _read(stream: Embedded, normed: Normed | None, matrix: Matrix, rounding: Rounding) -> Interval:
    """Return what a matrix reads: (rows, positions, 2)."""
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
        raise Refused("attention", f"head {head.name!r} looks for no position from 0 to its own", witness, nets[at])
    apart = np.arange(1.0, max(200, len(places)))
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
    products = queries * Interval(key.lo[:, None], key.hi[:, None])
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
    level = [Interval(scores.lo[p, columns], scores.hi[p, columns]) for p in (one, two, three)]
    slack = np.minimum(level[0].size, 1e300) * 2.0**-20
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
        raise Refused("attention", f"head {head.name!r} does not look at one or two positions alone", witness, nets[at])
    places = np.stack([one, np.where(tied, two, one)], axis=1)
    if hard:
        return Looks(head, places, 0.0, 0.0, None)
    others = first + 1 + columns - 1 - tied
    ratio = np.maximum(others, 0) * np.exp(-gap) * (1 + 2**-30)
    tilt = float(np.expm1(uneven).max(initial=0.0))
    return Looks(head, places, float((ratio / (ratio + 1 + tied)).max(initial=0.0)), tilt, None)
