"""Many runs of a decoder, one after the other, compiled."""

from __future__ import annotations

from typing import Any

import numpy as np

from tm2tfr.engines.fast.jit import compiled, entry, inside
from tm2tfr.engines.fast.kernel import advance
from tm2tfr.engines.fast.state import COUNT, DONE, EARLY, ENTRIES, HEAD, NEXT, POSITION, REASON, RESUME, STOPPED, WANTED

NO_LOW, NO_HIGH = 2**40, -(2**40)
"""The smallest and the largest key of a head that has none yet."""
_advance = inside(advance)


@compiled
def again(s: Any, pools: Any, control: Any) -> Any:
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
    plan: Any, s: Any, pools: Any, control: Any, given: Any, runs: Any, answers: Any, codes: Any, numbers: Any, limit: Any
) -> Any:
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
