"""Overwriting the stream on the way: position by position and at once, in floats and in rationals."""

from __future__ import annotations

import re
from fractions import Fraction

import pytest

import tm2tfr
from tm2tfr.base.errors import EngineError
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


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((0, "embedding", 0, (1,)), "nothing is patched after 'embedding' of layer 0: use (-1, 'embedding')"),
        ((-2, "attention", 0, (1,)), "nothing is patched after 'attention' of layer -2"),
        ((0, "attention", -1, (1,)), "a patch overwrites at least one coordinate from 0 on, not 1 at -1"),
        ((0, "attention", 0, ()), "a patch overwrites at least one coordinate from 0 on, not 0 at 0"),
    ],
)
def test_a_patch_that_is_none_is_refused(arguments: tuple[int, str, int, tuple[int, ...]], words: str) -> None:
    with pytest.raises(EngineError, match=re.escape(words)):
        Patch(*arguments)


def test_a_patch_that_does_not_fit_is_refused() -> None:
    with pytest.raises(EngineError, match="these weights have 6 layers, and a patch is of layer 6, counted from 0"):
        Dense().start(DECODER).feed(0, None, [Patch(6, "attention", 0, (1,))])
    with pytest.raises(EngineError, match="the stream has 63 coordinates, and a patch overwrites coordinate 63"):
        run_whole(DECODER, TOKENS, engine=Exact(), patches={0: [Patch(0, "attention", 62, (1, 2))]})
