"""The site's colours, which are the explorer's, and the run on its home: the explorer's own data and views."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

import tm2tfr
from tm2tfr.web.explorer.document import asset

SOURCES = Path(__file__).parents[2] / "explorer" / "src"
MACHINE, WORD, PAGE = "chapter", "11", "lecture/live/chapter.html"
"""What plays on the home, and the page of the site that has the whole explorer of it."""
DATA = re.compile(
    r'<script type="application/json" id="data">.*?</script>\s*<script type="text/plain" id="columns">.*?</script>',
    re.DOTALL,
)
REM = re.compile(r"(?<![\w.])([\d.]+)rem\b")


@dataclass(frozen=True)
class HomeRun:
    """The run on the home, for its template.

    Args:
        title: the machine and its input.
        size: the size of the decoder, in words.
        verdict: how the run ended and what it was compared with.
        page: where the explorer of this run is.
        data: the elements with the data of the explorer's page.
    """

    title: str
    size: str
    verdict: str
    page: str
    data: str


def on_files(files: Files, config: MkDocsConfig) -> Files:
    palette = (SOURCES / "palette.css").read_text(encoding="utf-8")
    for name, content in (("palette.css", palette), ("assets/run.css", run_css()), ("assets/home.js", asset("home.js"))):
        files.append(File.generated(config, name, content=content))
    return files


def on_page_context(context: dict[str, Any], page: Page, **_: Any) -> dict[str, Any]:
    return {**context, "run": home_run()} if page.is_homepage else context


def run_css() -> str:
    """Return the explorer's layout for one element of the home.

    The theme has another root size, so a rem of the explorer is a variable there.
    """
    layout = REM.sub(r"calc(\1 * var(--unit))", (SOURCES / "explorer.css").read_text(encoding="utf-8"))
    return f"#run {{\n{layout}\n}}\n"


def home_run() -> HomeRun:
    """Return the run on the home, taken out of the explorer's page of it."""
    decoder = tm2tfr.compile(MACHINE)
    page = tm2tfr.explore(decoder, WORD)
    (trace,) = page.traces
    if not trace.agrees or (data := DATA.search(page.html)) is None:
        raise PluginError(f"the run of {MACHINE} on {WORD} cannot be shown on the home")
    return HomeRun(
        title=f"The chapter’s machine on {WORD}",
        size=f"{len(decoder.layers)} layers, {decoder.heads} heads and {decoder.nonzero} non-zero weights",
        verdict=f"All {trace.compared} values that it computes agree with a simulator.",
        page=PAGE,
        data=data[0],
    )
