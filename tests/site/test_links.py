"""Every link of the built site leads to a page and a place that are there, without the network."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

pytestmark = pytest.mark.slow


class Page(HTMLParser):
    """What a page links to, loads, and has as places to link to."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.places: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.places |= {found[name] for name in ("id", "name") if name in found}
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        elif tag == "link" and "canonical" not in found.get("rel", ""):
            self.loaded.append(found.get("href", ""))
        elif tag in ("script", "img", "iframe", "object") and (source := found.get("src") or found.get("data")):
            self.loaded.append(source)


def test_every_link_leads_somewhere(site: Path) -> None:
    pages = {path: Page(path) for path in site.rglob("*.html")}
    broken = []
    for path, page in pages.items():
        for link in page.links if path.name != "404.html" else ():
            address = urlsplit(link)
            if address.scheme or not link:
                continue
            target = (path.parent / unquote(address.path)).resolve() if address.path else path
            target = target / "index.html" if target.is_dir() else target
            place = unquote(address.fragment)
            if not target.exists() or (place and target.suffix == ".html" and place not in pages[target].places):
                broken.append((str(path.relative_to(site)), link))
    assert broken == []


def test_nothing_is_loaded_from_the_network(site: Path) -> None:
    for path in site.rglob("*.html"):
        outside = [
            source
            for source in Page(path).loaded
            if urlsplit(source).scheme in ("http", "https") or source.startswith("//")
        ]
        assert outside == [], path.name
