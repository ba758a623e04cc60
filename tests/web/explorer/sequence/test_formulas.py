"""The view of formulas: its tree beside the word, every part at every position, and why a cell is what it is."""

from __future__ import annotations

from typing import Any

import pytest

import tm2tfr
from tests.web.explorer import browser
from tests.web.explorer.browser import Open
from tm2tfr.sources.logic.evaluate import evaluate
from tm2tfr.sources.logic.truth import shown_value
from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.weights import matrices, replaced

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(browser.missing() is not None, reason=str(browser.missing())),
]
CELLS = """rows => rows.map(row => [
  Number(row.dataset.node), [...row.querySelectorAll("[role=gridcell]")].map(cell => cell.firstChild.textContent)
])"""


def grid(page: Any) -> dict[int, list[str]]:
    """Return the texts of the cells, by the place of their node."""
    return dict(page.locator(".formula-row[data-node]").evaluate_all(CELLS))


def cell(page: Any, name: str, position: int) -> Any:
    """Return a cell of the first row with this name."""
    row = page.locator(".formula-row[data-node]").filter(has=page.locator(f'.formula-text:text-is("{name}")')).first
    return row.locator(f'[data-position="{position}"]')


def choose(page: Any, name: str, position: int) -> None:
    """Click a cell, and wait until it is drawn as the chosen one."""
    cell(page, name, position).click()
    page.locator(
        f".formula-row:has(.formula-text:text-is('{name}')) .formula-cell.chosen[data-position='{position}']"
    ).wait_for()


def story(page: Any) -> str:
    browser.settled(page)
    return str(page.locator(".formula-why .story").inner_text())


def rerun(page: Any, word: str) -> str:
    page.get_by_label("another input").fill(word)
    page.get_by_role("button", name="Run", exact=True).click()
    said = page.locator(".said-live")
    said.filter(has_text="Run in this page").wait_for()
    return str(said.inner_text())


@pytest.mark.parametrize(("name", "word", "other"), [("a-n-b-n", "aabba", "abb"), ("two-to-three", "aab", "aabbb")])
def test_every_cell_is_what_the_evaluator_says_also_of_another_input(
    opened: Open, name: str, word: str, other: str
) -> None:
    program = tm2tfr.load(f"{name}.tl")
    page = opened(tm2tfr.explore(name, word))
    for each in (word, other):
        if each == other:
            assert ", all agree" in rerun(page, each)
        found = evaluate(program, each)
        wanted = {n: [str(shown_value(v, node.kind)) for v in found[node]] for n, node in enumerate(program.nodes)}
        shown = grid(page)
        assert shown == {n: wanted[n] for n in shown}
        assert len(shown) >= 4


def test_a_cell_says_why_and_where_its_head_looks(opened: Open) -> None:
    page = opened(tm2tfr.explore("a-n-b-n", "aabba"))
    choose(page, "once Q[b]", 4)
    assert story(page) == "once Q[b] is true at 4: the latest position where Q[b] is true is 4."
    assert page.locator(".formula-why .look").inner_text().endswith("the head looks at position 4")
    assert page.locator(".formula-token.seen").evaluate_all("tokens => tokens.map(t => t.dataset.position)") == ["4"]
    reads = page.locator(".formula-cell.reads").evaluate_all("cells => cells.map(c => c.dataset.position)")
    assert set(reads) == {"4"}
    assert page.locator(".controls input[type=number]").input_value() == "4"
    assert "layer 1" in page.locator(".controls").inner_text()
    for position in (3, 2):
        page.keyboard.press("ArrowLeft")
        page.locator(f".formula-cell.chosen[data-position='{position}']").wait_for()
    assert story(page) == "once Q[b] is false at 2: Q[b] is true at none of 1, 2."
    assert page.locator(".controls input[type=number]").input_value() == "2"
    choose(page, "count(Q[a])", 5)
    assert story(page) == "count(Q[a]) is 3 at 5: of the positions 1…5, Q[a] is true at 1, 2, 5."
    page.keyboard.press("Home")
    page.keyboard.press("Enter")
    page.locator(".formula-cell.chosen[data-position='1']").wait_for()
    assert story(page).startswith("count(Q[a]) is 1 at 1")


def test_cells_where_the_weights_differ_are_marked(opened: Open) -> None:
    decoder = tm2tfr.compile("since-b")
    path = next(path for path in matrices(decoder) if path.endswith("heads.0.value"))
    value = matrices(decoder)[path]
    broken = replaced(decoder, {path: Matrix(value.shape, value.rows, value.columns, 0 * value.values)})
    page = opened(tm2tfr.explore(broken, "abab"))
    assert "differ" in page.locator(".formula-panel h2").inner_text()
    wrong = page.locator(".formula-cell.bad")
    assert wrong.count() >= 1
    wrong.first.click()
    page.locator(".formula-why .bad").wait_for()
    assert "The weights say" in page.locator(".formula-why").inner_text()


def test_it_fits_a_phone(opened: Open) -> None:
    page = opened(tm2tfr.explore("dyck-2-by-depth", "([()])]"), viewport={"width": 390, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") == 390
