"""The slides as slides: the page that MkDocs makes of `slides.md`, cut at its rules, in one file of its own.

The text is Markdown as Marp reads it: `---` between slides, `$…$` for formulas, comments for notes.
`slides.zip` beside the page has it with its figures. The page is HTML and CSS with a few lines of script: it needs no
network, turns by keys, and prints one slide on a page.
"""

from __future__ import annotations

import base64
import io
import re
import sys
import zipfile
from html import escape, unescape
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))
from figures.chapter import light_only

PALETTE = HERE.parents[1] / "explorer" / "src" / "palette.css"
"""The colours and the type of the explorer, which slides and sheets share."""
SLIDES = "lecture/slides.md"
FIGURES = {
    "chapter.svg": "chapter.svg",
    "head-position.svg": "construction/figures/head-position.svg",
    "lookup.svg": "construction/figures/lookup.svg",
    "latest-write.svg": "construction/figures/latest-write.svg",
    "adder-attention.svg": "circuits/adder-attention.svg",
    "reverse.svg": "rasp/reverse.svg",
    "sequence.svg": "figures/sequence.svg",
    "rule.svg": "figures/rule.svg",
}
"""Name of a figure beside the slides -> the figure of the site that it is."""
INVERTED = ("chapter.svg", "adder-attention.svg", "reverse.svg")
"""The figures that are black on white: on a dark slide their lightness is inverted, and their hues are kept."""
TYPES = {".svg": "image/svg+xml", ".png": "image/png", ".jpg": "image/jpeg", ".woff": "font/woff"}
RULE = re.compile(r"<hr ?/?>")
IMAGE = re.compile(r'(<img [^>]*?src=")figures/([\w.-]+)(")')
SHOWN = re.compile(r"!\[[^\]]*\]\(([^)\s]+)\)")
LOCAL = re.compile(r"(?<!!)\[([^\]]+)\]\((?!https?:)[^)]+\)")
"""A link to another page of the site, which the archive has not."""
NOTE = re.compile(r"<!--(.*?)-->", re.DOTALL)
BLOCK = re.compile(r"<pre>(.*?)</pre>", re.DOTALL)
TAG = re.compile(r"<[^>]*>")
NO_ANCHOR = re.compile(r'<a class="headerlink".*?</a>')
ANY_TIME = (2020, 1, 1, 0, 0, 0)
"""What the archive says of when its files were written, so that the same slides give the same archive."""


def on_pre_build(config: MkDocsConfig) -> None:
    own_figures((HERE / "slides.md").read_text(encoding="utf-8"), HERE)


def own_figures(text: str, folder: Path) -> list[Path]:
    """Return the figures that the slides show beside those of the site.

    Raises:
        PluginError: for a figure that is missing, or of a kind that slides do not show.
    """
    found = []
    for number, line in enumerate(text.splitlines(), start=1):
        for place in SHOWN.findall(line):
            name = place.removeprefix("figures/")
            if place == f"figures/{name}" and name in FIGURES:
                continue
            path = folder / "figures" / name
            if not path.is_file():
                raise PluginError(f"slides.md:{number}: there is no figure {name}: put it into figures/ beside the slides")
            if place != f"figures/{name}" or path.suffix not in TYPES or not re.fullmatch(r"[\w.-]+", name):
                endings = "an SVG, PNG or JPG file, named with letters, digits and hyphens"
                raise PluginError(f"slides.md:{number}: {place} cannot be shown: write figures/{path.name}, {endings}")
            found.append(path)
    return found


def on_files(files: Files, config: MkDocsConfig) -> Files:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        text = (HERE / "slides.md").read_text(encoding="utf-8")
        archive.writestr(zipfile.ZipInfo("slides/slides.md", ANY_TIME), LOCAL.sub(r"\1", text))
        for path in own_figures(text, HERE):
            archive.writestr(zipfile.ZipInfo(f"slides/figures/{path.name}", ANY_TIME), path.read_bytes())
        for name, place in FIGURES.items():
            if (found := files.get_file_from_path(place)) is None:
                raise PluginError(f"the slides show {place}, which is not there")
            files.append(File.generated(config, f"lecture/figures/{name}", content=found.content_bytes))
            archive.writestr(zipfile.ZipInfo(f"slides/figures/{name}", ANY_TIME), light_only(found.content_bytes))
    files.append(File.generated(config, "lecture/slides.zip", content=buffer.getvalue()))
    return files


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """Return the deck in place of the theme's page."""
    if page.file.src_uri != SLIDES:
        return output
    slides = RULE.split(NO_ANCHOR.sub("", page.content or ""))
    sections = "\n".join(section(n, html, len(slides)) for n, html in enumerate(slides, start=1))

    def embedded(image: re.Match[str]) -> str:
        kind = ' class="inverted"' if image[2] in INVERTED else ""
        return f"{image[1]}{data(Path(config.site_dir, 'lecture/figures', image[2]))}{image[3]}{kind}"

    style = "\n".join(path.read_text(encoding="utf-8") for path in (PALETTE, HERE / "deck.css"))
    style = style.replace("math.woff", data(HERE.parent / "fonts" / "math.woff"))
    script = (HERE / "deck.js").read_text(encoding="utf-8")
    title = escape(str(page.title))
    return f"""<!DOCTYPE html>
<html lang="en" data-theme="auto">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
{style}</style>
</head>
<body>
<main>
{IMAGE.sub(embedded, sections)}
</main>
<nav aria-label="Slides">
<a href="index.html">About these slides</a>
<button type="button" id="back">Back</button>
<button type="button" id="on">On</button>
<button type="button" id="notes" aria-pressed="false">Notes</button>
<button type="button" id="theme">Theme: auto</button>
</nav>
<script>
{script}</script>
</body>
</html>
"""


def section(n: int, html: str, last: int) -> str:
    """Return one slide, with its comments as notes."""
    notes = " ".join(note.strip() for note in NOTE.findall(html))
    aside = f'<aside aria-label="Notes of slide {n}"><p>{notes}</p></aside>' if notes else ""
    shown = NOTE.sub("", html).strip()
    shown = BLOCK.sub(lambda block: f'<pre style="font-size: {size(shown):.2f}em">{block[1]}</pre>', shown)
    slide = f'<div class="slide">\n{shown}\n<p class="number">{n} / {last}</p>\n</div>'
    return f'<section id="{n}" tabindex="-1">\n{slide}\n{aside}</section>'


def size(html: str) -> float:
    """Return how large the code of a slide may be, next to its text: every line fits, and so do all of them together."""
    lines = [line for block in BLOCK.findall(html) for line in unescape(TAG.sub("", block)).rstrip("\n").split("\n")]
    return min(1.0, 43 / (0.61 * max(map(len, lines))), 15 / len(lines))


def data(path: Path) -> str:
    """Return a file as an address that contains it."""
    return f"data:{TYPES[path.suffix]};base64,{base64.b64encode(path.read_bytes()).decode('ascii')}"
