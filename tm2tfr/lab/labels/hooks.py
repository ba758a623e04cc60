"""At which hook point of which exported model which variable is read off, and along which directions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tm2tfr.base.errors import ExportError, listing, visible
from tm2tfr.contract.labelling import FUNCTIONS, HeadColumn, HeldVariable, Ragged, Scheme
from tm2tfr.contract.model import ModelVariable
from tm2tfr.contract.specification import STAGES, Specification, reached, stage_text
from tm2tfr.engines import engine as engine_named
from tm2tfr.engines.decode import Observation, observe_all
from tm2tfr.lab.labels.patches import patches, subspace_of
from tm2tfr.lab.labels.runs import LabelledRuns, LabelRows
from tm2tfr.targets.registry import HOOKED, ExportedStream, stream_of
from tm2tfr.transformer.attention import in_sight
from tm2tfr.transformer.residual import Subspace
from tm2tfr.transformer.weights import Decoder, Mask

_OTHER_TARGETS = re.compile(r"(?:: |, or )use --to [\w ,-]+$")
"""The advice on other targets, which does not apply to labels: they are aligned with every target that there is."""
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
        variables: those that can be set, by name.
    """

    decoder: Decoder
    scheme: Scheme
    since: SinceStages
    streams: Mapping[str, ExportedStream]
    refused: Mapping[str, str]
    left_out: Mapping[str, str] = field(default_factory=dict)
    variables: Mapping[str, ModelVariable] = field(default_factory=dict)

    def too_long(self, longest: int) -> str:
        """Return what to say of runs of up to `longest` positions if the exports have fewer; otherwise an empty text."""
        fewest = min((stream.positions for stream in self.streams.values()), default=longest)
        if longest <= fewest:
            return ""
        what = f"the longest run has {longest:,} positions, and hooks.json is about exports with {fewest:,}"
        return f"{what}, which do not take it: use --positions {longest} here and in export"

    def as_dict(self) -> dict[str, object]:
        """Return it as plain data."""
        return {
            "positions": "row p of a run is position p of every export, which is fed the run's tokens and nothing else",
            "offset": dict.fromkeys(HOOKED, 0),
            "layers": "layers and heads count from 0, as in TransformerLens; the embedding is layer -1",
            "subspaces": [self._subspace(subspace) for subspace in self.decoder.layout.subspaces],
            "heads": [head.as_dict() for head in self.scheme.heads],
            "targets": {target: self._target(target) for target in HOOKED},
            "patches": patches(self.decoder.layout, self._known, self.streams),
            **({"left out": dict(self.left_out)} if self.left_out else {}),
        }

    @property
    def _known(self) -> dict[str, ModelVariable]:
        """The variables whose subspaces hold what labels say."""
        layout, out = self.decoder.layout, self.left_out
        return {name: v for name, v in self.variables.items() if subspace_of(layout, v, name).name not in out}

    def carried(self, layer: int, part: str) -> list[str]:
        """Return the names of the subspaces that hold their values after `part` of `layer`."""
        return [name for name, since in self.since.items() if reached(since, layer, part) and name not in self.left_out]

    def _subspace(self, subspace: Subspace) -> dict[str, object]:
        held = self.scheme.held.get(subspace.name)
        plain: dict[str, object] = {"name": subspace.name, "holds": subspace.holds}
        plain |= {} if subspace.labels is None else {"labels": list(subspace.labels)}
        if subspace.name in self.left_out:
            return plain | {"value": None, "left out": self.left_out[subspace.name]}
        plain |= {"value": None if held is None else held.as_dict()}
        if subspace.name in self.since:
            layer, part = self.since[subspace.name]
            plain |= {"since": {"layer": layer, "part": part}}
        return plain

    def _target(self, target: str) -> dict[str, object]:
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

    def _directions(self, stream: ExportedStream, subspace: Subspace) -> dict[str, list[object]]:
        """Return where the directions of a subspace are, in the order of its labels."""
        places = [stream.directions[name] for name in subspace.directions]
        found: dict[str, list[object]] = {"index": [place.index for place in places]}
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
    variables: Mapping[str, ModelVariable] = MappingProxyType({}),
) -> Hooks:
    """Return what the streams of exports carry.

    Args:
        variables: those that can be set, by name.
        specification: of any run of these weights; None: their subspaces say themselves since when they hold their values.
        positions, dtype: those of the exports, see `tm2tfr.export_to`.
    """
    streams, refused = dict[str, ExportedStream](), dict[str, str]()
    for target in HOOKED:
        own = decoder.positions if decoder.positions is not None else positions
        try:
            streams[target] = stream_of(target, decoder, program, positions=own, dtype=dtype)
        except ExportError as error:
            refused[target] = _OTHER_TARGETS.sub("", error.typed)
    since = since_of(decoder, specification)
    return Hooks(decoder=decoder, scheme=scheme, since=since, streams=streams, refused=refused, variables=variables)


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
    if itself := tuple(name for name, each in held.items() if each == HeldVariable(column=column)):
        return itself
    if held:
        return f"no subspace holds it as it is: {listing(list(held))} {'is' if len(held) == 1 else 'are'} made of it"
    return _OUT if column == "answer" else _NOWHERE


