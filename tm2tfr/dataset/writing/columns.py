"""Examples as columns of numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tm2tfr.dataset.examples import AnyExample
from tm2tfr.transformer.matrix import Ints


class Texts(NamedTuple):
    """A text for each example, as its place in a list; -1 stands for none.

    Args:
        places: (examples,)
    """

    places: Ints
    of: Sequence[str]


class Lists(NamedTuple):
    """A list of numbers for each example: that of example e is ``items[offsets[e] : offsets[e + 1]]``.

    Args:
        offsets: (examples + 1,), from 0 on.
    """

    offsets: Ints
    items: NDArray[np.int32]

    @classmethod
    def cut(cls, items: NDArray[np.int32], start: Ints, sizes: Ints) -> Lists:
        """Return the lists ``items[start[e] : start[e] + sizes[e]]``; start, sizes: (examples,)."""
        offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        return cls(offsets, items[np.arange(offsets[-1]) + np.repeat(start - offsets[:-1], sizes)])


ExampleColumn: TypeAlias = Texts | Lists | Ints
"""Integers are (examples,); -1 stands for none."""
ExampleColumns: TypeAlias = Mapping[str, ExampleColumn]
"""Examples by the names of their columns, in the order of the file."""
TOKENS = ("prompt", "target")
"""The columns whose items are numbers of tokens."""
MASK = "loss_mask"


def columns_of(found: Sequence[AnyExample], names: Sequence[str]) -> ExampleColumns:
    """Return examples, of which there is at least one, as columns."""
    columns: dict[str, ExampleColumn] = {}
    given: tuple[Sequence[Any], ...] = tuple(zip(*found, strict=True))
    for name, values in zip(names, given, strict=True):
        if isinstance(values[0], np.ndarray):
            offsets = np.concatenate([[0], np.cumsum([len(each) for each in values])]).astype(np.int64)
            columns[name] = Lists(offsets, np.concatenate(values))
        else:
            columns[name] = Texts(np.arange(len(values)), values)
    return columns
