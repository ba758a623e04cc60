"""Formulas under softmax on the command line: the report, and words for temperatures in ``check``."""

from __future__ import annotations

import json

import pytest

from tests.cli.test_commands import tm2tfr_here
from tm2tfr.cli import main

SINCE = ("--formula", "(Q[a] | Q[b]) since Q[b]", "--alphabet", "abc")
SOFT = ("--attention", "softmax")


@pytest.mark.slow
def test_the_report_has_margins_and_what_is_needed_by_length(capsys: pytest.CaptureFixture[str]) -> None:
    code, lines = tm2tfr_here(capsys, "soften", *SINCE, "--temperature", "local")
    assert code == 0
    assert lines[2].startswith(
        "  since (Q(a) | Q(b)) since Q(b)  gap at least 0.125; smallest found 0.125; one position has the best score;"
    )
    assert lines[2].endswith("; margin 4: 1/τ ≥ 11.09")
    assert any(line.startswith("0.0901684 ") and line.endswith("all 16 right") for line in lines)  # 1/(8·ln 4)
    assert [line.split() for line in lines[-7:-1]] == [
        ["n", "words", "1/τ", "needed", "local", "bound", "times", "Theorem", "26", "times"],
        ["4", "all", "81", "9.72", "13.9", "1.43", "454", "46.7"],
        ["8", "200", "17.8", "25", "1.4", "901", "50.5"],
        ["16", "200", "33.4", "47.1", "1.41", "1.88e+03", "56.1"],
        ["32", "200", "65.4", "91.5", "1.4", "3.99e+03", "61"],
        ["64", "200", "128", "180", "1.41", "8.56e+03", "66.9"],
    ]
    assert lines[-1] == (
        "over these lengths 1/τ grows like N^1.00 as needed, like N^1.00 by the local bounds, where N counts all positions"
    )


@pytest.mark.slow
def test_the_report_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    _, lines = tm2tfr_here(capsys, "soften", "--formula", "prev Q[a]", "--alphabet", "ab", "--format", "json")
    plain = json.loads(lines[0])
    assert [(head["margin"], round(head["needs"], 3)) for head in plain["heads"]] == [(7.0, 1.946)]
    assert [at["length"] for at in plain["growth"]] == [4, 8, 16, 32, 64]
    assert (round(plain["exponent"], 2), plain["local_exponent"]) == (0.0, 0.0)


@pytest.mark.parametrize("how", [(), ("--temperature", "local"), ("--temperature", "theorem-26")])
def test_check_covers_the_longest_word_that_it_runs(how: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    for words in (("--all-up-to", "5"), ("--random", "20"), ("--input", "cccccccccccca", "--input", "ab")):
        code, lines = tm2tfr_here(capsys, "check", *SINCE, *SOFT, *how, *words)
        assert code == 0, lines
    code, lines = tm2tfr_here(capsys, "trace", *SINCE, *SOFT, *how, "--input", "abcccccc")
    (engine,) = [line for line in lines if line.startswith("engine: ")]
    said = " at temperature 0.000" if "theorem-26" in how else ", temperature local, for at most 10 positions"
    assert (code, said in engine) == (0, True), engine


def test_no_temperature_is_for_steep_queries(capsys: pytest.CaptureFixture[str]) -> None:
    none = ("--temperature", "none", "--random", "20")
    assert tm2tfr_here(capsys, "check", *SINCE, "--steep", *SOFT, *none)[0] == 0
    _, lines = tm2tfr_here(capsys, "trace", *SINCE, "--steep", *SOFT, "--input", "abba")
    assert "engine: dense, float64, 5 positions; softmax, temperature none" in lines
    with pytest.raises(SystemExit) as end:
        main(["check", *SINCE, *SOFT, *none])
    assert end.value.code == 2
    assert (
        "head 'since (Q(a) | Q(b)) since Q(b)': its gap shrinks with the position, so softmax needs a temperature: use"
        in (capsys.readouterr().err)
    )


def test_what_cannot_be_local(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["check", "reverse.rasp", *SOFT, "--temperature", "local", "--all-up-to", "3"])
    assert "has no local bound under softmax, since what it carries is not rounded: use the temperature theorem-26, or" in (
        capsys.readouterr().err
    )
    for words in ("local", "auto", "theorem-26"):
        code, _ = tm2tfr_here(capsys, "check", "dyck-1-by-depth", *SOFT, "--temperature", words, "--all-up-to", "5")
        assert code == 0
