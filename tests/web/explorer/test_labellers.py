"""The page of a labeller: its answers, its drawings, its heads, and its residual stream, all side by side."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import tm2tfr
from tests.engines.labellers import labeller
from tests.handmade import HANDMADE
from tests.installed import needs_dot
from tests.web.explorer import browser
from tests.web.explorer.browser import Open, settled
from tests.web.explorer.reading import buffer, column, embedded
from tm2tfr.base.errors import CompileError, EngineError, ShapeError
from tm2tfr.cli import main
from tm2tfr.engines import engine
from tm2tfr.engines.decode import observe_all
from tm2tfr.web.explorer.document import Explorer
from tm2tfr.web.explorer.labeller import labeller_page


def tables(html: str) -> list[list[list[str]]]:
    """Return the cells of every table of a page, by row; its tags have to match."""
    found: list[list[list[str]]] = []
    opened: list[str] = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            if tag not in ("meta", "br"):
                opened.append(tag)
            if tag == "table":
                found.append([])
            elif tag == "tr":
                found[-1].append([])
            elif tag in ("td", "th"):
                found[-1][-1].append("")

        def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            """Nothing is opened."""

        def handle_endtag(self, tag: str) -> None:
            assert opened.pop() == tag

        def handle_data(self, data: str) -> None:
            if opened and opened[-1] in ("td", "th", "mark"):
                found[-1][-1][-1] += data

    Reader().feed(html)
    assert opened == []
    return found


def headings(html: str) -> list[str]:
    return [unescape(text) for text in re.findall(r"<summary>(.*?)</summary>", html)]


@needs_dot
def test_the_page_of_a_rasp_program() -> None:
    page = tm2tfr.explore("reverse", "abc")
    answers, everywhere, flipped, *streams = tables(page.html)
    assert answers == [["i", "x", "reverse"], ["0", "a", "c"], ["1", "b", "b"], ["2", "c", "a"]]
    assert everywhere == [["", "0", "1", "2"], *([str(q), "1/3", "1/3", "1/3"] for q in range(3))]
    assert flipped == [["", "0", "1", "2"], ["0", "", "", "1"], ["1", "", "1", ""], ["2", "1", "", ""]]
    assert streams[0][0][:3] == ["i", "token", "position"]
    assert [row[1:3] for row in streams[0][1:]] == [["a", "0"], ["b", "1"], ["c", "2"]]
    assert "all agree" in page.html
    assert re.findall("<(?:h3|caption)>((?:layer|head).*?)<", page.html) == [
        *("layer 1 (attention)", "head 1: full_s"),
        *("layer 2 (attention)", "head 1: flip"),
    ]
    assert page.html.count("<svg") == 2
    assert "attention of the weights" in page.html
    assert headings(page.html)[0] == f"embedding: {len(streams[0][0]) - 1} subspaces"
    assert page.traces[0].agrees


@pytest.mark.slow
def test_layers_and_heads_have_one_number_and_no_name_that_nobody_gave() -> None:
    """The weights of this program have the two heads of the first layer the other way round."""
    html = tm2tfr.explore("most-frequent").html
    run = html[html.index("<svg") : html.index("</svg>")]
    drawn = re.findall(r">(layer \d+|head \d+)\b", run)
    assert drawn == ["layer 2", "head 2", "head 1", "layer 4", "head 1", "head 2", "layer 6", "head 1"]
    called = re.findall("<(?:h3|caption)>((?:layer|head).*?)<", html)
    assert [re.split("[:(]", each)[0].strip() for each in called] == [
        *("layer 2", "head 1", "head 2", "layer 4", "head 1", "head 2", "layer 6", "head 1"),
    ]
    assert not re.search(r"c\d+", "".join(called))


def test_the_page_of_a_formula_shows_what_its_weights_are_fed() -> None:
    html = tm2tfr.explore("flip-flops", '["w1", "r1", "r0"]').html
    assert "<h2>The syntax of the formula</h2>" in html
    (embedding,) = re.findall(r"<summary>embedding: .*?</summary>\n(.*?)</table>", html, re.DOTALL)
    rows = re.findall(r'<tr><th scope="row">(\d+)</th><td>(\w+)</td>', embedding)
    assert rows == [("0", "BOS"), ("1", "w1"), ("2", "r1"), ("3", "r0")]


@pytest.mark.parametrize(
    ("name", "word", "fed"), [("hop-1", "abcab", ["BOS", *"abcab"]), ("starts-110", "0110", ["BOS", *"0110", "EOS"])]
)
def test_all_of_the_page_of_a_formula_is_the_run_of_its_table(name: str, word: str, fed: list[str]) -> None:
    page = tm2tfr.explore(name, word)
    subject = tm2tfr.Subject.of(name)
    answers, *rest = tables(page.html)
    places = [f"{n} {token}" for n, token in enumerate(fed)]
    assert [row[:2] for row in answers[1:]] == [place.split() for place in places]
    heads = [head.name for layer in subject.decoder.layers for head in layer.heads]
    drawn, streams = rest[: len(heads)], rest[len(heads) :]
    for head, [across, *rows] in zip(heads, drawn, strict=True):
        assert [cell.split() for cell in across] == [[], *(place.split() for place in places)]
        assert [row[0] for row in rows] == places
        weights = tm2tfr.attention_of(subject, word, head=head).weights
        assert [[float(Fraction(cell or "0")) for cell in row[1:]] for row in rows] == weights.tolist()
    assert [row[:2] for row in streams[0][1:]] == [place.split() for place in places]
    assert all([row[0] for row in each] == ["i", *map(str, range(len(fed)))] for each in streams)


def test_a_page_of_two_runs_is_refused() -> None:
    trace = tm2tfr.check("hop-1", "abc")
    with pytest.raises(ShapeError, match="the page of hop-1: 4 rows and 0 observations: give those of one run"):
        labeller_page(trace, tm2tfr.Subject.of("hop-1").decoder, [])


def test_the_title_is_there_once() -> None:
    html = tm2tfr.explore("hop-1", "abc").html
    said = "hop-1 on abc: every cell agrees with the evaluator"
    assert html.count(said) == 2
    assert f"<title>{said}</title>" in html
    assert f"<h1>{said}</h1>" in html


def test_the_page_asks_nothing_of_a_network_and_is_small() -> None:
    html = tm2tfr.explore("histogram", "§aab").html
    assert "default-src 'none'" in html
    addresses = re.findall(r"(?:src|href)=[\"']?([^\"'\s>]+)|url\(([^)]+)\)", html)
    assert addresses == []
    assert len(html.encode()) < 75_000


def test_a_page_that_runs_nothing_has_no_script() -> None:
    trace, decoder = tm2tfr.check("reverse", "abc"), tm2tfr.compile("reverse")
    seen = observe_all(decoder, "abc", engine=engine("dense"))
    html = labeller_page(trace, decoder, seen, live=False).html
    assert "<script" not in html
    assert "default-src 'none'; style-src 'unsafe-inline'\"" in html
    assert tables(html) == tables(labeller_page(trace, decoder, seen).html)


def test_no_text_breaks_out_of_the_script() -> None:
    name = "</script><b>"
    html = tm2tfr.explore(replace(labeller(), provenance={"name": name}), "abba").html
    assert name not in html
    assert html.count("</script>") == html.count("<script") == 3


def test_a_labeller_without_a_program_has_no_drawings() -> None:
    page = tm2tfr.explore(labeller(), "abba")
    assert page.html.count("<svg") == 0
    answers, *rest = tables(page.html)
    assert [row[0] for row in answers] == ["i", "0", "1", "2", "3"]
    assert rest


@pytest.mark.slow
def test_a_run_that_is_too_long_to_draw_says_so_and_one_that_is_too_long_for_a_page_is_refused() -> None:
    options = {"max_length": 201}
    subject = tm2tfr.Subject.of("length", options=options)
    assert "at most 40 can be drawn legibly: use a shorter input" in tm2tfr.explore(subject, "a" * 41).html
    with pytest.raises(
        EngineError, match=r"length: the page shows every pair of positions, and 201 positions are too many"
    ):
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
