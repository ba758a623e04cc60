"""The page of a circuit: its gates and its bits, what the evaluator says and where it says nothing, and the words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import tm2tfr
from tests.installed import needs_dot
from tests.web.explorer import browser
from tests.web.explorer.browser import Open, settled
from tests.web.explorer.reading import buffer, column, embedded
from tm2tfr.api import pages
from tm2tfr.api.subject import Subject
from tm2tfr.base.errors import CompileError, EngineError
from tm2tfr.cli import main
from tm2tfr.sources.circuit.netlist import Circuit, Gate
from tm2tfr.sources.circuit.page import page
from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.weights import Decoder
from tm2tfr.web.explorer.document import Explorer
from tm2tfr.web.explorer.weights_data import PackedColumns

in_browser = pytest.mark.skipif(browser.missing() is not None, reason=str(browser.missing()))
SUM_AND_CARRY = "sum = 0, carry = 1"


def compiled(variant: str = "lookup", name: str = "full-adder") -> Decoder:
    return Subject.of(name, options={"variant": variant}).decoder


def tabled(decoder: Decoder, change: Callable[[dict[tuple[int, int], float]], None], *, positions: int = 0) -> Decoder:
    """Return `decoder` with some entries of its position table changed, or with another number of positions."""
    table = decoder.position_table
    assert table is not None
    entries = {(row, i): value for row, i, value in table.entries()}
    change(entries)
    size = positions or table.shape[1]
    kept = {place: value for place, value in entries.items() if place[1] < size}
    return replace(decoder, position_table=Matrix.from_entries((table.shape[0], size), kept))


def wrong_gate() -> Decoder:
    """Return the full adder with another truth table at position 2: 1 for the inputs 1, 1, 0."""
    decoder = compiled()
    return tabled(decoder, lambda entries: entries.update({(decoder.layout.index("t110"), 2): 1.0}))


def wrong_mean() -> Decoder:
    """Return the full adder of ``paper-hard`` that looks at one operand instead of two at position 3."""
    return tabled(compiled("paper-hard"), lambda entries: entries.pop(next(place for place in entries if place[1] == 3)))


def chain(gates: int) -> Circuit:
    """Return a circuit that negates its input so many times."""
    nets = ["a", *(f"n{k}" for k in range(gates))]
    negations = tuple(Gate(net, "10", (before,)) for before, net in pairwise(nets))
    return Circuit(name="chain", inputs=("a",), gates=negations, outputs=(("y", nets[-1]),))


def run_of(page: Explorer) -> dict[str, Any]:
    (run,) = embedded(page.html)["runs"]
    assert isinstance(run, dict)
    return run


def masks(page: Explorer) -> dict[str, list[int]]:
    numbers = buffer(page.html)
    return {name: column(numbers, place).tolist() for name, place in run_of(page)["unspecified"].items()}


# ── the data ────────────────────────────────────────────────────────────────────────────────────────────────
@needs_dot
def test_the_circuit() -> None:
    page = tm2tfr.explore("full-adder", "110")
    data, numbers = embedded(page.html), buffer(page.html)
    circuit = data["circuit"]
    assert data["machine"] is None
    assert {name: circuit[name] for name in ("name", "inputs", "nets", "functions", "outputs")} == {
        "name": "full-adder",
        "inputs": 3,
        "nets": ["a", "b", "c", "sum", "carry"],
        "functions": [{"name": "XOR", "table": "01101001"}, {"name": "MAJ", "table": "00010111"}],
        "outputs": [["sum", 3], ["carry", 4]],
    }
    assert column(numbers, circuit["kinds"]).tolist() == [0, 1]
    assert [column(numbers, place).tolist() for place in circuit["operands"]] == [[0, 0], [1, 1], [2, 2]]
    svg = column(numbers, circuit["graph"]["svg"]).tobytes().decode()
    assert svg.startswith("<svg")
    assert "<title>n2&#45;&gt;n4</title>" in svg


def test_gates_with_fewer_operands() -> None:
    gates = (Gate("zero", "0"), Gate("not\n", "10", ("a",)), Gate("and", "0010", ("a", "zero")))
    circuit = Circuit(name="few", inputs=("a",), gates=gates, outputs=())
    columns = PackedColumns()
    data = page(circuit).views(str, columns, True, tm2tfr.compile(circuit))["circuit"]
    assert data["nets"] == ["a", "zero", "'not\\n'", "and"]
    assert [f["name"] for f in data["functions"]] == ["CONST0", "NOT", "table 0010"]
    numbers = buffer(f'<script type="text/plain" id="columns">{columns.packed()}</script>')
    assert [column(numbers, place).tolist() for place in data["operands"]] == [[-1, 0, 0], [-1, -1, 1], [-1, -1, -1]]


def test_without_dot_the_page_draws_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    page = tm2tfr.explore("full-adder", "110")
    assert "n2 -> n4" in embedded(page.html)["circuit"]["graph"]["dot"]
    assert "Graphviz in WebAssembly" in page.html


def test_a_large_circuit_is_not_drawn() -> None:
    graph = embedded(tm2tfr.explore(chain(401), "1").html)["circuit"]["graph"]
    assert graph == {"none": "a drawing of 401 gates would be unreadable, so here is what this gate reads"}


@pytest.mark.parametrize(("variant", "positions"), [("lookup", 4), ("paper-hard", 7)])
def test_the_run(variant: str, positions: int) -> None:
    run = run_of(tm2tfr.explore(compiled(variant), "110"))
    said = ("T", "agrees", "answer", "noun", "reference", "result", "bos", "prompt", "count", "stop", "tape")
    assert {name: run[name] for name in said} == {
        "T": positions - 2,
        "agrees": True,
        "answer": "end",
        "noun": "circuit",
        "reference": "evaluator",
        "result": SUM_AND_CARRY,
        "bos": False,
        "prompt": 3,
        "count": positions,
        "stop": [],
        "tape": False,
    }


def test_where_the_evaluator_says_nothing() -> None:
    assert masks(tm2tfr.explore("full-adder", "110")) == {"y": [1, 1, 0, 0]}
    assert masks(tm2tfr.explore(compiled("paper-hard"), "110")) == {name: [1, 1, 0, 0, 0, 0, 0] for name in ("mean", "y")}
    assert masks(tm2tfr.explore("chapter", "11")) == {}


@pytest.mark.parametrize(
    ("make", "position", "name", "expected", "found"),
    [(wrong_gate, 2, "gate", "XOR", "01101011"), (wrong_mean, 3, "mean", "-1", "0")],
)
def test_wrong_weights(make: Callable[[], Decoder], position: int, name: str, expected: str, found: str) -> None:
    page = tm2tfr.explore(make(), "110")
    run, numbers = run_of(page), buffer(page.html)
    (trace,) = page.traces
    gap = run["divergence"]
    assert (run["agrees"], gap["position"], gap["column"], gap["expected"], gap["found"]) == (
        False,
        position,
        name,
        expected,
        found,
    )
    assert "ANY" not in run["texts"]
    anything = masks(page)
    for n, heading in enumerate(run["columns"], start=1):
        cells = column(numbers, run["expected"][heading["name"]]).tolist()
        due = cells if heading["number"] else [run["texts"][k - 1] if k else None for k in cells]
        free = anything.get(heading["name"], [0] * len(due))
        assert [cell for cell, any_ in zip(due, free, strict=True) if not any_] == [
            row[n] for row, any_ in zip(trace.expected, free, strict=True) if not any_
        ]
        assert [cell for cell, any_ in zip(cells, free, strict=True) if any_] == [0] * sum(free)


def test_weights_without_a_circuit() -> None:
    bare = replace(compiled(), provenance={})
    data = embedded(tm2tfr.explore(bare, "110").html)
    run = data["runs"][0]
    assert data["circuit"] is None
    assert (run["agrees"], run["noun"], run["result"], run["T"]) == (None, "machine", "", 2)
    known = replace(bare, provenance={"construction": "circuit"})
    assert run_of(tm2tfr.explore(known, "110"))["noun"] == "circuit"
    assert embedded(tm2tfr.explore(bare, "110", machine="full-adder").html)["circuit"]["name"] == "full-adder"


def test_a_run_that_is_cut_off() -> None:
    run = run_of(tm2tfr.explore("full-adder", "110", max_steps=1))
    assert (run["T"], run["agrees"], run["count"], run["result"]) == (None, True, 3, "")


# ── how much, and what not ──────────────────────────────────────────────────────────────────────────────────
def test_the_default_limit_is_not_for_runs_with_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "MAX_STEPS", 10)
    assert run_of(tm2tfr.explore(chain(30), "1", max_steps=10))["count"] == 30
    assert run_of(tm2tfr.explore(chain(30), "1", max_steps=11))["count"] == 11


def test_what_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "MAX_STEPS", 5)
    monkeypatch.setattr(pages, "MOST_EXPLORED", 29)
    with pytest.raises(EngineError) as refused:
        tm2tfr.explore(chain(30), "1", max_steps=5)
    assert str(refused.value) == (
        "a page contains every number of a run, and 30 positions are too many: "
        "show the first steps with max_steps=1000, or use tm2tfr trace --quiet, which keeps no rows"
    )


def test_soft_weights() -> None:
    with pytest.raises(CompileError) as refused:
        tm2tfr.explore(compiled("paper"), "110")
    assert str(refused.value) == (
        "the page shows where hard attention looks, and these weights are soft: "
        "explore the circuit instead, with hard attention, as it is compiled by default"
    )


def test_a_circuit_has_no_left_boundary(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["explore", "full-adder", "--compare", "chapter", "-o", str(tmp_path / "run.html")])
    assert ended.value.code == 2
    assert "full-adder is a circuit, and the left boundary is that of a Turing machine" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["explore", "binary-adder", "--bits", "2", "--input", "2+3", "-o", str(tmp_path / "run.html")])
    assert ended.value.code == 0
    assert "all agree" in capsys.readouterr().out
    assert embedded((tmp_path / "run.html").read_text(encoding="utf-8"))["runs"][0]["result"].startswith("e = 1")


# ── in a browser ────────────────────────────────────────────────────────────────────────────────────────────
def marked(page: Any, selector: str) -> list[str]:
    """Return the labels of the nodes that a selector finds in the drawing."""
    read = "all => all.map(one => [...one.querySelectorAll('text')].map(text => text.textContent).join(' '))"
    labels = page.locator(f".graph {selector}").evaluate_all(read)
    return sorted(map(str, labels))


def bits_drawn(page: Any) -> dict[str, str]:
    read = "all => Object.fromEntries(all.map(one => [one.dataset.node, one.querySelector('text').textContent]))"
    found = page.locator(".graph .mark").evaluate_all(read)
    return {str(node): str(bit) for node, bit in found.items()}


@pytest.fixture(params=[pytest.param(True, marks=needs_dot), False], ids=["dot", "viz.js"])
def full_adder(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Explorer:
    """Return the full adder on 110, drawn by ``dot`` or by the page."""
    with monkeypatch.context() as patched:
        if not request.param:
            patched.setenv("PATH", "")
        return tm2tfr.explore("full-adder", "110")


@pytest.mark.slow
@in_browser
def test_the_graph_follows_the_bits(opened: Open, full_adder: Explorer) -> None:
    page = opened(full_adder)
    page.wait_for_selector(".graph .node")
    settled(page)
    assert page.locator(".graph-panel h2").inner_text().startswith("CIRCUIT")
    assert marked(page, ".node.now") == ["XOR sum"]
    assert marked(page, ".node.operand") == ["a", "b", "c"]
    assert page.locator(".graph .edge.now").count() == 3
    assert bits_drawn(page) == {"n0": "1", "n1": "1", "n2": "0", "n3": "0", "n4": "", "y0": "0", "y1": ""}
    assert page.locator(".rule").inner_text() == "sum = XOR(a, b, c) = XOR(1, 1, 0) = 0"
    page.keyboard.press("ArrowRight")
    settled(page)
    assert marked(page, ".node.now") == ["MAJ carry"]
    assert marked(page, ".node.one") == ["MAJ carry", "a", "b", "carry"]
    assert marked(page, ".node.zero") == ["XOR sum", "c", "sum"]
    assert page.locator(".graph .edge.one").count() == 5
    page.keyboard.press("Home")
    settled(page)
    assert marked(page, ".node.now") == ["a"]
    assert bits_drawn(page) == {"n0": "1", "n1": "", "n2": "", "n3": "", "n4": "", "y0": "", "y1": ""}
    assert page.locator(".rule").inner_text() == "the input a is given"


@pytest.mark.slow
@in_browser
def test_the_bits_the_outputs_and_the_words(opened: Open) -> None:
    page = opened(tm2tfr.explore("full-adder", "110"))
    assert page.locator(".verdict").inner_text() == "✓ 2 gates: sum = 0, carry = 1"
    assert page.locator(".bits .bit").all_inner_texts() == ["1", "1", "0", "0", "·"]
    assert page.locator(".bits .answered").get_attribute("title") == "3: sum = XOR(a, b, c), output sum; bit 0"
    assert page.locator(".bits .now").get_attribute("title") == "2: c, an input; bit 0"
    looks = page.locator(".bits .seen").evaluate_all(
        "all => all.map(one => [one.parentNode.querySelector('.bit').dataset.net, one.dataset.head])"
    )
    assert looks == [["0", "1.1"], ["1", "1.2"], ["2", "1.3"]]
    assert page.locator(".story").inner_text() == (
        "The input c is 0. The gate sum computes the next bit: XOR(a, b, c) = XOR(1, 1, 0), and the decoder answers with 0."
    )
    assert page.locator(".outputs li").all_inner_texts() == ["sum = 0", "carry = ·"]
    assert page.locator(".chip.now").get_attribute("title") == "c, an input"
    assert page.locator(".chip.next").get_attribute("aria-label") == "the answer: 0, sum = XOR(a, b, c)"
    page.locator(".bits .bit").nth(4).click()
    settled(page)
    assert page.locator(".outputs li").all_inner_texts() == ["sum = 0", "carry = 1"]
    assert page.locator(".story").inner_text().endswith("and the decoder answers with 1, which ends the run.")
    assert page.locator(".result").inner_text() == "The result: sum = 0, carry = 1, as the evaluator says."
    page.keyboard.press("Home")
    settled(page)
    assert page.locator(".story").inner_text() == (
        "The input a is 1. The decoder's answers before the last input are not used."
    )
    assert page.locator(".chip.next").get_attribute("aria-label") == "the answer: 0"
    marks = page.locator(".rows [data-column=y]").evaluate_all("all => all.map(one => one.dataset.mark)")
    assert marks == ["unchecked", "unchecked", "right", "right"]
    assert page.locator(".check").all_inner_texts() == [
        "3 inputs, then 2 gates",
        "✓ 34 cells compared with the evaluator, all agree",
    ]
    text = page.locator("body").inner_text()
    assert [word for word in ("BOS", "simulator", "machine", "state", "tape") if word in text] == []


@pytest.mark.slow
@in_browser
def test_both_operands_of_one_head(opened: Open) -> None:
    page = opened(tm2tfr.explore(compiled("paper-hard"), "110"), "#i=5")
    page.wait_for_selector(".graph .node")
    settled(page)
    looks = page.locator(".bits li:has(.seen) .bit").evaluate_all("all => all.map(one => one.dataset.net)")
    assert looks == ["2", "3"]
    assert marked(page, ".node.now") == ["AND carry_3"]
    assert marked(page, ".node.operand") == ["XOR sum_1", "c"]
    assert page.locator(".layer.chosen .where").inner_text() == "5 → 2, 3: 2 positions share the attention"


@pytest.mark.slow
@in_browser
def test_a_wrong_gate(opened: Open) -> None:
    page = opened(tm2tfr.explore(wrong_gate(), "110"))
    page.wait_for_selector(".graph .node")
    settled(page)
    assert page.locator(".verdict").inner_text() == "✗ goes wrong at position 2"
    notice = "✗ This run goes wrong at position 2: gate should be XOR but is 01101011."
    assert page.locator(".notice p").first.inner_text().strip() == notice
    assert page.locator(".rule").inner_text() == "sum = XOR(a, b, c) = XOR(1, 1, 0) = 0, but the bit is 1"
    assert page.locator(".story").inner_text().endswith("XOR(1, 1, 0) = 0, but the decoder answers with 1.")
    assert page.locator(".outputs li").all_inner_texts() == ["sum = 1 ✗ should be 0", "carry = ·"]
    assert marked(page, ".node.bad") == ["XOR sum", "sum"]
    wrong = page.locator(".rows [data-mark=wrong]").evaluate_all("all => all.map(one => one.dataset.column)")
    assert sorted(wrong) == ["gate", "x", "y"]
    page.keyboard.press("End")
    settled(page)
    assert page.locator(".result").inner_text() == ("This run has ended; it differs from the evaluator from position 2 on.")


@pytest.mark.slow
@in_browser
def test_a_run_that_ends_too_early(opened: Open) -> None:
    page = opened(tm2tfr.explore(tabled(compiled(), lambda entries: None, positions=3), "110"))
    assert page.locator(".verdict").inner_text() == "✗ every bit is right, but the run ends in the wrong place"
    assert page.locator(".result").inner_text() == "Every bit is right, but this run does not end with the last gate."


@pytest.mark.slow
@in_browser
def test_weights_alone_say_what_they_can(opened: Open) -> None:
    page = opened(tm2tfr.explore(replace(compiled(), provenance={"construction": "circuit"}), "110"))
    assert page.locator(".verdict").inner_text() == "ends after T = 2"
    assert page.locator(".story").inner_text() == "0 ends the prompt. It answers with 0, which is the next token."
    assert page.locator(".check").inner_text() == "not checked: there is no circuit to compare with"
    page.keyboard.press("End")
    settled(page)
    assert page.locator(".story").inner_text() == "The decoder is given 0. It answers with 1, which ends the run."
    assert page.locator(".graph-panel, .bits-panel").count() == 0
    assert page.locator(".chip.bos").count() == 0


@pytest.mark.slow
@in_browser
def test_a_large_circuit_shows_one_gate_and_what_it_reads(opened: Open) -> None:
    page = opened(tm2tfr.explore(chain(500), "1"), "#i=300")
    assert page.locator(".graph p").inner_text() == (
        "a drawing of 500 gates would be unreadable, so here is what this gate reads:"
    )
    assert page.locator(".cone").inner_text().split("\n") == [
        "n300 = NOT(n299) = NOT(1) = 0",
        "n299 = NOT(n298) = NOT(0) = 1",
        "n298 = NOT(n297) = NOT(1) = 0",
    ]
    assert page.locator(".bits .bit").count() == 120
    assert page.locator(".bits-panel .meaning").inner_text() == "bits 240 to 359 of 0 to 500"
    for width in (390, 1400):
        page.set_viewport_size({"width": width, "height": 900})
        settled(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
