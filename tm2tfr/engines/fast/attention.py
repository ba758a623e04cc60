"""Attention without scanning, compiled.

Position heads. Let s(j) = γj + δj² + c with δ < 0, v = -γ/2δ its real maximum and J the integer of [0, i] nearest
to v. A score is rounded by at most 8u(|γ|j + |δ|j²) = 8u|δ|(2|v|j + j²), u = 2^-53 (three rounded products or
sums for each of two terms, and the constants on top). For j at distance D from v, j ≤ |v| + D, the scores at j and
J differ by at least |δ|(D² - 1/4); so j cannot win, nor tie, if D² - 1/4 > 16u(2|v|(|v| + D) + (|v| + D)²), which
is true of every D with D² > 1/2 + 128u(|v| + 2)². Only the j within that distance are scored. Where the distance is
below 3/4, as long as |v| < 2·10⁶, and v is within 1/4 of J, J is alone and no score is computed.
Where the keys have constant components too, of size C in all, n terms in all, a score is rounded by at most
(n + 4)u(|δ|(2|v|j + j²) + C): they add C/|δ| to the bound on D², and with many terms all of it grows.
If v lies outside [0, i], J is an end and the difference is |δ|d(d + 2|J - v|) at distance d from J: even more, and
with v ≤ 0 or v ≥ 2i more than any rounding, so that J is alone.

Latest heads. Only one position of each k takes part. With k the existing key nearest to v, another key k' can
win only if (k' - v)² ≤ (k - v)² + (T + 2E)/|δ|, with T the range of the tie-break and E the rounding of a score,
8u times the sum of the sizes of its terms. Only those keys are scored.

All of this assumes relative rounding, which does not hold below 2^-1022: so |δ| ≥ 10^-250 is required for both kinds.
"""

from __future__ import annotations

import math

import numpy as np

from tm2tfr.engines.fast.arrays import (
    DONE,
    GROW,
    GUARD,
    HEAD,
    MANY_KEYS,
    NOT_CONCAVE,
    NOT_SQUARE,
    POSITION,
    REASON,
    SHARED,
    TINY,
    WANTED,
    Heads,
    Laid,
    Pools,
    State,
    U,
)
from tm2tfr.engines.fast.groups import DEAR, FULL, find_own, mean_of_groups, store_in_group
from tm2tfr.engines.fast.jit import compiled, pure, row
from tm2tfr.transformer.matrix import Int, Ints


@compiled
def prepare(plan: Laid, s: State, pools: Pools, layer: Int, control: Ints) -> Int:
    """Compute queries and what the guards need, changing no state: this can be repeated."""
    h = plan.heads
    for g in range(h.layer[layer], h.layer[layer + 1]):
        for c in range(h.component[g], h.component[g + 1]):
            s.query[c] = row(h.query, c, s.x)
        control[HEAD] = g
        status: Int = DONE
        if h.kind[g] == 1:
            status = _check_position(h, s, g, control)
        elif h.kind[g] == 2:
            status = _check_latest(h, s, g, control)
        elif h.kind[g] == 4:
            status = _check_groups(find_own(h, pools, g, control[POSITION], s.x), control)
        if status != DONE:
            return status
    return DONE


@compiled
def _check_position(h: Heads, s: State, g: Int, control: Ints) -> Int:
    linear = s.query[h.linear[g]] * h.linear_weight[g]
    if s.query[h.square[g]] * h.square_weight[g] < -TINY and abs(linear) < np.inf:
        return DONE
    control[REASON] = NOT_CONCAVE
    return GUARD


@compiled
def _check_latest(h: Heads, s: State, g: Int, control: Ints) -> Int:
    key = row(h.key, h.linear[g], s.x)
    square = row(h.key, h.square[g], s.x)
    s.keys[h.linear[g]], s.keys[h.square[g]] = key, square
    if not (abs(key) < 1e9 and key == np.rint(key) and square == key * key):
        control[REASON] = NOT_SQUARE
        return GUARD
    if not (s.query[h.square[g]] < -TINY and abs(s.query[h.linear[g]]) < -1e15 * s.query[h.square[g]]):
        control[REASON] = NOT_CONCAVE
        return GUARD
    at = np.int64(key) + s.span[h.slot[g], 2]
    if at < 0 or at >= s.group_position.shape[1]:
        control[WANTED] = np.int64(key)
        return GROW
    return DONE


@compiled
def _check_groups(found: Int, control: Ints) -> Int:
    if found == DEAR:
        control[REASON] = MANY_KEYS
        return GUARD
    return GROW if found == FULL else DONE


@compiled
def _enter(s: State, best: float, number: Int, place: Int, score: float) -> tuple[float, Int]:
    """Enter a place with its score into `winners`, alone if it beats them all; return the best score and their number."""
    if score > best:
        best, number = score, 0
    if score == best:
        s.winners[number] = place
        number += 1
    return best, number


@compiled
def _position_score(h: Heads, s: State, g: Int, j: Int) -> float:
    total = 0.0
    for c in range(h.component[g], h.component[g + 1]):
        product = s.query[c] * pure(h.key_terms, c, j)
        total = product if c == h.component[g] else total + product
    return total


