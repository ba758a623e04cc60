"""Another input, run in the page itself: what it records is what Python records, and it is checked in the same way."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

import tm2tfr
from tests.web.explorer import browser
from tests.web.explorer.browser import Open, position, settled
from tests.web.explorer.reading import embedded, recorded, rerun
from tm2tfr.base.errors import Tm2tfrError
from tm2tfr.transformer.weights import Decoder, matrices, replaced
from tm2tfr.web.explorer.document import Explorer

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(browser.missing() is not None, reason=str(browser.missing())),
]


def run(page: Any, word: str) -> str:
    """Run a word in the page, and return what it says then: how it went, or why it cannot be run."""
    page.get_by_label("another input").fill(word)
    page.keyboard.press("Enter")
    done, refused = page.locator(".said-live", has_text="Run in this page"), page.locator(".live-error:not(:empty)")
    done.or_(refused).wait_for()
    return str(page.locator(".said-live").text_content() or refused.text_content())


def sabotaged(decoder: Decoder, seed: int) -> Decoder:
    """A decoder with one weight changed, chosen at random."""
    made = random.Random(seed)
    path, matrix = made.choice([(path, matrix) for path, matrix in matrices(decoder).items() if matrix.nonzero])
    row, column, value = made.choice(list(matrix.entries()))
    return replaced(decoder, {path: matrix.with_entry(row, column, made.choice([-value, 1.37 * value, value + 0.5]))})


def alone(machine: str) -> Decoder:
    return replace(tm2tfr.compile(machine), provenance={})


# ── the same numbers ────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.similar
@pytest.mark.parametrize(
    ("subject", "first", "word", "options"),
    [
        pytest.param(lambda: "palindromes", "ab", "abba", {}, id="machine"),
        pytest.param(lambda: "binary-counter", "", "", {"max_steps": 60}, id="cut off"),
        pytest.param(lambda: "left-edge", "1", "11", {"compare": "chapter"}, id="two runs"),
        pytest.param(lambda: "full-adder", "101", "011", {}, id="circuit"),
        pytest.param(lambda: tm2tfr.compile("full-adder", variant="paper-hard"), "000", "110", {}, id="paper"),
        pytest.param(lambda: tm2tfr.compile("chapter", universal=(12, 6)), "1", "111", {}, id="universal"),
        pytest.param(lambda: alone("chapter"), "", "11", {}, id="weights alone"),
        pytest.param(lambda: sabotaged(tm2tfr.compile("chapter"), 7), "1", "11", {"max_steps": 20}, id="sabotaged"),
        pytest.param(lambda: sabotaged(tm2tfr.compile("palindromes"), 7), "", "aba", {"max_steps": 20}, id="sabotaged 2"),
        pytest.param(lambda: sabotaged(tm2tfr.compile("full-adder"), 3), "000", "111", {}, id="sabotaged circuit"),
    ],
)
def test_the_page_records_what_python_records(opened: Open, subject: Any, first: str, word: str, options: Any) -> None:
    given = subject()
    page = opened(tm2tfr.explore(given, first, **options))
    said = run(page, word)
    assert ("; chapter: " in said) == ("compare" in options)
    assert rerun(page) == recorded(tm2tfr.explore(given, word, **options).html)


def test_it_goes_back_to_the_recorded_run(opened: Open, chapter: Explorer) -> None:
    page = opened(chapter)
    before = rerun(page)
    assert run(page, "1").startswith("Run in this page: 4 positions in ")
    assert page.locator(".bar .input").inner_text() == "input 1"
    assert page.title() == "chapter on '1'"
    assert page.locator(".verdict").inner_text() == "✓ accepts after T = 2"
    assert page.locator(".rows .row").count() == 4
    assert rerun(page) != before
    page.get_by_role("button", name="the recorded run").click()
    assert rerun(page) == before
    assert page.get_by_label("another input").input_value() == "11"


def test_nothing_is_left_of_a_run_that_is_not_shown_any_more(opened: Open, chapter: Explorer) -> None:
    page = opened(chapter)
    for word in ("1", "111", "11"):
        run(page, word)
    page.locator("h1").click()
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    assert position(page) == 1
    assert (page.locator(".controls").count(), page.locator("dialog").count()) == (1, 1)


# ── the same check ──────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("boundary", ["chapter", "repaired"])
def test_what_is_wrong_is_found_in_the_same_cell(opened: Open, boundary: str) -> None:
    """As in the chapter, where the left boundary has no repair; and with wrong weights."""
    decoder = tm2tfr.compile("left-edge", left_boundary=boundary)
    decoder = decoder if boundary == "chapter" else wrong_read(decoder)
    divergence = tm2tfr.explore(decoder, "11", max_steps=20).traces[0].divergence
    assert divergence is not None
    page = opened(tm2tfr.explore(decoder, "", max_steps=20))
    said = run(page, "11")
    assert said.endswith(f"cells compared with the simulator, and it differs at position {divergence.position}.")
    notice = (
        f"✗ This run goes wrong at position {divergence.position}: {divergence.column} should be {divergence.expected} but"
    )
    assert notice in page.locator("main .notice").inner_text()
    where = f"at position {position(page)}"
    themselves = f"not known: the weights that this page came with go wrong on this input themselves, {where}"
    cause = str(divergence.cause).split("\n")[0] if boundary == "chapter" else themselves
    assert f"Cause: {cause}" in page.locator("main .notice").inner_text()
    assert position(page) == divergence.position
    wrong = page.locator(f"[data-row='{divergence.position}'] [data-column='{divergence.column}']")
    assert wrong.get_attribute("data-mark") == "wrong"
    assert wrong.locator(".due").inner_text() == f"≠ {divergence.expected}"


def wrong_read(decoder: Decoder) -> Decoder:
    """A decoder that does not find what was last written."""
    query = matrices(decoder)["layers.4.heads.0.query"]
    row, column, value = next(query.entries())
    return replaced(decoder, {"layers.4.heads.0.query": query.with_entry(row, column, -value)})


def test_where_nothing_says_what_is_right_nothing_was_compared(opened: Open) -> None:
    page = opened(tm2tfr.explore(alone("chapter"), ""))
    said = run(page, "11")
    assert said.endswith("s; nothing was compared: there is no machine to compare with.")
    assert page.locator(".check").inner_text() == "not checked: there is no machine to compare with"
    assert page.locator("[data-mark='right']").count() == 0


# ── what can be written in the box ──────────────────────────────────────────────────────────────────────────
@pytest.mark.similar
@pytest.mark.parametrize(
    ("subject", "words"),
    [
        ("chapter", ["1a1", "1_", "\n", "'", "1" * 70 + "漢x" + "1" * 70]),
        ("busy-beaver-3", ["0"]),
        ("full-adder", ["01", "2+1", "1,1,x", "", "1 1"]),
        ("binary-adder", ["58+0x1FF", "1+2+3", "0b2+1", "zz"]),
    ],
)
def test_what_is_no_input_is_refused_in_the_words_of_the_command_line(opened: Open, subject: str, words: list[str]) -> None:
    page = opened(tm2tfr.explore(subject))
    before = rerun(page)
    for word in words:
        with pytest.raises(Tm2tfrError) as refused:
            tm2tfr.explore(subject, word)
        page.evaluate("word => { document.querySelector('#live-input').value = word }", word)
        typed = page.get_by_label("another input").input_value()  # without line breaks
        if typed == word:
            page.get_by_role("button", name="Run", exact=True).click()
            assert page.locator(".live-error").text_content() == str(refused.value)
    assert page.get_by_label("another input").get_attribute("aria-invalid") == "true"
    assert rerun(page) == before


def test_numbers_for_the_buses_of_a_circuit(opened: Open) -> None:
    page = opened(tm2tfr.explore("binary-adder"))
    run(page, "58 + 0x17")
    assert rerun(page) == recorded(tm2tfr.explore("binary-adder", "58+23").html)
    assert "e = 81" in page.locator(".verdict").inner_text()


def test_the_hint_says_what_there_can_be(opened: Open, chapter: Explorer) -> None:
    assert opened(chapter).locator("#live-hint").inner_text().startswith("symbols 1, such as ")
    assert "a number for each of a, b" in opened(tm2tfr.explore("binary-adder")).locator("#live-hint").inner_text()


def test_a_run_in_other_numbers_is_not_imitated(opened: Open) -> None:
    page = opened(tm2tfr.explore("chapter", "11", dtype="float32"))
    said = "No other input can be run in this page: this run was computed in float32, and the page computes in float64."
    assert page.locator(".live").inner_text() == said


# ── running ─────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_long_run_can_be_stopped(opened: Open) -> None:
    page = opened(tm2tfr.explore("never-halts", "", max_steps=10))
    before = rerun(page)
    page.get_by_label("at most").fill("50000")
    page.get_by_role("button", name="Run", exact=True).click()
    stop = page.get_by_role("button", name="Stop")
    page.locator(".said-live", has_text="Running: ").wait_for()
    assert page.get_by_role("progressbar").is_visible()
    assert page.get_by_role("button", name="Run", exact=True).is_disabled()
    stop.click()
    assert page.get_by_role("status").inner_text() == "Stopped: the page shows the previous run."
    assert rerun(page) == before
    page.get_by_label("at most").fill("20")
    assert run(page, "").startswith("Run in this page: 21 positions in ")


@pytest.mark.similar
@pytest.mark.parametrize("steps", ["0", "50001", "2.5", ""])
def test_a_limit_that_is_none_is_refused(opened: Open, chapter: Explorer, steps: str) -> None:
    page = opened(chapter)
    page.locator("form.live").evaluate("form => { form.noValidate = true }")
    page.get_by_label("at most").fill(steps)
    said = "the largest number of steps must be a whole number from 1 to 50,000: change it"
    assert run(page, "1") == said


def test_five_thousand_positions(opened: Open) -> None:
    page = opened(tm2tfr.explore("busy-beaver-5", "", max_steps=10))
    page.get_by_label("at most").fill("4998")
    assert "34,993 cells compared with the simulator, all agree" in run(page, "")
    assert position(page) == 1


def test_what_is_typed_in_the_box_moves_nothing(opened: Open, chapter: Explorer) -> None:
    page = opened(chapter)
    there = position(page)
    page.get_by_label("another input").click()
    for key in ("ArrowLeft", "Home", " ", "End", "t", "j"):
        page.keyboard.press(key)
    settled(page)
    assert position(page) == there
    assert page.get_by_label("another input").input_value() == " 11tj"


def test_the_data_has_the_machine_and_no_weights_beside_them(chapter: Explorer) -> None:
    (found,) = embedded(chapter.html)["runs"]
    machine = tm2tfr.load("chapter")
    assert found["live"]["reference"]["states"] == list(machine.states)
    assert len(found["live"]["reference"]["rules"]) == len(machine.transitions)
    assert found["live"]["shown"] == {}
