"""The layers after the last attention, compiled: run on the active directions only, or answered from a memo."""

from __future__ import annotations

import numpy as np

from tm2tfr.engines.fast.arrays import ENTRIES, HITS, Laid, State, Tail
from tm2tfr.engines.fast.jit import compiled
from tm2tfr.transformer.matrix import Floats, Int, Ints, Ints32


@compiled
def _sort(numbers: Ints, size: Int) -> None:
    """Sort the first `size` numbers in place, by insertion: they are few and nearly in order."""
    for n in range(1, size):
        number, at = numbers[n], n
        while at > 0 and numbers[at - 1] > number:
            numbers[at] = numbers[at - 1]
            at -= 1
        numbers[at] = number


@compiled
def _activate(s: State, number: Int, direction: Int) -> Int:
    """Add a direction to the active ones, once."""
    if s.row_mark[direction] == -1:
        return number
    s.row_mark[direction] = -1
    s.active[number] = direction
    return number + 1


@compiled
def _touch(s: State, number: Int, unit: Int) -> Int:
    """Add a unit to those whose sum is not empty, once per layer."""
    if s.mark[unit] == s.stamp[0]:
        return number
    s.mark[unit], s.hidden[unit], s.touched[number] = s.stamp[0], 0.0, unit
    return number + 1


@compiled
def _units(tail: Tail, s: State, layer: Int, number: Int) -> Int:
    """Sum up what a layer's units read from the active directions, and return the number of units touched."""
    s.stamp[0] += 1
    touched: Int = 0
    for a in range(number):
        value = s.x[s.active[a]]
        if value == 0.0:
            continue
        column = layer * tail.width + s.active[a]
        for e in range(tail.reads.start[column], tail.reads.start[column + 1]):
            touched = _touch(s, touched, tail.reads.number[e])
            s.hidden[tail.reads.number[e]] += tail.reads.weight[e] * value
    for a in range(tail.always_start[layer], tail.always_start[layer + 1]):
        touched = _touch(s, touched, tail.always[a])
    _sort(s.touched, touched)
    return touched


@compiled
def _rows(tail: Tail, s: State, layer: Int, touched: Int, number: Int) -> Int:
    """Add the layer's output to the stream, and return the number of active directions."""
    for t in range(touched):
        u = s.touched[t]
        value = tail.bias[u] + s.hidden[u]
        if not abs(value) < np.inf and tail.writes.start[u] < tail.writes.start[u + 1]:
            s.overflow[0] = 1
        if value > 0.0:
            for e in range(tail.writes.start[u], tail.writes.start[u + 1]):
                r = tail.writes.number[e]
                number = _activate(s, number, r)
                s.row_sum[r] += tail.writes.weight[e] * value
    first, last = tail.row_bias.start[layer], tail.row_bias.start[layer + 1]
    for e in range(first, last):
        number = _activate(s, number, tail.row_bias.number[e])
    for a in range(number):
        c = s.active[a]
        s.x[c] += s.row_sum[c]
        s.row_sum[c] = 0.0
    for e in range(first, last):
        s.x[tail.row_bias.number[e]] += tail.row_bias.weight[e]
    return number


@compiled
def run_tail(tail: Tail, s: State, token: Int) -> tuple[Int, Int]:
    """Run the layers after the last attention on the stream and return (answer, number of active directions)."""
    number: Int = 0
    for e in range(tail.of_token.start[token], tail.of_token.start[token + 1]):
        number = _activate(s, number, tail.of_token.number[e])
    for c in tail.moving:
        number = _activate(s, number, c)
    for layer in range(len(tail.layer_units) - 1):
        _sort(s.active, number)
        number = _rows(tail, s, layer, _units(tail, s, layer, number), number)
    _sort(s.active, number)
    s.logits[:] = 0.0
    for a in range(number):
        c = s.active[a]
        s.row_mark[c] = 0
        if not abs(s.x[c]) < np.inf:
            s.overflow[0] = 1
        for e in range(tail.unembedding.start[c], tail.unembedding.start[c + 1]):
            s.logits[tail.unembedding.number[e]] += tail.unembedding.weight[e] * s.x[c]
    answer = 0
    for r in range(len(s.logits)):
        s.logits[r] = tail.logit_bias[r] + s.logits[r]
        if not abs(s.logits[r]) < np.inf:
            s.overflow[0] = 1
        if s.logits[r] > s.logits[answer]:
            answer = r
    return answer, number


