"""The table in every format: golden files, and each format read back by an independent reader."""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
import subprocess
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from markdown_it import MarkdownIt
from rich.cells import cell_len

from tests.handmade import HANDMADE
from tests.html import Cells
from tests.installed import NO_LATEX
from tests.recordings import recorded_text
from tests.strategies import machines_with_inputs
from tests.tables.examples import CASES, GOLDEN, NASTY_SYMBOLS, SUFFIXES, broken, chapter, made, nasty, traced
from tm2tfr import run
from tm2tfr.base.text import tex
from tm2tfr.runs.comparison import Trace
from tm2tfr.sources.turing.columns import COLUMNS
from tm2tfr.sources.turing.spec import Machine
from tm2tfr.tables.table import FORMATS, format_for, table

HEADER = ["i", "tape", *COLUMNS[1:]]
TRACES = {
    "chapter": lambda: traced(chapter(), "11"),
    "nasty": lambda: traced(nasty(), NASTY_SYMBOLS),
    "broken": lambda: traced(chapter(), "11", broken(), max_steps=8),
}
BLANKS = {"nasty": "."}


# ── golden files ────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("name", TRACES)
def test_golden(name: str, format: str) -> None:
    """`TM2TFR_GOLDEN=1 pytest` writes the files anew."""
    path, got = GOLDEN / f"{name}{SUFFIXES[format]}", table(replace(TRACES[name](), blank=BLANKS.get(name, "_")), format)
    if os.environ.get("TM2TFR_GOLDEN"):
        path.write_text(got, encoding="utf-8", newline="")
    assert got == recorded_text(path, "run 'TM2TFR_GOLDEN=1 pytest tests/tables/test_table.py'")


def test_csv_is_the_printed_table_cell_by_cell() -> None:
    with (CASES / "chapter-table.csv").open(encoding="utf-8", newline="") as file:
        printed = list(csv.reader(file))
    found = list(csv.reader(table(traced(chapter(), "11"), "csv").splitlines()))
    assert [cells[:-1] for cells in found] == printed
    tapes = ["[1]1 _ …", "_[1]_ …", "_ x[_]…", "_[x]_ …", "[_]x _ …", "_[x]_ …"]
    assert [cells[-1] for cells in found] == ["tape", "", "", "", *tapes]


def test_text_of_the_chapter() -> None:
    lines = table(traced(chapter(), "11"), "text").splitlines()
    assert lines[0] == "i  tape      x          q   b   m  h  a  y"
    assert lines[5:8] == [
        "3  [1]1 _ …  (q0,1,0)   q0  1   0  0  1  (q1,_,+1)",
        "4   _[1]_ …  (q1,_,+1)  q1  _  +1  1  1  (q2,x,+1)",
        "5   _ x[_]…  (q2,x,+1)  q2  x  +1  2  _  (q4,_,-1)",
    ]


# ── read back ───────────────────────────────────────────────────────────────────────────────────────────────
def _plain(trace: Trace) -> list[list[str]]:
    """Return the cells as they have to be read, from the rows alone."""

    def text(value: Any, column: str) -> str:
        if value is None:
            return "⊥"
        return f"{value:+d}" if column == "m" and value else str(value)

    return [[text(v, c) for c, v in zip(COLUMNS, row, strict=True)] for row in trace.rows]


def _spaced(cells: list[list[str]]) -> list[list[str]]:
    return [["␣" if c == " " else c.replace(", ,", ",␣,") for c in row] for row in cells]


@pytest.mark.parametrize("name", ["chapter", "nasty"])
def test_csv_and_json_hold_the_very_cells(name: str) -> None:
    trace = TRACES[name]()
    rows = list(csv.reader(table(trace, "csv").splitlines(keepends=True)))
    assert [cells[:-1] for cells in rows] == [list(COLUMNS), *_plain(trace)]
    named = [row._asdict() for row in trace.rows]
    whole = json.loads(table(trace, "json"))
    assert whole == {**trace.as_dict(), "columns": list(COLUMNS), "rows": named}
    assert [json.loads(line) for line in table(trace, "jsonl").splitlines()] == named


