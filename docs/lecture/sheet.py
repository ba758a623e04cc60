"""The exercises on paper: a sheet without solutions and one with them, as a page that prints on A4 and as LaTeX.

All four files are made from `exercises.md` while the site is built. In place of each solution, the sheet without them has
room for the prediction that the exercise asks for.
"""

from __future__ import annotations

import re
import sys
from html import escape
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.pages import Page

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
from deck import NO_ANCHOR, PALETTE, data
from latex import document

EXERCISES = "lecture/exercises.md"
SHEETS = {"exercise-sheet": "Exercises", "exercise-sheet-solved": "Exercises, with solutions"}
"""Name of a sheet, without its ending -> its title."""
SOLVED = "exercise-sheet-solved"
ON_SCREEN = re.compile(r"^(?:<p>)?All solutions run, .*?(?:</p>|\n)\n", re.MULTILINE | re.DOTALL)
"""The paragraph that is about the page and the notebook."""
LIVE = re.compile(r"^(?:<!-- state [^\n]*|<p>On screen: .*?</p>)\n", re.MULTILINE | re.DOTALL)
"""A paragraph that links to a page in the explorer."""
HEADING = re.compile(r"^# .*\n|<h1.*?</h1>\n?", re.MULTILINE)
SOLUTION = re.compile(r"<details(?: markdown)?>\s*<summary>Solution</summary>(.*?)</details>", re.DOTALL)
PREDICTION = '<p class="prediction">My prediction:</p>'
LINES = f'<div class="prediction">My prediction:{"<hr>" * 3}</div>'
"""The room for a prediction, in the text and in the page that is printed."""


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """Write the sheets beside the page of the exercises, which stays as it is."""
    if page.file.src_uri == EXERCISES:
        folder = Path(config.site_dir, "lecture")
        folder.mkdir(parents=True, exist_ok=True)
        for name in SHEETS:
            (folder / f"{name}.html").write_text(printed(page.content or "", name), encoding="utf-8")
            (folder / f"{name}.tex").write_text(latex(name), encoding="utf-8")
    return output


def latex(name: str) -> str:
    """Return a sheet as LaTeX."""
    return document(sheet((HERE / "exercises.md").read_text(encoding="utf-8"), name), SHEETS[name])


def sheet(text: str, name: str) -> str:
    """Return the page of the exercises, as Markdown or as HTML, without its heading and what is not for this sheet.

    Raises:
        PluginError: if the page has not the parts that a sheet leaves out.
    """
    for part in (HEADING, ON_SCREEN):
        text, count = part.subn("", text, count=1)
        if not count:
            raise PluginError(f"{EXERCISES}: nothing matches {part.pattern!r}, which the printed sheets leave out")
    text = LIVE.sub("", text)
    if name != SOLVED:
        text = SOLUTION.sub(PREDICTION, text)
    return text


def printed(content: str, name: str) -> str:
    """Return a sheet as a page of its own, which needs no network."""
    title = escape(SHEETS[name])
    text = sheet(NO_ANCHOR.sub("", content), name).replace(PREDICTION, LINES)
    text = SOLUTION.sub(r'<div class="solution"><h3>Solution</h3>\1</div>', text)
    first, *exercises = re.split(r"(?=<h2)", text)
    kind = "solved" if name == SOLVED else "open"
    body = "".join([first, *(f'<section class="{kind}">\n{exercise}</section>\n' for exercise in exercises)])
    font = data(HERE.parent / "fonts" / "math.woff")
    style = "\n".join(path.read_text(encoding="utf-8") for path in (PALETTE, HERE / "sheet.css"))
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
@font-face {{ font-family: "tm2tfr math"; src: url("{font}") format("woff"); }}
{style}</style>
</head>
<body>
<nav aria-label="Sheets">
Print this page: A4, portrait. <a href="{name}.tex">The same as LaTeX</a>. <a href="index.html">About the lecture</a>.
</nav>
<main>
<h1>{title}</h1>
{body}
</main>
</body>
</html>
"""
