"""Large state graphs are readable: as ``dot`` lays them out, no label overlaps another one, or a state."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
from collections.abc import Iterator
from itertools import combinations
from typing import Any, NamedTuple

import pytest

import tm2tfr
from tm2tfr.sources.turing.drawing import to_dot
from tm2tfr.sources.turing.spec import Machine, Rule

pytestmark = pytest.mark.skipif(shutil.which("dot") is None, reason="install Graphviz, which draws state graphs")


class Box(NamedTuple):
    """A rectangle of the drawing, in points; `what` is in it."""

    what: str
    left: float
    low: float
    right: float
    high: float

    def overlaps(self, other: Box) -> bool:
        """Return whether they share more than half a point."""
        wide = min(self.right, other.right) - max(self.left, other.left)
        return wide > 0.5 and min(self.high, other.high) - max(self.low, other.low) > 0.5


def states(laid: Any) -> list[Box]:
    found = []
    for node in laid["objects"]:
        (x, y), wide, high = map(float, node["pos"].split(",")), 72 * float(node["width"]), 72 * float(node["height"])
        found.append(Box(node["name"], x - wide / 2, y - high / 2, x + wide / 2, y + high / 2))
    return found


def lines(laid: Any) -> Iterator[Box]:
    """Yield a box for each line of each arrow's label: a line of text from its baseline up, and what hangs below it."""
    for edge in laid["edges"]:
        size = 0.0
        for each in edge.get("_ldraw_", ()):
            size = each.get("size", size)
            if each["op"] == "T":
                (x, y), wide = each["pt"], each["width"]
                left = x - {"l": 0.0, "c": wide / 2, "r": wide}[each["align"]]
                what = f"{edge['tail']} → {edge['head']}: {each['text']}"
                yield Box(what, left, y - size / 4, left + wide, y + 0.75 * size)


def collisions(dot: str) -> list[tuple[str, str]]:
    done = subprocess.run(["dot", "-Tjson"], input=dot, capture_output=True, encoding="utf-8", check=True)
    laid = json.loads(done.stdout)
    labels = list(lines(laid))
    assert len(labels) > 12
    pairs = [*combinations(labels, 2), *((label, state) for label in labels for state in states(laid))]
    return [(one.what, other.what) for one, other in pairs if one.overlaps(other)]


def of_42_states(seed: int, symbols: int, *, near: bool) -> Machine:
    """Return a machine with 42 states with rules for every symbol; `near`: most rules stay, or lead to the next state."""
    chosen, gamma = random.Random(seed), "_01xyz#:"[:symbols]
    rules = {}
    for n in range(42):
        targets = [n, n, n, n + 1, n + 1, max(n - 1, 0), chosen.randrange(42)] if near else [chosen.randrange(42)]
        for a in gamma:
            rules[f"q{n}", a] = Rule(f"q{min(chosen.choice(targets), 41)}", chosen.choice(gamma), chosen.choice((-1, 1)))
    rules["q41", gamma[-1]] = Rule("done", "_", 1)
    return Machine(name="large", transitions=rules, start="q0", blank="_", input_alphabet=("0",), accept=("done",))


@pytest.mark.slow
@pytest.mark.parametrize("large", [True, False], ids=["page", "file"])
@pytest.mark.parametrize(("symbols", "near"), [(2, True), (2, False), pytest.param(8, True, marks=pytest.mark.slow)])
def test_the_labels_of_42_states_do_not_overlap(symbols: int, near: bool, large: bool) -> None:
    assert collisions(to_dot(of_42_states(symbols, symbols, near=near), large=large)) == []


@pytest.mark.parametrize("large", [True, False], ids=["page", "file"])
@pytest.mark.parametrize("name", ["universal", "binary-multiplication", "primes"])
def test_the_labels_of_the_largest_shipped_machines_do_not_overlap(name: str, large: bool) -> None:
    assert collisions(to_dot(tm2tfr.load(name), large=large)) == []


def test_overlapping_labels_are_found() -> None:
    """Large letters without the room that `to_dot` makes for them."""
    crowded = to_dot(tm2tfr.load("universal"), large=True).replace("ranksep=", "ranksep=0.25 was=")
    assert len(collisions(crowded)) > 1
    assert all("7 → 7" in one or "7 → 7" in other for one, other in collisions(crowded))
