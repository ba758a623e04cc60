"""A YAML document that is being read: its nodes one by one, and the complaints about them, each at its place."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from tm2tfr.errors import Span
from tm2tfr.text.nodes import List, Map, Node, Scalar, kind
from tm2tfr.text.source import MOST_DIAGNOSTICS, Log, Mark

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
