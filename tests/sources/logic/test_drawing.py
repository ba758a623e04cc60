"""The syntax of formulas and programs as pictures, for networkx, and in other formats."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

import tm2tfr
from tests.installed import NO_LATEX, needs_dot
from tests.sources.turing.formats.test_verdicts import compiled, has
from tm2tfr.base.errors import OutputError
from tm2tfr.sources.logic.conversion import TARGETS, convert, format_for, headings
from tm2tfr.sources.logic.drawing import look, operator, parts, render, save, shown_nodes, to_dot
from tm2tfr.sources.logic.library import KINDS, load, shipped
from tm2tfr.sources.logic.nodes import parents
from tm2tfr.sources.logic.read import formula, read

SINCE = formula("seen := prev Q[a]\nseen S (Q[b] | !Q[a])")


def test_signs_are_those_of_the_language() -> None:
    said = formula('even(count(Q[a])) & mod(count(Q[a]), 3, 1) & odd(count(Q[a])) & Q["]"]')
    assert [operator(node) for node in shown_nodes(said)] == [
        "Q[a]", "#←", "even", "≡ 1 mod 3", "odd", 'Q["]"]', "∧"
    ]  # fmt: skip
    shown = to_dot(load("hop-1").program)
    assert "hop_1\\n▶ [j ≤ i, before(j) = in(i)] in(j) : '?'" in shown
    assert """[label="'?'" fillcolor=white""" in shown
    assert "∈ {'('}" in to_dot(load("dyck-2-by-depth").program)


def test_the_legend_has_the_colours_that_occur() -> None:
    def legend(text: str) -> list[str]:
        return re.findall(r">([^<>]+)<", to_dot(formula(text, alphabet="ab")).splitlines()[1])

    assert legend("Q[a] & !Q[b]") == []
    assert legend("Q[a] S Q[b]") == ["→ key", "→ value", "looks left"]
    assert legend("eventually Q[a]") == ["→ key", "→ value", "looks right"]
    shown = to_dot(load("hop-1").program).splitlines()[1]
    assert re.findall(r'color="(#\w+)">([^<]+)<', shown) == [
        ("#4c6ef5", "→ key"), ("#d9480f", "→ query"), ("#2b8a3e", "→ value"), ("#e5ebfd", "looks left")
    ]  # fmt: skip


@needs_dot
@pytest.mark.parametrize("text", ["Q[a] since Q[b]", "Q[b] until Q[a]", "count(Q[b]) > count(Q[a])"])
def test_operands_stand_in_their_order(text: str) -> None:
    program = formula(text, alphabet="ab")
    svg = render(program, "svg").decode()
    places = dict(re.findall(r"<title>(s\d+)</title>.*?<text [^>]*\bx=\"([-\d.]+)\"", svg, re.DOTALL))
    left, right = (float(places[f"s{part.node.number}"]) for part in parts(program.root))
    assert left < right


@pytest.mark.parametrize(
    "name", [f"{name}{kind.endings[0]}" for kind in KINDS for name in tm2tfr.base.resources.shipped(kind)]
)
def test_every_shipped_one_is_drawn_whole_and_written(name: str) -> None:
    program = load(name).program
    drawn = shown_nodes(program)
    made_of = {node: {part.node for part in parts(node)} for node in drawn}
    assert set().union(*made_of.values()) <= set(drawn)
    for node in drawn:
        letters = operator(node).startswith("Q[")
        assert made_of[node] == (set() if letters else set(parents(node))), node
    graph = tm2tfr.to_graph(program)
    assert graph.number_of_nodes() == len(drawn)
    for format in TARGETS:
        assert convert(program, format).text.endswith("\n")
    again = read(convert(program, "ascii").text, file=name).program
    assert again.alphabet == program.alphabet


def test_the_graph_for_networkx() -> None:
    graph = tm2tfr.to_graph(formula("count(Q[a]) > 2 & next Q[b]"))
    assert graph.nodes["next Q[b]"] == {"operator": "⊕", "kind": "bit", "looks": "right"}
    assert graph.nodes["count(Q[a])"] == {"operator": "#←", "kind": "number", "looks": "left"}
    assert list(graph.edges("next Q[b]", keys=True)) == [("next Q[b]", "Q[b]", "value 0")]


@needs_dot
def test_pictures(tmp_path: Path) -> None:
    svg = render(SINCE, "svg").decode()
    ET.fromstring(svg)
    assert "since" in svg
    save(SINCE, tmp_path / "x.png")
    assert (tmp_path / "x.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(OutputError, match=r"'\.gif' is not a drawing format"):
        save(SINCE, tmp_path / "x.gif")


def test_formats() -> None:
    assert convert(load("hop-1").program, "latex").text.startswith("% needs \\usepackage{amsmath,amssymb} in the preamble,")
    assert headings(SINCE)["seen"] == "$\\mathit{seen}$"
    assert [format_for(Path(name)) for name in ("x.tl", "x.srasp", "x.tex", "x.gv", "x.mmd")] == [
        "ascii", "ascii", "latex", "dot", "mermaid"
    ]  # fmt: skip


@pytest.mark.skipif(not has("amssymb.sty"), reason=NO_LATEX)
def test_the_equations_compile(tmp_path: Path) -> None:
    compiled(*(convert(load(name).program, "latex").text for name in shipped()), folder=tmp_path)


def test_what_looks_where() -> None:
    looks = {operator(node): look(node) for name in shipped() for node in load(name).program.nodes if look(node)}
    assert (looks["⊖"], looks["⊕"], looks["since"], looks["#→"]) == ("left", "right", "left", "right")
