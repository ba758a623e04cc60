"""Many runs by straight-line code are the same runs: whatever is left of one run is not seen by the next."""

from __future__ import annotations

import random

import pytest

import tm2tfr
from tests.runs.batches.one_by_one import assert_same, equal
from tests.runs.batches.test_machines import words_over
from tests.runs.test_sabotage import sabotages
from tm2tfr.engines.fast import many


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> list[many.ManyRuns]:
    """Have straight-line code compiled at once; the sessions that are built."""
    built = list[many.ManyRuns]()

    class Built(many.ManyRuns):
        def run(self, *given: object, **more: object) -> many.RowsInTurn:
            if self not in built:
                built.append(self)
            return super().run(*given, **more)  # type: ignore[arg-type]

    monkeypatch.setattr("tm2tfr.runs.batches.running.ManyRuns", Built)
    monkeypatch.setattr(many, "COMING", 0)
    monkeypatch.setattr(many, "LOOK_AFTER", 0)
    return built


@pytest.mark.slow
def test_the_kernel_and_straight_line_code_agree(hurried: list[many.ManyRuns], monkeypatch: pytest.MonkeyPatch) -> None:
    dice = random.Random(2)
    words = ["".join(dice.choices("ab", k=dice.randrange(20))) for _ in range(400)]
    for limit in (7, 500):
        short = tm2tfr.check_batch("palindromes", words, max_steps=limit, workers=1)
        assert short.agrees
        assert hurried.pop().hurried > short.rows * 3 // 4
        with monkeypatch.context() as patch:
            patch.setattr(many, "COMING", 2**62)
            patch.setattr(many, "LOOK_AFTER", 2**62)
            assert equal(short, tm2tfr.check_batch("palindromes", words, max_steps=limit, workers=1))
        assert hurried.pop().hurried == 0
    few = tm2tfr.check_batch("palindromes", words[:30], max_steps=500)
    assert_same(few, few.decoder, few.program, words[:30], 500)


@pytest.mark.slow
def test_sabotaged_weights(hurried: list[many.ManyRuns]) -> None:
    machine, differ, ran = tm2tfr.load("chapter"), 0, 0
    words = words_over(machine, 3, 8)
    for _, broken in random.Random(5).sample(sabotages(tm2tfr.compile(machine), 5), 4):
        batch = tm2tfr.check_batch(broken, words, max_steps=30)
        assert_same(batch, broken, machine, words, 30)
        differ += len(batch.failures) > 0
        ran += sum(session.hurried for session in hurried)
    assert differ > 0
    assert ran > 0
