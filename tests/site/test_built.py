"""The built site: its links, buttons and frames work, and nothing is loaded from a network."""

from __future__ import annotations

import doctest
import re
import shlex
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

from tests.readme import BLOCK, ROOT, run, shown
from tests.web.explorer.browser import violations, without_axe


# ── every link of the built site leads to a page and a place that are there, without the network
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


@pytest.mark.slow
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
            place = "" if target.parent.name == "live" else unquote(address.fragment)  # a live page reads its own
            if not target.exists() or (place and target.suffix == ".html" and place not in pages[target].places):
                broken.append((str(path.relative_to(site)), link))
    assert broken == []


@pytest.mark.slow
def test_nothing_is_loaded_from_the_network(site: Path) -> None:
    for path in site.rglob("*.html"):
        outside = [
            source
            for source in Page(path).loaded
            if urlsplit(source).scheme in ("http", "https") or source.startswith("//")
        ]
        assert outside == [], path.name


# ── the copy button copies the commands of a block: no prompts, no outputs, here-documents whole
COPIED = re.compile(r'<div class="language-console highlight" data-copy="([^"]*)">')
STATEMENTS = re.compile(r'<div class="language-python highlight" data-copy="([^"]*)">')
PYTHON = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PAGES = [path.relative_to(ROOT / "docs").with_suffix("") for path in sorted(ROOT.glob("docs/**/*.md"))]
PERMISSIONS = ["clipboard-read", "clipboard-write"]
COUNTED = (
    "trace equal.rasp --input abca",
    "compile equal.rasp | sed -n 2,3p",
    "check equal.rasp --all-up-to 4 | sed '/γ/d'",
)
CHANGE = """
import tm2tfr
def broken(machine):
    return tm2tfr.with_weight(
"""


def typed(block: str) -> str:
    """Return what a reader types of a console block, as the tests run it."""
    return "\n".join(re.sub("^> ", "", command, flags=re.MULTILINE) for command, _ in shown(block))


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=str)
def test_a_console_block_holds_its_commands_for_the_button(site: Path, page: Path) -> None:
    text = (ROOT / "docs" / page.with_suffix(".md")).read_text(encoding="utf-8")
    html = (site / page.with_suffix(".html")).read_text(encoding="utf-8")
    assert [unescape(copied) for copied in COPIED.findall(html)] == [typed(block) for block in BLOCK.findall(text)]
    assert html.count('<div class="language-console highlight">') == 0


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=str)
def test_a_block_of_examples_holds_its_statements_for_the_button(site: Path, page: Path) -> None:
    text = (ROOT / "docs" / page.with_suffix(".md")).read_text(encoding="utf-8")
    html = (site / page.with_suffix(".html")).read_text(encoding="utf-8")
    examples = [doctest.DocTestParser().get_examples(block) for block in PYTHON.findall(text)]
    statements = ["".join(each.source for each in block).rstrip("\n") for block in examples if block]
    copied = [unescape(each) for each in STATEMENTS.findall(html)]
    if "\n::: " in text:  # examples of docstrings, too
        assert copied or str(page) != "reference/api/run"
        assert not any(line.startswith((">>>", "...")) for each in copied for line in each.splitlines())
    else:
        assert copied == statements


@pytest.mark.slow
def test_the_button_copies_the_commands(site: Path, chromium: Any) -> None:
    context = chromium.new_context(permissions=PERMISSIONS)
    page = context.new_page()
    page.goto((site / "tutorial.html").as_uri())
    text = (ROOT / "docs/tutorial.md").read_text(encoding="utf-8")
    (written,) = [typed(block) for block in BLOCK.findall(text) if "cat > plus-one.yaml" in block]
    assert copied(page, "div.language-console", 0) == written
    assert written.startswith("cat > plus-one.yaml <<END\nname: plus-one\n")
    assert written.endswith("\nEND\ntm2tfr check plus-one.yaml")
    assert "cells agree" not in written
    assert copied(page, "div.language-python", 0).startswith(CHANGE.strip())
    page.goto((site / "lecture/exercises.html").as_uri())
    page.locator("details", has_text="equal.rasp").locator("summary").click()
    count = copied(page, "details[open] div.language-console", 0)
    assert count.splitlines()[1:3] == ["# alphabet: abc", "# example: abca -> 2112"]
    assert count.splitlines()[-4:] == ["END", *(f"tm2tfr {rest}" for rest in COUNTED)]
    context.close()


