"""The readable part of a machine's text with its places, and the complaints about the rest."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any, NamedTuple

from tm2tfr.base.errors import Diagnostic
from tm2tfr.base.text.nodes import Node, Reading, Scalar
from tm2tfr.base.text.source import Mark
from tm2tfr.sources.turing.spec import Machine, MachineError, Problem

Path = tuple[str, ...]


@dataclass
class Draft(Reading):
    """The keywords of a `Machine`, as far as they have been read.

    `marks` maps the path of a `Problem` to the node to point at. Parts in `unreadable` were already reported: the checks
    of the machine say nothing more about them.
    """

    values: dict[str, Any] = field(default_factory=dict)
    marks: dict[Path, Node] = field(default_factory=dict)
    unreadable: set[str] = field(default_factory=set)

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

    def loaded(self) -> Loaded:
        """Return the machine with all warnings.

        Raises:
            SpecError: with every error of the machine and of the document.
        """
        return Loaded(machine=self.machine(), warnings=self.log.conclude())

    def one_tape(self, node: Node, number: str) -> None:
        """Raise SpecError unless the number of tapes is one: other errors in such a text do not matter."""
        if number != "1":
            self.refuse(
                node, f"this machine has {number} tapes, but machines here have one", "convert it to one tape first"
            )

    def unknown_key(
        self, key: Node, name: str, known: Collection[str], meant: Mapping[str, str], otherwise: str = "make it a comment"
    ) -> None:
        """Warn of a key that the format does not have; `meant`, `known`: see `nearest`."""
        problem = f"unknown key {name!r}{self.nearest(name, known, meant)}"
        self.warn(key, problem, f"it is ignored: correct it, or {otherwise}")

    def missing_keys(self, root: Node, keys: Sequence[str]) -> None:
        """Report the keys that a document lacks, if there are any."""
        if keys:
            problem = f"there is no key {keys[0]!r}" if len(keys) == 1 else f"there are no keys {', '.join(keys)}"
            self.error(root, problem, "add it" if len(keys) == 1 else "add them")

    def second_rule(self, node: Node, key: tuple[str, str], first: Node, *, same: bool = False) -> None:
        """Report a rule for a state and symbol that have one at `first`: a choice, unless both rules are the same."""
        problem = f"state {key[0]!r} already has a rule for {key[1]!r} in line {first.start.line + 1}"
        if same:
            self.warn(node, problem, "remove one of the two, which are the same")
        else:
            self.error(node, f"{problem}, and machines here are deterministic", "keep one of the two")

    def complain(self, problem: Problem) -> None:
        """Report a problem from the checks of `Machine` at its place in the text."""
        at, position = problem.at, None
        if at[0] in self.unreadable:
            return
        if at not in self.marks and at[0] in ("input", "examples") and at[:-1] in self.marks:
            at, position = at[:-1], int(at[-1])
        while at and at not in self.marks:
            at = at[:-1]
        self.log.add(self.span(self.marks.get(at), position), problem.what, problem.remedy)


# ── the value that every reader of a format returns ───────────────────────────────────────────────────
class Loaded(NamedTuple):
    """A machine, and warnings about likely mistakes."""

    machine: Machine
    warnings: tuple[Diagnostic, ...] = ()


def matched(number: int, match: re.Match[str], group: str | int = 0) -> Scalar:
    """Return the match of a pattern, or of a group of it, in line `number` as a node."""
    return Scalar(Mark(number, match.start(group)), Mark(number, match.end(group)), match[group], plain=True)


def stripped(number: int, column: int, text: str) -> Scalar:
    """Return a text in line `number` without surrounding spaces as a node; a text of only spaces keeps its width."""
    start, inside = column + len(text) - len(text.lstrip()), text.strip()
    return Scalar(Mark(number, start if inside else column), Mark(number, start + len(inside)), inside, plain=True)


def stem(file: str) -> str:
    """Return the default name of a machine: that of its file."""
    return "machine" if file.startswith("<") else PurePath(file).stem or "machine"
