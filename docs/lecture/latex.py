r"""The exercises as LaTeX: what Markdown makes of the page, element by element, for any installation of pdfLaTeX.

Formulas stand in the page as LaTeX already. Code keeps its lines, broken where the paper ends.
"""

from __future__ import annotations

import posixpath
import re
import textwrap
import unicodedata
from pathlib import Path
from xml.etree import ElementTree as ET

import markdown

from tm2tfr.base.text import tex

TEMPLATE = Path(__file__).with_name("sheet.tex")
EXTENSIONS = ("fenced_code", "md_in_html", "tables", "pymdownx.arithmatex")
WIDTH = 98
"""The columns of code that fit between the margins of `sheet.tex`."""
PRINTED = {"“": "``", "”": "''", "‘": "`", "’": "'", "–": "--", "—": "---"}
"""The signs of print, which pdfLaTeX makes of others."""
RULED = "─"
"""The sign that tables are ruled with, which has to be as wide as a letter."""


def document(text: str, title: str) -> str:
    """Return a Markdown text as a LaTeX document with this title."""
    html = markdown.markdown(text, extensions=EXTENSIONS, extension_configs={"pymdownx.arithmatex": {"generic": True}})
    root = ET.fromstring(f"<div>{html}</div>")
    body = "".join(block(each) for each in root)
    signs = sorted({sign for code in root.iter("code") for sign in "".join(code.itertext()) if not sign.isascii()})
    declared = "\n".join(rf"\DeclareUnicodeCharacter{{{ord(sign):04X}}}{{{written(sign)}}}" for sign in signs)
    filled = {"TITLE": plain(title), "SIGNS": declared, "BODY": body.strip()}
    return re.sub(
        r"^% (TITLE|SIGNS|BODY)$", lambda mark: filled[mark[1]], TEMPLATE.read_text(encoding="utf-8"), flags=re.MULTILINE
    )


def block(element: ET.Element) -> str:
    """Return a paragraph, a heading, a list, a listing, a formula, or the place of a solution."""
    match element.tag:
        case "h2":
            found = f"\\exercise{{{inline(element)}}}"
        case "p":
            found = "\\prediction" if element.get("class") == "prediction" else inline(element).strip()
        case "ol" | "ul":
            name = "enumerate" if element.tag == "ol" else "itemize"
            items = "\n".join(f"  \\item {inline(each).strip()}" for each in element)
            found = f"\\begin{{{name}}}\\itemsep=0pt\n{items}\n\\end{{{name}}}"
        case "pre":
            lines = [part for line in "".join(element.itertext()).rstrip("\n").split("\n") for part in broken(line)]
            found = "\n".join(["\\begin{Verbatim}", *lines, "\\end{Verbatim}"])
        case "div":
            found = (element.text or "").strip()
        case "details":
            found = "\\solution\n\n" + "".join(block(each) for each in element if each.tag != "summary").rstrip()
        case other:
            raise ValueError(f"the exercises have <{other}>, which has no LaTeX here: add it to {Path(__file__).name}")
    return f"{found}\n\n"


def inline(element: ET.Element) -> str:
    """Return what is within a paragraph."""
    parts = [plain(element.text or "")]
    for child in element:
        parts += [marked(child), plain(child.tail or "")]
    return "".join(parts)


def marked(element: ET.Element) -> str:
    """Return a part of a paragraph that is code, emphasised, a formula, or a link: its file in a footnote."""
    match element.tag:
        case "span":
            return element.text or ""
        case "code":
            return rf"\texttt{{{plain(element.text or '')}}}"
        case "em":
            return rf"\emph{{{inline(element)}}}"
        case "strong":
            return rf"\textbf{{{inline(element)}}}"
        case "a":
            path = posixpath.normpath(posixpath.join("docs/lecture", element.get("href", "").partition("#")[0]))
            return rf"{inline(element)}\footnote{{\texttt{{{plain(path)}}}}}"
        case "p":
            return inline(element)
    raise ValueError(
        f"a paragraph of the exercises has <{element.tag}>, which has no LaTeX here: add it to {Path(__file__).name}"
    )


def plain(text: str) -> str:
    """Return a text for a paragraph, with the quotation marks of LaTeX."""
    quoted = re.split(r'"([^"]*)"', text)
    return "".join(
        f"``{part}''" if n % 2 else part for n, part in enumerate("".join(map(written, each)) for each in quoted)
    )


def written(sign: str) -> str:
    """Return a sign as LaTeX. Raises ValueError for one that would be missing on paper."""
    if sign in PRINTED:
        return PRINTED[sign]
    if sign == RULED:
        return r"\rule[0.5ex]{0.525em}{0.4pt}"
    kind, *codes = unicodedata.decomposition(sign).split()[:4] or [""]
    digits = [chr(int(code, 16)) for code in codes]
    match kind:
        case "<super>":
            return rf"\ensuremath{{^{{{digits[0].replace('−', '-')}}}}}"
        case "<sub>":
            return rf"\ensuremath{{_{{{digits[0].replace('−', '-')}}}}}"
        case "<fraction>":
            return rf"\ensuremath{{\frac{{{digits[0]}}}{{{digits[2]}}}}}"
    if "U+" in (found := tex.text(sign)) and sign != "+":
        raise ValueError(f"the exercises have the sign {sign!r}, which has no LaTeX here: add it to {Path(__file__).name}")
    return found if not found.startswith("$") else rf"\ensuremath{{{found.strip('$')}}}"


def broken(line: str) -> list[str]:
    """Return a line of code as lines that fit, the further ones indented."""
    return textwrap.wrap(line, WIDTH, subsequent_indent="    ", drop_whitespace=False, break_on_hyphens=False) or [line]
