"""The functions of values at the same position, by name: those of RASP, some of which formulas use too.

Written independently of the interpreter, which is the reference, so that an error in either shows.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from math import gcd

from tm2tfr.sources.sequence.graph import (
    AfterLoop,
    Apply,
    Attend,
    Fixed,
    Item,
    Operation,
    PassState,
    Position,
    loops_of,
    ordered,
)

MOST_BITS = 1 << 16
"""The most binary digits of a number; a larger one is refused."""
MOST_LETTERS = 1 << 20
"""The most characters of a text; a longer one is refused."""


class NoValueError(ArithmeticError):
    """There is no value: a division by 0, a missing key, values of types that do not go together."""


def applied(name: str, arguments: tuple[Item, ...], entries: Mapping[Item, Item]) -> Item:
    """Return the value of the function `name`.

    Raises:
        NoValueError: if it has none there.
    """
    if name == "tuple":
        return arguments
    if name in ("in", "table", "group"):
        return _looked_up(name, arguments[0] if len(arguments) == 1 else arguments, entries)
    try:
        return whole(_FUNCTIONS[name](*arguments))
    except (TypeError, ValueError, ZeroDivisionError, OverflowError) as error:
        raise NoValueError(str(error)) from error


class _Hashed(Fraction):
    """A fraction that computes its hash once: tables of values are looked up in all the time."""

    __slots__ = ("_known",)
    _known: int

    def __hash__(self) -> int:  # type: ignore[override]
        try:
            return self._known
        except AttributeError:
            self._known = super().__hash__()
            return self._known

    def __eq__(self, other: object) -> bool:
        if type(other) is _Hashed:
            return self.numerator == other.numerator and self.denominator == other.denominator
        return super().__eq__(other)


@lru_cache(maxsize=1 << 16)
def _hashed(above: int, below: int) -> _Hashed:
    """Return the fraction above/below, as a rule the same object each time, so that it is found without comparing."""
    return _Hashed(above, below)


def whole(value: Item) -> Item:
    """Return a number as an int if it is whole."""
    if not isinstance(value, Fraction):
        return value
    return value.numerator if value.denominator == 1 else _hashed(value.numerator, value.denominator)


def ratio(above: int, below: int) -> Item:
    """Return ``above / below`` as `whole` has it; `below` is positive."""
    common = gcd(above, below)
    return above // common if below == common else _hashed(above // common, below // common)


def is_number(value: Item) -> bool:
    """Return whether it is a number, and no truth value."""
    return isinstance(value, int | Fraction) and not isinstance(value, bool)


def _looked_up(name: str, key: Item, entries: Mapping[Item, Item]) -> Item:
    if name == "in":
        return key in entries
    if key not in entries:
        raise NoValueError(f"there is no key {key!r}")
    return entries[key]


def _rational(value: Item) -> Fraction:
    if isinstance(value, str | tuple):
        raise TypeError("text is not a number")
    return Fraction(value)


def _divided(left: Item, right: Item) -> Fraction:
    return _rational(left) / _rational(right)


def _floor(left: Item, right: Item) -> Item:
    above, below = _rational(left), _rational(right)
    return (above.numerator * below.denominator) // (above.denominator * below.numerator)


def _power(base: Item, exponent: Item) -> Item:
    below, power = _rational(base), _rational(exponent)
    bits = max(abs(below.numerator), below.denominator).bit_length()
    if bits > 1 and bits * abs(power) > MOST_BITS:
        raise ValueError("a power that is too large")
    if power.denominator == 1:
        return below ** int(power)
    root = Fraction(*(_root(part, power.denominator) for part in (below.numerator, below.denominator)))
    return root**power.numerator


def _root(number: int, degree: int) -> int:
    """Return the root of a number, which is whole (Newton's method from above)."""
    if number in (0, 1):
        return number
    if number < 0 or degree >= number.bit_length():
        raise ValueError("a root that is not rational")
    root = 1 << -(-number.bit_length() // degree)
    while (lower := ((degree - 1) * root + number // root ** (degree - 1)) // degree) < root:
        root = lower
    if root**degree != number:
        raise ValueError("a root that is not rational")
    return root


def _remainder(left: Item, right: Item) -> Item:
    return _rational(left) % _rational(right)


def _difference(left: Item, right: Item) -> Item:
    return _rational(left) - _rational(right)


def _product(left: Item, right: Item) -> Item:
    text, times = (left, right) if isinstance(left, str) else (right, left)
    if not isinstance(text, str):
        found = _rational(left) * _rational(right)
        if found.numerator.bit_length() + found.denominator.bit_length() > MOST_BITS:
            raise ValueError("a number that is too large")
        return found
    if not isinstance(times, int):
        raise TypeError("text is repeated a whole number of times")
    if len(text) * times > MOST_LETTERS:
        raise ValueError("a text that is too long")
    return text * times


def _sum(left: Item, right: Item) -> Item:
    if isinstance(left, str) and isinstance(right, str):
        if len(left) + len(right) > MOST_LETTERS:
            raise ValueError("a text that is too long")
        return left + right
    return _rational(left) + _rational(right)


def _ordered(function: Callable[..., bool]) -> Callable[[Item, Item], bool]:
    def compared(left: Item, right: Item) -> bool:
        if isinstance(left, str) != isinstance(right, str):
            raise TypeError("text and a number have no order")
        return function(left, right)

    return compared


def _rounded(value: Item) -> int:
    """Return the nearest whole number; of two, the even one."""
    below, rest = divmod(_rational(value), 1)
    up = rest > Fraction(1, 2) or (rest == Fraction(1, 2) and below % 2 == 1)
    return int(below) + up


RELATIONS: Mapping[str, Callable[[Item, Item], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": _ordered(operator.lt),
    "<=": _ordered(operator.le),
    ">": _ordered(operator.gt),
    ">=": _ordered(operator.ge),
}
"""Relations of a key and a query, or of two values at one position."""

_FUNCTIONS: Mapping[str, Callable[..., Item]] = {
    **RELATIONS,
    "+": _sum,
    "-": _difference,
    "*": _product,
    "/": _divided,
    "//": _floor,
    "^": _power,
    "%": _remainder,
    "and": lambda *parts: all(parts),
    "or": lambda *parts: any(parts),
    "not": operator.not_,
    "neg": lambda value: -_rational(value),
    "pos": lambda value: +_rational(value),
    "round": _rounded,
    "indicator": lambda value: 1 if value else 0,
    "if": lambda then, condition, other: then if condition else other,
    "str": str,
    "int": lambda value: int(value) if isinstance(value, str | bool) else int(_rational(value)),
    "float": Fraction,
    "bool": bool,
}


# ── functions of the values at one position, as functions of what they are rooted in: tokens, positions and attention
Tuple = tuple[Item, ...]
"""A value of each of several nodes."""


class Nothing:
    """See `NOTHING`."""

    def __repr__(self) -> str:
        return "NOTHING"


NOTHING = Nothing()
"""In place of a value where a function has none."""


def roots_of(nodes: Iterable[Operation]) -> tuple[Operation, ...]:
    """Return the tokens, positions and attentions that the values of `nodes` at a position are functions of, in a fixed
    order.
    """
    found: dict[Operation, None] = {}
    seen: set[Operation] = set()
    waiting = list(nodes)[::-1]
    while waiting:
        node = waiting.pop()
        if node in seen:
            continue
        seen.add(node)
        if isinstance(node, Apply):
            waiting.extend(reversed(node.arguments))
        elif not isinstance(node, Fixed):
            found[node] = None
    return tuple(sorted(found, key=lambda node: (len(node.key), node.key)))


def postorder(node: Operation, stops: Collection[Operation]) -> list[Operation]:
    """Return the nodes between `node` and its roots or `stops`, these too, each after its arguments."""
    order: dict[Operation, None] = {}
    waiting = [(node, False)]
    while waiting:
        here, done = waiting.pop()
        if here in order:
            continue
        if done or not isinstance(here, Apply) or here in stops:
            order[here] = None
        else:
            waiting.append((here, True))
            waiting.extend((argument, False) for argument in reversed(here.arguments))
    return list(order)


def kinds(node: Operation, known: dict[Operation, frozenset[str]]) -> frozenset[str]:
    """Return what values of `node` may be of: ``bool``, ``number``, ``text``; as their types say, whatever they are.

    Args:
        known: what is known already; added to.
    """
    if node not in known:
        for each in ordered([node], known):
            known[each] = _kinds(each, known)
    return known[node]


def kinds_of_loops(order: Sequence[Operation]) -> dict[Operation, frozenset[str]]:
    """Return the `kinds` of nodes in an order of evaluation, where states have those of what comes back.

    Nothing is returned where there are no loops.
    """
    loops, known = loops_of(order), dict[Operation, frozenset[str]]()
    handed: dict[Operation, Operation] = {
        state: after for loop in loops for state, after in zip(loop.states, loop.nexts, strict=True)
    }
    before: dict[Operation, frozenset[str]] | None = None
    while handed and known != before:
        before = dict(known)
        for node in order:
            known[node] = _kinds(node, known) | before.get(handed.get(node, node), frozenset())
    return known


def _kinds(node: Operation, known: Mapping[Operation, frozenset[str]]) -> frozenset[str]:
    if isinstance(node, Apply):
        return _kinds_of_function(node, known)
    if isinstance(node, Attend):
        return known[node.values] | {_kind(node.default)}
    if isinstance(node, Fixed):
        return frozenset([_kind(node.value)])
    if isinstance(node, PassState | AfterLoop):
        return known[node.initial if isinstance(node, PassState) else node.value]
    return frozenset(["number" if isinstance(node, Position) else "text"])


def _kinds_of_function(node: Apply, known: Mapping[Operation, frozenset[str]]) -> frozenset[str]:
    if node.operator == "if":
        then, _, other = node.arguments
        return known[then] | known[other]
    if node.operator in ("table", "group"):
        return frozenset(_kind(value) for _, value in node.entries)
    if node.operator == "+":
        return frozenset[str]().union(*(known[argument] for argument in node.arguments)) - {"bool"} or frozenset(["number"])
    if node.operator == "*" and any("text" in known[argument] for argument in node.arguments):  # text * 2 is a text
        numbers = all(known[argument] != {"text"} for argument in node.arguments)
        return frozenset(["text", "number"] if numbers else ["text"])
    return frozenset([_RESULTS.get(node.operator, "number")])


_RESULTS = {
    **dict.fromkeys(("==", "!=", "<", "<=", ">", ">=", "and", "or", "not", "in", "bool"), "bool"),
    "str": "text",
    "tuple": "tuple",
}


def _kind(value: Item) -> str:
    return "bool" if isinstance(value, bool) else "text" if isinstance(value, str) else "number"


def mixed(node: Operation, known: dict[Operation, frozenset[str]]) -> bool:
    """Return whether `node` can be truth values and numbers: then truth values are the numbers 0 and 1."""
    return {"bool", "number"} <= kinds(node, known)
