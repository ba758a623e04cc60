"""The heads of a plan: those that compare the same at the same depth are one, and carry what each of them has to."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from tm2tfr.sources.sequence.compiler.codes import BitForm, Time
from tm2tfr.sources.sequence.compiler.stream import Looking, StreamPlan
from tm2tfr.transformer.claims import Claim, Over
from tm2tfr.transformer.residual import at
from tm2tfr.transformer.weights import Mask


@dataclass(frozen=True, kw_only=True)
class Aim:
    """Where a head looks, and by how much.

    Args:
        attends: its claim.
        scores: pairs of linear forms, of the query and of the key; none: all positions in sight alike.
        mask: to which positions it attends.
        gap: γ, by how much the best score is ahead, times what `over` says; None: all scores are 0.
        over: ``position``: γ/(i+1); ``length``: γ/N for N positions; ``constant``: γ itself.
        source: where it comes from.
    """

    attends: str
    scores: Sequence[tuple[BitForm, BitForm]]
    mask: Mask
    gap: float | None
    over: Over = "position"
    source: str = ""


@dataclass
class FramedHead:
    """A head on its way.

    Attributes:
        margin, degree: margin·N^degree is the e^{γ/τ} from which on what is read off it is right under softmax.
    """

    gaze: Aim
    depth: int
    looking: Looking
    margin: float = 1.0
    degree: int = 0
    carried: dict[str, str] = field(default_factory=dict)

    def needs(self, margin: float, degree: int = 0) -> None:
        """Note that what is read off it is right under softmax from this margin on, times N to the power of `degree`."""
        self.margin, self.degree = max(self.margin, margin), max(self.degree, degree)


class HeadPlan:
    """The heads of a plan."""

    def __init__(self, stream: StreamPlan) -> None:
        self._stream = stream
        self._heads: dict[object, FramedHead] = {}

    def add(self, gaze: Aim, times: Sequence[Time]) -> FramedHead:
        """Return the head that looks so, in the first attention layer after all of `times`."""
        depth = max((time.depth for time in times), default=0) + 1
        scores = tuple((tuple(sorted(q.items())), tuple(sorted(k.items()))) for q, k in gaze.scores)
        key = (depth, gaze.mask, scores)
        if key not in self._heads:
            looking = Looking(title(gaze.attends), gaze.attends, list(gaze.scores), mask=gaze.mask, source=gaze.source)
            self._stream.head(depth, looking)
            self._heads[key] = FramedHead(gaze, depth, looking)
        return self._heads[key]

    def carry(self, head: FramedHead, what: str, form: BitForm) -> BitForm:
        """Return what the head brings of a linear form that is there before it; `what` says it, as claims do."""
        holds = f"at {head.gaze.attends}: {what}"
        if holds not in head.carried:
            space = self._stream.space(holds, holds=holds, time=Time(head.depth))
            head.carried[holds] = space
            head.looking.carries.append((form, {space: 1}))
        return {head.carried[holds]: 1}

    def carry_labels(self, head: FramedHead, what: str, forms: dict[str, BitForm]) -> dict[str, BitForm]:
        """Return what the head brings of several linear forms, by label."""
        holds = f"at {head.gaze.attends}: {what}"
        if holds not in head.carried:
            space = self._stream.space(holds, holds=holds, time=Time(head.depth), labels=list(forms))
            head.carried[holds] = space
            head.looking.carries += [(form, {at(space, label): 1}) for label, form in forms.items()]
        return {label: {at(head.carried[holds], label): 1} for label in forms}

    def claim(self) -> None:
        """Give every head its claim."""
        for head in self._heads.values():
            gaze = head.gaze
            if gaze.gap is None:
                head.looking.claim = Claim(attends=gaze.attends, gap=None)
                continue
            margin = head.margin if head.margin > 1 else None
            claim = Claim(attends=gaze.attends, gap=gaze.gap, over=gaze.over, margin=margin, degree=head.degree)
            head.looking.claim = claim


TITLES = (
    (r"all future", "mean of j ≤ i"),
    (r"all past", "mean of j ≥ i"),
    (r"all none", "mean of all j"),
    (r"back", "j = i-1"),
    (r"ahead", "j = i+1"),
    (r"parity 0", "latest even j"),
    (r"parity 1", "latest odd j"),
    (r"lookup \w+ number (\w+)", r"look up \1"),
    (r"lookup \w+ positive (\w+)", r"look up max(0, \1)"),
    (r"lookup \w+ negative (\w+)", r"look up max(0, -\1)"),
    (r"lookup \w+ quotient (\d+) \+ (\w+)", r"look up max(0, \2) // \1"),
    (r"lookup \w+ quotient (\d+) - (\w+)", r"look up max(0, -\2) // \1"),
    (r"latest \w+ (\w+) .*", r"▶ \1"),
    (r"earliest \w+ (\w+) .*", r"◀ \1"),
    (r"sign (-?\d+) (\w+)", r"sign of \2 (\1)"),
)
"""What a head claims -> what people call it."""


def title(claim: str) -> str:
    """Return a name for a head, by its claim."""
    found = (match.expand(name) for pattern, name in TITLES if (match := re.fullmatch(pattern, claim)))
    return next(found, claim)


def uniform(mask: Mask) -> Aim:
    """Return the head that attends to all positions in sight alike."""
    return Aim(attends=f"all {mask}", scores=(), mask=mask, gap=None, source="Theorem 20, first step")


def neighbour(*, ahead: bool) -> Aim:
    """Return the head that attends to the position before this one, or the one after it: the score is 2(i∓1)j - j²."""
    step = 2 if ahead else -2
    return Aim(
        attends="ahead" if ahead else "back",
        scores=(({"i": 2, "1": step}, {"i": 1}), ({"1": -1}, {"i^2": 1})),
        mask="none" if ahead else "future",
        gap=1.0,
        over="constant",
        source="Theorems 12 and 13",
    )