@compiled
def _select_position(h: Heads, s: State, g: Int, i: Int) -> Int:
    """Put the positions attended to into `winners` and return their number."""
    linear = s.query[h.linear[g]] * h.linear_weight[g]
    square = s.query[h.square[g]] * h.square_weight[g]
    v = -linear / (2.0 * square)
    nearest: Int = 0
    if v <= 0.0:
        nearest = 0
    elif v >= i:
        nearest = i
    else:
        nearest = np.int64(np.rint(v))
    size, constant, terms = abs(v) + 2.0, 0.0, 0
    for c in range(h.component[g], h.component[g + 1]):
        for e in range(h.key_terms.start[c], h.key_terms.start[c + 1]):
            terms += 1
            if h.key_terms.feature[e] == 1:
                constant += abs(s.query[c] * h.key_terms.weight[e] * h.key_terms.embedded[e])
    # without constants: where v ≤ 0, v ≥ 2i, or v is this near to an integer, rounding lets no other position win or tie
    alone = v <= 0.0 or v >= 2.0 * i or (size < 2e6 and abs(nearest - v) <= 0.25)
    if alone and constant == 0.0 and terms == 2:
        s.winners[0] = nearest
        return 1
    # D of the module's proof, the distance from v beyond which no rounded score can win or tie
    more = max(1.0, (terms + 4.0) / 8.0)
    reach = math.sqrt(0.5 + more * (128.0 * U * size * size + 32.0 * U * constant / abs(square))) + 0.5
    reach = min(reach, np.float64(i))
    low = max(np.int64(0), nearest - np.int64(reach))
    high = min(np.int64(i), nearest + np.int64(reach))
    best: float = -np.inf
    number: Int = 0
    for j in range(low, high + 1):
        best, number = _enter(s, best, number, j, _position_score(h, s, g, j))
    return number


@compiled
def _group_score(h: Heads, s: State, g: Int, k: Int) -> float:
    slot, total = h.slot[g], 0.0
    j = s.group_position[slot, k + s.span[slot, 2]]
    for c in range(h.component[g], h.component[g + 1]):
        kind = h.key_kind[c]
        if kind == 0:
            product = s.query[c] * np.float64(k)
        elif kind == 1:
            product = s.query[c] * (np.float64(k) * np.float64(k))
        else:
            product = s.query[c] * pure(h.key_terms, c, j)
        total = product if c == h.component[g] else total + product
    return total


@compiled
def _nearest_key(s: State, slot: Int, v: float) -> Int:
    """Return the existing key nearest to v."""
    low: Int = s.span[slot, 0]
    high: Int = s.span[slot, 1]
    zero = s.span[slot, 2]
    if v <= low:
        return low
    if v >= high:
        return high
    k = np.int64(np.rint(v))
    if s.group_position[slot, k + zero] >= 0:
        return k
    down, up = k, k
    while s.group_position[slot, down + zero] < 0:
        down -= 1
    while s.group_position[slot, up + zero] < 0:
        up += 1
    return down if v - down <= up - v else up


@compiled
def _select_latest(h: Heads, s: State, g: Int, i: Int) -> Int:
    """Put the keys attended to into `winners`, in the order of their positions, and return their number."""
    slot = h.slot[g]
    linear, square = s.query[h.linear[g]], s.query[h.square[g]]
    v = -linear / (2.0 * square)
    nearest = _nearest_key(s, slot, v)
    low, high, zero = s.span[slot, 0], s.span[slot, 1], s.span[slot, 2]
    largest = np.float64(max(abs(low), abs(high)))  # of the keys, so that `size` bounds the terms of every score
    size = abs(linear) * largest + abs(square) * largest * largest
    for c in range(h.component[g], h.component[g + 1]):
        if h.key_kind[c] == 2:
            size += abs(s.query[c] * pure(h.key_terms, c, i))
    spread = abs(s.query[h.tie[g]] * pure(h.key_terms, h.tie[g], i))
    bound = (nearest - v) * (nearest - v) + (spread + 16.0 * U * size) / abs(square)
    left, right = v - (nearest - 1), nearest + 1 - v
    if (nearest == low or left * left > bound) and (nearest == high or right * right > bound):
        s.winners[0] = nearest
        return 1
    first, last = low, high
    if bound < np.inf:  # it is NaN where a query is, and that is not a place
        reach = math.sqrt(bound) * (1.0 + 1e-9) + 1e-6
        first = np.int64(math.ceil(max(np.float64(low), v - reach)))
        last = np.int64(math.floor(min(np.float64(high), v + reach)))
    best: float = -np.inf
    number: Int = 0
    for k in range(min(first, nearest), max(last, nearest) + 1):
        if s.group_position[slot, k + zero] < 0:
            continue
        best, number = _enter(s, best, number, k, _group_score(h, s, g, k))
    for n in range(1, number):  # by position, which is the order in which a mean is summed
        k, at = s.winners[n], n
        while at > 0 and s.group_position[slot, s.winners[at - 1] + zero] > s.group_position[slot, k + zero]:
            s.winners[at] = s.winners[at - 1]
            at -= 1
        s.winners[at] = k
    return number


