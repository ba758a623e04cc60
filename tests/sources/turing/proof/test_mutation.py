"""Mutation: weights are changed at random; no decoder that goes wrong is certified where it does."""

from __future__ import annotations

import random
from collections import Counter
from functools import cache

import pytest

from benchmarks.machines import rewriter, runner
from tests.mutations import STRUCTURED, cancelling_units, filled, mutated, one_entry, scaled_scores, scaled_unit
from tests.runs.checking import check
from tests.sources.turing.proof.granted import Run, held, run_of
from tests.strategies import tries
from tm2tfr.engines.dense import Dense
from tm2tfr.engines.exact import Exact
from tm2tfr.sources.turing.compiler import compile_machine
from tm2tfr.sources.turing.library import load
from tm2tfr.sources.turing.proof import attention as witness
from tm2tfr.sources.turing.proof.prove import prove
from tm2tfr.sources.turing.spec import Machine
from tm2tfr.sources.turing.truth import TuringTruth
from tm2tfr.transformer.weights import Decoder

CASES = {
    "chapter": ["11", "1111", "111"],
    "palindromes": ["", "abba", "ab"],
    "busy-beaver-4": [""],
    "left-edge": ["11", "1"],
    "busy-beaver-2x4": [""],
    "binary-increment": ["1011", "0"],
}
PER_MACHINE = tries(60)
KINDS = (*STRUCTURED, *(cancelling_units, scaled_unit, scaled_scores) * 6)
"""Those most often that the proof of the heads does not refuse by their form."""


def sabotages(decoder: Decoder, seed: int) -> list[tuple[str, Decoder]]:
    """Decoders with one weight changed each, in every matrix in turn."""
    chance, paths = random.Random(seed), filled(decoder)
    return [(path, one_entry(decoder, chance, path)) for path in (paths[n % len(paths)] for n in range(PER_MACHINE))]


@pytest.mark.slow
def test_no_decoder_that_goes_wrong_is_certified_and_refusals_name_the_layer() -> None:
    counts: Counter[str] = Counter()
    for name, words in CASES.items():
        machine = load(name)
        decoder = compile_machine(machine)
        for path, broken in sabotages(decoder, seed=len(name)):
            proof = prove(broken, machine)
            runs = [(word, engine, n) for word in words for engine, n in ((Dense(), 50), (Exact(), 5))]
            wrong = any(not check(broken, w, machine=machine, engine=e, max_steps=n).agrees for w, e, n in runs)
            inside = int(path.split(".")[1]) if path.startswith("layers.") else 7 * ("unembedding" in path)
            named = inside in {refusal.layer for refusal in proof.refusals}
            assert not (wrong and not proof.refusals), path
            counts["wrong"] += wrong
            counts["refused"] += bool(proof.refusals)
            counts["named"] += named
    assert counts["wrong"] > 150 / 360 * PER_MACHINE * len(CASES)
    assert counts["named"] == counts["refused"], "a failure names the layer that was changed"


@cache
def cases() -> tuple[tuple[Machine, Decoder, list[Run]], ...]:
    """Return machines whose heads run away, or come back to the same cells for ever, and a small one; with their runs."""
    chosen = [
        *((runner(tape), "") for tape in ("one-way", "two-way")),
        (rewriter(), "1" * 40),
        (load("chapter"), "1111"),
        (load("busy-beaver-4"), ""),
    ]
    return tuple((m, compile_machine(m), [run_of(TuringTruth(m, word, max_steps=160))]) for m, word in chosen)


@pytest.mark.slow
@pytest.mark.similar
def test_mutants_are_right_as_far_as_they_are_certified(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(witness, "WALKS", ())  # a refusal's example is tested elsewhere, and takes a third of the time
    counts = Counter[str]()
    for seed in range(many := tries(1_000)):
        chance = random.Random(seed)
        machine, decoder, runs = chance.choice(cases())
        _, decoder = mutated(decoder, chance, KINDS)
        held(decoder, prove(decoder, machine), runs, counts)
    assert counts["certified"] > many / 4
    assert counts["to the end"] > many / 8
    assert counts["wrong"] > many / 15
