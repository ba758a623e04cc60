"""YAML text -> nodes that know their place, with scalars as the raw text that the user wrote.

PyYAML's events are composed here and not by ``yaml.compose``, which recurses as deep as the text is nested
and resolves aliases silently. No tag is resolved either: ``0011``, ``yes`` and ``1.0`` stay what they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import yaml

from tm2tfr.base.text.source import Log, Mark, SourceText
from tm2tfr.base.text.syntax import MAX_DEPTH, TooDeepError, explain

LOADERS: tuple[type, ...] = tuple(getattr(yaml, n) for n in ("CSafeLoader", "SafeLoader") if hasattr(yaml, n))
"""The fast one if it is available, and the one in Python, which decides when the fast one refuses."""

_STR = "tag:yaml.org,2002:str"
_TOKEN = re.compile(r"[^\s,\]}]{0,40}")
_SURROGATE = re.compile("[\ud800-\udfff]")
_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")
"""What JSON writes for a character beyond U+FFFF: two escapes, of four digits each."""
_NULLS = frozenset({"", "~", "null", "Null", "NULL"})


@dataclass(frozen=True, slots=True)
class Node:
    """A piece of a YAML text, from `start` to `end`."""

    start: Mark
    end: Mark


@dataclass(frozen=True, slots=True)
class Scalar(Node):
    """A text: as it was written if it is `plain`, otherwise the contents of its quotes or its block."""

    text: str
    plain: bool
    block: bool = False
    """Whether it is a literal block, line by line."""

    @property
    def empty(self) -> bool:
        """Whether nothing at all is written."""
        return self.plain and not self.text

    @property
    def null(self) -> bool:
        """Whether YAML reads it as no value."""
        return self.plain and self.text in _NULLS


@dataclass(frozen=True, slots=True)
class List(Node):
    """A list of nodes."""

    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Map(Node):
    """Keys and values in the order of the text, including duplicates."""

    pairs: tuple[tuple[Node, Node], ...]


def kind(node: Node) -> str:
    """Return what to call a node in a message."""
    return (
        {Scalar: "text", List: "a list", Map: "a mapping"}[type(node)]
        if not (isinstance(node, Scalar) and node.empty)
        else "nothing"
    )


def _joined(pair: re.Match[str]) -> str:
    return pair[0].encode("utf-16", "surrogatepass").decode("utf-16")


def compose(source: SourceText, loaders: tuple[type, ...] = ()) -> Node | None:
    """Return the root node of a YAML text, or None if it has none.

    Args:
        loaders: those to ask, in this order; by default `LOADERS`.

    Raises:
        SpecError: if it is not YAML, is nested deeper than `MAX_DEPTH`, or uses features that a machine does not
            need (anchors, aliases, tags, a second document): then with every such place.
    """
    for loader in loaders or LOADERS:
        log = Log(source)
        try:
            root = _Composer(log, yaml.parse(source.text, Loader=loader)).document()
        except (yaml.YAMLError, ValueError, OverflowError) as error:  # from chr(0xFFFFFFFF), in PyYAML
            if not log.found:  # a refused tag or alias explains a syntax error behind it
                log.add(*explain(error, source))
        if not log.found:
            return root
    raise log.failure()


@dataclass
class _Composer:
    log: Log
    events: Iterator[yaml.Event]
    depth: int = 0

    def document(self) -> Node | None:
        next(self.events)  # the start of the stream
        if isinstance(next(self.events), yaml.StreamEndEvent):
            return None
        root = self.node(next(self.events))
        next(self.events)  # the end of the document
        if not isinstance(event := next(self.events), yaml.StreamEndEvent):
            self.refuse(event, "a second document begins here", "keep one machine per file")
        return root

    def node(self, event: yaml.Event) -> Node:
        start, end = _mark(event.start_mark), _mark(event.end_mark)
        if isinstance(event, yaml.ScalarEvent):
            self.check(event, event.tag)
            return Scalar(start, end, event.value, plain=not event.style, block=event.style == "|")
        if isinstance(event, yaml.CollectionStartEvent):
            self.check(event, event.tag)
            items, end = self.items(start)
            if isinstance(event, yaml.SequenceStartEvent):
                return List(start, end, items)
            return Map(start, end, tuple(zip(items[::2], items[1::2], strict=True)))
        self.refuse(event, "{!r} is a YAML alias, which is not supported here", "quote it if it is a symbol: '*'")
        return Scalar(start, end, "", plain=True)

    def items(self, start: Mark) -> tuple[tuple[Node, ...], Mark]:
        if self.depth == MAX_DEPTH:
            raise TooDeepError(start)
        self.depth += 1
        items = []
        while not isinstance(event := next(self.events), yaml.CollectionEndEvent):
            items.append(self.node(event))
        self.depth -= 1
        return tuple(items), _mark(event.end_mark)

    def check(self, event: yaml.NodeEvent, tag: str | None) -> None:
        if event.anchor is not None:
            self.refuse(event, "{!r} is a YAML anchor, which is not supported here", "quote it if it is a symbol: '&'")
        if tag not in (None, _STR):
            self.refuse(event, "{!r} is a YAML tag, which is not supported here", "quote it if it is a symbol: '!'")
        if not isinstance(event, yaml.ScalarEvent) or event.value.isascii():
            return
        event.value = _PAIR.sub(_joined, event.value)
        if _SURROGATE.search(event.value):
            self.refuse(event, "a surrogate (U+D800 to U+DFFF) is not a character", "write the character itself")

    def refuse(self, event: yaml.Event, what: str, remedy: str) -> None:
        """Report that the token at the start of `event`, ``{!r}`` in `what`, does not belong in a machine."""
        start = _mark(event.start_mark)
        token = _TOKEN.match(self.log.source.lines[start.line], start.column)
        shown = token[0] if token else ""
        span = self.log.source.span(start, Mark(start.line, start.column + len(shown)))
        self.log.add(span, what.format(shown), remedy)


def _mark(mark: Any) -> Mark:  # the C parser has marks of its own
    return Mark(mark.line, mark.column)
