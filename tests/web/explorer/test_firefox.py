"""The same pages in Firefox: they open, step, and run other inputs with the numbers that Python records."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import tm2tfr
from tests.sources.turing.formats import test_jflap as jflap
from tests.web.explorer import firefox
from tests.web.explorer.firefox import ENTER, Firefox
from tests.web.explorer.reading import SHOWN, comparable, recorded
from tm2tfr.web.explorer.document import Explorer

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(firefox.missing() is not None, reason=str(firefox.missing())),
]
RIGHT, HOME = "\ue014", "\ue011"
POSITION = "return Number(document.querySelector('.rows .row.now').dataset.row)"

DROPPED = """
  const dataTransfer = new DataTransfer();
  dataTransfer.items.add(new File([TEXT], "dropped.jff"));
  const drop = new DragEvent("drop", { dataTransfer, bubbles: true, cancelable: true });
  document.querySelector("#machine").dispatchEvent(drop);
"""


@pytest.fixture(scope="module")
def window(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Firefox]:
    with firefox.firefox(tmp_path_factory.mktemp("firefox")) as found:
        yield found


def run(window: Firefox, page: Explorer, word: str, path: Path) -> str:
    """Open a page, run a word in it, and return what it says then."""
    page.save(path)
    window.open(path)
    window.write("#live-input", word + ENTER)
    window.until("return document.querySelector('.said-live').textContent.startsWith('Run in this page')")
    return window.text(".said-live")


def test_the_chapters_page_opens_and_steps(window: Firefox, chapter: Explorer, tmp_path: Path) -> None:
    chapter.save(tmp_path / "run.html")
    window.open(tmp_path / "run.html")
    assert window.text("h1") == "chapter"
    assert window.text(".verdict") == "✓ accepts after T = 6"
    assert window.value(POSITION) == 3
    for key, there in ((RIGHT, 4), (RIGHT, 5), (HOME, 0)):
        window.press(key)
        window.until(f"{POSITION} === {there}")
    assert window.text(".story") == "The prompt: 1 is in cell 0 of the tape."
    window.open(tmp_path / "run.html", "#i=6&layer=4")
    assert window.value(POSITION) == 6
    assert window.value("return document.querySelectorAll('.row [data-mark=right]').length") == 63


@pytest.mark.parametrize("subject", ["machine", "circuit", "universal"])
def test_another_input_has_the_numbers_that_python_records(window: Firefox, subject: str, tmp_path: Path) -> None:
    decoder, first, word = {
        "machine": (tm2tfr.compile("palindromes"), "", "abba"),
        "circuit": (tm2tfr.compile("full-adder"), "000", "110"),
        "universal": (tm2tfr.compile("chapter", universal=(12, 6)), "1", "11"),
    }[subject]
    said = run(window, tm2tfr.explore(decoder, first), word, tmp_path / "run.html")
    assert said.endswith("all agree.")
    assert comparable(window.value(f"return ({SHOWN})()")) == recorded(tm2tfr.explore(decoder, word).html)


def test_what_is_wrong_is_found_there_too(window: Firefox, tmp_path: Path) -> None:
    decoder = tm2tfr.compile("left-edge", left_boundary="chapter")
    said = run(window, tm2tfr.explore(decoder, ""), "11", tmp_path / "run.html")
    assert said.endswith("42 cells compared with the simulator, and it differs at position 5.")
    assert window.text("main .notice").startswith("✗ This run goes wrong at position 5: h should be 1 but is 0.")


def test_the_page_in_which_any_machine_runs(window: Firefox, tmp_path: Path) -> None:
    subject = tm2tfr.Subject.of("palindromes", options={"universal": (8, 4)})
    tm2tfr.explore(subject, "abba", standalone=True).save(tmp_path / "any.html")
    window.open(tmp_path / "any.html")
    assert window.text(".said-live").endswith("399 cells compared with the simulator, all agree.")
    window.write("#machine", "1RB1LB_1LA1RZ")
    window.until("return document.querySelector('#live-input').value === ''")
    window.value("document.querySelector('.workbench .go').click()")
    window.until("return location.hash.startsWith('#source=')")
    assert window.text(".verdict") == "✓ halts after T = 7"
    address = str(window.value("return location.hash"))
    window.open(tmp_path / "any.html", address)
    assert window.value("return document.querySelector('#machine').value") == "1RB1LB_1LA1RZ"
    assert window.text(".verdict") == "✓ halts after T = 7"
    window.write("#machine", "1RB1LB_1LA1R")
    window.until("return document.querySelector('.problems').innerText.includes('the document is text')")
    parts = jflap.ENDS, jflap.step(0, 1, "1", "1", "S")
    for text, first in ((jflap.document(*parts), "name: dropped"), (jflap.document("<b>", *parts), jflap.HEAD[:14])):
        window.value(DROPPED.replace("TEXT", json.dumps(text)))
        window.until(f"return document.querySelector('#machine').value.startsWith({json.dumps(first)})")
    window.until("return document.querySelector('.problems').innerText.includes('this is not XML')")
    assert window.text(".problems button") == "line 9, column 4"
