"""What a construction brings for people: what a page says of a program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from numpy.typing import ArrayLike

PlainData = dict[str, Any]
"""Plain data, as JSON has it."""
Show = Callable[[str], str]
"""Makes a text visible."""
AttentionOf = Callable[[int, int], Sequence[Sequence[float]]]
"""(layer, from 1, head, from 0) -> where that head looks in a run: (n, n)."""
_NOTHING: PlainData = {}


class Packer(Protocol):
    """Where long columns of numbers and long texts of a page go; each method returns where they are, as plain data."""

    def add(self, values: ArrayLike) -> PlainData: ...
    def add_text(self, text: str) -> PlainData: ...


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
    views: Callable[[Show, Packer, bool], PlainData] = lambda *_: _NOTHING
    inputs: PlainData = field(default_factory=dict)
    examples: Sequence[str] = ()
    texts: Sequence[str] = ()
    reference: Callable[[Any], PlainData | None] = lambda _: None
