"""The flow of a computation: whole texts, what has a box and what has none, strange texts, and what is too large."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from tests.installed import needs_dot
from tests.sources.rasp.headers import names
from tests.sources.rasp.running import heads, read, shipped_program
from tm2tfr.base.errors import OutputError
from tm2tfr.sources.rasp.drawing.flow import flow
from tm2tfr.sources.rasp.drawing.graphs import render, save, to_dot, to_mermaid, to_networkx

SHIFT = 'before = select(indices, indices - 1, ==);\nshifted = aggregate(before, tokens, "-");\n'
LOOK = '<TABLE BORDER="0" CELLBORDER="1" CELLSPACING="3" CELLPADDING="3" COLOR="#ced4da"><TR>'


def test_dot() -> None:
    head = (
        '<<TABLE BORDER="1" CELLBORDER="0" CELLSPACING="0" CELLPADDING="3" STYLE="ROUNDED" COLOR="#868e96"><TR><TD>'
        f'{LOOK}<TD PORT="key" BGCOLOR="#e5ebfd"><FONT POINT-SIZE="9">keys</FONT><BR/>indices</TD>'
        '<TD PORT="query" BGCOLOR="#fdebe0"><FONT POINT-SIZE="9">queries</FONT><BR/>indices - 1</TD>'
        '<TD PORT="value" BGCOLOR="#e2f3e2"><FONT POINT-SIZE="9">values</FONT><BR/>tokens</TD></TR></TABLE></TD></TR>'
        '<TR><TD ALIGN="LEFT" BALIGN="LEFT"><B>head 1: before</B><BR/>'
        '<FONT POINT-SIZE="10">select(indices, indices - 1, ==)</FONT></TD></TR>'
        f'<TR><TD>{LOOK}<TD PORT="s#" BGCOLOR="#e2f3e2"><B>shifted</B> '
        '<FONT POINT-SIZE="9">(default &quot;-&quot;)</FONT></TD></TR></TABLE></TD></TR></TABLE>>'
    )
    assert (
        re.sub('"s[0-9]{2,}"', '"s#"', to_dot(read(SHIFT)))
        == rf"""digraph text {{
	graph [fontname="Helvetica,Arial,sans-serif" fontsize=11 nodesep=0.3 rankdir=TB ranksep=0.45]
	node [fillcolor=white fontname="Helvetica,Arial,sans-serif" fontsize=11 height=0.3 shape=box style="filled,rounded"]
	edge [arrowsize=0.6 color="#7a7f87" fontname="Helvetica,Arial,sans-serif"]
	subgraph cluster_0 {{
		color="#adb5bd" label=input labeljust=l style=rounded
		s0 [label=tokens fillcolor="#f4f5f7" style=filled]
		s5 [label=indices fillcolor="#f4f5f7" style=filled]
	}}
	subgraph cluster_1 {{
		color="#adb5bd" label="attention layer 1" labeljust=l style=rounded
		h1_1 [label={head} shape=plain style=""]
	}}
	s5 -> h1_1:key:n [color="#4c6ef5"]
	s5 -> h1_1:query:n [color="#d9480f"]
	s0 -> h1_1:value:n [color="#2b8a3e"]
}}
"""
    )


def test_mermaid() -> None:
    mermaid = to_mermaid(shipped_program("reverse"))
    assert (
        re.sub("s[0-9]{2,}", "s#", mermaid)
        == """flowchart TB
  subgraph input["input"]
    s0(["tokens"])
    s5(["indices"])
  end
  subgraph attentionlayer1["attention layer 1"]
    h1_1["head 1#58; full#95;s<br>select#40;1, 1, #61;#61;#41;<br>\
#95;1 #61; aggregate indicator#40;indices #61;#61; 0#41;, default 0"]
    s#("length<br>#61; round#40;1 #47; #95;1#41;")
  end
  subgraph attentionlayer2["attention layer 2"]
    h2_1["head 1#58; flip<br>select#40;indices, #40;length #45; indices#41; #45; 1, #61;#61;#41;<br>\
reverse #61; aggregate tokens, default 0"]
  end
  s5 -->|value| h1_1
  h1_1 --> s#
  s5 -->|key| h2_1
  s5 -->|query| h2_1
  s# -->|query| h2_1
  s0 -->|value| h2_1
