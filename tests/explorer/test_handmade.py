"""The page of a decoder that is no Turing machine: its own columns, its own subspaces, no tape, no graph, no check."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tm2tfr
from tests.explorer import browser
from tests.explorer.browser import Open, settled
from tests.explorer.reading import buffer, column, embedded
from tests.handmade import HANDMADE
from tm2tfr.cli import main
from tm2tfr.web.explorer.document import Explorer

in_browser = pytest.mark.skipif(browser.missing() is not None, reason=str(browser.missing()))


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
def test_the_table_is_the_trace(opened: Open, name: str) -> None:
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
    assert page.locator(".story").inner_text() == "The prompt: 1. What the decoder answers to it is not used."
    page.keyboard.press("End")
    settled(page)
    assert page.locator(".story").inner_text() == "The decoder is given 1. It answers with end, which ends the run."
    assert page.locator(".layer").count() == 2
    names = page.locator(".stream li").evaluate_all("all => all.map(one => one.dataset.subspace)")
    assert names == ["token", "one", "share of 1s", "verdict"]
    assert page.locator("h2").filter(has_text="The table").count() == 1
    assert opened(explored("shifted")).locator(".verdict").inner_text() == "no verdict within the limit"
