"""The specification of a run, labels, and causal runs, all derived from a model.

In a causal run some variables are set. Each variable at a position is a function of variables at this position and others.
An intervention sets one, ``do(q at 5 = q3)`` (Pearl 2009): it has that value from the stage on after which it is written.
Variables computed from it afterwards see the new value; those computed before do not. A causal model is independent of
weights: it predicts what weights must do when the subspace of that variable is overwritten.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tm2tfr.contract.evaluation import SteppedRuns, WholeRuns
from tm2tfr.contract.labelling import (
    HeadColumn,
    HeadPattern,
    HeldVariable,
    LabelVariable,
    Ragged,
    RunRows,
    Scheme,
    VariableColumns,
    claimed,
    heads_of,
    recoded,
)
from tm2tfr.contract.model import LabelColumn, ModelVariable, SourceModel, VariableValues, place_table
from tm2tfr.contract.specification import Specification, VariableValue
from tm2tfr.transformer.residual import Residual
from tm2tfr.transformer.weights import Decoder

CausalValue = VariableValue
"""The value of a variable; a mixture can occur, but cannot be set."""

Settings = Mapping[tuple[str, int], CausalValue]
"""(variable, position) -> its new value."""


@dataclass(frozen=True)
class CausalRun:
    """A run of a causal model.

    Args:
        tokens: the tokens fed, from position 0 on.
        answers: the answer at each position: the token, or for a sequence model each output.
        cells: for each position the value of every variable.
        doubts: (variable, position) -> why its value in the weights is unknown: such values occur in no run.
        unanswered: position -> the numbers of the outputs with unknown answers there, with the reason.
    """

    tokens: tuple[str, ...]
    answers: tuple[CausalValue, ...]
    cells: tuple[Mapping[str, CausalValue], ...]
    doubts: Mapping[tuple[str, int], str] = field(default_factory=dict)
    unanswered: Mapping[int, Mapping[int, str]] = field(default_factory=dict)

    @property
    def why_unanswered(self) -> str:
        """The first reason why an answer is unknown; empty: all answers are known."""
        return next((why for outputs in self.unanswered.values() for why in outputs.values()), "")


class ReadOff(Protocol):
    """A value that no subspace holds: weights read it from other variables, which are set in its place."""

    @property
    def parts(self) -> tuple[str, ...]:
        """The variables."""

    def at(self, position: int) -> CausalValue:
        """Return its value at a position of the run without interventions."""

    def settings(self, value: CausalValue, position: int, where: str) -> Settings:
        """Return the settings of its variables that make it equal a value.

        Raises:
            UsageError: if it cannot have that value.
        """


class CausalModel(Protocol):
    """A run on one input, as equations: see the module."""

    @property
    def variables(self) -> Mapping[str, ModelVariable]:
        """The variables that can be set, by name."""

    @property
    def aliases(self) -> Mapping[str, str]:
        """Other names of variables, such as the columns of the table: name -> variable."""

    @property
    def opposites(self) -> Mapping[str, str]:
        """The names of negated truth values: name -> the variable that is 1 where it is 0."""

    @property
    def read_off(self) -> Mapping[str, ReadOff]:
        """The values that are set through other variables, by name."""

    @property
    def fixed(self) -> Mapping[str, str]:
        """The contents of other subspaces, with the reason why they cannot be set."""

    def run(self, settings: Settings, max_positions: int) -> CausalRun:
        """Return the run in which variables have these values, of at most `max_positions` positions."""

    def runs(self, settings: Sequence[Settings], max_positions: int) -> list[CausalRun]:
        """Return the run for each of the settings, in their order."""


DescribedModel = tuple[tuple[ModelVariable, ...], tuple[HeadPattern, ...]]
"""The variables that weights hold, or equations use, in the order of their values; the patterns of the weights' heads."""


def described(model: SourceModel, decoder: Decoder) -> DescribedModel:
    """Return the part of a model that the weights have, for readers."""
    held, claims = {subspace.holds for subspace in decoder.layout.subspaces}, claimed(decoder)
    variables = tuple(each for each in model.variables if not each.stored or each.name in held)
    return variables, tuple(each for each in model.patterns if each.claim in claims)


