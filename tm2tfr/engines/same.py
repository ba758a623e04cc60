"""Parts of weights as keys of what was computed from them, by identity: comparing matrices takes as long as reading them.

Parts are frozen, so whatever follows from one, and from nothing else, still follows from it later. A changed weight is
in another part. As long as a result is kept, so is the part, and no other can have its identity.
"""

from __future__ import annotations

from typing import Generic, TypeVar

Frozen = TypeVar("Frozen")

KEPT = 1024
"""The number of results that are kept of each kind, the latest."""
WIDEST = 256
"""Nothing is kept of weights with a wider stream: few have common parts, and their results are large."""


class Same(Generic[Frozen]):
    """A frozen part as a key, equal to itself alone."""

    __slots__ = ("part",)

    def __init__(self, part: Frozen) -> None:
        self.part = part

    def __hash__(self) -> int:
        return id(self.part)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and other.part is self.part
