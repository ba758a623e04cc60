"""The forward pass, compiled with Numba: one position after the other, from the arrays of `plan` alone.

Arithmetic is the dense engine's in float64, operation by operation (sums left to right, no fused multiply-add),
with one difference, which is the point of heads of kind ``latest``: among positions with one key the tie-break is
compared exactly, by its sign, where rounded sums can tie.
"""

from __future__ import annotations

import numpy as np

from tm2tfr.engines.fast.arrays import (
    COUNT,
    DONE,
    EARLY,
    ENTRIES,
    GROUPS,
    HEAD,
    LAST,
    NEXT,
    OVERFLOW,
    POSITION,
    REASON,
    RESUME,
    STOPPED,
    WANTED,
    WINNER,
    InTurn,
    Laid,
    Pools,
    State,
)
from tm2tfr.engines.fast.attention import attend, prepare, store
from tm2tfr.engines.fast.jit import compiled, entry, feature, inside, row
from tm2tfr.engines.fast.tail import find, finish, run_tail
from tm2tfr.transformer.matrix import Floats, Int, Ints, Ints32


# ── The answer before the last layer with heads, compiled: if all of these are grouped, it is a function of very little.
#
# What such a head carries is a function of the groups that it attends to, and these follow from its query and from the
# groups that there are. So the answer of a position is a function of its token, of the directions that the last layers
# read at the beginning of that layer, and, where each head attends to one group, of the contents of these groups. The
# memo has the answer by token and directions, with the group that each head attended to, its number of positions at that
# time, and the number of groups. It is still the answer if neither number has changed, since a group changes only when a
# position joins it, and another group can win only if it is new: the scores of all others are what they were. A position
# that attends to its own group is never answered from here, since it has just joined it.
#
# The memo refers to that of the tail (`tail.find`), which has the answer itself and the probes. Entries belong to one
# run: `restart` clears them. There is such a memo only where all numbers are certain to be finite (`overflow.reach`):
# where it answers, nobody looks for one that is not.
@compiled
def valid(pools: Pools, entry: Int, p: Int, own: Int) -> bool:
    """Return whether the group that an entry attends to in pool p has not changed, where this position joins `own`."""
    group = pools.early_groups[entry, p, 0]
    if group == own or pools.early_groups[entry, p, 2] != pools.info[p, GROUPS]:
        return False
    same: bool = pools.early_groups[entry, p, 1] == pools.members[p, group]
    return same


@compiled
def known(key: Ints, heads: Ints, pools: Pools, token: Int, x: Floats) -> Int:
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
def remember(heads: Ints, pools: Pools, token: Int, answer: Int, control: Ints) -> None:
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


@compiled
def _embed(plan: Laid, s: State, token: Int, i: Int) -> None:
    body = plan.body
    for e in range(body.token.start[token], body.token.start[token + 1]):
        s.x[body.token.number[e]] = body.token.weight[e]
    for r in range(len(body.place_row)):
        total = 0.0
        for e in range(body.place.start[r], body.place.start[r + 1]):
            total += body.place.weight[e] * feature(plan.features[body.place.number[e]], i)
        s.x[body.place_row[r]] += total
    if len(plan.table.start) > 1:
        for e in range(plan.table.start[i], plan.table.start[i + 1]):
            s.x[plan.table.number[e]] += plan.table.weight[e]


@compiled
def _feed_forward(plan: Laid, s: State, layer: Int, token: Int, vocabulary: Int) -> None:
    body = plan.body
    for u in range(body.layer_units[layer], body.layer_units[layer + 1]):
        total = 0.0
        if body.seed[u] >= 0:
            total = body.seeds[token, body.seed[u]]
        for e in range(body.unit.start[u], body.unit.start[u + 1]):
            total += body.unit.weight[e] * s.x[body.unit.number[e]]
        total = body.bias[u] + total
        if not abs(total) < np.inf:
            s.overflow[0] = 1
        s.hidden[u] = max(total, 0.0)
    for r in range(body.layer_rows[layer], body.layer_rows[layer + 1]):
        s.x[body.row[r]] = (s.x[body.row[r]] + row(body.row_units, r, s.hidden)) + body.row_bias[r]
    at = layer * vocabulary + token
    for e in range(body.assigned.start[at], body.assigned.start[at + 1]):
        s.x[body.assigned.number[e]] = body.assigned.weight[e]


