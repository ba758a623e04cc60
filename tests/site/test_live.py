"""Explorer's pages in the site's: each is what its command writes now, in a frame that works, with a link to it."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from tests.readme import run

pytestmark = pytest.mark.slow

FRAME = re.compile(r'<iframe class="live" src="([^"#]*)[^"]*" title="([^"]+)" loading="lazy"></iframe>')
BLOCK = re.compile(r'<div class="language-sh highlight">(.*?)</div>', re.DOTALL)


def test_each_frame_has_the_page_of_the_command_above_it(site: Path, tmp_path: Path) -> None:
    html = (site / "lecture/live.html").read_text(encoding="utf-8")
    frames, commands = (
        FRAME.findall(html),
        [unescape(re.sub("<[^>]*>", "", block)).strip() for block in BLOCK.findall(html)],
    )
    assert len(frames) == len(commands) >= 3
    for (place, _), command in zip(frames, commands, strict=True):
        assert f'<a href="{place}">' in html
        said = run(f"{command.removesuffix(' --open')} -o page.html", tmp_path)
        assert said.endswith("wrote page.html\n"), said
        assert (site / "lecture" / place).read_bytes() == (tmp_path / "page.html").read_bytes()


OTHERS = ["1111", "111", "7+8", "aba"]
"""Another input for each frame."""


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
        inside.locator(".said-live", has_text="Run in this page").wait_for()
        assert inside.locator(".live-error").all_inner_texts() in ([], [""])
    page.close()
    assert said == []
