"""The model of a source as text, Markdown and plain data: each variable with its equation, its layer, and what reads it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tm2tfr.base.errors import counted, visible
from tm2tfr.base.text.shown import aligned, escaped, markdown_table
from tm2tfr.contract.model import ModelVariable, Pattern, SourceModel
from tm2tfr.transformer.weights import Decoder

HEADINGS = ("variable", "what it is", "equation", "source", "written by", "read by")
HEAD_HEADINGS = ("heads attend to", "which is", "equation", "source")


@dataclass(frozen=True)
class Explained:
    """The model of a source.

    Args:
        name: the name of the source.
        noun: its kind: ``machine``.
        model: the variables, in the order in which they get their values, and the patterns of heads.
        decoder: the weights, whose layers write the variables.
    """

    name: str
    noun: str
    model: SourceModel
    decoder: Decoder

    @property
    def variables(self) -> tuple[ModelVariable, ...]:
        """The variables that the weights hold, and those that only equations use."""
        held = {subspace.holds for subspace in self.decoder.layout.subspaces}
        return tuple(each for each in self.model.variables if not each.stored or each.name in held)

    @property
    def patterns(self) -> tuple[Pattern, ...]:
        """The patterns of the heads that the weights have."""
        claims = {head.claim.attends for layer in self.decoder.layers for head in layer.heads if head.claim is not None}
        return tuple(each for each in self.model.patterns if each.claim in claims)

    def layer_of(self, variable: ModelVariable) -> str:
        """Return the layer and the part of it that write a variable; nothing where no subspace holds it."""
        number, part = variable.since
        if not variable.stored:
            return ""
        if number < 0:
            return "embedding"
        name = self.decoder.layers[number].name if number < len(self.decoder.layers) else ""
        return f"{number + 1}{f' ({name})' if name else ''}, {part.replace('_', '-')}"

    def _rows(self) -> Iterator[tuple[str, ...]]:
        for each in self.variables:
            yield each.name, each.meaning, each.formula, each.source, self.layer_of(each), each.read_by

    def _heads(self) -> Iterator[tuple[str, ...]]:
        for each in self.patterns:
            yield each.claim, each.meaning, each.formula, each.source

    def __str__(self) -> str:
        counts = f"{counted(len(self.variables), 'variable')}, {counted(len(self.patterns), 'head pattern')}"
        lines = [f"{visible(self.name)} ({self.noun}): {counts}"]
        for headings, rows in ((HEADINGS, self._rows()), (HEAD_HEADINGS, self._heads())):
            lines += ["", *aligned(_filled([headings, *(tuple(map(visible, row)) for row in rows)]))]
        return "\n".join(lines)

    def markdown(self) -> str:
        """Return it as Markdown: a heading and two tables."""
        lines = [f"# {escaped(self.name)}"]
        for headings, rows in ((HEADINGS, self._rows()), (HEAD_HEADINGS, self._heads())):
            table = _filled([headings, *(tuple(map(escaped, row)) for row in rows)])
            lines += ["", markdown_table(table[0], table[1:])]
        return "\n".join(lines)

    def as_dict(self, *, labels: bool = True) -> dict[str, object]:
        """Return it as plain data; layers count from 0, and the embedding is layer -1.

        Args:
            labels: whether variables have their ``labels``, of which a circuit of 48,000 gates has as many.
        """
        variables, patterns = (_variable(each, labels=labels) for each in self.variables), map(_pattern, self.patterns)
        return {"subject": self.name, "kind": self.noun, "variables": [*variables], "patterns": [*patterns]}


def _filled(rows: Sequence[Sequence[str]]) -> list[Sequence[str]]:
    """Return the rows of a table without the columns in which every cell is empty."""
    some = [any(column[1:]) for column in zip(*rows, strict=True)]
    return [[cell for cell, there in zip(row, some, strict=True) if there] for row in rows]


def _variable(variable: ModelVariable, *, labels: bool) -> dict[str, object]:
    layer, part = variable.since
    about: dict[str, object] = {"name": variable.name, "meaning": variable.meaning, "kind": variable.kind}
    about |= {"labels": list(variable.labels)} if labels else {}
    written = {"formula": variable.formula, "source": variable.source, "stored": variable.stored}
    return {**about, **written, "since": {"layer": layer, "part": part}, "read_by": variable.read_by}


def _pattern(pattern: Pattern) -> dict[str, object]:
    return {
        "claim": pattern.claim,
        "meaning": pattern.meaning,
        "formula": pattern.formula,
        "source": pattern.source,
        "attends": pattern.seen,
    }