def copied(page: Any, blocks: str, number: int) -> str:
    """Press the button of a block and return what is in the clipboard then."""
    block = page.locator(blocks).nth(number)
    block.scroll_into_view_if_needed()
    block.hover()
    block.locator("[data-clipboard-target]").click()
    return str(page.evaluate("navigator.clipboard.readText()"))


# ── explorer's pages in the site's: each is what its command writes now, in a frame that works, with a link to it
FRAME = re.compile(r'<iframe class="live" src="([^"#]*)[^"]*" title="([^"]+)" loading="lazy"></iframe>')
COMMAND = re.compile(r'<div class="language-sh highlight">(.*?)</div>', re.DOTALL)


@pytest.mark.slow
def test_each_frame_has_the_page_of_the_command_above_it(site: Path, tmp_path: Path) -> None:
    html = (site / "lecture/live.html").read_text(encoding="utf-8")
    frames, commands = (
        FRAME.findall(html),
        [unescape(re.sub("<[^>]*>", "", block)).strip() for block in COMMAND.findall(html)],
    )
    assert len(frames) == len(commands) >= 3
    for (place, _), command in zip(frames, commands, strict=True):
        assert f'<a href="{place}">' in html
        said = run(f"{command.removesuffix(' --open')} -o page.html", tmp_path)
        assert said.endswith("wrote page.html\n"), said
        assert (site / "lecture" / place).read_bytes() == (tmp_path / "page.html").read_bytes()


OTHERS = ["1111", "111", "7+8", "aba"]
"""Another input for each frame."""


@pytest.mark.slow
def test_the_frames_work_and_run_another_input(site: Path, chromium: Any) -> None:
    page = chromium.new_page()
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto((site / "lecture/live.html").as_uri())
    for frame, word in zip(page.locator("iframe.live").all(), OTHERS, strict=True):
        frame.scroll_into_view_if_needed()
        inside = frame.content_frame
        inside.locator("html[data-ready=true]").wait_for(state="attached")
        before = inside.locator(".rows .row.now").first.get_attribute("data-row")
        inside.locator("h1").first.click()  # so that the frame has the keyboard
        page.keyboard.press("ArrowLeft" if before != "0" else "ArrowRight")
        inside.locator(f'.rows .row.now:not([data-row="{before}"])').first.wait_for()
        inside.get_by_label("another input").fill(word)
        page.keyboard.press("Enter")
        inside.locator(".said-live", has_text="Run in this page").first.wait_for()
        assert inside.locator(".live-error").all_inner_texts() in ([], [""])
    page.close()
    assert said == []


# ── a walk through the whole site in a browser, on a desk and on a phone
STICKING_OUT = """() => [...document.querySelectorAll("article *")].filter(part => {
  const box = part.getBoundingClientRect();
  if (box.width === 0 || box.right <= innerWidth + 1) return false;
  for (let around = part.parentElement; around && around.tagName !== "ARTICLE"; around = around.parentElement)
    if (getComputedStyle(around).overflowX !== "visible") return false;
  return true;
}).map(part => `${part.tagName}: ${part.textContent.slice(0, 60)}`)"""
"""What is wider than the window and has nothing around it that scrolls."""
TALLEST = 15_000
"""The most pixels of a page of the reference."""


