"""Certificates of mutants beside runs of the simulator, as far as they are granted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from tm2tfr.base.errors import EngineError
from tm2tfr.engines.decode import Engine
from tm2tfr.engines.dense import Dense
from tm2tfr.engines.fast import Fast
from tm2tfr.sources.turing.truth import TuringTruth
from tm2tfr.transformer.weights import Decoder

ENGINES: tuple[tuple[Engine, str], ...] = ((Dense("float32"), "float32"), (Dense(), "float64"), (Fast(), "float64"))
END, MORE, NONE = 161, 48, 24
"""The positions that are run: all that are certified up to those that any decoder is certified for in float32, wherever its
head goes; so many where more are certified; and so many where none are.
"""
Run = tuple[list[str], list[str]]
"""The tokens that are fed and those that are right, position by position."""


def run_of(truth: TuringTruth) -> Run:
    """Return a run of the simulator."""
    rows = list(truth.rows())
    return [str(row.x) for row in rows], [str(row.y) for row in rows]  # type: ignore[attr-defined]


def first_wrong(decoder: Decoder, engine: Engine, run: Run, most: int) -> int | None:
    """Return the first position whose answer is not the simulator's, or is none; None if there is none before `most`."""
    session, position = engine.start(decoder), 0
    try:
        with np.errstate(all="ignore"):
            for position, (fed, right) in enumerate(zip(run[0][:most], run[1], strict=False)):
                if decoder.vocabulary[session.feed(decoder.numbers[fed])] != right:
                    return position
    except EngineError:
        return position
    return None


def held(decoder: Decoder, proof: Any, runs: Sequence[Run], counts: Counter[str]) -> None:
    """Assert that a decoder is right as far as it is certified, on each engine; count what became of it.

    Args:
        counts: gets ``certified``; ``to the end`` if a run had all positions that are certified for an engine; ``wrong`` if
            nothing is certified, and rightly so.
    """
    certified = ended = wrong = False
    for engine, dtype in ENGINES:
        granted = 0 if proof.refusals else proof.largest(engine.name, dtype) or 0
        most = (granted if granted <= END else MORE) or NONE
        for run in runs if granted else runs[:1] if engine == Dense() else ():
            place = first_wrong(decoder, engine, run, most)
            assert place is None or place >= granted, f"{engine.name} {dtype}: position {place} of {granted} certified"
            wrong |= place is not None
            ended |= 0 < granted <= min(END, len(run[0]))
        certified |= granted > 0
    counts.update({"certified": certified, "to the end": ended, "wrong": wrong})
