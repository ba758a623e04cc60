"""The loops of `tm2tfr.runs.expected`, compiled with Numba; imported only when they run."""

from __future__ import annotations

from typing import Any

from tm2tfr.sources.turing._fast_simulator_kernel import compiled


@compiled
def answered(block: Any, moves: Any, answers: Any, stops: Any, ends: Any, offset: int, y: Any) -> int:
    """Fill `y` with the right tokens, and return the number of rows up to the first that ends the run.

    Args:
        block: state, symbol, next state (-1: none), written symbol: (n,) each.
        moves: (n,) the moves as the tokens have them.
        answers: (states, symbols, 3) the token after a step to a state.
        stops: (states, symbols) the token where no step is made.
        ends: whether a token ends the run, from token `offset` on.
    """
    state, symbol, to, written = block
    for k in range(len(y)):
        y[k] = stops[state[k], symbol[k]] if to[k] < 0 else answers[to[k], written[k], moves[k] + 1]
        if ends[y[k] - offset]:
            return k + 1
    return len(y)


@compiled
def alike(
    block: Any, moves: Any, y: Any, before: Any, codes: Any, found: Any, start: int, unknown: int, largest: Any
) -> int:
    """Return the number of rows before the first that differs.

    Args:
        block: state, symbol, head, written symbol: (n,) each.
        moves, y: (n,) the moves and tokens of these rows' steps.
        before: token, written symbol and move of the step before.
        codes: the codes of states, of symbols as written, of symbols as read, of tokens as seen.
        found: tokens, answers, labels (rows, 3 or 4), numbers (rows, 2): of the decoder, from row `start` on.
        unknown: the code of a token that the decoder does not have.
        largest: (1,) the largest abs(h) in these rows is written there.
    """
    state, symbol, head, written = block
    of_state, of_written, of_read, of_token = codes
    tokens, answers, labels, numbers = found
    token, mark, move = before[0], before[1], before[2]
    shown, most = labels.shape[1] > 3, 0.0
    for k in range(min(len(y), len(answers) - start)):
        at = start + k
        x = labels[at, 3] if shown else tokens[at]
        same = x == (of_token[token] if token >= 0 else unknown)
        same &= (labels[at, 0] == of_state[state[k]]) & (labels[at, 1] == of_written[mark])
        same &= (numbers[at, 0] == move) & (numbers[at, 1] == head[k])
        same &= (labels[at, 2] == of_read[symbol[k]]) & (answers[at] == y[k])
        if not same:
            largest[0] = most
            return k
        most = max(most, abs(numbers[at, 1]))
        token, mark, move = y[k], written[k], moves[k]
    largest[0] = most
    return max(0, min(len(y), len(answers) - start))
