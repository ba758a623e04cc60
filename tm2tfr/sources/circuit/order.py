"""Topological order and cycles of anything whose parts need others, by number; nothing here recurses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

Needs = Sequence[Sequence[int]]
"""For each part, the numbers of the parts that it needs."""


def topological(needs: Needs) -> list[int] | None:
    """Return the numbers of all parts, each after those that it needs, or None if there is a cycle.

    The given order is kept where possible: a part moves only to stand before the first one that needs it.
    """
    done, begun, order = bytearray(len(needs)), bytearray(len(needs)), list[int]()
    for first in range(len(needs)):
        path = [first]
        while path:
            part = path[-1]
            missing = [] if done[part] else [other for other in needs[part] if not done[other]]
            if missing and begun[part]:
                return None
            if missing:
                begun[part] = 1
                path.extend(reversed(missing))
                continue
            if not done[part]:
                done[part] = 1
                order.append(part)
            path.pop()
    return order


def cycles(needs: Needs) -> list[list[int]]:
    """Return one cycle of each strongly connected component, the shortest through its first part.

    Each part of a cycle is needed by the next one, and the last by the first.
    """
    import networkx as nx  # noqa: PLC0415  (needed only where something is wrong)

    users: nx.DiGraph[int] = nx.DiGraph()
    users.add_edges_from((other, part) for part, others in enumerate(needs) for other in others)
    found = []
    for component in nx.strongly_connected_components(users):
        first = min(component)
        if len(component) > 1:
            found.append(_shortest(users.subgraph(component).adj, first))
        elif users.has_edge(first, first):
            found.append([first])
    return sorted(found)


def _shortest(users: Mapping[int, Iterable[int]], first: int) -> list[int]:
    """Return the shortest cycle through `first`, which is on one."""
    before: dict[int, int] = {}
    level = [first]
    while first not in before:
        following = []
        for part in level:
            for user in users[part]:
                if user not in before:
                    before[user] = part
                    following.append(user)
        level = following
    path = [before[first]]
    while path[-1] != first:
        path.append(before[path[-1]])
    return path[::-1]
