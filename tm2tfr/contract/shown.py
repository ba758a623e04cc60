"""What a construction brings for people: what a page says of a program."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from numpy.typing import ArrayLike

Show = Callable[[str], str]
"""Makes a text visible."""
AttentionOf = Callable[[int, int], Sequence[Sequence[float]]]
"""(layer, from 1, head, from 0) -> where that head looks in a run: (n, n)."""
_NOTHING: Mapping[str, Any] = {}


class Packer(Protocol):
    """Where long columns of numbers and long texts of a page go; each method returns where they are, as plain data."""

    def add(self, values: ArrayLike) -> dict[str, Any]: ...
    def add_text(self, text: str) -> dict[str, Any]: ...


@dataclass(frozen=True, kw_only=True)
class Page:
    """What an explorer page says of a program, beside its runs.

    Args:
        about: a description, for people.
        views: (how texts are shown, where columns go, whether Graphviz draws the graph, where it is installed) -> a view of
            the page -> its plain data: ``machine``, ``circuit``.
        inputs: the inputs that there can be, as plain data: ``alphabet`` and ``blank``, or ``circuit``.
        examples: inputs to suggest.
        texts: texts that a run shows beside those in the decoder.
        reference: a run of the reference -> what an evaluator in the page needs, as plain data.
    """

    about: str = ""
    views: Callable[[Show, Packer, bool], Mapping[str, Any]] = lambda *_: _NOTHING
    inputs: Mapping[str, Any] = field(default_factory=dict)
    examples: Sequence[str] = ()
    texts: Sequence[str] = ()
    reference: Callable[[Any], Mapping[str, Any] | None] = lambda _: None
