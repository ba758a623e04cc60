"""The copy button copies the commands of a block: no prompts, no outputs, here-documents whole."""

from __future__ import annotations

import doctest
import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from tests.readme import BLOCK, ROOT, shown

pytestmark = pytest.mark.slow

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


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_a_block_of_examples_holds_its_statements_for_the_button(site: Path, page: Path) -> None:
    text = (ROOT / "docs" / page.with_suffix(".md")).read_text(encoding="utf-8")
    html = (site / page.with_suffix(".html")).read_text(encoding="utf-8")
    examples = [doctest.DocTestParser().get_examples(block) for block in PYTHON.findall(text)]
    statements = ["".join(each.source for each in block).rstrip("\n") for block in examples if block]
    copied = [unescape(each) for each in STATEMENTS.findall(html)]
    if "\n::: " in text:  # examples of docstrings, too
        assert copied or page.name != "api"
        assert not any(line.startswith((">>>", "...")) for each in copied for line in each.splitlines())
    else:
        assert copied == statements


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
