"""The ground truth: every node of a formula or a program at every position of a word, by the printed definitions.

Definitions 10, 14 and 19 of Yang et al. (2025), ▶ and ◀ of B-RASP and the equality of numbers of S-RASP, quantifier by
quantifier over the positions 1, …, n of the word; whatever the quantifiers cost, which may be n³. It knows nothing of
transformers, nor of the graph of sequence operations by which formulas are lowered to them.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tm2tfr.base.errors import InputError
from tm2tfr.sources.logic import nodes as tl
from tm2tfr.sources.logic.library import checked
from tm2tfr.sources.logic.program import LogicProgram
from tm2tfr.sources.logic.theta import rule

LogicValue = bool | str | int
"""The value of a node at a position: a bit, a label or a number."""


def evaluate(
    program: LogicProgram | tl.Node | Iterable[tl.Node], word: Iterable[str]
) -> Mapping[tl.Node, tuple[LogicValue, ...]]:
    """Return all that a program's chosen definition (or some nodes) is made of: node -> its value at 1, …, n: (n,).

    Raises:
        InputError: if the word is empty, or has a token that is not in the program's alphabet.
    """
    tokens = tuple(word)
    if isinstance(program, LogicProgram):
        nodes, tokens = program.nodes, checked(program, tokens)
    else:
        nodes = tl.needed([program] if isinstance(program, tl.Node) else list(program))
    if not tokens:
        raise InputError("the word is empty: formulas and programs are defined on at least one token")
    at = _Word(tokens)
    for node in nodes:
        value = _VALUES[type(node)]
        at.rows[node] = (None, *(value(node, at, i) for i in at.positions))
    return {node: at.rows[node][1:] for node in nodes}


class _Word:
    """A word, and what nodes are on it as far as that is known: ``at(node, i)``."""

    def __init__(self, tokens: tuple[str, ...]) -> None:
        self.tokens, self.n = tokens, len(tokens)
        self.positions = range(1, self.n + 1)
        self.rows: dict[tl.Node, tuple[Any, ...]] = {}

    def __call__(self, node: tl.Node, i: int) -> Any:
        return self.rows[node][i]


def here(node: tl.Node, at: Callable[[tl.Node, int], LogicValue | None], i: int) -> LogicValue | None:
    """Return a node of `HERE` at position i by its definition, given those that it is made of."""
    return HERE[type(node)](node, at, i)


def _choose(node: tl.Choose, at: _Word, i: int) -> str:
    chosen: str = at(node.then, i) if at(node.condition, i) else at(node.other, i)
    return chosen


def _previous(node: tl.Previous, at: _Word, i: int) -> bool:
    """Definition 10; false at 1."""
    return i > 1 and bool(at(node.of, i - 1))


def _next(node: tl.Next, at: _Word, i: int) -> bool:
    """Definition 10; false at n."""
    return i < at.n and bool(at(node.of, i + 1))


def _since(node: tl.Since, at: _Word, i: int) -> bool:
    """Definition 14: there is j <= i with φ2, and for all k with j <= k <= i we have φ1."""
    return any(at(node.right, j) and all(at(node.left, k) for k in range(j, i + 1)) for j in range(1, i + 1))


def _until(node: tl.Until, at: _Word, i: int) -> bool:
    """Definition 14: there is j >= i with φ2, and for all k with i <= k <= j we have φ1."""
    return any(at(node.right, j) and all(at(node.left, k) for k in range(i, j + 1)) for j in range(i, at.n + 1))


def _count_left(node: tl.CountLeft, at: _Word, i: int) -> int:
    """Definition 19: |{j <= i | φ at j}|."""
    return len([j for j in range(1, i + 1) if at(node.of, j)])


def _count_right(node: tl.CountRight, at: _Word, i: int) -> int:
    """Definition 19: |{j >= i | φ at j}|."""
    return len([j for j in range(i, at.n + 1) if at(node.of, j)])


def _sum(node: tl.Sum, at: _Word, i: int) -> int:
    return node.constant + sum(factor * int(at(term, i)) for factor, term in node.terms)


_RELATIONS: Mapping[str, Callable[[int, int], bool]] = {
    "<=": operator.le,
    "<": operator.lt,
    ">=": operator.ge,
    ">": operator.gt,
    "==": operator.eq,
    "!=": operator.ne,
}


def satisfied(node: tl.Predicate, t: int, n: int) -> bool:
    """Return whether a predicate is true of a number in a word of n tokens: Definition 19, with 0 as well."""
    if node.predicate == "rule":
        return bool(rule(node.rule).at(t, n))
    if node.predicate == "mod":
        return bool(t % node.modulus == node.remainder)
    if node.predicate == "prime":
        return t >= 2 and all(t % d != 0 for d in range(2, t))
    if node.predicate == "square":
        return any(d * d == t for d in range(t + 1))
    return any(2**k == t for k in range(max(t, 0).bit_length()))


_IN_SIGHT: Mapping[str, Callable[[int, int], bool]] = {
    "<=": lambda j, i: j <= i,
    "<": lambda j, i: j < i,
    ">=": lambda j, i: j >= i,
    ">": lambda j, i: j > i,
    "any": lambda j, i: True,
}
"""M(i, j)."""


def _retrieve(node: tl.Retrieve, at: _Word, i: int) -> Any:
    """``▶_j [M(i,j), S(i,j)] V(j) : D(i)``: V at the largest j with M and S, D(i) if there is none; ◀: at the smallest."""
    seen = _IN_SIGHT[node.sight]
    selected = [j for j in at.positions if seen(j, i) and _selects(node.score, at, i, j)]
    if not selected:
        return at(node.default, i)
    return at(node.values, max(selected) if node.choice == "latest" else min(selected))


def _selects(score: tl.Score, at: _Word, i: int, j: int) -> bool:
    """Return S(i, j)."""
    if isinstance(score, tl.AtKey):
        return bool(at(score.bit, j))
    if isinstance(score, tl.AtQuery):
        return bool(at(score.bit, i))
    if isinstance(score, tl.Equal):
        return bool(at(score.key, j) == at(score.query, i))
    if isinstance(score, tl.AllOf):
        return all(_selects(part, at, i, j) for part in score.parts)
    if isinstance(score, tl.AnyOf):
        return any(_selects(part, at, i, j) for part in score.parts)
    if isinstance(score, tl.NotOf):
        return not _selects(score.part, at, i, j)
    raise TypeError(f"{type(score).__name__} is not a score")


HERE: Mapping[type[tl.Node], Callable[[Any, Any, int], LogicValue]] = {
    tl.Text: lambda node, at, i: node.value,
    tl.Choose: _choose,
    tl.Always: lambda node, at, i: node.value,
    tl.OneOf: lambda node, at, i: at(node.of, i) in node.values,
    tl.Same: lambda node, at, i: at(node.left, i) == at(node.right, i),
    tl.Not: lambda node, at, i: not at(node.of, i),
    tl.And: lambda node, at, i: all(at(part, i) for part in node.parts),
    tl.Or: lambda node, at, i: any(at(part, i) for part in node.parts),
    tl.Comparison: lambda node, at, i: _RELATIONS[node.relation](at(node.left, i), at(node.right, i)),
    tl.Place: lambda node, at, i: i,
    tl.Sum: _sum,
}
"""The value of a node of each class at position i, from others at i: ``at(node, i)``."""
_VALUES: Mapping[type[tl.Node], Callable[[Any, _Word, int], LogicValue]] = {
    **HERE,
    tl.Input: lambda node, at, i: at.tokens[i - 1],
    tl.Predicate: lambda node, at, i: satisfied(node, at(node.of, i), at.n),
    tl.Previous: _previous,
    tl.Next: _next,
    tl.Since: _since,
    tl.Until: _until,
    tl.CountLeft: _count_left,
    tl.CountRight: _count_right,
    tl.Retrieve: _retrieve,
}
"""The value of a node of each class at position i, from values on the word."""
