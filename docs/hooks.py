"""What the site is built with beyond its configuration: formulas as MathML, and the commands from their own help."""

from __future__ import annotations

import re
import sys
from html import escape, unescape
from pathlib import Path
from typing import Any

import latex2mathml.converter
import typer
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

sys.path.insert(0, str(Path(__file__).parent))
from figures import FIGURES

from tm2tfr.cli import app

FORMULA = re.compile(r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', re.DOTALL)
PARAGRAPH = re.compile(r"<(p|li)>.*?</\1>", re.DOTALL)
DOLLARS = re.compile(r"(\$\$?)([^$]+)\1")
COMMANDS = "<!-- commands -->"


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for name, drawn in FIGURES.items():
        files.append(File.generated(config, f"construction/figures/{name}.svg", content=drawn()))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    return markdown.replace(COMMANDS, commands()) if COMMANDS in markdown else markdown


def on_page_content(html: str, page: Page, **_: Any) -> str:
    if page.file.src_uri.endswith(".ipynb"):  # there formulas stand between dollar signs, in paragraphs
        html = PARAGRAPH.sub(lambda p: DOLLARS.sub(r'<span class="arithmatex">\\(\2\\)</span>', p[0]), html)
    return FORMULA.sub(mathml, html)


def mathml(match: re.Match[str]) -> str:
    """Return a formula as MathML, which browsers draw without a script or the network."""
    display = "inline" if match[2] == "(" else "block"
    return latex2mathml.converter.convert(unescape(match[3]), display=display)


def commands() -> str:
    """Return the reference of the command line, from the commands themselves."""
    group = typer.main.get_command(app)
    return "\n".join(command(name, found) for name, found in group.commands.items())


def command(name: str, found: Any) -> str:
    context = typer.Context(found, info_name=f"tm2tfr {name}")
    records = [parameter.get_help_record(context) for parameter in found.params]
    cells = [(escape(left), escape(right)) for left, right in filter(None, records)]
    rows = [f"<tr><td><code>{left}</code></td><td>{right}</td></tr>" for left, right in cells]
    usage = " ".join(found.collect_usage_pieces(context))
    table = ["<table>", *rows, "</table>"]
    return "\n".join([f"## {name}", "", found.help or "", "", "```text", f"tm2tfr {name} {usage}", "```", "", *table, ""])
