"""The most important test: weights that go wrong on some machine of the class are never certified.

One weight is changed at random; random machines are put into the prompt, and the dense engine is compared with the
simulator. The machines know nothing of the change, nor of the proof.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache

import pytest

from benchmarks import attack_certificates
from benchmarks.attack_certificates import CHANGES, with_heads
from tests.sources.turing.universal.cases import compiled, random_prompt
from tests.strategies import tries
from tm2tfr.engines.dense import Dense
from tm2tfr.engines.fast import Fast
from tm2tfr.sources.turing.columns import Row
from tm2tfr.sources.turing.universal import prompt
from tm2tfr.sources.turing.universal.program import Universal
from tm2tfr.sources.turing.universal.proof import prove, witness
from tm2tfr.sources.turing.universal.truth import UniversalTruth
from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.weights import Decoder, Head, matrices, replaced

CLASSES = [
    Universal(states=2, symbols=3),
    Universal(states=3, symbols=2, tape="one-way"),
    Universal(states=2, symbols=2, tape="two-way"),
]
RUNS, STEPS = 16, 10


@cache
def runs(universal: Universal) -> list[tuple[list[int], list[int]]]:
    """Random runs by the simulator: the numbers of the tokens fed and of those answered, position by position."""
    chance, found = random.Random(universal.states), []
    numbers = {token: n for n, token in enumerate(universal.vocabulary)}
    for _ in range(RUNS):
        tape = chance.choice(universal.tapes) if universal.tapes else None
        held = prompt.read(random_prompt(chance, chance.randint(1, universal.states), universal.symbols, tape), universal)
        rows = [Row(*row) for row in UniversalTruth(held, held.right.input or "", max_steps=STEPS).rows()]
        found.append(([numbers[str(row.x)] for row in rows], [numbers[str(row.y)] for row in rows]))
    return found


def wrong(decoder: Decoder, universal: Universal) -> bool:
    for fed, answered in runs(universal):
        session = Dense().start(decoder)
        if any(session.feed(x) != y for x, y in zip(fed, answered, strict=True)):
            return True
    return False


def sabotages(decoder: Decoder, seed: int, count: int) -> Iterator[tuple[str, Decoder]]:
    """Decoders with one weight changed each, in every matrix in turn: entries that are there, and entries that were 0."""
    chance = random.Random(seed)
    paths = [path for path, matrix in matrices(decoder).items() if matrix.shape[0] and matrix.shape[1]]
    for n in range(count):
        matrix = matrices(decoder)[path := paths[n % len(paths)]]
        entries = list(matrix.entries())
        if entries and chance.random() < 0.15:  # two rows change places
            a, b = chance.sample(range(matrix.shape[0]), 2) if matrix.shape[0] > 1 else (0, 0)
            order = {a: b, b: a}
            moved = {(order.get(r, r), c): v for r, c, v in entries}
            yield path, replaced(decoder, {path: Matrix.from_entries(matrix.shape, moved)})
            continue
        row, column, old = chance.choice(entries) if entries else (0, 0, 0.0)
        if not entries or chance.random() < 0.35:
            row, column = chance.randrange(matrix.shape[0]), chance.randrange(matrix.shape[1])
            old = float(matrix.dense()[row, column])
        values = (0.0, -old, old + 1, old - 1, 2 * old, old / 2, old + 0.5, old + 1e-3, 1e-9)
        new = chance.choice([value for value in values if value != old])
        yield path, replaced(decoder, {path: matrix.with_entry(row, column, new)})


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
    monkeypatch.setattr(attack_certificates, "some_head", some_head)
    certified = 0
    for seed in range(tries(150)):
        chance = random.Random(seed)
        universal = chance.choice(CLASSES)
        decoder = compiled(universal)
        for change in chance.sample(CHANGES, chance.randint(1, 4)):
            decoder = change(decoder, chance)
        proof = prove(decoder, universal)
        certified += proof.refusals == ()
        for engine, most in ((e, proof.largest(e.name, dtype) or 0) for e, dtype in ENGINES if not proof.refusals):
            for fed, answered in runs(universal)[:6] if most else ():
                session = engine.start(decoder)
                found = [session.feed(decoder.numbers[universal.vocabulary[x]]) for x in fed[:most]]
                assert [decoder.vocabulary[y] for y in found] == [universal.vocabulary[y] for y in answered[:most]], seed
    assert certified > tries(150) // 2


ENGINES = ((Dense("float32"), "float32"), (Dense(), "float64"), (Fast(), "float64"))


def some_head(decoder: Decoder, chance: random.Random, change: Callable[[Head], Head]) -> Decoder:
    """The decoder with one head changed, in any layer that has heads."""
    n = chance.choice([1, 1, 1, 2, 2, 3, 5, 5])
    heads = list(decoder.layers[n].heads)
    k = chance.randrange(len(heads))
    heads[k] = change(heads[k])
    return with_heads(decoder, n, tuple(heads))
