"""A walk through the whole site in a browser, on a desk and on a phone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

STICKING_OUT = """() => [...document.querySelectorAll("article *")].filter(part => {
  const box = part.getBoundingClientRect();
  if (box.width === 0 || box.right <= innerWidth + 1) return false;
  for (let around = part.parentElement; around && around.tagName !== "ARTICLE"; around = around.parentElement)
    if (getComputedStyle(around).overflowX !== "visible") return false;
  return true;
}).map(part => `${part.tagName}: ${part.textContent.slice(0, 60)}`)"""
"""What is wider than the window and has nothing around it that scrolls."""


def test_no_page_complains_or_is_wider_than_the_window(site: Path, chromium: Any) -> None:
    context = chromium.new_context(color_scheme="dark", viewport={"width": 1280, "height": 850})
    page = context.new_page()
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    pages = sorted(path for path in site.rglob("*.html") if path.name != "404.html")
    assert len(pages) > 15
    for path in pages:
        page.set_viewport_size({"width": 1280, "height": 850})
        page.goto(path.as_uri())
        assert page.evaluate(STICKING_OUT) == [], path.name
        page.set_viewport_size({"width": 390, "height": 850})
        assert page.evaluate(STICKING_OUT) == [], path.name
        assert page.evaluate("document.images.length === [...document.images].filter(i => i.naturalWidth).length"), (
            path.name
        )
    context.close()
    assert said == []


def test_the_search_finds_an_equation_in_a_folder_and_in_no_network(site: Path, chromium: Any) -> None:
    page = chromium.new_page()
    page.goto((site / "index.html").as_uri())
    page.click("[data-md-component=search-query]")
    page.get_by_text("Type to start searching").wait_for(timeout=20_000)
    page.keyboard.type("8.15", delay=50)
    first = page.locator(".md-search-result__link").first
    first.wait_for(timeout=20_000)
    assert first.get_attribute("href").partition("?")[0].endswith("construction/equations.html")
    page.close()


def test_the_stars_of_a_docstring_are_stars(site: Path) -> None:
    html = (site / "reference/construction.html").read_text(encoding="utf-8")
    assert "<p>With f = [h_{j*-1} = h], w = [b_{j*-1} ≠ ⊥]" in html


def test_a_here_document_does_not_look_like_output(site: Path) -> None:
    html = (site / "how-to/machines.html").read_text(encoding="utf-8")
    assert '<span class="gp">&gt; </span><span>name: zeros-ones</span>' in html
    assert '<span class="go">&gt; ' not in html
