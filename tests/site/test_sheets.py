"""The exercises on paper: with and without solutions, in A4 and in LaTeX, from the one text of the page."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from html import unescape
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.readme import ROOT

PAGE = (ROOT / "docs/lecture/exercises.md").read_text(encoding="utf-8")
TITLES = re.findall(r"^## (.*)$", PAGE, re.MULTILINE)
SHEETS = ("exercise-sheet", "exercise-sheet-solved")
ONLY_SOLVED = ("42 cells compared, 1 run FAILED", "the first position at which the cell under the head")
"""What only solutions say."""
NO_LATEX = "pdflatex is not installed: apt-get install texlive-latex-base texlive-latex-recommended"
A4 = (594, 841)
"""Width and height in points, rounded down."""


@pytest.fixture(scope="module")
def sheet() -> ModuleType:
    """Return the hook that makes the sheets."""
    for name in ("mkdocs", "pymdownx"):
        pytest.importorskip(name, reason=f"{name} is not installed: pip install 'tm2tfr[docs]'")
    sys.path.insert(0, str(ROOT / "docs/lecture"))
    try:
        import sheet
    finally:
        sys.path.pop(0)
    return sheet


def words(text: str) -> str:
    """Return the text of a page without its marks, in single spaces."""
    return " ".join(unescape(re.sub(r"<[^>]*>", "", text)).split())


@pytest.mark.parametrize("name", SHEETS)
def test_a_sheet_has_every_exercise_and_solutions_where_it_should(name: str, sheet: ModuleType) -> None:
    text = sheet.latex(name)
    assert [re.sub(r"\\\w+\{(.*?)\}", r"\1", title) for title in re.findall(r"\\exercise\{(.*)\}\n", text)] == [
        title.replace("-", "-{}").replace(",", ",{}") for title in TITLES
    ]
    solved = name == "exercise-sheet-solved"
    assert (text.count("\n\\solution\n"), text.count("\n\\prediction\n")) == ((10, 0) if solved else (0, 10))
    assert "notebook" not in text
    assert "<!-- state " in PAGE
    assert "in any layer there" not in text, "on paper there is no page to open"
    for said in ONLY_SOLVED:
        assert (said in text.replace("\n", " ")) == solved


def test_code_keeps_its_lines_and_is_broken_where_the_paper_ends(sheet: ModuleType) -> None:
    text = sheet.latex("exercise-sheet-solved")
    listings = re.findall(r"\\begin\{Verbatim\}\n(.*?)\\end\{Verbatim\}", text, re.DOTALL)
    shown = [block.rstrip("\n") + "\n" for block in re.findall(r"^```\w+\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)]
    assert ["".join(listing.split()) for listing in listings] == ["".join(block.split()) for block in shown]
    assert max(len(line) for listing in listings for line in listing.splitlines()) <= sys.modules["latex"].WIDTH


def test_what_has_no_latex_is_refused(sheet: ModuleType) -> None:
    with pytest.raises(ValueError, match="<table>, which has no LaTeX here"):
        sheet.document("| a |\n|---|\n| b |\n", "t")
    with pytest.raises(ValueError, match="sign '漢', which has no LaTeX here"):
        sheet.document("漢\n", "t")
    with pytest.raises(sheet.PluginError, match="which the printed sheets leave out"):
        sheet.sheet("# Exercises\n\nNo solution runs.\n", "exercise-sheet")


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("pdflatex"), reason=NO_LATEX)
@pytest.mark.parametrize("name", SHEETS)
def test_it_compiles_fits_the_paper_and_needs_no_bitmap_font(name: str, sheet: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "t.tex").write_text(sheet.latex(name), encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "t.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, encoding="utf-8", errors="replace", check=False)
    assert done.returncode == 0, done.stdout[-3000:]
    assert [line for line in done.stdout.splitlines() if re.search("Overfull|Missing character|mktexpk", line)] == []
    assert re.search(rf"Output written on t.pdf \({'[3-5]' if name == 'exercise-sheet' else '[6-9]'} pages", done.stdout)


@pytest.mark.slow
@pytest.mark.parametrize("name", SHEETS)
def test_the_page_prints_on_a4_and_needs_no_network(name: str, site: Path, chromium: Any) -> None:
    page = chromium.new_page(color_scheme="dark")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto((site / "lecture" / f"{name}.html").as_uri())
    text = words(page.content())
    assert [heading.inner_text() for heading in page.query_selector_all("h2")] == TITLES
    assert "On screen:" not in text
    assert all((said in text) == (name == "exercise-sheet-solved") for said in ONLY_SOLVED)
    printed = page.pdf(prefer_css_page_size=True)
    shapes = {(int(w), int(h)) for w, h in re.findall(rb"/MediaBox\s*\[0 0 (\d+)[\d.]* (\d+)[\d.]*\]", printed)}
    assert shapes == {A4}
    assert len(re.findall(rb"/Type\s*/Page\b", printed)) <= 8
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(27, 34, 48)"  # dark on paper, also in dark mode
    assert [address for address in asked if not address.startswith(("file:", "data:"))] == []
    page.close()


@pytest.mark.slow
def test_the_lecture_links_to_the_four_files_and_they_are_those_of_the_page(site: Path, sheet: ModuleType) -> None:
    html = (site / "lecture/index.html").read_text(encoding="utf-8")
    for name in SHEETS:
        for ending in ("html", "tex"):
            assert f'href="{name}.{ending}"' in html
            assert (site / "lecture" / f"{name}.{ending}").exists()
        assert (site / "lecture" / f"{name}.tex").read_text(encoding="utf-8") == sheet.latex(name)
