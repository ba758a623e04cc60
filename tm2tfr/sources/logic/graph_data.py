"""The nodes of a formula or a program as plain data, for the evaluator in the explorer's page, and where weights have them.

The nodes are those that the printed definitions are about (`nodes.py`); nothing that the compiler makes of them is in here.
Of the weights only claims are read: which subspace holds a node, and which heads look for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tm2tfr.contract.shown import PlainData
from tm2tfr.sources.logic import nodes as tl
from tm2tfr.sources.logic.model.claims import (
    GivenClaim,
    HeadClaim,
    MeanClaim,
    NodeClaim,
    SubspaceClaim,
    head_claim,
    subspace_claim,
)
from tm2tfr.sources.logic.model.seen import bare, held_as, literal_of
from tm2tfr.sources.logic.nodes import Node
from tm2tfr.sources.logic.printer import STYLES, Printer
from tm2tfr.sources.logic.program import LogicProgram
from tm2tfr.sources.logic.truth import ENDS, answered
from tm2tfr.sources.logic.write import answered_names, output_names
from tm2tfr.transformer.weights import Decoder

_EXACT = 1 << 53
OPERATORS: Mapping[type[Node], str] = {
    tl.Input: "input",
    tl.Text: "text",
    tl.Choose: "choose",
    tl.Always: "always",
    tl.OneOf: "one of",
    tl.Same: "same",
    tl.Not: "not",
    tl.And: "and",
    tl.Or: "or",
    tl.Previous: "previous",
    tl.Next: "next",
    tl.Since: "since",
    tl.Until: "until",
    tl.Comparison: "comparison",
    tl.Predicate: "predicate",
    tl.Place: "place",
    tl.CountLeft: "count left",
    tl.CountRight: "count right",
    tl.Sum: "sum",
    tl.Retrieve: "retrieve",
}


def sequence_data(program: LogicProgram, decoder: Decoder) -> PlainData:
    """Return the nodes of a program in an order of evaluation; see ``explorer/src/sequence/spec.ts``.

    Raises:
        CompileError: if an output of the weights is not a node of the program.
    """
    outputs = zip(answered(program, decoder), decoder.outputs, strict=True)
    named = [(node, output.name, output.labels is None) for node, output in outputs]
    return evaluated_data(program, named, _Where(program.nodes, decoder))


def evaluated_data(
    program: LogicProgram, outputs: Sequence[tuple[Node, str, bool]] = (), where: _Where | None = None
) -> PlainData:
    """Return the nodes of a program; without `where`, of no weights.

    Args:
        outputs: nodes, their names, and whether weights answer them as numbers.
    """
    nodes, names, shown = program.nodes, output_names(program), answered_names(program)
    places = {node: place for place, node in enumerate(nodes)}
    printer = Printer(STYLES["ascii"], program.language == "srasp", {node: node.name for node in nodes if node.name})
    return {
        "kind": "logic",
        "noun": program.noun,
        "name": program.name,
        "source": program.text,
        "alphabet": list(program.alphabet),
        "tokens": list(program.alphabet),
        "before": list(ENDS[:1]),
        "after": [ENDS[1]] if where and where.eos else [],
        "nodes": [
            {
                "name": names[node],
                "text": printer.text(node),
                "variable": node.name,
                "at": None if node.span is None else [node.span.line, node.span.column, node.span.length],
                "kind": node.kind,
                "box": node in shown,
                "depth": 0,
                "numeric": False,
                "arguments": [places[part] for part in tl.parents(node)],
                "subspace": where and where.subspace(node),
                "since": where and where.since(node),
                "heads": where.heads(node) if where else [],
                "operator": OPERATORS[type(node)],
                **_own(node, places),
            }
            for node in nodes
        ],
        "outputs": [{"name": name, "node": places[node], "number": number} for node, name, number in outputs],
        "root": places[program.root],
        "automaton": None,
    }


def _own(node: Node, places: Mapping[Node, int]) -> dict[str, Any]:  # noqa: PLR0911
    """Return what nodes of its class have alone."""
    match node:
        case tl.Text() | tl.Always():
            return {"value": node.value}
        case tl.OneOf():
            return {"values": list(node.values)}
        case tl.Comparison():
            return {"relation": node.relation}
        case tl.Predicate():
            return {"predicate": node.predicate, "modulus": node.modulus, "remainder": node.remainder}
        case tl.Sum():
            return {"factors": [_number(factor) for factor, _ in node.terms], "constant": _number(node.constant)}
        case tl.Retrieve():
            return {
                "choice": node.choice,
                "sight": node.sight,
                "score": _score(node.score, places),
                "values": places[node.values],
                "default": places[node.default],
            }
    return {}


def _number(value: int) -> Any:
    return value if abs(value) < _EXACT else {"whole": str(value)}


def _score(score: tl.Score, places: Mapping[Node, int]) -> PlainData:
    match score:
        case tl.AtKey():
            return {"key": places[score.bit]}
        case tl.AtQuery():
            return {"query": places[score.bit]}
        case tl.Equal():
            return {"equal": [places[score.key], places[score.query]]}
        case tl.AllOf() | tl.AnyOf():
            parts = [_score(part, places) for part in score.parts]
            return {"all": parts} if isinstance(score, tl.AllOf) else {"any": parts}
        case tl.NotOf():
            return {"not": _score(score.part, places)}


class _Where:
    """Where weights have the nodes of a program, by their claims."""

    def __init__(self, nodes: Sequence[Node], decoder: Decoder) -> None:
        self.eos = ENDS[1] in decoder.vocabulary
        self._claims = [subspace_claim(subspace.holds.removeprefix("within ")) for subspace in decoder.layout.subspaces]
        self._since = [subspace.since for subspace in decoder.layout.subspaces]
        self._heads = [
            (n, k, claim)
            for n, layer in enumerate(decoder.layers)
            for k, head in enumerate(layer.heads)
            if head.claim is not None and (claim := head_claim(head.claim.attends)) is not None
        ]

    def subspace(self, node: Node) -> int | None:
        """Return the index of the subspace that holds a node; None: it has none of its own."""
        return next((n for n, claim in enumerate(self._claims) if _holds(claim, node)), None)

    def since(self, node: Node) -> int | None:
        """Return the layer after which a subspace holds a node, from 0, -1 for the embedding; None: nothing says so."""
        held = self.subspace(node)
        since = None if held is None else self._since[held]
        return None if since is None else since[0]

    def heads(self, node: Node) -> list[tuple[int, int]]:
        """Return layer and head, both from 0, of those that look for a node: first what brings its parts."""
        means = [(n, claim) for n, claim in enumerate(map(bare, self._claims)) if isinstance(claim, MeanClaim)]
        brought = [(n, claim.head) for n, claim in means if _brings(claim, node)]
        found = [(n, k) for at, head in brought for n, k, claim in self._heads if claim == head and self._in(at, n)]
        found += [(n, k) for n, k, claim in self._heads if _looks_for(claim, node)]
        return list(dict.fromkeys(found))

    def _in(self, subspace: int, layer: int) -> bool:
        since = self._since[subspace]
        return since is None or since[0] == layer


def _holds(claim: SubspaceClaim | None, node: Node) -> bool:
    if node.kind == "bit":
        return held_as(claim, node) is True
    if isinstance(node, tl.Input):
        return claim == GivenClaim("token")
    if isinstance(node, tl.Place):
        return claim == GivenClaim("i")
    return claim == NodeClaim(node.kind, node.number)


def _brings(claim: MeanClaim, node: Node) -> bool:
    """Return whether a subspace has what a head brought of what an operator over positions is about."""
    kinds: Mapping[type[Node], tuple[str, ...]] = {
        tl.Previous: ("back", "parity"),
        tl.Next: ("ahead", "parity"),
        tl.CountLeft: ("all",),
        tl.CountRight: ("all",),
        tl.Retrieve: ("back", "ahead"),
    }
    mask = {tl.CountLeft: "future", tl.CountRight: "past"}.get(type(node), claim.head.mask)
    there = claim.head.kind in kinds.get(type(node), ()) and claim.head.mask == mask
    return there and _is(bare(claim.of), node.values if isinstance(node, tl.Retrieve) else getattr(node, "of", node))


def _is(claim: SubspaceClaim | None, node: Node) -> bool:
    if node.kind == "bit":
        return literal_of(claim) == (node.number, True)
    return claim == NodeClaim(node.kind, node.number) or (isinstance(node, tl.Input) and claim == GivenClaim("token"))


def _looks_for(claim: HeadClaim, node: Node) -> bool:
    if claim.number is not None:
        return claim.number.node == (node.of if isinstance(node, tl.Predicate) else node).number
    return claim.node == node.number
