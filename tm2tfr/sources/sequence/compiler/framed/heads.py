"""The heads of a plan: those that compare the same at the same depth are one, and carry what each of them has to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import product

import numpy as np

from tm2tfr.base.choices import Weighting
from tm2tfr.sources.sequence.clusters import SelectorCluster, nodes_of
from tm2tfr.sources.sequence.compiler.codes import BitForm, Time, added, boxes
from tm2tfr.sources.sequence.compiler.framed.bits import Bit, BitPlan, Finite
from tm2tfr.sources.sequence.compiler.heads import kinds_of
from tm2tfr.sources.sequence.compiler.stream import Looking, StreamPlan
from tm2tfr.sources.sequence.graph import Combine, Compare, Item, Operation, Selection
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
        weighting: how scores become weights.
    """

    attends: str
    scores: Sequence[tuple[BitForm, BitForm]]
    mask: Mask
    gap: float | None
    over: Over = "position"
    source: str = ""
    weighting: Weighting = "average-hard"


@dataclass
class FramedHead:
    """A head on its way.

    Attributes:
        margin, degree: margin·N^degree is the e^{γ/τ} from which on what is read off it is right under softmax.
        factor: the paper's constant in the query, by which scores and gap are multiplied.
    """

    gaze: Aim
    depth: int
    looking: Looking
    margin: float = 1.0
    degree: int = 0
    factor: float = 1.0
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
        key = (depth, gaze.mask, gaze.weighting, scores)
        if key not in self._heads:
            looking = Looking(
                gaze.attends,
                gaze.attends,
                list(gaze.scores),
                mask=gaze.mask,
                source=gaze.source,
                weighting=gaze.weighting,
            )
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
            margin = head.margin if head.margin > 1 and gaze.weighting == "average-hard" else None
            if head.factor != 1:
                looking = head.looking
                looking.scores = [({d: head.factor * c for d, c in q.items()}, key) for q, key in looking.scores]
            gap = gaze.gap * head.factor
            claim = Claim(attends=gaze.attends, gap=gap, over=gaze.over, margin=margin, degree=head.degree)
            head.looking.claim = claim


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


# ── What a head compares: the conjuncts of a selector, each with a score of 0 or 1, or less than 0 for unequal numbers.
#
# A conjunct over finite values is a sum of products: one for each kind of query, of the bit of that kind and that of the
# keys which it selects, or the other way round if there are fewer kinds of keys. The keys that satisfy all conjuncts have
# the largest score, if there are any. Two numbers are compared by ``-(k - q)²``, less the square of the query.
MOST_KINDS = 4_096
"""The values of a conjunct's nodes are enumerated together, up to this many."""


@dataclass(frozen=True)
class Conjunct:
    """A conjunct over finite values: ``Σ query bit · key bit``, which is 1 for a key that satisfies a query, otherwise 0.

    Args:
        pairs: the bit of a query and that of a key.
        local: whether it compares nothing at the query, so that its only query bit is 1 everywhere.
    """

    pairs: tuple[tuple[Bit, Bit], ...]
    local: bool


def conjuncts_of(selector: Selection) -> tuple[Selection, ...]:
    """Return the parts of a selector that is a conjunction; otherwise it alone."""
    return selector.parts if isinstance(selector, Combine) and selector.operator == "and" else (selector,)


def finite_conjunct(
    part: Selection, code: Callable[[Operation], Finite], bits: BitPlan, refused: Callable[[], Exception]
) -> Conjunct:
    """Return a conjunct over finite values.

    Args:
        code: the code of each node that it compares.
        refused: the error if there are too many values together.
    """
    keys, queries = nodes_of(part)
    own, asked = [code(node) for node in keys], [code(node) for node in queries]
    key_values, query_values = (list(product(*(each.bits for each in side))) for side in (own, asked))
    if len(key_values) * len(query_values) > MOST_KINDS:
        raise refused()
    whole = SelectorCluster(((part, False),), keys, queries).matrix(key_values, query_values)
    by_query, by_key = kinds_of(whole), kinds_of(whole.T)

    def bit(side: Sequence[Finite], values: Sequence[tuple[Item, ...]], chosen: Sequence[int]) -> Bit:
        return _one_of(bits, side, values, [values[n] for n in chosen])

    pairs = []
    if len(by_key) < len(by_query):
        for same in by_key:
            satisfied = np.flatnonzero(whole[:, same[0]]).tolist()
            pairs.append((bit(asked, query_values, satisfied), bit(own, key_values, same)))
    else:
        for same in by_query:
            brought = np.flatnonzero(whole[same[0]]).tolist()
            pairs.append((bit(asked, query_values, same), bit(own, key_values, brought)))
    return Conjunct(tuple(pairs), local=not queries)


def _one_of(
    bits: BitPlan, codes: Sequence[Finite], every: Sequence[tuple[Item, ...]], chosen: Sequence[tuple[Item, ...]]
) -> Bit:
    """Return the bit that says that the values are among `chosen`: a sum of conjunctions of sums."""
    if len(chosen) == len(every):
        return bits.inside
    wanted = set(chosen)
    table: dict[tuple[Item, ...], Item] = {values: values in wanted for values in every}
    ways = [
        [
            _sum([code.bits[value] for value in own])
            for code, own in zip(codes, box, strict=True)
            if len(own) < len(code.bits)
        ]
        for box, result in boxes(table)
        if result
    ]
    if len(ways) == 1:
        return bits.both(ways[0])
    return bits.several(ways)


def _sum(parts: Sequence[Bit]) -> Bit:
    """Return the disjunction of bits of which no two are 1 together."""
    said = tuple(sorted({words for part in parts for words in part.said}))
    return Bit(added(part.form for part in parts), max(part.time for part in parts), said)


def is_equality_of_numbers(part: Selection, finite: Callable[[Operation], bool]) -> bool:
    """Return whether a conjunct says that two numbers are equal."""
    return isinstance(part, Compare) and part.relation == "==" and not (finite(part.keys) and finite(part.queries))
