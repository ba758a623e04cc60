"""Whether weights hold what hooks.json says: their stream in the dense engine, and where heads attend, on a few runs.

The cells of a run can be right where a number on the way is not: twice a one-hot vector, say, if whoever reads it only asks
which entry is the largest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tm2tfr.base.errors import visible
from tm2tfr.contract.labelling import FUNCTIONS, HeadColumn, HeldVariable, Ragged, Scheme
from tm2tfr.contract.specification import reached
from tm2tfr.engines import engine as engine_named
from tm2tfr.engines.decode import Observation, observe_all
from tm2tfr.lab.labels.hooks import SinceStages
from tm2tfr.lab.labels.runs import LabelledRuns, LabelRows
from tm2tfr.transformer.attention import in_sight
from tm2tfr.transformer.weights import Mask

# ── What labels say of the residual stream: the coordinates of each subspace at each position.


def coordinates(
    rows: LabelRows, scheme: Scheme, held: HeldVariable, labels: Sequence[str] | None, vocabulary: Sequence[str]
) -> NDArray[np.float64]:
    """Return what a subspace holds at every position, once it is written: (rows, width).

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
        ends = [tuple(map(_number, label.split(".."))) for label in labels]
        found = np.stack([np.clip((values - a) / (b - a), 0, 1) for a, b in ends], axis=1)
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
"""So many runs are looked at, so many positions of each, so many steps of a machine."""
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
        end = end if runs.decoder.looks_ahead else min(end, start + POSITIONS)
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
    """Yield each subspace that does not hold what is said of it at some position of a run that begins at row `start`."""
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
                where = "the embedding" if layer < 0 else f"{part.replace('_', '-')} of layer {layer + 1}"
                label = "" if subspace.labels is None else f" along {subspace.labels[k]}"
                said = f"position {i}, after {where}: it is {there[i, k]:g}{label}, and the labels say {wanted[i, k]:g}"
                yield subspace.name, said
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
