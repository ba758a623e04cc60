"""The flow of a RASP program in its page: values and selectors are the interpreter's, heads those of the weights."""

from __future__ import annotations

from typing import Any

import pytest

import tm2tfr
from tests.web.explorer import browser
from tests.web.explorer.browser import Open, settled
from tm2tfr.sources.rasp.evaluate import Stages, evaluate
from tm2tfr.sources.rasp.naming import RaspNames
from tm2tfr.sources.rasp.program import Program, shown_atom
from tm2tfr.sources.rasp.sops import Aggregate, Selector, needed
from tm2tfr.sources.rasp.values import numeric, shown_value
from tm2tfr.transformer.weights import matrices, replaced

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(browser.missing() is not None, reason=str(browser.missing())),
]
CASES = {"reverse": ("abcab", "cc"), "double-histogram": ("§abbc", "§aabbca"), "dyck-2": ("({})}", "{(})")}

VALUES = """() => [...document.querySelectorAll(".flow-panel .sop")].map(button => {
  const cells = document.querySelector(`.flow-cells[data-node="${button.dataset.node}"]`);
  const texts = [...cells.querySelectorAll("text")].map(text => text.textContent);
  return [button.title, cells.classList.contains("kind-selector"), texts];
})"""
SQUARES = """([kind, filled]) => [...document.querySelectorAll(`.matrix.${kind}`)].map(figure => {
  const ground = figure.querySelector(".ground");
  const [left, width] = ["x", "width"].map(name => Number(ground.getAttribute(name)));
  const rows = [...figure.querySelectorAll(".matrix-row")];
  return rows.map(row => [...(row.querySelector(filled)?.getAttribute("d") ?? "").matchAll(/M([\\d.]+) /g)]
    .map(([, x]) => Math.floor((Number(x) - left) / (width / rows.length))));
})"""


def values(page: Any) -> dict[str, list[str]]:
    """Return the values of the s-ops in a page, by name."""
    return {name: cells for name, selector, cells in page.evaluate(VALUES) if not selector}


def squares(page: Any, kind: str, filled: str) -> list[list[list[int]]]:
    """Return, of each matrix of a kind, the columns that are filled in each row."""
    return page.evaluate(SQUARES, [kind, filled])  # type: ignore[no-any-return]


def due(program: Program, word: str) -> tuple[Stages, dict[str, list[str]]]:
    """Return a run of the interpreter, and the values of all s-ops as tables show them, by name."""
    nodes = needed([program.sop])
    names, numbers = RaspNames(program), numeric([node for node in nodes if not isinstance(node, Selector)])  # type: ignore[list-item]
    stages = evaluate(program.sop, tuple(word))
    return stages, {
        names[sop]: [shown_value(value, numbers[sop]).replace(" ", "␣") for value in row]
        for sop, row in stages.values.items()
    }


def choose(page: Any, name: str) -> None:
    """Choose an s-op by a click on its name."""
    page.locator(f'.sop[title="{name}"]').first.click()
    settled(page)


@pytest.mark.parametrize("name", CASES)
def test_its_values_and_matrices_are_those_of_the_interpreter_and_the_weights(opened: Open, name: str) -> None:
    """On the recorded input and, in the same page, on another one."""
    program, decoder = tm2tfr.load(name), tm2tfr.compile(name)
    page = opened(tm2tfr.explore(decoder, CASES[name][0]))
    names, selectors = RaspNames(program), 0
    for word in CASES[name]:
        if word != CASES[name][0]:
            page.get_by_label("another input").fill(word)
            page.keyboard.press("Enter")
            page.locator(".said-live", has_text="Run in this page").wait_for()
            settled(page)
        stages, expected = due(program, word)
        found = values(page)
        assert len(found) >= 3
        assert found == {each: expected[each] for each in found}
        for sop in needed([program.sop]):
            if not isinstance(sop, Aggregate):
                continue
            selectors += 1
            choose(page, names[sop])
            matrix = stages.matrices[sop.selector]
            assert squares(page, "selector", ".on") == [[[k for k, on in enumerate(row) if on] for row in matrix]]
            heads = [figure.get_attribute("data-head") for figure in page.locator(".matrix.attention").all()]
            assert len(heads) == 1
            looked = squares(page, "attention", ".share")
            for head, rows in zip(heads, looked, strict=True):
                weights = tm2tfr.attention_of(decoder, word, head=str(head)).weights
                assert rows == [[k for k, weight in enumerate(row) if weight] for row in weights]
            assert page.locator(".matrix .different").count() == 0
    assert selectors == {"reverse": 4, "double-histogram": 6, "dyck-2": 10}[name]
    assert shown_atom(stages.values[program.sop][0]) == found[names[program.sop]][0]


