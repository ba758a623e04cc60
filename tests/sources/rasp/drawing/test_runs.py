"""Drawings of runs: a whole text, and of every shipped program that nothing leaves its canvas or covers another cell."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from itertools import islice, takewhile
from pathlib import Path

import pytest

from tests.sources.rasp.drawing.test_graphs import SHIFT
from tests.sources.rasp.headers import header, names
from tests.sources.rasp.running import read, shipped_program
from tm2tfr.sources.rasp.drawing.panels import drawn_run, run_svg
from tm2tfr.sources.rasp.evaluate import Undefined
from tm2tfr.sources.rasp.program import Program

GOLDEN = Path(__file__).parent / "shift.svg"
LETTER = 0.602
"""The width of a letter of DejaVu Sans Mono, of size 1."""
Element = tuple[str, dict[str, str], str, float, float]
"""Tag, attributes, text, and where it is."""


def elements(svg: str) -> Iterator[Element]:
    """Yield everything that is drawn, with its place on the page."""

    def walk(node: ET.Element, x: float, y: float) -> Iterator[Element]:
        tag = node.tag.removeprefix("{http://www.w3.org/2000/svg}")
        moved = re.fullmatch(r"translate\((\S+) (\S+)\)", node.get("transform", "translate(0 0)"))
        assert moved is not None
        x, y = x + float(moved[1]), y + float(moved[2])
        if tag in ("rect", "text", "path"):
            yield tag, dict(node.attrib), node.text or "", x + float(node.get("x", 0)), y + float(node.get("y", 0))
        for child in node:
            yield from walk(child, x, y)

    yield from walk(ET.fromstring(svg), 0, 0)


def boxes(svg: str) -> Iterator[tuple[str, float, float, float, float]]:
    """Yield the class of each text and rectangle, and its left, top, right and bottom."""
    for tag, attributes, text, x, y in elements(svg):
        if tag == "rect":
            yield attributes["class"], x, y, x + float(attributes["width"]), y + float(attributes["height"])
        elif tag == "text":
            size = float(attributes["font-size"])
            wide = len(text) * LETTER * size
            left = x - wide * {"start": 0, "middle": 0.5, "end": 1}[attributes.get("text-anchor", "start")]
            yield "text", left, y - 0.8 * size, left + wide, y + 0.2 * size


def crossing(found: list[tuple[str, float, float, float, float]]) -> list[tuple[object, object]]:
    """Return the pairs of boxes that cover some of each other."""
    ordered = sorted(found, key=lambda box: box[2])
    return [
        (a, b)
        for n, a in enumerate(ordered)
        for b in takewhile(lambda below, end=a[4] - 0.2: below[2] < end, islice(ordered, n + 1, None))
        if a[1] < b[3] - 0.2 and b[1] < a[3] - 0.2
    ]


CELLS = {"cell", "off", "on", "key", "query", "value", "result", "default", "answer"}


def check(svg: str) -> None:
    """Raise AssertionError unless everything is on the page and no text or cell covers another one."""
    root = ET.fromstring(svg)
    wide, high = float(root.get("width", 0)), float(root.get("height", 0))
    found = list(boxes(svg))
    outside = [box for box in found if box[1] < 0 or box[2] < 0 or box[3] > wide + 0.1 or box[4] > high + 0.1]
    assert outside == []
    assert crossing([box for box in found if box[0] in CELLS]) == []
    assert crossing([box for box in found if box[0] == "text"]) == []


def test_a_whole_run() -> None:
    assert run_svg(drawn_run(read(SHIFT), "ab")) == GOLDEN.read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("name", names())
def test_nothing_leaves_the_page_and_nothing_covers_anything(name: str) -> None:
    _, word, out = header(name).examples[0]
    program = shipped_program(name)
    if out is not None:
        check(run_svg(drawn_run(program, word)))
    many = (*word, *program.alphabet * 20)[:20]
    for longer in (word[:2], many):
        try:
            run = drawn_run(program, longer)
        except Undefined:
            continue
        check(run_svg(run))


def test_a_check_of_places_finds_what_covers_something() -> None:
    svg = run_svg(drawn_run(read(SHIFT), "ab"))
    for worse in (
        svg.replace('width="22"', 'width="24"'),
        svg.replace(">shifted (default", f">{'x' * 40}(default"),
        svg.replace(">indices - 1<", ">indices - 1 or a lot more<"),
    ):
        with pytest.raises(AssertionError):
            check(worse)


def _matrix(program: Program, word: str) -> list[str]:
    return [a["class"] for tag, a, *_ in elements(run_svg(drawn_run(program, word))) if a.get("class") in ("on", "off")]


def test_a_filled_cell_is_a_selected_one() -> None:
    on, off = "on", "off"
    assert _matrix(read(SHIFT), "abc") == [off, off, off, on, off, off, off, on, off]


def test_values_are_shown_as_in_tables_and_the_whole_text_of_a_cut_one_is_a_tooltip() -> None:
    text = 'share = aggregate(select(1, 1, ==), indicator(indices == 0)); x = {0: "a long answer"}[share * 0];'
    svg = run_svg(drawn_run(read(text), "abc"))
    assert svg.count(">1/3</text>") == 3
    assert svg.count("><title>a␣long␣answer</title>a␣long␣…</text>") == 3
    assert "<title>x(&quot;abc&quot;) = [a long answer, a long answer, a long answer]</title>" in svg


def test_a_default_is_marked_and_the_layer_of_an_earlier_s_op_is_named() -> None:
    svg = run_svg(drawn_run(shipped_program("dyck-2"), "(}"))
    assert svg.count('class="default"') == 2
    assert ">turn (depth 2)<" in svg
    assert "(depth from depth 1)" in svg


def test_attention_of_weights_is_drawn_beside_its_selector() -> None:
    run = drawn_run(read(SHIFT), "ab", attention={(0, 0): [[0.5, 0.5], [1.0, 0.0]]})
    svg = run_svg(run)
    check(svg)
    assert re.findall(r'class="share" fill-opacity="(\S+)"', svg) == ["0.50", "0.50", "1.00", "0.00"]
    assert svg.count(">.50<") == 2
    assert "attention of the weights" in svg


def test_several_runs_in_one_file() -> None:
    text = run_svg(*(drawn_run(read(SHIFT), word) for word in ("ab", "abc")))
    check(text)
    assert "<title>shifted(&quot;ab&quot;) = -a; shifted(&quot;abc&quot;) = -ab</title>" in text
