"""Programs for inputs of any length: exact on short ones and on long ones; what cannot be is refused with its place."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Literal

import numpy as np
import pytest

import tm2tfr
from tm2tfr.engines.dense import DenseDecoder
from tm2tfr.sources.rasp.evaluate import evaluate
from tm2tfr.sources.rasp.program import Program, shown_atom
from tm2tfr.sources.rasp.read import read
from tm2tfr.transformer.weights import Decoder

PROGRAMS = Path(__file__).parents[3] / "programs"
ANY_LENGTH = {
    "count-rare": (7, 4),
    "elementwise": (1, 0),
    "histogram": (4, 2),
    "histogram-without-bos": (4, 2),
    "length": (2, 1),
    "palindrome": (4, 3),
    "reverse": (3, 2),
    "reverse-complement": (3, 2),
    "same-ends": (3, 2),
    "selector-width": (4, 2),
}
"""Shipped programs that can be compiled for inputs of any length, with their blocks and attention layers."""


def loaded(name: str) -> Program:
    return read((PROGRAMS / f"{name}.rasp").read_text(encoding="utf-8"), file=f"{name}.rasp").program


def answers(decoder: Decoder, words: np.ndarray, dtype: str = "float64") -> np.ndarray:
    """The first output at every position: numbers, or the text of labels; an output that is no clean label is refused."""
    logits = DenseDecoder(decoder, dtype).run(words).logits  # type: ignore[arg-type]
    labels = decoder.outputs[0].labels
    if labels is None:
        return logits[0]
    own = logits[: len(labels)]
    assert ((own == 0) | (own == 1)).all()
    assert (own.sum(axis=0) == 1).all()
    return np.array(labels)[own.argmax(axis=0)]


@pytest.mark.slow
@pytest.mark.parametrize("name", ANY_LENGTH)
def test_short_inputs_are_right(name: str) -> None:
    program, (blocks, attention) = loaded(name), ANY_LENGTH[name]
    decoder = tm2tfr.compile(program, unbounded=True)
    assert (len(decoder.layers), sum(bool(layer.heads) for layer in decoder.layers)) == (blocks, attention)
    assert decoder.positions is None
    compared = 0
    for n in range(1, 6):
        words = np.array(list(product(range(len(program.alphabet)), repeat=n))[:200])
        found = answers(decoder, words)
        for word, row in zip(words, found, strict=True):
            right = evaluate(program, [program.alphabet[place] for place in word]).values[program.sop]
            compared += n
            if decoder.outputs[0].labels is None:
                assert row.tolist() == list(right)
            else:
                assert row.tolist() == list(map(shown_atom, right))
    assert compared >= 258


def long_word(name: str, letters: int, n: int) -> list[int]:
    drawn = random.Random(13)
    return (
        [0, *(drawn.randrange(1, letters) for _ in range(n - 1))]
        if name == "histogram"
        else [drawn.randrange(letters) for _ in range(n)]
    )


@pytest.mark.similar
@pytest.mark.parametrize("n", [1_000, pytest.param(4_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", ["length", "reverse", "histogram"])
def test_long_inputs_are_right(name: str, n: int) -> None:
    program = loaded(name)
    decoder = tm2tfr.compile(program, unbounded=True)
    word = long_word(name, len(program.alphabet), n)
    counts = Counter(word)
    right = {
        "length": [n] * n,
        "reverse": [program.alphabet[place] for place in reversed(word)],
        "histogram": [0, *(counts[place] for place in word[1:])],
    }[name]
    assert answers(decoder, np.array([word]))[0].tolist() == right
    if n <= 1_000:
        assert answers(decoder, np.array([word]), "float32")[0].tolist() == right


def test_truth_values_among_numbers_are_numbers() -> None:
    program = read('# alphabet: ab\nx = {"a": True, "b": 7}[tokens];', file="x.rasp").program
    assert tm2tfr.compile(program, unbounded=True).outputs[0].labels == ("1", "7")


# ── compiled for up to 40 tokens: random inputs of every length, in both dtypes, against plain Python
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


# ── means of means, whose denominators have nothing to do with each other
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
