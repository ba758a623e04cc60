"""The pictures of the explorer in the README and the manual: ``python -m tests.explorer.screenshot`` takes them anew."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import tm2tfr
from tests.explorer import browser
from tests.readme import ROOT


def take(path: Path, subject: str, word: str, *, address: str, height: int) -> None:
    """Write a picture of the page of a run, at an address such as ``#i=6&layer=4``, to the PNG file `path`."""
    with browser.browser() as chromium, tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "run.html"
        tm2tfr.explore(subject, word).save(page)
        window = browser.Window(
            chromium, viewport={"width": 1400, "height": height}, color_scheme="light", reduced_motion="reduce"
        )
        window.open(page, address).screenshot(path=path)
        window.close()


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs"
    take(folder / "explorer.png", "chapter", "11", address="#i=6&layer=4", height=1520)
    take(folder / "explorer-circuit.png", "full-adder", "110", address="#i=3", height=1140)
