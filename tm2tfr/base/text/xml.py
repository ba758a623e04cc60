"""XML text -> elements that know their place. Read with defusedxml: no entities, no DTD, nothing external."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from xml.sax import SAXParseException
from xml.sax.handler import ContentHandler, LexicalHandler, property_lexical_handler

import defusedxml.sax
from defusedxml import DefusedXmlException

from tm2tfr.base.text.nodes import Node
from tm2tfr.base.text.source import Log, Mark, SourceText

MAX_DEPTH = 100
_WRONG = {
    "no element found": "the file ends before its elements are closed",
    "mismatched tag": "this closing tag does not match the opening tag",
    "junk after document element": "there is text after the last closing tag",
}
"""Messages of the parser about the most frequent mistakes -> in plain words."""


@dataclass
class Element:
    """An element: its name, its attributes, the text directly in it, its children, and the place of its start tag."""

    tag: str
    attributes: dict[str, str]
    node: Node
    text: str = ""
    children: list[Element] = field(default_factory=list)

    def all(self, *tags: str) -> Iterator[Element]:
        """Yield the children with one of these names."""
        return (child for child in self.children if child.tag in tags)

    def first(self, tag: str) -> Element | None:
        """Return the first child with this name."""
        return next(self.all(tag), None)


@dataclass
class Document:
    """The root element, and the comments."""

    root: Element
    comments: list[tuple[str, Node]]


class _TooDeepError(Exception):
    """Elements nested deeper than in any machine."""


def parse(source: SourceText) -> Document:
    """Return a text as a document.

    Raises:
        SpecError: if it is not XML, or has a DTD or entities.
    """
    log, handler = Log(source), _Handler(source)
    parser: Any = defusedxml.sax.make_parser()
    parser.forbid_dtd = True
    parser.setContentHandler(handler)
    parser.setProperty(property_lexical_handler, handler)
    at = None
    try:
        parser.parse(io.StringIO(source.text))
    except DefusedXmlException:
        lines = source.text[: max(0, source.text.find("<!DOCTYPE"))].split("\n")
        at = Mark(len(lines) - 1, len(lines[-1]))
        log.add(
            source.span(at, Mark(at.line, at.column + 9)), "a DTD, which may define entities, is not allowed", "remove it"
        )
    except SAXParseException as error:
        at = Mark(max(0, (error.getLineNumber() or 1) - 1), error.getColumnNumber() or 0)
        what = _WRONG.get(error.getMessage(), f"this is not XML ({error.getMessage()})")
        log.add(source.span(at), what, "fix it, or save the file again")
    except _TooDeepError as error:
        (at,) = error.args
        log.add(
            source.span(at),
            f"this is nested deeper than {MAX_DEPTH} levels",
            "no machine is: check that this is the right file",
        )
    if at is not None or handler.root is None:
        raise log.failure()
    return Document(handler.root, handler.comments)


class _Handler(ContentHandler, LexicalHandler):
    def __init__(self, source: SourceText) -> None:
        super().__init__()
        self.root: Element | None = None
        self.comments: list[tuple[str, Node]] = []
        self._source = source
        self._open: list[Element] = []
        self._locator: Any = None

    def setDocumentLocator(self, locator: Any) -> None:  # noqa: N802  (SAX's name)
        self._locator = locator

    def mark(self) -> Mark:
        return Mark(max(0, (self._locator.getLineNumber() or 1) - 1), self._locator.getColumnNumber() or 0)

    def startElement(self, name: str, attrs: Any) -> None:  # noqa: N802
        start = self.mark()
        line = self._source.lines[min(start.line, len(self._source.lines) - 1)]
        end = line.find(">", start.column)
        node = Node(start, Mark(start.line, end + 1 if end >= 0 else len(line)))
        element = Element(name, dict(attrs.items()), node)
        if self._open:
            self._open[-1].children.append(element)
        else:
            self.root = element
        if len(self._open) >= MAX_DEPTH:
            raise _TooDeepError(start)
        self._open.append(element)

    def endElement(self, name: str) -> None:  # noqa: N802
        self._open.pop()

    def characters(self, content: str) -> None:
        self._open[-1].text += content

    def comment(self, content: str) -> None:
        start = self.mark()
        self.comments.append((content.strip(), Node(start, Mark(start.line, start.column + len(content) + 7))))
