"""A recorded run by position and in words: the row, the tape, where each head looks, what each layer adds.

Slides and the stepper in the terminal show these moments.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from tm2tfr.base.errors import EngineError, visible
from tm2tfr.sources.turing.columns import Row
from tm2tfr.tables.sheet import Gap, Line, Stretch, lines
from tm2tfr.transformer.residual import Subspace
from tm2tfr.transformer.weights import Head
from tm2tfr.web.explorer.record import Attended, Content, Recording

NOTHING = "·"
"""The text of a zero vector."""


@dataclass(frozen=True)
class Looked:
    """Where one head looked from a position, as it is shown.

    Args:
        head: its name.
        places: the positions that share its weight; of more than 64 the first ones.
        count: the number of those that do.
        uniform: whether it takes the mean of all that it sees, by construction.
    """

    head: str
    places: tuple[int, ...]
    count: int
    uniform: bool

    def __str__(self) -> str:
        """Return ``latest write → 7``."""
        if self.uniform:
            return f"{self.head} → all"
        if self.count > 3:
            return f"{self.head} → {self.count} positions"
        return f"{self.head} → {', '.join(map(str, self.places))}"


class Change(NamedTuple):
    """A change by a layer at a position: the name of a subspace, and its new value, as text."""

    name: str
    value: str

    def __str__(self) -> str:
        """Return ``h = 3``."""
        return f"{self.name} = {self.value}"


class LayerMoment(NamedTuple):
    """One layer at one position, in one pass if a loop runs it; `number` is 0 for the embedding."""

    number: int
    name: str
    looked: tuple[Looked, ...]
    written: tuple[Change, ...]


@dataclass(frozen=True, kw_only=True)
class Moment:
    """One position of a run.

    Args:
        position: its number.
        cells: the heading of each column of the table -> its cell, as visible text.
        wrong: of those that differ from the reference, what the reference has.
        tape: the cells around the head, None where there is no tape.
        first_cell: the number of the first of them.
        fresh: the number of the cell that was just written, None if none was.
        layers: the embedding and each layer.
    """

    position: int
    cells: Mapping[str, str]
    wrong: Mapping[str, str]
    tape: Stretch | None
    first_cell: int
    fresh: int | None
    layers: tuple[LayerMoment, ...]


class Moments:
    """A recorded run by position; ``len`` is the number of its positions.

    Args:
        recording: the run, with its rows.
        nets: where positions have names beside their tokens, these, and how many operands the gate of each has.
        window: the most cells of the tape that are shown.
    """

    def __init__(self, recording: Recording, *, nets: Sequence[tuple[str, int]] = (), window: int = 15) -> None:
        self.recording, self.trace, self.decoder = recording, recording.trace, recording.decoder
        self.names, self.operands = tuple(visible(name) for name, _ in nets), tuple(count for _, count in nets)
        self._window = window

    def __len__(self) -> int:
        return len(self.trace.rows)

    @property
    def first(self) -> int:
        """The position with the first answer that counts: BOS, or the last token of the prompt; 0 of a sequence model."""
        if self.trace.labels or not self:
            return 0
        before = self.trace.lead + len(self.trace.input) + (self.decoder.bos is not None) - 1
        return max(0, min(before, len(self) - 1))

    @property
    def divergence(self) -> int | None:
        """The position of the first difference from the reference."""
        return None if self.trace.divergence is None else self.trace.divergence.position

    def next_difference(self, position: int) -> int | None:
        """Return the first position after `position` whose row differs from the reference's, or None."""
        there = (i for i in range(position + 1, len(self)) if self.lines[i].wrong)
        last = self.divergence  # a run that ends in the wrong place has no wrong cell
        return next(there, last if last is not None and last > position else None)

    @cached_property
    def lines(self) -> list[Line]:
        """The lines of the table, one for each position."""
        every = lines(self.trace, window=self._window, description=True)
        return [line for line in every if not isinstance(line, Gap)]

    @cached_property
    def tokens(self) -> list[str]:
        """The token at each position, as visible text."""
        return [line.cells[self.trace.columns[1].name] for line in self.lines]

    @property
    def answers(self) -> str:
        """The heading of the last column: what is answered."""
        return self.trace.columns[-1].name

    def at(self, position: int) -> Moment:
        """Return the moment of a position.

        Raises:
            EngineError: if the run has no such position.
        """
        if not 0 <= position < len(self):
            raise EngineError(f"there is no position {position}: use one from 0 to {len(self) - 1}")
        line = self.lines[position]
        tape, cell, fresh = self._tape(position)
        return Moment(
            position=position,
            cells=line.cells,
            wrong=line.wrong,
            tape=tape,
            first_cell=cell,
            fresh=fresh,
            layers=tuple(self._layers(position)),
        )

    def _tape(self, position: int) -> tuple[Stretch | None, int, int | None]:
        """Return the tape, the numbers of its first cell and of the cell just written; at BOS the tape to come."""
        tape, row = self.lines[position].tape, self.trace.rows[position]
        if tape is None and self.trace.has_tape and position == self.first and position + 1 < len(self):
            later = self.lines[position + 1].tape
            return later, self._first_cell(position + 1), None
        if tape is None:
            return None, 0, None
        before = self.trace.rows[position - 1].h if position else None
        fresh = before if isinstance(before, int) and row.b is not None and position > self.first + 1 else None
        return tape, self._first_cell(position), fresh

    def _first_cell(self, position: int) -> int:
        """Return the number of the first cell that is shown; 0 where the head is at no cell."""
        tape, row = self.lines[position].tape, self.trace.rows[position]
        if tape is None or tape.head is None or not isinstance(row, Row) or not isinstance(row.h, int):
            return 0
        return row.h - tape.head

    def _layers(self, position: int) -> list[LayerMoment]:
        """Return what the embedding and each layer did at a position."""
        stages = self.recording.written
        standing: dict[int, str] = {}
        found = [LayerMoment(0, "embedding", (), self._written(stages[0], standing, position))]
        for n, ((number, again), heads) in enumerate(zip(self.recording.steps, self.recording.heads, strict=True)):
            layer = self.decoder.layers[number]
            merged = {**stages[1 + 2 * n], **stages[2 + 2 * n]}
            looked = (_looked(h, seen, position, len(self)) for h, seen in zip(layer.heads, heads, strict=True))
            written = self._written(merged, standing, position)
            name = f"{layer.name}, pass {again}" if again else layer.name
            found.append(LayerMoment(number + 1, visible(name), tuple(looked), written))
        return found

    def _written(self, stage: Mapping[int, Content], standing: dict[int, str], position: int) -> tuple[Change, ...]:
        """Return the changes of a stage at a position, and update `standing`, the earlier value of each subspace."""
        changed = []
        for n, content in sorted(stage.items()):
            subspace = self.decoder.layout.subspaces[n]
            value = _text(subspace, content, position)
            if value != standing.get(n, _nothing(subspace)):
                changed.append(Change(visible(subspace.name), value))
            standing[n] = value
        return tuple(changed)


def _looked(head: Head, seen: Attended, position: int, positions: int) -> Looked:
    name = visible(head.name)
    if seen.uniform:
        count = {"future": position + 1, "past": positions - position, "none": positions}[head.mask]
        return Looked(name, (), count, True)
    places = seen.sharers.get(position) or range(seen.winner[position], seen.winner[position] + seen.count[position])
    return Looked(name, tuple(places)[:64], seen.count[position], False)


def _nothing(subspace: Subspace) -> str:
    return "0" if subspace.labels is None else NOTHING


def _text(subspace: Subspace, content: Content, position: int) -> str:
    """Return the value of a subspace at a position: a number, the label of a one-hot vector, or its coordinates."""
    value = content.values[position]
    if subspace.labels is None:
        return f"{value + 0.0:g}"
    if value >= 0:
        return NOTHING if value == 0 else visible(subspace.labels[int(value) - 1])
    pairs = zip(subspace.labels, content.others[position], strict=True)
    return " + ".join(f"{share:g}·{visible(label)}" for label, share in pairs if share)
