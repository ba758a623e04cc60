"""At which hook point of which exported model which variable is read off, and along which directions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tm2tfr.base.errors import ExportError, listing
from tm2tfr.contract.labelling import HeldVariable, Scheme
from tm2tfr.contract.specification import STAGES, Specification, reached
from tm2tfr.targets.streams import HOOKED, ExportedStream, stream_of
from tm2tfr.transformer.residual import Subspace
from tm2tfr.transformer.weights import Decoder

_OTHER_TARGETS = re.compile(r"(?:: |, or )use --to [\w ,-]+$")
"""What to export to instead, which is no advice for labels: they are aligned with every target that there is."""
SinceStages = Mapping[str, tuple[int, str]]
"""Name of a subspace -> (layer, part) after which it holds its value; layers count from 0, the embedding is of layer -1."""


@dataclass(frozen=True, kw_only=True)
class Hooks:
    """What the streams of exports carry.

    Args:
        decoder: the weights that are exported; scheme: the labels of their runs.
        since: see `SinceStages`.
        streams: of each target that takes these weights; refused: of each other one why it does not.
        left_out: the subspaces, by name, and the heads, by column, that do not hold what labels say, each with the reason.
    """

    decoder: Decoder
    scheme: Scheme
    since: SinceStages
    streams: Mapping[str, ExportedStream]
    refused: Mapping[str, str]
    left_out: Mapping[str, str] = field(default_factory=dict)

    def too_long(self, longest: int) -> str:
        """Return what to say of runs of up to `longest` positions if the exports have fewer; otherwise an empty text."""
        fewest = min((stream.positions for stream in self.streams.values()), default=longest)
        if longest <= fewest:
            return ""
        what = f"the longest run has {longest:,} positions, and hooks.json is about exports with {fewest:,}"
        return f"{what}, which do not take it: use --positions {longest} here and in export"

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "positions": "row p of a run is position p of every export, which is fed the run's tokens and nothing else",
            "offset": dict.fromkeys(HOOKED, 0),
            "layers": "layers and heads count from 0; the embedding is layer -1",
            "subspaces": [self._subspace(subspace) for subspace in self.decoder.layout.subspaces],
            "heads": [head.as_dict() for head in self.scheme.heads],
            "targets": {target: self._target(target) for target in HOOKED},
            **({"left out": dict(self.left_out)} if self.left_out else {}),
        }

    def carried(self, layer: int, part: str) -> list[str]:
        """Return the names of the subspaces that hold their values after `part` of `layer`."""
        return [name for name, since in self.since.items() if reached(since, layer, part) and name not in self.left_out]

    def _subspace(self, subspace: Subspace) -> dict[str, Any]:
        held = self.scheme.held.get(subspace.name)
        plain: dict[str, Any] = {"name": subspace.name, "holds": subspace.holds}
        plain |= {} if subspace.labels is None else {"labels": list(subspace.labels)}
        if subspace.name in self.left_out:
            return plain | {"value": None, "left out": self.left_out[subspace.name]}
        plain |= {"value": None if held is None else held.as_dict()}
        if subspace.name in self.since:
            layer, part = self.since[subspace.name]
            plain |= {"since": {"layer": layer, "part": part}}
        return plain

    def _target(self, target: str) -> dict[str, Any]:
        if target not in self.streams:
            return {"refused": self.refused[target]}
        stream = self.streams[target]
        mirrored = any(place.mirror is not None for place in stream.directions.values())
        read = "scale · (x[index] - x[mirror]) / 2" if mirrored else "scale · x[index]"
        return {
            "positions": stream.positions,
            "dtype": stream.dtype,
            "read": f"the value of a direction is {read}, x the stream at the hook point",
            "points": [
                {
                    "layer": point.layer,
                    "part": point.part,
                    "module": point.module,
                    "side": point.side,
                    "carries": self.carried(point.layer, point.part),
                }
                for point in stream.points
            ],
            "directions": {
                s.name: self._directions(stream, s) for s in self.decoder.layout.subspaces if s.name not in self.left_out
            },
            "attention": [
                {
                    "layer": head.layer,
                    "head": head.head,
                    "weights": stream.attention.format(layer=head.layer, number=head.layer + 1, head=head.head),
                }
                for head in self.scheme.heads
            ],
        }

    def _directions(self, stream: ExportedStream, subspace: Subspace) -> dict[str, list[Any]]:
        """Return where the directions of a subspace are, in the order of its labels."""
        places = [stream.directions[name] for name in subspace.directions]
        found: dict[str, list[Any]] = {"index": [place.index for place in places]}
        if any(place.mirror is not None for place in places):
            found["mirror"] = [place.mirror for place in places]
        return found | {"scale": [place.scale for place in places]}


def hooks_of(
    decoder: Decoder,
    program: Any,
    scheme: Scheme,
    specification: Specification | None,
    *,
    positions: int | None = None,
    dtype: str = "float64",
) -> Hooks:
    """Return what the streams of exports carry.

    Args:
        specification: of any run of these weights; None: their subspaces say themselves since when they hold their values.
        positions, dtype: those of the exports, see `tm2tfr.export_to`.
    """
    streams, refused = dict[str, ExportedStream](), dict[str, str]()
    for target in HOOKED:
        own = decoder.positions if decoder.positions is not None else positions
        try:
            streams[target] = stream_of(target, decoder, program, positions=own, dtype=dtype)
        except ExportError as error:
            refused[target] = _OTHER_TARGETS.sub("", str(error))
    return Hooks(decoder=decoder, scheme=scheme, since=since_of(decoder, specification), streams=streams, refused=refused)


def since_of(decoder: Decoder, specification: Specification | None) -> SinceStages:
    """Return after which part of which layer each subspace holds its value, by the specification."""
    stages = [(-1, "embedding"), *((n, part) for n in range(len(decoder.layers)) for part in STAGES[1:])]
    found = {}
    for subspace in decoder.layout.subspaces:
        since = subspace.since
        if specification is not None:
            since = next((stage for stage in stages if specification.holds(subspace.holds, *stage)), None)
        if since is not None:
            found[subspace.name] = since
    return found


# ── What the columns of labels are in weights: the subspaces that hold them, or why there are none.
InSubspaces = tuple[str, ...] | str
"""The names of the subspaces that hold a column as it is; or, as text, why none does."""

GIVEN = ("position", "token", "answer")
"""The columns beside variables and heads whose values are in weights; see `tm2tfr.contract.labelling.RESERVED`."""
_OUT = "it is what comes out, and no subspace holds it"
_NOWHERE = "no subspace of these weights holds it"


def columns_in_weights(scheme: Scheme) -> Mapping[str, InSubspaces]:
    """Return where each column is in weights, in the order of the columns."""
    found: dict[str, InSubspaces] = {}
    for column in (*GIVEN, *(variable.name for variable in scheme.variables)):
        found[column] = _of_variable(scheme, column)
    for head in scheme.heads:
        what = f"it says where the head {head.name!r} attends, which is in no subspace"
        found[head.column] = f"{what}: set what the head reads"
    numbers = {
        f"{column}_id": f"it is the number of a token: set {column!r} to the token" for column in ("token", "answer")
    }
    return found | numbers


def _of_variable(scheme: Scheme, column: str) -> InSubspaces:
    held = {name: each for name, each in scheme.held.items() if each is not None and each.column == column}
    if itself := tuple(name for name, each in held.items() if _plain(each)):
        return itself
    if held:
        return f"no subspace holds it as it is: {listing(list(held))} {'is' if len(held) == 1 else 'are'} made of it"
    return _OUT if column == "answer" else _NOWHERE


def _plain(held: HeldVariable) -> bool:
    """Return whether it is the value of the column, and no function of it."""
    return held == HeldVariable(column=held.column)
