"""Labels for probes: variables at every position, the positions that heads attend to, the contents of subspaces.

Labels are columns: of all positions of some runs, one after the other. The room `labelling` of a source has a class for
the labels of its runs: its `scheme`, and a method that computes them from the rows of runs, or from words.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tm2tfr.base.errors import ShapeError, listing
from tm2tfr.transformer.matrix import AnyArray
from tm2tfr.transformer.weights import Decoder, Mask

VariableKind = Literal["label", "text", "whole", "number"]
"""The values of a variable: ``label``: places in the variable's list of labels, -1 for none; ``text``: places in a list of
texts that comes with the data; ``whole``: whole numbers; ``number``: floats."""
RESERVED = ("run", "position", "token", "token_id", "answer", "answer_id")
"""The columns besides variables and heads; all but the last two come before them."""
Seen = Literal["all", "one", "several"]
"""The positions that a head attends to: all in its sight, exactly one, or those that the data list."""
HeldFunction = Literal["", "square", "positive", "negative", "is 0", "steps", "up to"]
"""A function of a number x, see `FUNCTIONS`. ``steps``: of each label ``a..b`` where x is between a and b, from 0 to 1;
``up to``: of each label k whether x is k or more."""
FUNCTIONS: Mapping[str, Callable[[AnyArray], AnyArray]] = {
    "": lambda x: x,
    "square": lambda x: x.astype(np.float64) ** 2,
    "positive": lambda x: np.maximum(x, 0),
    "negative": lambda x: np.maximum(-x, 0),
    "is 0": lambda x: (x == 0).astype(np.int64),
}


@dataclass(frozen=True, kw_only=True)
class LabelVariable:
    """A variable with a value at every position.

    Args:
        name: the name of its column.
        kind: see `VariableKind`; labels: the list of labels, for the kind ``label`` only.
        meaning: its meaning, in a few words.
        numeric: for texts, whether all are numbers (``1/3`` too), which files then contain.

    Raises:
        ShapeError: for labels with another kind, or the kind ``label`` without labels.
    """

    name: str
    kind: VariableKind
    meaning: str
    labels: tuple[str, ...] | None = None
    numeric: bool = False

    def __post_init__(self) -> None:
        if (self.labels is not None) != (self.kind == "label"):
            raise ShapeError(
                f"variable {self.name!r}: a label has labels, and nothing else has: give them, or another kind"
            )

    def as_dict(self) -> dict[str, object]:
        """Return it as plain data."""
        own = {} if self.labels is None else {"labels": list(self.labels)}
        return {"name": self.name, "kind": "number" if self.numeric else self.kind, "meaning": self.meaning, **own}


@dataclass(frozen=True, kw_only=True)
class HeadPattern:
    """The positions that a head attends to, for readers.

    Args:
        claim: the claim of such a head, see `Claim.attends`.
        meaning: the positions, in a few words.
        formula: the positions, as an equation; source: its place in the paper.
        seen: see `Seen`.
        name: the name of the heads for readers; empty: the claim.
    """

    claim: str
    meaning: str
    formula: str = ""
    source: str = ""
    seen: Seen = "one"
    name: str = ""


@dataclass(frozen=True, kw_only=True)
class HeadLabels:
    """A head and what it attends to.

    Args:
        layer, head: counted from 0.
        name: the name of the head; claim: the positions that its construction claims it attends to.
        mask: the positions in its sight, see `tm2tfr.transformer.weights.MASKS`.
        seen: see `Seen`.
    """

    layer: int
    head: int
    name: str
    claim: str
    mask: Mask
    seen: Seen

    @property
    def column(self) -> str:
        """The name of its column, as TransformerLens names heads: ``L2H0``."""
        return f"L{self.layer}H{self.head}"

    def as_dict(self) -> dict[str, object]:
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
    """The contents of a subspace, as a function of a variable x at the same position.

    For a number x it is ``times · function(x)``, divided by i + 1 at position i if `over`. For a label it is the one-hot
    vector among the labels of the subspace, or 0 if the subspace has no such label. In a subspace with labels, a whole
    number counts as its text, unless the function gives each label a number.

    Args:
        column: the column of x; None: x is 1.
        function: see `HeldFunction`.
        groups: pairs of a text and a label of the subspace; instead of a one-hot vector, the subspace holds 1 for each
            label that is paired with the text x.
        mean: the column of a head; the subspace then holds the mean of all this over the positions it attends to.

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
        if self.function not in get_args(HeldFunction):
            known = listing([name for name in get_args(HeldFunction) if name])
            raise ShapeError(f"there is no function {self.function!r}: use {known}")

    def as_dict(self) -> dict[str, object]:
        """Return it as plain data, without the fields that have their default values."""
        plain: dict[str, object] = {"column": self.column, "function": self.function or None, "mean over": self.mean}
        plain |= {"times": None if self.times == 1 else self.times, "divided by": "position + 1" if self.over else None}
        plain |= {"groups": [list(pair) for pair in self.groups] or None}
        return {name: value for name, value in plain.items() if value is not None} or {"constant": 1}


