"""The notebooks run from their source and print what the files show; and what a notebook shows of traces and decoders.

For machines see tests/sources/turing/test_drawing.py.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest

import tm2tfr
from tests.notebooks import NOTEBOOKS, executed, printed
from tests.tables.examples import broken, chapter, traced

NEEDED = ("nbclient", "nbformat", "ipykernel", "matplotlib", "pandas", "pyarrow", "transformers")


def test_there_are_notebooks() -> None:
    assert {path.stem for path in NOTEBOOKS} >= {"interpretability", "tutorial"}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")  # jupyter_client's and zmq's
@pytest.mark.skipif(
    any(find_spec(name) is None for name in NEEDED),
    reason="Jupyter or transformers is not installed: pip install 'tm2tfr[notebook]'",
)
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_prints_what_it_shows(path: Path) -> None:
    nbformat = pytest.importorskip("nbformat", reason="Jupyter is not installed: pip install 'tm2tfr[notebook]'")
    shown = nbformat.read(path, as_version=4)
    assert all(cell.execution_count for cell in shown.cells if cell.cell_type == "code"), "python -m tests.notebooks"
    assert printed(executed(path)) == printed(shown)


def test_a_trace_shows_its_table_and_what_the_check_says() -> None:
    shown = ET.fromstring(f"<div>{tm2tfr.check('chapter', '11')._repr_html_()}</div>")
    rows = [["".join(cell.itertext()).strip() for cell in row] for row in shown.iter("tr")]
    assert rows[0] == ["i", "tape", "x", "q", "b", "m", "h", "a", "y"]
    assert rows[4] == ["3", "11_…", "(q0,1,0)", "q0", "1", "0", "0", "1", "(q1,_,+1)"]
    assert len(rows) == 10
    assert [line.text for line in shown.iter("p")] == [
        "accept, T = 6",
        "dense engine, float64, 9 positions",
        "✓ 63 cells compared with the simulator, all agree",
    ]


def test_a_long_trace_is_cut_and_the_blank_is_the_machines() -> None:
    trace = tm2tfr.check("busy-beaver-4")
    assert trace.blank == "0"
    shown = trace._repr_html_()
    assert shown.count("<tr>") == 42
    assert "⋮ (69 rows)" in shown
    assert trace.tokens == 109
    assert "<td>…1<u>0</u>111111111111…</td><td>(Z,1,+1)</td>" in shown


def test_a_wrong_trace_says_so() -> None:
    shown = traced(chapter(), "11", broken())._repr_html_()
    assert "<mark>" in shown
    assert "✗ check failed: position " in shown


def test_a_wrong_cell_says_what_it_is_and_what_it_should_be() -> None:
    shown = tm2tfr.check(tm2tfr.compile("left-edge", left_boundary="chapter"), "11", keep_rows=True)._repr_html_()
    rows = re.findall(r"<tr( title=.*?)?><th scope=\"row\">(.*?)</th>(.*?)</tr>", shown)
    title, place, cells = rows[5]
    assert (title, place) == (' title="the first difference"', "▸ 5")
    assert cells.split("</td>")[5] == "<td><mark>0 ≠ 1</mark>"
    assert [title for title, _, _ in rows].count(title) == 1
    assert rows[6][2].startswith("<td>x<u>1</u>_…</td><td>(even,x,+1)</td>")


def test_nothing_in_a_machine_is_taken_for_html() -> None:
    rules = {("<b>", "<"): ("<i>", "&", "R"), ("<i>", "_"): ("<b>", "<", "L")}
    machine, other = (
        tm2tfr.Machine(transitions={**rules, ("<b>", "<"): ("<i>", b, "R")}, start="<b>", blank="_", name="<u>")
        for b in ("&", "<")
    )
    for checked, differs in ((machine, False), (other, True)):
        shown = traced(checked, "<", tm2tfr.compile(machine), 8)._repr_html_()
        assert ("<mark>" in shown) == differs
        text = "".join(ET.fromstring(f"<div>{shown}</div>").itertext())
        assert "<u> on <: " in text
        assert ("(<i>,&,+1) ≠ (<i>,<,+1)" if differs else "(<i>,&,+1)") in text


def test_a_trace_without_rows_and_one_without_a_simulator() -> None:
    trace = tm2tfr.check("chapter", "11", keep_rows=False)
    assert trace._repr_html_().startswith("<p>accept, T = 6</p>")
    assert "not compared with a simulator" in tm2tfr.run(tm2tfr.compile("chapter"), "11")._repr_html_()
    assert "no verdict within the limit" in tm2tfr.check("never-halts", max_steps=5)._repr_html_()


def test_a_decoder_shows_its_layers() -> None:
    decoder = tm2tfr.compile(chapter())
    table = ET.fromstring(decoder._repr_html_())
    assert [row[0].text for row in table.iter("tr")][1:] == [
        "1 unpack",
        "2 head position",
        "3 read input",
        "4 read tape",
        "5 symbol",
        "6 transition",
    ]
    caption = table.find("caption")
    assert caption is not None
    assert caption.text == "chapter: residual width 63, vocabulary 16, 281 weights not 0, the largest 2"
    hostile = replace(decoder, provenance={"name": "<b>"})
    assert "&lt;b&gt;: residual width" in hostile._repr_html_()


def test_a_proof_shows_what_is_certified() -> None:
    shown = tm2tfr.certify("chapter")._repr_html_()
    assert shown.startswith("<pre>chapter, weights ")
    assert "dense   float32   ≤ N - 1         161  latest write: 2·u·N·(H² + 1/2) &lt; 1/2" in shown
