"""The language of claims: what weights say of their subspaces and heads, as values.

Nodes are named by their numbers, ``s12``. Inside the word, at positions 1 to n, they are what the printed definitions say;
at BOS, position 0, and EOS, position n+1, see `tm2tfr.sources.logic.model.columns`.

A subspace may be claimed to hold (X)

- ``token``, the one-hot vector of the token fed; ``bos``, ``eos``, ``early``: 1 iff the position is 0, n+1, at most 1;
- a feature of the position i: ``1``, ``i``, ``i^2``, ``1/(i+1)``, ``i mod 2 = 1``, ``prime(i)``, ``square(i)``,
  ``power of 2(i)``, ``(-1)^i``, or an expression in i and the number n of positions, see `tm2tfr.sources.logic.theta`;
- ``is s3 !s4 | s5="a"``: 1 iff the position is inside the word and one of the alternatives is true there, each a
  conjunction of bits and labels; ``is`` alone: inside the word; ``is never``: 0;
- ``label s3``: the one-hot vector of a label, nothing outside the word;
- ``number s3``, ``square s3``, ``positive s3``, ``negative s3``, ``positive square s3``, ``negative square s3``: of a
  number x its value, x², max(0, x), max(0, -x), and the squares of these;
- ``quotient 2 + s3``, ``quotient square 2 + s3``: max(0, x) // 2 of a number x, and its square; with ``-`` max(0, -x) // 2;
  ``reaches 4 + s3``: for each label k whether the remainder of max(0, x) by 4 is k or more;
- ``at least 1 s3``: of a `Comparison`, 1 iff left - right is 1 or more, inside the word or not;
- ``found s3``: of a `Retrieve`, 1 iff inside the word and a position in sight is selected; ``equal s3 0 at H``: 1 iff the
  number that its conjunct 0 has of the key, at the position attended to, is the one that it has of the query;
- ``over i+1: X``: X divided by i+1; ``at H: X``: the mean of X over the positions that a head with the claim H attends
  to; ``rounded X``: X; ``within X``: X inside the word, otherwise 0.

A head may be claimed to attend to (H; MASK is ``future``, ``past`` or ``none``)

- ``all MASK``: everything in sight; ``back``: i-1, from 0 to 0; ``ahead``: i+1, from the last position to itself;
- ``lookup MASK X``: the position in sight that is nearest to X at i, where X is a number;
- ``parity 1``: the latest odd position up to i, and ``parity 0``: the latest even one; i itself if there is none;
  ``parity 1 ahead``, ``parity 0 ahead``: the earliest one from i on;
- ``since s3``, ``until s3``: the latest position up to i, or the earliest one from i on, that is not inside the word or
  where not (left and not right) of that node, or where the score of a `Retrieve` about keys alone holds;
- ``latest MASK s3 CLUSTERS``, ``earliest MASK s3 CLUSTERS``, with `` shifted back`` or `` shifted ahead`` behind it: of a
  `Retrieve`, see `tm2tfr.sources.logic.model.columns`;
- ``sign 1 s3``: of a `Comparison`: BOS where left - right is 1 or more, and from BOS; otherwise position 1.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import get_args

from tm2tfr.sources.logic import nodes as logic
from tm2tfr.sources.logic.nodes import Node
from tm2tfr.sources.logic.theta import RuleError, rule
from tm2tfr.transformer.weights import Mask

GIVEN = ("token", "bos", "eos", "early")
FEATURES = ("1", "i", "i^2", "1/(i+1)", "prime(i)", "square(i)", "power of 2(i)", "(-1)^i")
OF_NODES = (
    "label",
    "number",
    "square",
    "positive",
    "negative",
    "positive square",
    "negative square",
    "found",
)
MASKS: Mapping[str, Mask] = {mask: mask for mask in get_args(Mask)}


@dataclass(frozen=True)
class GivenClaim:
    """What needs no node: one of `GIVEN` and `FEATURES`, ``i mod m = r``, or a rule."""

    what: str


@dataclass(frozen=True)
class TruthOf:
    """A literal: a bit of this number, or whether a label is `label`, or not."""

    node: int
    label: str | None
    true: bool


@dataclass(frozen=True)
class BitClaim:
    """A disjunction of conjunctions, inside the word."""

    alternatives: tuple[tuple[TruthOf, ...], ...]


@dataclass(frozen=True)
class NodeClaim:
    """One of `OF_NODES`, of a node."""

    what: str
    node: int


@dataclass(frozen=True)
class DividedClaim:
    """What the positive part of a number, or of its negative, is divided by, and what of it is held.

    Args:
        what: ``quotient``, ``quotient square`` or ``reaches``.
        sign: 1 or -1.
    """

    what: str
    per: int
    sign: int
    node: int


@dataclass(frozen=True)
class StepClaim:
    """Whether the numbers of a comparison differ by `least` or more."""

    least: int
    node: int


@dataclass(frozen=True)
class EqualityClaim:
    """Whether two numbers are equal, those that a conjunct has of the query and of the key that a head attends to."""

    node: int
    conjunct: int
    head: HeadClaim


@dataclass(frozen=True)
class InsideClaim:
    """Something inside the word, 0 outside."""

    of: SubspaceClaim


@dataclass(frozen=True)
class ShareClaim:
    """Something divided by i+1."""

    of: SubspaceClaim


@dataclass(frozen=True)
class MeanClaim:
    """The mean of something over the positions that a head attends to."""

    head: HeadClaim
    of: SubspaceClaim


SubspaceClaim = (
    GivenClaim | BitClaim | NodeClaim | DividedClaim | StepClaim | EqualityClaim | InsideClaim | ShareClaim | MeanClaim
)

Clusters = tuple[tuple[int, ...], ...]
"""Groups of the conjuncts of a score, by their numbers; an empty one is satisfied by the positions of the word."""


@dataclass(frozen=True)
class HeadClaim:
    """Where a head looks.

    Args:
        kind: ``all``, ``back``, ``ahead``, ``parity``, ``lookup``, ``since``, ``until``, ``latest``, ``earliest`` or
            ``sign``.
        mask: which positions are in sight.
        node: of the last five, the number of their node.
        number: for a lookup, the number that is looked up.
        least: of a sign, from which difference on it is true; of a parity, the remainder.
        clusters: of ``latest`` and ``earliest``.
        shift: by how much the position that a key stands for comes after it: -1, 0 or 1.
        divided: conjuncts whose numbers are compared by quotient and remainder, each with what they are divided by, and
            whether that is done with max(0, -x) as well.
    """

    kind: str
    mask: Mask
    node: int = -1
    number: NodeClaim | DividedClaim | None = None
    least: int = 0
    clusters: Clusters = ()
    shift: int = 0
    divided: tuple[tuple[int, int, bool], ...] = ()


@lru_cache(maxsize=65_536)
def subspace_claim(text: str) -> SubspaceClaim | None:
    """Return the meaning of a subspace's claim; None if it is invalid."""
    if text in GIVEN or text in FEATURES or _MODULO.fullmatch(text) or is_rule(text):
        return GivenClaim(text)
    if text == "is" or text.startswith("is "):
        return (
            BitClaim({"is": ((),), "is never": ()}[text]) if text in ("is", "is never") else _bit(text.removeprefix("is "))
        )
    for start, claim in _OF_ANOTHER.items():
        if text.startswith(start):
            part = subspace_claim(text.removeprefix(start))
            return None if part is None else claim(part)
    if (step := re.fullmatch(rf"at least {_WHOLE} {_NODE}", text)) is not None:
        return StepClaim(int(step[1]), int(step[2]))
    if text.startswith("at "):
        where, _, what = text.removeprefix("at ").partition(": ")
        head, carried = head_claim(where), subspace_claim(what)
        return None if head is None or carried is None else MeanClaim(head, carried)
    return _equality(text) if text.startswith("equal ") else _divided(text) or _of_node(text)


