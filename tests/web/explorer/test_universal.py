"""The page of a universal decoder's run: the machine in the prompt, and which of its rules is looked up."""

from __future__ import annotations

from typing import Any

import pytest

import tm2tfr
from tests.web.explorer import browser
from tests.web.explorer.browser import Open, follow, position
from tests.web.explorer.reading import embedded
from tm2tfr.transformer.weights import matrices, replaced
from tm2tfr.web.explorer.document import Explorer

EVERY = tm2tfr.Universal(states=8, symbols=4)
in_a_browser = [
    pytest.mark.slow,
    pytest.mark.skipif(browser.missing() is not None, reason=str(browser.missing())),
]


@pytest.fixture(scope="module")
def page() -> Explorer:
    return tm2tfr.explore(EVERY.holding(tm2tfr.load("chapter")), "11")


def test_the_data_say_what_describes_the_machine_and_what_finds_its_rules(page: Explorer) -> None:
    data = embedded(page.html)
    run = data["runs"][0]
    assert {name: run[name] for name in ("lead", "prompt", "finds", "input", "answer", "agrees")} == {
        "lead": 31,
        "prompt": 33,
        "finds": [5, 0],
        "input": "11",
        "answer": "accept",
        "agrees": True,
    }
    assert run["layers"][5]["heads"][0]["name"] == "rule for q, a"
    assert [layer["equation"] for layer in run["layers"][1:3]] == [
        "h/(i+1) = 1/(i+1) · Σ_{j≤i} m_{j-1};  k/(i+1) = 1/(i+1) · Σ_{j≤i} [j < k]",
        "h = argmax_j (2h·j − j^2)/(i+1);  h + k = argmax_j (2(h + k)·j − j^2)/(i+1)",
    ]
    assert data["machine"]["name"] == "chapter"
    assert [state["name"] for state in data["machine"]["states"][:3]] == ["q0", "q1", "q2"]
    about = "Run by the decoder of all machines with at most 8 states and 4 symbols, which reads its rules in the prompt. "
    assert about in page.html


def test_a_decoder_of_one_machine_has_no_description() -> None:
    run = embedded(tm2tfr.explore("chapter", "11").html)["runs"][0]
    assert (run["lead"], run["prompt"], run["finds"]) == (0, 2, None)


def found(page: Any) -> list[str | None]:
    return [rule.get_attribute("data-rule") for rule in page.locator(".prompt-rule.found").all()]


def said(page: Any) -> str:
    return str(page.locator(".lookup").inner_text()).replace("\n", " ")


class TestInABrowser:
    pytestmark = in_a_browser

    def test_the_rule_that_is_looked_up_is_marked(self, opened: Open, page: Explorer) -> None:
        shown = opened(page)
        assert position(shown) == 34
        assert found(shown) == ["q0,1"]
        follow(shown, "#i=36")
        assert position(shown) == 36
        assert found(shown) == ["q2,_"]
        assert said(shown) == "6.1 looks for q2,_ and finds →(q4,_,-1), at position 18"
        chips = [chip.get_attribute("data-position") for chip in shown.locator(".chip.rule-found").all()]
        assert chips == ["17", "18"]
        assert shown.locator(".story").inner_text() == (
            "The machine went to q2, wrote x and moved right. It reads _ in cell 2. "
            "The prompt's rule for q2,_ says (q4,_,-1), and that is the next token."
        )
        assert shown.locator(".cell.here .symbol").inner_text() == "_"
        assert shown.locator(".layer.chosen .layer-name").inner_text().split() == ["6", "find", "rule"]

    @pytest.mark.parametrize("prompted", [False, True])
    def test_a_state_that_accepts_has_a_double_line(self, opened: Open, prompted: bool) -> None:
        machine = tm2tfr.load("parity")
        shown = opened(tm2tfr.explore(EVERY.holding(machine) if prompted else machine, "101"))
        ellipses = shown.locator(".graph .node", has_text="accept").locator("ellipse")
        fills = ellipses.evaluate_all("all => all.map(e => getComputedStyle(e).fill)")
        assert len(fills) == 2
        assert fills[1] == "none", "the outer one is drawn over the inner one"

    def test_the_slider_begins_at_bos_and_the_description_is_before(self, opened: Open, page: Explorer) -> None:
        shown = opened(page)
        slider = shown.locator("input[type=range]")
        assert (slider.get_attribute("min"), slider.get_attribute("max")) == ("33", "39")
        shown.keyboard.press("Home")
        assert position(shown) == 33
        assert said(shown) == "The machine has no state yet: no rule is looked up."
        shown.keyboard.press("Home")
        assert position(shown) == 0
        assert (
            shown.locator(".story").inner_text()
            == "The prompt describes the machine: one-way says that its tape has a left end."
        )
        shown.locator("[data-token='12']").click()
        assert position(shown) == 12
        assert shown.locator(".story").inner_text().endswith("→ACC is the answer of the rule for q1,x.")
        assert [token.inner_text() for token in shown.locator(".prompt-word .prompt-token").all()] == ["1", "1", "BOS"]

    @pytest.mark.parametrize("width", [420, 1400])
    def test_where_there_is_no_rule(self, opened: Open, width: int) -> None:
        halting = tm2tfr.explore(EVERY.holding(tm2tfr.load("busy-beaver-2")))
        shown = opened(halting, "#i=16", viewport={"width": width, "height": 900})
        assert found(shown) == []
        shared = [rule.get_attribute("data-rule") for rule in shown.locator(".prompt-rule.shared").all()]
        assert shared == ["A,1", "B,1"]
        assert said(shown) == "6.1 looks for Z,1: no rule: HALT (2 positions share the attention)"
        assert shown.locator(".story").inner_text().endswith("The prompt has no rule for Z,1, and the answer is HALT.")
        assert shown.evaluate("document.documentElement.scrollWidth") <= width

    def test_a_narrow_window_cuts_no_arc_off(self, opened: Open) -> None:
        page = tm2tfr.explore(EVERY.holding(tm2tfr.load("parity")), "101")
        shown = opened(page, "#i=20", viewport={"width": 420, "height": 900})
        strip = ".strip-panel .scroll"
        assert shown.locator(strip).evaluate("e => e.scrollWidth <= e.clientWidth")
        left = shown.locator(strip).evaluate("e => e.getBoundingClientRect().left")
        ends = shown.locator(f"{strip} .arc .tip").evaluate_all("all => all.map(e => e.getBoundingClientRect().left)")
        assert len(ends) == 9
        assert min(ends) >= left
        assert shown.locator(f"{strip} .chip.now").inner_text() == "(e…1,+1)"

    def test_a_head_that_looks_elsewhere(self, opened: Open) -> None:
        decoder = tm2tfr.compile(EVERY.holding(tm2tfr.load("chapter")))
        path = "layers.6.heads.0.query"
        matrix = matrices(decoder)[path]
        row, column, value = next(matrix.entries())
        broken = replaced(decoder, {path: matrix.with_entry(row, column, -value)})
        shown = opened(tm2tfr.explore(broken, "11", max_steps=8))
        assert "head 'rule for q, a' attended to" in shown.locator(".notice").inner_text()
        assert said(shown).startswith("6.1 looks for q0,1 but not at position 2, where that rule is")
