"""The page of a run that labels every position (RASP, formulas, automata): its data, and what a browser shows of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tm2tfr
from tests.engines.labellers import labeller
from tests.engines.looped import counting
from tests.handmade import HANDMADE
from tests.installed import needs_dot
from tests.web.explorer import browser
from tests.web.explorer.browser import Open, position, settled
from tests.web.explorer.reading import buffer, column, embedded, recorded
from tm2tfr.base.errors import CompileError, EngineError
from tm2tfr.cli import main
from tm2tfr.engines import engine
from tm2tfr.engines.decode import observe_all
from tm2tfr.web.explorer.document import Explorer

in_browser = pytest.mark.skipif(browser.missing() is not None, reason=str(browser.missing()))
KINDS = {
    "RASP": ("histogram", "§aab"),
    "RASP, a mask": ("running-maximum", "0213"),
    "a loop": ("looped-parity", "0110"),
    "formula": ("since-b", "abacb"),
    "BOS and EOS": ("starts-110", "0110"),
    "long tokens": ("flip-flops", '["w1", "r1", "r0"]'),
    "numbers": ("square-or-power", "aaa"),
    "automaton": ("mod-3", "110"),
}


# ── the data ────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("kind", ["RASP", "BOS and EOS", "numbers"])
def test_the_table_is_the_trace(kind: str) -> None:
    page = tm2tfr.explore(*KINDS[kind])
    (trace,), (run,), numbers = page.traces, embedded(page.html)["runs"], buffer(page.html)
    assert (run["labels"], run["count"], run["prompt"], run["T"], run["agrees"]) == (True, *[len(trace.rows)] * 2, 0, True)
    assert [heading["name"] for heading in run["columns"]] == [c.name for c in trace.columns[1:]]
    for n, heading in enumerate(run["columns"], start=1):
        found = column(numbers, run["rows"][heading["name"]]).tolist()
        cells = found if heading["number"] else [run["texts"][k - 1] for k in found]
        assert cells == [row[n] for row in trace.rows]


def looked(subject: Any, word: str) -> tuple[dict[str, Any], list[Any]]:
    """Return the run of a page, and what the engine shows of the same run, position by position."""
    found = tm2tfr.Subject.of(subject)
    return recorded(tm2tfr.explore(found, word).html)[0], observe_all(
        found.decoder, found.prompt(word), engine=engine("dense")
    )


@pytest.mark.parametrize(
    ("subject", "word"),
    [("running-maximum", "0213"), ("starts-110", "01"), (labeller(), "abba"), (counting(), "2531")],
    ids=["a mask", "to the right", "weights alone", "a loop"],
)
def test_heads_look_where_the_engine_says_in_every_pass(subject: Any, word: str) -> None:
    run, seen = looked(subject, word)
    for layer, pass_ in run["steps"]:
        for k, head in enumerate(run["layers"][layer]["heads"]):
            for i, each in enumerate(seen):
                _, attended = each.looks[layer, k, max(0, pass_ - 1)]
                n = max(0, pass_ - 1) * len(seen) + i
                if head["seen"] is None:
                    start, end = {"future": (0, i + 1), "past": (i, len(seen)), "none": (0, len(seen))}[head["mask"]]
                    assert attended.tolist() == list(range(start, end))
                    continue
                assert (head["seen"]["winner"][n], head["seen"]["count"][n]) == (attended[0], len(attended))
                if str(n) in head["sharers"]:
                    assert head["sharers"][str(n)] == attended.tolist()


def test_the_stream_of_a_loop_is_there_pass_by_pass() -> None:
    run, seen = looked(counting(), "2531")
    shown = [(layer, max(0, pass_ - 1)) for layer, pass_ in run["steps"] for _ in range(2)]
    assert shown == [(layer, again) for (layer, *_), again in zip(seen[0].stages, seen[0].passes, strict=True)][1:]
    assert len(run["stages"]) == len(seen[0].stages)


def test_the_model_of_a_program_is_there() -> None:
    data = embedded(tm2tfr.explore("histogram", "§aab").html)
    formulas = {variable["name"]: variable["formula"] for variable in data["model"]["variables"]}
    assert formulas["histogram"] == "histogram = round(1 / frac_with_0) - 1"
    claims = {head["claim"] for layer in data["runs"][0]["layers"] for head in layer["heads"]}
    assert {pattern["claim"] for pattern in data["model"]["patterns"]} == claims


@needs_dot
def test_an_automaton_is_drawn() -> None:
    html = tm2tfr.explore("mod-3", "110").html
    drawing = embedded(html)["drawing"]
    assert drawing["name"] == "state graph of the automaton"
    assert drawing["marks"] == {"column": "state", "nodes": {"0": "s0", "1": "s1", "2": "s2"}, "start": "s0"}
    assert column(buffer(html), drawing["graph"]["svg"]).tobytes().startswith(b"<svg")


def test_without_graphviz_the_page_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    html = tm2tfr.explore("mod-3", "110").html
    assert embedded(html)["drawing"]["graph"]["dot"].startswith("digraph")
    assert "Graphviz in WebAssembly" in html


def test_weights_alone_have_neither_a_drawing_nor_a_model() -> None:
    data = embedded(tm2tfr.explore(labeller(), "abba").html)
    assert (data["drawing"], data["sequence"], data["model"]) == (None, None, None)
    assert data["runs"][0]["agrees"] is None
    assert data["box"]["tokens"] == {"before": [], "after": [], "alphabet": ["a", "b", "c"], "about": None}


@pytest.mark.parametrize(
    ("name", "word", "ends"), [("hop-1", "abcab", ["BOS"]), ("starts-110", "0110", ["BOS", "EOS"]), ("length", "ab", [])]
)
def test_what_is_fed_around_an_input_is_known(name: str, word: str, ends: list[str]) -> None:
    tokens = embedded(tm2tfr.explore(name, word).html)["box"]["tokens"]
    assert [*tokens["before"], *tokens["after"]] == ends
    assert not set(ends) & set(tokens["alphabet"])


@pytest.mark.slow
def test_a_run_that_is_too_long_for_a_page_is_refused() -> None:
    subject = tm2tfr.Subject.of("length", options={"max_length": 201})
    what = r"length: the page shows every pair of positions, and 201 positions are too many: use at most 200"
    with pytest.raises(EngineError, match=what):
        tm2tfr.explore(subject, "a" * 201)


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(CompileError, match="reverse: a left boundary to compare with is that of a machine: omit compare"):
        tm2tfr.explore("reverse", "abc", compare="chapter")


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["explore", "reverse", "--input", "abc", "-o", str(tmp_path / "run.html")])
    assert end.value.code == 0
    assert "reverse = cba" in capsys.readouterr().out
    assert (tmp_path / "run.html").read_text(encoding="utf-8") == tm2tfr.explore("reverse", "abc").html


# ── in a browser ────────────────────────────────────────────────────────────────────────────────────────────
def stage(page: Any) -> str:
    settled(page)
    return str(page.locator(".controls .stage").inner_text())


@pytest.mark.slow
@in_browser
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("width", [1400, 390])
def test_nothing_is_wider_than_the_window(opened: Open, kind: str, width: int) -> None:
    page = opened(tm2tfr.explore(*KINDS[kind]), viewport={"width": width, "height": 900})
    for more in page.locator(".layer button[aria-expanded]").all():
        more.click()
    page.locator(".model-panel summary").click()
    settled(page)
    assert page.evaluate("document.documentElement.scrollWidth") == width


@pytest.mark.slow
@in_browser
def test_the_layers_play_at_a_position(opened: Open) -> None:
    page = opened(tm2tfr.explore("histogram", "§aab"))
    assert (stage(page), position(page)) == ("the outputs", 3)
    page.keyboard.press("ArrowDown")
    assert stage(page) == "the embedding"
    page.keyboard.press("ArrowDown")
    assert stage(page) == "layer 1"
    assert page.locator(".layer.chosen .layer-name").inner_text().split() == ["1", "feed-forward"]
    page.get_by_label("Speed").select_option("64")
    page.keyboard.press("Escape")  # leaves the list of speeds
    page.keyboard.press("Space")
    page.locator(".controls .stage", has_text="the outputs").wait_for()
    page.locator(".control.play[data-playing=false]").wait_for()
    assert position(page) == 3


@pytest.mark.slow
@in_browser
def test_the_story_tells_what_each_layer_does(opened: Open) -> None:
    page, told = opened(tm2tfr.explore("reverse", "abc")), []
    for _ in range(4):
        told.append(page.locator(".story").inner_text())
        page.keyboard.press("ArrowDown")
        settled(page)
    here = "at position 2, the token c"
    assert told == [
        f"{here.capitalize()}: reverse is a. All positions are answered at once, in 2 layers; ▶ plays the layers at this "
        "position.",
        "The embedding writes what is known at position 2, the token c, before any layer: token = c, position = 2, i = 2 "
        "and 1 more value.",
        f"Layer 1, {here}: head 1.1 takes the mean of 3 positions. The layer writes mean length.share = 1/3 "
        "and 1 more value.",
        f"Layer 2, {here}: head 2.1 attends to position 0, the token a. The layer writes picked reverse = a.",
    ]


@pytest.mark.slow
@in_browser
def test_the_help_explains_the_terms_of_its_kind(opened: Open) -> None:
    page = opened(tm2tfr.explore("reverse", "abc"))
    page.keyboard.press("?")
    terms = page.locator("dialog dt").all_inner_texts()
    assert {"s-op", "selector", "head 2.1", "runner-up, gap", "subspace"} <= set(terms)
    assert not {"g", "Q[a]", "gate"} & set(terms)


@pytest.mark.slow
@in_browser
def test_every_position_shows_its_own(opened: Open) -> None:
    """The arcs, the answer, what the layers write, the stream and the row move with the position."""
    explorer = tm2tfr.explore("histogram", "§aab")
    page, told = opened(explorer), set()
    page.keyboard.press("Home")
    for row in explorer.traces[0].rows:
        i, token, answer, _ = row
        assert position(page) == i
        assert page.locator(".story").inner_text().startswith(f"At position {i}, the token {token}: histogram is {answer}")
        assert page.locator(".chip.now").inner_text() == token
        assert page.locator(".chips .answer.now").inner_text() == answer
        assert page.locator("[data-column='histogram']").nth(i).inner_text() == f"{answer}✓"
        assert page.locator(".outputs-card .value").first.inner_text() == f"histogram = {answer}✓"
        told.add(page.locator(".arc").get_attribute("data-to"))
        assert page.locator("[data-subspace=token] .words").inner_text() == token
        page.keyboard.press("ArrowRight")
    assert told == {"0", "0 1 2", "0 3"}


@pytest.mark.slow
@in_browser
def test_a_pass_of_a_loop_can_be_chosen(opened: Open) -> None:
    page = opened(tm2tfr.explore("looped-parity", "0110"))
    page.keyboard.press("End")
    assert page.locator(".loop").inner_text().split("\n")[0].startswith("layers 1 to 2 run repeatedly:")
    written = lambda: [page.locator(f"[data-layer='{n}'] .wrote").inner_text() for n in (1, 2)]  # noqa: E731
    last = written()
    page.get_by_label("the pass before").click()
    assert stage(page) == "layer 1, pass 2"
    assert written() != last
    page.keyboard.press("ArrowDown")
    assert stage(page) == "layer 2, pass 2"
    page.keyboard.press("ArrowDown")
    assert stage(page) == "layer 1, pass 3"
    assert written() == last


@pytest.mark.slow
@in_browser
def test_the_state_of_an_automaton_is_marked_in_its_graph(opened: Open) -> None:
    page = opened(tm2tfr.explore("mod-3", "110"), "#i=0")
    for i, state in enumerate("100"):
        assert position(page) == i
        assert page.locator(".graph .node.now text").text_content() == state
        assert page.locator(".graph .edge.now").count() == 1
        page.keyboard.press("ArrowRight")


@pytest.mark.slow
@in_browser
def test_a_head_that_looks_ahead_has_arcs_to_the_right(opened: Open) -> None:
    page = opened(tm2tfr.explore("reverse", "abca"), "#i=0")
    settled(page)
    assert page.locator(".arc").evaluate_all("all => all.map(one => one.dataset.to)") == ["0..3", "3"]
    assert page.locator(".chip").all_inner_texts() == ["a", "b", "c", "a"]
    assert page.locator(".chips .answer").all_inner_texts() == ["a", "c", "b", "a"]


# ── weights that generate, and are no machine's ─────────────────────────────────────────────────────────────
def explored(name: str) -> Explorer:
    make, word, _ = HANDMADE[name]
    return tm2tfr.explore(make(), word, max_steps=6)


@pytest.mark.parametrize("name", HANDMADE)
def test_the_page_has_every_cell_and_every_subspace(name: str) -> None:
    page = explored(name)
    (trace,), data, numbers = page.traces, embedded(page.html), buffer(page.html)
    (run,) = data["runs"]
    assert data["machine"] is None
    assert (run["tape"], run["agrees"], run["expected"], run["divergence"]) == (False, None, None, None)
    assert [heading["name"] for heading in run["columns"]] == [c.name for c in trace.columns[1:]] == list(run["rows"])
    for n, heading in enumerate(run["columns"], start=1):
        found = column(numbers, run["rows"][heading["name"]]).tolist()
        cells = found if heading["number"] else [run["texts"][k - 1] if k else None for k in found]
        assert cells == [row[n] for row in trace.rows]
    assert [s["name"] for s in run["subspaces"]] == [s.name for s in HANDMADE[name][0]().layout.subspaces]
    assert [layer["equation"] for layer in run["layers"]] == [""] * len(run["layers"])


def test_the_stream_is_the_engines() -> None:
    page = explored("majority")
    (run,), numbers = embedded(page.html)["runs"], buffer(page.html)
    written = dict(run["stages"][1])
    assert list(written) == [2]  # the head writes the share of 1s, and nothing else
    assert np.array_equal(column(numbers, written[2]["values"]), [row.share_of_1s for row in page.traces[0].rows])


def test_the_command_writes_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make, word, _ = HANDMADE["majority"]
    tm2tfr.save_weights(make(), tmp_path / "w.safetensors")
    with pytest.raises(SystemExit) as ended:
        main(["explore", str(tmp_path / "w.safetensors"), "--input", word, "-o", str(tmp_path / "run.html")])
    assert ended.value.code == 0
    assert (
        capsys.readouterr().out
        == """\