def test_a_head_that_looks_elsewhere_is_marked(opened: Open) -> None:
    decoder = tm2tfr.compile("reverse")
    query = matrices(decoder)["layers.2.heads.0.query"]
    broken = replaced(decoder, {"layers.2.heads.0.query": query.with_entry(*next(iter(query.entries()))[:2], 0.0)})
    page = opened(tm2tfr.explore(broken, "abca", machine="reverse"))
    choose(page, "reverse")
    (matrix,), (looked,) = squares(page, "selector", ".on"), squares(page, "attention", ".share")
    (different,) = squares(page, "attention", ".different")
    assert different == [[k for k in range(4) if (k in due) != (k in got)] for due, got in zip(matrix, looked, strict=True)]
    assert any(different)
    said = page.locator(".sop-note .bad").inner_text()
    assert said == f"✗ head 2.1 differs in {sum(map(len, different))} cells"


def test_pointing_at_a_row_lights_its_arcs(opened: Open) -> None:
    page = opened(tm2tfr.explore("reverse", "abcab"), "#i=2")
    choose(page, "reverse")
    assert page.locator(".arc[data-head='2.1']").get_attribute("data-from") == "2"
    page.locator(".matrix.selector .row-frame[data-row='0']").hover()
    settled(page)
    arc = page.locator(".arc[data-head='2.1']")
    assert (arc.get_attribute("data-from"), arc.get_attribute("data-to")) == ("0", "4")
    assert page.locator(".arc.lit").count() == 1
    assert page.locator(".flow-line.of-value").count() == 1
    place = "mark => Number(mark.getAttribute('x')) / Number(mark.getAttribute('width'))"
    assert page.locator(".flow-mark.of-value").evaluate_all(f"marks => marks.map({place})") == [4]
    assert page.locator(".flow-said").inner_text() == "reverse at 0 = tokens at 4 = b"
    page.locator(".matrix.attention .row-frame[data-row='3']").click()
    settled(page)
    assert browser.position(page) == 3
    page.mouse.move(0, 0)
    settled(page)
    assert page.locator(".arc.lit").count() == 0
    assert page.locator(".arc[data-head='2.1']").get_attribute("data-from") == "3"


def test_keys_go_along_the_arcs(opened: Open) -> None:
    page = opened(tm2tfr.explore("reverse", "abcab"))
    choose(page, "reverse")

    def focused() -> str:
        return str(page.evaluate("document.activeElement.title"))

    page.locator('.sop[title="reverse"]').focus()
    for key, name in [
        ("ArrowUp", "flip"),
        ("ArrowUp", "length"),
        ("ArrowUp", "length.share"),
        ("ArrowDown", "length"),
        ("ArrowDown", "flip"),
    ]:
        page.keyboard.press(key)
        assert focused() == name, key
    for key, name in [("Home", "tokens"), ("ArrowRight", "indices"), ("End", "reverse"), ("ArrowLeft", "flip")]:
        page.keyboard.press(key)
        assert focused() == name, key
    page.keyboard.press("Enter")
    settled(page)
    assert page.locator(".sop-title").inner_text() == "flip"
    assert page.locator(".program-text mark").inner_text() == "select(indices, length - indices - 1, ==)"
    page.locator(".matrix.selector .row-frame[tabindex='0']").focus()
    page.keyboard.press("End")
    page.keyboard.press("Enter")
    assert browser.position(page) == 4


def test_layers_play(opened: Open) -> None:
    """What is not known yet is pale, what the layer computes stands out, and its head is chosen."""
    page = opened(tm2tfr.explore("reverse", "abc"))
    for layer, fresh, unknown in [
        (0, ["tokens", "indices"], 5),
        (1, ["full_s", "length.share", "length"], 2),
        (2, ["flip", "reverse"], 0),
    ]:
        browser.follow(page, f"#i=0&layer={layer}")
        page.wait_for_function("n => document.querySelectorAll('.sop.unknown').length === n", arg=unknown)
        assert page.locator(".sop.fresh").evaluate_all("sops => sops.map(sop => sop.title)") == fresh
    assert page.locator(".sop-title").inner_text() == "reverse"


def test_passes_of_a_loop(opened: Open) -> None:
    """In the pass of a step values are those after it: one more position knows its parity."""
    page = opened(tm2tfr.explore("looped-parity", "0110"))
    steps = page.locator("select[aria-label='After which layer'] option").count() - 1
    known = ["".join(values(page)["known in each pass"])]
    for step in range(1, steps + 1):
        browser.follow(page, f"#i=0&layer={step}")
        known.append("".join(values(page)["known in each pass"]))
    assert known == ["TTTT", "TTFF", "TTFF", "TTTF", "TTTF", "TTTT", "TTTT"]
    assert page.locator(".flow-role.of-again").inner_text() == "next pass"
