"""The page in a real browser: what can be done with it, and that what it shows are the numbers of the run."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from dataclasses import replace
from itertools import compress, pairwise
from pathlib import Path
from typing import Any

import pytest

import tm2tfr
from tests.installed import NO_DOT
from tests.readme import ROOT
from tests.web.explorer import browser, screenshot
from tests.web.explorer.browser import Open, follow, gone_to, position, settled
from tm2tfr.engines.decode import Observation, observe
from tm2tfr.engines.dense import Dense
from tm2tfr.runs.comparison import Trace
from tm2tfr.sources.turing.columns import CHECKED
from tm2tfr.transformer.weights import Decoder, matrices, replaced
from tm2tfr.web.explorer.document import Explorer

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(browser.missing() is not None, reason=str(browser.missing())),
]


def until(page: Any, reached: Callable[[int], bool]) -> None:
    """Wait until a position is reached (a page that forbids eval cannot be waited for with an expression)."""
    for _ in range(500):
        if reached(position(page)):
            return
        page.wait_for_timeout(20)
    raise AssertionError(f"position {position(page)} is where it stays")


def address(page: Any) -> str:
    page.wait_for_timeout(150)
    return str(page.evaluate("location.hash"))


def seen_at(decoder: Decoder, trace: Trace, i: int) -> Observation:
    return observe(decoder, [str(row.x) for row in trace.rows[: i + 1]], engine=Dense())


# ── moving about ────────────────────────────────────────────────────────────────────────────────────────────
def test_it_begins_with_the_first_token_of_the_machine(opened: Open, chapter: Explorer) -> None:
    page = opened(chapter)
    assert position(page) == 3
    assert page.title() == "chapter on '11'"
    assert page.locator("h1").inner_text() == "chapter"
    assert page.locator(".verdict").inner_text() == "✓ accepts after T = 6"
    assert page.locator(".story").inner_text() == (
        "The machine went to q0, wrote 1 and did not move. It reads 1 in cell 0: δ(q0, 1) = (q1, _, R), "
        "so the next token is (q1,_,+1)."
    )


def test_buttons_step_and_go_back(opened: Open, chapter: Explorer) -> None:
    page = opened(chapter)
    for name, there in [("Step", 4), ("Step", 5), ("Back", 4), ("First position", 0), ("Back", 0), ("Last position", 8)]:
        page.get_by_role("button", name=name, exact=True).click()
        assert position(page) == there, name
    page.get_by_role("button", name="Step", exact=True).click()
    assert position(page) == 8


def test_keys(opened: Open, chapter: Explorer) -> None:
    page = opened(chapter)
    there = {"ArrowRight": 4, "ArrowLeft": 3, "End": 8, "Home": 0, "Shift+ArrowRight": 8, "Shift+ArrowLeft": 0}
    for key, i in {**there, "PageDown": 8, "PageUp": 0}.items():
        page.keyboard.press(key)
        assert position(page) == i, key
    assert page.locator(".layer.chosen").get_attribute("data-layer") == "6"
    for key, layer in [("ArrowUp", "5"), ("ArrowUp", "4"), ("ArrowDown", "5")]:
        page.keyboard.press(key)
        settled(page)
        assert page.locator(".layer.chosen").get_attribute("data-layer") == layer
    page.keyboard.press("+")
    settled(page)
    assert page.get_by_label("Speed").input_value() == "4"
    page.keyboard.press("-")
    settled(page)
    assert page.get_by_label("Speed").input_value() == "2"
    page.keyboard.press("=")
    page.keyboard.press("Control+ArrowRight")  # is the browser's
    settled(page)
    assert (page.get_by_label("Speed").input_value(), position(page)) == ("4", 0)
    page.keyboard.press("?")
    assert page.locator("dialog").is_visible()
    page.keyboard.press("ArrowRight")
    assert position(page) == 0
    page.keyboard.press("Escape")
    assert not page.locator("dialog").is_visible()


def test_play_and_pause(opened: Open, chapter: Explorer) -> None:
    page = opened(chapter, "#i=0")
    page.get_by_label("Speed").select_option("1")  # so slow that it has not ended before it is told to pause
    page.locator("h1").click()
    page.keyboard.press("Space")
    page.wait_for_selector("[data-playing=true]")
    until(page, lambda i: i >= 1)
    page.get_by_role("button", name="Pause").click()
    page.wait_for_selector("[data-playing=false]")
    there = position(page)
    page.wait_for_timeout(200)
    assert position(page) == there
    page.get_by_label("Speed").select_option("16")
    page.get_by_role("button", name="Play").click()
    until(page, lambda i: i == 8)
    page.wait_for_selector("[data-playing=false]")
    page.get_by_label("Speed").select_option("1")
    page.get_by_role("button", name="Play").click()  # again, from the beginning
    until(page, lambda i: i < 5)


def test_space_plays_after_a_click_too(opened: Open, chapter: Explorer) -> None:
    page = opened(chapter)
    page.get_by_role("button", name="position 1: 1").click()
    assert position(page) == 1
    page.keyboard.press("Space")
    until(page, lambda i: i > 1)
    page.keyboard.press("Space")
    page.wait_for_selector("[data-playing=false]")


def test_slider_jump_token_and_row(opened: Open, chapter: Explorer) -> None:
    page = opened(chapter)
    page.get_by_label("Position", exact=True).fill("7")
    assert position(page) == 7
    page.keyboard.press("j")
    page.keyboard.type("5")
    page.keyboard.press("Enter")
    assert position(page) == 5
    page.get_by_role("button", name="position 1: 1").click()
    assert position(page) == 1
    page.locator("[data-row='6']").click()
    assert position(page) == 6
    assert page.get_by_label("Jump to position").input_value() == "6"


def test_the_address_keeps_the_position(opened: Open, chapter: Explorer) -> None:
    page = opened(chapter, "#i=5&layer=4")
    assert position(page) == 5
    assert page.locator(".layer.chosen").get_attribute("data-layer") == "4"
    page.keyboard.press("ArrowRight")
    assert address(page) == "#i=6&layer=4"
    page.reload()
    page.wait_for_selector("html[data-ready=true]")
    assert position(page) == 6
    follow(page, "#i=2&layer=6")
    assert (position(page), address(page)) == (2, "#i=2")


def test_an_address_is_followed_though_the_one_before_is_written_in_between(opened: Open, chapter: Explorer) -> None:
    page = opened(chapter, "#i=4")
    page.evaluate("location.hash = '#i=6'; history.replaceState(null, '', '#i=4')")
    page.wait_for_selector(".rows .row.now[data-row='6']", timeout=5_000)


@pytest.mark.parametrize("text", ["#i=999", "#i=-3&layer=99", "#i=x", "#%%%"])
def test_an_address_that_makes_no_sense_is_mended(opened: Open, chapter: Explorer, text: str) -> None:
    page = opened(chapter, text)
    assert position(page) == (8 if "999" in text else 3)


# ── what it shows ───────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(("machine", "word"), [("chapter", "11"), ("palindromes", "ab")])
def test_every_arc_is_that_of_the_engine(opened: Open, machine: str, word: str) -> None:
    decoder = tm2tfr.compile(machine)
    explorer = tm2tfr.explore(decoder, word)
    page, tokens = opened(explorer), [row.x for row in explorer.traces[0].rows]
    for i, row in enumerate(explorer.traces[0].rows):
        follow(page, f"#i={i}")
        assert position(page) == i
        arcs = page.evaluate(ARCS)
        heads = seen_at(decoder, explorer.traces[0], i).heads
        assert sorted(arcs) == [f"{layer + 1}.{head + 1}" for layer, head in sorted(heads)]
        for (layer, head), (scores, attended) in heads.items():
            arc, spec = arcs[f"{layer + 1}.{head + 1}"], decoder.layers[layer].heads[head]
            text = page.locator(f".look[data-head='{layer + 1}.{head + 1}']").inner_text()
            assert spec.name.split("{")[0].rstrip("_") in text
            if not spec.query.nonzero:
                assert arc["to"] == f"0..{i}"
                assert f"all scores are 0: the mean of all {i + 1} position" in text
                continue
            (j,) = attended
            assert (arc["from"], arc["to"], float(arc["score"])) == (str(i), str(j), scores[j])
            assert (arc["begins"], arc["ends"]) == (i, j)
            assert f"{i} → {j}" in text
            assert page.locator(f".look[data-head='{layer + 1}.{head + 1}'] .token").inner_text() == tokens[j]
            if i > 0:
                best, place = max((float(score), -k) for k, score in enumerate(scores) if k != j)
                assert (float(arc["runner_score"]), int(arc["runner"])) == (best, -place)
                assert float(arc["gap"]) == scores[j] - best > 0
                assert f"runner-up {-place}: {shown(best)}" in text
                assert f"gap {shown(scores[j] - best)}" in text
        assert page.locator(".chip.now").inner_text() == row.x
        assert page.locator(".chip.next").inner_text() == row.y


def test_a_head_is_told_of_in_words(opened: Open, chapter: Explorer) -> None:
    page = opened(chapter, "#i=6")
    said = [
        "all scores are equal: the mean of all 7 positions",
        "position 1, score 0.142857, runner-up 0 with 0, gap 0.142857",
        "position 2, score 0.571429, runner-up 3 with 0.428571, gap 0.142857",
        "position 5, score 1.35714, runner-up 6 with 0.428571, gap 0.928571",
    ]
    told = page.locator(".arcs").get_attribute("aria-label")
    assert told == "; ".join(
        f"head {name}: {words}" for name, words in zip(("2.1", "3.1", "3.2", "4.1"), said, strict=True)
    )
    titles = page.locator(".arc title").evaluate_all("titles => titles.map(title => title.textContent)")
    assert sorted(re.sub(", .*?:", ":", title, count=1) for title in titles) == told.split("; ")
    facts = page.locator(".look[data-head='4.1'] .fact").evaluate_all("facts => facts.map(fact => Number(fact.title))")
    assert facts == [pytest.approx(number) for number in (19 / 14, 3 / 7, 13 / 14)]


def test_scores_that_are_all_the_same(opened: Open) -> None:
    """A head the key of which is a constant, so that it cannot choose."""
    decoder = tm2tfr.compile("chapter")
    key = matrices(decoder)["layers.4.heads.0.key"]
    constant = type(key).from_entries(key.shape, {(1, decoder.layout["1"].start): 2.5})  # the query has -1 there
    broken = replaced(decoder, {"layers.4.heads.0.key": constant})
    page = opened(tm2tfr.explore(broken, "11", max_steps=20), "#i=5")
    text = " ".join(page.locator(".look[data-head='4.1']").inner_text().split())
    assert text.endswith("all scores are −2.5: the mean of all 6 positions")
    assert page.locator(".arc[data-head='4.1']").get_attribute("data-to") == "0..5"


ARCS = """() => Object.fromEntries([...document.querySelectorAll(".arc")].map(arc => {
  const path = arc.querySelector("path:not(.tip)"), box = path.ownerSVGElement.getBoundingClientRect();
  const at = length => {
    const x = box.left + path.getPointAtLength(length).x;
    const near = [...document.querySelectorAll(".chip:not(.next)")].find(chip => {
      const {left, right} = chip.getBoundingClientRect();
      return left <= x && x <= right;
    });
    return near ? Number(near.dataset.position) : null;
  };
  const {head, from, to, score, runner, runnerScore, gap} = arc.dataset;
  return [head, {from, to, score, runner, runner_score: runnerScore, gap, begins: at(0), ends: at(path.getTotalLength())}];
}))"""
"""Each arc's numbers, and on which tokens its line begins and ends."""


