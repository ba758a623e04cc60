"""The form of labels: variables with a value at every position, the positions that heads attend to, what subspaces hold.

Labels are columns: of all positions of some runs, one after the other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from tm2tfr.errors import ShapeError, listing

VariableKind = Literal["label", "text", "whole", "number"]
"""Of a variable: a label out of a list, as its place there, -1 for nothing; a text, likewise, out of a list
that comes with the data; a whole number; a number."""
RESERVED = ("run", "position", "token", "token_id", "answer", "answer_id")
"""The columns that there are besides variables and heads; these come after them, but for the last two."""
Seen = Literal["all", "one", "several"]
"""What a head attends to: every position in its sight; exactly one; or as many as the data say."""
HeldFunction = Literal["", "square", "positive", "negative", "is 0", "steps", "up to"]
FUNCTIONS: tuple[HeldFunction, ...] = get_args(HeldFunction)
"""What is made of a number x: itself; x²; max(0, x); max(0, -x); 1 where it is 0, else 0; of each label ``a..b`` where x is
between a and b, from 0 to 1; of each label k whether x is k or more."""


@dataclass(frozen=True, kw_only=True)
class LabelVariable:
    """A variable.

    Args:
        name: its column.
        kind: see `VariableKind`; labels: of a label, the list.
        meaning: in a few words.

    Raises:
        ShapeError: for labels of anything else, or a label without any.
    """

    name: str
    kind: VariableKind
    meaning: str
    labels: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if (self.labels is not None) != (self.kind == "label"):
            raise ShapeError(
                f"variable {self.name!r}: a label has labels, and nothing else has: give them, or another kind"
            )

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        own = {} if self.labels is None else {"labels": list(self.labels)}
        return {"name": self.name, "kind": self.kind, "meaning": self.meaning, **own}


@dataclass(frozen=True, kw_only=True)
class HeadLabels:
    """A head and what it attends to.

    Args:
        layer, head: counted from 0.
        name: of the head, for people; claim: what its construction claims that it attends to.
        mask: which positions are in its sight, see `tm2tfr.transformer.weights.MASKS`.
        seen: see `Seen`.
    """

    layer: int
    head: int
    name: str
    claim: str
    mask: str
    seen: Seen

    @property
    def column(self) -> str:
        """The name of its column, as TransformerLens names heads: ``L2H0``."""
        return f"L{self.layer}H{self.head}"

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        attends = {"all": IN_SIGHT[self.mask], "one": "the position in the column", "several": SEVERAL}[self.seen]
        own = {} if self.seen == "all" else {"column": self.column}
        place = {"layer": self.layer, "head": self.head, "name": self.name, "claim": self.claim, "mask": self.mask}
        return {**place, **own, "attends": attends}


IN_SIGHT: Mapping[str, str] = {
    "future": "every position up to its own",
    "past": "every position from its own on",
    "none": "every position",
}
SEVERAL = "the positions in the column, all with the same weight; null: every position in its sight"


@dataclass(frozen=True, kw_only=True)
class HeldVariable:
    """What a subspace holds, as a function of a variable x at the same position.

    Of a number x that is ``times · function(x)``, divided by i + 1 at position i if `over`. Of a label it is the one-hot
    vector among the labels of the subspace, 0 if it has no such label; so it is of the text of a whole number in a subspace
    with labels, unless the function gives each label a number.

    Args:
        column: that of x; None: x is 1.
        function: see `FUNCTIONS`.
        groups: pairs of a text and a label of the subspace, in place of the one-hot vector: 1 for each label with which the
            text x is paired.
        mean: the column of a head: in place of all this, the mean of it over the positions that this head attends to.

    Raises:
        ShapeError: for an unknown function.
    """

    column: str | None = None
    function: HeldFunction = ""
    times: float = 1.0
    over: bool = False
    groups: tuple[tuple[str, str], ...] = ()
    mean: str | None = None

    def __post_init__(self) -> None:
        if self.function not in FUNCTIONS:
            raise ShapeError(f"there is no function {self.function!r}: use {listing([f for f in FUNCTIONS if f])}")

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data, without what is not there."""
        plain: dict[str, Any] = {"column": self.column, "function": self.function or None, "mean over": self.mean}
        plain |= {"times": None if self.times == 1 else self.times, "divided by": "position + 1" if self.over else None}
        plain |= {"groups": [list(pair) for pair in self.groups] or None}
        return {name: value for name, value in plain.items() if value is not None} or {"constant": 1}


@dataclass(frozen=True)
class Ragged:
    """Of each position as many positions as there are: `places[offsets[p]:offsets[p + 1]]`; or all that are in sight.

    Args:
        offsets: (rows + 1,); places: (offsets[-1],).
        everything: (rows,): where all that are in sight are meant; there are no places then.
    """

    offsets: NDArray[np.int64]
    places: NDArray[np.int32]
    everything: NDArray[np.bool_]

    def take(self, rows: NDArray[np.int64]) -> Ragged:
        """Return some entries, in their order."""
        sizes = np.diff(self.offsets)[rows]
        offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        at = np.repeat(self.offsets[rows] - offsets[:-1], sizes) + np.arange(offsets[-1])
        return Ragged(offsets, self.places[at], self.everything[rows])


HeadColumn = NDArray[np.int32] | Ragged
"""Where a head looks, position by position: the one position, (rows,), or several."""


@dataclass(frozen=True)
class LabelRows:
    """The labels of some runs that agree with the reference.

    Args:
        words: the input of each run.
        offsets: (runs + 1,): the rows of run r are ``offsets[r]:offsets[r + 1]``.
        tokens: (rows,), their numbers in the vocabulary.
        answers: (rows,), the place of the answer among those of the decoder, or its first output's; None: it is a number.
        columns: of each variable its values: (rows,).
        texts: of each variable that is a text the list that its values are places in.
        attended: of each head that has one its column.
        outcomes: of each run what came out, as text.
        cells: the number of cells that were compared.
    """

    words: tuple[str, ...]
    offsets: NDArray[np.int64]
    tokens: NDArray[np.int32]
    answers: NDArray[np.int32] | None
    columns: Mapping[str, NDArray[Any]]
    texts: Mapping[str, Sequence[str]]
    attended: Mapping[str, HeadColumn]
    outcomes: tuple[str, ...]
    cells: int

    @property
    def positions(self) -> NDArray[np.int64]:
        """The position of each row in its run: (rows,)."""
        return np.arange(self.offsets[-1]) - np.repeat(self.offsets[:-1], np.diff(self.offsets))


@dataclass(frozen=True, kw_only=True)
class Scheme:
    """What labels of a subject there are: the same for all runs.

    Args:
        variables: in the order of their columns.
        heads: all heads, layer by layer.
        held: name of a subspace -> what it holds; None: nothing is known of it.
        answers: what answers are out of; None: they are numbers.
        nodes: what the nodes are that names of subspaces and variables have by number, ``s5`` or ``c7``.
    """

    variables: tuple[LabelVariable, ...]
    heads: tuple[HeadLabels, ...]
    held: Mapping[str, HeldVariable | None]
    answers: tuple[str, ...] | None = field(default=None)
    nodes: Mapping[str, str] = field(default_factory=dict)

    def variable(self, name: str) -> LabelVariable:
        """Return the variable with this column.

        Raises:
            ShapeError: if there is none.
        """
        found = next((variable for variable in self.variables if variable.name == name), None)
        if found is None:
            raise ShapeError(f"there is no variable {name!r}: use one of {listing([v.name for v in self.variables])}")
        return found