@compiled
def _select_scan(h: Heads, s: State, g: Int, i: Int) -> Int:
    start, stop = h.component[g], h.component[g + 1]
    column, best = h.hist[g], -np.inf
    number = 0
    for c in range(start, stop):  # where scores are finite, a component that is 0 in the query adds 0 to each of them
        if s.query[c] != 0.0 or h.finite[g] == 0:
            s.asked[number] = c
            number += 1
    for j in range(i + 1):
        score = 0.0
        for n in range(number):
            c = s.asked[n]
            product = s.query[c] * s.hist[j, column + c - start]
            score = product if n == 0 else score + product
        s.scores[j] = score
        if not abs(score) < np.inf:
            s.overflow[0] = 1
        best = max(best, score)
    number = 0
    for j in range(i + 1):
        if s.scores[j] == best:
            s.winners[number] = j
            number += 1
    if number == 0:  # no score was a number
        s.winners[0] = i
    return max(number, 1)


@compiled
def _select(h: Heads, s: State, g: Int, i: Int) -> Int:
    """Put what is attended to into `winners` and return its number."""
    if h.kind[g] == 1:
        return _select_position(h, s, g, i)
    return _select_latest(h, s, g, i) if h.kind[g] == 2 else _select_scan(h, s, g, i)


@compiled
def _store(h: Heads, s: State, g: Int, token: Int, i: Int) -> None:
    """Add this position to those that the head can attend to."""
    kind = h.kind[g]
    keep = True
    at = 0
    if kind == 2:
        slot = h.slot[g]
        k = np.int64(s.keys[h.linear[g]])
        at = k + s.span[slot, 2]
        keep = h.sign[g] > 0 or s.group_position[slot, at] < 0
        s.span[slot, 0], s.span[slot, 1] = min(k, s.span[slot, 0]), max(k, s.span[slot, 1])
        if keep:
            s.group_position[slot, at], s.group_token[slot, at] = i, token
    elif kind == 3:
        for c in range(h.component[g], h.component[g + 1]):
            s.hist[i, h.hist[g] + c - h.component[g]] = row(h.key, c, s.x)
    for n in range(h.value[g], h.value[g + 1]):
        if h.value_kind[n] != 1:
            continue
        value = row(h.value_row, n, s.x)
        if kind == 0:
            s.sums[n] += value
        elif kind == 2:
            if keep:
                s.group_value[h.slot[g], at, h.value_place[n]] = value
        else:
            s.hist[i, h.value_place[n]] = value


@compiled
def _value(h: Heads, s: State, g: Int, n: Int, winner: Int) -> float:
    """Return value component n at a position attended to (for ``latest``: at that of a key)."""
    j, at = winner, 0
    if h.kind[g] == 2:
        at = winner + s.span[h.slot[g], 2]
        j = s.group_position[h.slot[g], at]
    value: float
    if h.value_kind[n] == 0:
        token = s.group_token[h.slot[g], at] if h.kind[g] == 2 else s.tokens[j]
        value = h.value_of_token[token, h.value_place[n]]
    elif h.value_kind[n] == 2:
        value = pure(h.value_terms, n, j)
    else:
        value = s.group_value[h.slot[g], at, h.value_place[n]] if h.kind[g] == 2 else s.hist[j, h.value_place[n]]
    return value


@compiled
def store(plan: Laid, s: State, pools: Pools, layer: Int, token: Int, i: Int) -> None:
    """Add this position to those that the heads of a layer can attend to."""
    h = plan.heads
    for g in range(h.layer[layer], h.layer[layer + 1]):
        if h.kind[g] == 4:
            store_in_group(h, pools, g, h.pool[g] * len(s.logits) + token, s.x)
        else:
            _store(h, s, g, token, i)


@compiled
def attend(plan: Laid, s: State, pools: Pools, layer: Int, i: Int, control: Ints) -> Int:
    """Attend, and add what the heads carry to the stream; return DONE, or GUARD."""
    h = plan.heads
    for g in range(h.layer[layer], h.layer[layer + 1]):
        kind = h.kind[g]
        if kind == 0:
            for n in range(h.value[g], h.value[g + 1]):
                s.mean[n] = s.sums[n] / np.float64(i + 1)
        elif kind == 4:
            if not mean_of_groups(h, pools, g, i, s.query, s.asked, s.mean):
                control[HEAD], control[REASON] = g, SHARED
                return GUARD
        else:
            number = _select(h, s, g, i)
            for n in range(h.value[g], h.value[g + 1]):
                total = _value(h, s, g, n, s.winners[0])
                if number > 1:
                    for w in range(1, number):
                        total += _value(h, s, g, n, s.winners[w])
                    total /= np.float64(number)
                s.mean[n] = total
    for g in range(h.layer[layer], h.layer[layer + 1]):
        for r in range(h.output[g], h.output[g + 1]):
            s.x[h.output_row[r]] += row(h.output_terms, r, s.mean)
    return DONE
