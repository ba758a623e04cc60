"""Another input of a labeller, run in the page: what it shows then is what the page of that input shows, made in Python."""

from __future__ import annotations

import re
from typing import Any

import pytest

import tm2tfr
from tests.engines.labellers import labeller
from tests.engines.looped import counting
from tests.web.explorer import browser
from tests.web.explorer.browser import Open
from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.weights import matrices, replaced

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(browser.missing() is not None, reason=str(browser.missing())),
]
NOTHING = "nothing was compared: what says what is right is not in this page"


def run(page: Any, word: str) -> str:
    """Run a word in the page, and return what it says."""
    page.get_by_label("another input").fill(word)
    page.get_by_role("button", name="Run", exact=True).click()
    return str(page.locator(".said").text_content())


def shown(page: Any) -> list[str]:
    """Return the tables of a page as the browser has them, without spaces between elements."""
    parts = [page.locator(f"#{part}").inner_html() for part in ("answers", "heads", "stages")]
    parts[0] = re.sub(r"</table>.*", "</table>", parts[0], flags=re.DOTALL)
    return [re.sub(r">\s+<", "><", part).strip() for part in parts]


def sabotaged() -> Any:
    """A labeller with values that are neither labels nor integers."""
    path = "layers.1.heads.1.value"
    value = matrices(labeller())[path]
    return replaced(labeller(), {path: Matrix(value.shape, value.rows, value.columns, value.values * 1.37)})


@pytest.mark.similar
@pytest.mark.parametrize(
    ("subject", "first", "word"),
    [
        pytest.param(lambda: "histogram", "§aab", "§abcabc", id="beginning of the sequence"),
        pytest.param(lambda: "running-maximum", "0213", "[3, 0, 1]", id="numbers"),
        pytest.param(lambda: "starts-110", "0110", "110", id="BOS and EOS"),
        pytest.param(lambda: "flip-flops", '["w1"]', '["w1", "r1", "r0"]', id="long tokens"),
        pytest.param(lambda: "a-n-b-n", "ab", "a" * 25 + "b" * 25, id="more rows than are shown"),
        pytest.param(lambda: "square-or-power", "a", "ab" * 5, id="numbers as answers"),
        pytest.param(labeller, "ab", "cabba", id="weights alone"),
        pytest.param(sabotaged, "ab", "cabba", id="sabotaged"),
        pytest.param(lambda: "looped-parity", "0110", "11010", id="a loop"),
        pytest.param(lambda: "looped-addition", "1+2", "9+91", id="two loops"),
        pytest.param(counting, "12", "2531", id="a loop by hand"),
        pytest.param(lambda: counting(times=2, until=False), "12", "2531", id="a fixed number of passes"),
    ],
)
def test_the_page_shows_what_python_shows(opened: Open, subject: Any, first: str, word: str) -> None:
    given = subject()
    page, due = opened(tm2tfr.explore(given, first)), opened(tm2tfr.explore(given, word))
    before, title = shown(page), page.title()
    assert before != shown(due)
    assert run(page, word).endswith(" s; nothing was compared.")
    assert shown(page) == shown(due)
    assert NOTHING in page.locator("#answers").inner_text()
    assert page.title() == page.locator("h1").inner_text() == f"{title.split(' on ')[0]} on {word}: nothing was compared"
    assert not page.locator("#drawings").is_visible()
    page.get_by_role("button", name="the recorded run").click()
    assert (shown(page), page.title()) == (before, title)


@pytest.mark.parametrize(
    ("word", "words"),
    [
        ("", "length: the input is empty: give at least one token"),
        ("ax", "length: token 1 of the input, 'x', is not in the alphabet: use a, b"),
        ("a" * 11, "the prompt has 11 tokens, and these weights have 10 positions"),
    ],
)
def test_an_input_that_cannot_be_run_is_refused(opened: Open, word: str, words: str) -> None:
    page = opened(tm2tfr.explore("length", "ab"))
    before = shown(page)
    assert run(page, word).startswith(words)
    assert shown(page) == before


def test_more_positions_than_a_page_has_are_refused(opened: Open) -> None:
    page = opened(tm2tfr.explore("a-n-b-n", "ab"))
    what = "a-n-b-n: the page shows every pair of positions, and 201 positions are too many: use at most 200"
    assert run(page, "ab" * 100) == what


def test_the_box_says_which_tokens_it_takes_and_fits_a_phone(opened: Open) -> None:
    page = opened(tm2tfr.explore("flip-flops", '["w1"]'))
    assert page.locator("#hint").inner_text() == 'tokens w0 w1 r0 r1; as a JSON list, such as ["w0","w1"]'
    page = opened(tm2tfr.explore("length", "ab"))
    assert page.locator("#hint").inner_text() == "tokens a b; one character each"
    page.set_viewport_size({"width": 390, "height": 800})
    box = page.get_by_label("another input").bounding_box()
    assert box["x"] + box["width"] <= 390 - 16