@entry
def advance(
    plan: Laid,
    s: State,
    pools: Pools,
    control: Ints,
    given: Ints32,
    answers: Ints32,
    codes: Ints32,
    numbers: Floats,
    limit: Int,
    whole: bool,
) -> Int:
    """Run up to `limit` positions and return DONE, STOPPED after a stop token, GROW or GUARD (call again after it).

    After GUARD the arrays are of no use: a head has to be scanned from the first position on.
    Or OVERFLOW, before a position that the dense engine refuses: the arrays cannot be used after that.

    Args:
        given: tokens fed at the first positions, whatever the answers.
        answers, codes, numbers: (limit,), (limit, labels), (limit, numbers): filled from `control[COUNT]` on.
        whole: leave the stream of the last position in `x` and its logits in `logits`.
    """
    vocabulary = len(s.logits)
    while control[COUNT] < limit:
        i = control[POSITION]
        token = np.int64(given[i]) if i < len(given) else control[NEXT]
        entry: Int = np.int64(-1)
        if control[RESUME] == 0:  # otherwise GROW has interrupted this position, and its stream is still in `x`
            s.tokens[i] = token
            _embed(plan, s, token, i)
        for layer in range(max(0, control[RESUME] - 1), plan.tail.first):
            status = prepare(plan, s, pools, layer, control)
            if status != DONE:
                control[RESUME] = layer + 1
                return status
            store(plan, s, pools, layer, token, i)
            if layer == plan.early.layer and not whole:
                entry = known(plan.early.key, plan.early.pools, pools, token, s.x)
                if entry >= 0:
                    break
            status = attend(plan, s, pools, layer, i, control)
            if status != DONE:
                return status
            _feed_forward(plan, s, layer, token, vocabulary)
        control[RESUME] = 0
        n, was_known = control[COUNT], entry >= 0
        if whole:
            answer, _ = run_tail(plan.tail, s, token)
        else:
            answer, entry = finish(plan, s, token, control, codes[n], numbers[n], entry)
            if plan.early.layer >= 0 and entry >= 0 and not was_known:
                remember(plan.early.pools, pools, token, entry, control)
        if s.overflow[0] != 0:
            return OVERFLOW
        answers[n] = answer
        control[NEXT] = answer
        control[POSITION] = i + 1
        control[COUNT] = n + 1
        if s.stop[answer] and i + 1 >= len(given):
            return STOPPED
    return DONE


# ── many runs, one after the other ────────────────────────────────────────────────────────────────────────────
NO_LOW, NO_HIGH = 2**40, -(2**40)
"""The smallest and the largest key of a head that has none yet."""
_advance = inside(advance)


@compiled
def again(s: State, pools: Pools, control: Ints) -> None:
    """Go back to position 0, and keep the tail's answers, which follow from the weights, if there is room for more."""
    if control[ENTRIES] == len(s.memo_token):
        s.memo_slot[:] = -1
        control[ENTRIES] = 0
    for n in range(control[EARLY]):
        pools.early_slot[pools.early_place[n]] = -1
    pools.slot[:] = -1
    pools.info[:] = 0
    pools.size[:] = 0.0
    for place in (POSITION, NEXT, RESUME, HEAD, WANTED, REASON, EARLY):
        control[place] = 0
    for slot in range(len(s.span)):
        zero = s.span[slot, 2]
        for k in range(s.span[slot, 0] + zero, s.span[slot, 1] + zero + 1):
            s.group_position[slot, k] = -1
        s.span[slot, 0], s.span[slot, 1] = NO_LOW, NO_HIGH
    s.sums[:] = 0.0
    s.x[:] = 0.0
    s.overflow[0] = 0


@entry
def advance_many(
    plan: Laid,
    s: State,
    pools: Pools,
    control: Ints,
    given: Ints32,
    runs: InTurn,
    answers: Ints32,
    codes: Ints32,
    numbers: Floats,
    limit: Int,
) -> Int:
    """Make runs, as `kernel.advance` does one; return what it returns where it has to be called again.

    That is as well DONE after the last run, or where there is no room for more positions in the arrays of `s` or in those
    that are filled.

    Args:
        given, runs: see `state.InTurn`.
        answers, codes, numbers: (limit,), (limit, labels), (limit, numbers): filled from `control[COUNT]` on.
    """
    while True:
        r = runs.at[0]
        first, last = runs.start[r], runs.start[r + 1]
        end = control[COUNT] + min(runs.most[r], np.int64(len(s.tokens))) - control[POSITION]
        mine = given[first:last]
        status = _advance(plan, s, pools, control, mine, answers, codes, numbers, min(end, np.int64(limit)), False)
        if status > STOPPED:
            return status
        if status == DONE and control[POSITION] < runs.most[r]:
            return DONE
        runs.row[r + 1], runs.how[r] = control[COUNT], status
        runs.at[0] = r + 1
        if r + 1 == len(runs.most):
            return DONE
        again(s, pools, control)
