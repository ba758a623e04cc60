"""What claims and connectives say, as literals: a node, and whether it has to be true."""

from __future__ import annotations

from tm2tfr.sources.logic.nodes import And, Node, Not, Or
from tm2tfr.sources.logic.specification.claims import BitClaim, InsideClaim, MeanClaim, SubspaceClaim

RETRIEVING = ("latest", "earliest", "back", "ahead")
"""The kinds of heads that bring what a retrieval finds."""


def literal_of(claim: SubspaceClaim | None) -> tuple[int, bool] | None:
    """Return the node that a claim says is true, or false, if it says no more."""
    if isinstance(claim, BitClaim) and len(claim.alternatives) == 1 and len(claim.alternatives[0]) == 1:
        ((literal,),) = claim.alternatives
        return (literal.node, literal.true) if literal.label is None else None
    return None


def bare(claim: SubspaceClaim | None) -> SubspaceClaim | None:
    """Return a claim without saying that it is about the inside of the word."""
    while isinstance(claim, InsideClaim):
        claim = claim.of
    return claim


def of_key(claim: SubspaceClaim | None) -> SubspaceClaim | None:
    """Return what a retrieval's head is claimed to have brought; None if it is another head, or none."""
    brought = bare(claim)
    return brought.of if isinstance(brought, MeanClaim) and brought.head.kind in RETRIEVING else None


def alternative(claim: SubspaceClaim | None) -> frozenset[tuple[int, bool]] | None:
    """Return the literals of a claim that is one conjunction of truth values."""
    if not isinstance(claim, BitClaim) or len(claim.alternatives) != 1:
        return None
    return frozenset((each.node, each.true) for each in claim.alternatives[0] if each.label is None)


def conjunction(node: Node) -> tuple[frozenset[tuple[int, bool]], bool]:
    """Return the literals that a connective is the conjunction of, or, with False, the negation of one; none of others."""
    if isinstance(node, And):
        return frozenset(signed_literal(part) for part in node.parts), True
    if isinstance(node, Or):
        return frozenset((number, not true) for number, true in map(signed_literal, node.parts)), False
    if isinstance(node, Not):
        literals, true = conjunction(node.of)
        return literals, not true
    return frozenset(), True


def flattened(node: Node, true: bool) -> frozenset[tuple[int, bool]]:
    """Return the literals of which a connective, or its negation, is the conjunction, through connectives in it."""
    if isinstance(node, Not):
        return flattened(node.of, not true)
    if isinstance(node, And if true else Or):
        return frozenset(literal for part in node.parts for literal in flattened(part, true))
    return frozenset([(node.number, true)])


def signed_literal(node: Node) -> tuple[int, bool]:
    true = True
    while isinstance(node, Not):
        node, true = node.of, not true
    return node.number, true


def called(node: Node) -> str:
    return node.name or f"s{node.number}"
