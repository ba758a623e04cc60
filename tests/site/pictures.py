"""The pictures of the tutorial, the favicon and the social card: ``python -m tests.site.pictures`` makes them anew."""

from __future__ import annotations

import base64
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tm2tfr
from tests.readme import BLOCK, ROOT, shown
from tests.web.explorer import browser

ASSETS = ROOT / "docs" / "theme" / "assets"
FIGURES = ROOT / "docs" / "figures"
SCALE = 2
"""Pixels of a picture per pixel of the page."""
CARD = Path(__file__).with_name("card.html")
AROUND = """selector => {
  const boxes = [...document.querySelectorAll(selector)].map(part => part.getBoundingClientRect());
  const [x, y] = [Math.min(...boxes.map(b => b.left)), Math.min(...boxes.map(b => b.top))];
  const [right, bottom] = [Math.max(...boxes.map(b => b.right)), Math.max(...boxes.map(b => b.bottom))];
  return { x, y: y + scrollY, width: right - x, height: bottom - y };
}"""
"""Where the selected elements are in the page, all of them together."""


@dataclass(frozen=True)
class Picture:
    """A part of the explorer's page.

    Args:
        parts: selects the elements that are shown, one below the other.
        address: the position and the layer, as in ``#i=6&layer=4``.
        width: of the window, in pixels of the page.
        press: the name of a button that is pressed before.
    """

    parts: str
    address: str
    width: int = 760
    press: str | None = None


def machine() -> tm2tfr.Machine:
    """Return the machine that the tutorial writes down."""
    text = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
    command = next(command for block in BLOCK.findall(text) for command, _ in shown(block) if "plus-one.yaml" in command)
    return tm2tfr.Machine.from_yaml("\n".join(line.removeprefix("> ") for line in command.splitlines()[1:-1]))


def broken() -> tm2tfr.Decoder:
    """Return the decoder with the weight changed that the tutorial changes."""
    return tm2tfr.with_weight(tm2tfr.compile("busy-beaver-3"), "layers.4.heads.0.query", 0, "h", -2)


PICTURES: dict[str, tuple[Any, str, Picture]] = {
    "tutorial-states": (machine, "11", Picture(".graph-panel", "#i=6")),
    "tutorial-tokens": (machine, "11", Picture(".tape-panel, .strip-panel", "#i=7&layer=4", 1500)),
    "tutorial-weights": (machine, "11", Picture('.layer[data-layer="4"]', "#i=7&layer=4", 900, "the weights of layer 4")),
    "tutorial-broken": (broken, "", Picture(".table-panel", "#i=4")),
}
"""Name of a picture of the tutorial -> what is run, its input, and what is shown of it."""


@contextmanager
def opened(chromium: Any, subject: Any, word: str, picture: Picture) -> Iterator[Any]:
    """Yield the page of a run at the position of a picture."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.html"
        tm2tfr.explore(subject, word, max_steps=9).save(path)
        window = browser.Window(
            chromium,
            viewport={"width": picture.width, "height": 1200},
            device_scale_factor=SCALE,
            color_scheme="light",
            reduced_motion="reduce",
        )
        yield window.open(path, picture.address)
        window.close()


def take(chromium: Any, path: Path, subject: Any, word: str, picture: Picture) -> None:
    """Write a part of the page of a run to the PNG file `path`."""
    with opened(chromium, subject, word, picture) as page:
        if picture.press:
            page.get_by_role("button", name=picture.press, exact=True).click()
        page.add_style_tag(content=".controls { display: none !important; }")
        browser.settled(page)
        page.screenshot(path=path, clip=page.evaluate(AROUND, picture.parts), full_page=True)


def of_tutorial(chromium: Any, folder: Path) -> None:
    """Write the tutorial's pictures into a folder."""
    for name, (made, word, picture) in PICTURES.items():
        take(chromium, folder / f"{name}.png", made(), word, picture)


def of_logo(chromium: Any, folder: Path) -> None:
    """Write the favicon and the social card, made from the logo, into a folder."""
    logo = (ASSETS / "logo.svg").read_text(encoding="utf-8")
    page = chromium.new_page(viewport={"width": 64, "height": 64})
    page.set_content(f'<body style="margin: 0; line-height: 0">{logo}')
    page.screenshot(path=folder / "favicon.png", omit_background=True)
    page.close()
    strip = folder / "strip.png"
    take(chromium, strip, "chapter", "11", Picture(".strip-panel .field", "#i=7&layer=4", 900))
    picture = f"data:image/png;base64,{base64.b64encode(strip.read_bytes()).decode('ascii')}"
    palette = (ROOT / "explorer/src/palette.css").read_text(encoding="utf-8")
    content = CARD.read_text(encoding="utf-8")
    for mark, text in (("/* palette */", palette), ("<!-- logo -->", logo), ("strip.png", picture)):
        content = content.replace(mark, text)
    strip.unlink()
    page = chromium.new_page(viewport={"width": 1200, "height": 630}, color_scheme="light")
    page.set_content(content)
    page.screenshot(path=folder / "card.png")
    page.close()


if __name__ == "__main__":
    with browser.browser() as launched:
        of_tutorial(launched, FIGURES)
        of_logo(launched, ASSETS)
