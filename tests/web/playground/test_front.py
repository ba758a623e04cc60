"""The playground's page in a real browser: typing, problems and their fixes, sources, links, files, a server that goes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_commands import tm2tfr
from tests.readme import ROOT
from tests.web.explorer import browser
from tests.web.playground.window import (
    HOSTILE,
    LINKS_AND_HANDLERS,
    Serving,
    Window,
    answered,
    bomb,
    linked,
    opened,
    serving,
    text,
    until,
    written,
)
from tm2tfr.base.choices import LOGIC_LANGUAGES, RASP, READABLE
from tm2tfr.sources.circuit.formats.registry import CIRCUIT_READABLE

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(browser.missing() is not None, reason=str(browser.missing())),
]

INCREMENT = (ROOT / "machines" / "binary-increment.yaml").read_text(encoding="utf-8")
COMPLAINT = "unknown state 'rightx' (did you mean 'right'?)"
REMEDY = "use a state in the table, or add this one to it"


# ── typing ──────────────────────────────────────────────────────────────────────────────────────────────────
def test_an_error_is_underlined_as_it_is_typed_and_mended_by_its_fix(window: Window) -> None:
    page = window.open()
    assert text(page) == INCREMENT
    assert page.locator(".verdict").inner_text() == "✓ halts after T = 15"
    page.locator(".cm-line", has_text="start state").click()
    page.keyboard.press("End")
    with answered(page):
        page.keyboard.type("x")
    underlined = page.locator(".cm-lintRange-error")
    assert underlined.all_inner_texts() == ["rightx"]
    line = page.locator(".cm-line:has(.cm-lintRange-error)")
    assert line.inner_text() == "start state: rightx"
    assert page.locator(".problem .place").inner_text() == "5:14"
    assert page.locator(".problem .what").inner_text() == f"{COMPLAINT}: {REMEDY}"
    assert page.locator(".problems h2").inner_text() == "1 error"
    # the run is still there, as one of the past
    assert page.locator(".stale-label").inner_text() == "from the last valid source"
    assert page.locator(".outcome.stale .verdict").inner_text() == "✓ halts after T = 15"
    underlined.hover()
    assert page.locator(".cm-tooltip .cm-diagnostic").inner_text().startswith(f"{COMPLAINT}: {REMEDY}")
    with answered(page):
        page.locator(".cm-tooltip").get_by_role("button", name="Replace 'rightx' with 'right'").click()
    assert text(page) == INCREMENT
    assert page.locator(".cm-lintRange-error").count() == 0
    assert page.locator(".problems h2").inner_text() == "No problems"
    assert page.locator(".stale").count() == 0
    assert page.locator(".tab.dirty").count() == 0
    page.get_by_text("No problems. ✓ halts after T = 15", exact=True).wait_for(state="attached")  # for screen readers


def test_the_list_of_problems_goes_there_and_mends(window: Window) -> None:
    page = window.open()
    written(page, INCREMENT.replace("start state: right", "start state: rightx"))
    page.locator("#input").focus()
    page.locator("button.problem").click()
    page.keyboard.type("right")  # what is wrong was selected
    assert "start state: right\n" in text(page)
    written(page, INCREMENT.replace("start state: right", "start state: rightx"))
    with answered(page):
        page.locator(".problems").get_by_role("button", name="Replace 'rightx' with 'right'").click()
    assert text(page) == INCREMENT


def test_what_is_typed_is_run(window: Window) -> None:
    page = window.open()
    with answered(page):
        page.locator("#input").fill("111")
    assert page.locator(".verdict").inner_text() == "✓ halts after T = 9"
    tape = page.locator(".tape-cells").last.inner_text()
    assert re.search(r"1\s0\s0\s0", re.sub(r"[\[\]]", " ", tape))
    page.locator(".cm-line", has_text="_: {L: carry}").click()
    page.keyboard.press("End")
    for _ in range(len("carry}")):
        page.keyboard.press("Backspace")
    with answered(page):
        page.keyboard.insert_text("done}")  # it no longer carries
    page.get_by_text("✓ halts after T = 5", exact=True).wait_for()  # a text before the last key may be answered first
    with answered(page):
        page.get_by_role("button", name="0011", exact=True).click()
    assert page.locator("#input").input_value() == "0011"
    with answered(page):
        page.locator("#input").fill("12")
    assert page.locator("#input").get_attribute("aria-invalid") == "true"
    assert "'2'" in page.locator("#about-input").inner_text()
    assert page.locator(".stale-label").inner_text() == "from the last valid input"


def test_the_position_is_kept_while_one_types(window: Window) -> None:
    page = window.open()
    page.locator(".rows .row").nth(3).click()
    browser.settled(page)
    here = browser.position(page)
    page.locator(".answer").evaluate("main => main.scrollTo(0, 250)")
    page.locator(".cm-line", has_text="# go to the last digit").click()
    page.keyboard.press("End")
    with answered(page):
        page.keyboard.type("s")
    assert browser.position(page) == here
    assert page.locator(".answer").evaluate("main => main.scrollTop") == 250
    page.keyboard.press("ArrowRight")  # is the editor's
    assert browser.position(page) == here


def test_a_weight_can_be_broken(window: Window) -> None:
    page = window.open()
    path = "layers.5.feed_forward.output"
    page.locator("[data-layer='5']").get_by_role("button", name="the weights of layer 5").click()
    page.locator("#weight-5 ~ button").first.wait_for()
    term = page.locator("[data-layer='5'] .term").last
    place = term.get_attribute("data-place")
    term.click()
    page.locator("#weight-5").fill(f"{place} = 0")
    page.keyboard.press("Enter")
    page.locator("#weight-5-run").click()
    page.locator(".notice .cause").first.wait_for()
    assert (
        page.locator(".notice .cause").first.inner_text().startswith("Cause: layer 5 (symbol), feed-forward at position ")
    )
    assert page.locator(".changes-panel li").inner_text().startswith(path)
    page.get_by_role("button", name="Undo all").click()
    page.locator(".notice").wait_for(state="detached")
    assert page.locator(".verdict").inner_text() == "✓ halts after T = 15"


def test_what_is_pasted_over_all_may_be_in_another_format(window: Window) -> None:
    page = window.open()
    written(page, "1RB1LB_1LA1RZ")
    assert page.locator(".problems h2").inner_text() == "No problems"
    assert page.locator(".recognised").inner_text() == "Turing machine · bbchallenge"
    assert page.locator(".tab-name").inner_text().split() == ["untitled", "changed"]
    assert page.locator(".verdict").inner_text() == "✓ halts after T = 7"
    written(page, INCREMENT.replace("name: binary-increment", "name: mine"))
    assert page.locator(".tab-name").inner_text().split() == ["mine", "changed"]


def test_what_a_text_is_read_as_can_be_chosen(window: Window) -> None:
    page = window.open("#given")
    assert (page.locator(".tab-name").inner_text(), page.locator(".suggestions").inner_text()[0]) == ("named", "␣")
    assert page.evaluate("location.hash") == ""
    with answered(page):
        page.get_by_role("button", name="+ new").click()
    assert page.locator(".problems h2").inner_text() == "Not checked"
    assert page.locator(".suggestions button").count() == 0
    starters = page.locator(".starters button")
    assert starters.all_inner_texts() == ["machine", "circuit", "RASP program", "formula"]
    with answered(page):
        starters.nth(3).click()
    assert page.locator(".recognised").inner_text() == "formula of temporal logic"
    written(page, "a ^ b & ~c")
    assert page.locator(".problem .remedy").inner_text().startswith("choose what it is under 'read as': a machine, ")
    with answered(page):
        page.get_by_label("read as").select_option("expression")
    assert page.locator(".problems h2").inner_text() == "No problems"
    assert page.locator(".recognised").inner_text() == "Boolean circuit · expression"
    offered = page.locator("#reading option").evaluate_all("options => options.map(option => option.value)")
    every = {"", RASP, *READABLE, *CIRCUIT_READABLE, *LOGIC_LANGUAGES, "regex"}
    assert sorted(offered) == sorted(every - {"aig"})  # which is no text


# ── sources ─────────────────────────────────────────────────────────────────────────────────────────────────
def test_sources_of_all_kinds_are_switched_and_each_keeps_its_text_and_history(window: Window) -> None:
    page = window.open()
    page.locator(".cm-line").first.click()
    page.keyboard.press("End")
    with answered(page):
        page.keyboard.type("-2")
    assert page.locator(".tab.dirty .tab-name").inner_text().startswith("binary-increment")
    opened(page, "full-adder")
    assert page.get_by_role("heading", name="Circuit").count() == 1
    assert page.get_by_label("left boundary").is_hidden()
    opened(page, "histogram")
    assert page.locator(".table-panel .check").inner_text().endswith("compared with the interpreter, all agree")
    assert page.locator("iframe").count() == 0
    opened(page, "since-b")
    assert page.locator(".table-panel .check").inner_text().endswith("compared with the evaluator, all agree")
    assert page.locator(".tab-name").count() == 4
    with answered(page):
        page.locator(".tab-name").first.click()
    assert text(page) == INCREMENT.replace("name: binary-increment", "name: binary-increment-2", 1)
    with answered(page):
        page.locator(".cm-content").focus()
        page.keyboard.press("Control+z")
    assert text(page) == INCREMENT
    page.keyboard.press("Control+z")  # there is nothing before it: not the text of another source
    assert text(page) == INCREMENT


def test_nothing_is_lost(window: Window) -> None:
    page = window.open()
    page.locator(".cm-line").first.click()
    page.keyboard.press("End")
    with answered(page):
        page.keyboard.type("-2")
    page.reload()
    page.wait_for_selector("html[data-ready=true][data-answered]")
    assert text(page).startswith("name: binary-increment-2\n")
    assert page.locator(".tab.dirty").count() == 1
    # asked before it is replaced
    page.get_by_role("button", name="revert").click()
    page.get_by_role("button", name="cancel").click()
    assert text(page).startswith("name: binary-increment-2\n")
    page.get_by_role("button", name="Close binary-increment").click()
    page.get_by_role("button", name="cancel").click()
    assert page.locator(".tab").count() == 1
    page.get_by_role("button", name="revert").click()
    with answered(page):
        page.get_by_role("button", name="replace it").click()
    assert text(page) == INCREMENT
    with answered(page):
        page.locator(".cm-content").focus()
        page.keyboard.press("Control+z")
    assert text(page).startswith("name: binary-increment-2\n")
    # what is closed does not come back
    page.get_by_role("button", name="Close binary-increment").click()
    with answered(page):
        page.get_by_role("button", name="close it").click()
    assert (page.locator(".tab-name").inner_text(), text(page)) == ("untitled", "")
    page.evaluate('localStorage.setItem(\'tm2tfr-playground:x\', \'{"id": "x", "name": 3}\')')
    page.reload()
    page.wait_for_selector("html[data-ready=true][data-answered]")
    assert page.locator(".tab-name").all_inner_texts() == ["untitled"]


def test_the_list_is_searched_with_keys_alone(window: Window) -> None:
    page = window.open()
    page.get_by_role("button", name="all sources").focus()
    page.keyboard.press("Enter")
    assert page.locator(".library h3").all_inner_texts() == [
        "TURING MACHINES",
        "BOOLEAN CIRCUITS",
        "RASP PROGRAMS",
        "FORMULAS OF TEMPORAL LOGIC",
        "FINITE AUTOMATA",
    ]
    page.keyboard.type("one to a binary number")
    assert page.locator(".library-count").inner_text().startswith("1 of ")
    page.keyboard.press("ArrowDown")
    with answered(page):
        page.keyboard.press("Enter")
    assert page.locator(".tab").count() == 1  # it was open already
    page.locator(".cm-content").focus()
    page.keyboard.press("Escape")
    page.keyboard.press("Tab")
    assert not page.locator(".cm-content").evaluate("content => content === document.activeElement")
    assert text(page) == INCREMENT
    splitter = page.get_by_role("separator")
    splitter.focus()
    page.keyboard.press("ArrowRight")
    assert splitter.get_attribute("aria-valuenow") == "42"


# ── links and files ─────────────────────────────────────────────────────────────────────────────────────────
def test_a_link_carries_source_and_input(window: Window, chromium: Any, server: Serving) -> None:
    window.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = window.open()
    changed = INCREMENT.replace("Adds one", "Adds 1 and says «é→😀»")
    written(page, changed)
    with answered(page):
        page.locator("#input").fill("0011")
    address = linked(page)
    assert address.startswith(f"http://127.0.0.1:{server.port}/#source=")
    assert server.token not in address
    other = Window(chromium, server)
    page = other.open("#" + address.split("#")[1])
    assert text(page) == changed
    assert page.locator("#input").input_value() == "0011"
    assert page.locator(".verdict").inner_text() == "✓ halts after T = 9"
    assert page.evaluate("location.hash") == ""
    hashed = f"location.hash = {'#' + address.split('#')[1]!r}"
    page.evaluate(hashed)  # it is there already
    page.wait_for_timeout(300)
    assert page.locator(".tab").count() == 1
    written(page, INCREMENT)
    page.evaluate(hashed)  # beside what is there
    until(page, lambda: page.locator(".tab").count() == 2)
    other.close()
    assert other.complaints == []


@pytest.mark.similar
@pytest.mark.parametrize(
    ("fragment", "why"),
    [
        ("#source=%%%", "the link is damaged: copy it again, whole"),
        ("#source=AAAA", "the link is damaged: copy it again, whole"),
        ("#source=" + "A" * 64_001, "the link is too long"),
        ("#source=q1ZKzs8rSc0rUbJSUqoFAA", "the link contains no source"),
        ("bomb", "the source in the link is too long"),
    ],
)
def test_a_link_that_makes_no_sense_opens_nothing(window: Window, fragment: str, why: str) -> None:
    page = window.open(bomb() if fragment == "bomb" else fragment)
    assert page.locator(".message").inner_text().startswith(f"Nothing was opened: {why}.")
    assert text(page) == INCREMENT
    assert page.locator(".tab").count() == 1


def test_files_are_what_the_command_line_writes(window: Window, tmp_path: Path) -> None:
    page = window.open()
    opened(page, "chapter")
    saved = {}
    for what in ("source", "weights", "latex", "csv", "page"):
        with page.expect_download() as download:
            page.locator(f"[data-export={what}]").click()
        saved[what] = (download.value.suggested_filename, Path(download.value.path()).read_bytes())
    endings = ("yaml", "safetensors", "tex", "csv", "html")
    assert [name for name, _ in saved.values()] == [f"chapter.{ending}" for ending in endings]
    assert saved["source"][1] == (ROOT / "machines" / "chapter.yaml").read_bytes()
    (tmp_path / "chapter.yaml").write_bytes(saved["source"][1])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", "/nowhere")  # so that the page draws its graph itself, as the playground does
        for arguments in (
            ("compile", "chapter.yaml", "-o", "chapter.safetensors"),
            ("table", "chapter.yaml", "--format", "latex", "-o", "chapter.tex"),
            ("table", "chapter.yaml", "--format", "csv", "-o", "chapter.csv"),
            ("explore", "chapter.yaml", "--max-steps", "300", "-o", "chapter.html"),
        ):
            assert tm2tfr(*arguments, cwd=tmp_path).returncode == 0
    for name, data in saved.values():
        assert (tmp_path / name).read_bytes() == data, name
    page.get_by_label("Format in which the source is saved").select_option("morphett")
    with page.expect_download() as download:
        page.locator("[data-export=source]").click()
    assert Path(download.value.path()).read_bytes().startswith(b";")


# ── what can go wrong ───────────────────────────────────────────────────────────────────────────────────────
def test_no_text_of_a_source_becomes_a_script(window: Window, chromium: Any, server: Serving) -> None:
    window.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = window.open()
    written(page, HOSTILE)
    assert page.locator(".problems h2").inner_text() == "No problems"
    page.wait_for_selector(".graph svg text")
    assert "<img src=x onerror=alert(4)>" in page.locator("div.graph").inner_text()
    assert page.locator("img:not(.cm-widgetBuffer), .answer script").count() == 0
    assert page.locator(".answer *").evaluate_all(LINKS_AND_HANDLERS) == []
    written(page, HOSTILE.replace("start state: '<img", "start state: '<b><img"))
    assert "<b><img src=x onerror=alert(4)>" in page.locator(".problem .what").inner_text()
    page.locator(".cm-lintRange-error").first.hover()
    assert "<b><img" in page.locator(".cm-tooltip").inner_text()
    written(page, HOSTILE)
    address = linked(page)
    other = Window(chromium, server)
    there = other.open("#" + address.split("#")[1])
    assert text(there) == HOSTILE
    assert there.title() == "<img src=x onerror=alert(1)> – tm2tfr playground"
    written(
        there,
        "# title: <img src=x onerror=alert(6)>\n# alphabet: ab\n# example: ab -> [1, 1]\n\n'<script>alert(7)</script>'",
    )
    assert there.locator("img:not(.cm-widgetBuffer), .answer script").count() == 0
    other.close()
    assert other.complaints == []


def test_a_turn_and_a_busy_server_are_waited_for(chromium: Any, server: Serving) -> None:
    window = Window(chromium, server)
    page = window.open()
    held: list[Any] = []
    page.route("**/api/answer", lambda route: held.append(route))  # noqa: PLW0108  (a built-in function cannot be marked)
    before = [1_234]
    page.route("**/api/waiting", lambda route: route.fulfill(json={"before": before[0]}))
    page.locator(".cm-line").first.click()
    page.keyboard.press("End")
    page.keyboard.type("-2")
    said = page.locator(".answer")
    until(page, lambda: said.get_attribute("data-busy") == "waiting: 1,234 requests before yours")
    before[0] = 0
    until(page, lambda: said.get_attribute("data-busy") == "waiting: yours is the next request")
    full = "32 requests are waiting already: close other pages of the playground, or ask again in some seconds"
    latest = held[-1]
    held.clear()
    latest.fulfill(status=503, json={"error": full})
    page.get_by_text(full).wait_for()
    until(page, lambda: held != [])  # it asks again by itself
    with answered(page):
        held.pop().continue_()
    assert page.locator(".message").inner_text() == ""
    assert said.get_attribute("data-busy") is None
    pages = {request.headers.get("x-tm2tfr-page", "") for request in window.asked if "/api/" in request.url}
    assert [re.fullmatch("[0-9a-f]{32}", each) is not None for each in pages] == [True]
    window.close()


def test_a_server_that_is_gone_is_told_of_and_found_again(chromium: Any) -> None:
    """First the network goes and comes back; then the server is started anew, with another token."""
    with serving() as server:
        window = Window(chromium, server)
        page = window.open()
        window.context.set_offline(True)
        page.locator(".cm-line").first.click()
        page.keyboard.press("End")
        page.keyboard.type("-2")
        gone = "The server does not answer: start it again with 'tm2tfr playground'. Your texts are kept in this browser."
        page.get_by_text(gone).wait_for()
        window.context.set_offline(False)
        with answered(page):
            pass  # it asks again by itself
        assert page.locator(".message").inner_text() == ""
        assert page.locator(".problems h2").inner_text() == "No problems"
        server.end()
        with_error = page.locator(".cm-line", has_text="start state")
        with_error.click()
        page.keyboard.press("End")
        page.keyboard.type("x")
        page.get_by_text(gone).wait_for()
        server.start("another-token")
        page.get_by_text("The server does not know this page: open the address that 'tm2tfr playground' prints.").wait_for()
        assert page.locator(".problems h2").inner_text() == "Not checked"
        window.open()
        assert text(page).startswith("name: binary-increment-2\n")
        assert page.locator(".problem .place").inner_text() == "5:14"
        window.close()


# ── for everybody ───────────────────────────────────────────────────────────────────────────────────────────
GRAVE = ("serious", "critical")


@pytest.mark.skipif(browser.without_axe() is not None, reason=str(browser.without_axe()))
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(chromium: Any, server: Serving, scheme: str) -> None:
    window = Window(chromium, server, color_scheme=scheme)
    page = window.open()
    assert browser.violations(page, impacts=GRAVE) == []
    written(page, INCREMENT.replace("start state: right", "start state: rightx"))
    assert browser.violations(page, impacts=GRAVE) == []
    page.get_by_role("button", name="all sources").click()
    page.wait_for_selector(".library-list button")
    assert browser.violations(page, impacts=GRAVE) == []
    page.keyboard.press("Escape")
    page.set_viewport_size({"width": 390, "height": 844})
    opened(page, "histogram")
    assert browser.violations(page, impacts=GRAVE) == []
    window.close()
    assert window.complaints == []


def test_options_reach_the_run(window: Window) -> None:
    page = window.open()
    opened(page, "chapter")
    with answered(page):
        page.get_by_label("step limit").fill("3")
    assert page.locator(".verdict").inner_text() == "✓ no verdict within the limit"
    with answered(page):
        page.get_by_label("step limit").fill("")
    with answered(page):
        page.get_by_label("left boundary").select_option("chapter")
    assert "accepts after T = 6" in page.locator(".verdict").inner_text()
    field = page.locator("#input")
    with answered(page):
        field.fill("7")
    assert field.get_attribute("aria-invalid") == "true"
    page.get_by_label("step limit").fill("99999")
    page.get_by_text("the step limit must be a whole number from 0 to 5,000, not 99999: use for example 300").wait_for()
    assert (field.get_attribute("aria-invalid"), page.locator("#about-input").inner_text()) == (None, "")
    assert [each for each in window.complaints if "400 (Bad Request)" not in each] == []
    window.complaints.clear()
