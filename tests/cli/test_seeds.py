"""Seeds: one range and one message in every command that takes one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.lines import said
from tests.cli.test_commands import tm2tfr_here

LINES = (
    "check binary-adder --random 1",
    "check parity --random 1",
    "check reverse --random 1",
    "check since-b --random 1",
    "intervene running-parity --random 1",
    "labels parity --random 1 -o labels",
    "disguise parity -o hidden.safetensors --key key.json",
    "check parity --universal 8,4 -i 1",
)


@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize("seed", ["123456789012345678901234567890", "-1", "x"])
def test_what_is_no_seed(line: str, seed: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, *line.split(), "--seed", seed).endswith(
        f": --seed: '{seed}' is not a seed: use a whole number from 0 to 1e18"
    )


@pytest.mark.slow
@pytest.mark.parametrize("line", LINES)
def test_the_largest_seed_is_taken(
    line: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    code, _ = tm2tfr_here(capsys, *line.split(), "--seed", "1e18")
    assert code == 0
