"""Breaking a weight on screen: clicked or written, run, blamed, undone, saved, and kept in the address."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import tm2tfr
from tests.web.explorer import browser
from tests.web.explorer.browser import Open, follow, settled, violations, without_axe
from tm2tfr.web.explorer.document import Explorer

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(browser.missing() is not None, reason=str(browser.missing())),
]
CHANGE = "layers.4.heads.0.query[1, h]"


@pytest.fixture(scope="module")
def palindromes() -> Explorer:
    return tm2tfr.explore("palindromes", "abba")


def opened_weights(page: Any) -> Any:
    """Open the weights of layer 4, and return its card."""
    card = page.locator("[data-layer='4']")
    card.get_by_role("button", name="the weights of layer 4").click()
    return card


def test_a_number_is_clicked_changed_and_run(opened: Open, palindromes: Explorer) -> None:
    page = opened(palindromes)
    card = opened_weights(page)
    card.get_by_role("button", name="2·h", exact=True).click()
    field = page.locator("#weight-4")
    assert field.input_value() == "heads.0.query[0, h] = 2"
    page.keyboard.type("-2")  # the value is selected
    page.keyboard.press("Enter")
    assert [card.locator("del").inner_text(), card.locator("ins").inner_text()] == ["2·h", "-2·h"]
    assert page.locator(".changes-panel").inner_text().splitlines()[1] == "layers.4.heads.0.query[0, h] 2 → -2 undo"
    assert page.locator(".notice").count() == 0, "nothing is run yet"
    page.locator("#weight-4-run").click()
    page.locator(".notice").wait_for()
    settled(page)
    broken = tm2tfr.with_weight("palindromes", "layers.4.heads.0.query", 0, "h", -2)
    found = tm2tfr.check(broken, "abba").divergence
    assert found is not None
    causes = page.locator(".notice .cause").all_inner_texts()
    assert "\n".join(causes).removeprefix("Cause: ") == str(found.cause)
    assert f"goes wrong at position {found.position}" in page.locator(".notice").inner_text()
    assert page.locator(".layer.blamed").get_attribute("data-layer") == "4"
    assert page.url.endswith("set=layers.4.heads.0.query[0,h]=-2")
    page.get_by_role("button", name="Undo all").click()
    settled(page)
    assert page.locator(".notice, .changes-panel:visible, del").count() == 0
    assert "set=" not in page.url


def test_the_button_suggests_a_weight_that_breaks_the_run(opened: Open, palindromes: Explorer) -> None:
    page = opened(palindromes)
    page.get_by_role("button", name="break a weight …").click()
    field = page.locator("#weight-4:focus")
    assert field.get_attribute("placeholder") == "heads.0.query[0, h] = -2"
    field.fill("heads.0.query[0, h] = -2")
    page.keyboard.press("Enter")
    page.locator("#weight-4-run").click()
    page.locator(".notice").wait_for()


def test_a_page_of_two_runs_shows_the_weights_of_each(opened: Open) -> None:
    page = opened(tm2tfr.explore("left-edge", "11", compare="chapter"))
    for n, boundary in enumerate(("repaired", "chapter")):
        page.get_by_label("the weights of layer 6").nth(n).click()
        shown = page.locator("[data-layer='6'] pre").nth(n).inner_text()
        assert shown.strip() == tm2tfr.listing(tm2tfr.compile("left-edge", left_boundary=boundary), "6").strip()
    assert page.get_by_role("button", name="break a weight …").count() == 0


def test_the_address_opens_a_broken_run(opened: Open, palindromes: Explorer) -> None:
    page = opened(palindromes, "#set=layers.4.heads.0.query[h,1]=-1&set=unembedding_bias[ACC]=0.5")
    page.locator(".notice").wait_for()
    assert page.locator(".changes-panel li").all_inner_texts() == [
        f"{CHANGE} 0 → -1 undo",
        "unembedding_bias[ACC, 0] 0 → 1/2 undo",
    ]
    page.get_by_role("button", name=f"undo the change of {CHANGE}").click()
    assert page.locator(".changes-panel li").count() == 1


@pytest.mark.parametrize(("name", "word", "rows", "after"), [("chapter", "11", 57, 50), ("busy-beaver-4", "", 109, 102)])
def test_a_broken_run_that_never_halts_is_stopped(opened: Open, name: str, word: str, rows: int, after: int) -> None:
    """50 positions after the first difference, or where the simulator's run ends."""
    page = opened(tm2tfr.explore(name, word), "#set=layers.4.heads.0.query[h,0]=-2")
    page.locator(".notice", has_text="goes wrong at position 6").wait_for()
    stopped = f"stopped {after} positions after the first difference"
    assert page.locator(".said-changes").inner_text().endswith(f"and it differs at position 6; {stopped}.")
    assert page.locator(".badge").inner_text() == f"✗ no verdict: {stopped}"
    assert page.evaluate("window.tm2tfrShows.data.runs[0].count") == rows