# ── Whether weights hold what hooks.json says: their stream in the dense engine, and where heads attend, on a few runs.
# ── What labels say of the residual stream: the coordinates of each subspace at each position.


def coordinates(
    rows: LabelRows, scheme: Scheme, held: HeldVariable, labels: Sequence[str] | None, vocabulary: Sequence[str]
) -> NDArray[np.float64]:
    """Return the contents of a subspace at every position, once it is written: (rows, width).

    Args:
        labels: those of the subspace; None: it is a single number.
        vocabulary: the tokens.
    """
    here = _here(rows, scheme, held, labels, vocabulary)
    if held.mean is None:
        return here
    mask = next(head.mask for head in scheme.heads if head.column == held.mean)
    found = np.zeros_like(here)
    column = rows.attended.get(held.mean)
    for start, end in zip(rows.offsets[:-1], rows.offsets[1:], strict=True):
        for row in range(start, end):
            found[row] = here[looked_at(column, row, start, end, mask)].mean(axis=0)
    return found


def looked_at(column: HeadColumn | None, row: int, start: int, end: int, mask: Mask) -> list[int]:
    """Return the rows that are looked at from a row of a run with the rows `start` to `end`.

    Args:
        column: that of the head; None: it attends to every position in its sight, see `mask`.
    """
    if isinstance(column, Ragged) and not column.everything[row]:
        return [start + place for place in column.places[column.offsets[row] : column.offsets[row + 1]].tolist()]
    if isinstance(column, np.ndarray):
        return [start + int(column[row])]
    return [start + place for place in in_sight(mask, row - start, end - start)]


def _here(
    rows: LabelRows, scheme: Scheme, held: HeldVariable, labels: Sequence[str] | None, vocabulary: Sequence[str]
) -> NDArray[np.float64]:
    many, position = int(rows.offsets[-1]), rows.positions
    texts: Sequence[str] | None = None
    values: NDArray[Any] = np.ones(many, dtype=np.int64)
    if held.column == "position":
        values = position
    elif held.column in ("token", "answer"):
        answers = rows.answers if rows.answers is not None else values
        values, texts = (rows.tokens, vocabulary) if held.column == "token" else (answers, scheme.answers)
    elif held.column is not None:
        values, variable = rows.columns[held.column], scheme.variable(held.column)
        texts = rows.texts[held.column] if variable.kind == "text" else variable.labels
    if labels is None:
        found = held.times * FUNCTIONS[held.function](values).astype(np.float64)
        return (found / (position + 1) if held.over else found)[:, None]
    if held.function == "steps":
        ends = [[_number(end) for end in label.split("..")] for label in labels]
        start, end = np.array(ends, dtype=np.float64).reshape(-1, 2).T  # none of a mean that is always the same
        found = np.clip((values[:, None] - start) / (end - start), 0, 1)
    elif held.function == "up to":
        found = np.stack([values >= int(label) for label in labels], axis=1).astype(np.float64)
    elif held.groups:
        table = np.zeros((len(texts or ()) + 1, len(labels)))
        for text, label in held.groups:
            if text in (texts or ()):
                table[list(texts or ()).index(text), labels.index(label)] = 1
        found = table[values]
    else:
        if texts is None:
            kinds, values = np.unique(values, return_inverse=True)
            texts = [str(kind) for kind in kinds.tolist()]
        place = {label: n for n, label in enumerate(labels)}
        to = np.array([*(place.get(text, -1) for text in texts), -1])[values]
        found = (to[:, None] == np.arange(len(labels))).astype(np.float64)
    return found / (position + 1)[:, None] if held.over else found


