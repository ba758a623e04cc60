"""Where each head must look, from what it is claimed to compute.

The head of a `Retrieve` looks at the latest, or the earliest, position in sight of the largest score. The conjuncts of
its condition S(i, j) are the parts of the conjunction that it is, numbered from 0; clusters of them add up to the score
of a key position j for a query position i:

- a cluster that is one equality of two numbers counts minus the square of their difference, at j and i, wherever these are;
- where that is done by quotient and remainder, it counts minus the square of the difference of the quotients, and 1 more
  where the remainders are equal; where numbers may be negative, for max(0, x) and for max(0, -x);
- any other counts 1 where j is inside the word and all its conjuncts hold at (i, j), and i is inside the word or none of
  them is about it, but for constants; otherwise 0;
- an empty one counts 1 where j is inside the word, otherwise 0.

Of a shifted head, for strict sight, the key position j stands for the position before or after it, in all of this and in
what it carries; at the end of the sequence it stands for itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial

from tm2tfr.sources.logic import nodes as tl
from tm2tfr.sources.logic.evaluate import LogicValue
from tm2tfr.sources.logic.specification.claims import DividedClaim, HeadClaim, NodeClaim


# ── What the nodes of a program are at every position of the weights: those of the word, and the ends around it.
#
# Position 0 is BOS, positions 1 to n are those of the word, and position n+1 is EOS, if there is one. At the ends a bit
# is false and a label is nothing. A number has its natural value there: the position is 0 or n+1, a count is that of the
# positions of the word in sight, so that #← is 0 at BOS and the total at EOS, and a bit counts as 0.
@dataclass(frozen=True)
class WordValues:
    """The values of nodes at every position.

    Args:
        word: its tokens.
        nodes: the values at positions 1 to n, as the printed definitions have them.
        eos: whether there is an EOS.
    """

    word: tuple[str, ...]
    nodes: Mapping[tl.Node, tuple[LogicValue, ...]] = field(repr=False)
    eos: bool

    @property
    def tokens(self) -> tuple[str, ...]:
        """The tokens fed."""
        return ("BOS", *self.word, *(["EOS"] if self.eos else []))

    @cached_property
    def by_number(self) -> Mapping[int, tl.Node]:
        """The nodes by their numbers."""
        return {node.number: node for node in self.nodes}

    @property
    def positions(self) -> int:
        """The number of positions, with the ends."""
        return len(self.word) + 1 + self.eos

    def inside(self, p: int) -> bool:
        """Return whether position `p` is one of the word."""
        return 1 <= p <= len(self.word)

    def bit(self, node: tl.Node, p: int) -> bool:
        """Return whether a bit is true at position `p`."""
        return self.inside(p) and bool(self.nodes[node][p - 1])

    def label(self, node: tl.Node, p: int) -> str | None:
        """Return the label at position `p`; None outside the word."""
        return str(self.nodes[node][p - 1]) if self.inside(p) else None

    def number(self, node: tl.Node, p: int) -> int:
        """Return the number at position `p`, inside the word or not; a bit counts as 1 or 0."""
        if self.inside(p):
            return int(self.nodes[node][p - 1])
        if isinstance(node, tl.Sum):
            return node.constant + sum(factor * self.number(term, p) for factor, term in node.terms)
        if isinstance(node, tl.Place):
            return p
        seen = self.word if isinstance(node, tl.CountLeft) and p > 0 else ()
        seen = self.word if isinstance(node, tl.CountRight) and p == 0 else seen
        return (
            sum(self.bit(node.of, at) for at in range(1, len(seen) + 1))
            if isinstance(node, tl.CountLeft | tl.CountRight)
            else 0
        )


def known(head: HeadClaim, values: WordValues) -> bool:
    """Return whether a claim says something of this program: its node is there, of the right class, with its conjuncts."""
    if head.number is not None:
        found = values.by_number.get(head.number.node)
        return found is not None and found.kind == "number"
    wanted = _CLASSES.get(head.kind)
    node = values.by_number.get(head.node)
    if wanted is None or node is None:
        return wanted is None
    if isinstance(node, tl.Retrieve) and head.kind in _ENDING:
        return (node.choice, node.sight) == _ENDING[head.kind] and not any(map(about_query, tl.leaves(node.score)))
    if isinstance(node, tl.Retrieve):
        numbers = [number for cluster in head.clusters for number in cluster]
        return head.kind == node.choice and all(number < len(conjuncts(node)) for number in numbers)
    return isinstance(node, wanted)


_ENDING = {"since": ("latest", "<="), "until": ("earliest", ">=")}
_CLASSES: dict[str, type[tl.Node]] = {
    "since": tl.Since,
    "until": tl.Until,
    "sign": tl.Comparison,
    "latest": tl.Retrieve,
    "earliest": tl.Retrieve,
}


def looked(head: HeadClaim, values: WordValues, i: int) -> Sequence[int]:
    """Return the positions that a head with a claim that is `known` attends to from position `i`, in increasing order."""
    last = values.positions - 1
    sight = {"future": range(i + 1), "past": range(i, last + 1), "none": range(last + 1)}[head.mask]
    match head.kind:
        case "all":
            return sight
        case "lookup" if head.number is not None:
            due = _due(head.number, values.number(values.by_number[head.number.node], i))
            apart = [abs(j - due) for j in sight]
            return [j for j, off in zip(sight, apart, strict=True) if off == min(apart)]
        case "back":
            found = max(i - 1, 0)
        case "ahead":
            found = min(i + 1, last)
        case "parity":
            found = max((j for j in sight if j % 2 == head.least), default=i)
        case "since" | "until":
            found = _marked(head, values, i)
        case "sign":
            found = 0 if i == 0 or reaches(values, head.node, i, head.least) else 1
        case _:
            found = _chosen(head, values, i, sight)
    return (found,)


def _due(number: NodeClaim | DividedClaim, x: int) -> int:
    """Return which position is looked up for the number x."""
    if isinstance(number, DividedClaim):
        return max(0, number.sign * x) // number.per
    return signed(number.what, x)


def signed(what: str, x: int) -> int:
    """Return ``number``, ``positive`` or ``negative`` of x."""
    return {"number": x, "positive": max(0, x), "negative": max(0, -x)}[what]


def _marked(head: HeadClaim, values: WordValues, i: int) -> int:
    """Return the latest position up to `i`, or the earliest from `i` on, where a step of ``since`` or ``until`` ends."""
    node = values.by_number[head.node]
    j, step = i, -1 if head.kind == "since" else 1
    while values.inside(j) and not _ends(node, values, j):
        j += step
    return min(j, values.positions - 1)


def _ends(node: tl.Node, values: WordValues, j: int) -> bool:
    if isinstance(node, tl.Since | tl.Until):
        return not values.bit(node.left, j) or values.bit(node.right, j)
    if not isinstance(node, tl.Retrieve):
        raise TypeError(f"{node!r} is neither since nor until, and retrieves nothing")
    return _holds(node.score, values, j, j)


def reaches(values: WordValues, number: int, i: int, least: int) -> bool:
    """Return whether the numbers of a comparison differ by `least` or more at position `i`, inside the word or not."""
    node = values.by_number[number]
    if not isinstance(node, tl.Comparison):
        raise TypeError(f"{node!r} is not a comparison")
    return values.number(node.left, i) - values.number(node.right, i) >= least


# ── retrieval ───────────────────────────────────────────────────────────────────────────────────────────────
def conjuncts(node: tl.Retrieve) -> tuple[tl.Score, ...]:
    """Return the parts of the conjunction that the condition is, those of conjunctions in it one by one."""
    return _flat(node.score)


def _flat(score: tl.Score) -> tuple[tl.Score, ...]:
    return tuple(part for each in score.parts for part in _flat(each)) if isinstance(score, tl.AllOf) else (score,)


def selects(node: tl.Retrieve, values: WordValues, i: int) -> bool:
    """Return whether a position in sight of `i`, which is inside the word, is selected."""
    n = len(values.word)
    sights = {"<=": (1, i), "<": (1, i - 1), ">=": (i, n), ">": (i + 1, n), "any": (1, n)}
    first, last = sights[node.sight]
    return any(_holds(node.score, values, i, j) for j in range(first, last + 1))


def equality(node: tl.Node | None, number: int) -> tl.Equal | None:
    """Return the conjunct of a `Retrieve` that has this number, an equality of two numbers; None if there is none."""
    parts = conjuncts(node) if isinstance(node, tl.Retrieve) else ()
    found = parts[number] if number < len(parts) else None
    return found if isinstance(found, tl.Equal) and found.key.kind == "number" else None


def stands_for(head: HeadClaim, values: WordValues, j: int) -> int:
    """Return the position whose values a head sees at position `j`."""
    return min(max(j + head.shift, 0), values.positions - 1)


def _chosen(head: HeadClaim, values: WordValues, i: int, sight: range) -> int:
    node = values.by_number[head.node]
    if not isinstance(node, tl.Retrieve):
        raise TypeError(f"{node!r} retrieves nothing")
    parts = conjuncts(node)
    groups = [tuple(parts[number] for number in cluster) for cluster in head.clusters]
    score = partial(_score, groups, [_rule(head, cluster) for cluster in head.clusters], values, i)
    scores = [score(stands_for(head, values, j)) for j in sight]
    best = [j for j, each in zip(sight, scores, strict=True) if each == max(scores)]
    return best[-1] if head.kind == "latest" else best[0]


_Rule = tuple[int, bool] | None
"""What a cluster of one equality divides by, and whether with max(0, -x) as well; None: the numbers are compared."""


def _rule(head: HeadClaim, cluster: tuple[int, ...]) -> _Rule:
    found = ((per, negative) for number, per, negative in head.divided if cluster == (number,))
    return next(found, None)


def _score(groups: Sequence[tuple[tl.Score, ...]], rules: Sequence[_Rule], values: WordValues, i: int, j: int) -> int:
    return sum(_counts(group, rule, values, i, j) for group, rule in zip(groups, rules, strict=True))


def _counts(group: tuple[tl.Score, ...], rule: _Rule, values: WordValues, i: int, j: int) -> int:
    if len(group) == 1 and isinstance(group[0], tl.Equal) and group[0].key.kind == "number":
        return _closeness(rule, values.number(group[0].key, j), values.number(group[0].query, i))
    if not values.inside(j) or (
        not values.inside(i) and any(about_query(leaf) for part in group for leaf in tl.leaves(part))
    ):
        return 0
    return int(all(_holds(part, values, i if values.inside(i) else j, j) for part in group))  # if it is not about i


def _closeness(rule: _Rule, key: int, query: int) -> int:
    """Return minus the square of a difference; or of that of the quotients, and 1 more where the remainders are equal."""
    if rule is None:
        return -((key - query) ** 2)
    per, negative = rule
    score = 0
    for sign in (1, -1) if negative else (1,):
        (p, r), (q, s) = divmod(max(0, sign * key), per), divmod(max(0, sign * query), per)
        score += int(r == s) - (p - q) ** 2
    return score


def about_query(leaf: tl.AtKey | tl.AtQuery | tl.Equal) -> bool:
    """Return whether a leaf is about the query: constants are the same at every position."""
    if isinstance(leaf, tl.AtKey):
        return False
    return not isinstance(leaf.bit if isinstance(leaf, tl.AtQuery) else leaf.query, tl.Always | tl.Text)


def _holds(score: tl.Score, values: WordValues, i: int, j: int) -> bool:
    """Return whether a condition holds at (i, j)."""
    match score:
        case tl.AtKey():
            return values.bit(score.bit, j)
        case tl.AtQuery():
            return values.bit(score.bit, i)
        case tl.Equal():
            at: Callable[[tl.Node, int], str | int | None]
            at = values.number if score.key.kind == "number" else values.label
            return at(score.key, j) == at(score.query, i)
        case tl.AllOf():
            return all(_holds(part, values, i, j) for part in score.parts)
        case tl.AnyOf():
            return any(_holds(part, values, i, j) for part in score.parts)
        case tl.NotOf():
            return not _holds(score.part, values, i, j)
