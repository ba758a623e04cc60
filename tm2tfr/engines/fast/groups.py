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
them a head that has more keys than half of its positions is scanned. So the kernel never scores more keys than twice
those that it would have scanned, and a key that occurs late does not make it start again.

That scores are finite is certain: a head whose scores may not be is not grouped, see `recognise.recognise`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tm2tfr.engines.fast.state import AT, GROUPS, LAST, SLOT, WINNER, compiled, entry, row

MOST_GROUPS = 1024
"""Up to this number of keys grouping is not questioned."""
UNIT = 2.0**10
"""Values that are multiples of 1/UNIT can be added up in any order."""
EXACT = 2.0**53
ROOM, FULL, DEAR = range(3)
"""There is room for a group; there is none; or there are so many that a scan is cheaper."""


@compiled
def find_group(s: Any, p: Any, first: Any, size: Any) -> Any:
    """Return (number of the group with the key ``s.keys[first : first + size]``, or -1; the slot where it belongs)."""
    last = s.pool_info[p, LAST]
    if s.pool_info[p, GROUPS] > 0:
        same = True
        for c in range(size):
            if s.pool_key[p, last, c] != s.keys[first + c]:
                same = False
                break
        if same:
            return last, np.int64(-1)
    code = np.uint64(size)
    for c in range(size):
        code = (code ^ np.uint64(s.keys_bits[first + c])) * np.uint64(0x9E3779B97F4A7C15)
        code ^= code >> np.uint64(29)
    mask = np.uint64(s.pool_slot.shape[1] - 1)
    slot = code & mask
    while True:
        group = np.int64(s.pool_slot[p, slot])
        if group < 0:
            return group, np.int64(slot)
        same = True
        for c in range(size):
            if s.pool_key[p, group, c] != s.keys[first + c]:
                same = False
                break
        if same:
            return group, np.int64(slot)
        slot = (slot + np.uint64(1)) & mask


@entry
def place_groups(h: Any, s: Any) -> Any:
    """Enter all groups into `pool_slot`, which is empty."""
    for g in range(len(h.pool)):
        p, first = h.pool[g], h.component[g]
        if p < 0:
            continue
        number = s.pool_info[p, GROUPS]
        s.pool_info[p, GROUPS] = 0  # none of them is there yet
        for group in range(number):
            for c in range(h.component[g + 1] - first):
                s.keys[first + c] = s.pool_key[p, group, c]
            _, slot = find_group(s, p, first, h.component[g + 1] - first)
            s.pool_slot[p, slot] = group
        s.pool_info[p, GROUPS] = number


@compiled
def find_own(h: Any, s: Any, g: Any, i: Any) -> Any:
    """Find the group of this position, and return ROOM; or FULL or DEAR, if it would be one group too many."""
    p, first = h.pool[g], h.component[g]
    for c in range(first, h.component[g + 1]):
        s.keys[c] = row(h.key, c, s.x)
    group, slot = find_group(s, p, first, h.component[g + 1] - first)
    s.pool_info[p, AT], s.pool_info[p, SLOT] = group, slot
    number = s.pool_info[p, GROUPS]
    if group >= 0:
        return ROOM
    if number >= MOST_GROUPS and 2 * number > i:
        return DEAR
    return FULL if number == s.pool_count.shape[1] else ROOM


@compiled
def add_value(s: Any, p: Any, group: Any, place: Any, value: Any) -> Any:
    """Add a value, not 0, of the newest position of a group."""
    s.pool_sum[p, group, place] += value
    size = abs(value) * UNIT
    if size != np.rint(size):
        size = np.inf
    s.pool_size[p] = max(s.pool_size[p], size)


@compiled
def join(h: Any, s: Any, p: Any, group: Any, token: Any) -> Any:
    """Add this position to a group, with the values that its token determines."""
    s.pool_info[p, LAST] = group
    s.pool_count[p, group] += 1
    at = p * len(s.logits) + token
    for e in range(h.given.start[at], h.given.start[at + 1]):
        add_value(s, p, group, h.given.number[e], h.given.weight[e])


@compiled
def store_in_group(h: Any, s: Any, g: Any, token: Any) -> Any:
    """Add this position to its group, which `find_own` has found, or to a new one."""
    p, first = h.pool[g], h.component[g]
    group = s.pool_info[p, AT]
    if group < 0:
        group = s.pool_info[p, GROUPS]
        s.pool_info[p, GROUPS] = group + 1
        s.pool_slot[p, s.pool_info[p, SLOT]] = group
        for c in range(h.component[g + 1] - first):
            s.pool_key[p, group, c] = s.keys[first + c]
        s.pool_count[p, group] = 0
        for n in range(s.pool_sum.shape[2]):
            s.pool_sum[p, group, n] = 0.0
    join(h, s, p, group, token)
    for n in range(h.value[g], h.value[g + 1]):
        if h.value_kind[n] == 1:
            value = row(h.value_row, n, s.x)
            if value != 0.0:
                add_value(s, p, group, h.value_place[n], value)


@compiled
def _select(h: Any, s: Any, g: Any) -> Any:
    """Put the groups attended to into `winners` and return their number."""
    p, first = h.pool[g], h.component[g]
    asked = 0
    for c in range(first, h.component[g + 1]):  # scores are finite: the others add 0 to each of them
        if s.query[c] != 0.0:
            s.asked[asked] = c
            asked += 1
    best, number = -np.inf, 0
    for group in range(s.pool_info[p, GROUPS]):
        score = 0.0
        for n in range(asked):
            product = s.query[s.asked[n]] * s.pool_key[p, group, s.asked[n] - first]
            score = product if n == 0 else score + product
        if score > best:
            best, number = score, 0
        if score == best:
            s.winners[number] = group
            number += 1
    return number


@compiled
def mean_of_groups(h: Any, s: Any, g: Any, i: Any) -> Any:
    """Put the mean values of the positions attended to into `mean`; return whether they are the dense engine's."""
    p, number = h.pool[g], _select(h, s, g)
    s.pool_info[p, WINNER] = s.winners[0] if number == 1 else -1
    if number > 1 and not (s.pool_size[p] * np.float64(i + 1) < EXACT):
        return False
    count: Any = 0
    for w in range(number):
        count += s.pool_count[p, s.winners[w]]
    for n in range(h.value[g], h.value[g + 1]):
        place, total = h.value_place[n], 0.0
        for w in range(number):
            total += s.pool_sum[p, s.winners[w], place]
        s.mean[n] = total / np.float64(count)
    return True
