"""Heads with few distinct keys, compiled: positions are grouped by key, and each key is scored once.

A *group* is all the positions whose keys are equal, component by component. Of a group the kernel has its key, the number
of its positions, and for each value component the sum of its positions' values, added in the order of positions; of the
positions themselves it has nothing. Equal keys have equal scores, bit by bit, since a score is a function of query and
key: so the positions with the largest score are those of the groups with the largest score.

The mean is the dense engine's number. Where one group wins, its running sum is the dense engine's sum: the same terms in
the same order (a value of 0 is left out, which changes no sum). Where several win, the dense engine adds up their values
in the order of positions, in which they alternate. That is the sum of the groups' sums if all of them are exact: if all
values so far are multiples of 2^-10, and the largest of them times 2^10 times the number of positions is below 2^53,
then so is every sum of some of them, in whatever order, and each is a float. If not, the head is scanned.

Grouping pays as long as there are fewer keys than positions to scan. Up to `MOST_GROUPS` keys nothing is asked; beyond
them a head is scanned that has a key of its own at three of four positions. Where every other position brings a new key,
as rules in a prompt do, it is not; and a key that occurs late does not make it start again.

That scores are finite is certain: a head whose scores may not be is not grouped, see `recognise.recognise`.
"""

from __future__ import annotations

import numpy as np

from tm2tfr.engines.fast.arrays import AT, GROUPS, LAST, SLOT, WINNER, Heads, Pools, Rows
from tm2tfr.engines.fast.jit import compiled, entry, row
from tm2tfr.transformer.matrix import Floats, Int, Ints

MOST_GROUPS = 1024
"""Up to this number of keys grouping is not questioned."""
UNIT = 2.0**10
"""Values that are multiples of 1/UNIT can be added up in any order."""
EXACT = 2.0**53
ROOM, FULL, DEAR = range(3)
"""There is room for a group; there is none; or the groups are too many, and a scan is cheaper."""


@compiled
def find_group(pools: Pools, p: Int, first: Int, size: Int) -> tuple[Int, Int]:
    """Return (number of the group with the key ``pools.keys[first : first + size]``, or -1; the slot where it belongs)."""
    last = pools.info[p, LAST]
    if pools.info[p, GROUPS] > 0:
        same = True
        for c in range(size):
            if pools.key[p, last, c] != pools.keys[first + c]:
                same = False
                break
        if same:
            return last, np.int64(-1)
    code = np.uint64(size)
    for c in range(size):
        code = (code ^ np.uint64(pools.bits[first + c])) * np.uint64(0x9E3779B97F4A7C15)
        code ^= code >> np.uint64(29)
    mask = np.uint64(pools.slot.shape[1] - 1)
    slot = code & mask
    while True:
        group = np.int64(pools.slot[p, slot])
        if group < 0:
            return group, np.int64(slot)
        same = True
        for c in range(size):
            if pools.key[p, group, c] != pools.keys[first + c]:
                same = False
                break
        if same:
            return group, np.int64(slot)
        slot = (slot + np.uint64(1)) & mask


@entry
def place_groups(h: Heads, pools: Pools) -> Int:
    """Enter all groups into the slots, which are empty."""
    for g in range(len(h.pool)):
        p, first = h.pool[g], h.component[g]
        if p < 0:
            continue
        number = pools.info[p, GROUPS]
        pools.info[p, GROUPS] = 0  # none of them is there yet
        for group in range(number):
            for c in range(h.component[g + 1] - first):
                pools.keys[first + c] = pools.key[p, group, c]
            _, slot = find_group(pools, p, first, h.component[g + 1] - first)
            pools.slot[p, slot] = group
        pools.info[p, GROUPS] = number
    return 0