def _number(text: str) -> float:
    above, _, below = text.partition("/")
    return int(above) / int(below or 1)


RUNS, POSITIONS, STEPS = 3, 96, 32
"""The numbers of runs that are looked at, of positions of each, and of steps of a machine."""
CLOSE, SOFT = 2.0**-30, 0.02
"""By how much numbers may be off, relative to their size if that is more than 1: floats round; under softmax labels are
those of the limit."""


def broken_promises(runs: LabelledRuns, words: Sequence[str], since: SinceStages) -> dict[str, str]:
    """Return why the subspaces and heads of some weights cannot be said to hold their labels: name or column -> reason.

    Args:
        words: the inputs that are labelled, of which a few are run.
        since: after which part of which layer each subspace has its value.
    """
    few = runs.shortened(STEPS)
    some = [words[len(words) // 2], max(words[:1_000], key=len), *words[: RUNS - 2]]
    rows, differs, _ = few.labelled(tuple(dict.fromkeys(some)))
    if differs is not None:  # which the labels say, and there are none then
        return {}
    found: dict[str, str] = {}
    for run, word in enumerate(rows.words):
        start, end = rows.offsets[run : run + 2].tolist()
        end = min(end, start + POSITIONS) if runs.decoder.sequential else end
        tokens = [runs.decoder.vocabulary[token] for token in rows.tokens[start:end].tolist()]
        seen = observe_all(runs.decoder, tokens, engine=engine_named("dense"))
        said = f"on the input {visible(word)!r}, "
        for name, why in (*_streams(runs, rows, since, seen, start), *_heads(runs, rows, seen, start)):
            found.setdefault(name, said + why)
    for name, held in runs.scheme.held.items():
        if held is not None and held.mean in found:
            found.setdefault(name, f"it is a mean over what {held.mean} attends to: {found[held.mean]}")
    return found


def _streams(
    runs: LabelledRuns, rows: LabelRows, since: SinceStages, seen: Sequence[Observation], start: int
) -> Iterator[tuple[str, str]]:
    """Yield each subspace that does not have its claimed value at some position of a run that begins at row `start`."""
    decoder, scheme = runs.decoder, runs.scheme
    close = SOFT if decoder.soft else CLOSE
    streams: Mapping[tuple[int, str], NDArray[Any]] = {
        stage[:2]: np.array([each.stages[n][2] for each in seen], dtype=np.float64)
        for n, stage in enumerate(seen[0].stages if seen else ())
    }
    for subspace in decoder.layout.subspaces:
        held = scheme.held.get(subspace.name)
        if held is None or subspace.name not in since:
            continue
        wanted = coordinates(rows, scheme, held, subspace.labels, decoder.vocabulary)[start : start + len(seen)]
        most = close * np.maximum(1.0, np.abs(wanted))
        for (layer, part), stream in streams.items():
            if not reached(since[subspace.name], layer, part):
                continue
            there = stream[:, decoder.layout[subspace.name]]
            wrong = ~(np.abs(there - wanted) <= most).all(axis=1)
            if wrong.any():
                i = int(wrong.argmax())
                k = int((np.abs(there[i] - wanted[i]) - most[i]).argmax())
                label = "" if subspace.labels is None else f" along {subspace.labels[k]}"
                said = f"it is {there[i, k]:g}{label}, and the labels say {wanted[i, k]:g}"
                yield subspace.name, f"position {i}, after {stage_text((layer, part))}: {said}"
                break


def _heads(runs: LabelledRuns, rows: LabelRows, seen: Sequence[Observation], start: int) -> Iterator[tuple[str, str]]:
    """Yield each head that attends to other positions than its column says; under softmax it attends to all of them."""
    if runs.decoder.soft:
        return
    end = start + len(seen)
    for head in runs.scheme.heads:
        column = rows.attended.get(head.column)
        for i, each in enumerate(seen):
            wanted = looked_at(column, start + i, start, end, head.mask)
            found = sorted(start + int(j) for j in each.heads[head.layer, head.head][1])
            if found != sorted(wanted):
                there, right = ([j - start for j in places[:3]] for places in (found, sorted(wanted)))
                yield head.column, f"position {i}: it attends to {_listed(there)}, and the labels say {_listed(right)}"
                break


def _listed(places: Sequence[int]) -> str:
    return ", ".join(map(str, places)) or "nothing"