@pytest.mark.parametrize("name", ["chapter", "nasty"])
def test_html_and_markdown_read_back(name: str) -> None:
    trace = TRACES[name]()
    want = _spaced(_plain(trace))
    in_html = table(replace(trace, blank="."), "html")
    in_markdown = MarkdownIt("commonmark").enable("table").render(table(replace(trace, blank="."), "markdown"))
    for text in (in_html, in_markdown):
        header, *rows = Cells(text).rows
        assert header == HEADER
        assert [[row[0], *row[2:]] for row in rows] == want
    assert in_html.count("<u>") == in_markdown.count("<strong>") == sum(row.q is not None for row in trace.rows)


@pytest.mark.slow
@given(machines_with_inputs())
def test_text_is_aligned_and_says_the_cells(case: tuple[Machine, str]) -> None:
    trace = traced(*case, max_steps=30)
    header, rule, *lines = table(trace, "text").splitlines()
    starts = [header.index(f" {c}") + 1 for c in ("x", "q", "b", "a", "y")]
    assert len(rule) == max(map(cell_len, [header, *lines]))
    want = _plain(trace)
    for line, row in zip(lines, want, strict=True):
        assert [line[k:].split()[0] for k in starts] == [row[COLUMNS.index(c)] for c in ("x", "q", "b", "a", "y")]


# ── the tape, in windows, at gaps ───────────────────────────────────────────────────────────────────────────
def _tapes(trace: Trace, format: str = "text") -> list[str]:
    """Return the tape column of a text table whose x is t."""
    header, _, *rows = table(trace, format).splitlines()
    start, stop = header.index("tape"), header.index("  x")
    return [row[start:stop].rstrip() for row in rows]


def test_the_tape_comes_from_the_rows_alone() -> None:
    want = ["", "", "", "[a]b _ …", " x[b]_ …", " x y[_]…", " x[y]z …"]
    assert _tapes(made([0, 1, 2, 1], prompt="ab", writes="axyz")) == want


def test_a_two_way_tape_starts_at_the_leftmost_cell() -> None:
    assert _tapes(made([0, -1, -2, 0])) == ["", "… _ _[x]…", "… _[_]x …", "…[_]x x …", "… x x[x]…"]


def test_a_long_tape_is_shown_around_the_head() -> None:
    tapes = _tapes(made([*range(31)]))
    assert tapes[1] == " [x]" + "_ " * 23 + "…"
    assert tapes[21] == "  " + "x " * 19 + "x[_]_ _ _ …"
    assert tapes[22] == "… " + "x " * 19 + "x[_]_ _ _ …"
    assert tapes[31] == "… " + "x " * 22 + "x[_]…"


def test_a_window_waits_until_the_head_nears_its_end() -> None:
    there_and_back = [*range(30), *range(29, -1, -1)]
    firsts = [tape[:1] for tape in _tapes(made(there_and_back))[1:]]
    assert firsts == [" "] * 21 + ["…"] * 35 + [" "] * 4


def test_nothing_is_marked_or_written_where_the_head_is_between_cells() -> None:
    trace = made([0, 1, 2])
    rows = [row._replace(h=0.5) if row.i == 2 else row for row in trace.rows]
    assert _tapes(replace(trace, rows=tuple(rows))) == ["", "[x]_ _ …", " x _ _ …", " x _[_]…"]


def test_a_long_trace_costs_the_window_and_not_the_tape() -> None:
    text = table(made([*range(20_000)]), "text", elide=6)
    assert len(text.splitlines()) == 2 + 6 + 1
    assert "  ⋮ (19 995 rows)\n" in text


# ── rows left out ───────────────────────────────────────────────────────────────────────────────────────────
def _numbers(trace: Trace, elide: int | None) -> list[str]:
    """Return the row numbers of a text table, with the mark of the first difference, and its gaps."""
    return re.findall(r"^ *((?:▸ )?\d+|⋮ .*)", "\n".join(table(trace, "text", elide=elide).splitlines()[2:]), re.M)