@dataclass(frozen=True, kw_only=True)
class Scheme:
    """The labels of a subject: the same for all its runs.

    Args:
        variables: the variables, in the order of their columns.
        heads: all heads, layer by layer.
        held: name of a subspace -> its contents; None: unknown.
        answers: the labels of the answers; None: answers are numbers.
        nodes: number of a node, such as ``s5`` or ``c7`` in names of subspaces and variables -> its definition.
        by_name: whether variables that can be set are named after their subspaces, not after the contents of these.
        ends: the outcomes that are counted over runs; empty: not counted.
    """

    variables: tuple[LabelVariable, ...]
    heads: tuple[HeadLabels, ...]
    held: Mapping[str, HeldVariable | None]
    answers: tuple[str, ...] | None = field(default=None)
    nodes: Mapping[str, str] = field(default_factory=dict)
    by_name: bool = False
    ends: tuple[str, ...] = ()

    def variable(self, name: str) -> LabelVariable:
        """Return the variable with this column.

        Raises:
            ShapeError: if no variable has it.
        """
        found = next((variable for variable in self.variables if variable.name == name), None)
        if found is None:
            raise ShapeError(f"there is no variable {name!r}: use one of {listing([v.name for v in self.variables])}")
        return found


# ── Where heads look: as matrices for words of one length, and as a column.
LookMatrix = NDArray[np.bool_]
"""(words, n, n): the positions (last axis) that a head attends to from each position."""


@dataclass(frozen=True)
class Ragged:
    """A set of positions for each row: `places[offsets[p]:offsets[p + 1]]`, or every position in sight.

    Args:
        offsets: (rows + 1,); places: (offsets[-1],).
        everything: (rows,): the rows with every position in sight, which have no places.
    """

    offsets: NDArray[np.int64]
    places: NDArray[np.int32]
    everything: NDArray[np.bool_]

    @classmethod
    def of_lists(cls, seen: Sequence[Sequence[int] | None]) -> Ragged:
        """Return the column of these positions; None: every position in sight."""
        flat = np.array([j for places in seen for j in places or ()], dtype=np.int32)
        return cls(offsets_of([len(places or ()) for places in seen]), flat, np.array([each is None for each in seen]))

    @classmethod
    def of_matrix(cls, looks: LookMatrix, sight: NDArray[np.bool_]) -> Ragged:
        """Return the column of a head: (words · n,) rows; sight: see `sight_matrix`."""
        everything = (looks == sight).all(axis=-1).ravel()
        rows = looks.reshape(-1, looks.shape[-1]) & ~everything[:, None]
        return cls(offsets_of(rows.sum(axis=1)), np.nonzero(rows)[1].astype(np.int32), everything)

    def take(self, rows: NDArray[np.int64]) -> Ragged:
        """Return these rows, in this order."""
        offsets, at = taken(self.offsets, rows)
        return Ragged(offsets, self.places[at], self.everything[rows])


HeadColumn = NDArray[np.int32] | Ragged
"""The positions that a head attends to from each row: one position, (rows,), or several."""


def joined(parts: Sequence[HeadColumn]) -> HeadColumn:
    """Return the columns of one head on several runs as one column."""
    several = [part for part in parts if isinstance(part, Ragged)]
    if not several:
        return np.concatenate([part for part in parts if isinstance(part, np.ndarray)])
    sizes = np.concatenate([np.diff(part.offsets) for part in several])
    places, everything = (np.concatenate([getattr(p, name) for p in several]) for name in ("places", "everything"))
    return Ragged(offsets_of(sizes), places, everything)


