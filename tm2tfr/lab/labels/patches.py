"""How a variable is overwritten in an exported model, as data: at which module and coordinates, with which numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tm2tfr.base.errors import CompileError
from tm2tfr.contract.model import ModelVariable
from tm2tfr.contract.source import Source
from tm2tfr.targets.registry import DirectionPlace, ExportedStream, PatchPoint, TablePlace
from tm2tfr.transformer.residual import Residual, Subspace
from tm2tfr.transformer.weights import Decoder

HOOKS, SCHEMA = "hooks.json", "hooks.schema.json"
"""The file with the hook points and the patches, and the one with its JSON schema."""
ABOUT = (
    "to set a variable to a value at a position: at the target's point of its stage, write the numbers of each of its "
    "places there. x[index[0]:index[1]] = sign * numbers / scale, and x[mirror[0]:mirror[1]] = -sign * numbers / scale if "
    "the place has a mirror. The numbers are: of a place with labels 1 for the value and 0 for the others, and 0 for all "
    "for no value; of a place with a table the entry of the value, values[value - first]; of any other the value, divided "
    "by position + 1 where the place says so. x is the stream after that stage: what the point has itself, or, where it "
    "has a before, what is added to that, so that what is written there is less what before has at the same coordinates. "
    "A point with a chunk is given the positions of a long run in several calls, that many at a time"
)

ANSWERS = {
    "about": "the answer of an output is the first of its labels whose logit is at most tie less than the largest: where "
    "several parts of the weights answer at once, their votes are equal up to rounding",
    "tie": 1e-6,
}


def schema() -> str:
    """Return the JSON schema of `HOOKS`."""
    return Path(__file__).with_name(SCHEMA).read_text(encoding="utf-8")


def variables_of(source: Source[Any], program: Any, decoder: Decoder) -> dict[str, ModelVariable]:
    """Return the variables of a program's model that can be set in these weights, by name; none if there is no model."""
    try:
        found, _ = source.explained(program, decoder)
    except CompileError:
        return {}
    return {each.name: each for each in found if each.stored and not each.feature and not each.unset}


def subspace_of(layout: Residual, variable: ModelVariable, holds: str) -> Subspace:
    """Return the subspace of a variable, or the one that holds its mirror."""
    return layout.subspace(variable.subspace) if variable.subspace else layout.holder(holds)


def square_of(name: str, variables: Mapping[str, ModelVariable]) -> str:
    """Return the name of the variable that holds the square of one; empty: none does.

    A head that looks for the nearest of some numbers reads both, so that one without the other does not work.
    """
    return square if (square := f"{name}^2") in variables else ""


def patches(
    layout: Residual, variables: Mapping[str, ModelVariable], streams: Mapping[str, ExportedStream]
) -> dict[str, object]:
    """Return how each variable is set in each export, as plain data."""
    return {
        "about": ABOUT,
        "answers": ANSWERS,
        "variables": {
            name: {
                "kind": variable.kind,
                "stage": dict(zip(("layer", "part"), variable.since, strict=True)),
                "together": [each for each in (square_of(name, variables), _root(name, variables)) if each],
            }
            for name, variable in variables.items()
        },
        "targets": {target: _of_stream(layout, variables, stream) for target, stream in streams.items()},
    }


def _root(name: str, variables: Mapping[str, ModelVariable]) -> str:
    """Return the name of the variable whose square one is; empty: none's."""
    return root if (root := name.removesuffix("^2")) != name and root in variables else ""


def _of_stream(layout: Residual, variables: Mapping[str, ModelVariable], stream: ExportedStream) -> dict[str, object]:
    points = {(point.layer, point.part): point for point in stream.patched}
    found: dict[str, object] = {}
    for name, variable in variables.items():
        # where a layer has no such part, the stream is the same before it and after
        point = points.get(variable.since) or points[variable.since[0], "feed_forward"]
        found[name] = {"point": _point(point), "places": list(_places(layout, variable, stream))}
    return found


def _point(point: PatchPoint) -> dict[str, object]:
    plain: dict[str, object] = {"module": point.module, "side": point.side}
    plain |= {"before": point.before} if point.before else {}
    plain |= {"in place": True} if point.in_place else {}
    return plain | ({"chunk": point.chunk} if point.chunk else {})


def _places(layout: Residual, variable: ModelVariable, stream: ExportedStream) -> Iterable[dict[str, object]]:
    for sign, holds in ((1, variable.name), *((-1, mirror) for mirror in variable.mirrors)):
        subspace = subspace_of(layout, variable, holds)
        where = [stream.directions[direction] for direction in subspace.directions]
        plain = {"subspace": subspace.name, **_slices(where), "sign": sign}
        if variable.kind == "label":
            yield plain | {"labels": list(subspace.labels or ())}
        else:
            yield plain | {"divided by": "position + 1" if variable.share else None}
        for table in (table for direction in subspace.directions for table in stream.tables.get(direction, ())):
            yield _tabled(table, sign)


def _tabled(table: TablePlace, sign: int) -> dict[str, object]:
    plain = {"subspace": table.name, **_slices([table.place]), "sign": sign}
    return plain | {"table": {"first": table.first, "values": list(table.values)}}


def _slices(where: Sequence[DirectionPlace]) -> dict[str, object]:
    """Return where adjacent directions are, as slices."""
    index = [where[0].index, where[0].index + len(where)]
    found: dict[str, object] = {"index": index}
    if where[0].mirror is not None:
        found["mirror"] = [where[0].mirror, where[0].mirror + len(where)]
    return found | {"scale": [place.scale for place in where]}