_OF_ANOTHER: Mapping[str, Callable[[SubspaceClaim], SubspaceClaim]] = {
    "rounded ": lambda part: part,
    "within ": InsideClaim,
    "over i+1: ": ShareClaim,
}


def is_rule(text: str) -> bool:
    """Return whether a claim is an expression in the position i and the number n of positions."""
    try:
        rule(text)
    except RuleError:
        return False
    return True


@lru_cache(maxsize=65_536)
def head_claim(text: str) -> HeadClaim | None:
    """Return the meaning of a head's claim; None if it is invalid."""
    kind, _, rest = text.partition(" ")
    if text in _PLAIN:
        return _PLAIN[text]
    if kind == "lookup":
        mask, _, what = rest.partition(" ")
        number = _divided(what) or _of_node(what)
        known = mask in MASKS and number is not None and number.what in ("number", "positive", "negative", "quotient")
        return HeadClaim(kind, MASKS[mask], number=number) if known else None
    if kind == "sign":
        step = re.fullmatch(rf"{_WHOLE} {_NODE}", rest)
        return None if step is None else HeadClaim(kind, "future", int(step[2]), least=int(step[1]))
    if kind in ("since", "until") and (node := _number(rest)) is not None:
        return HeadClaim(kind, "past" if kind == "until" else "future", node)
    return _retrieval(text) if kind in ("latest", "earliest") else None


