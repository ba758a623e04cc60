"""The layers after the last attention, compiled: run on the active directions only, or remembered."""

from __future__ import annotations

from typing import Any

import numpy as np

from tm2tfr.engines.fast.state import ENTRIES, HITS, compiled


@compiled
def _sort(numbers: Any, size: Any) -> Any:
    """Sort the first `size` numbers in place, by insertion: they are few and nearly in order."""
    for n in range(1, size):
        number, at = numbers[n], n
        while at > 0 and numbers[at - 1] > number:
            numbers[at] = numbers[at - 1]
            at -= 1
        numbers[at] = number


@compiled
def _activate(s: Any, number: Any, direction: Any) -> Any:
    """Add a direction to the active ones, once."""
    if s.row_mark[direction] == -1:
        return number
    s.row_mark[direction] = -1
    s.active[number] = direction
    return number + 1


@compiled
def run_tail(plan: Any, s: Any, token: Any) -> Any:
    """Run the layers after the last attention on the stream and return (answer, number of active directions)."""
    tail = plan.tail
    number = 0
    for e in range(tail.of_token.start[token], tail.of_token.start[token + 1]):
        number = _activate(s, number, tail.of_token.number[e])
    for c in tail.moving:
        number = _activate(s, number, c)
    for layer in range(len(tail.layer_units) - 1):
        _sort(s.active, number)
        s.stamp[0] += 1
        touched = 0
        for a in range(number):
            value = s.x[s.active[a]]
            if value == 0.0:
                continue
            column = layer * tail.width + s.active[a]
            for e in range(tail.reads.start[column], tail.reads.start[column + 1]):
                u = tail.reads.number[e]
                if s.mark[u] != s.stamp[0]:
                    s.mark[u], s.hidden[u], s.touched[touched] = s.stamp[0], 0.0, u
                    touched += 1
                s.hidden[u] += tail.reads.weight[e] * value
        for a in range(tail.always_start[layer], tail.always_start[layer + 1]):
            u = tail.always[a]
            if s.mark[u] != s.stamp[0]:
                s.mark[u], s.hidden[u], s.touched[touched] = s.stamp[0], 0.0, u
                touched += 1
        _sort(s.touched, touched)
        for t in range(touched):
            u = s.touched[t]
            value = tail.bias[u] + s.hidden[u]
            if value > 0.0:
                for e in range(tail.writes.start[u], tail.writes.start[u + 1]):
                    r = tail.writes.number[e]
                    number = _activate(s, number, r)
                    s.row_sum[r] += tail.writes.weight[e] * value
        for e in range(tail.row_bias.start[layer], tail.row_bias.start[layer + 1]):
            number = _activate(s, number, tail.row_bias.number[e])
        for a in range(number):
            c = s.active[a]
            s.x[c] += s.row_sum[c]
            s.row_sum[c] = 0.0
        for e in range(tail.row_bias.start[layer], tail.row_bias.start[layer + 1]):
            s.x[tail.row_bias.number[e]] += tail.row_bias.weight[e]
    _sort(s.active, number)
    for r in range(len(s.logits)):
        s.logits[r] = 0.0
    for a in range(number):
        c = s.active[a]
        s.row_mark[c] = 0
        for e in range(tail.unembedding.start[c], tail.unembedding.start[c + 1]):
            s.logits[tail.unembedding.number[e]] += tail.unembedding.weight[e] * s.x[c]
    answer = 0
    for r in range(len(s.logits)):
        s.logits[r] = tail.logit_bias[r] + s.logits[r]
        if s.logits[r] > s.logits[answer]:
            answer = r
    return answer, number


@compiled
def _label(x: Any, start: Any, stop: Any) -> Any:
    """Return the place of the 1 in a one-hot vector, -1 if it is 0, -2 if it is anything else."""
    found = -1
    for c in range(start, stop):
        if x[c] != 0.0:
            if found != -1 or x[c] != 1.0:
                return -2
            found = c - start
    return found


@compiled
def _probe(plan: Any, s: Any, in_memo: Any, codes: Any, numbers: Any) -> Any:
    p = plan.probes
    for n in range(len(p.label_start)):
        if p.label_memo[n] == in_memo:
            codes[n] = _label(s.x, p.label_start[n], p.label_stop[n])
    for n in range(len(p.number)):
        if p.number_memo[n] == in_memo:
            numbers[n] = s.x[p.number[n]]


@compiled
def _remembered(plan: Any, s: Any, token: Any, control: Any) -> Any:
    """Return (place of the answer in the memo or -1, the slot where it belongs)."""
    tail = plan.tail
    for n in range(len(tail.key)):
        s.key_values[n] = s.x[tail.key[n]]
    code = np.uint64(token + 1)
    for n in range(len(tail.key)):
        code = (code ^ np.uint64(s.key_bits[n])) * np.uint64(0x9E3779B97F4A7C15)
        code ^= code >> np.uint64(29)
    size = np.uint64(len(s.memo_slot) - 1)
    slot = code & size
    while True:
        entry = s.memo_slot[slot]
        if entry < 0:
            return -1, np.int64(slot)
        same = s.memo_token[entry] == token
        if same:
            for n in range(len(tail.key)):
                if s.memo_bits[entry, n] != s.key_bits[n]:
                    same = False
                    break
        if same:
            control[HITS] += 1
            return np.int64(entry), np.int64(slot)
        slot = (slot + np.uint64(1)) & size


@compiled
def finish(plan: Any, s: Any, token: Any, control: Any, codes: Any, numbers: Any) -> Any:
    """Return the answer, from the memo or from the tail itself, fill the probes, and clear the stream."""
    p, tail = plan.probes, plan.tail
    _probe(plan, s, 0, codes, numbers)
    entry, slot = _remembered(plan, s, token, control)
    if entry < 0:
        known = control[ENTRIES]
        answer, number = run_tail(plan, s, token)
        _probe(plan, s, 1, codes, numbers)
        if known < len(s.memo_token):
            s.memo_slot[slot], s.memo_token[known], s.memo_answer[known] = known, token, answer
            for n in range(len(tail.key)):
                s.memo_bits[known, n] = s.key_bits[n]
            for n in range(len(p.label_start)):
                s.memo_codes[known, n] = codes[n]
            for n in range(len(p.number)):
                s.memo_numbers[known, n] = numbers[n]
            control[ENTRIES] += 1
        for a in range(number):
            s.x[s.active[a]] = 0.0
        return answer
    for n in range(len(p.label_start)):
        if p.label_memo[n] == 1:
            codes[n] = s.memo_codes[entry, n]
    for n in range(len(p.number)):
        if p.number_memo[n] == 1:
            numbers[n] = s.memo_numbers[entry, n]
    for e in range(tail.of_token.start[token], tail.of_token.start[token + 1]):
        s.x[tail.of_token.number[e]] = 0.0
    for c in tail.moving:
        s.x[c] = 0.0
    return s.memo_answer[entry]
