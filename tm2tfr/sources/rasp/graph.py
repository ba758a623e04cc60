"""The graph of s-ops and selectors: what a node is made of, and all that it stands on."""

from __future__ import annotations

from collections.abc import Iterable

from tm2tfr.sources.rasp.sops import Aggregate, Combined, Elementwise, Node, Select


def made_of(node: Node) -> tuple[Node, ...]:
    """Return the nodes that `node` is made of, in the order in which they are written."""
    if isinstance(node, Elementwise):
        return node.arguments
    if isinstance(node, Aggregate):
        return node.selector, node.values
    if isinstance(node, Select):
        return node.key, node.query
    return node.parts if isinstance(node, Combined) else ()


def needed(nodes: Iterable[Node]) -> tuple[Node, ...]:
    """Return `nodes` and all that they are made of, in the order of creation, which is an order of evaluation."""
    found: dict[int, Node] = {}
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        if node.number not in found:
            found[node.number] = node
            waiting.extend(made_of(node))
    return tuple(found[number] for number in sorted(found))
