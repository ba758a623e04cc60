"""The pictures of the page on slides: ``python -m tests.web.slides.pictures`` makes them anew."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import tm2tfr
from tests.readme import ROOT
from tests.web.explorer import browser
from tm2tfr.api.pages import moments
from tm2tfr.web.slides.slide import slide

POSITION = 12
"""The position of palindromes on abba that is shown."""


def slide_text() -> str:
    """Return the slide as SVG."""
    return slide(moments("palindromes", "abba"), POSITION).svg()


def terminal() -> str:
    """Return the screen of ``tm2tfr trace palindromes --input abba --step`` as SVG."""
    from tm2tfr.cli.step import StepApp

    app = StepApp(moments("palindromes", "abba"))

    async def shown() -> str:
        async with app.run_test(size=(110, 34)) as pilot:
            await pilot.press(*["right"] * (POSITION - app.shown.position))
            await pilot.pause()
            return app.export_screenshot(title="tm2tfr trace palindromes --input abba --step")

    return asyncio.run(shown())


def photographed(chromium: Any, drawn: str, path: Path) -> None:
    """Write an SVG as a PNG file that is as wide as the drawing."""
    page = chromium.new_page(viewport={"width": 1390, "height": 900})
    page.set_content(f'<body style="margin: 0">{drawn}</body>')
    page.locator("svg").first.screenshot(path=path, omit_background=True)
    page.close()


def draw_all(folder: Path) -> None:
    """Write the pictures into a folder."""
    (folder / "slide.svg").write_text(slide_text(), encoding="utf-8")
    tm2tfr.animate("chapter", "11", path=folder / "run.gif", seconds=0.8)
    drawn = terminal()  # before there is a browser, which has the event loop
    with browser.browser() as chromium:
        photographed(chromium, drawn, folder / "step.png")


if __name__ == "__main__":
    draw_all(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "figures")
