"""The answer before the last layer with heads, compiled: if all of these are grouped, it is a function of very little.

What such a head carries is a function of the groups that it attends to, and these follow from its query and from the
groups that there are. So the answer of a position is a function of its token, of the directions that the last layers
read at the beginning of that layer, and, where each head attends to one group, of the contents of these groups.
The memo has the answer by token and directions, with the group that each head attended to, its number of positions at
that time, and the number of groups. It is still the answer if neither number has changed, since a group changes only when
a position joins it, and another group can win only if it is new: the scores of all others are what they were.
A position that attends to its own group is never answered from here, since it has just joined it.

The memo refers to that of the tail (`tail.find`), which has the answer itself and the probes. Entries belong to one run:
`restart` clears them. There is such a memo only where all numbers are certain to be finite (`overflow.reach`): where it
answers, nobody looks for one that is not.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tm2tfr.engines.fast.jit import compiled
from tm2tfr.engines.fast.state import EARLY, GROUPS, LAST, WINNER
from tm2tfr.engines.fast.tail import find


@compiled
def valid(pools: Any, entry: Any, p: Any, own: Any) -> Any:
    """Return whether the group that an entry attends to in pool p has not changed, where this position joins `own`."""
    group = pools.early_groups[entry, p, 0]
    if group == own or pools.early_groups[entry, p, 2] != pools.info[p, GROUPS]:
        return False
    return pools.early_groups[entry, p, 1] == pools.members[p, group]


@compiled
def known(key: Any, heads: Any, pools: Any, token: Any, x: Any) -> Any:
    """Return the place of the answer in the tail's memo, or -1: after the heads of the layer have stored the position.

    Args:
        key: see `arrays.Early`.
        heads: (of the heads of the layer,) their pools.
    """
    for n in range(len(key)):
        pools.early_values[n] = x[key[n]]
    entry, slot = find(pools.early_slot, pools.early_token, pools.early_key, pools.early_bits, token)
    pools.early_found[0], pools.early_found[1] = entry, slot
    if entry < 0:
        return np.int64(-1)
    for p in heads:
        if not valid(pools, entry, p, pools.info[p, LAST]):
            return np.int64(-1)
    return np.int64(pools.early_answer[entry])


@compiled
def remember(heads: Any, pools: Any, token: Any, answer: Any, control: Any) -> Any:
    """Keep the place of an answer in the tail's memo where `known` has looked, if each head attended to one group."""
    for p in heads:
        if pools.info[p, WINNER] < 0:
            return
    entry = pools.early_found[0]
    if entry < 0:
        entry = control[EARLY]
        if entry == len(pools.early_token):
            return
        control[EARLY] = entry + 1
        slot = pools.early_found[1]
        pools.early_slot[slot], pools.early_place[entry], pools.early_token[entry] = entry, slot, token
        for n in range(len(pools.early_bits)):
            pools.early_key[entry, n] = pools.early_bits[n]
    pools.early_answer[entry] = answer
    for p in heads:
        group = pools.info[p, WINNER]
        pools.early_groups[entry, p, 0], pools.early_groups[entry, p, 1] = group, pools.members[p, group]
        pools.early_groups[entry, p, 2] = pools.info[p, GROUPS]