"""
    )


def test_a_graph_for_networkx() -> None:
    graph = to_networkx(shipped_program("reverse"))
    assert dict(graph.nodes(data=True)) == {
        "tokens": {"layer": 0, "head": None, "selector": "", "expression": "tokens_str"},
        "indices": {"layer": 0, "head": None, "selector": "", "expression": "indices"},
        "_1": {"layer": 1, "head": 1, "selector": "select(1, 1, ==)", "expression": ""},
        "length": {"layer": 1, "head": None, "selector": "", "expression": "round(1 / _1)"},
        "reverse": {"layer": 2, "head": 1, "selector": "select(indices, (length - indices) - 1, ==)", "expression": ""},
    }
    assert sorted(graph.edges(keys=True)) == [
        ("_1", "length", ""),
        ("indices", "_1", "value"),
        ("indices", "reverse", "key"),
        ("indices", "reverse", "query"),
        ("length", "reverse", "query"),
        ("tokens", "reverse", "value"),
    ]


@pytest.mark.slow
@pytest.mark.parametrize("name", names())
def test_heads_are_those_of_the_analysis_and_every_arrow_begins_at_something_drawn(name: str) -> None:
    program = shipped_program(name)
    assert [len(layer.heads) for layer in flow(program).layers] == heads(program.text, program.chosen)
    mermaid = to_mermaid(program)
    drawn = set(re.findall(r"^    (\w+)[\[(]", mermaid, re.MULTILINE))
    ends = {end for arrow in re.findall(r"^  (\w+) -->(?:\|\w+\|)? (\w+)$", mermaid, re.MULTILINE) for end in arrow}
    assert drawn
    assert ends <= drawn
    assert to_dot(program) == to_dot(program)


# ── what has a box, and how it is called ────────────────────────────────────────────────────────────────────
def test_an_s_op_without_a_name_has_a_box_only_if_it_is_used_twice() -> None:
    once = flow(read("x = (indices + 1) * 2;"))
    assert [once.named(sop) for sop in once.embedding] == ["x"]
    assert once.expression(once.sop) == "(indices + 1) * 2"
    twice = flow(read("def f(a) { return a * a; } y = f(indices + 1);"))
    assert [(twice.named(sop), twice.expression(sop)) for sop in twice.embedding] == [
        ("_1", "indices + 1"),
        ("y", "_1 * _1"),
    ]


def test_a_long_expression_is_not_written_into_another_one() -> None:
    drawn = flow(read(f"x = {' + '.join(['indices'] * 12)};"))
    assert [drawn.named(sop) for sop in drawn.embedding] == ["_1", "x"]
    assert drawn.expression(drawn.sop) == f"{'(' * 5}_1{' + indices)' * 5} + indices"


def test_two_s_ops_of_one_name_are_told_apart() -> None:
    text = "def f(a) { share = aggregate(select(a, a, ==), indices); return share; } x = f(tokens) + f(indices);"
    (layer,) = flow(read(text)).layers
    assert [carried.name for head in layer.heads for carried in head.carried] == ["share", "share (2)"]
    assert flow(read(text)).expression(layer.elementwise[0]) == "share + share (2)"


def test_the_parts_of_a_selector_are_named_and_constants_are_no_keys() -> None:
    drawn = flow(read("same = select(tokens, tokens, ==); x = aggregate(not same or select(indices, 0, ==), indices);"))
    (head,) = drawn.layers[0].heads
    assert (head.name, head.text) == ("", "(not same) or select(indices, 0, ==)")
    assert head.parts == (("same", "select(tokens, tokens, ==)"),)
    assert [[drawn.named(sop) for sop in sops] for sops in (head.keys, head.queries)] == [["tokens", "indices"], ["tokens"]]


def test_long_tables_are_cut() -> None:
    drawn = flow(
        read('x = {"a": 1, "b": 2, "c": 3, "d": 4, "e": 5, "f": 6}[tokens]; y = tokens in ["a", "b", "c", "d", "e"];')
    )
    assert drawn.expression(drawn.sop) == 'tokens in ["a", "b", "c", "d", "e"]'
    first = flow(read('x = {"a": 1, "b": 2, "c": 3, "d": 4, "e": 5, "f": 6}[tokens];'))
    assert first.expression(first.sop) == '{"a": 1, "b": 2, "c": 3, "d": 4, … 2 more}[tokens]'


# ── pictures ────────────────────────────────────────────────────────────────────────────────────────────────
@needs_dot
def test_a_picture_shows_every_text_as_it_is() -> None:
    program = read('x = aggregate(select(tokens, "</svg>&lt;\\N", ==), tokens, "<b>"); y = x + "&amp;" + tokens;')
    svg = ET.fromstring(render(program, "svg").decode())
    shown = ["".join(text.itertext()) for text in svg.iter("{http://www.w3.org/2000/svg}text")]
    assert 'select(tokens, "</svg>&lt;\\N", ==)' in shown
    assert '= (x + "&amp;") + tokens' in shown
    assert '(default "<b>")' in [text.strip() for text in shown]


@needs_dot
def test_files(tmp_path: Path) -> None:
    program = shipped_program("reverse")
    for ending, start in ((".dot", b"digraph"), (".mmd", b"flowchart"), (".svg", b"<?xml"), (".png", b"\x89PNG")):
        save(program, tmp_path / f"flow{ending}")
        assert (tmp_path / f"flow{ending}").read_bytes().startswith(start)
    with pytest.raises(OutputError, match=r"'.txt' is not a drawing format: use one of .dot, .gv, .mmd"):
        save(program, tmp_path / "flow.txt")
