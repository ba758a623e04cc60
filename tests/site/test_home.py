"""The home of the site: a run that plays by itself, a sentence, three lines, four doors; and pictures that scripts make."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.readme import ROOT
from tests.site import pictures
from tests.web.explorer.browser import violations, without_axe

pytestmark = pytest.mark.slow

SIZES = {"desk": {"width": 1400, "height": 900}, "phone": {"width": 390, "height": 844}}
NOW = "#run .place"
FAST = """
  const wait = window.setTimeout;
  window.setTimeout = (act, time, ...rest) => wait(act, time / 20, ...rest);
  window.places = [];
  new MutationObserver(() => {
    const place = document.querySelector("#run .place")?.textContent;
    if (place && place !== places.at(-1)) places.push(place);
  }).observe(document, { childList: true, subtree: true });
"""
"""Lets a page play twenty times as fast, and keeps the places of the run that it shows."""


@contextmanager
def home(chromium: Any, site: Path, *, fast: bool = False, **options: Any) -> Iterator[Any]:
    """Yield the home, opened from its folder; it has to complain of nothing. `fast`: it plays twenty times as fast."""
    context = chromium.new_context(**{"viewport": SIZES["desk"], **options})
    page = context.new_page()
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: None if request.url.startswith("file:") else said.append(request.url))
    if fast:
        page.add_init_script(FAST)
    page.goto((site / "index.html").as_uri())
    page.wait_for_selector("#run[data-ready]")
    page.wait_for_load_state("load")
    yield page
    assert said == []
    context.close()


def test_the_run_plays_by_itself_to_its_end_and_begins_again(site: Path, chromium: Any) -> None:
    with home(chromium, site, fast=True) as page:
        page.wait_for_function(
            "places.length > 1 && places.at(-1) < places.at(-2)", timeout=60_000
        )  # as texts, they are in order
        places, due = page.evaluate("places"), [f"position {i}, layer {n}" for i in range(2, 9) for n in range(1, 7)]
        stages = [due.index(place) for place in places]  # a frame may leave one out
        again = next(n for n, (before, after) in enumerate(pairwise(stages), start=1) if after < before)
        assert stages[:again] == sorted(set(stages[:again]))
        assert (stages[0], stages[again - 1]) == (0, len(due) - 1)


def test_nothing_moves_where_less_motion_is_wanted(site: Path, chromium: Any) -> None:
    with home(chromium, site, fast=True, reduced_motion="reduce") as page:
        assert page.locator(NOW).inner_text() == "position 6, layer 4"
        page.wait_for_timeout(300)
        assert page.locator(NOW).inner_text() == "position 6, layer 4"
        assert page.locator("#run .layer.chosen .layer-name").inner_text().split() == ["4", "read", "tape"]
        page.get_by_role("button", name="Play").click()
        page.locator(NOW, has_text="position 7").wait_for()


def test_it_can_be_stopped_and_stepped_through(site: Path, chromium: Any) -> None:
    with home(chromium, site) as page:
        page.get_by_role("button", name="Pause").click()
        page.get_by_label("Position and layer").fill("0")
        page.get_by_role("button", name="Step").click()
        page.locator(NOW, has_text="position 2, layer 2").wait_for()
        page.locator("#run .layer-name", has_text="symbol").click()
        page.locator(NOW, has_text="position 2, layer 5").wait_for()
        page.locator("#run .chip", has_text="1").first.click()
        page.locator(NOW, has_text="position 0").wait_for()
        page.get_by_role("button", name="Play").wait_for()
        page.get_by_role("link", name="Open in the explorer").click()
        page.wait_for_selector("html[data-ready=true]")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_it_fits_and_has_the_explorer_s_colours(site: Path, chromium: Any, size: str, scheme: str) -> None:
    with home(chromium, site, viewport=SIZES[size], color_scheme=scheme, reduced_motion="reduce") as page:
        assert page.evaluate("document.documentElement.scrollWidth") == SIZES[size]["width"]
        colours = "[document.body, document.querySelector('.stage')].map(part => getComputedStyle(part).backgroundColor)"
        dark = ["rgb(18, 21, 27)", "rgb(27, 31, 40)"]
        assert page.evaluate(colours) == (dark if scheme == "dark" else ["rgb(247, 246, 242)", "rgb(255, 255, 255)"])


@pytest.mark.skipif(without_axe() is not None, reason=str(without_axe()))
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_serious_is_found_on_a_phone(site: Path, chromium: Any, scheme: str) -> None:
    """On a desk, `test_built` looks for it."""
    page = chromium.new_page(viewport=SIZES["phone"], color_scheme=scheme, reduced_motion="reduce")
    page.goto((site / "index.html").as_uri())
    page.wait_for_selector("#run[data-ready]")
    assert violations(page, impacts=["serious", "critical"]) == []
    page.close()


def test_it_keeps_its_height_while_it_plays(site: Path, chromium: Any) -> None:
    """Otherwise what is read below it would move."""
    for size in SIZES.values():
        with home(chromium, site, viewport=size, reduced_motion="reduce") as page:
            slider, heights = page.get_by_label("Position and layer"), set()
            for stage in range(6, int(slider.get_attribute("max")) + 1):  # position 2 has fewer words
                slider.fill(str(stage))
                page.locator(NOW, has_text=f"position {2 + stage // 6}, layer {1 + stage % 6}").wait_for(state="attached")
                heights.add(page.evaluate("document.querySelector('#run').offsetHeight"))
            assert len(heights) == 1


def test_it_has_three_lines_four_doors_and_one_sentence(site: Path) -> None:
    html = (site / "index.html").read_text(encoding="utf-8")
    (sentence,) = re.findall(r"<h1>(.*?)</h1>", html)
    assert sentence.count(".") == 1
    assert re.findall(r"<h2[^>]*>(\w+)<a", html[html.index('class="doors"') :]) == ["Teach", "Learn", "Research", "Build"]
    text = (ROOT / "docs/index.md").read_text(encoding="utf-8")
    (commands,) = re.findall(r"^```sh\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert len(commands.splitlines()) == 3


# ── pictures
def size_of(path: Path) -> tuple[int, int]:
    """Return width and height of a PNG file, in pixels."""
    data = path.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", data[16:24])
    return width, height


def test_favicon_and_social_card_are_made_from_the_logo(chromium: Any, tmp_path: Path) -> None:
    pictures.of_logo(chromium, tmp_path)
    for name, size in (("favicon.png", (64, 64)), ("card.png", (1200, 630))):
        assert size_of(tmp_path / name) == size_of(pictures.ASSETS / name) == size
    assert sorted(path.name for path in tmp_path.iterdir()) == ["card.png", "favicon.png"]


def test_the_tutorial_s_pictures_can_be_taken_anew(chromium: Any, tmp_path: Path) -> None:
    pictures.of_tutorial(chromium, tmp_path)
    text = (ROOT / "docs/tutorial.md").read_text(encoding="utf-8")
    assert re.findall(r"\(figures/(tutorial-\w+)\.png\)", text) == list(pictures.PICTURES)
    for name in pictures.PICTURES:  # fonts differ from machine to machine: no bytes are compared
        made, kept = size_of(tmp_path / f"{name}.png"), size_of(pictures.FIGURES / f"{name}.png")
        assert abs(made[0] - kept[0]) < 40
        assert (tmp_path / f"{name}.png").stat().st_size > 30_000
