"""What the fast engine computes once for all decoders that share a part: each runs as if it were alone."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import pytest

from tests.strategies import tries
from tm2tfr.base.errors import EngineError
from tm2tfr.engines import recognise
from tm2tfr.engines.decode import generate
from tm2tfr.engines.dense import Dense
from tm2tfr.engines.dependence import Same, sources
from tm2tfr.engines.fast import Fast, fresh
from tm2tfr.engines.overflow import reach
from tm2tfr.lab.datasets.machines.family import Family
from tm2tfr.sources.turing.compiler import compile_machine
from tm2tfr.sources.turing.library import load
from tm2tfr.transformer.weights import Decoder, matrices, replaced

POSITIONS = 40


def answers(decoder: Decoder, engine: Dense | Fast, word: Sequence[str] = "11") -> list[str] | str:
    """Return the tokens answered, or those before a refusal, with its words."""
    found = []
    try:
        for step in generate(decoder, word, engine=engine, max_positions=POSITIONS):
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
