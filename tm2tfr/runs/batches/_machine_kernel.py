"""The runs of a machine on many words as rows of the chapter's table, and their comparison, compiled with Numba.

A simulator of its own: it writes what each row has to be. Imported only where it has to be compiled.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tm2tfr.engines.fast.jit import compiled, entry

_DONE, _MORE_ROWS, _MORE_TAPE = range(3)


@compiled
def _rule(machine: Any, state: Any, symbol: Any) -> Any:
    """Return the place of the rule of a state and a symbol, that of the last entry if there is none."""
    wanted = np.int64(state * machine.symbols + symbol)
    last = np.int64(len(machine.keys) - 1)
    if last < 0:
        return wanted
    low, high = np.int64(0), last
    while low < high:
        middle = (low + high) // 2
        if machine.keys[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low if machine.keys[low] == wanted else last


@compiled
def _still(out: Any, codes: Any, k: Any, token: Any, read: Any, answer: Any) -> Any:
    """Write a row before the machine runs."""
    out.x[k] = codes.shown[token] if token >= 0 else codes.unknown
    out.q[k], out.b[k], out.m[k], out.h[k] = -1, -1, 0, 0
    out.a[k], out.y[k] = codes.read[read], answer


@compiled
def _opening(given: Any, r: Any, codes: Any, blank: Any, out: Any, n: Any) -> Any:
    """Write the rows up to BOS from row `n` on, and return the place of the row after them."""
    under = np.int64(blank)
    if given.start[r + 1] > given.start[r]:
        under = np.int64(given.words[given.start[r]])
    for e in range(given.lead[r], given.lead[r + 1]):
        _still(out, codes, n, given.leads[e], blank, given.leads[e])
        n += 1
    for e in range(given.start[r], given.start[r + 1]):
        token = codes.fed[given.words[e]]
        _still(out, codes, n, token, under, token)
        n += 1
    _still(out, codes, n, codes.bos, under, codes.first[under])
    return n + 1


@compiled
def _followed(machine: Any, codes: Any, tape: Any, out: Any, place: Any, k: Any, now: Any) -> Any:
    """Write the rows of the configurations from row `k` on; return (why it ended, the place of the row after them).

    Args:
        place: the number of the run among those of `out`, for what comes out of it.
        now: the lowest and the highest cell of the head, which are filled; see `simulated`.
    """
    origin, end, room = np.int64(len(tape) // 2), np.int64(len(tape) - 1), np.int64(len(out.y))
    state, head, step = np.int64(machine.start), origin, np.int64(0)
    symbol = np.int64(tape[head])
    token, written, before = np.int64(codes.first[symbol]), symbol, np.int64(0)
    shown, stopped, why, lowest, highest = not codes.starts_halted, False, _DONE, origin, origin
    while True:
        rule = _rule(machine, state, symbol)
        to = np.int64(machine.to[rule])
        if step >= machine.limit and to >= 0:
            break
        said, goes = np.int64(0), np.int64(0)
        if to >= 0:
            said = goes = np.int64(machine.move[rule])
            if machine.walled and head == origin:
                goes = max(goes, np.int64(0))
        move = said if codes.nominal else goes
        if shown:
            if k == room:
                why = _MORE_ROWS
                break
            out.x[k] = codes.shown[token] if token >= 0 else codes.unknown
            out.q[k], out.b[k], out.a[k] = codes.state[state], codes.written[written], codes.read[symbol]
            out.m[k], out.h[k] = before, head - origin
            token = np.int64(codes.stops[state, symbol])
            if to >= 0:
                token = np.int64(codes.answers[to, machine.written[rule], move + 1])
            out.y[k] = token
            shown = not codes.ends[token - codes.unknown]
            k += 1
        if to < 0:
            stopped = True
            break
        written, before = np.int64(machine.written[rule]), move
        tape[head], state = written, to
        head, step = head + goes, step + 1
        lowest, highest = min(lowest, head), max(highest, head)
        if head == 0 or head == end:  # noqa: PLR1714  (a set would be made here)
            why = _MORE_TAPE
            break
        symbol = np.int64(tape[head])
    now[0], now[1] = lowest, highest
    out.steps[place], out.visited[place] = step, highest - lowest + 1
    out.outcome[place] = codes.outcomes[state, symbol] if stopped else -1
    return why, k


@compiled
def _kept(machine: Any, tape: Any, out: Any, place: Any, low: Any, high: Any) -> Any:
    """Keep the final tape, whose cells outside `low` to `high` are blank; return whether there was room."""
    origin, kept = np.int64(len(tape) // 2), out.tape_offsets[place]
    left, right, ones = high + 1, low - 1, np.int64(0)
    for c in range(low, high + 1):
        if tape[c] != machine.blank:
            ones += 1
            left, right = min(left, c), c
    if ones == 0:
        left, right = origin, origin - 1
    if machine.walled:
        left = origin
    if kept + right + 1 - left > len(out.tape):
        return False
    for c in range(left, right + 1):
        out.tape[kept + c - left] = tape[c]
    out.ones[place], out.tape_offsets[place + 1] = ones, kept + right + 1 - left
    return True


@entry
def simulated(given: Any, first: Any, last: Any, machine: Any, codes: Any, tape: Any, out: Any, now: Any) -> Any:
    """Write the rows of the runs `first`, …, `last` - 1; return why it ended, see `machines.MORE_ROWS`.

    Args:
        given, machine, codes, out: `WordsGiven`, `RuleTable`, `RightCodes`, `RightRows` of `right`.
        tape: (n_cells,) blank, and blank again afterwards; cell 0 of the machine is in the middle of it.
        now: (3,) for the cells in use; the last one is the first run that is not done.
    """
    origin = np.int64(len(tape) // 2)
    for r in range(first, last):
        place, size = r - out.first, given.start[r + 1] - given.start[r]
        now[2] = r
        if origin + size + 1 >= len(tape):
            return _MORE_TAPE
        if out.offsets[place] + given.lead[r + 1] - given.lead[r] + size + 1 > len(out.y):
            return _MORE_ROWS
        for c in range(size):
            tape[origin + c] = given.words[given.start[r] + c]
        k = _opening(given, r, codes, machine.blank, out, out.offsets[place])
        why, k = _followed(machine, codes, tape, out, place, k, now)
        low, high = now[0], max(now[1], origin + size - 1)
        if why == _DONE and not _kept(machine, tape, out, place, low, high):
            why = _MORE_ROWS
        out.offsets[place + 1] = k
        for c in range(low, high + 1):
            tape[c] = machine.blank
        if why != _DONE:
            return why
    now[2] = last
    return _DONE


@entry
def fed(given: Any, start: Any, offsets: Any, answers: Any, tokens: Any) -> Any:
    """Fill `tokens`, (rows,), with what is fed at each row: the prompts, see `ManyRuns.run`, then the answers."""
    for r in range(len(offsets) - 1):
        first, size, prompt = offsets[r], offsets[r + 1] - offsets[r], start[r + 1] - start[r]
        for i in range(size):
            tokens[first + i] = given[start[r] + i] if i < prompt else answers[first + i - 1]
    return 0


@entry
def compared(offsets: Any, tokens: Any, answers: Any, codes: Any, numbers: Any, probed: Any, out: Any, found: Any) -> Any:
    """Fill `found`, (runs,), with the place of the first row of each run that differs, or -1.

    Args:
        offsets, answers, codes, numbers: the rows of the decoder, see `tm2tfr.engines.fast.many.RowsInTurn`.
        tokens: (rows,) see `fed`.
        probed: whether x is read off the stream, as the fourth of the codes.
        out: the right rows, see `right.RightRows`.
    """
    for r in range(len(found)):
        first, right, size = offsets[r], out.offsets[r], offsets[r + 1] - offsets[r]
        found[r] = -1
        for i in range(out.offsets[r + 1] - right):
            if i == size:
                found[r] = i
                break
            k, e = first + i, right + i
            x = codes[k, 3] if probed else tokens[k]
            same = x == out.x[e] and codes[k, 0] == out.q[e] and codes[k, 1] == out.b[e] and codes[k, 2] == out.a[e]
            if not (same and numbers[k, 0] == out.m[e] and numbers[k, 1] == out.h[e] and answers[k] == out.y[e]):
                found[r] = i
                break
    return 0
