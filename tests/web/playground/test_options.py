"""The options of a run in the playground's page, in a real browser."""

from __future__ import annotations

import pytest

from tests.web.explorer import browser
from tests.web.playground.window import Window, answered, opened

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(browser.missing() is not None, reason=str(browser.missing())),
]


def test_options_reach_the_run(window: Window) -> None:
    page = window.open()
    opened(page, "chapter")
    with answered(page):
        page.get_by_label("step limit").fill("3")
    assert page.locator(".verdict").inner_text() == "✓ no verdict within the limit"
    with answered(page):
        page.get_by_label("step limit").fill("")
    with answered(page):
        page.get_by_label("left boundary").select_option("chapter")
    assert "accepts after T = 6" in page.locator(".verdict").inner_text()
    field = page.locator("#input")
    with answered(page):
        field.fill("7")
    assert field.get_attribute("aria-invalid") == "true"
    page.get_by_label("step limit").fill("99999")
    page.get_by_text("the step limit must be a whole number from 0 to 5,000, not 99999: use for example 300").wait_for()
    assert (field.get_attribute("aria-invalid"), page.locator("#about-input").inner_text()) == (None, "")
    assert [each for each in window.complaints if "400 (Bad Request)" not in each] == []
    window.complaints.clear()
