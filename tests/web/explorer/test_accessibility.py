"""What axe-core, a checker of accessibility, says of the pages: nothing."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import tm2tfr
from tests.engines.labellers import labeller
from tests.web.explorer import browser
from tests.web.explorer.browser import Open
from tm2tfr.web.explorer.document import Explorer

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(browser.missing() is not None, reason=str(browser.missing())),
    pytest.mark.skipif(browser.without_axe() is not None, reason=str(browser.without_axe())),
]


PAGES: dict[str, Callable[[], Explorer]] = {
    "machine": lambda: tm2tfr.explore("chapter", "11"),
    "wide weights": lambda: tm2tfr.explore("palindromes", "abba"),
    "circuit": lambda: tm2tfr.explore("full-adder", "110"),
    "universal": lambda: tm2tfr.explore(tm2tfr.compile("chapter", universal=(5, 3)), "11"),
    "RASP": lambda: tm2tfr.explore("histogram", "§aab"),
    "loop": lambda: tm2tfr.explore("looped-parity", "0110"),
    "formula": lambda: tm2tfr.explore("since-b", "abacb"),
    "program": lambda: tm2tfr.explore("dyck-2-by-depth", "([()])]"),
    "automaton": lambda: tm2tfr.explore("regex:a*b", "aab"),
    "weights alone": lambda: tm2tfr.explore(labeller(), "abba"),
    "two runs": lambda: tm2tfr.explore("left-edge", "11", compare="chapter"),
}


@pytest.mark.parametrize("subject", PAGES)
def test_the_explorers_page(opened: Open, subject: str) -> None:
    """In light colours, with all weights open, and softmax; then all that can differ in dark ones: what can be read."""
    page = opened(PAGES[subject]())
    for button in page.get_by_role("button", name="the weights of layer").all():
        button.click()
    for softmax in page.locator(".soft-panel summary").all():
        softmax.click()
    assert browser.violations(page) == []
    page.emulate_media(color_scheme="dark")
    assert browser.violations(page, rules=["color-contrast"]) == []
    for width in (390, 1_400):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") == width


def test_the_box_for_another_input(opened: Open) -> None:
    """An input that is refused, one that is run, and a run that goes wrong."""
    page = opened(tm2tfr.explore(tm2tfr.compile("left-edge", left_boundary="chapter"), ""))
    for text, shown in (("?", ".live-error:not(:empty)"), ("11", "main .notice")):
        page.get_by_label("another input").fill(text)
        page.keyboard.press("Enter")
        page.locator(shown).wait_for()
        assert browser.violations(page) == []