# ── one run, position by position
class ModelSpecification(Specification):
    """The specification of a run whose tokens are known, see `tm2tfr.contract.specification.Specification`.

    Args:
        tokens: the tokens fed, from position 0 on.
        table: column of the table -> the reference's cells, as texts and numbers.
    """

    def __init__(self, model: SourceModel, tokens: Sequence[str], table: Mapping[str, Sequence[VariableValue]]) -> None:
        self.model, self._tokens = model, tokens
        stored = {name: stored_values(model.named(name), cells) for name, cells in table.items()}
        given = model.given(stored, np.arange(len(tokens)))
        self.columns = WholeRuns(model, np.array([0, len(tokens)]), recoded(tokens, model.vocabulary), given)

    @property
    def tokens(self) -> Sequence[str]:
        """The tokens fed, from position 0 on."""
        return self._tokens

    def covers(self, layout: Residual) -> bool:
        """Return whether the model has the claimed content of every subspace of `layout`."""
        return all(subspace.holds in self.model.held for subspace in layout.subspaces)

    def holds(self, what: str, layer: int, part: str) -> bool:
        """Return whether the subspace that holds `what` has its value after `part` of `layer`."""
        return self.model.holds(what, layer, part)

    def values(self, i: int) -> Mapping[str, VariableValue]:
        """Return the value of every subspace at position `i`, after it is written."""
        found: dict[str, VariableValue] = {}
        for name, (variable, sign) in self.model.held.items():
            value = variable.decoded(self.columns[variable.name][i : i + 1])[0]
            if variable.kind == "number":
                value = sign * (Fraction(value, i + 1) if variable.share else value)
            found[name] = value
        return found

    def attended(self, where: str, i: int) -> Sequence[int]:
        """Return the positions that a head with the claim `where` attends to from `i`; empty for an unknown claim."""
        pattern = self.model.by_claim.get(where)
        if pattern is None:
            return ()
        if pattern.seen == "all":
            return range(i + 1)
        places = self.columns.places(where)
        if not isinstance(places, Ragged):
            return (int(places[i]),)
        first, last = places.offsets[i : i + 2].tolist()
        return range(i + 1) if places.everything[i] else places.places[first:last].tolist()


def stored_values(variable: ModelVariable, values: Sequence[VariableValue]) -> VariableValues:
    """Return values in the form in which the model stores them."""
    if variable.coded:
        return recoded(values, variable.labels)
    found = np.empty(len(values), dtype=object)
    found[:] = values
    return found if variable.mixed or variable.rational else found.astype(np.int64)


# ── many runs, as columns
class ModelLabels:
    """The labels of runs whose tokens and tables are known.

    Args:
        decoder: the weights, of which only claims and symbols are read.
    """

    def __init__(self, model: SourceModel, decoder: Decoder) -> None:
        self._model, self._layout = model, decoder.layout
        self._of_variables = {v.column.name: (v.column, v) for v in model.variables if v.column is not None}
        self._of_patterns = {p.column.name: (p.column, p) for p in model.patterns if p.column is not None}
        seen = {claim: pattern.seen for claim, pattern in model.by_claim.items()}
        self._heads = heads_of(decoder, seen.get)
        self.scheme = Scheme(
            variables=tuple(map(self._variable, filter(self._published, model.columns))),
            heads=self._heads,
            held={subspace.name: self._held(subspace.holds) for subspace in decoder.layout.subspaces},
            answers=decoder.vocabulary,
            ends=model.outcomes,
        )

    def _column(self, name: str) -> LabelColumn:
        return (self._of_variables.get(name) or self._of_patterns[name])[0]

    def _published(self, name: str) -> bool:
        """Return whether the data have this column: for some variables only if these weights have them."""
        if not self._column(name).optional:
            return True
        return self._layout.holding(self._of_variables[name][1].name) is not None

    def _variable(self, name: str) -> LabelVariable:
        column, labels = self._column(name), None
        if column.kind == "label":
            variable = self._of_variables[name][1]
            subspace = self._layout.holding(column.labels_of or variable.name)
            labels = variable.labels if subspace is None else subspace.labels
        return LabelVariable(name=name, kind=column.kind, meaning=column.meaning, labels=labels)

    def _held(self, what: str) -> HeldVariable | None:
        if what not in self._model.held:
            return None
        variable, sign = self._model.held[what]
        held, column = variable.held, variable.column
        if held is None and column is not None:
            held = HeldVariable(column=column.name, over=variable.share)
        if held is not None and held.mean is not None:  # in a model, the claim of a head
            head = next((head.column for head in self._heads if head.claim == held.mean), None)
            held = None if head is None else replace(held, mean=head)
        return held if held is None or sign == 1 else replace(held, times=-held.times)

    def answers(self, raw: RunRows) -> NDArray[np.int32]:
        """Return the index in the vocabulary of the answer at each position."""
        return np.asarray(self._model.answer(self._evaluated(raw)), dtype=np.int32)

    def labels(self, raw: RunRows) -> tuple[VariableColumns, dict[str, HeadColumn]]:
        """Return the columns of variables and heads."""
        columns = self._evaluated(raw)
        found: VariableColumns = {}
        for label in self.scheme.variables:
            if label.name in self._of_patterns:
                places = columns.places(self._of_patterns[label.name][1].claim)
                found[label.name] = np.asarray(places, dtype=np.int32)
                continue
            variable = self._of_variables[label.name][1]
            values = columns[variable.name]
            if label.labels is not None:
                values = relabelled(values, variable.labels, label.labels)
            found[label.name] = values.astype(np.float64 if label.kind == "number" else np.int32, copy=False)
        attended: dict[str, HeadColumn] = {}
        for head in self.scheme.heads:
            if head.seen != "all":
                places = columns.places(head.claim)
                attended[head.column] = places if isinstance(places, Ragged) else places.astype(np.int32)
        return found, attended

    def _evaluated(self, raw: RunRows) -> WholeRuns:
        model, stored = self._model, dict[str, VariableValues]()
        for name, cells in raw.columns.items():
            variable = model.named(name)
            labels = self._layout.holder(variable.name).labels
            stored[name] = cells if labels is None else relabelled(cells, labels, variable.labels)
        positions = np.arange(len(raw.tokens)) - raw.starts
        return WholeRuns(model, raw.offsets, raw.tokens, model.given(stored, positions), fast=True)


