"""The model of a source as text, Markdown and plain data: each variable with its equation, its layer, and its readers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from tm2tfr.base.errors import counted, visible
from tm2tfr.base.text.shown import aligned, escaped, markdown_table
from tm2tfr.contract.labelling import HeadPattern
from tm2tfr.contract.model import ModelVariable
from tm2tfr.contract.specification import stage_record, stage_text
from tm2tfr.transformer.weights import Decoder

HEADINGS = ("variable", "what it is", "equation", "source", "written by", "read by")
HEAD_HEADINGS = ("heads attend to", "which is", "equation", "source")


@dataclass(frozen=True)
class Explained:
    """The model of a source.

    Args:
        name: the name of the source.
        noun: its kind: ``machine``.
        variables: those that the weights hold, and those that only equations use, in the order of their values.
        patterns: the positions that the heads of the weights attend to.
        decoder: the weights, whose layers write the variables.
    """

    name: str
    noun: str
    variables: tuple[ModelVariable, ...]
    patterns: tuple[HeadPattern, ...]
    decoder: Decoder

    @cached_property
    def by_name(self) -> Mapping[str, ModelVariable]:
        """The variables by name."""
        return {variable.name: variable for variable in self.variables}

    def layer_of(self, variable: ModelVariable) -> str:
        """Return the layer and its part that write a variable; empty if no subspace holds it."""
        number = variable.since[0]
        if not variable.stored:
            return ""
        name = self.decoder.layers[number].name if 0 <= number < len(self.decoder.layers) else ""
        return stage_text(variable.since, "" if name in ("attention", "feed-forward") else name)

    def _rows(self) -> Iterator[tuple[str, ...]]:
        for each in self.variables:
            yield each.name, each.meaning, each.formula, each.source, self.layer_of(each), each.read_by

    def _heads(self) -> Iterator[tuple[str, ...]]:
        for each in self.patterns:
            yield each.name or each.claim, each.meaning, each.formula, each.source

    def _tables(self, shown: Callable[[str], str]) -> Iterator[list[Sequence[str]]]:
        """Yield the tables that have rows, without their empty columns."""
        for headings, rows in ((HEADINGS, [*self._rows()]), (HEAD_HEADINGS, [*self._heads()])):
            if rows:
                yield _filled([headings, *(tuple(map(shown, row)) for row in rows)])

    def __str__(self) -> str:
        counts = f"{counted(len(self.variables), 'variable')}, {counted(len(self.patterns), 'head pattern')}"
        lines = [f"{visible(self.name)} ({self.noun}): {counts}"]
        for table in self._tables(visible):
            lines += ["", *aligned(table)]
        return "\n".join(lines)

    def markdown(self) -> str:
        """Return it as Markdown: a heading and two tables."""
        lines = [f"# {escaped(self.name)}"]
        for table in self._tables(escaped):
            lines += ["", markdown_table(table[0], table[1:])]
        return "\n".join(lines)

    def as_dict(self, *, labels: bool = True) -> dict[str, object]:
        """Return it as plain data; layers count from 1, and the embedding is layer 0.

        Args:
            labels: include the ``labels`` of variables; a circuit of 48,000 gates has 48,000.
        """
        variables, patterns = (_variable(each, labels=labels) for each in self.variables), map(_pattern, self.patterns)
        return {"subject": self.name, "kind": self.noun, "variables": [*variables], "patterns": [*patterns]}


def _filled(rows: Sequence[Sequence[str]]) -> list[Sequence[str]]:
    """Return the rows of a table without the columns in which every cell is empty."""
    some = [any(column[1:]) for column in zip(*rows, strict=True)]
    return [[cell for cell, there in zip(row, some, strict=True) if there] for row in rows]


def _variable(variable: ModelVariable, *, labels: bool) -> dict[str, object]:
    about: dict[str, object] = {"name": variable.name, "meaning": variable.meaning, "kind": variable.kind}
    about |= {"labels": list(variable.labels)} if labels else {}
    written = {"formula": variable.formula, "source": variable.source, "stored": variable.stored}
    return {**about, **written, "since": stage_record(variable.since), "read_by": variable.read_by}


def _pattern(pattern: HeadPattern) -> dict[str, object]:
    return {
        "name": pattern.name,
        "claim": pattern.claim,
        "meaning": pattern.meaning,
        "formula": pattern.formula,
        "source": pattern.source,
        "attends": pattern.seen,
    }
