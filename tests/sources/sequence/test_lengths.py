"""Compiled for up to 40 tokens: random inputs of every length, in both dtypes, against plain Python."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Literal

import numpy as np
import pytest

import tm2tfr
from tests.sources.sequence.test_unbounded import answers, loaded

LONGEST, EACH = 40, 20
Right = Callable[[list[str]], list[object]]
RIGHT: dict[str, Right] = {
    "length": lambda word: [str(len(word))] * len(word),
    "reverse": lambda word: list(word[::-1]),
    "histogram-without-bos": lambda word: [Counter(word)[token] for token in word],
    "sort": lambda word: [*sorted(word)],
}


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", RIGHT)
def test_every_length_up_to_40_is_right(name: str, dtype: Literal["float64", "float32"]) -> None:
    program = loaded(name)
    decoder = tm2tfr.compile(program, max_length=LONGEST)
    drawn, compared = np.random.default_rng(40), 0
    for n in range(1, LONGEST + 1):
        words = drawn.integers(0, len(program.alphabet), (EACH, n))
        for word, row in zip(words, answers(decoder, words, dtype), strict=True):
            assert row.tolist() == RIGHT[name]([str(program.alphabet[place]) for place in word])
            compared += n
    assert compared == EACH * LONGEST * (LONGEST + 1) // 2