@pytest.mark.parametrize(
    ("elide", "want"),
    [
        (4, ["0", "1", "⋮ (6 rows)", "8", "9"]),
        (5, ["0", "1", "2", "⋮ (5 rows)", "8", "9"]),
        (9, ["0", "1", "2", "3", "4", "⋮ (1 row)", "6", "7", "8", "9"]),
        (10, [str(n) for n in range(10)]),
        (1, ["0", "⋮ (9 rows)"]),
        (0, ["⋮ (10 rows)"]),
    ],
)
def test_elided(elide: int, want: list[str]) -> None:
    assert _numbers(made([*range(9)]), elide) == want


def test_the_first_difference_is_never_left_out() -> None:
    trace = traced(chapter(), "11", broken(), max_steps=40)
    assert trace.divergence is not None
    assert trace.divergence.position == 6
    assert _numbers(trace, 4) == ["⋮ (3 rows)", "3", "4", "5", "▸ 6", "7", "8", "9", "⋮ (34 rows)"]
    assert _numbers(trace, 9) == ["0", "⋮ (2 rows)", *"345", "▸ 6", *"789", "⋮ (33 rows)", "43"]
    assert _numbers(trace, None) == [*"012345", "▸ 6", *map(str, range(7, 44))]


def test_gaps_in_each_format() -> None:
    trace = made([*range(1500)])
    assert "| ⋮ | (1 497 rows) |  |  |  |  |  |  |  |\n" in table(trace, "markdown", elide=4)
    assert '<tr><td colspan="9">⋮ (1 497 rows)</td></tr>\n' in table(trace, "html", elide=4)
    assert r"\multicolumn{9}{l}{$\vdots$ (1\,497 rows)} \\" in table(trace, "latex", elide=4)


# ── what is wrong ───────────────────────────────────────────────────────────────────────────────────────────
def test_wrong_cells_and_the_first_difference_are_marked() -> None:
    trace = traced(chapter(), "11", broken(), max_steps=6)
    lines = {f: table(trace, f).splitlines() for f in FORMATS}
    assert lines["text"][8] == "▸ 6   _[x]_ …  (q4,_,-1)     q4     _        -1     1  !⟨-1·x⟩≠x  !1≠(q4,x,-1)"
    assert lines["markdown"][8] == (
        r"| ▸ 6 | \_ **x** \_ … | (q4,\_,-1) | q4 | \_ | -1 | 1 | **⟨-1·x⟩≠x** | **1≠(q4,x,-1)** |"
    )
    assert lines["html"][12] == (
        '    <tr title="the first difference"><th scope="row">▸ 6</th><td>_<u>x</u>_…</td><td>(q4,_,-1)</td><td>q4</td>'
        "<td>_</td><td>-1</td><td>1</td><td><mark>⟨-1·x⟩ ≠ x</mark></td><td><mark>1 ≠ (q4,x,-1)</mark></td></tr>"
    )
    assert lines["latex"][11].startswith(r"$\triangleright$ $6$ & $\_\,\underline{x}\,\_ \dots$ & $(q_{4}, \_, -1)$ &")
    assert lines["latex"][11].endswith(r"& \textbf{!} $1$ $\neq$ $(q_{4}, x, -1)$ \\")
    assert json.loads("\n".join(lines["json"]))["divergence"]["position"] == 6


def test_rows_after_the_simulators_last_are_marked() -> None:
    trace = traced(chapter(), "11", broken(), max_steps=8)
    assert len(trace.rows) > len(trace.expected)
    assert table(trace, "text").splitlines()[11].split() == ["9", "_[x]_", "…", "!1≠⊥", *"⊥⊥0111"]


def test_odd_numbers() -> None:
    trace = made([0, 1])
    odd = (trace.rows[0], trace.rows[1]._replace(m=0.5, h=float("nan")), trace.rows[2]._replace(m=Fraction(-1, 3)))
    odd_trace = replace(trace, rows=odd)
    assert [row.split(",")[4:6] for row in table(odd_trace, "csv").splitlines()[2:]] == [["+0.5", "nan"], ["-1/3", "1"]]
    rows = [json.loads(line) for line in table(odd_trace, "jsonl").splitlines()]
    assert [(row["m"], row["h"]) for row in rows] == [(0, 0), (0.5, "nan"), ("-1/3", 1)]
    assert json.loads(table(odd_trace, "json"), parse_constant=pytest.fail)["rows"] == rows


