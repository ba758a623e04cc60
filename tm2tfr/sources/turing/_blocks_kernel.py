"""The runs of a machine as rows of the chapter's table, and their comparison, compiled with Numba; see `blocks`.

A simulator of its own: it writes what each row has to be. Imported only where it has to be compiled. Places in arrays are
unsigned where many rows are written or read: one that may be below 0, which counts from the end, costs two instructions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np
from numba import njit

from tm2tfr.base.native.building import OPTIONS, OUTERMOST
from tm2tfr.contract.blocks import WordsGiven
from tm2tfr.sources.turing.columns import RightCodes, RightRows, RuleTable
from tm2tfr.transformer.matrix import Floats, Int, Ints, Ints32

_F = TypeVar("_F", bound=Callable[..., Any])
_DONE, _MORE_ROWS, _MORE_TAPE = range(3)
_AT_ONCE = 256
_RUN, _AT, _ORIGIN, _STATE, _HEAD, _LOWEST, _HIGHEST, _STEP, _TOKEN, _WRITTEN, _MOVED, _SHOWN = range(12)
"""The state of a run between two calls: its number, the next row up to BOS, the cell where the input begins, the
configuration and the outermost cells of the head, the token, symbol and move of the last step, whether rows are shown."""


def jitted(function: _F, options: dict[str, Any]) -> _F:
    """Return `function`, compiled at its first call; its code is cached on disk if there is a place for it."""
    try:
        return cast(_F, njit(cache=True, error_model="numpy", **options)(function))
    except RuntimeError:  # neither the package's folder nor the user's cache is writable
        return cast(_F, njit(error_model="numpy", **options)(function))


def compiled(function: _F) -> _F:
    """Compile a function into its callers."""
    return jitted(function, OPTIONS)


def entry(function: _F) -> _F:
    """Compile a function that is called from Python, without Python's lock."""
    return jitted(function, OUTERMOST)


@compiled
def _rule(machine: RuleTable, state: Int, symbol: Int) -> Int:
    """Return the index of the rule of a state and a symbol; that of the last entry if there is none."""
    wanted = np.int64(state * machine.symbols + symbol)
    last = np.int64(len(machine.keys) - 1)
    if last < 0:  # δ is a table
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
def _opened(given: WordsGiven, r: Int, codes: RightCodes, blank: Int, out: RightRows, k: Int, now: Ints) -> Int:
    """Write the rows up to BOS from row `k` on while there is room, and return the place of the row after them."""
    lead, size = given.lead[r + 1] - given.lead[r], given.start[r + 1] - given.start[r]
    under = np.int64(blank)
    if size > 0:
        under = np.int64(given.words[given.start[r]])
    while now[_AT] <= lead + size and k < len(out.y):
        i = now[_AT]
        token, read = np.int64(codes.bos), under
        if i < lead:
            token, read = np.int64(given.leads[given.lead[r] + i]), np.int64(blank)
        elif i < lead + size:
            token = np.int64(codes.fed[given.words[given.start[r] + i - lead]])
        out.x[k] = codes.shown[token] if token >= 0 else codes.unknown
        out.q[k], out.b[k], out.m[k], out.h[k] = -1, -1, 0, 0
        out.a[k], out.y[k] = codes.read[read], token if i < lead + size else codes.first[under]
        now[_AT] += 1
        k += 1
    return k


