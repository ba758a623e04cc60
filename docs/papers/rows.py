"""The page "What of the papers runs": its tables, from one file of rows for each paper.

In `papers/index.md` a mark `<!-- rows of NAME -->` stands for the table of `NAME.yaml`, and `<!-- counts -->` for how many
rows are in each state. `tests/site/test_papers.py` runs the commands. A row has

    what   the number or the name in the paper
    says   what it says there, in one line
    state  one of `STATES`
    why    what is repaired, left out or refused, and why; needed for every state but "as printed"
    run    a shell command; needed for every state but "not run"
    shows  what its output contains, where spaces count as one: a text or a list of texts
    exit   its exit code, 0 if left out
    needs  a module that the command needs, of an optional extra
    more   a page that says more, from docs/, and the place in it
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from markdown.extensions.toc import slugify
from mkdocs.exceptions import PluginError
from mkdocs.structure.pages import Page

HERE = Path(__file__).parent
PAGE = "papers/index.md"
PAPERS = {
    "chapter": "The chapter",
    "soft-attention": "Simulating hard attention",
    "steps": "Guiding transformers",
    "rasp": "Thinking like transformers",
}
"""Name of a file of rows -> the heading of its paper."""
STATES = ("as printed", "repaired", "partly", "refused", "not run")
ROWS, COUNTS = re.compile(r"^<!-- rows of ([\w-]+) -->$", re.MULTILINE), "<!-- counts -->"
HEADING = re.compile(r"^#+ (.+?)(?: \{.*\})?$", re.MULTILINE)
CODE = re.compile(r"<code>.*?</code>")
OPTION = re.compile(r"(?<=\s)--?\w[\w-]*")


@dataclass(frozen=True)
class Row:
    """One row; `PluginError` if something that its state needs is left out."""

    what: str
    says: str
    state: str
    more: str
    why: str = ""
    run: str = ""
    shows: str | list[str] = ""
    exit: int = 0
    needs: str = ""

    def __post_init__(self) -> None:
        if self.state not in STATES:
            raise PluginError(f"{self.what}: {self.state!r} is not a state: use one of {', '.join(STATES)}")
        if (self.state == "not run") != (not self.run) or bool(self.run) != bool(self.shows):
            raise PluginError(f"{self.what}: a row has a command and what it shows, unless it is not run")
        if self.state != "as printed" and not self.why:
            raise PluginError(f"{self.what}: say why it is {self.state}")

    @property
    def shown(self) -> list[str]:
        """The texts that the output contains."""
        return [self.shows] if isinstance(self.shows, str) else self.shows


def rows(name: str) -> list[Row]:
    """Return the rows of a paper."""
    return [Row(**row) for row in yaml.safe_load((HERE / f"{name}.yaml").read_text(encoding="utf-8"))]


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    if page.file.src_uri != PAGE:
        return markdown
    return ROWS.sub(lambda mark: table(rows(mark[1])), markdown.replace(COUNTS, counts()))


def on_page_content(html: str, page: Page, **_: Any) -> str:
    """Keep the options of commands whole where a line ends."""
    if page.file.src_uri != PAGE:
        return html
    return CODE.sub(lambda code: OPTION.sub(r"<span>\g<0></span>", code[0]), html)


def counts() -> str:
    """Return the number of rows of each paper in each state, as a table."""
    found = {f"[{paper}](#{slugify(paper, '-')})": [row.state for row in rows(name)] for name, paper in PAPERS.items()}
    found["**all**"] = [state for states in found.values() for state in states]
    lines = [f"| | {' | '.join(STATES)} | rows |", f"|---|{'---:|' * (len(STATES) + 1)}"]
    for paper, states in found.items():
        numbers = [*map(states.count, STATES), len(states)]
        lines.append(f"| {paper} | {' | '.join(map(str, numbers))} |")
    return within("papers", lines)


def table(found: list[Row]) -> str:
    """Return rows as a table in Markdown."""
    lines = ["| in the paper | state | command, and what it shows | more |", "|---|---|---|---|"]
    for row in found:
        state = f"<b class='{row.state.replace(' ', '-')}'>{row.state}</b>" + (f": {row.why}" if row.why else "")
        command = "<br>".join([f"`{row.run}`", *(f"→ `{text}`" for text in row.shown)]) if row.run else "–"
        lines.append(f"| **{row.what}** {row.says} | {state} | {command} | [{label(row.more)}](../{row.more}) |")
    return within("papers rows", lines)


def within(classes: str, lines: list[str]) -> str:
    """Return the lines of a table within an element of these classes."""
    return "\n".join([f"<div class='{classes}' markdown>", "", *lines, "", "</div>"])


def label(more: str) -> str:
    """Return the heading that a link leads to. Raises PluginError if the page has none of this anchor."""
    path, _, anchor = more.partition("#")
    headings = HEADING.findall((HERE.parent / path).read_text(encoding="utf-8"))
    for heading in headings:
        if not anchor or slugify(heading, "-") == anchor:
            return re.sub(r"\[(.*?)\]\(.*?\)", r"\1", heading)
    raise PluginError(f"docs/{path} has no heading {anchor!r}")
