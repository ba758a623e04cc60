"""The variables of a run that can be set, with all their names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tm2tfr.base.errors import visible
from tm2tfr.base.text.shown import aligned
from tm2tfr.contract.model import ModelVariable
from tm2tfr.lab.interventions.intervened import Base
from tm2tfr.lab.interventions.intervention import text_of_stage


@dataclass(frozen=True)
class ListedVariable:
    """A variable.

    Args:
        variable: as its causal model has it.
        subspace: the name of the one that holds it.
        columns: the columns of labels that it is in.
        aliases: what else it is called, such as the columns of the table.
    """

    variable: ModelVariable
    subspace: str
    columns: tuple[str, ...]
    aliases: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        found = self.variable
        layer, part = found.since
        names = {
            "name": found.name,
            "subspace": self.subspace,
            "columns": list(self.columns),
            "aliases": list(self.aliases),
        }
        about = {"meaning": found.meaning, "kind": found.kind, "labels": list(found.labels), "values": found.values}
        return {**names, **about, "since": {"layer": layer, "part": part}, "read_by": found.read_by, "unset": found.unset}


@dataclass(frozen=True)
class VariableList:
    """The variables of a subject, in the order of its causal model; fixed: what holds something else, with why it is so."""

    subject: str
    variables: tuple[ListedVariable, ...]
    fixed: Mapping[str, str]

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "subject": self.subject,
            "layers": "layers count from 0; the embedding is layer -1",
            "variables": [each.as_dict() for each in self.variables],
            "fixed": dict(self.fixed),
        }

    def __str__(self) -> str:
        rows = [["variable", "in labels", "in tables", "values", "written by", "what it is"]]
        for each in self.variables:
            variable = each.variable
            names = (variable.name, ", ".join(each.columns), ", ".join(each.aliases))
            rows.append([*map(visible, names), variable.values, text_of_stage(variable.since), variable.meaning])
        lines = [f"{visible(self.subject)}: variables", "", *aligned(rows)]
        if self.fixed:
            lines += ["", *(f"{visible(name)} cannot be set: {why}" for name, why in self.fixed.items())]
        return "\n".join(lines)


def listed(base: Base) -> VariableList:
    """Return the variables of a run."""
    model, columns = base.model, dict[str, list[str]]()
    for column, places in base.columns().items():
        for place in places if isinstance(places, tuple) else ():
            columns.setdefault(base.of_subspace(place), []).append(column)
    found = []
    for variable in model.variables.values():
        own = tuple(columns.get(variable.name, ()))
        aliases = tuple(alias for alias, meant in model.aliases.items() if meant == variable.name and alias not in own)
        subspace = variable.subspace or base.decoder.layout.holder(variable.name).name
        found.append(ListedVariable(variable, subspace, own, aliases))
    return VariableList(base.name, tuple(found), model.fixed)
