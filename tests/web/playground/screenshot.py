"""The picture of the playground in the manual: ``python -m tests.web.playground.screenshot`` takes it anew."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from tests.readme import ROOT
from tests.web.explorer import browser
from tests.web.playground.window import Serving, Window, answered, opened, serving

SIZE = (1400, 900)


def take(chromium: Any, server: Serving, path: Path) -> None:
    """Write a picture of a machine with a state that is misspelt, beside its last run, to the PNG file `path`."""
    viewport = dict(zip(("width", "height"), SIZE, strict=True))
    window = Window(chromium, server, viewport=viewport, color_scheme="light", reduced_motion="reduce")
    page = window.open()
    opened(page, "palindromes")
    page.locator(".cm-line", has_text="a: {write: _, R: have-a}").click()
    page.keyboard.press("End")
    for _ in range(len("-a}")):
        page.keyboard.press("ArrowLeft")
    with answered(page):
        page.keyboard.press("Backspace")
    page.mouse.move(0, 0)
    page.wait_for_timeout(300)
    page.screenshot(path=path)
    window.close()


if __name__ == "__main__":
    with browser.browser() as launched, serving() as found:
        take(launched, found, Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "figures" / "playground.png")
