"""The inner loop of `tm2tfr.sources.turing.fast_simulator`, compiled with Numba; imported only when it runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np
from numba import njit
from numpy.typing import NDArray

from tm2tfr.native.building import OUTERMOST

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """Return `function`, compiled at its first call; the machine code is cached on disk if there is a place for it."""
    try:
        return cast(Function, njit(cache=True, **OUTERMOST)(function))
    except RuntimeError:  # neither the package's folder nor the user's cache is writable
        return cast(Function, njit(**OUTERMOST)(function))


@compiled
def find(keys: NDArray[np.int64], key: int) -> int:
    """Return the index of `key` in the sorted `keys`, -1 if it is not among them."""
    low, high = 0, len(keys)
    while low < high:
        middle = (low + high) // 2
        if keys[middle] < key:
            low = middle + 1
        else:
            high = middle
    return low if low < len(keys) and keys[low] == key else -1


@compiled
def advance(
    tape: NDArray[Any],
    place: NDArray[np.int64],
    rules: tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]],
    n_symbols: int,
    origin: int,
    wall: int,
    limit: int,
    seen: tuple[NDArray[Any], ...],
    start: int,
) -> int:
    """Continue from `place`, fill `seen` from index `start` on, and return the number of configurations added.

    It is 0 when the machine has stopped or made `limit` steps, and smaller than requested when the head has
    reached an end of the tape: add cells and call again.

    Args:
        tape: (n_cells,), changed in place; the head must not stand on its first or last cell.
        place: step (-1: not begun), state, and the indices of the head, its lowest and its highest cell; changed in place.
        rules: keys, to, written, said. Without keys, (n_states * n_symbols,) entries at state * n_symbols +
            symbol, with to = -1 for no rule; with keys, (n_rules,) entries in the order of those sorted numbers.
        origin: the index of cell 0.
        wall: the index at which a move to the left stays, -1 on a two-way tape.
        seen: state, symbol, head, to, written, move, said: (n,) each.
    """
    keys, targets, writes, moves = rules
    states, symbols, heads, to, written, moved, said = seen
    step, state, head, lowest, highest = place[0], place[1], place[2], place[3], place[4]
    k, last = start, len(tape) - 1
    symbol = np.int64(tape[head])
    rule = int(state * n_symbols + symbol)
    if len(keys) > 0:
        rule = find(keys, rule)
    going = rule >= 0 and targets[rule] >= 0
    while k < len(states):
        if step >= 0:
            if not going or step >= limit:
                break
            tape[head] = writes[rule]
            state = np.int64(targets[rule])
            if moves[rule] >= 0 or head != wall:
                head += moves[rule]
            symbol = np.int64(tape[head])
            rule = int(state * n_symbols + symbol)
            if len(keys) > 0:
                rule = find(keys, rule)
            going = rule >= 0 and targets[rule] >= 0
        step += 1
        lowest, highest = min(lowest, head), max(highest, head)
        states[k], symbols[k], heads[k] = state, symbol, head - origin
        to[k], written[k], moved[k], said[k] = -1, -1, 0, 0
        if going:
            to[k], written[k], said[k] = targets[rule], writes[rule], moves[rule]
            moved[k] = 0 if moves[rule] < 0 and head == wall else moves[rule]
        k += 1
        if head in (0, last):
            break
    place[0], place[1], place[2], place[3], place[4] = step, state, head, lowest, highest
    return k - start
