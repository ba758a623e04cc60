"""The readable part of a machine's text with its places, and the complaints about the rest."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

from tm2tfr.base.errors import Diagnostic
from tm2tfr.base.text.nodes import Node, Reading
from tm2tfr.sources.turing.spec import Machine, MachineError, Problem

Path = tuple[str, ...]


@dataclass
class Draft(Reading):
    """The keywords of a `Machine`, as far as they have been read.

    `marks` maps the path of a `Problem` to the node to point at. Whatever is `unreadable` was reported in its
    place: the checks of the machine say nothing more about it.
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

    def one_tape(self, node: Node, number: str) -> None:
        """Raise SpecError unless the number of tapes is one: what else is wrong with such a text does not matter."""
        if number != "1":
            self.refuse(
                node, f"this machine has {number} tapes, but machines here have one", "convert it to one tape first"
            )

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


# ── the value that every reader of a format returns ───────────────────────────────────────────────────
@dataclass(frozen=True, kw_only=True)
class Loaded:
    """A machine, and warnings about what its author may not have meant."""

    machine: Machine
    warnings: tuple[Diagnostic, ...] = ()


def stem(file: str) -> str:
    """Return the name of a machine that does not give its own: that of its file."""
    return "machine" if file.startswith("<") else PurePath(file).stem or "machine"
