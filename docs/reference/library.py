"""The index of the library: for each topic, the public names that its page documents, with the first line on each.

In `reference/api/index.md`, a mark `<!-- names of TOPIC -->` stands for the names of `reference/api/TOPIC.md`.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError
from mkdocs.structure.pages import Page

import tm2tfr

FOLDER = Path(__file__).parent / "api"
INDEX = "reference/api/index.md"
MARK = re.compile(r"^<!-- names of (\w+) -->$", re.MULTILINE)
DOCUMENTED = re.compile(r"^::: ([\w.]+)$(?:\n +options: (.*)$)?", re.MULTILINE)
MEMBERS = re.compile(r"members: \[(.*?)\]")
CODE = re.compile(r"``(.+?)``|`(.+?)`")


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    if page.file.src_uri != INDEX:
        return markdown
    topics = {topic: list(names(topic)) for topic in MARK.findall(markdown)}
    known = {name for listed in topics.values() for name in listed}
    if missing := set(tm2tfr.__all__) - {"__version__"} - known:
        raise PluginError(f"{INDEX}: no topic has {', '.join(sorted(missing))}")
    return MARK.sub(lambda mark: listing(mark[1], topics[mark[1]]), markdown)


def names(topic: str) -> Iterator[str]:
    """Yield the public names that the page of a topic documents, in its order."""
    homes = {f"{getattr(tm2tfr, name).__module__}.{name}": name for name in tm2tfr.__all__ if name != "__version__"}
    for path, options in DOCUMENTED.findall((FOLDER / f"{topic}.md").read_text(encoding="utf-8")):
        if members := MEMBERS.search(options):
            places = [f"{path}.{member}" for member in members[1].split(", ")]
        else:  # something on its own, or a whole module
            places = [path, *(place for place in homes if place.rpartition(".")[0] == path)]
        yield from (homes[place] for place in places if place in homes)


def listing(topic: str, found: list[str]) -> str:
    """Return names with a link and the first line of what is said of each."""
    rows = []
    for name in found:
        value = getattr(tm2tfr, name)
        first = (inspect.getdoc(value) or "").split("\n\n")[0]
        said = CODE.sub(lambda code: f"<code>{code[1] or code[2]}</code>", escape(first, quote=False))
        link = f'<a href="{topic}.html#{value.__module__}.{name}"><code>{name}</code></a>'
        rows.append(f"<dt>{link}</dt><dd>{said}</dd>")
    return "\n".join(['<dl class="options">', *rows, "</dl>"])