def shown(value: float) -> str:
    """Return a number as the page writes it: six digits, no more zeros than needed."""
    return f"{value:.6g}".replace("-", "−")


def test_the_stream_in_words_and_in_numbers(opened: Open, chapter: Explorer) -> None:
    decoder = tm2tfr.compile("chapter")
    page = opened(chapter, "#i=6&layer=4")
    words = dict(page.evaluate(STREAM))
    expected = {"e_q": "q4", "e_b": "_", "m": "−1", "m/(i+1)": "−1/7", "h": "1", "h_{i-1}": "2", "e_b(j*-1)": "x"}
    assert {name: words[name][0] for name in expected} == expected
    assert {name for name, (_, changed, _) in words.items() if changed} == {"h_{j*-1}", "e_b(j*-1)", "[h_{j*-1}=h]"}
    assert words["e_a"] == ["⊥", False, None]
    page.keyboard.press("r")
    settled(page)
    stages = {(layer, part): stream for layer, part, stream in seen_at(decoder, chapter.traces[0], 6).stages}
    before = stages[-1, "embedding"]
    for layer in range(-1, 6):
        page.get_by_label("After which layer").select_option(str(layer))
        settled(page)
        after = stages[layer, "feed_forward" if layer >= 0 else "embedding"]
        for name, (_, changed, raw) in page.evaluate(STREAM):
            place = decoder.layout[name]
            assert raw == [float(v) for v in after[place]]
            was = [0.0] * len(raw) if layer < 0 else [float(v) for v in before[place]]
            assert changed == (raw != was)
        before = after