@compiled
def find_own(h: Heads, pools: Pools, g: Int, i: Int, x: Floats) -> Int:
    """Find the group of this position, and return ROOM; or FULL or DEAR, if it would be one group too many."""
    p, first = h.pool[g], h.component[g]
    for c in range(first, h.component[g + 1]):
        pools.keys[c] = row(h.key, c, x)
    group, slot = find_group(pools, p, first, h.component[g + 1] - first)
    pools.info[p, AT], pools.info[p, SLOT] = group, slot
    number = pools.info[p, GROUPS]
    if group >= 0:
        return ROOM
    if number >= MOST_GROUPS and 4 * number > 3 * (i + 1):
        return DEAR
    return FULL if number == pools.members.shape[1] else ROOM


@compiled
def add_value(pools: Pools, p: Int, group: Int, place: Int, value: float) -> None:
    """Add a value, not 0, of the newest position of a group."""
    pools.sum[p, group, place] += value
    size = abs(value) * UNIT
    if size != np.rint(size):  # no multiple of 1/UNIT: from now on sums depend on their order
        size = np.inf
    pools.size[p] = max(pools.size[p], size)


@compiled
def add_values(pools: Pools, p: Int, group: Int, first: Int, last: Int) -> None:
    """Add ``values[first : last]`` of the newest position of a group."""
    for place in range(first, last):
        if pools.values[place] != 0.0:
            add_value(pools, p, group, place, pools.values[place])


@compiled
def join(given: Rows, pools: Pools, p: Int, group: Int, at: Int) -> None:
    """Add this position to a group, with the values that its token determines: those in row `at` of `Heads.given`."""
    pools.info[p, LAST] = group
    pools.members[p, group] += 1
    for e in range(given.start[at], given.start[at + 1]):
        add_value(pools, p, group, given.number[e], given.weight[e])


@compiled
def store_in_group(h: Heads, pools: Pools, g: Int, at: Int, x: Floats) -> None:
    """Add this position to its group, which `find_own` has found, or to a new one; at: see `join`."""
    p, first = h.pool[g], h.component[g]
    group = pools.info[p, AT]
    if group < 0:
        group = pools.info[p, GROUPS]
        pools.info[p, GROUPS] = group + 1
        pools.slot[p, pools.info[p, SLOT]] = group
        for c in range(h.component[g + 1] - first):
            pools.key[p, group, c] = pools.keys[first + c]
        pools.members[p, group] = 0
        for n in range(pools.sum.shape[2]):
            pools.sum[p, group, n] = 0.0
    join(h.given, pools, p, group, at)
    for n in range(h.value[g], h.value[g + 1]):
        if h.value_kind[n] == 1:
            value = row(h.value_row, n, x)
            if value != 0.0:
                add_value(pools, p, group, h.value_place[n], value)


@compiled
def _select(h: Heads, pools: Pools, g: Int, query: Floats, asked: Ints) -> Int:
    """Put the groups attended to into `winners` and return their number."""
    p, first = h.pool[g], h.component[g]
    some = 0
    for c in range(first, h.component[g + 1]):  # scores are finite: the others add 0 to each of them
        if query[c] != 0.0:
            asked[some] = c
            some += 1
    best, number = -np.inf, 0
    for group in range(pools.info[p, GROUPS]):
        score = 0.0
        for n in range(some):
            product = query[asked[n]] * pools.key[p, group, asked[n] - first]
            score = product if n == 0 else score + product
        if score > best:
            best, number = score, 0
        if score == best:
            pools.winners[number] = group
            number += 1
    return number


@compiled
def mean_of_groups(h: Heads, pools: Pools, g: Int, i: Int, query: Floats, asked: Ints, mean: Floats) -> bool:
    """Put the mean values of the positions attended to into `mean`; return whether they are the dense engine's."""
    p, number = h.pool[g], _select(h, pools, g, query, asked)
    pools.info[p, WINNER] = pools.winners[0] if number == 1 else -1
    if number > 1 and not (pools.size[p] * np.float64(i + 1) < EXACT):
        return False
    count: Int = 0
    for w in range(number):
        count += pools.members[p, pools.winners[w]]
    for n in range(h.value[g], h.value[g + 1]):
        place, total = h.value_place[n], 0.0
        for w in range(number):
            total += pools.sum[p, pools.winners[w], place]
        mean[n] = total / np.float64(count)
    return True
