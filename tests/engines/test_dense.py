"""The plain engine: every number in its dtype, scores summed in order, ties exact, and what it refuses."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from tm2tfr.base.errors import EngineError
from tm2tfr.engines import ENGINES, engine
from tm2tfr.engines.dense import Dense
from tm2tfr.engines.exact import Exact
from tm2tfr.transformer.gadgets import Unit, feed_forward, head, stacked
from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.positions import POSITION_FEATURES
from tm2tfr.transformer.residual import Linear, Residual, Subspace
from tm2tfr.transformer.weights import Decoder, Head, Layer, Mask

WATCHED = ("dense", "exact")
"""The engines that can be looked into."""
FEATURES = tuple(POSITION_FEATURES)
LAYOUT = Residual((*map(Subspace, FEATURES), *map(Subspace, ("number", "seen", "out"))))


def looking(query: list[Linear], key: list[Linear], reads: Linear) -> Head:
    return head(LAYOUT, "looking", "", query=query, key=key, carries=[(reads, {"seen": 1})])


def decoder_of(numbers: list[float], *layers: Layer, logits: list[Linear] | None = None) -> Decoder:
    """Return a decoder whose token n has the number ``numbers[n]``."""
    rows = logits or [{} for _ in numbers]
    tokens = tuple(map(str, range(len(numbers))))
    numbered = {(LAYOUT.index("number"), n): number for n, number in enumerate(numbers)}
    return Decoder(
        layout=LAYOUT,
        vocabulary=tokens,
        bos="0",
        stop=(),
        features=FEATURES,
        token_embedding=Matrix.from_entries((LAYOUT.width, len(numbers)), numbered),
        position_embedding=Matrix.from_entries((LAYOUT.width, 4), {(n, n): 1.0 for n in range(4)}),
        layers=layers,
        unembedding=stacked(LAYOUT, rows),
        unembedding_bias=Matrix.from_entries((len(numbers), 1), {}),
    )


def layer(*heads: Head, units: tuple[Unit, ...] = ()) -> Layer:
    return Layer(name="", meaning="", source="", heads=heads, feed_forward=feed_forward(LAYOUT, units))


class Seen:
    """Keeps what a Watch is shown."""

    def __init__(self) -> None:
        self.parts: list[tuple[int, str]] = []
        self.arrays: list[Any] = []
        self.attended: list[list[int]] = []
        self.scores: list[list[float]] = []

    def stage(self, layer: int, part: str, residual: Any) -> None:
        self.parts.append((layer, part))
        self.arrays.append(residual)

    def head(self, layer: int, head: int, scores: Any, attended: Any) -> None:
        self.parts.append((layer, f"head {head}"))
        self.arrays.append(scores)
        self.scores.append([float(s) for s in scores])
        self.attended.append([int(j) for j in attended])


UNIFORM = looking([], [], {"number": 1})
RICH = decoder_of(
    [0.1, 0.7],
    layer(UNIFORM, looking([{"1": 1}], [{"1/(i+1)": 1}], {"1/(i+1)": 1, "number": 0.3})),
    Layer(name="no heads, no feed-forward", meaning="", source=""),
    layer(units=(Unit("u", {"seen": 0.1}, {"out": 0.3}, bias=0.7),)),
    logits=[{"out": 0.1}, {"seen": 0.1}],
)


# ── the Watch ───────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("name", WATCHED)
def test_a_watch_sees_each_stage_and_head_once_in_order(name: str) -> None:
    session = engine(name).start(RICH)
    for _ in range(3):
        seen = Seen()
        session.feed(0, seen)
        assert seen.parts == [
            (-1, "embedding"),
            (0, "head 0"),
            (0, "head 1"),
            (0, "attention"),
            (0, "feed_forward"),
            (1, "attention"),
            (1, "feed_forward"),
            (2, "attention"),
            (2, "feed_forward"),
        ]
    assert [seen.scores[0], seen.attended] == [[0, 0, 0], [[0, 1, 2], [0]]]


@pytest.mark.parametrize("name", WATCHED)
def test_being_watched_changes_nothing_and_what_is_shown_is_a_copy(name: str) -> None:
    class Vandal(Seen):
        def stage(self, layer: int, part: str, residual: Any) -> None:
            residual[:] = [7] * len(residual)

    alone, watched = engine(name).start(RICH), engine(name).start(RICH)
    for token in (0, 1, 1, 0):
        assert alone.feed(token) == watched.feed(token, Vandal())
        assert list(alone.residual) == list(watched.residual)


# ── heads ───────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("name", WATCHED)
@pytest.mark.parametrize(
    "uniform",
    [([], []), ([{}], [{}]), ([{}], [{"number": 1}]), ([{"number": 1}], [{}]), ([{"number": 1}, {}], [{}, {"number": 1}])],
    ids=["no components", "no weights", "no query", "no key", "they never meet"],
)
def test_heads_whose_scores_are_all_zero_attend_everywhere(name: str, uniform: tuple[list[Linear], list[Linear]]) -> None:
    session = engine(name).start(decoder_of([1, 2, 6], layer(looking(*uniform, {"number": 1}))))
    means = []
    for token in (0, 1, 2):
        seen = Seen()
        session.feed(token, seen)
        means.append(float(session.residual[LAYOUT.index("seen")]))
    assert (means, seen.scores, seen.attended) == ([1, 1.5, 3], [[0, 0, 0]], [[0, 1, 2]])


@pytest.mark.parametrize("name", WATCHED)
def test_ties_share_the_weight_evenly(name: str) -> None:
    # the score is the token's number: of the largest so far, all are attended to
    largest = layer(looking([{"1": 1}], [{"number": 1}], {"i": 1}))
    session = engine(name).start(decoder_of([0, 4, 4, 1], largest))
    attended, means = [], []
    for token in (0, 1, 3, 2, 0, 1):
        seen = Seen()
        session.feed(token, seen)
        attended.append(seen.attended[0])
        means.append(session.residual[LAYOUT.index("seen")])
    assert attended == [[0], [1], [1], [1, 3], [1, 3], [1, 3, 5]]
    assert means == [0, 1, 1, 2, 2, 3]


@pytest.mark.parametrize("name", WATCHED)
def test_all_heads_read_the_stream_before_any_of_them_writes(name: str) -> None:
    first = head(LAYOUT, "a", "", query=[], key=[], carries=[({"number": 1}, {"number": 1})])
    second = head(LAYOUT, "b", "", query=[], key=[], carries=[({"number": 1}, {"seen": 1})])
    session = engine(name).start(decoder_of([3], layer(first, second)))
    session.feed(0)
    assert [session.residual[LAYOUT.index(d)] for d in ("number", "seen")] == [6, 3]


@pytest.mark.parametrize("name", WATCHED)
def test_a_value_may_be_read_and_not_written_and_written_and_not_read(name: str) -> None:
    made = head(LAYOUT, "a", "", query=[], key=[], carries=[({"number": 1}, {}), ({}, {"seen": 1}), ({}, {})])
    session = engine(name).start(decoder_of([3], layer(made)))
    session.feed(0)
    assert list(session.residual) == [1, 1, 0, 0, 3, 0, 0]


@pytest.mark.parametrize("name", WATCHED)
@pytest.mark.parametrize("mask", ["past", "none"])
def test_heads_that_look_ahead_are_refused_position_by_position(name: str, mask: Mask) -> None:
    decoder = decoder_of([0], layer(dataclasses.replace(UNIFORM, mask=mask)))
    words = f"^head 'looking' has the mask '{mask}' and looks ahead, so it cannot run position by position: run the whole"
    with pytest.raises(EngineError, match=words):
        engine(name).start(decoder)


# ── arithmetic ──────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_every_number_is_of_the_dtype(dtype: str) -> None:
    session = engine("dense", dtype).start(RICH)
    for token in (0, 1, 0):
        seen = Seen()
        session.feed(token, seen)
        arrays = [*seen.arrays, session.residual, session.logits]
        assert {a.dtype for a in arrays} == {np.dtype(dtype)}


def test_float32_computes_as_float32_does() -> None:
    session = Dense("float32").start(RICH)
    session.feed(0)
    f = np.float32
    seen = f(0.1) + (f(1) + f(0.3) * f(0.1))  # both heads attend to the one position there is
    out = f(0.3) * (f(0.1) * seen + f(0.7))
    assert session.residual.tolist() == [1, 1, 0, 0, f(0.1), seen, out]
    assert session.logits.tolist() == [f(0.1) * out, f(0.1) * seen]


def test_float32_rounds_position_features_before_they_are_weighted() -> None:
    weights = Matrix.from_entries((LAYOUT.width, 4), {(0, 0): 0.1})
    session = Dense("float32").start(dataclasses.replace(decoder_of([0]), position_embedding=weights))
    got = []
    for _ in range(50):
        session.feed(0)
        got.append(session.residual[0])
    assert got == [np.float32(0.1) * np.float32(1 / (i + 1)) for i in range(50)]


@pytest.mark.parametrize(("dtype", "answer"), [("float32", 0), ("float64", 1)])
def test_a_decoder_that_float32_and_float64_run_differently(dtype: str, answer: int) -> None:
    # 2^24 + 1 is no float32: it is rounded to 2^24, the logits tie, and the first token wins
    decoder = decoder_of([0, 0], logits=[{"1": 2**24}, {"1": 2**24 + 1}])
    assert engine("dense", dtype).start(decoder).feed(0) == answer


@pytest.mark.parametrize(
    ("name", "dtype", "attended"), [("exact", "rational", [0]), ("dense", "float64", [0]), ("dense", "float32", [0, 1])]
)
def test_scores_that_float32_cannot_tell_apart_tie_there(name: str, dtype: str, attended: list[int]) -> None:
    # 2^24 + 1 + 0 at place 0, where float32 loses the 1, and 2^24 - 1 + 1 at place 1
    query = [{"1": 2**24}, {"1": 1}, {"1": 1}]
    key = [{"1": 1}, {"1": 1, "i": -2}, {"i": 1}]
    session, seen = engine(name, dtype).start(decoder_of([0], layer(looking(query, key, {})))), Seen()
    session.feed(0)
    session.feed(0, seen)
    assert seen.scores == [[2**24 if dtype == "float32" else 2**24 + 1, 2**24]]
    assert seen.attended == [attended]


@pytest.mark.parametrize(("dtype", "digits"), [("float32", 24), ("float64", 53)])
def test_a_score_is_summed_from_the_first_component_to_the_last(dtype: str, digits: int) -> None:
    # big + 1 - big is 0 in this order, as big + 1 rounds to big; big - big + 1 is 1
    big = float(2**digits)
    for terms, score in (([big, 1, -big], 0), ([big, -big, 1], 1), ([1, big, -big], 0)):
        query = [{"1": t} for t in terms]
        session = engine("dense", dtype).start(decoder_of([0], layer(looking(query, [{"1": 1}] * 3, {}))))
        session.feed(0, seen := Seen())
        assert seen.scores == [[score]]


def test_the_first_of_several_maximal_logits_is_the_answer() -> None:
    for name in ENGINES:
        decoder = decoder_of([0, 0, 0, 0], logits=[{"i": -1}, {"1": 1}, {"1": 1}, {"i": 1}])
        session = engine(name).start(decoder)
        assert [session.feed(0) for _ in range(3)] == [1, 1, 3]


# ── names ───────────────────────────────────────────────────────────────────────────────────────────────────
def test_engines_by_name() -> None:
    assert ENGINES == ("dense", "exact", "fast")
    assert engine() == Dense("float64")
    assert engine("dense", "float32") == Dense("float32")
    assert engine("exact") == engine("exact", "rational") == Exact()
    assert [(engine(name).name, engine(name).dtype) for name in ENGINES] == [
        ("dense", "float64"),
        ("exact", "rational"),
        ("fast", "float64"),
    ]
