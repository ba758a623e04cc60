"""Figure 1, measured: the rows that matter, in every form."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import tm2tfr
from tests.cli.lines import said
from tests.cli.test_commands import tm2tfr_here
from tm2tfr.base.errors import CompileError, OutputError
from tm2tfr.lab.softness import figure_1 as cases
from tm2tfr.lab.softness.figure_1 import CASES, TITLES, Figure, plot, report

PAGE = Path(__file__).parents[3] / "docs" / "logic-paper.md"


@pytest.fixture(scope="module")
def small() -> Figure:
    """The rows of §4.1, since, and the sign head, on short words."""
    chosen = [case for case in CASES if case.section == "4.1" or case.weights == "sign head"]
    return tm2tfr.figure_1(lengths=(4, 8), cases=[*chosen, next(case for case in CASES if case.section == "4.2")])


def test_every_section_of_the_figure_has_rows() -> None:
    assert [case.section for case in CASES] == sorted(case.section for case in CASES)
    assert {case.section for case in CASES} == {"4.1", "4.2", "4.3", "4.4", "4.5", "6"}
    assert {case.weights for case in CASES} == {"ours", "no temperature", "as printed", "sign head"}
    assert {case.printed.temperature for case in CASES if case.weights == "no temperature"} == {"1"}


@pytest.mark.slow
def test_what_grows_and_what_does_not(small: Figure) -> None:
    printed, before, sign, since = small.rows[6], small.rows[4], *small.rows[8:]
    assert [round(row.local or 0, 2) for row in small.rows] == [1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 2.0, 0.0, 1.0, 1.0]
    assert [round(row.entries, 2) for row in small.rows] == [0.0, 0.0, 1.0, 1.0, 2.0, 2.0, 0.0, 2.0, 0.0, 0.0]
    assert [row.any_length for row in small.rows] == [row.local in (None, 0.0) or not row.local for row in small.rows]
    assert printed.features == ("1", "1/(i+1)", "(-1)^i")
    assert small.rows[0].features == ("1", "(-1)^i", "i/n")
    assert sign.features == ("1", "1/(i+1)")
    assert (before.layers, before.heads) == (1, 1)
    assert all(at.found is not None and at.local is not None and at.found >= at.local for at in since.growth)


EXPONENT = {"1/n²": 2.0, "1/n": 1.0, "1": 0.0}


def test_the_figure_on_the_page_is_that_of_the_paper() -> None:
    """That the command prints what the page shows, `tests.test_readme` holds."""
    shown = PAGE.read_text(encoding="utf-8").partition("$ tm2tfr soften --figure 1 --length 32\n")[2].partition("\n\n")[0]
    titles = (*TITLES[:-1], f"{TITLES[-1]}32")
    rows = [dict(zip(titles, re.split(r"  +", line), strict=False)) for line in shown.splitlines()[1:]]
    assert len(rows) == len(CASES)
    for row in rows:
        printed = row["weights"].startswith("as printed")
        found = float((re.match(r"N\^-([\d.]+)", row["τ needed"]) or ["", "0"])[1])
        wanted = EXPONENT[row["printed τ"]] if printed else float(row["τ proved"] != "1")
        assert found == pytest.approx(wanted, abs=0.5 if printed else 0.2 if wanted == 0 else 0.1), row
        needed, proved = (float(each.split()[0]) for each in row[f"{TITLES[-1]}32"].split(" ≤ "))
        assert needed <= proved, row


@pytest.mark.slow
def test_printed_rows_have_the_printed_position_embedding() -> None:
    powers = {"1": 0.0, "n": 1.0, "n²": 2.0, "n³": 3.0}
    chosen = [case for case in CASES if case.weights == "as printed"]
    for row in tm2tfr.figure_1(lengths=(2,), cases=chosen).rows:
        assert row.entries == pytest.approx(powers[row.case.printed.embedding], abs=0.01), row.case
        assert row.any_length == (row.case.printed.temperature == "1")


def test_as_text(small: Figure) -> None:
    titles, *lines = report(small).splitlines()
    assert titles.split("  ")[0] == TITLES[0]
    assert titles.endswith("1/τ at n=8")
    assert [line.split("  ")[0] for line in lines[:10]] == [*["4.1"] * 8, "4.4", "4.2"]
    assert lines[4].split()[-3:] == ["1.24", "≤", "1.95"]
    assert lines[10] == ""
    assert lines[11].endswith("at which every node is right, on words of 4 and 8 tokens:")


def test_as_markdown(small: Figure) -> None:
    lines = report(small, "markdown").splitlines()
    assert lines[0].startswith("| § | logic | measured on | weights | printed τ | printed PE |")
    assert lines[11].startswith(
        r"| 4.2 | TL[since, until] | `(Q[a] \| Q[b]) since Q[b]` | as printed, 15a | 1/n | 1 | N^-1."
    )


def test_as_latex(small: Figure) -> None:
    lines = report(small, "latex").splitlines()
    assert lines[1] == r"\begin{tabular}{llllllllll}"
    assert lines[9].startswith(
        r"4.1 & TL[$\ominus$,{} $\oplus$] & prev Q[a] & ours & 1 & n & 1 & 1 & $N^{2.00}$ & 1.24 $\leq$"
    )
    assert lines[11].startswith(r"4.1 & TL[$\ominus$] & prev Q[a] & as printed,{} 13a & 1/n$^{2}$ & 1 & $N^{-")


def test_as_json(small: Figure) -> None:
    first = json.loads(report(small, "json"))["rows"][4]
    assert first["case"]["subject"] == "prev Q[a]"
    assert [at["length"] for at in first["growth"]] == [4, 8]
    assert (first["local"], first["entries"]) == (0.0, pytest.approx(2.0, abs=0.001))


@pytest.mark.slow
def test_as_a_picture(small: Figure, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is missing: install the extra plot")
    plot(small, tmp_path / "x.svg")
    drawn = (tmp_path / "x.svg").read_text(encoding="utf-8")
    assert drawn.count('<g id="axes_') == 3
    ticks = re.findall(r'<g id="xtick_.*?<!-- (.*?) -->', drawn, re.DOTALL)
    assert ticks == ["5", "6", "9", "10", "5", "9", "6", "10"]  # those measured, and no powers of ten
    with pytest.raises(OutputError, match="a plot is written as .png, .svg, .pdf"):
        plot(small, tmp_path / "x.jpg")


@pytest.mark.slow
def test_the_command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(cases, "CASES", CASES[:1])
    code, lines = tm2tfr_here(capsys, "soften", "--figure", "1", "--length", "20")
    assert (code, len(lines)) == (0, 7)
    assert lines[0].endswith("1/τ at n=20")
    assert lines[3].endswith("on words of 8, 16 and 20 tokens:")
    assert lines[4].endswith("otherwise 200 sampled ones, so that 1/τ needed is at least as shown;")
    for length in ("7", "257"):
        assert said(capsys, "soften", "--figure", "1", "--length", length) == (
            f"tm2tfr soften --figure 1: --length {length} is not measured: use 8 to 256, or tm2tfr.figure_1 in Python"
        )


def test_at_one_length_nothing_is_said_of_growth() -> None:
    (row,) = tm2tfr.figure_1(lengths=(4,), cases=[CASES[4]]).rows
    assert (row.needed, row.local) == (None, None)
    assert report(Figure((row,)), "markdown").splitlines()[2].split(" | ")[5:8] == ["n", "-", "-"]


def test_lengths_are_positive_numbers() -> None:
    for lengths in ((), (0,), (2.5,)):
        with pytest.raises(
            CompileError, match=r"^the lengths must be positive numbers, not .*: use for example \(8, 16, 32\)$"
        ):
            tm2tfr.figure_1(lengths=lengths)  # type: ignore[arg-type]
