"""Makes nodes, so that equal ones are the same: by structure, whatever their names and places in a text are."""

from __future__ import annotations

from typing import Any, TypeVar

from tm2tfr.sources.logic.nodes import Node

_Made = TypeVar("_Made", bound=Node)
_OF_THE_TEXT = ("name", "span", "typed")


class Build:
    """Makes the nodes of one program.

    Attributes:
        nodes: all of them, in the order of their numbers.
    """

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self._known: dict[tuple[Any, ...], Node] = {}

    def __call__(self, kind: type[_Made], **fields: Any) -> _Made:
        """Return the node of this class with these fields; a new one if there is none yet.

        ``name``, ``span`` and ``typed`` are not part of what makes nodes equal: those of the first one stay.
        """
        structure = (kind, *sorted((name, value) for name, value in fields.items() if name not in _OF_THE_TEXT))
        found = self._known.get(structure)
        if found is None:
            found = self._known[structure] = kind(number=len(self.nodes), **fields)
            self.nodes.append(found)
        return found  # type: ignore[return-value]
