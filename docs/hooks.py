"""What the site is built with beyond its configuration: formulas, figures, tables from the code, the search."""

from __future__ import annotations

import posixpath
import re
import sys
from html import unescape
from pathlib import Path
from typing import Any

import latex2mathml.converter
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

sys.path.insert(0, str(Path(__file__).parent))
from figures.chapter import FIGURES
from figures.universal import FIGURES as OF_UNIVERSAL

from tm2tfr import explain
from tm2tfr.contract.keywords import table

FORMULA = re.compile(r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', re.DOTALL)
PARAGRAPH = re.compile(r"<(p|li)>.*?</\1>", re.DOTALL)
DOLLARS = re.compile(r"(\$\$?)([^$]+)\1")
LINK = re.compile(r'href="(?!\w+:)([^"#]+\.(?:md|ipynb))((?:#[^"]*)?)"')
NOT_OPERATORS = {
    "<mo>&#x022A5;</mo>": "<mi>&#x022A5;</mi>",
    "<mo>&#x0007C;</mo>": '<mo stretchy="false" lspace="0" rspace="0">&#x0007C;</mo>',
}
"""⊥, which is a value here, and the bars around an absolute value would have the spaces of an operator."""
SUBSCRIPT = re.compile(r"\\_(?:\\\{(.*?)\\\}|(\w+))")
OPTIONS, MODEL = "<!-- options -->", "<!-- model -->"


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for folder, drawings in (("construction/figures", FIGURES), ("figures", OF_UNIVERSAL)):
        for name, drawn in drawings.items():
            files.append(File.generated(config, f"{folder}/{name}.svg", content=drawn()))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    for mark, made in ((OPTIONS, table), (MODEL, model)):
        markdown = markdown.replace(mark, made()) if mark in markdown else markdown
    return markdown


def model() -> str:
    """Return the two tables of the model of the chapter's machine, as Markdown with subscripts."""
    tables = explain("chapter").markdown().partition("\n")[2]
    return SUBSCRIPT.sub(lambda low: f"<sub>{low[1] or low[2]}</sub>", tables)


def on_page_content(html: str, page: Page, files: Files, **_: Any) -> str:
    if page.file.src_uri.endswith(".ipynb"):  # there formulas stand between dollar signs, in paragraphs
        html = PARAGRAPH.sub(lambda p: DOLLARS.sub(r'<span class="arithmatex">\\(\2\\)</span>', p[0]), html)
        html = LINK.sub(lambda link: linked(link, page, files), html)
    return FORMULA.sub(mathml, html)


def on_post_page(output: str, **_: Any) -> str:
    """Name the theme's search for screen readers, and let keys reach the code of notebooks that has to be scrolled."""
    named = output.replace(
        'data-md-component="search" role="dialog"', 'data-md-component="search" role="dialog" aria-label="Search"'
    )
    return named.replace('<div class="highlight-ipynb hl-python">', '<div class="highlight-ipynb hl-python" tabindex="0">')


def on_post_build(config: MkDocsConfig, **_: Any) -> None:
    """Write the index of the search as a script too, which is all that a page may load where there is no server."""
    index = Path(config.site_dir, "search/search_index.json")
    index.with_suffix(".js").write_text(f"var __index = {index.read_text(encoding='utf-8')}", encoding="utf-8")


def linked(link: re.Match[str], page: Page, files: Files) -> str:
    """Return a link of a notebook to a file of the documentation as one to its page, as MkDocs does for other pages."""
    path = posixpath.normpath(posixpath.join(posixpath.dirname(page.file.src_uri), link[1]))
    if (target := files.get_file_from_path(path)) is None:
        raise PluginError(f"{page.file.src_uri} links to {link[1]}, which is not there")
    return f'href="{target.url_relative_to(page.file)}{link[2]}"'


def mathml(match: re.Match[str]) -> str:
    """Return a formula as MathML, which browsers draw without a script or the network."""
    display = "inline" if match[2] == "(" else "block"
    drawn = latex2mathml.converter.convert(unescape(match[3]), display=display)
    for operator, sign in NOT_OPERATORS.items():
        drawn = drawn.replace(operator, sign)
    return drawn