_PLAIN: Mapping[str, HeadClaim] = {
    "back": HeadClaim("back", "future"),
    "ahead": HeadClaim("ahead", "none"),
    "parity 0": HeadClaim("parity", "future", least=0),
    "parity 1": HeadClaim("parity", "future", least=1),
    "parity 0 ahead": HeadClaim("parity", "past", least=0),
    "parity 1 ahead": HeadClaim("parity", "past", least=1),
    **{f"all {mask}": HeadClaim("all", mask) for mask in MASKS.values()},
}


def labelled(claim: SubspaceClaim) -> bool:
    """Return whether what a subspace holds is a vector with labels, instead of a number."""
    (*_, last) = nested(claim)
    return last == GivenClaim("token") or getattr(last, "what", None) in ("label", "reaches")


def nested(claim: SubspaceClaim) -> Iterator[SubspaceClaim]:
    """Yield a claim, and those that it is made of, one inside the other."""
    yield claim
    while isinstance(claim, InsideClaim | ShareClaim | MeanClaim):
        claim = claim.of
        yield claim


_NODE, _WHOLE = r"s(0|[1-9]\d{0,8})", r"(-?\d{1,9})"
_MODULO = re.compile(r"i mod [1-9]\d{0,8} = (0|[1-9]\d{0,8})")
_OF_NODE = re.compile(rf"({'|'.join(OF_NODES)}) {_NODE}")
_LITERAL = re.compile(rf'(!?){_NODE}(=("(?:[^"\\]|\\.)*"))?')
_DIVIDED = re.compile(rf"(quotient|quotient square|reaches) ([1-9]\d{{0,8}}) ([+-]) {_NODE}")
_GROUP = r"(?:\d{1,6}(?:,\d{1,6})*|\d{1,6}/[1-9]\d{0,8}-?|-)"
_RETRIEVAL = re.compile(
    rf"(latest|earliest) (future|past|none) {_NODE} ({_GROUP}(?:\|{_GROUP})*)( shifted (?:back|ahead))?"
)


def _number(text: str) -> int | None:
    found = re.fullmatch(_NODE, text)
    return None if found is None else int(found[1])


def _of_node(text: str) -> NodeClaim | None:
    found = _OF_NODE.fullmatch(text)
    return None if found is None else NodeClaim(found[1], int(found[2]))


def _divided(text: str) -> DividedClaim | None:
    found = _DIVIDED.fullmatch(text)
    if found is None:
        return None
    return DividedClaim(found[1], int(found[2]), 1 if found[3] == "+" else -1, int(found[4]))


def _bit(text: str) -> BitClaim | None:
    """Return what is read from left to right: labels are quoted, so that any sign may be in them."""
    alternatives: list[list[TruthOf]] = [[]]
    at = 0
    while True:
        literal = _LITERAL.match(text, at)
        if literal is None:
            return None
        try:
            label = None if literal[4] is None else str(json.loads(literal[4]))
        except ValueError:
            return None
        alternatives[-1].append(TruthOf(int(literal[2]), label, not literal[1]))
        at = literal.end()
        if at == len(text):
            return BitClaim(tuple(map(tuple, alternatives)))
        between = " | " if text.startswith(" | ", at) else " "
        if not text.startswith(between, at):
            return None
        alternatives += [[]] if between == " | " else []
        at += len(between)


