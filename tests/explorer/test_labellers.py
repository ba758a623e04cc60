"""The page of a labeller: its answers, its drawings, its heads, and its residual stream, all side by side."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import pytest

import tm2tfr
from tests.engines.labellers import labeller
from tests.installed import needs_dot
from tm2tfr.base.errors import CompileError, EngineError, ShapeError
from tm2tfr.cli import main
from tm2tfr.engines import engine
from tm2tfr.engines.decode import observe_all
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
