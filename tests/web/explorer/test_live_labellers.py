"""Another input of a run that labels, run in the page: what it shows then is what Python records of that input."""

from __future__ import annotations

from typing import Any

import pytest

import tm2tfr
from tests.engines.labellers import labeller
from tests.engines.looped import counting
from tests.web.explorer import browser
from tests.web.explorer.browser import Open
from tests.web.explorer.reading import recorded, rerun
from tm2tfr.base.errors import Tm2tfrError
from tm2tfr.transformer.matrix import Matrix
from tm2tfr.transformer.weights import matrices, replaced

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(browser.missing() is not None, reason=str(browser.missing())),
]


def run(page: Any, word: str) -> str:
    """Run a word in the page, and return what it says."""
    page.get_by_label("another input").fill(word)
    page.keyboard.press("Enter")
    done, refused = page.locator(".said-live", has_text="Run in this page"), page.locator(".live-error:not(:empty)")
    done.or_(refused).wait_for()
    return str(page.locator(".said-live").text_content() or refused.text_content())


def values(runs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return runs with 0 for a score of -0, in whose sign the sums of the two engines may differ."""
    for head in (head for each in runs for layer in each["layers"] for head in layer["heads"] if head["seen"]):
        for name in ("score", "runner_score"):
            head["seen"][name] = [0.0 if score == "-0" else score for score in head["seen"][name]]
    return runs


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
        pytest.param(lambda: "a-n-b-n", "ab", "a" * 25 + "b" * 25, id="many positions"),
        pytest.param(lambda: "square-or-power", "a", "ab" * 5, id="numbers as answers"),
        pytest.param(lambda: "mod-3", "11", "110", id="an automaton"),
        pytest.param(labeller, "ab", "cabba", id="weights alone"),
        pytest.param(sabotaged, "ab", "cabba", id="sabotaged"),
        pytest.param(lambda: "looped-parity", "0110", "11010", id="a loop"),
        pytest.param(lambda: "looped-addition", "1+2", "9+91", id="two loops"),
        pytest.param(counting, "12", "2531", id="a loop by hand"),
        pytest.param(lambda: counting(times=2, until=False), "12", "2531", id="a fixed number of passes"),
    ],
)
def test_the_page_shows_what_python_records(opened: Open, subject: Any, first: str, word: str) -> None:
    given = subject()
    explorer = tm2tfr.explore(given, first)
    page, due = opened(explorer), recorded(tm2tfr.explore(given, word).html)
    assert values(rerun(page)) == values(recorded(explorer.html)) != values(due)
    said = run(page, word)
    assert said.endswith(", all agree." if isinstance(given, str) else "there is no machine to compare with.")
    assert values(rerun(page)) == values(due)
    assert page.locator(".bar .input b").inner_text() == word
    assert page.locator(".chip").count() >= 1
    assert page.locator(".layer.chosen").count() == 1
    assert (page.locator(".graph-panel, .formula-panel, .flow-panel").count() > 0) == isinstance(given, str)
    page.get_by_role("button", name="the recorded run").click()
    assert values(rerun(page)) == values(recorded(explorer.html))


@pytest.mark.parametrize(
    ("name", "first", "word"),
    [
        ("length", "ab", ""),
        ("length", "ab", "ax"),
        ("length", "ab", "a" * 11),
        ("since-b", "ab", "ax"),
        ("since-b", "ab", ""),
        ("mod-3", "11", ""),
        ("flip-flops", '["w1"]', '["w1", "x9"]'),
        ("a-n-b-n", "ab", "ab" * 100),
    ],
)
def test_an_input_that_cannot_be_run_is_refused_in_the_words_of_the_command_line(
    opened: Open, name: str, first: str, word: str
) -> None:
    page = opened(tm2tfr.explore(name, first))
    before = rerun(page)
    with pytest.raises(Tm2tfrError) as refused:
        tm2tfr.explore(name, word)
    assert run(page, word) == refused.value.typed
    assert rerun(page) == before
    assert page.get_by_label("another input").get_attribute("aria-invalid") == "true"


def test_the_box_says_which_tokens_it_takes_and_fits_a_phone(opened: Open) -> None:
    page = opened(tm2tfr.explore("flip-flops", '["w1"]'))
    assert page.locator("#live-hint").inner_text() == 'tokens w0 w1 r0 r1; as a JSON list, such as ["w0","w1"]'
    page = opened(tm2tfr.explore("length", "ab"))
    assert page.locator("#live-hint").inner_text() == "tokens a b; one character each"
    assert page.locator("#live-steps").count() == 0
    page.set_viewport_size({"width": 390, "height": 800})
    box = page.get_by_label("another input").bounding_box()
    assert box["x"] + box["width"] <= 390 - 13