@pytest.mark.slow
def test_no_page_complains_or_is_wider_than_the_window_or_very_tall(site: Path, chromium: Any) -> None:
    context = chromium.new_context(color_scheme="dark", viewport={"width": 1280, "height": 850})
    page = context.new_page()
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    pages = sorted(path for path in site.rglob("*.html") if path.name != "404.html")
    assert len(pages) > len(PAGES)
    for path in pages:
        page.set_viewport_size({"width": 1280, "height": 850})
        page.goto(path.as_uri())
        assert page.evaluate(STICKING_OUT) == [], path.name
        if path.is_relative_to(site / "reference"):
            assert page.evaluate("document.documentElement.scrollHeight") <= TALLEST, path
        page.set_viewport_size({"width": 390, "height": 850})
        assert page.evaluate(STICKING_OUT) == [], path.name
        assert page.evaluate("document.documentElement.scrollWidth") == 390, path
        assert page.evaluate("document.images.length === [...document.images].filter(i => i.naturalWidth).length"), (
            path.name
        )
    context.close()
    assert said == []


@pytest.mark.slow
def test_the_search_finds_an_equation_in_a_folder_and_in_no_network(site: Path, chromium: Any) -> None:
    page = chromium.new_page()
    page.goto((site / "index.html").as_uri())
    page.click("[data-md-component=search-query]")
    page.get_by_text("Type to start searching").wait_for(timeout=20_000)
    page.keyboard.type("8.15", delay=50)
    first = page.locator(".md-search-result__link").first
    first.wait_for(timeout=20_000)
    assert first.get_attribute("href").partition("?")[0].endswith("construction/equations.html")
    page.fill("[data-md-component=search-query]", "")
    page.keyboard.type("check --set", delay=50)  # a hyphen before a word does not exclude it
    page.locator(".md-search-result__link[href*='/cli/verify/check.html']").first.wait_for(timeout=20_000)
    page.close()


@pytest.mark.slow
def test_the_stars_of_a_docstring_are_stars(site: Path) -> None:
    html = (site / "reference/construction.html").read_text(encoding="utf-8")
    assert "<p>With f = [h_{j*-1} = h], w = [b_{j*-1} ≠ ⊥]" in html


@pytest.mark.slow
def test_a_here_document_does_not_look_like_output(site: Path) -> None:
    html = (site / "how-to/machines.html").read_text(encoding="utf-8")
    assert '<span class="gp">&gt; </span><span>name: zeros-ones</span>' in html
    assert '<span class="go">&gt; ' not in html


# ── what axe-core, a checker of accessibility, says of the site: nothing serious, in light and in dark
LOOKED_AT = ("index", "lecture/exercises", "lecture/slides", "notebooks/exercises")


@pytest.mark.slow
@pytest.mark.skipif(without_axe() is not None, reason=str(without_axe()))
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_serious_is_found(site: Path, chromium: Any, scheme: str) -> None:
    context = chromium.new_context(color_scheme=scheme, viewport={"width": 1280, "height": 850})
    page = context.new_page()
    for name in LOOKED_AT if scheme == "light" else LOOKED_AT[:2]:
        page.goto((site / f"{name}.html").as_uri())
        assert violations(page, impacts=["serious", "critical"]) == [], name
    context.close()


# ── states of the explorer's page that exercises link to: weights that exist, and a check that fails
STATE_LINK = re.compile(r'href="live/([\w-]+)\.html#((?:set=[^"&]+(?:&amp;)?)+)"')


@pytest.mark.slow
def test_each_broken_state_in_the_exercises_is_broken(site: Path, tmp_path: Path) -> None:
    html = (site / "lecture/exercises.html").read_text(encoding="utf-8")
    states = STATE_LINK.findall(html)
    assert len(states) >= 4
    given = {"chapter": "chapter --input 11", "full-adder": "full-adder --input 110"}
    for name, changes in states:
        assert (site / f"lecture/live/{name}.html").is_file()
        options = [f"--set {shlex.quote(unquote(each.removeprefix('set=')))}" for each in unescape(changes).split("&")]
        assert "FAILED" in run(f"tm2tfr check {given[name]} {' '.join(options)}", tmp_path)