STREAM = """() => [...document.querySelectorAll(".stream li")].map(li => [li.dataset.subspace, [
  li.querySelector(".words").textContent,
  li.querySelector(".mark").textContent === "◆",
  li.querySelector("code") && JSON.parse(li.querySelector("code").textContent),
]])"""


def marks(page: Any, run: int = 0) -> dict[int, dict[str, tuple[str, str]]]:
    """Return each row's cells: column -> (mark, text)."""
    rows = page.evaluate(
        """n => [...document.querySelectorAll(".run")[n].querySelectorAll(".rows .row")].map(row => [
          Number(row.dataset.row),
          [...row.querySelectorAll("[data-mark]")].map(c => [c.dataset.column, c.dataset.mark, c.innerText]),
        ])""",
        run,
    )
    return {i: {column: (mark, text) for column, mark, text in cells} for i, cells in rows}


def test_cells_are_marked_right(opened: Open, chapter: Explorer) -> None:
    found = marks(opened(chapter))
    assert list(found) == list(range(9))
    assert all(mark == "right" and text.endswith("✓") for cells in found.values() for mark, text in cells.values())
    assert [text for _, text in found[6].values()] == ["(q4,_,-1)✓", "q4✓", "_✓", "−1✓", "1✓", "x✓", "(q4,x,-1)✓"]


def assert_marks(page: Any, trace: Trace) -> None:
    found = marks(page)
    wrong = 0
    for row in trace.rows:
        want = trace.expected[row.i]
        for column in CHECKED:
            mark, text = found[row.i][column]
            due = getattr(want, column)
            differs = getattr(row, column) != due
            wrong += differs
            assert mark == ("wrong" if differs else "right")
            assert ("✗" in text) == differs == ("≠" in text)
            if differs:
                sign = "+" if column == "m" and due > 0 else ""
                assert text.split("≠ ")[1] == (
                    "⊥" if due is None else f"{sign}{due}".replace("-", "−" if column in "mh" else "-")
                )
    assert wrong > 0


def test_wrong_cells_are_marked_in_the_unrepaired_run(opened: Open) -> None:
    explorer = tm2tfr.explore(tm2tfr.compile("left-edge", left_boundary="chapter"), "11")
    page = opened(explorer)
    assert position(page) == 5
    assert_marks(page, explorer.traces[0])
    assert page.locator(".first-wrong").get_attribute("data-row") == "5"
    assert "✗ This run goes wrong at position 5: h should be 1 but is 0" in page.locator(".notice").inner_text()


