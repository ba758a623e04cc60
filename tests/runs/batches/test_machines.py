"""Many runs of a machine in one call: the rows, ends and differences of the runs one by one."""

from __future__ import annotations

import random
from collections.abc import Hashable
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tm2tfr
from tests.engines.test_overflow import attacks
from tests.runs.batches.one_by_one import assert_same, equal
from tests.runs.test_sabotage import sabotages
from tests.strategies import machines, tries
from tm2tfr.base.errors import EngineError
from tm2tfr.engines.fast import many
from tm2tfr.engines.fast.fresh import SessionArrays, Spare
from tm2tfr.lab.datasets.machines.family import Family
from tm2tfr.runs.batches import generated
from tm2tfr.sources.turing.spec import Machine
from tm2tfr.sources.turing.universal.program import Universal


def words_over(machine: Machine, longest: int, most: int = 40) -> list[str]:
    """All words up to a length, or as many, some of them twice."""
    alphabet = machine.input_alphabet or ()
    every = ["".join(w) for n in range(longest + 1 if alphabet else 1) for w in product(alphabet, repeat=n)][:most]
    return [*every, *every[:3]]


def both(subject: Any, words: list[str], limit: int, **more: Any) -> None:
    """Check a batch with and without the reference against the runs one by one."""
    found = tm2tfr.Subject.of(subject)
    checked = tm2tfr.check_batch(subject, words, max_steps=limit, **more)
    assert_same(checked, found.decoder, found.program, words, limit)
    plain = tm2tfr.run_batch(subject, words, max_steps=min(limit, 60), **more)
    assert_same(plain, found.decoder, found.program, words, min(limit, 60))


@pytest.mark.slow
@settings(max_examples=tries(20), deadline=None)
@given(machines(), st.integers(0, 60))
def test_random_machines(machine: Machine, limit: int) -> None:
    both(machine, words_over(machine, 3), limit)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["chapter", "palindromes", "busy-beaver-3", "binary-increment"])
@pytest.mark.parametrize("limit", [0, 1, 7, 500])
def test_shipped_machines(name: str, limit: int) -> None:
    both(name, words_over(tm2tfr.load(name), 4, 12), limit)


@pytest.mark.slow
@settings(max_examples=tries(20), deadline=None)
@given(machines(), st.none() | st.integers(0, 9), st.integers(0, 40))
def test_in_the_prompt_of_a_universal_decoder(machine: Machine, seed: int | None, limit: int) -> None:
    both(Universal(8, 5).holding(machine, seed=seed), words_over(machine, 2), limit)


@pytest.mark.slow
def test_the_left_boundary_of_the_chapter() -> None:
    machine = tm2tfr.Machine(
        transitions={
            ("a", "1"): ("b", "1", -1),
            ("b", "1"): ("a", "0", 1),
            ("a", "0"): ("b", "0", -1),
            ("b", "0"): ("a", "1", 0),
        },
        start="a",
        blank="_",
        tape="one-way",
        name="bumps",
    )
    decoder = tm2tfr.compile(machine, left_boundary="chapter")
    batch = tm2tfr.check_batch(decoder, words := words_over(machine, 4), max_steps=40)
    assert_same(batch, decoder, machine, words, 40)
    assert len(batch.failures) > 3


@pytest.mark.slow
@pytest.mark.parametrize("name", ["chapter", "palindromes"])
def test_sabotaged_weights(name: str) -> None:
    machine = tm2tfr.load(name)
    words, differ = words_over(machine, 3, 8), 0
    for _, broken in random.Random(3).sample(sabotages(tm2tfr.compile(machine), 5), 8):
        batch = tm2tfr.check_batch(broken, words, max_steps=30)
        assert_same(batch, broken, machine, words, 30)
        differ += len(batch.failures) > 0
        for run in batch.failures[:1].tolist():
            gap, alone = batch.divergence(run), tm2tfr.check(broken, words[run], max_steps=30, keep_rows=False)
            assert gap == alone.divergence
    assert differ > 2


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_numbers_that_are_too_large() -> None:
    words, refused = ["1", "", "11", "1"], 0
    for _, broken in list(attacks())[::5]:
        machine = tm2tfr.load("chapter")
        batch = tm2tfr.check_batch(broken, words, machine=machine, max_steps=20)
        assert_same(batch, broken, machine, words, 20)
        refused += len(batch.refused) > 0
        for run in batch.refused[:1].tolist():
            with pytest.raises(EngineError):
                batch.trace(run)
    assert refused > 1


@pytest.mark.slow
def test_any_number_of_workers_and_parts_of_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    dice = random.Random(1)
    words = ["".join(dice.choices("ab", k=dice.randrange(30))) for _ in range(300)]
    one = tm2tfr.check_batch("palindromes", words, workers=1)
    assert one.agrees
    assert one.rows > 10_000
    for rows, first, most in ((2**16, 32, 8_192), (100, 1, 7), (1, 3, 50)):
        monkeypatch.setattr(generated, "ROWS", rows)
        monkeypatch.setattr(generated, "FIRST", first)
        monkeypatch.setattr(generated, "MOST", most)
        for workers in (1, 2, 3):
            assert equal(one, tm2tfr.check_batch("palindromes", words, workers=workers))
    monkeypatch.setattr(generated, "FIRST", 32)
    monkeypatch.setattr(generated, "ROWS", 1)
    assert equal(one, tm2tfr.check_batch("palindromes", words, workers=2)), "the first part is too large"
    alone = tm2tfr.check_batch("palindromes", words, keep_rows=False)
    assert (alone.rows, len(alone.answers), alone.T.tolist()) == (one.rows, 0, one.T.tolist())
    assert equal(tm2tfr.run_batch("palindromes", words, workers=1), tm2tfr.run_batch("palindromes", words, workers=2))


@pytest.mark.slow
def test_a_long_tape_and_a_long_run_between_short_ones() -> None:
    words = ["1", "1" * 6_000, "", "1" * 40]
    batch = tm2tfr.check_batch("chapter", words, max_steps=30_000)
    assert batch.agrees
    assert batch.T.tolist() == [
        tm2tfr.check("chapter", word, max_steps=None, engine="fast", keep_rows=False).T for word in words
    ]


def test_nothing_to_run() -> None:
    batch = tm2tfr.check_batch("palindromes", [])
    assert (len(batch), batch.rows, batch.offsets.tolist(), batch.agrees) == (0, 0, [0], False)


def test_sessions_take_over_arrays_and_compute_what_new_ones_do(monkeypatch: pytest.MonkeyPatch) -> None:
    family, words, taken = Family(2, 2), ["", "1", "11", "111"], list[bool]()
    numbers = [*range(0, family.size, 997), *range(13_000, 13_012)]

    class Watched(Spare):
        def take(self, sizes: Hashable) -> SessionArrays | None:
            taken.append((found := super().take(sizes)) is not None)
            return found

    def batches() -> list[Any]:
        return [tm2tfr.check_batch(family.machine(n), words, max_steps=100, workers=1) for n in numbers]

    monkeypatch.setattr(many, "_SPARE", Watched())
    some = batches()
    assert 0 < taken.count(False) < taken.count(True)
    monkeypatch.setattr(many, "LARGEST_SPARE", 0)  # no arrays are kept
    monkeypatch.setattr(many, "_SPARE", Watched())
    taken.clear()
    assert all(equal(one, other) and one.agrees for one, other in zip(some, batches(), strict=True))
    assert not any(taken)
