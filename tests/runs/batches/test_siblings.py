"""Decoders that differ in their first layers alone are prepared together: plans and rows are those of each by itself."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from tm2tfr.dataset.family import Family
from tm2tfr.engines.fast import fresh, many
from tm2tfr.engines.fast import session as sessions
from tm2tfr.engines.fast.many import ManyRuns
from tm2tfr.engines.fast.plan import plan
from tm2tfr.engines.recognise import recognise
from tm2tfr.engines.siblings import runs
from tm2tfr.engines.siblings.runs import WhatIsRead, run_siblings
from tm2tfr.runs.batches.probes import probes_of
from tm2tfr.sources.turing.compiler import compile_machine
from tm2tfr.transformer.weights import Decoder, matrices, replaced

pytest.importorskip("numba", reason="the fast engine needs Numba: pip install numba")

SEED = 5
GIVEN, START = np.array([1, 0, 1, 0, 0, 0, 1], dtype=np.int32), np.array([0, 1, 3, 7])
"""BOS after 0, 1 and 3 symbols."""


def reads(decoders: Sequence[Decoder]) -> list[WhatIsRead]:
    return [(found.labels, found.numbers) for found in map(probes_of, decoders)]


def compiled(family: Family, numbers: range) -> list[Decoder]:
    return [compile_machine(family.machine(number)) for number in numbers]


def broken(decoder: Decoder, chance: random.Random, paths: Sequence[str]) -> Decoder:
    """Return the decoder with another entry in one of these matrices, usually in place of one that is there."""
    matrix = matrices(decoder)[path := chance.choice(paths)]
    row, column = (chance.randrange(size) for size in matrix.shape)
    if chance.random() < 0.7 and matrix.nonzero:
        row, column, _ = list(matrix.entries())[chance.randrange(matrix.nonzero)]
    return replaced(decoder, {path: matrix.with_entry(row, column, chance.choice((0.0, -1.0, 2.0, 0.5, 1.25, 1e200)))})


FIRST = tuple(f"layers.1.feed_forward.{name}" for name in ("input", "input_bias", "output", "output_bias"))


def assert_equal(found: Any, right: Any, where: str = "plan") -> None:
    """Assert that nested tuples have the same numbers, bit by bit, in arrays that compiled code can be handed."""
    if isinstance(right, tuple):
        assert type(found) is type(right)
        for name, one, other in zip(getattr(right, "_fields", range(len(right))), found, right, strict=True):
            assert_equal(one, other, f"{where}.{name}")
    elif isinstance(right, np.ndarray):
        assert (found.dtype, found.shape, found.tobytes()) == (right.dtype, right.shape, right.tobytes()), where
        assert found.flags.c_contiguous
    else:
        assert found == right, where


@pytest.mark.parametrize("family", [Family(2, 2), Family(3, 2, partial=True), Family(2, 3)])
def test_the_plans_are_those_of_each_alone(family: Family) -> None:
    chance = random.Random(SEED)
    decoders = compiled(family, range(11, family.size, family.size // 12))
    decoders += [broken(decoder, chance, FIRST) for decoder in decoders]
    planned, read = 0, reads(decoders)
    for _, some, plans in runs._families(decoders, read):
        for place, n in enumerate(some.tolist()):
            assert_equal(plans.plan(place), plan(decoders[n], recognise(decoders[n]), *read[n]))
            planned += 1
    assert planned > len(decoders) * 2 // 3


def rows_of(decoder: Decoder, read: WhatIsRead, most: Any) -> list[list[Any]]:
    found = ManyRuns(decoder, labels=read[0], numbers=read[1]).run(GIVEN, START, most, int(most.sum()))
    return [each.tolist() for each in (found.ends, np.diff(found.offsets), found.answers, found.codes, found.numbers)]


@pytest.mark.slow
def test_wrong_weights_among_others_give_their_own_wrong_rows() -> None:
    """Each is run as if alone: a weight that is changed in one decoder is seen in its rows, and in no others."""
    chance, family, most = random.Random(SEED), Family(2, 2), np.array([30, 25, 20])
    right = compiled(family, range(7_001, 7_081, 4))
    decoders = [decoder for each in right for decoder in (each, broken(each, chance, FIRST))]
    every = [path for path, matrix in matrices(right[0]).items() if all(matrix.shape)]
    decoders += [broken(each, chance, every) for each in right]
    read = reads(decoders)
    found, ran = run_siblings(decoders, read, GIVEN, START, np.tile(most, (len(decoders), 1)))
    changed, alone = 0, [rows_of(*each, most) for each in zip(decoders, read, strict=True)]
    for n in range(len(decoders)):
        cut = slice(*(found.offsets[[3 * n, 3 * n + 3]]).tolist())
        if not ran[n]:
            assert cut.start == cut.stop
            continue
        ends, sizes = found.ends[3 * n : 3 * n + 3], np.diff(found.offsets[3 * n : 3 * n + 4])
        these = (ends, sizes, found.answers[cut], found.codes[cut], found.numbers[cut])
        assert [each.tolist() for each in these] == alone[n]
        changed += n < 2 * len(right) and n % 2 and these[2].tolist() != alone[n - 1][2]
    assert ran[: 2 * len(right) : 2].all(), "all decoders as they were compiled"
    assert changed > 4


def test_what_cannot_be_prepared_together_is_left_out() -> None:
    decoders = compiled(Family(2, 2), range(7_001, 7_004))
    huge = replaced(decoders[0], {FIRST[2]: matrices(decoders[0])[FIRST[2]].with_entry(0, 0, 1e308)})
    every = [*decoders, huge]
    found, ran = run_siblings(every, reads(every), GIVEN, START, np.full((4, 3), 9))
    assert ran.tolist() == [True, True, True, False]
    assert np.diff(found.offsets)[9:].tolist() == [0, 0, 0]


def test_sessions_are_kept_up_to_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "_SESSIONS", runs._Sessions())
    monkeypatch.setattr(runs, "MOST_KEPT", 2)
    decoders = compiled(Family(2, 2), range(1, 20_000, 1_900))
    once, ran = run_siblings(decoders, reads(decoders), GIVEN, START, np.full((len(decoders), 3), 20))
    assert ran.all()
    assert len(runs._SESSIONS.kept) == 2
    again, _ = run_siblings(decoders, reads(decoders), GIVEN, START, np.full((len(decoders), 3), 20))
    assert again.answers.tolist() == once.answers.tolist()


@pytest.mark.parametrize("size", [1, 4])
def test_the_memo_of_many_runs_has_a_bound(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    """Within a call it stays as large as it is, and is emptied between two runs if it is full; then it grows once."""
    [decoder] = compiled(Family(2, 2), range(7_001, 7_002))
    most = np.array([60, 60, 60])
    right = rows_of(decoder, reads([decoder])[0], most)
    for module, name, number in ((fresh, "SMALL_MEMO", size), (fresh, "MEMO", 16), (sessions, "MEMO", 16)):
        monkeypatch.setattr(module, name, number)
    [(labels, numbers)] = reads([decoder])
    session = ManyRuns(decoder, labels=labels, numbers=numbers)
    sizes = [len(session._state.memo_token)]
    for _ in range(4):
        found = session.run(GIVEN, START, most, 10)
        sizes.append(len(session._state.memo_token))
        assert found.answers.tolist() == right[2]
        assert found.codes.tolist() == right[3]
    assert sizes == [size, *[16] * 4]
    assert len(session._state.winners) > many.KEYS