def test_wrong_cells_are_marked_in_a_sabotaged_run(opened: Open) -> None:
    decoder = tm2tfr.compile("palindromes")
    query = matrices(decoder)["layers.4.heads.0.query"]
    row, col, value = next(query.entries())
    broken = replaced(decoder, {"layers.4.heads.0.query": query.with_entry(row, col, -value)})
    explorer = tm2tfr.explore(broken, "abba", max_steps=20)
    divergence = explorer.traces[0].divergence
    assert divergence is not None
    page = opened(explorer)
    assert_marks(page, explorer.traces[0])
    assert str(divergence.cause).split("\n")[0] in page.locator(".notice").inner_text()


def test_rows_without_a_check_have_no_marks(opened: Open) -> None:
    page = opened(tm2tfr.explore(weights_alone("chapter"), "11"))
    assert {(mark, text[-1] in "✓✗") for cells in marks(page).values() for mark, text in cells.values()} == {
        ("unchecked", False)
    }
    assert page.locator(".badge").inner_text() == "accepts after T = 6"
    assert "not checked" in page.locator(".table-panel h2").inner_text().lower()
    assert page.locator(".graph-panel").count() == 0


def test_rows_after_the_end_are_wrong_by_their_token_alone(opened: Open) -> None:
    """The decoder cannot say ACC, and goes on where the simulator has ended."""
    decoder = tm2tfr.compile("chapter")
    output, wanted = matrices(decoder)["layers.6.feed_forward.output"], decoder.layout.directions.index("e_y[ACC]")
    for row, column, _ in tuple(output.entries()):
        output = output.with_entry(row, column, 0.0) if row == wanted else output
    broken = replaced(decoder, {"layers.6.feed_forward.output": output})
    page = opened(tm2tfr.explore(broken, "11", max_steps=9))
    found = marks(page)
    assert found[8]["y"] == ("wrong", "1✗\n≠ ACC")
    assert [mark for mark, _ in found[9].values()] == ["wrong", *["unchecked"] * 6]
    assert found[9]["x"] == ("wrong", "1✗\n≠ ⊥")
    titles = "row => [...row.querySelectorAll('.tick')].map(tick => tick.title)"
    assert [page.locator(f"[data-row='{i}']").evaluate(titles) for i in (8, 9)] == [
        [*["as the simulator says"] * 6, "the simulator says ACC"],
        ["the simulator says ⊥", *[""] * 6],
    ]


def weights_alone(machine: str) -> Decoder:
    return replace(tm2tfr.compile(machine), provenance={})


def test_the_tape_is_what_the_tokens_say(opened: Open) -> None:
    explorer = tm2tfr.explore("palindromes", "ab")
    page = opened(explorer)
    for i, _ in enumerate(explorer.traces[0].rows):
        follow(page, f"#i={i}")
        assert position(page) == i
        cells = dict(
            page.evaluate('[...document.querySelectorAll(".cell")].map(c => [c.dataset.cell, c.firstChild.textContent])')
        )
        here = page.locator(".cell.here").get_attribute("data-cell")
        row = explorer.traces[0].rows[i]
        assert here == str(row.h)
        assert page.locator(".head .state").inner_text() == (row.q or "⊥")
        if i > 1:
            assert cells[here] == row.a
    assert page.locator(".cell.fresh").count() == 1


CELLS = """() => [...document.querySelectorAll(".cell")].map(cell =>
  [cell.className.slice(5), cell.dataset.cell, cell.firstChild.textContent].join(" ").trim())"""


def test_the_tape_as_it_looks(opened: Open) -> None:
    """Seven cells around the head: which are still to be read, fresh or blank, and where a one-way tape begins."""
    small = {"viewport": {"width": 400, "height": 800}}
    page = opened(tm2tfr.explore("left-edge", "11"), "#i=0", **small)
    assert page.evaluate(CELLS) == ["here wall 0 1", "unread 1 1", *(f"blank {k} _" for k in range(2, 7))]
    page = opened(tm2tfr.explore("busy-beaver-4", ""), "#i=1", **small)
    assert page.evaluate(CELLS) == [
        "blank -3 0",
        "blank -2 0",
        "blank -1 0",
        "here 0 0",
        *(f"blank {k} 0" for k in (1, 2, 3)),
    ]
    follow(page, "#i=60")
    assert position(page) == 60
    assert page.evaluate(CELLS) == ["blank -7 0", "blank -6 0", "here blank -5 0", "fresh -4 1", "-3 1", "-2 1", "-1 0"]
    said = "Tape from cell -7: 0 0 0 1 1 1 0. The head is at cell -5, in state B."
    assert page.locator(".tape").get_attribute("aria-label") == said


