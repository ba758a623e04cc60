"""Straight-line code for many runs, one after the other: the lines around those of one run.

They do what `in_turn.advance_many` does, and read and fill the same arrays. Where the code gives up, in the middle of a
run, they return LEFT: the kernel runs that position.
"""

from __future__ import annotations

from collections.abc import Iterable

from tm2tfr.engines.fast import state as k

FED = ("        if i < fed:", "            token = np.int64(given[np.uint64(first + i)])")
"""At the beginning of a position: what is fed is no answer."""
_BEFORE = f"""def run(s, pools, control, given, runs, answers, codes, numbers, room, tables, heads, places):
    table, whole = tables.by_token, tables.whole
    while True:
        r = runs.at[0]
        first, most = runs.start[r], runs.most[r]
        fed = runs.start[r + 1] - first
        end = control[{k.COUNT}] + min(most, np.int64(len(s.tokens))) - control[{k.POSITION}]
        end = min(end, np.int64(room))
        limit = end"""
_AFTER = f"""        if not stopped and i < most:
            return {k.LEFT} if n < end else {k.DONE}
        runs.row[r + 1], runs.how[r] = n, {k.STOPPED} if stopped else {k.DONE}
        runs.at[0] = r + 1
        if r + 1 == len(runs.most):
            return {k.DONE}
        again(s, pools, control)"""


def in_turns(lines: Iterable[str]) -> list[str]:
    """Return the lines of the function ``run`` for many runs.

    Args:
        lines: those of one run up to `limit`, without what it returns; `fed` tokens are given, from `first` on.
    """
    return [_BEFORE, *(f"    {line}" for line in lines), _AFTER]
