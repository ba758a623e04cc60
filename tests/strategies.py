"""Random machines and inputs for property tests, and how many of them."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import TypeVar

from hypothesis import strategies as st

from tm2tfr.sources.turing.spec import Machine

Case = TypeVar("Case")
STATES = "ABCDEF"
SYMBOLS = "_01x"
DEPTH = float(os.environ.get("TM2TFR_DEPTH", "0.2"))
"""The share of all random cases that is tried, in every environment; with 1 all of them."""


def tries(number: int) -> int:
    """Return how many random cases to try, of the `number` that are tried in a thorough run."""
    return max(1, math.ceil(DEPTH * number))


def some(cases: Sequence[Case]) -> list[Case]:
    """Return the share of these cases that is tried, from all over them; in a thorough run that is all of them."""
    number = min(tries(len(cases)), len(cases))
    return [cases[n * len(cases) // number] for n in range(number)]


@st.composite
def machines(draw: st.DrawFn) -> Machine:
    """1-6 states that can have rules, 2-4 symbols, both tapes, stays, missing rules, all kinds of verdicts."""
    states = STATES[: draw(st.integers(1, len(STATES)))]
    symbols = SYMBOLS[: draw(st.integers(2, len(SYMBOLS)))]
    ends = draw(st.sampled_from([("yes", "no"), ("yes",), ("halt",), ()]))
    accept, reject = ("yes" if "yes" in ends else None), ("no" if "no" in ends else None)
    rule = st.tuples(st.sampled_from([*states, *ends]), st.sampled_from(symbols), st.sampled_from([-1, -1, 0, 1, 1]))
    density = draw(st.sampled_from([0.6, 0.9, 1.0]))
    rules = {}
    for state in states:
        for symbol in symbols:
            if draw(st.floats(0, 1)) < density:
                rules[state, symbol] = draw(rule)
    sigma = symbols[1:] if draw(st.booleans()) else symbols[1:2]
    return Machine(
        transitions=rules,
        start=draw(st.sampled_from([*states, *ends[:1]])) if draw(st.integers(0, 20)) == 0 else "A",
        blank="_",
        states=(*states, *ends),
        input_alphabet=tuple(sigma),
        accept=accept,
        reject=reject,
        tape=draw(st.sampled_from(["one-way", "two-way"])),
        name="random",
    )


@st.composite
def machines_with_inputs(draw: st.DrawFn) -> tuple[Machine, str]:
    """A random machine and a word over its input alphabet."""
    machine = draw(machines())
    return machine, draw(st.text(st.sampled_from(machine.input_alphabet or ("1",)), max_size=6))