def test_the_run_of_an_undone_change_is_not_taken_for_that_of_the_weights(opened: Open, palindromes: Explorer) -> None:
    page = opened(palindromes, "#set=layers.4.heads.0.query[h,1]=-1")
    page.locator(".notice").wait_for()
    page.get_by_role("button", name=f"undo the change of {CHANGE}").click()
    assert page.locator(".notice").count() == 1
    panel = page.locator(".changes-panel")
    assert "Not run yet: the page shows the run before the change." in panel.inner_text()
    page.locator("#changes-run").click()
    settled(page)
    assert page.locator(".notice, .changes-panel:visible").count() == 0


def test_a_change_that_is_undone_while_it_runs_is_not_shown(opened: Open) -> None:
    page = opened(tm2tfr.explore("1RB1LC_1RC1RB_1RD0LE_1LA1LD_1RZ0LA", "", max_steps=20))
    page.locator("#live-steps").fill("10000")
    follow(page, "#set=layers.4.heads.0.query[0,h]=7")
    page.locator(".changes-panel", has_text="Running").wait_for()
    page.get_by_role("button", name="Undo all").click()
    page.locator(".live", has_text="This is the recorded run.").wait_for()
    page.get_by_role("button", name="Run", exact=True).first.click()
    page.locator(".said-live", has_text="all agree").wait_for()
    assert page.locator(".notice, .changes-panel:visible").count() == 0
    assert page.locator(".rows .row.now").count() == 1


def test_what_is_no_weight_is_refused_beside_the_field(opened: Open, palindromes: Explorer) -> None:
    page = opened(palindromes)
    opened_weights(page)
    for text, said in {
        "query[hh, 1] = 1": "no direction is called 'hh' (did you mean 'h'?)",
        "query[h, 3] = 1": "there is no component 3: use a number from 0 to 2",
        "quary[h, 1] = 1": "no weight matrix is called 'layers.4.quary'",
        "q@5 = q3": "which is 'tm2tfr intervene --set'",
        "query[h, 1] = x": "'x' is not a finite number",
    }.items():
        page.locator("#weight-4").fill(text)
        page.keyboard.press("Enter")
        assert said in page.locator("#weight-4-error").inner_text()
        assert page.locator(".changes-panel").is_hidden()
    assert page.locator("#weight-4").get_attribute("aria-invalid") == "true"


def test_weights_are_saved_for_the_check(opened: Open, palindromes: Explorer, tmp_path: Path) -> None:
    page = opened(palindromes, "#set=layers.4.heads.0.query[h,1]=-1")
    page.locator(".notice").wait_for()
    with page.expect_download() as download:
        page.get_by_role("button", name="Save weights").click()
    path = tmp_path / download.value.suggested_filename
    download.value.save_as(path)
    assert path.name == "palindromes-changed.safetensors"
    assert tm2tfr.load_weights(path) == tm2tfr.with_weight("palindromes", "layers.4.heads.0.query", 1, "h", -1)


def test_numbers_are_reached_by_keys(opened: Open, palindromes: Explorer) -> None:
    page = opened(palindromes)
    card = opened_weights(page)
    card.locator(".term").first.focus()
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.dataset.place") == "heads.0.query[1, 1]"
    page.keyboard.press("Enter")
    assert page.locator("#weight-4").input_value() == "heads.0.query[1, 1] = -1"


@pytest.mark.skipif(without_axe() is not None, reason=str(without_axe()))
@pytest.mark.parametrize("width", [390, 1400])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["palindromes", "full-adder", "since-b"])
def test_open_weights_are_accessible_and_stay_within_their_card(opened: Open, name: str, width: int, scheme: str) -> None:
    path = "layers.1.feed_forward.output_bias[0]=1"
    page = opened(tm2tfr.explore(name), f"#set={path}", viewport={"width": width, "height": 900}, color_scheme=scheme)
    page.locator(".changes-panel .said-changes", has_text="Run in this page").wait_for()
    for button in page.locator(".layer [aria-label^='the weights of']").all():
        button.click()
    settled(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert violations(page, impacts=["serious", "critical"]) == []
