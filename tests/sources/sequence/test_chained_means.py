"""Means of means, whose denominators have nothing to do with each other."""

from __future__ import annotations

from itertools import product

import numpy as np

import tm2tfr
from tests.sources.sequence.test_unbounded import answers
from tm2tfr.sources.rasp.evaluate import evaluate
from tm2tfr.sources.rasp.program import shown_atom
from tm2tfr.sources.rasp.read import read

TEXT = """# alphabet: ab
others = aggregate(select(indices, indices, !=), indices, 3);
mean = aggregate(full_s, others, 0.5);
later = aggregate(select(indices, indices, >=), mean, 0.5);
"""


def test_means_of_means_are_right() -> None:
    program = read(TEXT, file="means.rasp").program
    decoder = tm2tfr.compile(program, max_length=4)
    for n in range(1, 5):
        words = np.array(list(product(range(2), repeat=n)))
        for word, row in zip(words, answers(decoder, words), strict=True):
            right = evaluate(program, ["ab"[place] for place in word]).values[program.sop]
            assert row.tolist() == list(map(shown_atom, right))
