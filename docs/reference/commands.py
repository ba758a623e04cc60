"""The reference of the command line: what the pages of `reference/cli` say, from the commands themselves.

A page has an example and what it prints; its marks stand for the rest. `<!-- help of NAME -->` is what the command does,
`<!-- options of NAME -->` its usage and its options in the panels of ``--help``, and `<!-- commands -->` the list of all.
On every other page, the first mention of a command leads to its page.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape
from typing import Any

import typer
from mkdocs.exceptions import PluginError
from mkdocs.structure.pages import Page
from mkdocs.utils import get_relative_url

from tm2tfr.cli import COMMANDS, app
from tm2tfr.cli.asked import TITLES, for_help, of_source
from tm2tfr.cli.commands import Command

FOLDER = "reference/cli"
LIST = "<!-- commands -->"
UNIVERSAL = "Universal decoder"
MORE = "These are shown by `--help` behind a source of the kind, as in `tm2tfr {name} palindromes --help`."
MARK = re.compile(r"^<!-- (help|options) of ([\w-]+) -->$", re.MULTILINE)
CODE = re.compile(r"(?<!\w)'([^']+)'(?!\w)|(?<![\w-])(--[a-z][a-z-]*)")
"""What is code in a line of help: words in quotation marks, and options."""
CLOSED = re.compile(r"(<(a|h[1-6]|pre|summary)\b.*?</\2>)", re.DOTALL)
"""Parts of a page within which nothing becomes a link."""
MENTION = re.compile(r"<code>tm2tfr ([\w-]+)( [^<]*)?</code>")
OF_KINDS = {
    "a Turing machine": "palindromes",
    "a circuit": "full-adder",
    "a RASP program": "reverse",
    "a formula": "since-b",
    "an automaton": "alternating",
}
"""A source of each kind."""


def place(name: str) -> str:
    """Return where the page of a command is in the site, without its ending."""
    panel = next(panel for panel, rows in COMMANDS.items() if name in rows)
    return f"{FOLDER}/{panel.lower()}/{name}"


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    if not page.file.src_uri.startswith(f"{FOLDER}/"):
        return markdown
    made = {"help": about, "options": options}
    return MARK.sub(lambda mark: made[mark[1]](command(mark[2])), markdown.replace(LIST, listed(page.url)))


def on_page_content(html: str, page: Page, **_: Any) -> str:
    """Link the first mention of each command in a page to the page of the command."""
    if page.file.src_uri.startswith(f"{FOLDER}/"):
        return html
    linked: set[str] = set()

    def link(mention: re.Match[str]) -> str:
        name = mention[1]
        if name in linked or name not in app.commands:
            return mention[0]
        linked.add(name)
        return f'<a href="{get_relative_url(f"{place(name)}.html", page.url)}">{mention[0]}</a>'

    parts = CLOSED.split(html)  # what is between, then a closed part and the name of its element, in turn
    return "".join(MENTION.sub(link, part) if n % 3 == 0 else part for n, part in enumerate(parts) if n % 3 != 2)


def command(name: str) -> Command:
    """Return a command. Raises PluginError if there is none of this name."""
    if name not in app.commands:
        raise PluginError(f"a page is about the command {name!r}, which is not there")
    found: Command = app.commands[name].command
    return found


def listed(url: str) -> str:
    """Return the commands in the panels of ``tm2tfr --help``, each with a link, as they stand in the page at `url`."""
    lines = []
    for panel, rows in COMMANDS.items():
        lines += [f"## {panel}", "", '<dl class="options">']
        for name, (_, summary, _) in rows.items():
            link = f'<a href="{get_relative_url(f"{place(name)}.html", url)}"><code>tm2tfr {name}</code></a>'
            lines.append(f"<dt>{link}</dt><dd>{coded(summary)}</dd>")
        lines += ["</dl>", ""]
    return "\n".join(lines)


def coded(help: str) -> str:
    """Return a line of help as HTML."""
    return CODE.sub(lambda code: f"<code>{code[1] or code[2]}</code>", escape(help.replace("\\[", "["), quote=False))


def about(found: Command) -> str:
    """Return what a command does, from its docstring."""
    return "\n".join(f"<p>{coded(paragraph)}</p>" for paragraph in (found.help or "").split("\n\n"))


def options(found: Command) -> str:
    """Return the usage of a command, the options that it has for every source, and those of each kind of source."""
    context = typer.Context(found, info_name=f"tm2tfr {found.name}", **found.context_settings)
    context.obj = []
    lines = ["## Usage", "", "```text", f"tm2tfr {found.name} {' '.join(found.collect_usage_pieces(context))}", "```", ""]
    places: set[str] = set()
    lines += panels(for_help(found, context, None).get_params(context), context, places)
    further = []
    for source in OF_KINDS.values():
        context.obj = [source]
        of_kind, kind = of_source(found, context)
        if kind is not None:
            own = (TITLES[kind], UNIVERSAL)
            further += panels([p for p in of_kind.params if p.rich_help_panel in own], context, places)
    if further:
        lines += ["## Options of one kind of source", "", MORE.format(name=found.name), "", *further]
    return "\n".join(lines)


def panels(params: Iterable[Any], context: typer.Context, places: set[str]) -> list[str]:
    """Return parameters in the panels of ``--help``; `places` are the options that can already be linked to."""
    found: dict[str, list[str]] = {"Arguments": [], "Options": []}
    for param in params:
        if (record := param.get_help_record(context)) is None:  # a hidden option has none
            continue
        place = next((name for name in param.opts if name.startswith("--") and name not in places), "")
        places.add(place)
        term = f'<dt id="{place}">' if place else "<dt>"
        panel = param.rich_help_panel or f"{param.param_type_name}s".capitalize()
        found.setdefault(panel, []).append(f"{term}<code>{escape(record[0])}</code></dt><dd>{coded(record[1])}</dd>")
    lines = []
    for panel, rows in found.items():
        lines += [f"### {panel}", "", '<dl class="options">', *rows, "</dl>", ""] if rows else []
    return lines
