"""A program's s-ops and selectors as plain data, for the evaluator in the explorer's page, and where weights have them.

The nodes are those that the interpreter evaluates (`sops.py`); nothing that the compiler makes of them is in here. Of the
weights only claims are read: which subspace holds an s-op, and which heads look for a selector.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tm2tfr.contract.shown import PlainData
from tm2tfr.sources.rasp import sops as rasp
from tm2tfr.sources.rasp.analyse import depths_of
from tm2tfr.sources.rasp.drawing.flow import boxed
from tm2tfr.sources.rasp.model.claims import GivenOf, MeanOf, PickedOf, RaspClaim, ValueOf, claim_of, look
from tm2tfr.sources.rasp.naming import RaspNames
from tm2tfr.sources.rasp.program import Program, shown_atom
from tm2tfr.sources.rasp.sops import Atom
from tm2tfr.sources.rasp.truth import answered
from tm2tfr.sources.rasp.values import CONVERSIONS, ValueRefused, numeric
from tm2tfr.transformer.weights import Decoder

_EXACT = 1 << 53
_PREFERRED: tuple[type[RaspClaim], ...] = (ValueOf, PickedOf, MeanOf)
"""What may hold an s-op, the best first: its value, and of an aggregate the mean of its one-hot vectors, or its mean."""


def sequence_data(program: Program, decoder: Decoder) -> PlainData:
    """Return the nodes that the outputs of weights need, in an order of evaluation; see ``explorer/src/sequence/spec.ts``.

    Raises:
        CompileError: if an output is not an s-op of the program.
    """
    sops = answered(program, decoder)
    outputs = [(output.name, output.labels is None) for output in decoder.outputs]
    return evaluated_data(program, sops, outputs, _Where(rasp.needed(sops), decoder))


def evaluated_data(
    program: Program, sops: Sequence[rasp.SOp], outputs: Sequence[tuple[str, bool]], where: _Where | None = None
) -> PlainData:
    """Return some s-ops with all that they are made of; without `where`, of no weights.

    Args:
        outputs: of each s-op what it is called, and whether weights answer it as a number.
    """
    nodes = rasp.needed(sops)
    places = {node.number: place for place, node in enumerate(nodes)}
    names = RaspNames(program)
    named = names.referred(nodes, boxed(nodes, sops))
    depths, numbers = depths_of(nodes), numeric(node for node in nodes if isinstance(node, rasp.SOp))
    return {
        "kind": "rasp",
        "noun": "program",
        "name": program.name,
        "source": program.text,
        "alphabet": [shown_atom(token) for token in program.alphabet],
        "tokens": [atom(token) for token in program.alphabet],
        "before": [],
        "after": [],
        "nodes": [
            {
                "name": names[node],
                "text": names.text(node, named),
                "variable": node.name,
                "at": None if node.span is None else [node.span.line, node.span.column, node.span.length],
                "kind": "selector"
                if isinstance(node, rasp.Selector)
                else "loop"
                if isinstance(node, rasp.Repeat)
                else "sop",
                "box": node.number in named,
                "depth": depths[node.number],
                "numeric": isinstance(node, rasp.SOp) and numbers[node],
                "arguments": [places[part.number] for part in rasp.made_of(node)],
                "subspace": where and where.subspace(node),
                "since": where and where.since(node),
                "heads": where.heads(node) if where else [],
                **_own(node, nodes, places, program.alphabet),
            }
            for node in nodes
        ],
        "outputs": [
            {"name": name, "node": places[sop.number], "number": number}
            for sop, (name, number) in zip(sops, outputs, strict=True)
        ],
        "root": places[program.sop.number if program.sop in sops else sops[0].number],
        "automaton": None,
    }


def _own(  # noqa: PLR0911
    node: rasp.Node, nodes: Sequence[rasp.Node], places: Mapping[int, int], alphabet: Sequence[Atom]
) -> dict[str, Any]:
    """Return what nodes of its class have alone."""
    match node:
        case rasp.Tokens():
            return {"operator": "tokens", "values": [_converted(node, token) for token in alphabet]}
        case rasp.Constant():
            return {"operator": "constant", "value": atom(node.value)}
        case rasp.Elementwise():
            entries = [[atom(key), atom(value)] for key, value in node.entries]
            return {"operator": "elementwise", "function": node.operator, "entries": entries}
        case rasp.Aggregate():
            return {"operator": "aggregate", "default": atom(node.default)}
        case rasp.Select():
            return {"operator": "select", "relation": node.relation}
        case rasp.Combined():
            return {"operator": "combined", "function": node.operator}
        case rasp.Repeat():
            return {
                "operator": "repeat",
                "states": [places[state.number] for state in node.states],
                "nexts": [places[sop.number] for sop in node.nexts],
                "times": node.times,
                "until": None if node.until is None else places[node.until.number],
                "again": [places[each.number] for each in rasp.repeated(node, nodes)],
            }
    return {"operator": {rasp.Indices: "indices", rasp.State: "state", rasp.Looped: "looped"}[type(node)]}


def _converted(node: rasp.Tokens, token: Atom) -> Any:
    """Return the conversion of a token, or the reason why it fails."""
    try:
        return atom(CONVERSIONS[node.conversion](token))
    except ValueRefused as why:
        return {"refused": str(why)}


def atom(value: Atom) -> Any:
    """Return a value as plain data: a fraction, which is a float of RASP, differs from a whole number."""
    if isinstance(value, str | bool):
        return value
    if isinstance(value, int):
        return value if abs(value) < _EXACT else {"whole": str(value)}
    return {"over": [str(value.numerator), str(value.denominator)]}


class _Where:
    """Where weights have the nodes of a program, by their claims; two nodes that say the same are in the same place."""

    def __init__(self, nodes: Iterable[rasp.Node], decoder: Decoder) -> None:
        self._shapes = {node.number: first.number for node, first in rasp.made_alike(nodes).items()}
        self._held: dict[tuple[type[RaspClaim], int], int] = {}
        self._given: dict[str, int] = {}
        self._since = [subspace.since for subspace in decoder.layout.subspaces]
        for n, subspace in enumerate(decoder.layout.subspaces):
            match claim_of(subspace):
                case (ValueOf(sop) | PickedOf(sop) | MeanOf(sop)) as claim if sop in self._shapes:
                    self._held.setdefault((type(claim), self._shapes[sop]), n)
                case GivenOf(what):
                    self._given.setdefault(what, n)
        self._heads: dict[int, list[tuple[int, int]]] = {}
        for n, layer in enumerate(decoder.layers):
            for k, head in enumerate(layer.heads):
                gaze = None if head.claim is None else look(head.claim.attends)
                if gaze is not None and gaze.selector in self._shapes:
                    self._heads.setdefault(self._shapes[gaze.selector], []).append((n, k))

    def subspace(self, node: rasp.Node) -> int | None:
        """Return the index of the subspace that holds an s-op; None: it has none of its own."""
        if isinstance(node, rasp.Tokens | rasp.Indices):
            return self._given.get("token" if isinstance(node, rasp.Tokens) else "position")
        shape = self._shapes[node.number]
        return next((self._held[kind, shape] for kind in _PREFERRED if (kind, shape) in self._held), None)

    def since(self, node: rasp.Node) -> int | None:
        """Return the layer after which a subspace holds an s-op, from 0, -1 for the embedding; None: nothing says so."""
        held = self.subspace(node)
        since = None if held is None else self._since[held]
        return None if since is None else since[0]

    def heads(self, node: rasp.Node) -> list[tuple[int, int]]:
        """Return layer and head, both from 0, of a selector, or of an aggregate, whose subspace says in which layer."""
        if isinstance(node, rasp.Selector):
            return self._heads.get(self._shapes[node.number], [])
        if not isinstance(node, rasp.Aggregate):
            return []
        found, held = self._heads.get(self._shapes[node.selector.number], []), self.subspace(node)
        since = None if held is None else self._since[held]
        return [place for place in found if since is not None and place[0] == since[0]] or found
