"""A measured soft run as text, CSV, JSON and as a picture; ``tm2tfr soften``."""

from __future__ import annotations

import csv
import io
import json
import sys
from pathlib import Path

import pytest

import tm2tfr as library
from tests.cli.test_commands import failed, tm2tfr
from tm2tfr.base.errors import OutputError
from tm2tfr.lab.softness.report import plot, report
from tm2tfr.lab.softness.run import SoftRun

HEAD = """\
chapter on '11': dense, float64, 9 positions
uniform-tieless, checked with average-hard attention at every position: holds
  sum of moves  uniform
  cell h        tieless, gap at least 1/(i+1); smallest found 1/(i+1)
  cell h_{i-1}  tieless, gap at least 1/(i+1); smallest found 1/(i+1)
  latest write  tieless, gap at least 0.5/(i+1); smallest found 0.5/(i+1)
softmax at temperature 2^-6 = 0.0156: every token is right
"""
LAYER_4 = """\
layer 4 (read tape)
i  worst head     weights   Lemma 6  Lemma 33  place  Lemma 7    before     after  Lemma 25
2  latest write  4.66e-05  9.32e-05  1.40e-04      -        -  2.72e-09  3.26e-09  3.80e-08
3  latest write  6.71e-04   0.00134   0.00268      -        -  5.63e-07  3.36e-04    0.0188
"""
GROWTH = """\
the largest temperature at which the first n positions are all right, and the one guaranteed for every such run
n   found  1/found  slope  Theorem 26       1/τ  times
9  0.0743     13.5      -    3.66e-04  2.73e+03    203
too few lengths for an exponent of 1/τ in n; by the theorem it is O(n·log n)
"""


@pytest.fixture(scope="module")
def chapter() -> SoftRun:
    return library.measure_softness("chapter", "11")


def test_text(chapter: SoftRun) -> None:
    text = report(chapter)
    assert text.startswith(HEAD)
    assert text.endswith(GROWTH)
    squeezed = [" ".join(line.split()) for line in text.splitlines()]
    wanted = [" ".join(line.split()) for line in LAYER_4.splitlines()]
    at = squeezed.index(wanted[0])
    assert squeezed[at : at + 2] == wanted[:2]
    assert squeezed[at + 4 : at + 6] == wanted[2:]


@pytest.mark.slow
def test_long_runs_are_thinned_unless_all_is_asked_for() -> None:
    found = library.measure_softness("busy-beaver-4", "")
    short, whole = report(found), report(found, everything=True)
    assert (len(short.splitlines()), len(whole.splitlines())) == (80, 80 + 4 * (109 - 12))
    assert " 54  0.00496      202   1.44    4.49e-05  2.23e+04    110\n" in short
    assert "over these lengths 1/τ grows like n^1.27 as found, like n^1.06 by the theorem: O(n·log n)" in short


def test_a_property_that_does_not_hold_and_wrong_tokens_are_told() -> None:
    from tm2tfr.transformer.weights import matrices, replaced

    decoder = library.compile("chapter")
    query = matrices(decoder)["layers.4.heads.0.query"]
    column = decoder.layout.index("1/(i+1)")
    changed = replaced(decoder, {"layers.4.heads.0.query": query.with_entry(2, column, 0.25)})
    text = report(library.measure_softness(changed, "11", temperature=0.5))
    assert "uniform-tieless, checked with average-hard attention at every position: does NOT hold" in text
    assert "tieless, gap at least 0.5/(i+1); smallest found 0.25/(i+1); NOT at position 1, where the gap is 0.125" in text
    assert "softmax at temperature 2^-1 = 0.5: the first wrong token is at position 6" in text


def test_csv_and_json_hold_the_same(chapter: SoftRun) -> None:
    rows = list(csv.DictReader(io.StringIO(report(chapter, "csv"))))
    plain = json.loads(report(chapter, "json"))
    assert len(rows) == len(plain["errors"]) == 9 * 7
    assert [float(row["after"]) for row in rows] == [row["after"] for row in plain["errors"]]
    assert (plain["temperature"], plain["uniform_tieless"], plain["exponent"]) == (2.0**-6, True, None)
    assert plain["growth"][-1]["positions"] == 9


@pytest.mark.slow
@pytest.mark.parametrize(("name", "begins"), [("p.png", b"\x89PNG"), ("p.svg", b"<?xml"), ("p.pdf", b"%PDF")])
def test_plots(chapter: SoftRun, name: str, begins: bytes, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="Matplotlib is not installed: pip install 'tm2tfr[plot]'")
    plot(chapter, tmp_path / name)
    assert (tmp_path / name).read_bytes().startswith(begins)


def test_plots_that_cannot_be_made(chapter: SoftRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(OutputError, match=r"p\.gif: a plot is written as \.png, \.svg, \.pdf: use for example p\.svg$"):
        plot(chapter, tmp_path / "p.gif")
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    words = r"p\.png: a plot needs matplotlib \(.*\): pip install 'tm2tfr\[plot\]'$"
    with pytest.raises(OutputError, match=words):
        plot(chapter, tmp_path / "p.png")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_the_command(tmp_path: Path) -> None:
    done = tm2tfr("soften", "chapter", "--input", "11", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(HEAD)
    done = tm2tfr("soften", "-i", "11", "--temperature", "auto", cwd=tmp_path)
    assert "softmax at temperature 2^-12 = 0.000244: every token is right" in done.stdout
    done = tm2tfr("soften", "-i", "11", "--temperature", "2^-3", "--format", "csv", "-o", "s.csv", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "wrote s.csv\n")
    assert (
        (tmp_path / "s.csv")
        .read_text(encoding="utf-8")
        .startswith("position,layer,name,head,gap,claimed,holds,scores,weights,")
    )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ["soften", "--temperature", "hot"],
            "'hot' is not a temperature: use auto, local, theorem-26, none, per-position, paper, or a positive number",
        ),
        (["soften", "--temperature", "-1"], "the temperature must be positive, not -1: use for example 0.001"),
        (["soften", "--plot", "p.gif"], "a plot is written as .png, .svg, .pdf: use for example p.svg"),
        (["soften", "left-edge", "--left-boundary", "chapter"], "the run is wrong even with average-hard attention"),
    ],
)
def test_what_the_command_refuses(arguments: list[str], words: str, tmp_path: Path) -> None:
    assert words in failed(2, tm2tfr(*arguments, cwd=tmp_path))
