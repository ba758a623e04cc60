"""Overwriting the stream on the way: position by position and at once, in floats and in rationals."""

from __future__ import annotations

from fractions import Fraction

import pytest

import tm2tfr
from tm2tfr.engines.decode import Observation, Patch, run_whole
from tm2tfr.engines.dense import Dense
from tm2tfr.engines.exact import Exact

DECODER = tm2tfr.compile("chapter")
TOKENS = [DECODER.numbers[token] for token in ("1", "1", "BOS", "(q0,1,0)", "(q1,_,+1)")]


@pytest.mark.parametrize("engine", [Dense(), Exact()], ids=["dense", "exact"])
@pytest.mark.parametrize("stage", [(-1, "embedding"), (1, "attention"), (2, "feed_forward")])
def test_the_stream_is_overwritten_from_there_on(engine: Dense | Exact, stage: tuple[int, str]) -> None:
    at = DECODER.layout["h/(i+1)"].start
    patch = Patch(*stage, at, (Fraction(1, 4),))
    session, seen = engine.start(DECODER), Observation()
    for token in TOKENS[:3]:
        session.feed(token)
    session.feed(TOKENS[3], seen, [patch])
    found = {(layer, part): stream[at] for layer, part, stream in seen.stages}
    assert found[stage] == Fraction(1, 4)
    before = [where for where in found if list(found).index(where) < list(found).index(stage)]
    assert all(found[where] != Fraction(1, 4) for where in before)
    session.feed(TOKENS[4])
    whole = run_whole(DECODER, TOKENS, engine=engine, patches={3: [patch]})
    assert list(whole[4].residual) == list(session.residual)
    assert list(whole[4].logits) == list(session.logits)
