"""Probabilities by Eq. 8.3, beside a softmax written here; and tokens that are drawn as often as their probability says."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

import tm2tfr
from tm2tfr.engines import engine, generate
from tm2tfr.engines.sampling import log_probabilities, sampler

LOGITS = [2.0, 0.0, -1.0, 2.0, 0.5, -800.0]
CRITICAL = 18.47
"""What chi-square with 4 degrees of freedom exceeds with the probability 0.001."""


def chi_square(seen: Counter[int], number: int) -> float:
    """How far counts of the five tokens that have any probability are from those that temperature 0.8 lets expect."""
    wanted = softmax(LOGITS, 0.8) * number
    return float(sum((seen[n] - wanted[n]) ** 2 / wanted[n] for n in range(5)))


def softmax(logits: list[float], temperature: float = 1.0) -> np.ndarray:
    powers = np.exp(np.array(logits, dtype=np.longdouble) / temperature)
    return np.asarray(powers / powers.sum(), dtype=np.float64)


@pytest.mark.parametrize("temperature", [0.25, 1.0, 3.0])
def test_it_is_softmax_and_sums_to_one(temperature: float) -> None:
    for logits in (np.array(LOGITS), [Fraction(each) for each in LOGITS], LOGITS):
        found = np.exp(log_probabilities(logits, temperature))
        assert found == pytest.approx(softmax(LOGITS, temperature), rel=1e-13)
        assert found.sum() == pytest.approx(1, abs=1e-15)


def test_large_logits_and_small_temperatures_do_not_overflow() -> None:
    assert np.exp(log_probabilities(np.array([1e308, -1e308]))).tolist() == [1.0, 0.0]
    assert np.exp(log_probabilities([Fraction(10) ** 400, Fraction(0)])).tolist() == [1.0, 0.0]
    assert np.exp(log_probabilities(np.array([1.0, 0.0, 1.0]), 5e-324)).tolist() == [0.5, 0.0, 0.5]
    assert log_probabilities(np.array([0.0, 745.0]))[0] == pytest.approx(-745)


def test_single_precision_logits_are_widened_first() -> None:
    narrow = np.array(LOGITS, dtype=np.float32)
    assert (log_probabilities(narrow) == log_probabilities(narrow.astype(np.float64))).all()


@pytest.mark.parametrize("seed", range(2))
def test_tokens_are_drawn_as_often_as_their_probability_says(seed: int) -> None:
    draw, number = sampler(seed, 0.8), 4_000
    seen = Counter(draw(LOGITS) for _ in range(number))
    assert seen[5] == 0  # e^-1000 is no float
    assert chi_square(seen, number) < CRITICAL


def test_the_test_of_frequencies_would_see_another_temperature() -> None:
    draw = sampler(0, 1.0)
    seen = Counter(draw(LOGITS) for _ in range(4_000))
    assert chi_square(seen, 4_000) > CRITICAL


def test_equal_seeds_draw_equal_tokens() -> None:
    runs = [[draw(LOGITS) for _ in range(50)] for draw in (sampler(7), sampler(7), sampler(8))]
    assert runs[0] == runs[1] != runs[2]


def test_a_token_without_probability_is_never_drawn() -> None:
    for logits in ([-1e4, 0.0, -1e4], [0.0, -1e4], [-1e4, 0.0]):
        draw = sampler(3)
        assert {draw(logits) for _ in range(200)} == {logits.index(0.0)}


@pytest.mark.parametrize("name", ["dense", "exact", "fast"])
def test_generated_tokens_are_drawn_and_those_of_the_prompt_are_not(name: str) -> None:
    decoder, seen = tm2tfr.compile("chapter"), list[int]()

    def second(logits: object) -> int:
        """The token BOS: another than the weights prefer."""
        seen.append(1)
        return decoder.numbers["BOS"]

    steps = list(generate(decoder, "11", engine=engine(name), max_positions=6, draw=second))
    assert [step.output for step in steps] == ["1", "1", *["BOS"] * 4]
    assert [step.token for step in steps] == ["1", "1", *["BOS"] * 4]
    assert len(seen) == 4
