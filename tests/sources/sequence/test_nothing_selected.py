"""Where nothing is selected, a head brings a mixture, which no table may take for a value, however it is rounded."""

from __future__ import annotations

import numpy as np
import pytest

from tm2tfr.base.choices import Float
from tm2tfr.engines.dense import DenseDecoder
from tm2tfr.sources.rasp.compiler.lower import lowered
from tm2tfr.sources.rasp.read import read
from tm2tfr.sources.sequence.compiler import compile_graph

PROGRAM = """
# alphabet: abcde
five_on = aggregate(select(indices, indices + 5, ==), tokens, "-");
is_early = indicator(five_on in ["a", "b", "c", "d"]);
mean = aggregate(select(is_early, is_early, >=), indices);
"""


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_shares_whose_sum_is_rounded_up_are_no_value(dtype: Float) -> None:
    program = read(PROGRAM, file="five.rasp").program
    decoder = compile_graph(lowered(program, [("mean", program.sop)]), length=10)
    word = "aabbbbcccd"
    shares = np.array([word.count(letter) for letter in "abcd"], dtype=dtype) / np.dtype(dtype).type(10)
    if dtype == "float64":
        assert float(np.add.accumulate(shares)[-1]) > 1
    tokens = np.array([[decoder.numbers[letter] for letter in word]])
    residual = DenseDecoder(decoder, dtype).run(tokens).residual[:, 0]
    own = decoder.layout["is_early"]
    assert residual[own].tolist() == [[0.0] * 5 + [1.0] * 5, [1.0] * 5 + [0.0] * 5]
