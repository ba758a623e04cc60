"""A decoder against a machine's simulator, row by row."""

from __future__ import annotations

from typing import Any

from tm2tfr.engines.decode import Engine
from tm2tfr.runs import comparison
from tm2tfr.runs.comparison import Trace
from tm2tfr.sources.turing.spec import Machine
from tm2tfr.sources.turing.truth import truth_for
from tm2tfr.transformer.weights import Decoder


def check(
    decoder: Decoder, word: str, *, machine: Machine, engine: Engine, max_steps: int | None = None, **options: Any
) -> Trace:
    truth = truth_for(machine, word, decoder=decoder, max_steps=max_steps)
    return comparison.check(decoder, truth, engine=engine, max_steps=max_steps, **options)