end: the run ends, after T = 1 intermediate step
engine: dense, float64, 7 positions
check: none, since no machine to compare with is stored with these weights
"""
    )
    assert embedded((tmp_path / "run.html").read_text(encoding="utf-8"))["title"] == "majority on '10110'"


# ── in a browser ────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.similar
@pytest.mark.slow
@in_browser
@pytest.mark.parametrize("name", HANDMADE)
def test_the_table_of_such_weights_is_the_trace(opened: Open, name: str) -> None:
    explorer = explored(name)
    (trace,) = explorer.traces
    page = opened(explorer)
    header = page.locator(".row.header span[role=columnheader]").all_inner_texts()
    assert header == [c.name for c in trace.columns]
    for i, row in enumerate(trace.rows):
        page.keyboard.press("ArrowRight" if i else "Home")
        page.wait_for_selector(f".rows .row.now[data-row='{i}']")
        cells = page.locator(f".rows .row[data-row='{i}'] [data-column]").all_inner_texts()
        assert cells == ["⊥" if v is None else str(v).replace("-", "−") if not isinstance(v, str) else v for v in row[1:]]
    assert page.locator("[data-mark=right], [data-mark=wrong], .tape, .graph-panel").count() == 0
    assert page.locator(".check").inner_text() == "not checked: there is no machine to compare with"


@pytest.mark.slow
@in_browser
def test_what_is_said_of_a_run(opened: Open) -> None:
    page = opened(explored("majority"), "#i=5")
    assert page.locator(".verdict").inner_text() == "ends with end after T = 1"
    assert page.locator(".story").inner_text() == "<s> ends the prompt. It answers with 1, which is the next token."
    page.keyboard.press("Home")
    settled(page)
    assert page.locator(".story").inner_text() == "The prompt: 1. The decoder's answer to it is not used."
    page.keyboard.press("End")
    settled(page)
    assert page.locator(".story").inner_text() == "The decoder is given 1. It answers with end, which ends the run."
    assert page.locator(".layer:not([data-layer=unembedding])").count() == 2
    names = page.locator(".stream li").evaluate_all("all => all.map(one => one.dataset.subspace)")
    assert names == ["token", "one", "share of 1s", "verdict"]
    assert page.locator("h2").filter(has_text="The table").count() == 1
    assert opened(explored("shifted")).locator(".verdict").inner_text() == "no verdict within the limit"