@compiled
def _label(x: Floats, start: Int, stop: Int) -> Int:
    """Return the place of the 1 in a one-hot vector; -1 for the zero vector, -2 for anything else."""
    found: Int = -1
    for c in range(start, stop):
        if x[c] != 0.0:
            if found != -1 or x[c] != 1.0:
                return -2
            found = c - start
    return found


@compiled
def _probe(plan: Laid, s: State, in_memo: Int, codes: Ints32, numbers: Floats) -> None:
    """Fill the probes that are in the memo (1), or those that are not (0), from the stream."""
    p = plan.probes
    for n in range(len(p.label_start)):
        if p.label_memo[n] == in_memo:
            codes[n] = _label(s.x, p.label_start[n], p.label_stop[n])
    for n in range(len(p.number)):
        if p.number_memo[n] == in_memo:
            numbers[n] = s.x[p.number[n]]


@compiled
def find(slots: Ints32, tokens: Ints32, known: Ints, bits: Ints, token: Int) -> tuple[Int, Int]:
    """Return (place in a memo of what belongs to `token` and the key `bits`, or -1; the slot where it belongs)."""
    # open addressing in a table whose size is a power of 2; a memo has four slots for each entry, so that one is free
    code = np.uint64(token + 1)
    for n in range(len(bits)):
        code = (code ^ np.uint64(bits[n])) * np.uint64(0x9E3779B97F4A7C15)
        code ^= code >> np.uint64(29)
    size = np.uint64(len(slots) - 1)
    slot = code & size
    while True:
        entry = slots[slot]
        if entry < 0:
            return np.int64(-1), np.int64(slot)
        same = tokens[entry] == token
        if same:
            for n in range(len(bits)):
                if known[entry, n] != bits[n]:
                    same = False
                    break
        if same:
            return np.int64(entry), np.int64(slot)
        slot = (slot + np.uint64(1)) & size


@compiled
def _keep(plan: Laid, s: State, token: Int, answer: Int, slot: Int, entry: Int, codes: Ints32, numbers: Floats) -> None:
    """Put an answer and its probes into the memo."""
    p = plan.probes
    s.memo_slot[slot], s.memo_token[entry], s.memo_answer[entry] = entry, token, answer
    for n in range(len(s.key_bits)):
        s.memo_bits[entry, n] = s.key_bits[n]
    for n in range(len(p.label_start)):
        s.memo_codes[entry, n] = codes[n]
    for n in range(len(p.number)):
        s.memo_numbers[entry, n] = numbers[n]


@compiled
def _recall(plan: Laid, s: State, entry: Int, codes: Ints32, numbers: Floats) -> Int:
    """Fill the probes that are in the memo and return the answer."""
    p = plan.probes
    for n in range(len(p.label_start)):
        if p.label_memo[n] == 1:
            codes[n] = s.memo_codes[entry, n]
    for n in range(len(p.number)):
        if p.number_memo[n] == 1:
            numbers[n] = s.memo_numbers[entry, n]
    return np.int64(s.memo_answer[entry])


@compiled
def finish(plan: Laid, s: State, token: Int, control: Ints, codes: Ints32, numbers: Floats, entry: Int) -> tuple[Int, Int]:
    """Return (the answer, from the memo or from the tail itself; its place in the memo, or -1).

    The probes are filled, and the stream is cleared. The place is given as `entry`, if it is known already.
    """
    tail = plan.tail
    slot: Int = np.int64(-1)
    _probe(plan, s, 0, codes, numbers)
    if entry < 0:
        for n in range(len(tail.key)):
            s.key_values[n] = s.x[tail.key[n]]
        entry, slot = find(s.memo_slot, s.memo_token, s.memo_bits, s.key_bits, token)
    if entry < 0:
        answer, number = run_tail(tail, s, token)
        _probe(plan, s, 1, codes, numbers)
        if control[ENTRIES] < len(s.memo_token) and s.overflow[0] == 0:
            entry = control[ENTRIES]
            _keep(plan, s, token, answer, slot, entry, codes, numbers)
            control[ENTRIES] += 1
        for a in range(number):
            s.x[s.active[a]] = 0.0
        return np.int64(answer), entry
    control[HITS] += 1
    for e in range(tail.of_token.start[token], tail.of_token.start[token + 1]):
        s.x[tail.of_token.number[e]] = 0.0
    for c in tail.moving:
        if not abs(s.x[c]) < np.inf:  # not all of them are part of the key
            s.overflow[0] = 1
        s.x[c] = 0.0
    return _recall(plan, s, entry, codes, numbers), entry
