"""A source without a recording fails its test with the command that makes one, wherever recordings are looked up."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests import test_pins
from tests.recordings import Recordings, recorded_text
from tests.sources.logic import plain as logic
from tests.sources.rasp import plain as rasp
from tests.sources.rasp.repl import record, test_analysis

RECORD = "run 'python -m tests.sources.rasp.repl.record CHECKOUT'"


@pytest.mark.parametrize(
    ("recordings", "command"),
    [
        (test_pins.RIGHT, "run 'python -m tests.pins'"),
        (record.recorded(), RECORD),
        (test_analysis.THEIRS, RECORD),
        (rasp.PLAIN, "add its function to tests/sources/rasp/plain.py"),
        (logic.PLAIN, "add its function to tests/sources/logic/plain.py"),
    ],
)
def test_a_new_source_fails_with_the_command(recordings: Mapping[str, object], command: str) -> None:
    with pytest.raises(pytest.fail.Exception, match="nothing is recorded of 'none-such': to make one, ") as failed:
        _ = recordings["none-such"]
    assert str(failed.value).endswith(command)


def test_recordings_of_all_sources_and_no_others() -> None:
    found = Recordings({"one": 1, "two": 2}, of="numbers", make="run 'count'")
    found.check(["two", "one"])
    with pytest.raises(pytest.fail.Exception, match="^numbers: nothing is recorded of 'three': to make one, run 'count'$"):
        found.check(["one", "two", "three"])
    with pytest.raises(pytest.fail.Exception, match="^numbers: recorded of two, which no longer exist: to remove them, "):
        found.check(["one"])
    assert found.get("three") is None


def test_a_missing_file(tmp_path: Path) -> None:
    (tmp_path / "there.txt").write_bytes(b"a\r\nb")
    assert recorded_text(tmp_path / "there.txt", "run it") == "a\r\nb"
    with pytest.raises(pytest.fail.Exception, match="nothing is recorded of 'not.txt': to make one, run it$"):
        recorded_text(tmp_path / "not.txt", "run it")
