"""What the proof says of streams, on the streams of runs; and changes of weights that show on them, which are refused."""

from __future__ import annotations

import random
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.sources.turing.proof.test_pinned import Recorder, wrong_changes
from tests.sources.turing.universal.cases import compiled, random_prompt
from tests.strategies import some
from tm2tfr.engines.dense import Dense
from tm2tfr.sources.turing.columns import Row
from tm2tfr.sources.turing.universal import prompt
from tm2tfr.sources.turing.universal.program import Universal
from tm2tfr.sources.turing.universal.proof.layers import of_layer
from tm2tfr.sources.turing.universal.proof.prove import domain_of
from tm2tfr.sources.turing.universal.truth import UniversalTruth
from tm2tfr.transformer.weights import matrices, replaced

Array = NDArray[Any]
CLASSES = {tape: Universal(states=2, symbols=3, tape=tape) for tape in ("both", "one-way", "two-way")}  # type: ignore[arg-type]
RUNS, STEPS = 40, 14


@cache
def streams(tape: str) -> dict[int, Array]:
    """Return layer (from 1) -> (n, width) the streams before it, in random runs of the class."""
    universal, seen, chance = CLASSES[tape], Recorder(), random.Random(7)
    decoder = compiled(universal)
    for _ in range(RUNS):
        name = chance.choice(universal.tapes) if universal.tapes else None
        held = prompt.read(random_prompt(chance, 2, 3, name), universal)
        session = Dense().start(decoder)
        for row in map(_row, UniversalTruth(held, held.right.input or "", max_steps=STEPS).rows()):
            session.feed(decoder.numbers[str(row.x)], seen)
    return {layer + 1: np.unique(np.array(found), axis=0) for layer, found in seen.found.items()}


def _row(row: tuple[Any, ...]) -> Row:
    return Row(*row)


QUICK = [("both", layer) for layer in (2, 3, 4, 5, 6)]


@pytest.mark.similar
@pytest.mark.parametrize(
    ("tape", "layer"),
    [pair if pair in QUICK else pytest.param(*pair, marks=pytest.mark.slow) for pair in product(CLASSES, range(1, 8))],
)
def test_a_weight_that_shows_in_a_run_is_refused(tape: str, layer: int) -> None:
    universal, decoder = CLASSES[tape], compiled(CLASSES[tape])
    domain = domain_of(universal)
    assert all(proof.refusals == () for proof in of_layer(decoder, domain, layer))
    tried = wrong_changes(decoder, layer, streams(tape)[layer])
    assert len(tried) > 15
    for name, row, column, value in tried if tape == "both" else some(tried):
        path = f"layers.{layer}.feed_forward.{name}"
        broken = replaced(decoder, {path: matrices(decoder)[path].with_entry(row, column, value)})
        assert any(proof.refusals for proof in of_layer(broken, domain, layer)), (path, row, column, value)


@pytest.mark.parametrize("tape", CLASSES)
def test_what_is_neither_0_nor_1_is_what_the_proof_says_it_is(tape: str) -> None:
    """The last key at values, and elsewhere; the rule that is found, and the means where there is none."""
    layout, x = compiled(CLASSES[tape]).layout, streams(tape)

    def part(layer: int, *names: str) -> Array:
        return np.concatenate([x[layer][:, layout[name]] for name in names], axis=1)

    at_value = part(2, "[value]")[:, 0] == 1
    for name in ("e_q(key)", "e_a(key)"):
        keys = part(2, name)
        assert (keys[at_value].sum(axis=1) == 1).all()
        assert (keys.sum(axis=1) <= 1).all()
        assert ((keys == 0) | (keys == 1)).all()
    means = part(6, "r*_q", "r*_a", "out")
    assert ((means >= 0) & (means <= 1)).all()
    assert ((means > 0) & (means < 1)).any(), "there are means"
    flags, out = part(7, "[r*_q=q]", "[r*_a=a]"), part(7, "out")
    found = (flags == 1).all(axis=1)
    assert found.any()
    assert ((out[found] == 0) | (out[found] == 1)).all()
    assert (out[found].sum(axis=1) == 1).all()
    assert (flags[~found].sum(axis=1) <= 1 + 2**-50).all()
    assert (flags[~found].sum(axis=1) > 0.99).any(), "that is as much as it can be"