@pytest.mark.parametrize(
    ("machine", "width", "open_left"), [("palindromes", 1400, True), ("palindromes", 420, True), ("parity", 420, False)]
)
def test_a_tape_fades_where_it_goes_on(opened: Open, machine: str, width: int, open_left: bool) -> None:
    """The masks fade what is drawn, so the last cell, wherever there is room beside it."""
    page = opened(tm2tfr.explore(machine), "#i=0", viewport={"width": width, "height": 800})
    found = page.evaluate("""() => {
        const [cells, last] = [document.querySelector(".cells"), document.querySelector(".cell:last-child")];
        const place = (element) => element.getBoundingClientRect();
        return [getComputedStyle(cells).maskImage, cells.className, place(cells).right - place(last).right,
            place(cells.parentElement).right - place(last).right];
    }""")
    assert found[0].endswith("rgba(0, 0, 0, 0))")  # transparent at the right end
    assert ("open-left" in found[1]) == open_left
    assert abs(found[2]) < 0.5
    assert found[3] >= 0


def test_no_state_is_called_by_what_is_no_name_and_the_speed_is_not_cut(opened: Open) -> None:
    page = opened(tm2tfr.explore("palindromes"), "#i=0", viewport={"width": 360, "height": 800})
    state, speed = page.locator(".head .state"), page.get_by_label("Speed")
    assert (state.inner_text(), state.get_attribute("title")) == ("⊥", "no state yet")
    assert speed.locator("option").all_inner_texts()[:3] == ["0.5/s", "1/s", "2/s"]
    assert speed.get_attribute("title") == "positions per second"


def test_the_story_says_so_where_the_next_token_is_not_that_of_the_rule(opened: Open) -> None:
    repaired = opened(tm2tfr.explore("left-edge", "11"), "#i=3").locator(".story").inner_text()
    assert repaired.endswith(
        "δ(rewind, 1) = (rewind, I, L); at the left end the head stays, so the next token is (rewind,I,0)."
    )
    chapter = (
        opened(tm2tfr.explore(tm2tfr.compile("left-edge", left_boundary="chapter"), "11"), "#i=3")
        .locator(".story")
        .inner_text()
    )
    assert chapter.endswith("δ(rewind, 1) = (rewind, I, L), so the next token is (rewind,I,-1).")
    decoder = tm2tfr.compile("chapter")
    output = matrices(decoder)["layers.6.feed_forward.output"]
    wanted = decoder.layout.directions.index("e_y[(q1,_,+1)]")
    for row, column, _ in tuple(output.entries()):
        output = output.with_entry(row, column, 0.0) if row == wanted else output  # so that the first token wins
    page = opened(tm2tfr.explore(replaced(decoder, {"layers.6.feed_forward.output": output}), "11", max_steps=5), "#i=3")
    assert page.locator(".story").inner_text().endswith("δ(q0, 1) = (q1, _, R), but the next token is 1.")


@pytest.mark.parametrize(
    ("machine", "word", "i", "story", "rule"),
    [
        ("chapter", "11", 1, "The prompt: 1 is in cell 1 of the tape.", "not started"),
        (
            "chapter",
            "11",
            2,
            "BOS ends the prompt. The decoder answers with the first triple: (q0,1,0).",
            "not started",
        ),
        ("accept-all", "", 0, "BOS ends the prompt. The decoder answers with the verdict: ACC.", "not started"),
        (
            "chapter",
            "11",
            8,
            "The machine went to q1, wrote _ and moved right. It reads x in cell 1: δ(q1, x) = (q_accept, x, R), "
            "and the answer is ACC.",
            "δ(q1, x) = (q_accept, x, R)",
        ),
        (
            "busy-beaver-2",
            "",
            4,
            "The machine went to B, wrote 1 and moved left. It reads 0 in cell −1: δ(B, 0) = (A, 1, L), "
            "so the next token is (A,1,-1).",
            "δ(B, 0) = (A, 1, L)",
        ),
        (
            "busy-beaver-2",
            "",
            7,
            "The machine went to Z, wrote 1 and moved right. It reads 1 in cell 0: the answer is HALT.",
            "Z: no rule for 1",
        ),
    ],
)
def test_the_story_of_each_kind_of_position(opened: Open, machine: str, word: str, i: int, story: str, rule: str) -> None:
    page = opened(tm2tfr.explore(machine, word), f"#i={i}")
    assert (page.locator(".story").inner_text(), page.locator(".rule").inner_text()) == (story, rule)


def test_what_is_left_out_and_what_did_not_end(opened: Open) -> None:
    page = opened(tm2tfr.explore("never-halts", "", max_steps=200), "#i=200")
    assert page.locator(".badge").inner_text() == "✓ no verdict within the limit"
    assert page.locator(".check").inner_text() == "✓ 1,407 cells compared with the simulator, all agree"
    places = page.locator(".chip:not(.next)").evaluate_all("chips => chips.map(chip => Number(chip.dataset.position))")
    gaps = [after - before - 1 for before, after in pairwise(places) if after > before + 1]
    titles = page.locator(".omitted").evaluate_all("omitted => omitted.map(item => item.title)")
    assert titles == [f"{gap} more positions, not shown" for gap in gaps] != []
    page = opened(tm2tfr.explore(tm2tfr.compile("left-edge", left_boundary="chapter"), "11"))
    assert page.locator(".check").inner_text() == "✗ differs from the simulator at position 5"


