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
from tm2tfr.sources.rasp.drawing.graphs import render, save, to_dot, to_mermaid

SHIFT = 'before = select(indices, indices - 1, ==);\nshifted = aggregate(before, tokens, "-");\n'


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
        ("indices + 1", "indices + 1"),
        ("y", "(indices + 1) * (indices + 1)"),
    ]


def test_a_long_expression_is_not_written_into_another_one() -> None:
    drawn = flow(read(f"x = {' + '.join(['indices'] * 12)};"))
    *parts, whole = drawn.embedding
    assert 1 <= len(parts) <= 3
    assert drawn.named(whole) == "x"
    assert all(len(drawn.named(sop)) <= 40 and len(drawn.expression(sop)) <= 100 for sop in parts)


def test_two_s_ops_of_one_name_are_told_apart() -> None:
    text = "def f(a) { share = aggregate(select(a, a, ==), indices); return share; } x = f(tokens) + f(indices);"
    (layer,) = flow(read(text)).layers
    assert [carried.name for head in layer.heads for carried in head.carried] == ["f(tokens)", "f(indices)"]
    assert flow(read(text)).expression(layer.elementwise[0]) == "f(tokens) + f(indices)"


def test_the_parts_of_a_selector_are_named_and_constants_are_no_keys() -> None:
    drawn = flow(read("same = select(tokens, tokens, ==); x = aggregate(not same or select(indices, 0, ==), indices);"))
    (head,) = drawn.layers[0].heads
    assert head.parts == (("same", "select(tokens, tokens, ==)"),)
    assert [[drawn.named(sop) for sop in sops] for sops in (head.keys, head.queries)] == [["tokens", "indices"], ["tokens"]]


def test_long_tables_are_cut() -> None:
    drawn = flow(
        read('x = {"a": 1, "b": 2, "c": 3, "d": 4, "e": 5, "f": 6}[tokens]; y = tokens in ["a", "b", "c", "d", "e"];')
    )
    assert drawn.expression(drawn.sop) == 'tokens in ["a", "b", "c", "d", "e"]'


# ── pictures ────────────────────────────────────────────────────────────────────────────────────────────────
@needs_dot
def test_a_picture_shows_every_text_as_it_is() -> None:
    program = read('x = aggregate(select(tokens, "</svg>&lt;\\N", ==), tokens, "<b>"); y = x + "&amp;" + tokens;')
    svg = ET.fromstring(render(program, "svg").decode())
    shown = ["".join(text.itertext()) for text in svg.iter("{http://www.w3.org/2000/svg}text")]
    assert 'select(tokens, "</svg>&lt;\\N", ==)' in shown
    assert '= x + "&amp;" + tokens' in shown
    assert '(default "<b>")' in [text.strip() for text in shown]


@needs_dot
def test_files(tmp_path: Path) -> None:
    program = shipped_program("reverse")
    for ending, start in ((".dot", b"digraph"), (".mmd", b"flowchart"), (".svg", b"<?xml"), (".png", b"\x89PNG")):
        save(program, tmp_path / f"flow{ending}")
        assert (tmp_path / f"flow{ending}").read_bytes().startswith(start)
    with pytest.raises(OutputError, match=r"'.txt' is not a drawing format: use one of .dot, .gv, .mmd"):
        save(program, tmp_path / "flow.txt")
