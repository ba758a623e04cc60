"""How well trained weights keep a key: in the dense engine, with the key's own bases, on inputs that training never saw.

Nothing here is shared with training but how interchanges are drawn, see `tm2tfr.lab.hidden.trained.draws`. One is right if
every answer of the run is, read as the engines read it: of a labeller, logits within 1/4 of the right label's one-hot
vector or of the right number.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from tm2tfr.base.text.words import by_length
from tm2tfr.contract.model import ModelStage
from tm2tfr.engines.dense import DenseDecoder
from tm2tfr.engines.reading import right_answers
from tm2tfr.lab.hidden.trained.draws import REST, Interchange, padded
from tm2tfr.lab.hidden.trained.start import TrainedPlace
from tm2tfr.lab.hidden.trained.streams import streams_of
from tm2tfr.lab.hidden.trained.values import DecodingError
from tm2tfr.transformer.matrix import AnyArray, Floats
from tm2tfr.transformer.weights import Decoder

LOW = 0.9
"""A figure below is worth a warning."""
_Change = tuple[int, int, Floats, Floats]
"""The number of a run, the position, the projection onto what is exchanged, and the stream that it is taken from."""


@dataclass
class RightShare:
    """How many of how many are right."""

    right: int = 0
    of: int = 0

    def add(self, right: bool) -> None:
        """Count one."""
        self.right += right
        self.of += 1

    @property
    def share(self) -> float:
        """The share that is right; 1 of nothing."""
        return self.right / self.of if self.of else 1.0

    def as_list(self) -> list[int]:
        """Return it as plain data."""
        return [self.right, self.of]


@dataclass
class Quality:
    """What was measured.

    Args:
        answers: the inputs on which every answer is right.
        interchange: the interchanges of variables after which every answer is right; effective: of those that change one;
            between: of those again, with a variable that is written neither by the embedding nor by the last stage.
        rest: the interchanges of everything outside all places after which every answer is as before.
        variables: those of `interchange` that exchange a variable; alone: of the effective ones, those that exchange no
            other variable.
        decoding: place -> how far its values are from those of the original.
    """

    answers: RightShare = field(default_factory=RightShare)
    interchange: RightShare = field(default_factory=RightShare)
    effective: RightShare = field(default_factory=RightShare)
    between: RightShare = field(default_factory=RightShare)
    rest: RightShare = field(default_factory=RightShare)
    variables: dict[str, RightShare] = field(default_factory=dict)
    alone: dict[str, RightShare] = field(default_factory=dict)
    decoding: dict[str, DecodingError] = field(default_factory=dict)

    @property
    def worst(self) -> tuple[str, RightShare]:
        """The variable whose effective interchanges alone are right least often; of none, an empty name."""
        found = min(self.alone.items(), key=lambda each: (each[1].share, each[1].of), default=("", RightShare()))
        return found[0], found[1]

    @property
    def low(self) -> list[str]:
        """The figures that are less than `LOW`, in words."""
        figures = {"answers": self.answers, "interchange": self.interchange, "effective": self.effective}
        figures |= {"between": self.between, "strictness": self.rest}
        figures |= {f"the variable {name}": share for name, share in self.alone.items()}
        return [f"{name} {share.share:.3f}" for name, share in figures.items() if share.share < LOW]

    def __str__(self) -> str:
        name, worst = self.worst
        rows = (
            ("answers right", self.answers, "inputs that training never saw"),
            ("interchange accuracy", self.interchange, "interchanges of variables between such inputs"),
            ("  of those", self.effective, "that change an answer; the others are right if nothing is exchanged"),
            ("  of those", self.between, "of variables between the embedding and the last stage"),
            ("least of a variable", worst, f"that change an answer, of {name} alone" if name else "that change an answer"),
            ("strictness", self.rest, "interchanges of everything outside all places of the key"),
        )
        lines = [
            f"  {what:<21} {f'{share.share:.3f}' if share.of else '–':<5}  {share.right:,} of {share.of:,} {of}"
            for what, share, of in rows
        ]
        if self.decoding:
            place, error = max(self.decoding.items(), key=lambda each: each[1].mean)
            told = f"mean error at the worst place, as a share of the range of its values; at most {error.largest:.3f}"
            lines.append(f"  {'values':<21} {error.mean:.3f}  {told} ({place})")
        if without := sorted(set(self.variables) - set(self.alone)):
            lines.append(f"  not measured alone    {len(without):<5,}  variables, which change no answer alone")
        return "\n".join(lines)


class Projections:
    """The projections onto what is exchanged, by stage.

    Args:
        places: subspace -> where it is; held: variable -> its subspaces; stages: all, in their order.
    """

    def __init__(
        self, places: Mapping[str, TrainedPlace], held: Mapping[str, Sequence[str]], stages: Sequence[ModelStage]
    ) -> None:
        width = next(iter(places.values())).basis.shape[1]
        zero = np.zeros((width, width))
        order = {stage: n for n, stage in enumerate(stages)}
        self.of_variable: dict[str, Floats] = {
            name: sum((_onto(places[each].basis) for each in own), zero) for name, own in held.items()
        }
        self.of_rest: dict[ModelStage, Floats] = {}
        for stage in stages:
            there = (each for each in places.values() if each.since is not None and order[each.since] <= order[stage])
            self.of_rest[stage] = np.eye(width) - sum((_onto(each.basis) for each in there), zero)

    def of(self, variable: str, stage: ModelStage) -> Floats:
        """Return the projection onto a variable, or onto the rest: (width, width)."""
        return self.of_rest[stage] if variable == REST else self.of_variable[variable]


def _onto(basis: Floats) -> Floats:
    found: Floats = basis.T @ basis
    return found


def measured(
    decoder: Decoder, projections: Projections, drawn: Iterable[Interchange], plain: Mapping[tuple[int, ...], Floats]
) -> Quality:
    """Return how often weights answer as they have to.

    Args:
        drawn: the interchanges.
        plain: tokens of runs without interchange -> the expected answers.
    """
    dense, quality = DenseDecoder(decoder), Quality()
    outer = {stage for n, stage in enumerate(projections.of_rest) if n in (0, len(projections.of_rest) - 1)}
    for right in _right(dense, list(plain), list(plain.values())):
        quality.answers.add(right)
    every = list(drawn)
    streams = _streams(dense, sorted({each.other for each in every}))
    for batch in by_length([each.tokens for each in every]):
        same = [every[number] for number in batch]
        changes: dict[ModelStage, list[_Change]] = {}
        for row, each in enumerate(same):
            for one in each.exchanges:
                onto, theirs = projections.of(one.variable, one.stage), streams[each.other][one.stage][:, one.source]
                changes.setdefault(one.stage, []).append((row, one.to, onto, theirs))

        def stage(layer: int, part: str, x: Floats, changes: Mapping[ModelStage, Sequence[_Change]] = changes) -> None:
            for row, to, onto, theirs in changes.get((layer, part), ()):
                x[:, row, to] += onto @ (theirs - x[:, row, to])

        logits = dense.staged(np.array([each.tokens for each in same]), stage)
        for each, right in zip(same, _read(decoder, logits, [each.wanted for each in same]), strict=True):
            if each.rest:
                quality.rest.add(right)
                continue
            quality.interchange.add(right)
            if each.effective:
                quality.effective.add(right)
                if any(one.stage not in outer for one in each.exchanges):
                    quality.between.add(right)
            for name in dict.fromkeys(one.variable for one in each.exchanges):
                quality.variables.setdefault(name, RightShare()).add(right)
                if each.effective and each.alone:
                    quality.alone.setdefault(name, RightShare()).add(right)
    return quality


def _right(dense: DenseDecoder, fed: Sequence[tuple[int, ...]], wanted: Sequence[Floats]) -> list[bool]:
    """Return whether every answer of runs without interchange is right."""
    found: dict[tuple[int, ...], bool] = {}
    due = dict(zip(fed, wanted, strict=True))
    for batch in by_length(fed):
        same = [fed[number] for number in batch]
        logits = dense.staged(np.array(same), lambda layer, part, x: None)
        found |= zip(same, _read(dense.decoder, logits, [due[tokens] for tokens in same]), strict=True)
    return [found[tokens] for tokens in fed]


def _read(decoder: Decoder, logits: Floats, wanted: Sequence[Floats]) -> list[bool]:
    """Return whether every answer is right: logits (answers, runs, n), wanted (outputs, n) each."""
    due = padded(wanted, np.nan).transpose(1, 0, 2)  # (outputs, runs, n)
    right: AnyArray = (logits.argmax(axis=0) == due[0]) | np.isnan(due[0])
    if decoder.labeller:
        right = right_answers(decoder, logits, due)
    return [bool(row.all()) for row in right]


def _streams(dense: DenseDecoder, fed: Sequence[tuple[int, ...]]) -> dict[tuple[int, ...], dict[ModelStage, Floats]]:
    """Return the streams of runs: tokens -> stage -> (width, n)."""
    return {
        fed[number]: {stage: x[:, row] for stage, x in streams.items()}
        for batch, streams in zip(by_length(fed), streams_of(dense, fed), strict=True)
        for row, number in enumerate(batch)
    }
