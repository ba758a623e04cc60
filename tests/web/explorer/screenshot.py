"""The pictures of the explorer: ``python -m tests.web.explorer.screenshot`` makes them anew."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import tm2tfr
from tests.readme import ROOT
from tests.web.explorer import browser


def take(chromium: Any, path: Path, subject: Any, word: str, *, address: str, height: int) -> None:
    """Write a picture of the page of a run, at an address such as ``#i=6&layer=4``, to the PNG file `path`."""
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "run.html"
        tm2tfr.explore(subject, word).save(page)
        window = browser.Window(
            chromium, viewport={"width": 1400, "height": height}, color_scheme="light", reduced_motion="reduce"
        )
        window.open(page, address).screenshot(path=path)
        window.close()


def take_all(chromium: Any, folder: Path) -> None:
    """Write the pictures into a folder."""
    take(chromium, folder / "explorer.png", "chapter", "11", address="#i=6&layer=4", height=1600)
    take(chromium, folder / "explorer-circuit.png", "full-adder", "110", address="#i=3", height=1140)
    prompted = tm2tfr.Universal(states=8, symbols=4).holding(tm2tfr.load("palindromes"))
    (folder / "figures").mkdir(exist_ok=True)
    take(chromium, folder / "figures" / "explorer-universal.png", prompted, "abba", address="#i=47", height=1420)
    take(chromium, folder / "figures" / "explorer-rasp.png", "reverse", "abcab", address="#i=1", height=1180)


if __name__ == "__main__":
    with browser.browser() as launched:
        take_all(launched, Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs")
