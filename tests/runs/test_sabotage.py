"""Mutation: one weight is changed, and `check` says so and where, or the change changes nothing on the runs."""

from __future__ import annotations

import random

import pytest

from tests.runs.checking import check
from tm2tfr.engines.decode import generate
from tm2tfr.engines.dense import Dense
from tm2tfr.runs.comparison import Trace
from tm2tfr.runs.rows import rows
from tm2tfr.sources.turing.compiler import compile_machine
from tm2tfr.sources.turing.library import load
from tm2tfr.sources.turing.spec import Machine
from tm2tfr.transformer.weights import Decoder, matrices, replaced

CASES = {
    "chapter": ["11", "1111", "111"],
    "palindromes": ["", "abba", "ab"],
    "busy-beaver-4": [""],
    "left-edge": ["11", "1"],
}
PER_MACHINE = 80


def sabotages(decoder: Decoder, seed: int) -> list[tuple[str, Decoder]]:
    """Return decoders with one weight changed each: entries that are there, and entries that were 0."""
    chance = random.Random(seed)
    paths = [path for path, matrix in matrices(decoder).items() if matrix.shape[0] and matrix.shape[1]]
    chosen = []
    for n in range(PER_MACHINE):
        path = paths[n % len(paths)]
        matrix = matrices(decoder)[path]
        entries = list(matrix.entries())
        if entries and chance.random() < 0.7:
            row, column, old = chance.choice(entries)
        else:
            row, column = chance.randrange(matrix.shape[0]), chance.randrange(matrix.shape[1])
            old = matrix.dense()[row, column]
        new = chance.choice([v for v in (0.0, -old, old + 1, old - 1, 2 * old, old + 0.5) if v != old])
        chosen.append((path, replaced(decoder, {path: matrix.with_entry(row, column, new)})))
    return chosen


def checked(decoder: Decoder, machine: Machine, word: str) -> Trace:
    return check(decoder, word, machine=machine, engine=Dense(), max_steps=120)


@pytest.mark.similar
@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_each_sabotage_is_caught_where_it_is_or_changes_nothing(name: str) -> None:
    machine = load(name)
    decoder = compile_machine(machine)
    caught = harmless = 0
    for path, broken in sabotages(decoder, seed=len(name)):
        traces = [checked(broken, machine, word) for word in CASES[name]]
        failed = [t for t in traces if not t.agrees]
        if not failed:
            harmless += 1
            for word in CASES[name]:
                same = [list(rows(d, word, engine=Dense(), max_positions=130)) for d in (decoder, broken)]
                tokens = [
                    [s.output for s in generate(d, word, engine=Dense(), max_positions=130)] for d in (decoder, broken)
                ]
                assert same[0] == same[1]
                assert tokens[0] == tokens[1]
            continue
        caught += 1
        for trace in failed:
            assert trace.divergence is not None
            assert trace.divergence.cause is not None, path
            assert trace.divergence.cause.layer == _layer(path, decoder), f"{path}\n{trace.divergence}"
    assert caught + harmless == PER_MACHINE
    assert caught > PER_MACHINE / 3, "most sabotages should matter"


def _layer(path: str, decoder: Decoder) -> int:
    if path.startswith("layers."):
        return int(path.split(".")[1])
    return 0 if "unembedding" not in path else len(decoder.layers) + 1
