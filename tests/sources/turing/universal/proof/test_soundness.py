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

import pytest

from benchmarks.attack_certificates import CHANGES
from tests.mutations import STRUCTURED, cancelling_units, filled, mutated, one_entry, scaled_scores, scaled_unit, two_rows
from tests.sources.turing.proof.granted import Run, first_wrong, held, run_of
from tests.sources.turing.universal.cases import compiled, random_prompt
from tests.strategies import tries
from tm2tfr.engines.dense import Dense
from tm2tfr.sources.turing.universal import prompt
from tm2tfr.sources.turing.universal.program import Universal
from tm2tfr.sources.turing.universal.proof import domain as witness
from tm2tfr.sources.turing.universal.proof.prove import prove
from tm2tfr.sources.turing.universal.truth import UniversalTruth
from tm2tfr.transformer.weights import Decoder

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
