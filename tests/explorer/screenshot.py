"""The picture of the explorer in the README: ``python -m tests.explorer.screenshot`` takes it anew."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import tm2tfr
from tests.explorer import browser
from tests.readme import ROOT


def take(path: Path) -> None:
    """Write a picture of the chapter's example at position 6, with layer 4 chosen, to the PNG file `path`."""
    with browser.browser() as chromium, tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "run.html"
        tm2tfr.explore("chapter", "11").save(page)
        window = browser.Window(
            chromium, viewport={"width": 1400, "height": 1520}, color_scheme="light", reduced_motion="reduce"
        )
        window.open(page, "#i=6&layer=4").screenshot(path=path)
        window.close()


if __name__ == "__main__":
    take(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "explorer.png")
