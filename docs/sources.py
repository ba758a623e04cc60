"""Every "Eq. 8.x" and "repair N" on the site is a link to its statement, in listings and docstrings too.

A repair is one of the chapter, but on the pages on circuits one of the appendix that they are about.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from markdown.extensions.toc import slugify
from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page

FOLDER = "construction"
EQUATIONS, REPAIRS = f"{FOLDER}/equations.md", f"{FOLDER}/repairs.md"
CIRCUITS = ("circuits/", "reference/circuits.md")
"""Where the pages on circuits are."""
MISPRINTS = "circuits/repairs.md"
HEADING = re.compile(r"^#{2,3} (.+)$", re.MULTILINE)
NUMBERED = re.compile(r"(Eq\. 8\.\d+|(?:Theorem|Definition|Exercise) 8\.\d+|Step \d|Soft attention|\d+(?=\.))")
TAG = re.compile(r"(<[^>]*>)")
CLOSED = re.compile(r"<(/?)(a|button|h[1-6]|math|script|style|svg|title)\b")
"""Elements within which nothing becomes a link."""
MENTION = re.compile(
    r"Eqs?\. (?P<equation>8\.\d+)(?:[-–]8\.\d+)?"
    r"|(?P<statement>(?:Theorem|Definition|Exercise) 8\.\d+)"
    r"|\((?P<bare>8\.(?:[1-9]|1\d))\)"
    r"|(?P<step>(?<=\[)step \d)"
    r"|\b[Rr]epairs? (?P<repair>\d+)\b"
    r"|(?P<soft>Lemmas? \d+|Theorem \d\d)(?![.\d])"
)


def statements() -> dict[str, str]:
    """Return where each number is stated: page and anchor."""
    return dict(_headings())


def _headings() -> Iterator[tuple[str, str]]:
    for page in (EQUATIONS, REPAIRS):
        for heading in HEADING.findall((Path(__file__).parent / page).read_text(encoding="utf-8")):
            if number := NUMBERED.match(heading):
                yield number[0], f"{page}#{slugify(heading, '-')}"


STATEMENTS = statements()


def misprints() -> dict[str, str]:
    """Return where the repair of each misprint is, for those that have a section."""
    headings = HEADING.findall((Path(__file__).parent / MISPRINTS).read_text(encoding="utf-8"))
    numbered = [(re.findall(r"\d+", heading.partition(".")[0]), slugify(heading, "-")) for heading in headings]
    return {number: f"{MISPRINTS}#{anchor}" for numbers, anchor in numbered for number in numbers}


REPAIRS_OF_CIRCUITS = misprints()
TABLE_OF_MISPRINTS = f"{MISPRINTS}#every-misprint"


def key(mention: re.Match[str]) -> str:
    """Return what `STATEMENTS` calls what is mentioned."""
    if number := mention["equation"] or mention["bare"]:
        return f"Eq. {number}"
    if mention["soft"]:
        return "Soft attention"
    return mention["statement"] or mention["repair"] or str(mention["step"]).capitalize()


def on_page_content(html: str, page: Page, files: Files, **_: Any) -> str:
    if page.file.src_uri == EQUATIONS:
        return html
    about_circuits = page.file.src_uri.startswith(CIRCUITS)

    def linked(mention: re.Match[str]) -> str:
        if about_circuits and mention["repair"]:
            place = REPAIRS_OF_CIRCUITS.get(mention["repair"], TABLE_OF_MISPRINTS)
        else:
            place = STATEMENTS[key(mention)]
        target, _, anchor = place.partition("#")
        if (file := files.get_file_from_path(target)) is None:
            return mention[0]
        return f'<a class="source" href="{file.url_relative_to(page.file)}#{anchor}">{mention[0]}</a>'

    return "".join(MENTION.sub(linked, part) if free else part for part, free in parts(html))


def parts(html: str) -> Iterator[tuple[str, bool]]:
    """Yield the tags and the texts of a page, each with whether it is a text that may become a link."""
    depth = 0
    for part in TAG.split(html):
        if part.startswith("<"):
            if found := CLOSED.match(part):
                depth += -1 if found[1] else 1
            yield part, False
        else:
            yield part, depth == 0
