"""The most important test: weights that go wrong on some machine of the class are never certified.

One weight is changed at random; random machines are put into the prompt, and the dense engine is compared with the
simulator. The machines know nothing of the change, nor of the proof.
"""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmarks.attack_certificates import CHANGES
from tests.mutations import STRUCTURED, cancelling_units, filled, mutated, one_entry, scaled_scores, scaled_unit, two_rows
from tests.sources.turing.proof.granted import Run, first_wrong, held, run_of
from tests.sources.turing.proof.test_pinned import Recorder, wrong_changes
from tests.sources.turing.universal.cases import compiled, random_prompt
from tests.strategies import some, tries
from tm2tfr.engines.dense import Dense
from tm2tfr.sources.turing.columns import Row
from tm2tfr.sources.turing.universal import prompt
from tm2tfr.sources.turing.universal.program import Universal
from tm2tfr.sources.turing.universal.proof import domain as witness
from tm2tfr.sources.turing.universal.proof.layers import of_layer
from tm2tfr.sources.turing.universal.proof.prove import domain_of, prove
from tm2tfr.sources.turing.universal.truth import UniversalTruth
from tm2tfr.transformer.weights import Decoder, matrices, replaced

CLASSES = [
    Universal(states=2, symbols=3),
    Universal(states=3, symbols=2, tape="one-way"),
    Universal(states=2, symbols=2, tape="two-way"),
]
KINDS = (*STRUCTURED, *(cancelling_units, scaled_unit, scaled_scores) * 6)
"""Those most often that the proof of the heads does not refuse by their form."""
RUNS, STEPS = 16, 10
FAR = 160


@cache
def runs(universal: Universal) -> list[Run]:
    """Random runs by the simulator: the tokens fed and those answered, position by position."""
    chance = random.Random(universal.states)
    return [random_run(universal, chance, STEPS) for _ in range(RUNS)]


@cache
def far(universal: Universal) -> list[Run]:
    """A run of more than `FAR` positions, and a short one."""
    chance = random.Random(universal.states)
    found = (random_run(universal, chance, FAR) for _ in itertools.count())
    return [next(run for run in found if len(run[0]) > FAR), runs(universal)[0]]


def random_run(universal: Universal, chance: random.Random, steps: int) -> Run:
    tape = chance.choice(universal.tapes) if universal.tapes else None
    program = prompt.read(random_prompt(chance, chance.randint(1, universal.states), universal.symbols, tape), universal)
    return run_of(UniversalTruth(program, program.right.input or "", max_steps=steps))


def wrong(decoder: Decoder, universal: Universal) -> bool:
    return any(first_wrong(decoder, Dense(), run, len(run[0])) is not None for run in runs(universal))


def sabotages(decoder: Decoder, seed: int, count: int) -> Iterator[tuple[str, Decoder]]:
    """Decoders with one weight changed each, or two rows, in every matrix in turn."""
    chance, paths = random.Random(seed), filled(decoder)
    for n in range(count):
        change = two_rows if chance.random() < 0.15 else one_entry
        yield (path := paths[n % len(paths)]), change(decoder, chance, path)