def _retrieval(text: str) -> HeadClaim | None:
    found = _RETRIEVAL.fullmatch(text)
    if found is None:
        return None
    kind, mask, node, groups, shifted = found.groups()
    clusters, divided = [], []
    for group in groups.split("|"):
        numbers, by, per = group.partition("/")
        clusters.append(() if group == "-" else tuple(map(int, numbers.split(","))))
        divided += [(int(numbers), int(per.removesuffix("-")), per.endswith("-"))] if by else []
    shift = {None: 0, " shifted back": -1, " shifted ahead": 1}[shifted]
    return HeadClaim(kind, MASKS[mask], int(node), clusters=tuple(clusters), shift=shift, divided=tuple(divided))


def _equality(text: str) -> EqualityClaim | None:
    of, _, where = text.partition(" at ")
    found, head = re.fullmatch(rf"equal {_NODE} (\d{{1,6}})", of), head_claim(where)
    return None if found is None or head is None else EqualityClaim(int(found[1]), int(found[2]), head)


# ── whether claims say something of a program ───────────────────────────────────────────────────────────────
Nodes = Mapping[int, Node]
"""The nodes of a program by their numbers."""


def means(claim: SubspaceClaim, nodes: Nodes) -> bool:
    """Return whether the nodes that a claim is about are there, and of the right kind."""
    match claim:
        case GivenClaim():
            return True
        case BitClaim():
            literals = (literal for each in claim.alternatives for literal in each)
            return all(_kind(each.node, nodes) == ("bit" if each.label is None else "label") for each in literals)
        case DividedClaim() | NodeClaim() if claim.what != "found":
            return _kind(claim.node, nodes) == ("label" if claim.what == "label" else "number")
        case DividedClaim() | NodeClaim() | StepClaim():
            wanted = logic.Comparison if isinstance(claim, StepClaim) else logic.Retrieve
            return isinstance(nodes.get(claim.node), wanted)
        case EqualityClaim():
            return equality(nodes.get(claim.node), claim.conjunct) is not None and reads(claim.head, nodes)
    return (not isinstance(claim, MeanClaim) or reads(claim.head, nodes)) and means(claim.of, nodes)


def _kind(number: int, nodes: Nodes) -> str | None:
    return nodes[number].kind if number in nodes else None


def reads(head: HeadClaim, nodes: Nodes) -> bool:
    """Return whether the node that a head looks by is there, of the right class, with its conjuncts."""
    if head.number is not None:
        return _kind(head.number.node, nodes) == "number"
    wanted, node = _CLASSES.get(head.kind), nodes.get(head.node)
    if wanted is None or node is None:
        return wanted is None
    if isinstance(node, logic.Retrieve) and head.kind in _ENDING:
        return (node.choice, node.sight) == _ENDING[head.kind] and not any(map(about_query, logic.leaves(node.score)))
    if isinstance(node, logic.Retrieve):
        numbers = [number for cluster in head.clusters for number in cluster]
        return head.kind == node.choice and all(number < len(conjuncts(node)) for number in numbers)
    return isinstance(node, wanted)


_ENDING = {"since": ("latest", "<="), "until": ("earliest", ">=")}
_CLASSES: Mapping[str, type[Node]] = {
    "since": logic.Since,
    "until": logic.Until,
    "sign": logic.Comparison,
    "latest": logic.Retrieve,
    "earliest": logic.Retrieve,
}


def conjuncts(node: logic.Retrieve) -> tuple[logic.Score, ...]:
    """Return the parts of the conjunction that the condition is, those of conjunctions in it one by one."""
    return _flat(node.score)


def _flat(score: logic.Score) -> tuple[logic.Score, ...]:
    return tuple(part for each in score.parts for part in _flat(each)) if isinstance(score, logic.AllOf) else (score,)


def equality(node: Node | None, number: int) -> logic.Equal | None:
    """Return the conjunct of a `Retrieve` that has this number, an equality of two numbers; None if there is none."""
    parts = conjuncts(node) if isinstance(node, logic.Retrieve) else ()
    conjunct = parts[number] if number < len(parts) else None
    return conjunct if isinstance(conjunct, logic.Equal) and conjunct.key.kind == "number" else None


def about_query(leaf: logic.AtKey | logic.AtQuery | logic.Equal) -> bool:
    """Return whether a leaf is about the query: constants are the same at every position."""
    if isinstance(leaf, logic.AtKey):
        return False
    return not isinstance(leaf.bit if isinstance(leaf, logic.AtQuery) else leaf.query, logic.Always | logic.Text)
