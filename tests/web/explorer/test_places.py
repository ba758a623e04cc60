"""What is where on screens of many widths: nothing is cut off, nothing is far from what it belongs to."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

import pytest

import tm2tfr
from tests.web.explorer import browser
from tests.web.explorer.browser import Open, follow, gone_to, position, settled
from tm2tfr.runs.comparison import Trace
from tm2tfr.tables.sheet import Line, Stretch, lines
from tm2tfr.web.explorer.document import Explorer

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(browser.missing() is not None, reason=str(browser.missing())),
]

PHONE = {"viewport": {"width": 390, "height": 844}}
LAPTOP = {"viewport": {"width": 1280, "height": 800}}
WIDTHS = (320, 390, 768, 1024, 1280, 1400, 1920)


def fifty_states() -> tm2tfr.Machine:
    """Return a machine with 50 states, whose names are longer than most."""
    rules: dict[tuple[str, str], Any] = {}
    for n in range(50):
        rules[f"carry-digit-{n}", "_"] = (f"carry-digit-{(n + 1) % 50}", "1", "R")
        rules[f"carry-digit-{n}", "1"] = (f"carry-digit-{(7 * n + 3) % 50}", "_", "L")
    return tm2tfr.Machine(transitions=rules, start="carry-digit-0", blank="_", name="fifty")


# ── the state graph ─────────────────────────────────────────────────────────────────────────────────────────
PLACES = """() => {
  const graph = document.querySelector(".graph"), view = graph.getBoundingClientRect();
  const inner = {left: view.left - graph.scrollLeft, top: view.top - graph.scrollTop};
  const places = [...graph.querySelectorAll(".node")].map(node => {
    const {left, right, top, bottom} = node.getBoundingClientRect();
    return {
      name: node.textContent.trim(),
      seen: left >= view.left - 1 && right <= view.right + 1 && top >= view.top - 1 && bottom <= view.bottom + 1,
      reached: left >= inner.left - 1 && right <= inner.left + graph.scrollWidth + 1
        && top >= inner.top - 1 && bottom <= inner.top + graph.scrollHeight + 1,
    };
  });
  const panel = graph.closest(".panel").getBoundingClientRect();
  const inside = view.left >= panel.left && view.right <= panel.right && panel.left >= 0 && panel.right <= innerWidth;
  return {places, inside, scrolls: getComputedStyle(graph).overflowX};
}"""
"""Of each state: whether it can be seen now, and whether scrolling the graph brings it into view."""


def hidden(page: Any, what: str) -> list[str]:
    """Return the states that are not `seen`, or not `reached`; the graph itself is always inside the window."""
    settled(page)
    found = page.evaluate(PLACES)
    assert found["inside"]
    assert found["scrolls"] == "auto"
    assert found["places"]
    return [place["name"] for place in found["places"] if not place[what]]


@pytest.mark.similar
@pytest.mark.parametrize("machine", ["chapter", "binary-multiplication", "universal", "fifty"])
def test_no_state_is_out_of_reach(opened: Open, machine: str) -> None:
    """All of a small graph is seen at once at any width, and all of any graph at the press of a button."""
    page = opened(tm2tfr.explore(fifty_states() if machine == "fifty" else machine, max_steps=40), **LAPTOP)
    page.wait_for_selector(".graph .node")
    for width in WIDTHS if machine == "chapter" else WIDTHS[::3]:
        page.set_viewport_size({"width": width, "height": 800})
        assert hidden(page, "reached") == [], width
        if machine == "chapter" and width >= 390:
            assert hidden(page, "seen") == [], width
        page.get_by_role("button", name="Show the whole state graph").click()
        assert hidden(page, "seen") == [], width
        page.get_by_role("button", name="to the whole window").click()
        assert hidden(page, "seen") == [], width
        page.get_by_role("button", name="to the whole window").click()
        assert hidden(page, "reached") == [], width


def test_the_graph_of_the_chapter_is_whole_on_a_laptop(
    opened: Open, monkeypatch: pytest.MonkeyPatch, chapter: Explorer
) -> None:
    page = opened(chapter, **LAPTOP)
    page.wait_for_selector(".graph .node")
    assert hidden(page, "seen") == []
    monkeypatch.setattr("tm2tfr.sources.turing.page.svg_or_none", lambda machine, **_: None)
    page = opened(tm2tfr.explore("chapter", "11"), **LAPTOP)
    page.wait_for_selector(".graph .node")
    assert hidden(page, "seen") == []


def test_a_large_graph_shows_the_current_state_in_letters_that_can_be_read(opened: Open) -> None:
    page = opened(tm2tfr.explore("universal", max_steps=60), **LAPTOP)
    page.wait_for_selector(".graph.partly .node.now")
    whole = page.get_by_role("button", name="Show the whole state graph")
    assert whole.get_attribute("aria-pressed") == "false"
    height = "[...document.querySelectorAll('.graph .node text')].map(t => t.getBoundingClientRect().height).sort()[0]"
    for i in (20, 40, 70):
        follow(page, f"#i={i}")
        page.wait_for_selector(f".rows .row.now[data-row='{i}']")
        assert position(page) == i
        now = page.locator(".graph .node.now").evaluate("node => node.textContent.trim()")
        assert now not in hidden(page, "seen")
    assert page.evaluate(height) > 10
    whole.click()
    assert hidden(page, "seen") == []
    assert whole.get_attribute("aria-pressed") == "true"


def test_zoom_and_drag(opened: Open, chapter: Explorer) -> None:
    page = opened(chapter, "#i=5", **LAPTOP)
    page.wait_for_selector(".graph .node.now")
    smaller = page.get_by_role("button", name="Zoom out")
    assert smaller.is_disabled()
    for _ in range(4):
        page.get_by_role("button", name="Zoom in").click()
    assert "q2" not in hidden(page, "seen"), "the current state stays in view"
    assert hidden(page, "seen") != []
    assert hidden(page, "reached") == []
    graph = page.locator(".scroll.graph")
    left, box = graph.evaluate("graph => graph.scrollLeft"), graph.bounding_box()
    page.mouse.move(box["x"] + 100, box["y"] + 60)
    page.mouse.down()
    page.mouse.move(box["x"] + 160, box["y"] + 60, steps=4)
    page.mouse.up()
    assert graph.evaluate("graph => graph.scrollLeft") == left - 60
    page.keyboard.press("ArrowRight")
    assert position(page) == 6, "after dragging the arrow keys still step"
    graph.focus()
    page.keyboard.press("ArrowRight")
    assert position(page) == 6, "whoever came with the Tab key moves the graph"
    for _ in range(4):
        smaller.click()
    assert hidden(page, "seen") == []


def test_the_graph_over_the_whole_window_and_back(opened: Open, chapter: Explorer) -> None:
    page = opened(chapter, **LAPTOP)
    for key, large in [("g", True), ("g", False), ("g", True), ("Escape", False), ("Escape", False)]:
        page.keyboard.press(key)
        settled(page)
        assert page.locator(".graph-panel.large").count() == large
        assert hidden(page, "seen") == []
        width = page.locator(".graph svg").bounding_box()["width"]
        assert (width > 1000) == large


# ── the table's tape ────────────────────────────────────────────────────────────────────────────────────────
def written(tape: Stretch | None, room: bool) -> str:
    """Return the tape as the table of ``tm2tfr trace`` has it."""
    if tape is None:
        return ""
    signs = [" ", *(f" {cell}" for cell in tape.cells), " …"]
    text = "".join(signs[1:])
    if tape.head is not None:
        at = sum(len(sign) for sign in signs[1 : tape.head + 1])
        after = at + len(signs[tape.head + 1])
        text = f"{text[:at]}[{text[at + 1 : after]}]{text[after + 1 :]}"
    return (("…" if tape.cut else " ") if room else "") + text


def tapes(trace: Trace, window: int) -> list[str]:
    found = [line.tape for line in lines(trace, window=window) if isinstance(line, Line)]
    room = any(tape is not None and tape.cut for tape in found)
    return [written(tape, room) for tape in found]


@pytest.mark.similar
@pytest.mark.parametrize(
    ("machine", "word", "width"),
    [
        ("chapter", "1111", 1280),
        ("palindromes", "abba", 390),
        *(("busy-beaver-4", "", width) for width in (390, 1280, 1920)),
    ],
)
def test_the_table_has_the_tape(opened: Open, machine: str, word: str, width: int) -> None:
    """Cell for cell what the text table shows, for as many cells as there is room for."""
    explorer = tm2tfr.explore(machine, word)
    page = opened(explorer, viewport={"width": width, "height": 800})
    assert page.locator(".row.header > *").nth(1).inner_text() == "tape"
    window = int(page.locator(".grid").get_attribute("data-window"))
    assert window >= 3
    want = tapes(explorer.traces[0], window)
    for i in range(0, len(want), 12):
        assert gone_to(page, i) == i
        cells = page.locator("[data-column=tape]").evaluate_all(
            "cells => cells.map(cell => [Number(cell.parentElement.dataset.row), cell.textContent])"
        )
        assert len(cells) > 5
        assert [text for _, text in cells] == [want[n] for n, _ in cells]
        assert page.locator(f"[data-row='{i}'] .at").count() == (want[i] != "")


def test_the_tape_of_the_chapter_as_printed(opened: Open, chapter: Explorer) -> None:
    page = opened(chapter, viewport={"width": 1920, "height": 1080})
    assert page.locator("[data-column=tape]").all_text_contents() == [
        *[""] * 3,
        "[1]1 _ …",
        " _[1]_ …",
        " _ x[_]…",
        " _[x]_ …",
        "[_]x _ …",
        " _[x]_ …",
    ]


def test_a_window_that_grows_shows_more_of_the_tape(opened: Open) -> None:
    explorer = tm2tfr.explore("busy-beaver-4", "")
    page = opened(explorer, "#i=80", **PHONE)
    sizes = []
    for width in (390, 1920, 390):
        page.set_viewport_size({"width": width, "height": 900})
        assert position(page) == 80
        sizes.append(int(page.locator(".grid").get_attribute("data-window")))
        now = page.locator(".row.now [data-column=tape]")
        assert now.text_content() == tapes(explorer.traces[0], sizes[-1])[80]
        row, table = page.locator(".row.now").bounding_box(), page.locator(".table").bounding_box()
        assert table["y"] <= row["y"] < table["y"] + table["height"]
    assert sizes[0] == sizes[2] < sizes[1]


# ── tokens that are left out ────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("width", [390, 1280])
def test_a_count_does_not_look_like_a_position(opened: Open, endless: Explorer, width: int) -> None:
    page = opened(endless, "#i=1200", viewport={"width": width, "height": 800})
    places = page.locator(".chip:not(.next)").evaluate_all("chips => chips.map(chip => Number(chip.dataset.position))")
    gaps = [after - before - 1 for before, after in pairwise([-1, *places]) if after > before + 1]
    shown = page.locator(".omitted .more").all_inner_texts()
    assert shown == [f"{gap:,}\nmore" for gap in gaps] != []
    assert max(gaps) > 1_000
    omitted = page.locator(".omitted").first
    assert omitted.locator(".index").count() == 0
    said = f"{gaps[0]:,} more positions, not shown"
    assert omitted.aria_snapshot() == f'- listitem "{said}"', "and screen readers say no bare number"
    more, index = page.locator(".omitted .more"), page.locator(".chips .index")
    style = "e => [getComputedStyle(e).fontStyle, e.getBoundingClientRect().bottom]"
    (slant, bottom), (upright, _) = (found.first.evaluate(style) for found in (more, index))
    assert (slant, upright) == ("italic", "normal")
    assert bottom <= index.first.bounding_box()["y"] + 1
    boxes = page.locator(".chips > li").evaluate_all("all => all.map(i => [i.offsetLeft, i.offsetLeft + i.offsetWidth])")
    assert all(before[1] <= after[0] + 1 for before, after in pairwise(boxes))
    assert more.evaluate_all("all => all.filter(e => e.scrollWidth > e.parentElement.clientWidth + 1)") == []


def test_a_token_that_fits_is_shown(opened: Open) -> None:
    """No place is given to "1 more" where the token takes no more."""
    page = opened(tm2tfr.explore("binary-multiplication", "11*101"), "#i=60", viewport={"width": 1024, "height": 768})
    places = page.locator(".chip:not(.next)").evaluate_all("chips => chips.map(chip => Number(chip.dataset.position))")
    assert places[:4] == [0, 1, 2, 3]


@pytest.mark.parametrize("width", [390, 1280])
def test_long_names_are_shortened_and_leave_nothing_out(opened: Open, width: int) -> None:
    """Token and answer are seen whole, so are all columns of the table; what is shortened says all of it."""
    name = "look-for-the-first-symbol-that-is-not-crossed-off-yet"
    machine = tm2tfr.Machine(transitions={(name, "1"): (name, "x", "R")}, start=name, blank="_")
    page = opened(tm2tfr.explore(machine, "1111"), "#i=6", viewport={"width": width, "height": 800})
    settled(page)
    whole = f"({name},x,+1)"
    view = page.locator(".strip-panel .scroll").bounding_box()
    for chip in (page.locator(".chip.now"), page.locator(".chip.next")):
        box, text = chip.bounding_box(), chip.inner_text()
        assert view["x"] <= box["x"] < box["x"] + box["width"] <= view["x"] + view["width"] + 1
        assert chip.evaluate("chip => chip.scrollWidth <= chip.clientWidth")
        assert chip.get_attribute("title") == whole
        assert re.fullmatch(r"\(loo?k?.*….*t,x,\+1\)", text), text
    cells = page.locator(".row.now [data-column=x], .row.now [data-column=q]")
    assert cells.evaluate_all("cells => cells.map(cell => cell.title)") == [whole, name]
    scrolls = page.locator(".table").evaluate("table => table.scrollWidth > table.clientWidth + 1")
    assert scrolls == (width == 390)


@pytest.mark.parametrize("width", [1280, 1400, 1920])
def test_the_tokens_of_a_short_run_are_all_shown(opened: Open, chapter: Explorer, width: int) -> None:
    page = opened(chapter, "#i=6", viewport={"width": width, "height": 800})
    settled(page)
    assert page.locator(".chip").count() == 8
    assert page.locator(".omitted").count() == 0


# ── layers ──────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(("key", "chosen"), [("ArrowDown", "0123456"), ("ArrowUp", "5432106")])
def test_the_first_press_of_an_arrow_key_does_something(opened: Open, chapter: Explorer, key: str, chosen: str) -> None:
    """The layers go round, the embedding among them, and the chosen one comes into view."""
    page = opened(chapter, **LAPTOP)
    for number in chosen:
        page.keyboard.press(key)
        settled(page)
        layer = page.locator(".layer.chosen")
        assert layer.get_attribute("data-layer") == number
        assert page.get_by_label("After which layer").input_value() == str(int(number) - 1)
        box, controls = layer.bounding_box(), page.locator(".controls").bounding_box()
        assert box["y"] >= 0
        assert box["y"] + box["height"] <= controls["y"]


def test_the_help_lists_the_keys(opened: Open, chapter: Explorer) -> None:
    page = opened(chapter)
    page.keyboard.press("?")
    said = dict(zip(page.locator("dialog dt").all_inner_texts(), page.locator("dialog dd").all_inner_texts(), strict=True))
    assert said["↓ ↑"] == "the next layer, the previous layer; after the last comes the embedding"
    assert said["g"] == "enlarge the state graph to the whole window, and back"
    page.keyboard.press("Escape")
    for key in {key for keys in said for key in re.findall(r"\b[a-z]\b", keys)} - {"d"}:
        page.keyboard.press(key)  # whatever is listed is understood: nothing is complained of
        settled(page)


# ── panels ──────────────────────────────────────────────────────────────────────────────────────────────────
def panels(page: Any) -> dict[str, dict[str, float]]:
    """Return the boxes of the panels of a run, in the order of the document, which is that of the Tab key."""
    places = page.locator(".run .panel").evaluate_all(
        "all => all.map(p => [p.classList[1], p.getBoundingClientRect().toJSON()])"
    )
    return dict(places)


def test_on_a_phone_the_graph_is_below_the_tape(opened: Open, chapter: Explorer) -> None:
    page = opened(chapter, **PHONE)
    settled(page)
    places = panels(page)
    assert 0 <= places["graph-panel"]["top"] - places["tape-panel"]["bottom"] < 40
    controls = page.locator(".controls").bounding_box()
    assert places["graph-panel"]["bottom"] < controls["y"], "tape and graph are seen together"


def test_a_long_description_is_unfolded_on_a_phone(opened: Open, chapter: Explorer) -> None:
    page = opened(chapter, **PHONE)
    about, before = page.locator(".about"), page.locator(".about").bounding_box()["height"]
    about.get_by_role("button", name="more").click()
    assert about.bounding_box()["height"] > before
    about.get_by_role("button", name="less").click()
    assert about.bounding_box()["height"] == before
    page.set_viewport_size({"width": 1280, "height": 800})
    settled(page)
    assert about.get_by_role("button").count() == 0, "there is room for all of it"


@pytest.mark.parametrize("width", [390, 1400])
def test_names_without_end_stay_within_the_window(opened: Open, width: int) -> None:
    start, halt = "S" * 150, "T" * 150
    machine = tm2tfr.Machine(transitions={(start, "_"): (halt, "x", "R")}, start=start, blank="_", name="N" * 200)
    page = opened(tm2tfr.explore(machine), viewport={"width": width, "height": 900})
    settled(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    follow(page, "#i=2&layer=4")
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("width", [390, 1024, 1280])
def test_the_tab_key_goes_as_the_eye_does(opened: Open, chapter: Explorer, width: int) -> None:
    """Down one column and then down the next; a window that changes its width rearranges them."""
    page = opened(chapter, viewport={"width": 1280 if width == 390 else 390, "height": 800})
    settled(page)
    page.set_viewport_size({"width": width, "height": 800})
    settled(page)
    places = list(panels(page).values())
    assert [(p["left"], p["top"]) for p in places] == sorted((p["left"], p["top"]) for p in places)
    assert len({p["left"] for p in places}) == (1 if width == 390 else 2)