@pytest.mark.parametrize(
    "universal", [CLASSES[0], *(pytest.param(u, marks=pytest.mark.slow) for u in CLASSES[1:])], ids=lambda u: u.tape
)
def test_no_weights_that_go_wrong_are_certified_and_refusals_name_the_layer(
    universal: Universal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(witness, "MOST", 0)  # what a run shows is tested elsewhere, and takes most of the time
    decoder, counts = compiled(universal), Counter[str]()
    assert not wrong(decoder, universal)
    for path, broken in sabotages(decoder, seed=universal.symbols, count=tries(100)):
        refusals = prove(broken, universal).refusals
        bad = wrong(broken, universal)
        assert refusals or not bad, path
        inside = int(path.split(".")[1]) if path.startswith("layers.") else 8 * ("unembedding" in path)
        counts["wrong"] += bad
        counts["refused"] += bool(refusals)
        counts["named"] += inside in {refusal.layer for refusal in refusals}
    assert counts["wrong"] > tries(100) // 5
    assert counts["named"] == counts["refused"], "a refusal names the layer that was changed"


@pytest.mark.slow
def test_weights_that_do_the_same_in_exact_arithmetic_are_right_where_they_are_certified(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Rescaled, permuted, split, shifted: if they are certified for an engine, random runs are right on it."""
    monkeypatch.setattr(witness, "MOST", 0)
    counts = Counter[str]()
    for seed in range(tries(150)):
        chance = random.Random(seed)
        universal = chance.choice(CLASSES)
        decoder = compiled(universal)
        for change in chance.sample(CHANGES, chance.randint(1, 4)):
            decoder = change(decoder, chance)
        held(decoder, prove(decoder, universal), runs(universal)[:6], counts)
    assert counts["certified"] > tries(150) // 2


@pytest.mark.slow
@pytest.mark.similar
def test_mutants_are_right_as_far_as_they_are_certified(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(witness, "MOST", 0)
    counts = Counter[str]()
    for seed in range(many := tries(1_000)):
        chance = random.Random(seed)
        universal = chance.choice(CLASSES)
        _, decoder = mutated(compiled(universal), chance, KINDS)
        held(decoder, prove(decoder, universal), far(universal), counts)
    assert counts["certified"] > many / 4
    assert counts["to the end"] > many / 8
    assert counts["wrong"] > many / 15


# ── what the proof says of streams, on the streams of runs; and changes of weights that show on them, which are refused
Array = NDArray[Any]
STREAM_CLASSES = {tape: Universal(states=2, symbols=3, tape=tape) for tape in ("both", "one-way", "two-way")}  # type: ignore[arg-type]
STREAM_RUNS, STREAM_STEPS = 40, 14


@cache
def streams(tape: str) -> dict[int, Array]:
    """Return layer (from 1) -> (n, width) the streams before it, in random runs of the class."""
    universal, seen, chance = STREAM_CLASSES[tape], Recorder(), random.Random(7)
    decoder = compiled(universal)
    for _ in range(STREAM_RUNS):
        name = chance.choice(universal.tapes) if universal.tapes else None
        held = prompt.read(random_prompt(chance, 2, 3, name), universal)
        session = Dense().start(decoder)
        for row in map(_row, UniversalTruth(held, held.right.input or "", max_steps=STREAM_STEPS).rows()):
            session.feed(decoder.numbers[str(row.x)], seen)
    return {layer + 1: np.unique(np.array(found), axis=0) for layer, found in seen.found.items()}


def _row(row: tuple[Any, ...]) -> Row:
    return Row(*row)


QUICK = [("both", layer) for layer in (2, 3, 4, 5, 6)]


@pytest.mark.similar
@pytest.mark.parametrize(
    ("tape", "layer"),
    [
        pair if pair in QUICK else pytest.param(*pair, marks=pytest.mark.slow)
        for pair in product(STREAM_CLASSES, range(1, 8))
    ],
)
def test_a_weight_that_shows_in_a_run_is_refused(tape: str, layer: int) -> None:
    universal, decoder = STREAM_CLASSES[tape], compiled(STREAM_CLASSES[tape])
    domain = domain_of(universal)
    assert all(proof.refusals == () for proof in of_layer(decoder, domain, layer))
    tried = wrong_changes(decoder, layer, streams(tape)[layer])
    assert len(tried) > 15
    for name, row, column, value in tried if tape == "both" else some(tried):
        path = f"layers.{layer}.feed_forward.{name}"
        broken = replaced(decoder, {path: matrices(decoder)[path].with_entry(row, column, value)})
        assert any(proof.refusals for proof in of_layer(broken, domain, layer)), (path, row, column, value)


@pytest.mark.parametrize("tape", STREAM_CLASSES)
def test_what_is_neither_0_nor_1_is_what_the_proof_says_it_is(tape: str) -> None:
    """The last key at values, and elsewhere; the rule that is found, and the means where there is none."""
    layout, x = compiled(STREAM_CLASSES[tape]).layout, streams(tape)

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
