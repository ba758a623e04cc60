"""A YAML document: nodes that know their place, with scalars as they are written, and what is read from them.

PyYAML's events are composed here and not by ``yaml.compose``, which recurses as deep as the text is nested
and resolves aliases silently. No tag is resolved either: ``0011``, ``yes`` and ``1.0`` stay what they are.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

import yaml

from tm2tfr.base.errors import Span
from tm2tfr.base.text.source import MOST_DIAGNOSTICS, Log, Mark, SourceText
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


# ── a document that is being read: its nodes one by one, and the complaints about them ──────────────────────
Fields = dict[str, tuple[Scalar, Node]]
"""The entries of a mapping by their keys: (key, value)."""


@dataclass
class Reading:
    """A document that is being read; what is wrong with it goes to the `log`."""

    log: Log

    # ── complaints ──────────────────────────────────────────────────────────────────────────────────────
    def error(self, node: Node | None, what: str, remedy: str) -> None:
        """Record an error at `node`."""
        self.log.add(self.span(node), what, remedy)

    def refuse(self, node: Node | None, what: str, remedy: str) -> NoReturn:
        """Record an error at `node` after which there is nothing more to read.

        Raises:
            SpecError: with every complaint.
        """
        self.error(node, what, remedy)
        raise self.log.failure()

    def warn(self, node: Node | None, what: str, remedy: str) -> None:
        """Record a warning at `node`."""
        self.log.add(self.span(node), what, remedy, "warning")

    def span(self, node: Node | None, position: int | None = None) -> Span | None:
        """Return the span of `node`, or of its character at `position` if it is written without escapes."""
        if node is None:
            return None
        span = self.log.source.span(node.start, node.end)
        if position is not None and isinstance(node, Scalar):
            column = node.start.column + (not node.plain)
            if self.log.source.lines[node.start.line].startswith(node.text, column):
                return self.log.source.span(Mark(node.start.line, column + position))
        return span

    def nearest(self, name: str, known: Collection[str], meant: Mapping[str, str]) -> str:
        """Return `` (did you mean 'x'?)`` for the `known` name that `name` commonly means or resembles, if any."""
        if len(self.log.found) >= MOST_DIAGNOSTICS:  # nobody will see it
            return ""
        sure = meant.get(name.lower()) or next((k for k in known if k.lower() == name.lower()), None)
        return f" (did you mean {sure!r}?)" if sure else self.log.did_you_mean(name, known)

    # ── pieces of a document ────────────────────────────────────────────────────────────────────────────
    def entries(self, node: Map, noun: str) -> list[tuple[Scalar, Node]]:
        """Return the entries of a mapping whose keys are text, including duplicates; report those and other keys."""
        found, first = [], dict[str, Scalar]()
        for key, value in node.pairs:
            if not isinstance(key, Scalar):
                self.error(key, f"{kind(key)} cannot be a {noun}", f"write the {noun} as text, in quotes if necessary")
                continue
            found.append((key, value))
            if first.setdefault(key.text, key) is not key:
                self.twice(key, first[key.text], f"the {noun} {key.text!r}")
        return found

    def fields(self, node: Map, noun: str, known: Collection[str], remedy: str, meant: Mapping[str, str]) -> Fields:
        """Return the entries of a mapping with a fixed set of keys; report any other key."""
        found: Fields = {}
        for key, value in self.entries(node, "key"):
            if key.text in known:
                found.setdefault(key.text, (key, value))
            else:
                what = f"unknown key {key.text!r} in {noun}{self.nearest(key.text, known, meant)}"
                self.error(key, what, remedy)
        return found

    def twice(self, node: Node, first: Node, what: str) -> None:
        """Report that `what`, first found at `first`, occurs again at `node`."""
        place = self.span(first)
        where = f"line {place.line}, column {place.column}" if place else "the text"
        self.error(node, f"{what} is given a second time; the first is in {where}", "remove one of the two")

    def part(self, node: Scalar, first: int, end: int) -> Scalar:
        """Return a part of a text, at its own place if the text is written without escapes."""
        span = self.span(node, first)
        start = Mark(node.start.line, node.start.column + (not node.plain) + first)
        own = span is not None and span.length == 1 and len(node.text) > 1
        places = (start, Mark(start.line, start.column + end - first)) if own else (node.start, node.end)
        return Scalar(*places, node.text[first:end], plain=node.plain)

    def scalars(self, node: Node, noun: str) -> list[Scalar] | None:
        """Return the texts of a text or a list of texts; report anything else and return None."""
        items = node.items if isinstance(node, List) else (node,)
        for item in items:
            if not isinstance(item, Scalar):
                self.error(item, f"expected {noun}, found {kind(item)}", "write it as text, in quotes if necessary")
        texts = [item for item in items if isinstance(item, Scalar)]
        return texts if len(texts) == len(items) else None


# ── Reads a YAML mapping key by key, complaining about whatever is wrong.
MOST = 10**15 - 1
"""Numbers have at most 15 digits."""


@dataclass(frozen=True)
class Section:
    """The keys and values of a mapping; complaints call it `noun`."""

    reading: Reading
    noun: str
    node: Map
    found: Fields

    @classmethod
    def of(cls, reading: Reading, noun: str, node: Map, known: Collection[str]) -> Section:
        """Read the keys of a mapping; keys that are not `known` are reported."""
        meant = {k.replace(" ", sign): k for k in known if " " in k for sign in "_-"}
        return cls(reading, noun, node, reading.fields(node, noun, known, f"use the keys {', '.join(known)}", meant))

    def __contains__(self, key: str) -> bool:
        return key in self.found

    def place(self, key: str) -> Node:
        """Return the node to point at: the value of a key, or the key itself if the value is empty."""
        name, value = self.found[key]
        return name if isinstance(value, Scalar) and value.empty else value

    def needs(self, key: str, example: str) -> None:
        """Report a missing key."""
        if key not in self.found:
            self.reading.error(self.node, f"{self.noun} has no {key}", f"add for example '{key}: {example}'")

    def text(self, key: str, default: str) -> str:
        """Return a text."""
        if key not in self.found:
            return default
        value = self.found[key][1]
        if not isinstance(value, Scalar):
            self.reading.error(value, f"{key} is {kind(value)}, not text", "write it as text, in quotes if necessary")
            return default
        return value.text

    def number(self, key: str, default: int, *, least: int, most: int = MOST) -> int:
        """Return a whole number from `least` to `most`."""
        if key not in self.found:
            return default
        value = self.found[key][1]
        shown = value.text if isinstance(value, Scalar) else kind(value)
        if not isinstance(value, Scalar) or not re.fullmatch("[0-9]{1,15}", shown) or not least <= int(shown) <= most:
            bounds = f"of at least {least}" if most == MOST and not shown.isdigit() else f"from {least} to {most:,}"
            what = f"{key} is {shown!r}, not a number {bounds}"
            self.reading.error(self.place(key), what, f"write a whole number {bounds}, without signs")
            return default
        return int(shown)

    def choice(self, key: str, known: tuple[str, ...]) -> str:
        """Return one of the `known` names; the first by default."""
        if key not in self.found:
            return known[0]
        if isinstance(self.found[key][1], List):
            either = " or ".join([", ".join(known[:-1])] * (len(known) > 1) + [known[-1]])
            self.reading.error(self.found[key][1], f"{key} is a list", f"write {either}")
            return known[0]
        return str(self.choices(key, known)[0])

    def choices(self, key: str, known: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return some of the `known` names, in their order; all by default."""
        if key not in self.found:
            return known
        remedy = f"choose from {', '.join(known)}"
        items = self.reading.scalars(self.found[key][1], f"one of {', '.join(known)}")
        if items is not None and (not items or items[0].empty):
            self.reading.error(self.found[key][0], f"nothing follows {key!r}", remedy)
        for item in items or ():
            if item.text not in known and not item.empty:
                self.reading.error(item, f"unknown {key} {item.text!r}{self.reading.nearest(item.text, known, {})}", remedy)
        chosen = {item.text for item in items or ()}
        return tuple(k for k in known if k in chosen) or known

    def section(self, key: str, known: Collection[str], example: str) -> Section | None:
        """Return the mapping at a key."""
        return self._section(self.found[key][1], key, known, example)

    def sections(self, key: str, known: Collection[str], example: str) -> list[Section]:
        """Return the mapping at a key, or each of a list of mappings."""
        if key not in self.found:
            return []
        value = self.found[key][1]
        nodes = value.items if isinstance(value, List) else (value,)
        return [s for node in nodes if (s := self._section(node, key, known, example)) is not None]

    def _section(self, node: Node, key: str, known: Collection[str], example: str) -> Section | None:
        if isinstance(node, Map):
            return Section.of(self.reading, repr(key), node, known)
        place = self.found[key][0] if isinstance(node, Scalar) and node.empty else node
        self.reading.error(place, f"{key!r} has {kind(node)}, not a mapping", f"write for example {example}")
        return None
