"""Sabotage: with one or two weights changed, the fast engine follows the dense one into the same, wrong, tokens.

An engine that knew what a Turing machine is, or took a head for what its name says, would go on giving the right
ones. Every run goes on past stop tokens, so that all are equally long. A head that a mutation has turned into
something else is scanned, and the engine says so: most heads still are not, or nothing would have been tested.
"""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Sequence
from functools import cache

import numpy as np
import pytest

from tests.engines.test_fast import followed
from tests.strategies import tries
from tm2tfr.base.errors import EngineError
from tm2tfr.engines import engine, recognise
from tm2tfr.engines.decode import generate
from tm2tfr.engines.dense import Dense
from tm2tfr.engines.dependence import Same, sources
from tm2tfr.engines.fast import Fast, fresh
from tm2tfr.engines.fast.session import FastSession
from tm2tfr.engines.overflow import reach
from tm2tfr.lab.datasets.machines.family import Family
from tm2tfr.sources.turing.compiler import compile_machine
from tm2tfr.sources.turing.library import load
from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.weights import Decoder, matrices, replaced

POSITIONS = 70
BLOCK = tries(126)
MACHINES = {
    "chapter": "1111",  # one-way, a verdict
    "power-of-two": "11111111",  # one-way, long runs over the input
    "left-edge": None,  # moves left at cell 0
    "busy-beaver-4": "",  # two-way, no verdict
    "binary-counter": None,  # never ends, on a tape that is read again and again
    "collatz": None,
    "palindromes": "abba",
    "sort-bits": "10110",
}
CASES = [(name, block) for name in MACHINES for block in range(2)]
MUTATED = ("query", "key", "value", "output", "input", "input_bias", "output_bias")
"""The last part of a weight's path: the four matrices of a head, and those of a feed-forward layer."""


@cache
def compiled(name: str) -> tuple[Decoder, tuple[int, ...]]:
    """Return the decoder of a shipped machine, which stops at nothing, and the numbers of a prompt for it."""
    machine, word = load(name), MACHINES[name]
    decoder = dataclasses.replace(compile_machine(machine), stop=())
    prompt = (machine.input or "") if word is None else word
    return decoder, tuple(decoder.vocabulary.index(t) for t in (*prompt, decoder.bos))


def slow(decoder: Decoder, given: tuple[int, ...], name: str = "dense", most: int = POSITIONS) -> list[int]:
    """Return the answers of another engine to `given` and then to its own answers."""
    session = engine(name).start(decoder)
    answers: list[int] = []
    for i in range(most):
        answers.append(session.feed(given[i] if i < len(given) else answers[-1]))
    return answers


def fast(decoder: Decoder, given: tuple[int, ...], most: int = POSITIONS) -> tuple[list[int], FastSession]:
    session = Fast().start(decoder)
    session.prompt(given)
    return session.extend(most).answers.tolist(), session


# ── what is changed ─────────────────────────────────────────────────────────────────────────────────────────
def mutated(decoder: Decoder, chance: random.Random, times: int) -> tuple[Decoder, str]:
    """Return `decoder` with so many weights changed, two in three of them weights that are not 0, and where."""
    where = []
    for _ in range(times):
        part = chance.choice(MUTATED)
        paths = [p for p, m in matrices(decoder).items() if p.startswith("layers") and p.endswith(f".{part}")]
        path = chance.choice([p for p in paths if 0 not in matrices(decoder)[p].shape])
        matrix = matrices(decoder)[path]
        row, column, old = _place(matrix, chance)
        new = chance.choice([v for v in (0.0, -old, old + 1, old - 1, 2 * old, old + 0.5, -3.0, 0.3) if v != old])
        decoder = replaced(decoder, {path: matrix.with_entry(row, column, new)})
        where.append(f"{path}[{row}, {column}]: {old} -> {new}")
    return decoder, "; ".join(where)


def _place(matrix: Matrix, chance: random.Random) -> tuple[int, int, float]:
    entries = list(matrix.entries())
    if entries and chance.random() < 2 / 3:
        return chance.choice(entries)
    row, column = chance.randrange(matrix.shape[0]), chance.randrange(matrix.shape[1])
    return row, column, next((v for r, c, v in entries if (r, c) == (row, column)), 0.0)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "block"), CASES)
