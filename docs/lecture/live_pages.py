"""Explorer's pages within the site's: built by the very command that stands beside them, from the present code.

A page of the site says where, with a line `<!-- live NAME -->`: this becomes the command, the page in a frame, and a link.
`<!-- state NAME CHANGE CHANGE ... -->` becomes a link to the page with weights changed, as `tm2tfr check --set` takes them.
"""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import quote

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from mkdocs.utils import get_relative_url

from tm2tfr.cli import app
from tm2tfr.cli.commands import guarded

FOLDER = "lecture/live"
MARK = re.compile(r"^<!-- live ([\w-]+) -->$", re.MULTILINE)
STATE = re.compile(r"<!-- state ([\w-]+) (.+?) -->")


@dataclass(frozen=True)
class Live:
    """A page: what `tm2tfr explore` is given, what the frame is called, and where in the run it opens."""

    given: str
    title: str
    address: str = ""


PAGES = {
    "chapter": Live("chapter --input 11", "The chapter's machine on 11", "#i=6&layer=4"),
    "left-edge": Live("left-edge --input 11 --compare chapter", "Exercise 8.3, without and with the repair"),
    "adder": Live("binary-adder --bits 4 --input 5+9", "A circuit adds 5 and 9"),
    "full-adder": Live("full-adder --input 110", "A full adder on 110"),
    "any-machine": Live("palindromes --input abba --standalone", "Run your machine in one transformer"),
    "universal": Live("palindromes --input abba --universal 8,4", "The machine palindromes in the prompt"),
}
"""Name of a page, as marks and addresses have it -> the page."""


def explored(given: str) -> str:
    """Return the page that `tm2tfr explore` writes.

    Raises:
        PluginError: if the command fails.
    """
    with tempfile.TemporaryDirectory() as folder:
        path, said = Path(folder, "page.html"), io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            code = guarded(app, ["explore", *shlex.split(given), "-o", str(path)])
        if code not in (0, 1):  # 1: the run differs from the simulator's, as that of Exercise 8.3 has to
            raise PluginError(f"tm2tfr explore {given}: {said.getvalue()}")
        return path.read_text(encoding="utf-8")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for name, page in PAGES.items():
        files.append(File.generated(config, f"{FOLDER}/{name}.html", content=explored(page.given)))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    markdown = STATE.sub(lambda mark: linked(mark[1], mark[2].split(), page.url), markdown)
    return MARK.sub(lambda mark: framed(mark[1], page.url), markdown)


def linked(name: str, changes: Sequence[str], url: str) -> str:
    """Return the link to a page in which these weights are changed and run, as it stands in the page at `url`."""
    if name not in PAGES:
        raise PluginError(f"no live page is called {name}: the names are {', '.join(PAGES)}")
    states = "&amp;".join(f"set={quote(change, safe='[],=/()')}" for change in changes)
    place = get_relative_url(f"{FOLDER}/{name}.html", url)
    return f'On screen: <a href="{place}#{states}">the page with {" and ".join(map(_code, changes))}</a>.'


def _code(text: str) -> str:
    return f"<code>{escape(text)}</code>"


def framed(name: str, url: str) -> str:
    """Return the command, the frame and the link, as they stand in the page at `url`."""
    if name not in PAGES:
        raise PluginError(f"no live page is called {name}: the names are {', '.join(PAGES)}")
    page = PAGES[name]
    place = get_relative_url(f"{FOLDER}/{name}.html", url)
    lines = [
        f'<iframe class="live" src="{place}{escape(page.address)}" title="{escape(page.title)}" loading="lazy"></iframe>',
        f'<p class="live">Nothing here? <a href="{place}">Open it on a page of its own</a>: the file needs no server.</p>',
    ]
    return "\n".join(["```sh", f"tm2tfr explore {page.given} --open", "```", "", *lines])