# ── symbols that cannot be seen ─────────────────────────────────────────────────────────────────────────────
def test_spaces_and_control_characters_are_shown() -> None:
    trace = made([0, 1, 2, 3], prompt=" \n", writes=" \n\x1b\t")
    assert _tapes(trace)[3:] == ["[␣]\\n _ _ …", r" \n[\n]_ _ …", r" \n \x1b[_]_ …", r" \n \x1b \t[_]…"]
    assert "\x1b" not in table(trace, "html")
    assert json.loads(table(trace, "jsonl").splitlines()[0])["x"] == " "


def test_a_space_is_told_from_the_symbol_that_stands_for_one() -> None:
    assert [tape for tape in _tapes(made([0, 1, 2], writes=" ␣x")) if tape] == ["[' ']_ _ …", " ␣[_]_ …", " ␣ x[_]…"]


# ── captions, formats ───────────────────────────────────────────────────────────────────────────────────────
def test_captions() -> None:
    trace = traced(chapter(), "11")
    assert table(trace, "text", caption="Table 1").startswith("Table 1\ni  tape")
    assert table(trace, "markdown", caption="a|b *c*").startswith("a\\|b \\*c\\*\n\n| i |")
    assert "  <caption>a &lt; b</caption>\n" in table(trace, "html", caption="a < b")
    assert "  <caption>chapter on 11: every cell agrees with the simulator</caption>\n" in table(trace, "html")
    assert "  <caption>made on the empty word: not compared with a simulator</caption>\n" in table(made([0]), "html")
    wrong = traced(chapter(), "11", broken(), max_steps=8)
    assert "  <caption>chapter on 11: differs from the simulator at position 6</caption>\n" in table(wrong, "html")
    latex = table(trace, "latex", caption="100% of q_0").splitlines()
    assert latex[1:4] == [r"\begin{table}", r"\centering", r"\caption{100\% of q\_0}"]
    assert latex[-2:] == [r"\end{tabular}", r"\end{table}"]


def test_every_format_ends_with_one_line_break() -> None:
    for format in FORMATS:
        for trace in (traced(chapter(), "11"), replace(made([0]), rows=())):
            text = table(trace, format)
            assert text == "" or (text.endswith("\n") and not text.endswith("\n\n"))


@pytest.mark.parametrize(
    ("path", "format"),
    [
        ("a.txt", "text"),
        ("a.b/t.md", "markdown"),
        ("t.markdown", "markdown"),
        ("t.TEX", "latex"),
        ("t.csv", "csv"),
        ("t.json", "json"),
        ("t.jsonl", "jsonl"),
        ("t.ndjson", "jsonl"),
        ("t.html", "html"),
        ("t.htm", "html"),
        ("t", None),
        ("t.pdf", None),
        (".csv", None),
    ],
)
def test_format_for(path: str, format: str | None) -> None:
    assert format_for(path) == format


PROGRAMS = [name for name in ("pdflatex", "lualatex", "tectonic") if shutil.which(name)]
DOCUMENT = r"""\documentclass{article}
\usepackage{booktabs}
\usepackage[paperwidth=4\paperwidth]{geometry}
\begin{document}
BODY
\end{document}
"""