def test_both_engines_follow_wrong_weights_into_the_same_wrong_tokens(name: str, block: int) -> None:
    decoder, given = compiled(name)
    right = slow(decoder, given)
    assert fast(decoder, given)[0] == right
    chance = random.Random(f"sabotage {block} of {name}")
    wrong = scanned = heads = 0
    for n in range(BLOCK):
        broken, where = mutated(decoder, chance, times=1 + n % 2)
        wanted = slow(broken, given)
        got, session = fast(broken, given)
        assert got == wanted, f"{where}\n" + "\n".join(session.report())
        if n % 10 == 0:
            followed(broken, [*given, *wanted[len(given) - 1 :]])
        found = [f for layer in session.recognised for f in layer]
        assert all(f.why for f in found)
        wrong, heads = wrong + (wanted != right), heads + len(found)
        scanned += sum(f.kind == "scan" for f in found)
    assert wrong > 0.4 * BLOCK, "many mutations should matter"
    assert 0.01 * heads < scanned < 0.15 * heads, "some heads should have to be scanned, and not most"


def test_there_are_enough_of_them() -> None:
    assert len(CASES) * BLOCK >= tries(2_000)


# ── what the fast engine computes once for all decoders that share a part: each runs as if it were alone
SHARED_POSITIONS = 40


def answers(decoder: Decoder, engine: Dense | Fast, word: Sequence[str] = "11") -> list[str] | str:
    """Return the tokens answered, or those before a refusal, with its words."""
    found = []
    try:
        for step in generate(decoder, word, engine=engine, max_positions=SHARED_POSITIONS):
            found.append(step.output)  # (what came before an error counts)
    except EngineError as error:
        return f"{found} {str(error).split(':', 1)[1]}"
    return found


@pytest.mark.slow
def test_a_changed_entry_anywhere_gives_the_dense_engines_tokens() -> None:
    """With everything kept from machines of the same shape, and from the same machine with other entries changed."""
    chance, family = random.Random(5), Family(2, 2)
    decoders = [compile_machine(family.machine(number)) for number in (7_001, 7_005, 12_345)]
    for decoder in decoders:
        assert answers(decoder, Fast()) == answers(decoder, Dense())
    paths, different = [path for path, matrix in matrices(decoders[0]).items() if all(matrix.shape)], 0
    for n in range(tries(250)):
        decoder = decoders[n % len(decoders)]
        right = answers(decoder, Dense())
        matrix = matrices(decoder)[path := paths[n % len(paths)]]
        row, column = (chance.randrange(size) for size in matrix.shape)
        if chance.random() < 0.7 and matrix.nonzero:  # usually an entry that is there
            row, column, _ = list(matrix.entries())[chance.randrange(matrix.nonzero)]
        value = chance.choice((0.0, -1.0, 2.0, 0.5, 1.25))
        broken = replaced(decoder, {path: matrix.with_entry(row, column, value)})
        wrong = answers(broken, Dense())
        assert answers(broken, Fast()) == wrong, (path, row, column, value)
        different += wrong != right
        assert answers(decoder, Fast()) == right
    assert different > tries(250) // 5


def test_what_is_known_of_shared_layers_is_found_once() -> None:
    family = Family(2, 2)
    one, other = (compile_machine(family.machine(n)) for n in (7_005, 7_007))
    kinds = [recognise.recognise(decoder) for decoder in (one, other)]
    assert [a is b for a, b in zip(*kinds, strict=True) if a] == [True, True, True]
    known = [sources(decoder).layers for decoder in (one, other)]
    assert [a is b for a, b in zip(*known, strict=True)] == [False, True, True, True, True, False]
    assert reach(one) == reach(other)


def test_a_part_is_the_same_as_itself_alone() -> None:
    one = [1]
    assert Same(one) == Same(one) != Same([1])
    assert len({Same(one), Same(one), Same([1])}) == 2
    assert Same(one) != one


@pytest.mark.parametrize("size", [1, 3])
def test_a_memo_that_is_full_is_made_anew(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    decoder = compile_machine(load("busy-beaver-4"))
    labels = ((0, len(decoder.vocabulary)),)
    monkeypatch.setattr(fresh, "SMALL_MEMO", size)
    monkeypatch.setattr(fresh, "MEMO", 64)
    session = Fast().start(decoder, labels=labels)
    session.prompt([decoder.numbers["BOS"]])
    sizes, found = [len(session._state.memo_token)], []
    for _ in range(10):
        found.append(session.extend(11).answers)
        sizes.append(len(session._state.memo_token))
    assert sizes == [size, *[64] * 10]
    again = Fast().start(decoder, labels=labels)
    again.prompt([decoder.numbers["BOS"]])
    assert np.concatenate(found).tolist() == again.extend(110).answers.tolist()
