"""Drawings of circuits: whole texts, strange names, and what is too large to be read."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import networkx as nx
import pytest
from hypothesis import given

from tests.installed import needs_dot
from tests.sources.circuit.running import circuits
from tm2tfr.base.errors import OutputError
from tm2tfr.sources.circuit.conversion import gate_table, tikz
from tm2tfr.sources.circuit.drawing import cone, render, save, svg_or_none, to_dot, to_graph, to_mermaid, to_svg
from tm2tfr.sources.circuit.evaluate import evaluate_cases
from tm2tfr.sources.circuit.inputs import all_cases
from tm2tfr.sources.circuit.library import load
from tm2tfr.sources.circuit.netlist import Circuit, Gate

CHOICE = Circuit(
    name="choice",
    inputs=("s", "a_1", "b"),
    gates=(
        Gate("m", "00110101", ("s", "a_1", "b")),
        Gate("n", "1110", ("m", "b")),
        Gate("t1", "0010", ("n", "n")),
        Gate("k", "1"),
    ),
    outputs=(("y", "t1"), ("one", "k")),
)
STRANGE = Circuit(
    name="</svg>\n", inputs=("\\N", "a&amp;b", '"'), gates=(Gate("<b>", "10", ("\\N",)),), outputs=(("$%#_", "<b>"),)
)


@pytest.mark.parametrize(
    ("table", "operands", "formula"),
    [
        ("0001", "ab", r"a \wedge b"), ("0111", "ab", r"a \vee b"), ("0110", "ab", r"a \oplus b"),
        ("1000", "ab", r"\overline{a \vee b}"), ("1001", "ab", r"\overline{a \oplus b}"), ("01", "a", "a"),
        ("10", "a", r"\overline{a}"), ("00010111", "abc", r"\mathrm{maj}(a, b, c)"), ("0", "", "0"),
        ("00000001", "abc", r"a \wedge b \wedge c"),
    ],
)  # fmt: skip
def test_formulas(table: str, operands: str, formula: str) -> None:
    circuit = Circuit(name="f", inputs=tuple("abc"), gates=(Gate("y", table, tuple(operands)),), outputs=())
    assert f"$y = {formula}$" in gate_table(circuit)


def test_strange_names_are_shown_literally() -> None:
    assert r'n0 [label="\\N"' in to_dot(STRANGE)
    assert 'n1 [label="a&amp;amp;b"' in to_dot(STRANGE)
    assert '  n3("NOT<br>#60;b#62;")' in to_mermaid(STRANGE)
    assert r"\textless{}b\textgreater{}" in gate_table(STRANGE)
    assert r"\texttt{char36}".replace("{char", r"{\char") in gate_table(STRANGE)


LARGE = (
    r"^drawing multiplier: it has 736 gates, and at most 400 can be drawn legibly: "
    r"draw what one output depends on with cone OUTPUT, for example cone='p\[0\]'$"
)


@pytest.mark.parametrize("draw", [to_dot, to_mermaid, to_svg, gate_table, tikz])
def test_what_nobody_could_read_is_refused(draw: object) -> None:
    large = load("multiplier", bits=16)
    with pytest.raises(OutputError, match=LARGE):
        draw(large)  # type: ignore[operator]
    assert draw is to_svg or draw(cone(large, "p[0]"))  # type: ignore[operator]


def test_without_outputs_no_cone_is_named() -> None:
    gates = tuple(Gate(f"g{k}", "10", ("a",)) for k in range(401))
    assert "g399" in to_dot(Circuit(name="w", inputs=("a",), gates=gates[:400], outputs=()))


def test_text_is_saved_and_other_endings_are_refused(tmp_path: Path) -> None:
    save(CHOICE, tmp_path / "c.gv")
    save(CHOICE, tmp_path / "c.mmd")
    assert (tmp_path / "c.gv").read_text(encoding="utf-8") == to_dot(CHOICE)
    assert (tmp_path / "c.mmd").read_text(encoding="utf-8") == to_mermaid(CHOICE)
    known = ".dot, .gv, .mmd, .svg, .png, .pdf"
    with pytest.raises(OutputError, match=rf"c\.gif: '\.gif' is not a drawing format: use one of {re.escape(known)}$"):
        save(CHOICE, tmp_path / "c.gif")


def test_without_dot_there_is_no_picture(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert svg_or_none(CHOICE) is None
    with pytest.raises(OutputError, match=r"^drawing choice: Graphviz's program 'dot' is not on the PATH: install it"):
        save(CHOICE, tmp_path / "c.svg")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(OutputError, match="^drawings cannot be made as 'gif': use one of svg, png, pdf$"):
        render(CHOICE, "gif")  # type: ignore[arg-type]


def test_the_notebook_shows_a_line_and_the_drawing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tm2tfr.sources.circuit.drawing.to_svg", lambda circuit: "<?xml?>\n<svg>drawn</svg>")
    assert load("half-adder")._repr_html_() == (
        "<p>Circuit half-adder: 2 inputs, 2 gates, 2 outputs: the sum and the carry of two bits</p><svg>drawn</svg>"
    )
    assert STRANGE._repr_html_() == "<p>Circuit &lt;/svg&gt;\\n: 3 inputs, 1 gate, 1 output</p><svg>drawn</svg>"
    monkeypatch.setattr("tm2tfr.sources.circuit.drawing.svg_or_none", lambda circuit: None)
    assert load("c17")._repr_html_().endswith("six NAND gates</p>")


@needs_dot
@pytest.mark.parametrize("circuit", [CHOICE, STRANGE, load("binary-adder", bits=4)], ids=lambda circuit: circuit.inputs[0])
def test_the_drawing_shows_every_net(circuit: Circuit) -> None:
    found = {(text.text or "").strip() for text in ET.fromstring(to_svg(circuit)).iter("{http://www.w3.org/2000/svg}text")}
    assert {*circuit.numbers, *(name for name, _ in circuit.outputs)} <= found


# ── the graph for networkx, and the part that an output depends on
def test_the_graph() -> None:
    gates = (Gate("m", "00110101", ("a", "b", "a")), Gate("n", "10", ("m",)))
    graph = to_graph(Circuit(name="g", inputs=("a", "b"), gates=gates, outputs=(("y", "n"), ("z", "n"), ("b", "b"))))
    assert graph.name == "g"
    assert sorted(graph.edges(keys=True)) == [("a", "m", 0), ("a", "m", 2), ("b", "m", 1), ("m", "n", 0)]


@pytest.mark.slow
@given(circuits())
def test_a_cone_is_what_networkx_says_and_computes_the_same(circuit: Circuit) -> None:
    graph = to_graph(circuit)
    assert nx.is_directed_acyclic_graph(graph)
    for name, net in circuit.outputs:
        if net in circuit.inputs:
            continue
        part = cone(circuit, name)
        needed = nx.ancestors(graph, net) | {net}
        assert [gate for gate in circuit.gates if gate.net in needed] == list(part.gates)
        assert part.inputs == (tuple(x for x in circuit.inputs if x in needed) or circuit.inputs[:1])
        cases = all_cases(circuit)
        places = [circuit.numbers[x] for x in part.inputs]
        found = evaluate_cases(part, cases[:, places])[:, part.numbers[net]]
        assert found.tolist() == evaluate_cases(circuit, cases)[:, circuit.numbers[net]].tolist()


def test_the_cone_of_an_adders_first_carry() -> None:
    part = cone(load("binary-adder", bits=8, order="paper-1"), "e2")
    assert [gate.net for gate in part.gates] == ["c1", "d1", "f1", "g1", "c2", "d2", "e2"]
    assert part.outputs == (("e2", "e2"),)


@pytest.mark.slow
def test_a_part_of_sha256_takes_bits() -> None:
    part = cone(load("sha256"), "h7[0]")
    assert part.encoding == ""
    assert len(part.gates) < 48_221
