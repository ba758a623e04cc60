"""What weights state beside their matrices: claims about heads, and outputs by name.

A sequence model has outputs: parts of what the unembedding answers at every position. It generates nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

from tm2tfr.base.errors import ShapeError, listing
from tm2tfr.transformer.residual import at

Over = Literal["position", "square", "length", "constant"]
OVER: tuple[Over, ...] = get_args(Over)
"""The divisor of a claimed gap γ: i + 1 at position i, its square, the number of positions of the run, or 1."""
DIVIDED: Mapping[Over, str] = {"position": "/(i+1)", "square": "/(i+1)²", "length": "/n", "constant": ""}
"""The same, as reports show it behind γ."""


def divisor(over: Over, position: int, positions: int) -> int:
    """Return the divisor of a claimed gap at `position` of a run of `positions`."""
    sizes = {"position": position + 1, "square": (position + 1) ** 2, "length": positions, "constant": 1}
    return sizes[over]


@dataclass(frozen=True, kw_only=True)
class Claim:
    """The claim of a construction about one of its heads under average-hard attention; no engine reads it.

    Claims take part in equality, since checks and proofs rely on them, but not in `digest`, which is that of the weights.

    Args:
        attends: the positions that the head attends to, a key of the construction's specification.
        gap: γ, see `over`; None: all scores are 0.
        lookup: whether the scores are γ(2cj - j²), as in Lemma 7.
        over: at position i of a run of n positions, the best score is ahead of the next one by at least γ/(i+1) for
            ``position``, γ/(i+1)² for ``square``, γ/n for ``length`` (heads that look ahead), and γ for ``constant``.
        margin: what the head carries is rounded to the right value under softmax if it is fed exact values and the best
            score is ahead by at least ln(margin), with the other scores as far behind as in this head; None: that is not
            proved for this head alone, and Theorem 26 has to be used.
        degree: in a run of N positions that is ln(margin·N^degree): of numbers that are not rounded, but compared.
        ties: whether several positions may share the best score at positions where what the head carries decides nothing:
            whatever mean over all positions it carries there, what the decoder answers is the same, and no later head
            reads anything that depends on it.

    Raises:
        ShapeError: for a gap that is not a positive number, or a margin that is not above 1; for a lookup, a gap over
            anything but the position, or a margin without a gap.
    """

    attends: str
    gap: float | None
    lookup: bool = False
    over: Over = "position"
    margin: float | None = None
    degree: int = 0
    ties: bool = False

    def __post_init__(self) -> None:
        if self.over not in OVER:
            raise ShapeError(f"a claimed gap cannot be over {self.over!r}: use {listing(OVER)}")
        for name in ("gap", "margin"):
            if (value := getattr(self, name)) is not None:
                object.__setattr__(self, name, float(value))
        if self.gap is None and (self.lookup or self.over != "position" or self.margin is not None):
            what = "lookup" if self.lookup else "margin" if self.margin is not None else f"gap over the {self.over}"
            what = "constant gap" if what == "gap over the constant" else what
            raise ShapeError(f"a {what} has a gap: claim it, or claim no {what}")
        if self.gap is not None and not 0 < self.gap < math.inf:
            raise ShapeError(f"a claimed gap must be a positive number, not {self.gap:g}: claim none for uniform attention")
        if self.degree not in range(10) or (self.degree and self.margin is None):
            raise ShapeError(f"a claimed degree is that of a margin, not {self.degree!r}: use 0 to 9, and claim a margin")
        if self.margin is not None and not 1 < self.margin < math.inf:
            raise ShapeError(f"a claimed margin must be above 1, not {self.margin:g}: claim none where there is no proof")

    @property
    def constant(self) -> bool:
        """Whether the gap is the same at every position of every run."""
        return self.over == "constant"

    def gap_at(self, position: int, positions: int) -> float | None:
        """Return by how much the best score at `position` of a run of `positions` is ahead at least; None: scores are 0."""
        if self.gap is None:
            return None
        return self.gap / divisor(self.over, position, positions)

    def smallest_gap(self, positions: int) -> float | None:
        """Return the smallest gap at any position of a run of at most `positions`; None: all scores are 0."""
        return self.gap_at(positions - 1, positions)


# ── outputs by name
@dataclass(frozen=True)
class Output:
    """One answer at every position: a label, by a row of the unembedding for each, or a number, by one row.

    Args:
        name: what it is called.
        labels: the label of each of its rows, of which the logits of one are to be 1 and all others 0; None: it has one
            row, whose logit is the number itself.
        whole: whether its labels stand for whole numbers, as JSON then has them; two outputs are equal without it.

    Raises:
        ShapeError: for a name or a label that is not text, a label that occurs twice, or an empty list of labels.
    """

    name: str
    labels: tuple[str, ...] | None
    whole: bool = field(default=False, compare=False)

    def __post_init__(self) -> None:
        if self.labels is not None:
            object.__setattr__(self, "labels", tuple(self.labels))
        for word in (self.name, *(self.labels or ())):
            if not isinstance(word, str):
                raise ShapeError(f"the names and labels of outputs are text, and {word!r} is not: use {str(word)!r}")
        if self.labels is not None and not self.labels:
            raise ShapeError(f"output {self.name!r} has no labels: list them, or use None for a number")
        if self.labels is not None and len(set(self.labels)) < len(self.labels):
            twice = next(label for n, label in enumerate(self.labels) if label in self.labels[:n])
            raise ShapeError(f"output {self.name!r} has the label {twice!r} twice: list each label once")

    @property
    def answers(self) -> tuple[str, ...]:
        """The names of its rows of the unembedding, in order."""
        return (self.name,) if self.labels is None else tuple(at(self.name, label) for label in self.labels)


def check_outputs(outputs: Sequence[Output], bos: str | None, stop: Sequence[str]) -> None:
    """Check outputs beside the special tokens of their decoder.

    Raises:
        ShapeError: for two outputs with one name, and for a BOS or stop tokens beside outputs, since nothing is generated.
    """
    names = [output.name for output in outputs]
    if len(set(names)) < len(names):
        twice = next(name for n, name in enumerate(names) if name in names[:n])
        raise ShapeError(f"two outputs are called {twice!r}: give each output a name of its own")
    if outputs and bos is not None:
        raise ShapeError(f"a decoder with outputs generates nothing, so it has no BOS: use None, not {bos!r}")
    if outputs and stop:
        raise ShapeError(f"a decoder with outputs generates nothing, so it has no stop tokens: remove {', '.join(stop)}")


def sections(outputs: Sequence[Output]) -> Iterator[tuple[Output, slice]]:
    """Yield each output with its slice of the rows of the unembedding."""
    start = 0
    for output in outputs:
        yield output, slice(start, start + len(output.answers))
        start += len(output.answers)
