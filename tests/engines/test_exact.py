"""The exact engine: nothing is ever rounded, so ties are true ties. (Its answers: `test_reference`.)"""

from __future__ import annotations

from fractions import Fraction

import pytest

from tm2tfr.engines import engine
from tm2tfr.transformer.gadgets import head, stacked
from tm2tfr.transformer.matrix import Matrix, rational
from tm2tfr.transformer.residual import Linear, Residual, Subspace
from tm2tfr.transformer.weights import Decoder, Head, Layer

LAYOUT = Residual(tuple(map(Subspace, ("1", "1/(i+1)", "seen"))))


def decoder_of(heads: tuple[Head, ...], logits: list[Linear]) -> Decoder:
    return Decoder(
        layout=LAYOUT,
        vocabulary=("a", "b"),
        bos="a",
        stop=(),
        features=("1", "1/(i+1)"),
        token_embedding=Matrix.from_entries((3, 2), {}),
        position_embedding=Matrix.from_entries((3, 2), {(0, 0): 1.0, (1, 1): 1.0}),
        layers=(Layer(name="", meaning="", source="", heads=heads),),
        unembedding=stacked(LAYOUT, logits),
        unembedding_bias=Matrix.from_entries((2, 1), {}),
    )


@pytest.mark.parametrize(
    ("value", "number"),
    [(2.0, 2), (-0.0, 0), (0.5, Fraction(1, 2)), (0.1, Fraction(3602879701896397, 2**55)), (1e300, int(1e300))],
)
def test_a_weight_is_the_very_number_that_the_float_is(value: float, number: Fraction | int) -> None:
    assert rational(value) == number
    assert type(rational(value)) is type(number)


def test_a_weight_of_one_tenth_is_not_rounded_along_the_way() -> None:
    session = engine("exact").start(decoder_of((), [{"1": 0.1, "1/(i+1)": 0.2}, {"1": 0.3}]))
    session.feed(0)
    assert session.logits == [Fraction(0.1) + Fraction(0.2), Fraction(0.3)]
    assert session.logits[0] != session.logits[1]


@pytest.mark.parametrize(("name", "first_b"), [("exact", 49), ("dense", 48)])
def test_floats_break_a_tie_of_logits_that_rationals_keep(name: str, first_b: int) -> None:
    # 49/(i+1) against 1: equal at i = 48, where the first token wins; but in float64 1/49 · 49 < 1
    session = engine(name).start(decoder_of((), [{"1/(i+1)": 49}, {"1": 1}]))
    answers = [session.feed(0) for _ in range(60)]
    assert answers == [0] * first_b + [1] * (60 - first_b)


def test_the_mean_of_thirds_is_a_third() -> None:
    # means of 1/(i+1) are the harmonic numbers H_n / n; all of them kept exactly
    uniform = head(LAYOUT, "mean", "", query=[], key=[], carries=[({"1/(i+1)": 1}, {"seen": 1})])
    session, seen = engine("exact").start(decoder_of((uniform,), [{}, {}])), []
    for _ in range(30):
        session.feed(0)
        seen.append(session.residual[2])
    assert seen == [sum(Fraction(1, k) for k in range(1, n + 1)) / n for n in range(1, 31)]


def test_whole_numbers_are_kept_as_integers_so_that_long_runs_stay_fast() -> None:
    session = engine("exact").start(decoder_of((), [{}, {}]))
    for i in range(3):
        session.feed(0)
        assert [type(x) for x in session.residual] == [int, Fraction if i else int, int]
