"""One head's scores at one position, as numbers, as text and as a picture; the command ``plot``."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import tm2tfr
from tests.cli.lines import said
from tm2tfr.base.errors import EngineError, OutputError, ShapeError
from tm2tfr.cli import main
from tm2tfr.tables.scores import AttentionMap, ScoresAt, attention_figure, plot_attention, plot_scores, scores_figure, share

TIED = ScoresAt(
    title="three $ at once",
    position=3,
    first=0,
    names=("0 a", "1 b", "2 a", "3 c"),
    scores=np.array([2.0, -1.0, 2.0, 0.5]),
    weights=np.array([0.5, 0.0, 0.5, 0.0]),
)


def test_the_scores_are_those_that_decide_where_the_head_looks() -> None:
    at, head = 12, "latest write"
    found = tm2tfr.scores_of("palindromes", "abba", head=head, position=at)
    seen = tm2tfr.attention_of("palindromes", "abba", head=head)
    assert found.weights.tolist() == seen.weights[at, : at + 1].tolist()
    assert np.flatnonzero(found.scores == found.scores.max()).tolist() == np.flatnonzero(found.weights).tolist() == [7]
    assert (found.first, found.names[7], len(found.names)) == (0, "7 (have-a,b,+1)", at + 1)
    assert found.title == "layer 4 (read tape), head 'latest write': scores at position 12 (return,b,-1)"


def test_what_a_head_looks_at_ahead_of_it_is_in_sight() -> None:
    found = tm2tfr.scores_of("starts-110", "0110", head="1.1", position=2)
    assert found.names == ("0 BOS", "1 0", "2 1", "3 1", "4 0", "5 EOS")
    assert found.weights.tolist() == [0, 0, 0, 1, 0, 0]


def test_a_circuits_positions_are_called_by_their_nets() -> None:
    found = tm2tfr.scores_of("half-adder", "10", head="operand b", position=1)
    assert (found.title, found.names) == ("layer 1 (gate), head 'operand b': scores at position 1 b", ("a", "b"))


def test_scores_as_text() -> None:
    assert TIED.text() == (
        "three $ at once\n"
        "position  score  weight\n"
        "0 a           2  1/2\n"
        "1 b          -1\n"
        "2 a           2  1/2\n"
        "3 c         0.5\n"
    )  # fmt: skip


def test_shares_are_written_as_fractions() -> None:
    assert [share(w) for w in (1.0, 0.5, 1 / 3, 1 / 97, 0.75, 0.1234, 0.9999)] == [
        *("1", "1/2", "1/3", "1/97", "0.75", "0.12", "0.9999"),
    ]


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--position", "50"], "there is no position 50: the run has 9 positions: use one from 0 to 8"),
        (
            ["--head", "sum of move"],
            "no head is called 'sum of move' (did you mean 'sum of moves'?): use one of sum of moves, ",
        ),
        (["--head", "1.1"], "there is no head 1: layer 1 has 0 heads: use one of layer 2, 3 or 4"),
        (["--head", "4.2"], "there is no head 2: layer 4 has 1 head: use one from 1 to 1"),
        (
            ["--all", "--position", "3"],
            "tm2tfr plot: --all is about the rows of a map, and --position shows one: omit one of ",
        ),
        (["-o", "run.gif"], "run.gif: plots are written as .png, .svg, .pdf: name the file run.png"),
    ],
)
def test_what_cannot_be_plotted_is_refused(arguments: list[str], why: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, "plot", "chapter", "--input", "11", *arguments).startswith(why)


def test_values_check_themselves() -> None:
    with pytest.raises(ShapeError, match="^1 name, 2 scores and 2 weights: give one of each for each position in sight$"):
        ScoresAt(title="t", position=0, first=0, names=("a",), scores=np.zeros(2), weights=np.zeros(2))
    with pytest.raises(EngineError, match="^a position is a whole number from 0 on, not -1: use for example 0$"):
        tm2tfr.scores_of("chapter", "11", position=-1)


def test_the_picture_has_a_line_for_each_score_and_the_shares_of_ties() -> None:
    pytest.importorskip("matplotlib", reason="install the extra plot")
    axes = scores_figure(TIED, Path("s.svg")).axes[0]
    assert [text.get_text() for text in axes.texts] == ["1/2", "1/2"]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["0 a", "1 b", "2 a", "3 c"]
    assert sorted(float(y) for line in axes.lines[1:] for y in line.get_ydata()) == sorted(TIED.scores.tolist())
    assert axes.get_title() == r"three \$ at once"
    same = ScoresAt(title="t", position=0, first=0, names=("a",), scores=np.zeros(1), weights=np.ones(1))
    assert scores_figure(same, Path("s.svg")).axes[0].get_ylim() == (-1, 0.5)


def test_small_maps_have_every_share_and_large_ones_some_names() -> None:
    pytest.importorskip("matplotlib", reason="install the extra plot")
    uniform = attention_figure(tm2tfr.attention_of("chapter", "11", head="sum of moves"), Path("m.svg")).axes[0]
    assert [text.get_text() for text in uniform.texts] == [share(1 / n) for n in range(1, 10) for _ in range(n)]
    many = AttentionMap(title="t", weights=np.eye(150), rows=tuple(map(str, range(150))), columns=("q",) * 150)
    axes = attention_figure(many, Path("m.svg")).axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == [str(n) for n in range(0, 150, 3)]
    assert list(axes.texts) == []


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["svg", "png", "pdf"])
def test_the_same_plot_is_the_same_bytes_and_has_a_title(ending: str, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="install the extra plot")
    paths = [tmp_path / f"{n}.{ending}" for n in "ab"]
    for path in paths:
        plot_scores(TIED, path)
    one, other = (path.read_bytes() for path in paths)
    assert one == other
    assert b"three $ at once" in one
    map_ = tmp_path / f"map.{ending}"
    plot_attention(tm2tfr.attention_of("half-adder", "10", head="operand b"), map_)
    if ending == "svg":
        assert re.findall("<title>(.*)</title>", map_.read_text(encoding="utf-8")) == ["layer 1 (gate), head 'operand b'"]


def test_the_command_writes_a_plot_or_says_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "head.svg"
    tm2tfr.plot_head("half-adder", "10", path=path, head="operand b", position=2)
    with pytest.raises(SystemExit) as end:
        main(["plot", "half-adder", "--input", "10", "--head", "1.2", "--position", "2", "-o", str(tmp_path / "same.svg")])
    assert (end.value.code, capsys.readouterr().err) == (0, f"wrote {tmp_path / 'same.svg'}\n")
    assert path.read_bytes() == (tmp_path / "same.svg").read_bytes()
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.figure", None)
    with pytest.raises(OutputError, match=r"m\.svg: a plot needs matplotlib \(.*\): pip install 'tm2tfr\[plot\]'$"):
        plot_scores(TIED, tmp_path / "m.svg")
