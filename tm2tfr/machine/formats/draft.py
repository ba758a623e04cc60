"""The readable part of a native document with its places, and the complaints about the rest."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from tm2tfr.errors import Span, did_you_mean
from tm2tfr.machine.spec import Machine, MachineError, Problem
from tm2tfr.text.nodes import List, Map, Node, Scalar, kind
from tm2tfr.text.source import MOST_DIAGNOSTICS, Log, Mark

Path = tuple[str, ...]
Fields = dict[str, tuple[Scalar, Node]]


@dataclass
class Draft:
    """The keywords of a `Machine`, as far as they have been read.

    `marks` maps the path of a `Problem` to the node to point at. Whatever is `unreadable` was reported in its
    place: the checks of the machine say nothing more about it.
    """

    log: Log
    values: dict[str, Any] = field(default_factory=dict)
    marks: dict[Path, Node] = field(default_factory=dict)
    unreadable: set[str] = field(default_factory=set)

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
        return f" (did you mean {sure!r}?)" if sure else did_you_mean(name, islice(known, 1000))

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

    def scalars(self, node: Node, noun: str) -> list[Scalar] | None:
        """Return the texts of a text or a list of texts; report anything else and return None."""
        items = node.items if isinstance(node, List) else (node,)
        for item in items:
            if not isinstance(item, Scalar):
                self.error(item, f"expected {noun}, found {kind(item)}", "write it as text, in quotes if necessary")
        texts = [item for item in items if isinstance(item, Scalar)]
        return texts if len(texts) == len(items) else None

    # ── the machine ─────────────────────────────────────────────────────────────────────────────────────
    def machine(self) -> Machine:
        """Return the machine.

        Raises:
            SpecError: with every error of the machine and of the document.
        """
        try:
            machine = Machine(**self.values)
        except MachineError as error:
            for problem in error.problems:
                self.complain(problem)
            raise self.log.failure() from None
        self.log.conclude()
        return machine

    def complain(self, problem: Problem) -> None:
        """Report a problem found by the checks of `Machine`, at its place in the text."""
        at, position = problem.at, None
        if at[0] in self.unreadable:
            return
        if at not in self.marks and at[0] in ("input", "examples") and at[:-1] in self.marks:
            at, position = at[:-1], int(at[-1])
        while at and at not in self.marks:
            at = at[:-1]
        self.log.add(self.span(self.marks.get(at), position), problem.what, problem.remedy)
