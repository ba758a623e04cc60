"""Where heads look: maps of attention, Figure 1 of the paper on circuits, and one head's scores at one position."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import tm2tfr
from tests.handmade import majority
from tm2tfr.base.errors import EngineError, OutputError, ShapeError
from tm2tfr.cli import main
from tm2tfr.engines import engine
from tm2tfr.sources.circuit.compiler import compile_circuit
from tm2tfr.sources.circuit.library import load
from tm2tfr.sources.circuit.netlist import Circuit
from tm2tfr.sources.logic.read import formula
from tm2tfr.tables.scores import (
    AttentionMap,
    ScoresAt,
    attention_figure,
    attention_map,
    plot_attention,
    plot_scores,
    scores_figure,
    share,
)

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


DENSE = engine("dense")


def figure_1(circuit: Circuit) -> np.ndarray:
    """What the operand list says: ½ at both operands of each gate."""
    nets = [*circuit.inputs, *(gate.net for gate in circuit.gates)]
    right = np.zeros((len(nets) - 1, len(nets) - 1))
    for gate in circuit.gates:
        for operand in gate.operands:
            right[nets.index(gate.net) - 1, nets.index(operand)] += 0.5
    return right


def drawn(circuit: Circuit, variant: str, head: int = 0) -> AttentionMap:
    symbols = [*circuit.inputs, *(gate.net for gate in circuit.gates)]
    bits = "01" * (len(circuit.inputs) // 2)
    return attention_map(compile_circuit(circuit, variant), bits, engine=DENSE, head=head, symbols=symbols)


@pytest.mark.parametrize("order", ["paper-1", "paper-2"])
def test_figure_1_is_the_operand_list(order: str) -> None:
    circuit = load("binary-adder", bits=8, order=order)
    first, right = len(circuit.inputs) - 1, figure_1(circuit)
    hard, soft = drawn(circuit, "paper-hard"), drawn(circuit, "paper")
    assert hard.weights[first:].tolist() == right[first:].tolist()
    assert np.abs(soft.weights - right)[first:].max() < 1e-4
    assert hard.rows[first:] == tuple(gate.net for gate in circuit.gates)
    operands = [drawn(circuit, "lookup", head).weights[first:] for head in range(2)]
    assert (sum(operands) / 2).tolist() == right[first:].tolist()


@pytest.mark.slow
@pytest.mark.parametrize("order", ["paper-1", "paper-2"])
def test_the_pixels_of_figure_1_are_the_operand_list(order: str) -> None:
    backend = pytest.importorskip("matplotlib.backends.backend_agg")
    circuit = load("binary-adder", bits=8, order=order)
    first, right = len(circuit.inputs) - 1, figure_1(circuit)
    figure = attention_figure(drawn(circuit, "paper-hard"), Path("figure.png"))
    canvas = backend.FigureCanvasAgg(figure)
    canvas.draw()
    pixels = np.asarray(canvas.buffer_rgba())[::-1, :, 0]
    places = np.array([(column, row) for row in range(first, len(right)) for column in range(len(right))])
    at = np.rint(figure.axes[0].transData.transform(places)).astype(int)
    shades = pixels[at[:, 1], at[:, 0]].reshape(-1, len(right))
    assert set(shades[right[first:] == 0].tolist()) == {255}
    assert len(set(shades[right[first:] == 0.5].tolist())) == 1
    assert shades[right[first:] == 0.5].max() < 200
    assert shades[right[first:] == 1].max() < 20


def test_the_text_has_a_line_for_each_predicted_symbol() -> None:
    assert drawn(load("half-adder"), "paper-hard").text().splitlines() == [
        "layer 1 (gate), head 'operands'",
        "b      █",
        "sum    ▒▒",
        "carry  ▒▒·",
        "weights: · 0, ░ up to 1/4, ▒ up to 1/2, ▓ up to 3/4, █ up to 1",
    ]


def test_the_text_shows_all_that_is_in_sight() -> None:
    assert tm2tfr.attention_of("starts-110", "0110", head="1.1").text().splitlines() == [
        "layer 1 (attention), head 'j = i+1'",
        "0 BOS  ·█····",
        "1 0    ··█···",
        "2 1    ···█··",
        "3 1    ····█·",
        "4 0    ·····█",
        "5 EOS  ·····█",
    ]
    every = tm2tfr.attention_of(formula("Q[a] U Q[b]", alphabet="ab"), "a", head="2.1")
    assert every.text().splitlines()[1:4] == ["0 BOS  ▒▒▒", "1 a    ▒▒▒", "2 EOS  ▒▒▒"]
    past = AttentionMap(title="t", weights=np.eye(3), rows=tuple("abc"), columns=tuple("abc"), mask="past")
    assert past.text() == "t\na  █··\nb   █·\nc    █\n"


def test_the_picture_has_a_scale_and_says_what_its_rows_are() -> None:
    pytest.importorskip("matplotlib")
    looking = attention_figure(tm2tfr.attention_of("starts-110", "0110"), Path("map.png"))
    answering = attention_figure(drawn(load("half-adder"), "lookup"), Path("map.png"))
    assert [figure.axes[0].get_ylabel() for figure in (looking, answering)] == ["attending", "predicted"]
    assert looking.axes[1].get_ylabel() == "weight"


def test_any_decoder_has_maps() -> None:
    found = attention_map(majority(), "0110", engine=DENSE)
    assert found.columns == ("0 0", "1 1", "2 1", "3 0", "4 <s>", "5 0")
    assert found.rows[-1] == "6 end"
    assert found.weights.sum(axis=1).tolist() == pytest.approx([1] * 6)
    assert found.weights[4].tolist() == pytest.approx([0.2] * 5 + [0])


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_pictures_are_written(ending: str, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    path = tmp_path / f"figure.{ending}"
    plot_attention(drawn(load("half-adder"), "paper"), path)
    starts = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}
    assert path.read_bytes().startswith(starts[ending])


def test_what_is_not_there_is_refused(tmp_path: Path) -> None:
    decoder = compile_circuit(load("half-adder"))
    with pytest.raises(EngineError, match="^there is no layer 2: use one from 1 to 1$"):
        attention_map(decoder, "01", engine=DENSE, layer=2)
    with pytest.raises(EngineError, match="^there is no head 3: layer 1 has 3 heads: use one from 0 to 2$"):
        attention_map(decoder, "01", engine=DENSE, head=3)
    with pytest.raises(ShapeError, match=r"^1 name of rows and 1 of columns, for attention of shape \(3, 3\)"):
        attention_map(decoder, "01", engine=DENSE, symbols=["a", "b"])
    with pytest.raises(OutputError, match=r"a plot is written as \.png, \.svg, \.pdf: use for example map\.svg$"):
        plot_attention(drawn(load("half-adder"), "lookup"), tmp_path / "map.gif")
