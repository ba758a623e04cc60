"""What a graph of sequence operations is on a word, by what `tm2tfr.sources.sequence.graph` says of each operation.

A second answer to what formulas and programs evaluate themselves: the two agree if the graph means what they mean. It
shares nothing with the weights but the functions of values at one position.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from tm2tfr.base.errors import InputError
from tm2tfr.sources.sequence.functions import RELATIONS, NoValueError, applied, is_number, whole
from tm2tfr.sources.sequence.graph import (
    AfterLoop,
    Apply,
    Attend,
    Combine,
    Fixed,
    Item,
    Nearest,
    Operation,
    PassLoop,
    PassState,
    Position,
    Property,
    Reckoned,
    Selection,
    SequenceGraph,
    Token,
    Weighted,
    called,
    ordered,
    parents,
)

Items = tuple[Item, ...]
"""(n,): what an operation is at each position."""


def evaluate_graph(graph: SequenceGraph | Iterable[Operation], word: Iterable[Item]) -> Mapping[Operation, Items]:
    """Return all that a graph's outputs (or some operations) are made of: operation -> its value at each position.

    Raises:
        InputError: if the word is empty.
        NoValueError: if an operation has no value somewhere: a function that has none, a mean of what is not all numbers.
    """
    tokens = tuple(word)
    if not tokens:
        raise InputError("the word is empty: programs are defined on at least one token")
    wanted = [node for _, node in graph.outputs] if isinstance(graph, SequenceGraph) else list(graph)
    done: dict[Operation, Items] = {}
    order, looped = ordered(wanted), set[PassLoop]()
    for place, node in enumerate(order):
        if isinstance(node, AfterLoop) and node.loop not in looped:
            looped.add(node.loop)
            _repeat(node.loop, order[:place], done, tokens)
        _evaluate(node, done, tokens)
    return done


def _evaluate(node: Operation, done: dict[Operation, Items], tokens: Items) -> None:
    try:
        done[node] = tuple(_VALUES[type(node)](node, done, tokens, i) for i in range(len(tokens)))
    except NoValueError as why:
        raise NoValueError(f"{called(node)}: {why}") from why


def _repeat(loop: PassLoop, before: Sequence[Operation], done: dict[Operation, Items], tokens: Items) -> None:
    """Make the passes of a loop after the first, which has been made; `before`: what has been evaluated, in its order."""
    inside = set[Operation](loop.states)
    for node in before:
        if inside & set(parents(node)):
            inside.add(node)
    for number in range(1, loop.times or 1000):
        if loop.until is not None and all(done[loop.until]):
            return
        if number >= 999 and loop.times is None:
            raise NoValueError("the loop does not end")
        done.update({state: done[after] for state, after in zip(loop.states, loop.nexts, strict=True)})
        for node in before:
            if node in inside and node not in loop.states:
                _evaluate(node, done, tokens)


_Done = Mapping[Operation, Items]


def _selects(selector: Selection, done: _Done, query: int, key: int) -> bool:
    if isinstance(selector, Combine):
        chosen = (_selects(part, done, query, key) for part in selector.parts)
        return any(chosen) if selector.operator == "or" else all(chosen) == (selector.operator == "and")
    try:
        return bool(RELATIONS[selector.relation](done[selector.keys][key], done[selector.queries][query]))
    except TypeError as error:
        raise NoValueError(str(error)) from error


def _attend(node: Attend, done: _Done, tokens: Items, i: int) -> Item:
    chosen = [done[node.values][j] for j in range(len(tokens)) if _selects(node.selector, done, i, j)]
    if len(chosen) < 2:
        return chosen[0] if chosen else node.default
    if not all(map(is_number, chosen)):
        raise NoValueError("the mean of several values that are not all numbers")
    mean: Item = whole(sum((Fraction(value) for value in chosen), Fraction(0)) / len(chosen))  # type: ignore[arg-type]
    return mean


_IN_SIGHT: Mapping[str, Callable[[int, int], bool]] = {
    "<=": operator.le,
    "<": operator.lt,
    ">=": operator.ge,
    ">": operator.gt,
    "any": lambda key, query: True,
}


def _nearest(node: Nearest, done: _Done, tokens: Items, i: int) -> Item:
    """Walk through the keys from the one that would be chosen first."""
    keys = range(len(tokens))
    for j in reversed(keys) if node.choice == "latest" else keys:
        if _IN_SIGHT[node.sight](j, i) and _selects(node.selector, done, i, j):
            return done[node.values][j]
    return done[node.default][i]


def _reckoned(node: Reckoned, done: _Done, tokens: Items, i: int) -> Item:
    values = done[node.values]
    return sum(map(bool, values[: i + 1] if node.sight == "<=" else values[i:]))


def _weighted(node: Weighted, done: _Done, tokens: Items, i: int) -> Item:
    total = node.constant
    for factor, term in node.terms:
        value = done[term][i]
        if not isinstance(value, int):
            raise NoValueError(f"{called(term)} is not a whole number")
        total += factor * value
    return total


def _property(node: Property, done: _Done, tokens: Items, i: int) -> Item:
    number = done[node.of][i]
    if not isinstance(number, int) or number < 0:
        raise NoValueError(f"{called(node.of)} is not a whole number from 0 on")
    if node.predicate == "mod":
        return number % node.modulus == node.remainder
    if node.predicate == "prime":
        return number > 1 and not any(number % d == 0 for d in range(2, math.isqrt(number) + 1))
    if node.predicate == "square":
        return math.isqrt(number) ** 2 == number
    return number > 0 and number & (number - 1) == 0


def _apply(node: Apply, done: _Done, tokens: Items, i: int) -> Item:
    return applied(node.operator, tuple(done[argument][i] for argument in node.arguments), dict(node.entries))


_VALUES: Mapping[type[Operation], Callable[[Any, _Done, Items, int], Item]] = {
    Token: lambda node, done, tokens, i: tokens[i],
    Position: lambda node, done, tokens, i: i,
    Fixed: lambda node, done, tokens, i: node.value,
    Apply: _apply,
    Attend: _attend,
    Nearest: _nearest,
    Reckoned: _reckoned,
    Weighted: _weighted,
    Property: _property,
    PassState: lambda node, done, tokens, i: done[node.initial][i],
    AfterLoop: lambda node, done, tokens, i: done[node.value][i],
}
"""What an operation of each class is at position i, given what those are that it is made of."""