def offsets_of(sizes: ArrayLike) -> NDArray[np.int64]:
    """Return the first row of each run, and the end of the last: (runs + 1,)."""
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def taken(offsets: NDArray[np.int64], runs: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the offsets of the chosen runs, in the order chosen, and the numbers of their rows."""
    sizes = np.diff(offsets)[runs]
    found = offsets_of(sizes)
    return found, np.repeat(offsets[runs] - found[:-1], sizes) + np.arange(found[-1])


def sight_matrix(mask: str, n: int) -> NDArray[np.bool_]:
    """Return the matrix of visible positions, see `tm2tfr.transformer.attention.in_sight`: (n, n)."""
    every = np.ones((n, n), dtype=bool)
    return {"future": np.tril(every), "past": np.triu(every), "none": every}[mask]


# ── The input and output of a source's labels.
VariableColumns = dict[str, AnyArray]
"""The values of each variable: (rows,)."""


@dataclass(frozen=True)
class RunRows:
    """Rows of the tables of some runs, one run after the other.

    Args:
        offsets: (runs + 1,); sizes: (runs,), the number of tokens of each input.
        tokens, answers: (rows,), their indices in the vocabulary.
        columns: (rows,) for each column of the table: indices into the symbols of its subspace, -1 for ⊥; or whole numbers.
    """

    offsets: NDArray[np.int64]
    sizes: NDArray[np.int64]
    tokens: NDArray[np.int32]
    answers: NDArray[np.int32]
    columns: Mapping[str, NDArray[np.int32]]

    @property
    def starts(self) -> NDArray[np.int64]:
        """The number of the first row of the run of each row: (rows,)."""
        return np.repeat(self.offsets[:-1], np.diff(self.offsets))


@dataclass(frozen=True)
class LabelledWords:
    """The labels of some inputs of one length.

    Args:
        defined: (inputs,): whether the program is defined; the other arrays are only about defined inputs, (inputs, n).
        columns: the values of each variable; texts: for each text variable the list that its values are indices of.
        looks: the attention of each head, (inputs, n, n).
        fed: the indices of the tokens fed in the vocabulary: (inputs, positions).
        wanted: the reference's outputs, see `tm2tfr.contract.source.ManyLabels`: (outputs, inputs, positions).
    """

    defined: NDArray[np.bool_]
    columns: Mapping[str, AnyArray]
    texts: Mapping[str, Sequence[str]]
    looks: Mapping[str, LookMatrix] = field(repr=False)
    fed: NDArray[np.int64]
    wanted: NDArray[np.float64]

    def attended(self, heads: Sequence[HeadLabels]) -> dict[str, HeadColumn]:
        """Return the columns of heads."""
        found: dict[str, HeadColumn] = {}
        for head in heads:
            looks = self.looks[head.column]
            looks = np.broadcast_to(looks, (len(self.fed), *looks.shape[1:]))
            if head.seen == "one":
                found[head.column] = looks.argmax(axis=-1).ravel().astype(np.int32)
            elif head.seen == "several":
                found[head.column] = Ragged.of_matrix(looks, sight_matrix(head.mask, looks.shape[-1]))
        return found


def recoded(names: Sequence[str | None], labels: Sequence[str] | None) -> NDArray[np.int32]:
    """Return the index of each name among labels, -1 if it is not one of them."""
    places: dict[str | None, int] = {label: n for n, label in enumerate(labels or ())}
    return np.array([places.get(name, -1) for name in names], dtype=np.int32)


def claimed(decoder: Decoder) -> tuple[str, ...]:
    """Return the claims of a decoder's heads, each once."""
    heads = (head for layer in decoder.layers for head in layer.heads)
    return tuple(dict.fromkeys(head.claim.attends for head in heads if head.claim is not None))


def heads_of(decoder: Decoder, seen: Callable[[str], Seen | None]) -> tuple[HeadLabels, ...]:
    """Return all heads; `seen`: a claim -> the positions that such a head attends to, None if unknown."""
    found = []
    for n, layer in enumerate(decoder.layers):
        for k, head in enumerate(layer.heads):
            claim = "" if head.claim is None else head.claim.attends
            what = seen(claim)
            if what is not None:
                found.append(HeadLabels(layer=n, head=k, name=head.name, claim=claim, mask=head.mask, seen=what))
    return tuple(found)
