"""The LaTeX table compiles as it is, with pdfLaTeX's default fonts, whatever the symbols and states are."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from tests.handmade import HANDMADE
from tests.installed import NO_LATEX
from tests.tables.examples import NASTY_SYMBOLS, broken, chapter, made, nasty, traced
from tm2tfr import run
from tm2tfr.base.text.tex import text
from tm2tfr.tables.table import table

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
    log = compiled(" ".join(text(sign) for sign in signs), tmp_path, "pdflatex")
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
    assert {plain: text(plain) for plain in want} == want


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