@compiled
def _followed(
    machine: RuleTable, codes: RightCodes, tape: Ints32, out: RightRows, place: Int, k: Int, now: Ints
) -> tuple[Int, Int]:
    """Write the rows of the configurations from row `k` on; return (why it ended, the place of the row after them).

    Args:
        place: the index of the run in `out`, where its results go.
    """
    origin, end, room = now[_ORIGIN], np.int64(len(tape) - 1), np.int64(len(out.y))
    state, head, step, lowest, highest = now[_STATE], now[_HEAD], now[_STEP], now[_LOWEST], now[_HIGHEST]
    token, written, before, shown = now[_TOKEN], now[_WRITTEN], now[_MOVED], now[_SHOWN] != 0
    symbol, stopped, why = np.int64(tape[head]), False, _DONE
    while True:
        rule = np.uint64(_rule(machine, state, symbol))
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
            row = np.uint64(k)
            out.x[row] = codes.shown[np.uint64(token)] if token >= 0 else codes.unknown
            out.q[row], out.b[row] = codes.state[np.uint64(state)], codes.written[np.uint64(written)]
            out.a[row], out.m[row], out.h[row] = codes.read[np.uint64(symbol)], before, head - origin
            if to >= 0:
                token = np.int64(codes.answers[np.uint64(to), np.uint64(machine.written[rule]), np.uint64(move + 1)])
            else:
                token = np.int64(codes.stops[np.uint64(state), np.uint64(symbol)])
            out.y[row] = token
            shown = not codes.ends[np.uint64(token - codes.unknown)]
            k += 1
        if to < 0:
            stopped = True
            break
        written, before = np.int64(machine.written[rule]), move
        tape[np.uint64(head)], state = written, to
        head, step = head + goes, step + 1
        lowest, highest = min(lowest, head), max(highest, head)
        if head == 0 or head == end:  # noqa: PLR1714  (a set would be made here)
            why = _MORE_TAPE
            break
        symbol = np.int64(tape[np.uint64(head)])
    now[_STATE], now[_HEAD], now[_STEP], now[_LOWEST], now[_HIGHEST] = state, head, step, lowest, highest
    now[_TOKEN], now[_WRITTEN], now[_MOVED], now[_SHOWN] = token, written, before, np.int64(shown)
    out.steps[place], out.visited[place] = step, highest - lowest + 1
    out.outcome[place] = codes.outcomes[state, symbol] if stopped else -1
    return why, k


@compiled
def _kept(machine: RuleTable, tape: Ints32, out: RightRows, place: Int, low: Int, high: Int, origin: Int) -> bool:
    """Keep the final tape, whose cells outside `low` to `high` are blank; return whether there was room."""
    kept = out.tape_offsets[place]
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


