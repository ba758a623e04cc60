"""The slides: everything fits, keys turn them, they need no network, print a slide a page, and are there as Markdown."""

from __future__ import annotations

import io
import re
import runpy
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.readme import ROOT
from tests.web.explorer.browser import violations, without_axe
from tm2tfr.web.palette import palette

pytestmark = pytest.mark.slow

TEXT = (ROOT / "docs/lecture/slides.md").read_text(encoding="utf-8")
SLIDES = len(re.findall(r"^---$", TEXT, re.MULTILINE)) - 1  # two more are around what says that it is slides
STICKING_OUT = """() => [...document.querySelectorAll(".slide, .slide pre")]
  .filter(part => part.scrollWidth > part.clientWidth || part.scrollHeight > part.clientHeight)
  .map(part => part.textContent.slice(0, 80))"""


@pytest.fixture
def deck(site: Path, chromium: Any) -> Iterator[Any]:
    """Give the slides in a window of their shape, where nothing may be complained of or asked of a network."""
    page = chromium.new_page(viewport={"width": 1280, "height": 720})
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: said.append(request.url))
    page.goto((site / "lecture/slides.html").as_uri())
    yield page
    page.close()
    assert [each for each in said if not each.startswith(("file:", "data:"))] == []


def test_there_are_enough_for_45_minutes() -> None:
    assert 20 <= SLIDES <= 26
    assert TEXT.count("\n## ") == SLIDES - 1


def test_everything_fits(deck: Any) -> None:
    assert deck.locator("section").count() == SLIDES
    assert deck.evaluate(STICKING_OUT) == []
    pictures = deck.evaluate("[...document.images].map(i => [i.alt.length > 20, i.naturalWidth, i.height])")
    assert len(pictures) == TEXT.count("](figures/")
    assert all(alt and width and height > 300 for alt, width, height in pictures)


def test_keys_turn_them_and_show_the_notes(deck: Any) -> None:
    top = "x => Math.abs(x.getBoundingClientRect().top) < 2"
    now = f"[...document.querySelectorAll('section')].find({top})?.id + ' ' + location.hash"
    for key, slide in (("ArrowRight", 2), (" ", 3), ("PageDown", 4), ("ArrowLeft", 3), ("End", SLIDES), ("Home", 1)):
        deck.keyboard.press(key)
        deck.wait_for_function(f"({now}) === '{slide} #{slide}'", timeout=10_000)  # the address follows what is in sight
    assert not deck.locator("aside").first.is_visible()
    deck.keyboard.press("n")
    assert deck.locator("aside").first.is_visible()
    assert deck.locator("aside").count() == TEXT.count("\n<!-- ")
    deck.evaluate("location.hash = '#7'")
    deck.wait_for_function(f"({now}) === '7 #7'")  # otherwise the address of this slide comes after the next one
    deck.evaluate("location.hash = '#the-rule-head'")  # as a result of the site's search
    deck.wait_for_function("document.activeElement.querySelector('h2')?.id === 'the-rule-head'")


def test_printed_each_is_a_page(deck: Any) -> None:
    printed = deck.pdf(prefer_css_page_size=True, print_background=True)
    assert len(re.findall(rb"/Type\s*/Page\b", printed)) == SLIDES
    shapes = {(int(w), int(h)) for w, h in re.findall(rb"/MediaBox\s*\[0 0 (\d+)[\d.]* (\d+)[\d.]*\]", printed)}
    assert shapes == {(906, 510)}  # 320 by 180 mm, in points


RAW = re.compile(r"_\{|\^|\\[a-z(]")
"""Marks of formulas that were not set as formulas."""
READ = "[...document.querySelectorAll('.slide')].map(s => { s = s.cloneNode(true); s.querySelectorAll('pre, math')" + (
    ".forEach(part => part.remove()); return s.textContent; })"
)


def test_formulas_are_set_as_formulas_also_in_the_pictures(deck: Any, site: Path) -> None:
    assert [RAW.search(text) for text in deck.evaluate(READ)] == [None] * SLIDES
    assert deck.locator("math").count() > 30
    for name in re.findall(r"\]\(figures/([^)]+)\)", TEXT):
        drawn = (site / "lecture/figures" / name).read_text(encoding="utf-8")
        texts = re.findall(r"<text[^>]*>(.*?)</text>", drawn, re.DOTALL)
        assert [text for text in texts if RAW.search(text)] == [], name


PAINT = "[getComputedStyle(document.querySelector('.slide')).backgroundColor, getComputedStyle(document.body).color]"


def test_slides_have_the_colours_of_the_explorer_in_light_and_in_dark(deck: Any) -> None:
    assert (ROOT / "explorer/src/palette.css").read_text(encoding="utf-8") in deck.locator("style").inner_html()
    light, dark = (
        [f"rgb({', '.join(str(int(palette()[name][n][k : k + 2], 16)) for k in (1, 3, 5))})" for name in ("panel", "ink")]
        for n in (0, 1)
    )
    found = []
    for scheme in ("light", "dark"):
        deck.emulate_media(color_scheme=scheme)
        for theme in ("auto", "light", "dark"):
            assert deck.locator("#theme").inner_text() == f"Theme: {theme}"
            found.append(deck.evaluate(PAINT))
            deck.keyboard.press("t")
    assert found == [light, light, dark, dark, light, dark]
    deck.emulate_media(media="print")
    assert deck.evaluate(PAINT) == light


@pytest.mark.skipif(without_axe() is not None, reason=str(without_axe()))
def test_nothing_serious_is_found_in_dark(deck: Any) -> None:
    deck.emulate_media(color_scheme="dark")
    assert violations(deck, impacts=["serious", "critical"]) == []


def test_lecturers_get_the_markdown_with_its_figures(site: Path) -> None:
    with zipfile.ZipFile(io.BytesIO((site / "lecture/slides.zip").read_bytes())) as archive:
        text = archive.read("slides/slides.md").decode()
        assert re.findall(r"(?<!!)\]\((?!https?:|figures/)", text) == [], "a link to a page that is not in the archive"
        assert [line for line in text.splitlines() if line not in TEXT.splitlines()] == [
            "Each is proved, and each gadget is tested in exact arithmetic.",
            "All ten, with solutions that run.",
        ]
        figures = {f"slides/figures/{name}" for name in re.findall(r"\]\(figures/([^)]+)\)", TEXT)}
        assert {name for name in archive.namelist() if "figures" in name} == figures
        drawn = [archive.read(name) for name in figures]
        assert all(figure.lstrip().startswith(b"<?xml") for figure in drawn)
        assert not any(b"light-dark(" in figure for figure in drawn), "programs other than browsers know no such colour"


def test_figures_of_a_lecturer_are_found_or_their_line_is_named(tmp_path: Path) -> None:
    from mkdocs.exceptions import PluginError

    deck = runpy.run_path(str(ROOT / "docs/lecture/deck.py"))
    (tmp_path / "figures").mkdir()
    text = "# Mine\n\n![of the site](figures/rule.svg) ![my own](figures/wcw.svg)\n"
    with pytest.raises(PluginError, match=r"slides.md:3: there is no figure wcw.svg: put it into figures/ beside"):
        deck["own_figures"](text, tmp_path)
    (tmp_path / "figures/wcw.svg").write_text("<svg/>")
    assert deck["own_figures"](text, tmp_path) == [tmp_path / "figures/wcw.svg"]
    with pytest.raises(PluginError, match=r"slides.md:1: wcw.svg cannot be shown: write figures/wcw.svg, an SVG"):
        deck["own_figures"]("![my own](wcw.svg)", tmp_path)
