"""The copy button copies the commands of a block: no prompts, no outputs, here-documents whole."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from tests.readme import BLOCK, ROOT, shown

pytestmark = pytest.mark.slow

COPIED = re.compile(r'<div class="language-console highlight" data-copy="([^"]*)">')
PAGES = [path.relative_to(ROOT / "docs").with_suffix("") for path in sorted(ROOT.glob("docs/**/*.md"))]
PERMISSIONS = ["clipboard-read", "clipboard-write"]
CHANGE = """
import tm2tfr
from tm2tfr.transformer.weights import matrices, replaced
def broken(machine):
    decoder = tm2tfr.compile(machine)
"""


def typed(block: str) -> str:
    """Return what a reader types of a console block, as the tests run it."""
    return "\n".join(re.sub("^> ", "", command, flags=re.MULTILINE) for command, _ in shown(block))


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_a_console_block_holds_its_commands_for_the_button(site: Path, page: Path) -> None:
    text = (ROOT / "docs" / page.with_suffix(".md")).read_text(encoding="utf-8")
    html = (site / page.with_suffix(".html")).read_text(encoding="utf-8")
    assert [unescape(copied) for copied in COPIED.findall(html)] == [typed(block) for block in BLOCK.findall(text)]
    assert html.count('<div class="language-console highlight">') == 0


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
    assert copied(page, "div.language-python", 0).startswith(CHANGE.lstrip())
    context.close()


def copied(page: Any, blocks: str, number: int) -> str:
    """Press the button of a block and return what is in the clipboard then."""
    block = page.locator(blocks).nth(number)
    block.scroll_into_view_if_needed()
    block.hover()
    block.locator("[data-clipboard-target]").click()
    return str(page.evaluate("navigator.clipboard.readText()"))
