"""The answer before the last layer with heads, compiled: if all of these are grouped, it is a function of very little.

What such a head carries is a function of the groups that it attends to, and these follow from its query and from the
groups that there are. So the answer of a position is a function of its token, of the directions that the last layers
read at the beginning of that layer, and, where each head attends to one group, of the contents of these groups.
The memo has the answer by token and directions, with the group that each head attended to, its number of positions at
that time, and the number of groups. It is still the answer if neither number has changed, since a group changes only when
a position joins it, and another group can win only if it is new: the scores of all others are what they were.
A position that attends to its own group is never answered from here, since it has just joined it.

The memo refers to that of the tail (`tail.find`), which has the answer itself and the probes. Entries belong to one run:
`restart` clears them.
"""

from __future__ import annotations

from typing import Any

from tm2tfr.engines.fast.state import EARLY, GROUPS, WINNER, compiled
from tm2tfr.engines.fast.tail import find


@compiled
def note(plan: Any, s: Any) -> Any:
    """Note the directions that matter at the beginning of the layer."""
    for n in range(len(plan.early.key)):
        s.early_values[n] = s.x[plan.early.key[n]]


@compiled
def valid(s: Any, entry: Any, p: Any, own: Any) -> Any:
    """Return whether the group that an entry attends to in pool p has not changed, where this position will join `own`."""
    group = s.early_group[entry, p]
    if group == own or s.early_groups[entry, p] != s.pool_info[p, GROUPS]:
        return False
    return s.early_count[entry, p] == s.pool_count[p, group]


@compiled
def remember(plan: Any, s: Any, token: Any, answer: Any, control: Any) -> Any:
    """Keep the place of an answer in the tail's memo, if each head of the layer attended to one group."""
    h = plan.heads
    for g in range(h.layer[plan.early.layer], h.layer[plan.early.layer + 1]):
        if s.pool_info[h.pool[g], WINNER] < 0:
            return
    entry, slot = find(s.early_slot, s.early_token, s.early_bits, s.early_value_bits, token)
    if entry < 0:
        entry = control[EARLY]
        if entry == len(s.early_token):
            return
        control[EARLY] = entry + 1
        s.early_slot[slot], s.early_place[entry], s.early_token[entry] = entry, slot, token
        for n in range(len(plan.early.key)):
            s.early_bits[entry, n] = s.early_value_bits[n]
    s.early_answer[entry] = answer
    for g in range(h.layer[plan.early.layer], h.layer[plan.early.layer + 1]):
        p = h.pool[g]
        group = s.pool_info[p, WINNER]
        s.early_group[entry, p], s.early_count[entry, p] = group, s.pool_count[p, group]
        s.early_groups[entry, p] = s.pool_info[p, GROUPS]