@pytest.mark.parametrize("width", [400, 1400])
def test_the_name_of_the_state_is_not_cut_off(opened: Open, width: int) -> None:
    """Neither at the left end of the tape, nor where it is wider than that."""
    for explorer, i in ((tm2tfr.explore("left-edge", "11"), 4), (tm2tfr.explore(LONG_NAME, "1", max_steps=20), 2)):
        page = opened(explorer, f"#i={i}", viewport={"width": width, "height": 800}, reduced_motion="reduce")
        settled(page)
        tape, name = (page.locator(where).bounding_box() for where in (".tape", ".head .state"))
        assert tape["x"] - 0.5 <= name["x"] < name["x"] + name["width"] <= tape["x"] + tape["width"] + 0.5


LONG_NAME = tm2tfr.Machine.from_yaml(f"""
blank: _
start state: {"a-very-long-name-" * 5}
table:
  {"a-very-long-name-" * 5}:
    [1, _]: R
""")


def test_scores_that_differ_look_different(opened: Open, endless: Explorer) -> None:
    page = opened(endless, "#i=1200")
    text = page.locator(".look[data-head='3.2']").inner_text()
    score, runner = re.findall(r"(?:score|runner-up \d+:) ([\d.]+)", text)
    assert score[:7] == runner[:7]
    assert float(score) > float(runner)


@pytest.mark.parametrize("dot", [True, False])
def test_the_state_graph_follows(opened: Open, monkeypatch: pytest.MonkeyPatch, dot: bool) -> None:
    if dot:
        from tm2tfr.sources.turing.drawing import svg_or_none

        if svg_or_none(tm2tfr.load("chapter")) is None:
            pytest.skip(NO_DOT)
    else:
        monkeypatch.setenv("PATH", "")
    explorer = tm2tfr.explore("chapter", "11")
    assert ("Graphviz in WebAssembly" in explorer.html) == (not dot)
    monkeypatch.undo()
    page = opened(explorer, "#i=5")
    page.wait_for_selector(".graph .node.now")
    states = page.evaluate("""[...document.querySelectorAll(".graph .node text")].map(text => text.textContent)""")
    rules = []
    assert sorted(states) == ["q0", "q1", "q2", "q3", "q4", "q_accept", "q_reject"]
    for row in explorer.traces[0].rows[3:]:
        assert gone_to(page, row.i) == row.i
        settled(page)
        assert page.locator(".graph .node.now").evaluate("node => node.textContent.trim()") == row.q
        rules.append(page.locator(".graph .edge text.now").evaluate("text => text.textContent.trim()"))
        assert page.locator(".graph .edge.now").count() == 1
    assert rules == ["1 → _, R", "1 → x, R", "_ → L", "1,x → L", "_ → R", "_,x → R"]
    assert page.locator(".rule").inner_text() == "δ(q1, x) = (q_accept, x, R)"


def test_the_rule_is_marked_in_an_arrow_with_several(opened: Open) -> None:
    explorer = tm2tfr.explore("busy-beaver-2", "")
    page, rules = opened(explorer), []
    page.wait_for_selector(".graph .node.now")
    for row in explorer.traces[0].rows[1:]:
        follow(page, f"#i={row.i}")
        page.locator(f".rows .row.now[data-row='{row.i}']").wait_for(state="attached")  # the table is drawn last
        rules += page.locator(".graph .edge text.now").evaluate_all("texts => texts.map(text => text.textContent.trim())")
    assert rules == ["0 → 1, R", "0 → 1, L", "1 → L", "0 → 1, L", "0 → 1, R", "1 → R"]


def test_the_layers_say_what_they_are(opened: Open, chapter: Explorer) -> None:
    page = opened(chapter, "#i=6")
    before, *layers, after = page.locator(".layer").all_inner_texts()
    assert after.split("\n")[0] == "unembedding"
    assert [line for line in before.split("\n") if line][1:3] == [
        "embedding",
        "the token at this position, and the position itself",
    ]
    assert [text.split("\n")[1] for text in layers] == [layer.name for layer in tm2tfr.compile("chapter").layers]
    assert "the latest write of the cell under the head, and whether there was one" in layers[3]
    assert "8.15-8.17" in layers[3]
    assert [" ".join(page.locator(".wrote").nth(n).inner_text().split()) for n in (0, 1, 5, 6)] == [
        "writes x = (q4,_,-1) 1/(i+1) = 1/7 1 = 1 i = 6 i2 = 36",
        "writes q = q4 b = _ m = −1 m/(i+1) = −1/7",
        "writes a = x",
        "writes y = (q4,x,-1)",
    ]
    assert not page.locator("[data-layer='4'] pre").is_visible()
    page.get_by_role("button", name="the weights of layer 4").click()
    shown = page.locator("[data-layer='4'] pre").inner_text()
    assert shown.strip() == tm2tfr.listing(tm2tfr.compile("chapter"), "4").strip()