def relabelled(places: VariableValues, labels: Sequence[str], wanted: Sequence[str]) -> VariableValues:
    """Return indices into symbols as indices into others."""
    return places if labels == wanted else np.asarray(place_table(labels, wanted)[places])


# ── runs in which variables are set
_MIRROR = "it is another variable with the opposite sign, which is overwritten with that one"


class ModelRuns:
    """A run on one input, as equations, see `tm2tfr.contract.modelled.CausalModel`.

    Args:
        prompt: the tokens that are fed before the first answer.
        decoder: the weights, of which only the subspaces' claims and symbols are read.
    """

    def __init__(self, model: SourceModel, prompt: Sequence[str], decoder: Decoder) -> None:
        self._model, self._prompt, self.aliases = model, tuple(prompt), model.aliases
        self.opposites: Mapping[str, str] = {}
        self.read_off: Mapping[str, ReadOff] = {}
        subspaces = {subspace.holds: subspace for subspace in decoder.layout.subspaces}
        self.variables: Mapping[str, ModelVariable] = {
            variable.name: replace(variable, labels=subspaces[variable.name].labels or ())
            for variable in model.variables
            if variable.name in subspaces and not variable.feature
        }
        known = {what: model.held[what][0].unset or _MIRROR for what in subspaces if what in model.held}
        self.fixed: Mapping[str, str] = {what: why for what, why in known.items() if what not in self.variables}

    def run(self, settings: Settings, max_positions: int) -> CausalRun:
        """Return the run in which variables have these values, up to `max_positions` positions."""
        return self.runs([settings], max_positions)[0]

    def runs(self, settings: Sequence[Settings], max_positions: int) -> list[CausalRun]:
        """Return the runs in which variables have these values, all runs at the same time."""
        model, prompt, count = self._model, self._prompt, len(settings)
        columns = SteppedRuns(model, count, self._grouped(settings))
        most = max_positions if model.positions is None else min(max_positions, model.positions)
        fed = recoded(prompt, model.vocabulary)
        answers, ends = list[NDArray[np.int64]](), np.full(count, most)
        for i in range(most):
            columns.step(np.full(count, fed[i]) if i < len(prompt) else answers[-1])
            answers.append(model.answer(columns))
            if i + 1 >= len(prompt):
                stopped = [model.vocabulary[answer] in model.stop for answer in answers[-1].tolist()]
                ends = np.where(stopped, np.minimum(ends, i + 1), ends)
                if (ends <= i + 1).all():
                    break
        cells: dict[str, VariableValues] = {
            name: model.by_name[name].decoded(columns.past(name)) for name in self.variables
        }
        return [self._run(r, int(ends[r]), answers, cells) for r in range(count)]

    def _grouped(self, settings: Sequence[Settings]) -> dict[tuple[str, int], tuple[NDArray[np.int64], VariableValues]]:
        """Return the settings of a variable: runs, positions and values."""
        found: dict[tuple[str, int], tuple[list[int], list[VariableValue]]] = {}
        for r, own in enumerate(settings):
            for key, value in own.items():
                runs, values = found.setdefault(key, ([], []))
                runs.append(r)
                values.append(value)
        return {key: (np.array(r), stored_values(self._model.by_name[key[0]], v)) for key, (r, v) in found.items()}

    def _run(
        self, r: int, end: int, answers: Sequence[NDArray[np.int64]], cells: Mapping[str, VariableValues]
    ) -> CausalRun:
        answered = tuple(self._model.vocabulary[answer[r]] for answer in answers[:end])
        tokens = (*self._prompt, *answered[len(self._prompt) - 1 :])[:end]
        columns = {name: values[:end, r].tolist() for name, values in cells.items()}
        rows = tuple(dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))
        return CausalRun(tokens, answered, rows)
