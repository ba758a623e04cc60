"""Weights to be hidden, of all sources, and how their answers are compared."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import tm2tfr
from tm2tfr.engines.decode import Engine, generate, run_whole
from tm2tfr.engines.reading import answered
from tm2tfr.lab.hidden.claim import HiddenClaim, HiddenTruth
from tm2tfr.lab.hidden.disguise import Disguised
from tm2tfr.transformer.weights import Decoder

MACHINES = ("chapter", "busy-beaver-3", "parity", "palindromes", "binary-increment", "never-halts", "left-edge")
CIRCUITS = ("full-adder", "half-adder", "c17", "multiplexer")
PROGRAMS = ("histogram", "reverse", "shift", "count", "running-maximum", "length")
FORMULAS = ("since-b", "a-n-b-n", "hop-1", "nearest-mark", "odd-ones-without-predicates")
NAMES = (*MACHINES, *CIRCUITS, *PROGRAMS, *FORMULAS)


def perfect(truth: HiddenTruth) -> HiddenClaim:
    """Return the claim that is right in everything."""
    return HiddenClaim(truth.heads, truth.layers, truth.units, truth.subspaces)


@cache
def hidden(name: str, grade: int = 3, seed: int = 0, dimensions: Any = None, **options: Any) -> Disguised:
    """Return a shipped program, hidden."""
    return tm2tfr.disguise(tm2tfr.Subject.of(name, options=options), grade=grade, seed=seed, dimensions=dimensions)


def answers(decoder: Decoder, prompt: Sequence[str], engine: Engine, positions: int) -> list[Any]:
    """Return what a decoder answers on its own at each position."""
    if decoder.labeller:
        numbers = [decoder.numbers[token] for token in prompt]
        return [answered(decoder, passed.logits) for passed in run_whole(decoder, numbers, engine=engine)]
    return [(s.token, s.output) for s in generate(decoder, prompt, engine=engine, max_positions=positions)]