@pytest.mark.parametrize(
    ("source", "word"),
    [
        ("chapter", "11"),
        ("full-adder", "110"),
        (tm2tfr.Universal(states=8, symbols=4).holding(tm2tfr.load("chapter")), "1"),
    ],
    ids=["machine", "circuit", "prompt"],
)
def test_the_model_is_the_one_that_is_explained(opened: Open, source: Any, word: str) -> None:
    page = opened(tm2tfr.explore(source, word))
    explained = tm2tfr.explain(source)
    tables = page.locator(".model-panel table")
    assert not tables.first.is_visible()
    page.locator(".model-panel summary").click()
    cells = [[row.locator("td").all_inner_texts() for row in table.locator("tbody tr").all()] for table in tables.all()]
    assert [len(rows) for rows in cells] == [len(explained.variables), len(explained.patterns)]
    meanings = [re.sub("[_{}^]", "", each.meaning) for each in explained.variables]  # subscripts have signs of their own
    assert [row[1] for row in cells[0]] == meanings
    layer = next(each.since[0] for each in explained.variables if each.since[0] >= 0)
    page.locator(".model-panel td button", has_text=f"{layer + 1} ").first.click()
    settled(page)
    chosen = page.locator(".model-panel tr.chosen td:nth-child(2)").all_inner_texts()
    written = [each.stored and each.since[0] == layer for each in explained.variables]
    assert chosen == [*compress(meanings, written)]
    assert page.locator(".layer.chosen").get_attribute("data-layer") == str(layer + 1)
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0


# ── beside one another ──────────────────────────────────────────────────────────────────────────────────────
def test_the_unrepaired_run_beside_the_repaired_one(opened: Open) -> None:
    explorer = tm2tfr.explore("left-edge", "11", compare="chapter")
    page = opened(explorer)
    assert page.locator(".run-title").all_inner_texts() == [
        "With the left-boundary repair",
        "As in the chapter, without the repair",
    ]
    assert page.locator(".badge").all_inner_texts() == ["✓ repaired: accepts after T = 9", "✗ chapter: rejects after T = 5"]
    notice = page.locator(".notice").inner_text()
    assert "Without the repair the run goes wrong at position 5: h should be 1 but is 0" in notice
    assert "Cause: layer 2 (head position), attention at position 5: h/(i+1) should be 0.166666667, is 0" in notice
    assert "Exercise 8.3: token 4, (rewind,I,-1), moves left at cell 0" in notice
    assert page.locator(".notice").is_visible()
    assert position(page) == 5
    assert {mark for cells in marks(page, 0).values() for mark, _ in cells.values()} == {"right"}
    assert marks(page, 1)[5]["h"] == ("wrong", "0✗\n≠ 1")
    assert page.locator(".badge").evaluate_all("badges => badges.map(badge => badge.className)") == [
        "badge good",
        "badge bad",
    ]
    page.keyboard.press("Home")
    page.keyboard.press("d")
    assert position(page) == 5
    page.keyboard.press("Home")
    page.get_by_role("button", name="go to position 5").click()
    assert position(page) == 5
    page.keyboard.press("End")
    settled(page)
    assert page.locator(".rows .row.now").evaluate_all("rows => rows.map(row => row.dataset.row)") == ["11", "7"]
    assert page.locator(".ended").nth(1).inner_text() == "This run has ended, at position 7."
    boxes = [page.locator(".run").nth(n).bounding_box() for n in (0, 1)]
    assert boxes[0]["y"] == boxes[1]["y"]
    assert boxes[0]["x"] < boxes[1]["x"]


def test_two_runs_that_are_the_same(opened: Open) -> None:
    page = opened(tm2tfr.explore("chapter", "11", compare="chapter"))
    same = "✓ Both runs agree with the simulator in every cell. On this input the head never moves left at cell 0."
    assert page.locator(".notice.fine").inner_text() == same
    page = opened(tm2tfr.explore("chapter", compare="chapter"))
    searched = "The head never does so on any of the 99 inputs tried."
    assert page.locator(".notice.fine").inner_text() == f"{same} {searched}"


def test_two_runs_open_at_the_first_input_on_which_they_differ() -> None:
    explorer = tm2tfr.explore("left-edge", compare="chapter")
    assert [(trace.input, trace.agrees) for trace in explorer.traces] == [("11", True), ("11", False)]
    assert explorer.searched is None
    assert tm2tfr.explore("chapter", compare="chapter").searched == 99


# ── every screen ────────────────────────────────────────────────────────────────────────────────────────────
def luminance(page: Any) -> float:
    rgb = page.evaluate("getComputedStyle(document.body).backgroundColor.match(/[0-9]+/g).slice(0, 3).map(Number)")
    return sum(rgb) / 765


def test_light_and_dark(opened: Open, chapter: Explorer) -> None:
    assert luminance(opened(chapter, color_scheme="light")) > 0.9
    page = opened(chapter, color_scheme="dark")
    assert luminance(page) < 0.1
    page.keyboard.press("t")
    assert luminance(page) > 0.9
    assert page.locator("#theme").inner_text() == "☀ theme: light"
    page.locator("#theme").click()
    assert luminance(page) < 0.1
    page.reload()
    page.wait_for_selector("html[data-ready=true]")
    assert page.locator("#theme").inner_text() == "☾ theme: dark"


def test_a_long_input_leaves_room_for_the_run(opened: Open) -> None:
    word = "1" * 3_000
    page = opened(tm2tfr.explore("chapter", word, max_steps=10), viewport={"width": 400, "height": 800})
    assert page.locator("header.bar").bounding_box()["height"] < 250
    assert page.locator(".bar .input").get_attribute("title") == f"input {word}"