def compiled(body: str, folder: Path, program: str) -> str:
    """Return LaTeX's log; a LaTeX error is a failure."""
    (folder / "t.tex").write_text(DOCUMENT.replace("BODY", body), encoding="utf-8")
    quiet = [] if program == "tectonic" else ["-halt-on-error", "-interaction=nonstopmode"]
    done = subprocess.run([program, *quiet, "t.tex"], cwd=folder, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stdout[-3000:]
    assert (folder / "t.pdf").stat().st_size > 1000
    return done.stdout


@pytest.mark.slow
@pytest.mark.skipif(not PROGRAMS, reason=NO_LATEX)
@pytest.mark.parametrize("program", PROGRAMS)
def test_every_table_compiles(program: str, tmp_path: Path) -> None:
    wrong, all_of_them = traced(chapter(), "11", broken(), max_steps=8), traced(nasty(), NASTY_SYMBOLS)
    tables = [
        table(traced(chapter(), "11"), "latex"),
        table(traced(chapter(), "11"), "latex", caption="The run of $M_2$ on 11: 100% \\ {é} #1 & ~x^2"),
        table(wrong, "latex", elide=7),
        table(replace(all_of_them, blank="."), "latex"),
        table(replace(made([0, -1, 3, 0], writes=" \n⟨␣"), blank="□"), "latex"),
        table(run("dyck-2-by-depth"), "latex"),
        *(table(run(make(), word, max_steps=6), "latex") for make, word, _ in HANDMADE.values()),
    ]
    log = compiled("\n\n".join(tables), tmp_path, program)
    assert "Missing character" not in log


@pytest.mark.slow
@pytest.mark.skipif("pdflatex" not in PROGRAMS, reason=NO_LATEX)
def test_every_character_compiles_and_needs_no_bitmap_font(tmp_path: Path) -> None:
    signs = [chr(n) for n in [*range(0x20, 0x600), *range(0x1E00, 0x2800), 0x1F600, 0x10FFFF]]
    log = compiled(" ".join(tex.text(sign) for sign in signs), tmp_path, "pdflatex")
    assert "Missing character" not in log
    assert "mktexpk" not in log


def test_text_for_latex() -> None:
    want = {
        "a_1": r"a\_1",
        "#{}%&": r"\#\{\}\%\&",
        "$": r"\texttt{\char36}",
        '"': r"\texttt{\char34}",
        "\\~^": r"\textbackslash{}\textasciitilde{}\textasciicircum{}",
        "<|>": r"\textless{}\textbar{}\textgreater{}",
        "--": "-{}-{}",
        "é": r"\'{e}",
        "Ő": r"\H{O}",
        "ế": r"\texttt{U+1EBF}",
        "λΩ": r"$\lambda$$\Omega$",
        "ο": r"\texttt{U+03BF}",
        "⊥": r"$\bot$",
        "漢": r"\texttt{U+6F22}",
        "a\nb": "a b",
        "\x00": r"\texttt{U+0000}",
        "\u0301": r"\texttt{U+0301}",
    }
    assert {plain: tex.text(plain) for plain in want} == want


def test_the_chapters_notation() -> None:
    lines = table(traced(chapter(), "11"), "latex").splitlines()
    assert lines[:6] == [
        r"% needs \usepackage{booktabs} in the preamble, and nothing else",
        r"\begin{tabular}{rllllrrll}",
        r"\toprule",
        r"$i$ & tape & $x^{(i)}$ & $q^{(i)}$ & $b^{(i-1)}$ & $m^{(i-1)}$ & $h^{(i)}$ & $a^{(i)}$ & $y^{(i)}$ \\",
        r"\midrule",
        r"$0$ &  & $1$ & $\bot$ & $\bot$ & $0$ & $0$ & $1$ & $1$ \\",
    ]
    assert lines[8] == (
        r"$3$ & $\underline{1}\,1\,\_ \dots$ & $(q_{0}, 1, 0)$ & $q_{0}$ & $1$ & $0$ & $0$ & $1$ & "
        r"$(q_{1}, \_, +1)$ \\"
    )
    assert lines[13:] == [
        r"$8$ & $\_\,\underline{x}\,\_ \dots$ & $(q_{1}, \_, +1)$ & $q_{1}$ & $\_$ & $+1$ & $1$ & $x$ & ACC \\",
        r"\bottomrule",
        r"\end{tabular}",
    ]


def test_names_that_are_no_variables() -> None:
    cells = [line.split(" & ") for line in table(replace(traced(nasty(), "_ "), blank="."), "latex").splitlines()]
    assert [row[2:4] for row in cells[8:10]] == [
        [r"$(\texttt{a\textbar{}b}, \_, 0)$", r"$\texttt{a\textbar{}b}$"],
        [r"$(\texttt{\#1}, \texttt{\textbackslash{}}, +1)$", r"$\texttt{\#1}$"],
    ]
