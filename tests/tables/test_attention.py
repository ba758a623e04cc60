"""Maps of attention: Figure 1 of the paper on circuits, and heads of other decoders."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tm2tfr
from tests.handmade import majority
from tm2tfr.base.errors import EngineError, OutputError, ShapeError
from tm2tfr.engines import engine
from tm2tfr.sources.circuit.compiler import compile_circuit
from tm2tfr.sources.circuit.library.registry import load
from tm2tfr.sources.circuit.netlist import Circuit
from tm2tfr.sources.logic.read import formula
from tm2tfr.tables.scores import AttentionMap, attention_figure, attention_map, plot_attention

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
