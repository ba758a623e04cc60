"""Straight-line code from another time: used from the beginning, the same rows, on right and on sabotaged weights."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import pytest

from tests.engines.test_fast_sabotage import compiled, slow
from tests.engines.test_straight import joined, mutants, run, sizes
from tests.strategies import tries
from tm2tfr.base.native import folder, function
from tm2tfr.engines.fast import session

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not folder.POSIX, reason="nothing is kept here: run it on a POSIX system"),
]


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(folder.VARIABLE, str(tmp_path))
    return tmp_path / "code"


def never(*arguments: object) -> None:
    raise RuntimeError("nothing should be compiled")


def test_code_from_another_time_runs_from_the_beginning(cache: Path) -> None:
    (good, given), right = compiled("busy-beaver-4"), slow(*compiled("busy-beaver-4"))
    broken = (pair for pair in mutants("busy-beaver-4", block=7, number=100) if slow(pair[1], given) != right)
    for where, decoder in [("", good), *islice(broken, tries(10))]:
        want = slow(decoder, given)
        with pytest.MonkeyPatch.context() as patch:
            wanted, usual = run(decoder, given, sizes(1), len(want))
            assert usual.hurried == 0
            patch.setattr(session, "SPECIALISE_AFTER", 0)
            first, compiling = run(decoder, given, sizes(1), len(want))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(session, "LOOK_AFTER", 0)
            patch.setattr(function.KeptFunction, "_compiled", never)
            second, kept = run(decoder, given, sizes(1), len(want))
        assert joined(first) == joined(second) == joined(wanted), where
        assert joined(second)[1] == want, where
        assert kept.hurried == compiling.hurried, where
    assert len(list(cache.iterdir())) > 1


def test_a_file_that_is_not_what_its_name_says_is_not_run(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The code of other weights, under this name: it would answer otherwise."""
    monkeypatch.setattr(session, "MOST_PATIENCE", 1)
    others = [decoder for _, decoder in mutants("busy-beaver-4", block=7, number=1)]
    decoder, given = compiled("busy-beaver-4")
    want, paths = slow(decoder, given), list[Path]()
    with monkeypatch.context() as patch:
        patch.setattr(session, "SPECIALISE_AFTER", 0)
        for weights in (decoder, *others):
            run(weights, given, sizes(1), len(want))
            paths += [path for path in cache.iterdir() if path not in paths]
    monkeypatch.setattr(session, "LOOK_AFTER", 0)
    mine, *foreign = paths
    good = mine.read_bytes()
    for damaged in (*(path.read_bytes() for path in foreign), good[:-8], b""):
        mine.write_bytes(damaged)
        found, running = run(decoder, given, sizes(1), len(want))
        assert (joined(found)[1], running.hurried) == (want, 0)
    mine.write_bytes(good)
    found, running = run(decoder, given, sizes(1), len(want))
    assert joined(found)[1] == want
    assert running.hurried > 50


def test_code_is_looked_for_only_where_a_run_is_long(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    decoder, given = compiled("busy-beaver-4")
    asked: list[str] = []
    monkeypatch.setattr(function, "_stored", asked.append)
    _, running = run(decoder, given, iter([50, 50]), 100)
    assert asked == []
    monkeypatch.setattr(session, "LOOK_AFTER", 120)
    running.restart()
    running.prompt(given)
    running.extend(30)
    assert len(asked) == 1
    running.extend(30)
    assert len(asked) == 1
    assert running.hurried == 0
