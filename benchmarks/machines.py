"""Machines that are made for measuring."""

from __future__ import annotations

import random

import tm2tfr
from tm2tfr.sources.turing.library import load
from tm2tfr.sources.turing.spec import Machine, TapeKind


def five_states() -> Machine:
    """The five-state busy beaver: two-way tape, six heads."""
    return load("busy-beaver-5")


def three_by_three() -> Machine:
    """The machine of Terry and Shawn Ligocki (2007), three states, three symbols: no such machine is known to run longer.

    It halts after 119,112,334,170,342,540 steps; in the first 10⁹ it visits 38,279 cells.
    """
    machine: Machine = tm2tfr.load("1RB2LA1LC_0LA2RB1LB_1RZ1RA1RC")
    return machine


def large(states: int = 1_000, symbols: int = 10, seed: int = 1) -> Machine:
    """A random machine with a rule for every state and symbol."""
    chance = random.Random(seed)
    names, gamma = [f"q{n}" for n in range(states)], [chr(ord("a") + n) for n in range(symbols)]
    rules = {(q, a): (chance.choice(names), chance.choice(gamma), chance.choice((-1, 1))) for q in names for a in gamma}
    return Machine(transitions=rules, start="q0", blank="a", name=f"random {states}×{symbols}")


def runner(tape: TapeKind = "two-way") -> Machine:
    """Runs right for ever: h grows with i, the hardest case for the lookups."""
    return Machine(transitions={("A", "_"): ("A", "1", 1)}, start="A", blank="_", tape=tape, name="runner")


def rewriter() -> Machine:
    """Runs to the end of its input and rewrites the two cells there for ever: the hardest case for retrieval.

    Cells at distance H are written again and again, so that many writes compete, at scores near H².
    """
    rules = {
        ("go", "1"): ("go", "1", 1),
        ("go", "_"): ("left", "x", -1),
        ("left", "1"): ("right", "y", 1),
        ("left", "y"): ("right", "1", 1),
        ("right", "x"): ("left", "z", -1),
        ("right", "z"): ("left", "x", -1),
    }
    return Machine(transitions=rules, start="go", blank="_", input_alphabet=("1",), name="rewriter")
