"""Commands by their older names, and what ``soften --figure`` is refused for."""

from __future__ import annotations

import pytest

from tests.cli.lines import said
from tm2tfr.cli import main
from tm2tfr.softness.figure_1 import measured


def test_a_figure_is_measured_under_its_older_name(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(measured, "CASES", measured.CASES[:1])
    printed = []
    for line in (["figure-1", "--length", "8"], ["soften", "--figure", "1", "--length", "8"]):
        with pytest.raises(SystemExit):
            main(line)
        printed.append(capsys.readouterr())
    assert printed[0].out == printed[1].out != ""
    assert (printed[0].err, printed[1].err) == ("warning: figure-1 is now called soften --figure 1\n", "")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("palindromes --figure 1", "--figure 1 measures formulas of its own: omit palindromes"),
        ("--figure 1 --input 11", "--figure 1 measures formulas of its own: omit --input"),
        ("--figure 1 --format csv", "--figure 1 measures formulas of its own: omit --format csv"),
        ("--length 9", "--length is of --figure 1: omit it, or add --figure 1"),
        ("--format latex", "--format latex is of --figure 1: omit it, or add --figure 1"),
    ],
)
def test_what_is_of_the_figure_alone(line: str, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, "soften", *line.split()) == f"tm2tfr soften: {words}"
