"""Carrying out interventions: on the causal model of a run, and on the weights."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from tm2tfr.base.errors import UsageError, did_you_mean, listing, visible
from tm2tfr.base.text.shown import aligned
from tm2tfr.contract.model import ModelVariable
from tm2tfr.contract.modelled import CausalModel, CausalRun, CausalValue, Settings
from tm2tfr.contract.specification import LAYERS, stage_record, stage_text
from tm2tfr.engines.decode import Engine
from tm2tfr.lab.interventions.intervention import (
    Cell,
    Intervention,
    PatchedRun,
    VariableSetting,
    changed_cells,
    patched_run,
    patches_of,
    text_of_unknown,
    wrong_cells,
)
from tm2tfr.transformer.listing import wiring
from tm2tfr.transformer.weights import Decoder

ColumnPlaces = Mapping[str, tuple[str, ...] | str]
"""Column of labels -> the names of the subspaces that hold it as it is, or why none does."""

MOST_NAMED = 24
"""A message names at most this many variables."""


@dataclass(frozen=True)
class Base:
    """A run that interventions are made on: its causal model, and what there is without any.

    Args:
        name, input: what is run, as it is shown.
        decoder: the weights.
        model: the causal model of the run.
        prompt: the tokens of the input.
        engine: that which runs the weights.
        most: the most positions of a run.
        columns: returns where the columns of labels are; called when it is needed.
        check: returns how the weights differ from the reference without any intervention, in words; empty: they do not.
    """

    name: str
    input: str
    decoder: Decoder
    model: CausalModel
    prompt: Sequence[str]
    engine: Engine
    most: int
    columns: Callable[[], ColumnPlaces] = dict
    check: Callable[[], str] = str

    @cached_property
    def run(self) -> CausalRun:
        """The run of the causal model without any intervention."""
        return self.model.run({}, self.most)

    @cached_property
    def weights(self) -> PatchedRun:
        """The run of the weights without any intervention."""
        return patched_run(self.decoder, self.prompt, {}, engine=self.engine, max_positions=self.most)

    @cached_property
    def broken(self) -> str:
        """How the weights differ from the reference without any intervention; empty: they do not."""
        return self.check()

    def variable(self, asked: str, where: str) -> ModelVariable:
        """Return the variable that is called so: by what its subspace holds, by that one's name, or by a column.

        Columns are those of the table, and of labels.

        Raises:
            UsageError: if nothing is, or it cannot be set.
        """
        model, layout = self.model, self.decoder.layout
        meant = model.aliases.get(asked) or model.opposites.get(asked, asked)
        name, why = asked if asked in model.variables else meant, ""
        if name not in model.variables:
            claimed = layout.holding(asked)  # as scripts have it from before variables had names of their own
            places = (asked,) if asked in layout else (claimed.name,) if claimed else self.columns().get(asked, "")
            held = [self.of_subspace(place) for place in places] if isinstance(places, tuple) else []
            why = places if isinstance(places, str) else ""
            name = next((each for each in held if each in model.variables), *held[:1] or [name])
        if name in model.variables:
            found = model.variables[name]
            if found.unset:
                raise UsageError(f"{where}: {asked} cannot be set: {found.unset}")
            return found
        if why or name in model.fixed:
            raise UsageError(f"{where}: {asked} cannot be set: {model.fixed.get(name) or why}")
        if brought := self._brought_by(asked):
            what = f"{where}: {asked!r} is a head, and only variables can be set: set what it brings"
            raise UsageError(f"{what}, {listing(brought, most=MOST_NAMED)}")
        known = [
            *model.read_off,
            *model.variables,
            *(alias for alias, meant in model.aliases.items() if meant in model.variables),
        ]
        what = f"{where}: {self.name} has no variable {asked!r}{did_you_mean(asked, [*known, *self.columns()])}"
        every = [*model.read_off, *model.variables]
        if not every:
            raise UsageError(f"{what}, and no other that can be set: choose another program")
        raise UsageError(f"{what}: use one of {listing(every, most=MOST_NAMED)}{self._more()}")

    def reads_off(self, asked: str) -> bool:
        """Return whether a name is that of a value that is set by the variables from which it is read."""
        model = self.model
        return asked in model.read_off and asked not in model.variables and asked not in model.aliases

    def opposite(self, asked: str) -> bool:
        """Return whether a name is that of a truth value of which a variable is the opposite."""
        model = self.model
        return asked not in model.variables and asked not in model.aliases and asked in model.opposites

    def of_subspace(self, subspace: str) -> str:
        """Return the name of the variable that a subspace holds."""
        own = (each.name for each in self.model.variables.values() if each.subspace == subspace)
        return next(own, self.decoder.layout.subspace(subspace).holds)

    def _brought_by(self, head: str) -> list[str]:
        """Return the variables that a head brings, or that are computed from these; empty: there is no such head."""
        wires = wiring(self.decoder, by_name=True).wires
        brought = {name for name, wire in wires.items() if wire.head is not None and wire.head.name == head}
        readers = {name for name, wire in wires.items() if wire.reads & brought}
        settable = {name: each.subspace or name for name, each in self.model.variables.items() if not each.unset}
        every = ([name for name, space in settable.items() if space in spaces] for spaces in (brought, readers))
        return next(filter(None, every), [])

    def _more(self) -> str:
        return "" if len(self.model.variables) <= MOST_NAMED else " (tm2tfr intervene --variables lists all)"

    def at(self, name: str, position: int, where: str) -> CausalValue:
        """Return the value of a variable without any intervention.

        Raises:
            UsageError: if the run does not have this position.
        """
        if not 0 <= position < len(self.run.cells):
            what = (
                f"{where}: the run on {self.input!r} has the positions 0 to {len(self.run.cells) - 1}, and not {position}"
            )
            raise UsageError(f"{what}: use one of these")
        return self.run.cells[position][name]

    def intervened(self, settings: Sequence[VariableSetting]) -> Intervention:
        """Return the result of these settings, by the causal model and by the weights."""
        return self.batch([settings])[0]

    def batch(self, many: Sequence[Sequence[VariableSetting]]) -> list[Intervention]:
        """Return the result of each of these settings; the causal model makes the runs of a batch at the same time."""
        return [self.compared(*each) for each in zip(many, self.expected(many), strict=True)]

    def expected(self, many: Sequence[Sequence[VariableSetting]]) -> list[CausalRun]:
        """Return the run that each of these settings must come to, by the causal model."""
        return self.model.runs([_chosen(settings) for settings in many], self.most)

    def compared(self, settings: Sequence[VariableSetting], expected: CausalRun) -> Intervention:
        """Return the result of these settings, whose run must come to `expected`."""
        without, chosen = self.run, _chosen(settings)
        layout, variables = self.decoder.layout, self.model.variables
        patches = patches_of(layout, variables, chosen)
        found = patched_run(self.decoder, self.prompt, patches, engine=self.engine, max_positions=self.most)
        wrong = [*self._wrong(without, self.weights), *self._wrong(expected, found)]
        changed = changed_cells(without, expected, list(variables))
        unanswered = [why for outputs in expected.unanswered.values() for why in outputs.values()]
        done = Intervention(
            subject=self.name,
            input=self.input,
            engine=self.engine.name,
            settings=tuple(settings),
            without=without,
            expected=expected,
            patched_tokens=found.tokens,
            patched_answers=found.answers,
            wrong=tuple(wrong),
            broken=self.broken,
            changed=tuple(changed),
            explained=tuple(dict.fromkeys((*expected.doubts.values(), *unanswered))),
            why=None,
        )
        if done.causal:
            return done
        return replace(done, why=why_not(settings, variables, changed) if done.known else text_of_unknown(expected))

    def _wrong(self, expected: CausalRun, found: PatchedRun) -> list[Cell]:
        """Return the cells in which weights hold something else than expected, where that is known."""
        layout, every = self.decoder.layout, self.model.variables.values()
        cells = wrong_cells(layout, every, expected.cells, found)
        return [
            Cell(i, variable.name, expected.cells[i][variable.name], held)
            for i, variable, held in cells
            if (variable.name, i) not in expected.doubts
        ]


def _chosen(settings: Sequence[VariableSetting]) -> Settings:
    return {(each.variable, each.position): each.value for each in settings}


def why_not(settings: Sequence[VariableSetting], variables: Mapping[str, ModelVariable], changed: Sequence[Cell]) -> str:
    """Return why settings change no answer, in words."""
    said = []
    own = {(each.variable, each.position) for each in settings}
    others = list(dict.fromkeys(cell.variable for cell in changed if (cell.variable, cell.position) not in own))
    for each in settings:
        variable = variables[each.variable]
        if each.value == each.before:
            said.append(f"{each.variable} at {each.position} has this value without it as well")
        elif not variable.read_by:
            said.append(f"{each.variable} is read by nothing once it is written")
        elif others:
            named = ", ".join(others[:4]) + (", …" if len(others) > 4 else "")
            said.append(f"{each.variable} is read by {variable.read_by}; that changes {named}, and no answer")
        else:
            said.append(f"{each.variable} is read by {variable.read_by}, which comes to the same here")
    return "; ".join(said)


# ── The variables of a run that can be set, with all their names.
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

    def as_dict(self) -> dict[str, object]:
        """Return it as plain data."""
        found = self.variable
        names = {
            "name": found.name,
            "subspace": self.subspace,
            "columns": list(self.columns),
            "aliases": list(self.aliases),
        }
        about = {"meaning": found.meaning, "kind": found.kind, "labels": list(found.labels), "values": found.values}
        return {**names, **about, "since": stage_record(found.since), "read_by": found.read_by, "unset": found.unset}


@dataclass(frozen=True)
class VariableList:
    """The variables of a subject, in the order of its causal model.

    Args:
        fixed: what cannot be set, with why it is so; opposites: name -> the variable whose opposite it is.
        read_off: name -> the variables from which it is read, and by which it is set.
    """

    subject: str
    variables: tuple[ListedVariable, ...]
    fixed: Mapping[str, str]
    opposites: Mapping[str, str]
    read_off: Mapping[str, tuple[str, ...]]

    def as_dict(self) -> dict[str, object]:
        """Return it as plain data."""
        return {
            "subject": self.subject,
            "layers": LAYERS,
            "variables": [each.as_dict() for each in self.variables],
            "fixed": dict(self.fixed),
            "opposites": dict(self.opposites),
            "read_off": {name: list(parts) for name, parts in self.read_off.items()},
        }

    def __str__(self) -> str:
        rows = [["variable", "in labels", "in tables", "values", "written by", "what it is"]]
        for each in self.variables:
            variable = each.variable
            names = (variable.name, ", ".join(each.columns), ", ".join(each.aliases))
            rows.append([*map(visible, names), variable.values, stage_text(variable.since), variable.meaning])
        lines = [f"{visible(self.subject)}: variables", "", *aligned(rows)]
        if self.opposites:
            lines += [
                "",
                *(f"{visible(name)} is set as the opposite of {visible(o)}" for name, o in self.opposites.items()),
            ]
        if self.read_off:
            named = {visible(name): " and ".join(map(visible, parts)) for name, parts in self.read_off.items()}
            lines += ["", *(f"{name} is read from {parts}, and set by that" for name, parts in named.items())]
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
    read_off = {name: each.parts for name, each in model.read_off.items()}
    return VariableList(base.name, tuple(found), model.fixed, model.opposites, read_off)
