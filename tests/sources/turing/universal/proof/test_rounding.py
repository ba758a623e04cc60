"""The bounds on N and H that a single machine does not need: an adversary finds nothing wrong below them."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.sources.turing.proof.scores import Stream, integers, key_stream, near, positions, query_stream, scores
from tests.sources.turing.proof.test_refusals import mutated
from tests.sources.turing.universal.cases import EVERY, compiled
from tm2tfr.certificates.kit import DIGITS
from tm2tfr.sources.turing.universal.program import Universal
from tm2tfr.sources.turing.universal.proof.layers import noise
from tm2tfr.sources.turing.universal.proof.prove import prove
from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.weights import Decoder, FeedForward, Head

Array = NDArray[Any]
CLASSES = {"two-way": EVERY, "one-way": Universal(states=8, symbols=4, tape="one-way")}
FAR = {"float32": 2**24 - 1, "float64": 2**31 - 2}


def head_called(decoder: Decoder, name: str) -> Head:
    return next(head for layer in decoder.layers for head in layer.heads if head.name == name)


def bound(universal: Universal, dtype: str) -> int:
    """The largest H for which the condition of the head that reads the input holds, however long the run."""
    proof = prove(compiled(universal), universal)
    (found,) = [c for c in proof.conditions("dense", dtype) if c.where == "input symbol" and c.part == "attention"]
    low, high = 0, 2**40
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if found.holds(FAR[dtype] + 1, middle) else (low, middle)
    return low


def wrong(universal: Universal, dtype: str, most: int, count: int) -> int:
    """How many lookups of h + k, with h ≤ `most` and any k, have a wrong position that scores as high; -1: none tried."""
    decoder, longest, rng = compiled(universal), len(universal.canonical.keys) * 2 + 1, np.random.default_rng(most)
    head, found = head_called(decoder, "input symbol"), 0
    for h in near(most, rng, count):
        for k in {1, longest, int(rng.integers(1, longest + 1))}:
            for i in positions(h + k, FAR[dtype], rng, 3):
                t = h + k
                j = np.unique(np.clip([*range(t - 30, t + 31), 0, i, i // 2, 2 * t], 0, i)).astype(np.int64)
                kind = np.dtype(dtype).type
                query = {**query_stream(i, h, 0, dtype), "k/(i+1)": np.array([kind(k) / kind(i + 1)])}
                scored = scores(decoder, head, query, key_stream(j, np.zeros_like(j), dtype), dtype)
                found += bool(((scored >= scored[j == t][0]) & (j != t)).any())
    return found


@pytest.mark.similar
@pytest.mark.parametrize(
    ("tape", "dtype"),
    [("two-way", "float32"), *(pytest.param(*pair, marks=pytest.mark.slow) for pair in product(CLASSES, FAR))],
)
def test_the_input_is_read_where_it_is_up_to_the_bound_and_not_beyond_16_times_it(tape: str, dtype: str) -> None:
    universal = CLASSES[tape]
    most = bound(universal, dtype)
    longest = 65 if tape == "two-way" else 64
    assert most + longest == {"float32": 915, "float64": 21_221_685}[dtype]
    assert wrong(universal, dtype, most, 12) == 0
    assert wrong(universal, dtype, 16 * most, 60) > 0


def test_the_last_key_scores_highest_at_every_value() -> None:
    """At any position of a description, whatever tokens stand before it."""
    decoder, rng = compiled(), np.random.default_rng(0)
    head = head_called(decoder, "last key")
    for i in range(1, 65):
        for _ in range(5):
            bits = rng.integers(0, 2, i + 1)
            bits[0] = 1
            keys: Stream = {"[key]": integers(bits, "float32"), "i": integers(np.arange(i + 1), "float32")}
            query = query_stream(i, 0, 0, "float32")
            found = scores(decoder, head, {**query, "1": np.ones(1, "float32")}, keys, "float32")
            assert np.flatnonzero(found == found.max()).tolist() == [np.flatnonzero(bits)[-1]]


def applied(part: FeedForward, x: Array, order: int) -> Array:
    """(n, width): what a feed-forward layer adds, in the dtype of x: (n, width); sums run forwards or backwards."""
    hidden = np.maximum(_rows(part.input, part.input_bias, x, order), 0)
    return _rows(part.output, part.output_bias, hidden, order)


def _rows(matrix: Matrix, bias: Matrix, x: Array, order: int) -> Array:
    total = np.zeros((len(x), matrix.shape[0]), x.dtype)
    if order < 0:
        total += bias.dense(x.dtype)[:, 0]
    for row, column, weight in list(matrix.entries())[::order]:
        total[:, row] += x.dtype.type(weight) * x[:, column]
    return total if order < 0 else total + bias.dense(x.dtype)[:, 0]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_without_a_rule_halt_has_the_largest_logit_whatever_the_means_are_rounded_to(dtype: str) -> None:
    """All means p/n with n up to 60 and p + p' = n, where the flags add up to 1 but for rounding, in two orders."""
    universal = Universal(states=2, symbols=2)
    decoder, kind = compiled(universal), np.dtype(dtype).type
    index, halt = decoder.layout.index, decoder.vocabulary.index("HALT")
    shares = [(p, n) for n in range(2, 60) for p in range(n + 1)]
    x = np.zeros((len(shares), decoder.layout.width), dtype)
    for direction in ("1", "e_q[q1]", "e_a[1]", "out[→(q0,1,+1)]"):
        x[:, index(direction)] = 1
    x[:, index("r*_q[q1]")] = [kind(p) / kind(n) for p, n in shares]
    x[:, index("r*_a[1]")] = [kind(n - p) / kind(n) for p, n in shares]
    off, e = 0.0, noise(decoder, Fraction(1, 2 ** DIGITS[dtype]))
    for order in (1, -1):
        after = x
        for layer in decoder.layers[-2:]:
            assert layer.feed_forward is not None
            after = after + applied(layer.feed_forward, after, order)
        flags = after[:, index("[r*_q=q]")] + after[:, index("[r*_a=a]")]
        assert (flags > 1).any() == (order == 1), "rounded, they can be more than 1"
        logits = _rows(decoder.unembedding, decoder.unembedding_bias, after, order)
        right = np.zeros(len(decoder.vocabulary))
        right[halt] = 1
        off = max(off, float(abs(logits - right).max()))
        assert (logits.argmax(axis=1) == halt).all()
    assert off <= float(e) < 1e-3


def test_noise_grows_with_the_weights_and_refuses_what_it_cannot_bound() -> None:
    universal = Universal(states=2, symbols=2)
    decoder, u = compiled(universal), Fraction(1, 2**24)
    path = "layers.7.feed_forward.input"
    louder = mutated(mutated(decoder, path, "triple with a rule", "[r*_q=q]", 2.0**20), path, "triple", "e_q[q0]", 1)
    assert noise(louder, u) > 2**16 * noise(decoder, u)
    assert noise(decoder, Fraction(1, 8)) > 1
