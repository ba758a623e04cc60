"""An analysis that would not fit into memory is refused early, with an estimate and a length that fits."""

from __future__ import annotations

import pytest

import tm2tfr
from tm2tfr.base import memory
from tm2tfr.base.errors import CompileError
from tm2tfr.sources.sequence import forecast
from tm2tfr.sources.sequence.forecast import Forecast


def peaks(monkeypatch: pytest.MonkeyPatch, *megabytes: float | None, machine: float | None = 1_000) -> None:
    """Have the process's memory be these megabytes, one after the other."""
    several = iter(megabytes)
    monkeypatch.setattr(memory, "peak", lambda: next(several))
    monkeypatch.setattr(memory, "of_machine", lambda: machine)


def test_the_growth_of_a_64th_is_that_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    peaks(monkeypatch, 50, 60, 110)
    found = Forecast(8_000)
    assert found.after(8_000) is None
    assert found.after(999) is None
    problem = found.after(1_000)
    assert problem is not None
    assert "up to 8,000 tokens have 32,004,000 positions, whose values would take about 3,307 MB" in problem
    assert problem.endswith("and this machine has 1,000 MB")
    assert found.remedy == "use a smaller --max-length, such as 4,693"


@pytest.mark.parametrize(
    ("length", "megabytes", "machine"),
    [(8_000, (50, 60, 70), 1_000), (1_000, (50,), 1), (8_000, (None,), 1_000), (8_000, (50, 60, 110), None)],
    ids=["it fits", "short", "unknown use", "unknown machine"],
)
def test_nothing_is_refused(
    monkeypatch: pytest.MonkeyPatch, length: int, megabytes: tuple[float | None, ...], machine: float | None
) -> None:
    peaks(monkeypatch, *megabytes, machine=machine)
    found = Forecast(length)
    assert [found.after(n) for n in (length, 1, length // 8, length // 8 + 1)] == [None] * 4


def test_a_program_is_refused_with_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forecast, "LARGE", 10)
    grown = iter(range(100, 100_000, 100))
    monkeypatch.setattr(memory, "peak", lambda: next(grown))
    monkeypatch.setattr(memory, "of_machine", lambda: 300.0)
    with pytest.raises(CompileError, match=r"^reverse\.rasp:\d+:\d+: .*: use a smaller max_length, such as \d+"):
        tm2tfr.compile("reverse", max_length=24)