@compiled
def _begun(given: WordsGiven, r: Int, machine: RuleTable, codes: RightCodes, tape: Ints32, now: Ints) -> bool:
    """Put a run at its beginning on a blank tape; return whether there were enough cells."""
    origin, size = np.int64(len(tape) // 2), given.start[r + 1] - given.start[r]
    now[_RUN], now[_AT], now[_ORIGIN] = r, 0, origin
    now[_STATE], now[_STEP], now[_MOVED] = machine.start, 0, 0
    now[_HEAD], now[_LOWEST], now[_HIGHEST] = origin, origin, origin
    if origin + size + 1 >= len(tape):
        return False
    for c in range(size):
        tape[origin + c] = given.words[given.start[r] + c]
    under = np.int64(tape[origin])
    now[_TOKEN], now[_WRITTEN], now[_SHOWN] = codes.first[under], under, np.int64(not codes.starts_halted)
    return True


@entry
def begun(given: WordsGiven, machine: RuleTable, codes: RightCodes, tape: Ints32, now: Ints) -> Int:
    """Put the only run at its beginning, see `_begun`."""
    return 0 if _begun(given, 0, machine, codes, tape, now) else _MORE_TAPE


@entry
def continued(given: WordsGiven, machine: RuleTable, codes: RightCodes, tape: Ints32, out: RightRows, now: Ints) -> Int:
    """Write the next rows of the only run, as many as there is room for from ``out.offsets[1]`` on; see `simulated`."""
    why: Int = _MORE_ROWS
    k = _opened(given, 0, codes, machine.blank, out, out.offsets[1], now)
    if now[_AT] > given.lead[1] - given.lead[0] + given.start[1] - given.start[0]:
        why, k = _followed(machine, codes, tape, out, 0, k, now)
    out.offsets[1] = k
    return why


@entry
def simulated(
    given: WordsGiven, first: Int, last: Int, machine: RuleTable, codes: RightCodes, tape: Ints32, out: RightRows, now: Ints
) -> Int:
    """Write the rows of the runs `first`, …, `last` - 1; return why it ended, see `blocks.MORE_ROWS`.

    Args:
        given, machine, codes, out: see their classes.
        tape: (n_cells,) blank, and blank again afterwards; cell 0 of the machine is in the middle of it.
        now: (12,) the state of the current run; its first entry is the number of the first unfinished run.
    """
    for r in range(first, last):
        place, size = r - out.first, given.start[r + 1] - given.start[r]
        if not _begun(given, r, machine, codes, tape, now):
            return _MORE_TAPE
        origin = now[_ORIGIN]
        why: Int = _MORE_ROWS
        k = _opened(given, r, codes, machine.blank, out, out.offsets[place], now)
        if now[_AT] > given.lead[r + 1] - given.lead[r] + size:
            why, k = _followed(machine, codes, tape, out, place, k, now)
        low, high = now[_LOWEST], max(now[_HIGHEST], origin + size - 1)
        if why == _DONE and not _kept(machine, tape, out, place, low, high, origin):
            why = _MORE_ROWS
        out.offsets[place + 1] = k
        for c in range(low, high + 1):
            tape[c] = machine.blank
        if why != _DONE:
            return why
    now[_RUN] = last
    return _DONE


@compiled
def _unlike(
    tokens: Ints32, answers: Ints32, codes: Ints32, numbers: Floats, width: Int, out: RightRows, k: Int, e: Int, n: Int
) -> bool:
    """Return whether one of the `n` rows from `k` on is not the right one from `e` on; without a branch: see `compared`."""
    unlike = False
    for i in range(n):
        u, v = np.uint64(k + i), np.uint64(e + i)
        c, f = np.uint64(width) * u, np.uint64(2) * u
        x = codes[c + np.uint64(3)] if width > 3 else tokens[u]
        unlike |= (x != out.x[v]) | (answers[u] != out.y[v]) | (codes[c] != out.q[v])
        unlike |= (codes[c + np.uint64(1)] != out.b[v]) | (codes[c + np.uint64(2)] != out.a[v])
        unlike |= (numbers[f] != out.m[v]) | (numbers[f + np.uint64(1)] != out.h[v])
    return unlike


@compiled
def _reach(out: RightRows, e: Int, n: Int) -> Int:
    """Return the largest abs(h) of `n` right rows from `e` on."""
    most = np.int32(0)
    for i in range(n):
        most = max(most, abs(out.h[np.uint64(e + i)]))
    return np.int64(most)


@entry
def compared(
    offsets: Ints,
    tokens: Ints32,
    answers: Ints32,
    codes: Ints32,
    numbers: Floats,
    width: Int,
    out: RightRows,
    found: Ints,
    reach: Ints,
) -> Int:
    """Fill `found`, (runs,), with the place of the first row of each run that differs, or -1.

    `_AT_ONCE` rows are compared at a time, all their cells, which the processor does with several rows in one instruction;
    where they are not the same the first that differs is looked for.

    Args:
        offsets, tokens, answers: the rows of the decoder, see `FoundRows`.
        codes, numbers: (rows · width,), (rows · 2,) the same; with a width of four, the fourth code is x as read off
            the stream.
        out: the right rows, see `columns.RightRows`.
        reach: (runs,) the largest abs(h) of the rows before it is written there.
    """
    for r in range(len(found)):
        first, right, size = offsets[r], out.offsets[r], offsets[r + 1] - offsets[r]
        wanted = out.offsets[r + 1] - right
        both, i, step = min(size, wanted), np.int64(0), np.int64(_AT_ONCE)
        while i < both:
            n, k, e = min(step, both - i), first + i, right + i
            if width == 3:
                unlike = _unlike(tokens, answers, codes, numbers, 3, out, k, e, n)
            else:
                unlike = _unlike(tokens, answers, codes, numbers, width, out, k, e, n)
            if unlike and n == 1:
                break
            if unlike:
                step = np.int64(1)
            else:
                i += n
        found[r], reach[r] = -1 if i == wanted else i, _reach(out, right, i)
    return 0