@pytest.mark.parametrize("width", [320, 400, 768])
def test_a_narrow_screen(opened: Open, width: int) -> None:
    page = opened(tm2tfr.explore("left-edge", "11", compare="chapter"), viewport={"width": width, "height": 800})
    for i in (0, 5, 11):
        follow(page, f"#i={i}")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator(".tape").first.is_visible()
    assert page.get_by_role("button", name="Play").is_visible()


def test_on_paper(opened: Open, chapter: Explorer) -> None:
    page = opened(chapter, "#i=6", color_scheme="dark")
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert luminance(page) == 1
    assert not page.locator(".controls").is_visible()
    assert page.locator(".rows .row").count() == 9
    assert page.locator(".rows .row").evaluate_all("rows => new Set(rows.map(row => row.offsetTop)).size") == 9
    assert len(page.pdf()) > 20_000


def test_of_a_long_run_the_rows_around_the_position_are_printed(opened: Open) -> None:
    page = opened(tm2tfr.explore("busy-beaver-5", "", max_steps=300), "#i=150")
    rows = "[...document.querySelectorAll('.rows .row')].map(row => Number(row.dataset.row))"
    for i, first in ((150, 130), (300, 261), (2, 0)):
        follow(page, f"#i={i}")
        assert position(page) == i
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert page.evaluate(rows) == list(range(first, first + 40))
        page.evaluate("dispatchEvent(new Event('afterprint'))")
        assert page.evaluate(rows) != list(range(first, first + 40))


def test_a_long_run_has_few_rows_at_a_time(opened: Open) -> None:
    page = opened(tm2tfr.explore("busy-beaver-5", "", max_steps=1_500))
    for key, i in {"End": 1500, "PageUp": 1400, "Home": 0}.items():
        page.keyboard.press(key)
        assert position(page) == i
        row = page.locator(".rows .row.now")
        view, box = page.locator(".table").bounding_box(), row.bounding_box()
        assert view["y"] <= box["y"]
        assert box["y"] + box["height"] <= view["y"] + view["height"]
        rows = page.locator(".rows .row").evaluate_all("rows => rows.map(row => Number(row.dataset.row))")
        assert rows == sorted(rows)
        assert len(rows) < 60
    page.locator(".table").evaluate("table => { table.scrollTop = 36 * 700 }")
    page.wait_for_selector("[data-row='705']")
    assert page.locator(".chip").count() < 40
    follow(page, "#i=1200")
    assert page.evaluate("document.documentElement.scrollWidth") <= 1400
    assert page.locator(".omitted").count() > 0


def test_reduced_motion(opened: Open, chapter: Explorer) -> None:
    moving = "getComputedStyle(document.querySelector('.head')).transitionDuration"
    assert opened(chapter).evaluate(moving) == "0.14s"
    assert opened(chapter, reduced_motion="reduce").evaluate(moving) == "0s"


def test_everything_that_can_be_pressed_has_a_name_and_can_be_reached(opened: Open, chapter: Explorer) -> None:
    page = opened(chapter)
    nameless = """[...document.querySelectorAll("button, select, input, [tabindex='0']")].filter(
      e => !(e.getAttribute("aria-label") || e.textContent.trim() || e.labels?.length)).map(e => e.outerHTML)"""
    assert page.evaluate(nameless) == []
    assert page.locator("svg:not([aria-hidden=true]):not([aria-label])").count() == 0
    page.locator(".chip.now").focus()
    page.keyboard.press("ArrowRight")
    settled(page)
    assert page.evaluate("document.activeElement.dataset.position") == "4"


def test_in_a_notebook_it_runs_in_a_frame_that_may_do_nothing_else(chromium: Any, chapter: Explorer) -> None:
    window = browser.Window(chromium)
    window.page.set_content(chapter._repr_html_())
    frame = window.page.frame_locator("iframe")
    frame.locator("html[data-ready=true]").wait_for()
    frame.get_by_role("button", name="Step", exact=True).click()
    frame.locator(".row.now[data-row='4']").wait_for()
    window.page.wait_for_timeout(150)
    window.close()
    assert window.complaints == []


def test_nothing_in_a_machine_is_taken_for_html(opened: Open) -> None:
    evil = "</script><img src=x onerror=alert(1)>"
    machine = tm2tfr.Machine(
        transitions={(evil, "<"): (evil, "&", "R"), (evil, "_"): ("<!--", '"', "L")},
        start=evil,
        blank="_",
        name=evil,
        description=evil,
    )
    page = opened(tm2tfr.explore(machine, "<<"))
    assert page.locator("h1").inner_text() == evil
    assert page.locator("img").count() == 0
    assert evil in page.locator(".story").inner_text()
    assert page.title() == f"{evil} on '<<'"


def test_the_pictures_for_the_readme_and_the_manual(chromium: Any, tmp_path: Path) -> None:
    screenshot.take_all(chromium, tmp_path)
    pictures = {"explorer.png": 1600, "explorer-circuit.png": 1140}
    pictures |= {"figures/explorer-universal.png": 1420, "figures/explorer-rasp.png": 1180}
    for name, height in pictures.items():
        for folder in (tmp_path, ROOT / "docs"):  # fonts differ from machine to machine: no bytes are compared
            data = (folder / name).read_bytes()
            assert data[:8] == b"\x89PNG\r\n\x1a\n"
            assert struct.unpack(">II", data[16:24]) == (1400, height)
            assert len(data) > 80_000
