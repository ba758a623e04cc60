"""Weights that are changed in the page: the first wrong cell, its cause, the listing and the file are those of Python."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

import tm2tfr
from tests.web.explorer.browser import browser, missing
from tests.web.explorer.sabotage import KINDS, STEPS, page, sabotages
from tests.web.explorer.test_live_engine import SCRIPT
from tm2tfr.transformer.changes import with_changes
from tm2tfr.transformer.storage import dumps

pytestmark = pytest.mark.skipif(missing() is not None, reason=missing() or "")
QUICK = 2
"""The sabotages of each kind in the quick test."""
MANY = 300

CAUSES = """
async ({ data, columns, cases, steps }) => {
  const buffers = await explorer.unpacked(columns);
  const broken = explorer.Broken.of(data, buffers);
  const run = ({ text, word }) => {
    const change = explorer.readChange(broken.right, text);
    const weights = { decoder: broken.right, about: broken.about, broken: explorer.changed(broken.right, [change]) };
    const input = { word: explorer.wordOf(data.box, word), text: word, maxSteps: steps };
    const order = explorer.orderOf(data, buffers, [weights], input);
    try {
      const { divergence } = explorer.carriedOut(order, () => {}).runs[0];
      return divergence && ["position", "column", "expected", "found", "cause"].map((name) => divergence[name]);
    } catch (error) {
      return error.message;
    }
  };
  return cases.map(run);
}
"""
LISTING = """
async ({ data, columns }) => {
  const buffers = await explorer.unpacked(columns);
  const { right, about } = explorer.Broken.of(data, buffers);
  const layers = right.layers.map((_, n) => explorer.layerListing(right, about, n + 1));
  return [explorer.embeddingListing(right), ...layers, explorer.unembeddingListing(right)].map(explorer.textOf).join("\\n");
}
"""
FILE = """
async ({ data, columns, texts }) => {
  const broken = explorer.Broken.of(data, await explorer.unpacked(columns));
  for (const text of texts) broken.write(text, 0);
  const [bytes] = await broken.file();
  let found = "";
  for (const byte of bytes) found += String.fromCharCode(byte);
  return [btoa(found), broken.python, broken.command];
}
"""


@pytest.fixture(scope="module")
def blank() -> Iterator[Any]:
    """A page from a secure place with the explorer's script, which has nothing to show."""
    with browser() as chromium:
        window = chromium.new_page()
        window.route("**/*", lambda route: route.fulfill(body="<!doctype html>", content_type="text/html"))
        window.goto("http://localhost/")
        window.evaluate(
            "text => { const run = document.createElement('script'); run.textContent = text; document.head.append(run); }",
            SCRIPT.replace("typeof document", "typeof nothing"),
        )
        yield window


pages = cache(page)


def compared(blank: Any, kind: str, count: int, seed: int) -> list[str]:
    """The sabotages on which the page and the check disagree."""
    subject, data, columns = pages(kind)
    every = list(sabotages(kind, subject, count, seed))
    cases = [{"text": each.text, "word": each.word} for each in every]
    found = blank.evaluate(CAUSES, {"data": data, "columns": columns, "cases": cases, "steps": STEPS})
    differ = []
    for each, said in zip(every, found, strict=True):
        try:
            wanted: Any = each.said()
        except tm2tfr.Tm2tfrError as error:
            wanted = str(error)
        if said != (list(wanted) if isinstance(wanted, tuple) else wanted):
            differ.append(f"{kind}, {each.text} on {each.word!r}:\npage   {said}\nPython {wanted}")
    return differ


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_the_page_names_the_cause_that_the_check_names(blank: Any, kind: str) -> None:
    assert compared(blank, kind, QUICK, seed=0) == []


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_the_page_names_the_cause_that_the_check_names_300_times(blank: Any, kind: str) -> None:
    assert compared(blank, kind, MANY // len(KINDS), seed=1) == []


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_the_listing_is_that_of_the_library(blank: Any, kind: str) -> None:
    subject, data, columns = pages(kind)
    found = blank.evaluate(LISTING, {"data": data, "columns": columns})
    wanted = re.sub(r"; SHA-256.*|^loop .*\n.*\n\n", "", tm2tfr.listing(subject.decoder), flags=re.MULTILINE)
    assert found == wanted


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_saved_weights_are_the_file_that_python_writes(blank: Any, kind: str) -> None:
    subject, data, columns = pages(kind)
    texts = {each.text.split(" = ")[0]: each.text for each in sabotages(kind, subject, 6, seed=2)}.values()
    texts = [text for text in texts if with_changes(subject.decoder, [text]) != subject.decoder]
    changed = with_changes(subject.decoder, texts)
    encoded, python, command = blank.evaluate(FILE, {"data": data, "columns": columns, "texts": texts})
    assert base64.b64decode(encoded) == dumps(changed)
    names: dict[str, Any] = {"decoder": subject.decoder}
    exec("\n".join(line for line in python.splitlines() if not line.startswith("decoder = tm2tfr.compile")), names)
    assert names["decoder"] == changed
    assert command.count("--set") == len(texts)
