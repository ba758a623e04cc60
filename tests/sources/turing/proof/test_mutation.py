"""Mutation: one weight is changed at random; no decoder that goes wrong is certified."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from tests.strategies import tries
from tests.trace.checking import check
from tm2tfr.engines.dense import Dense
from tm2tfr.engines.exact import Exact
from tm2tfr.sources.turing.compiler import compile_machine
from tm2tfr.sources.turing.library import load
from tm2tfr.sources.turing.proof import prove
from tm2tfr.transformer.weights import Decoder, matrices, replaced

CASES = {
    "chapter": ["11", "1111", "111"],
    "palindromes": ["", "abba", "ab"],
    "busy-beaver-4": [""],
    "left-edge": ["11", "1"],
    "busy-beaver-2x4": [""],
    "binary-increment": ["1011", "0"],
}
PER_MACHINE = tries(60)


def sabotages(decoder: Decoder, seed: int) -> list[tuple[str, Decoder]]:
    """Decoders with one weight changed each: entries that are there, and entries that were 0."""
    chance, chosen = random.Random(seed), []
    paths = [path for path, matrix in matrices(decoder).items() if matrix.shape[0] and matrix.shape[1]]
    for n in range(PER_MACHINE):
        matrix = matrices(decoder)[path := paths[n % len(paths)]]
        entries = list(matrix.entries())
        row, column, old = chance.choice(entries) if entries else (0, 0, 0.0)
        if not entries or chance.random() < 0.3:
            row, column = chance.randrange(matrix.shape[0]), chance.randrange(matrix.shape[1])
            old = float(matrix.dense()[row, column])
        values = (0.0, -old, old + 1, old - 1, 2 * old, old / 2, old + 0.5, old + 1e-3, 1e-9)
        new = chance.choice([value for value in values if value != old])
        chosen.append((path, replaced(decoder, {path: matrix.with_entry(row, column, new)})))
    return chosen


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
