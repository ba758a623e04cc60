"""The operators of RASP on values: text, truth values, whole numbers, and rationals in the place of floats.

As in Python, on which the authors' interpreter stands: a truth value counts as 0 or 1 in arithmetic, ``==`` between values
of different kinds is false and ``<`` between text and number is refused, ``/`` always gives a float, `round` takes halves
to the even neighbour, and ``not``, ``and``, ``or``, ``if`` and ``indicator`` take the empty text and 0 as false. Unlike it:
floats are exact (``0.1 + 0.2 == 0.3``), a power that is not rational is refused, and ``%`` does not format text. It has no
``//``, which is Python's: the largest whole number that is not larger than the quotient.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction

from tm2tfr.sources.rasp.program import digits, shown_atom
from tm2tfr.sources.rasp.sops import Aggregate, Atom, Constant, Conversion, Elementwise, Looped, SOp, State, Tokens

_Number = int | Fraction
"""A value that is not text; a truth value is an int."""
MOST_BITS = 1 << 16
"""Of a number; a power tower would fill the memory."""
MOST_LETTERS = 1 << 20
"""Of a text."""
IRRATIONAL = "is irrational, and values are exact"
"""How the reason ends for which a power has no value, in place of a float."""


class ValueRefused(Exception):  # noqa: N818  (it is caught, and its text becomes part of an error with a place)
    """An operator cannot be applied to these values; its ``str`` says why."""


def shown(value: Atom) -> str:
    """Return a value as RASP text writes it: ``"a"``, ``True``, ``3``, ``0.5``, and ``1/3`` where no decimal is exact."""
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, bool | int):
        return str(value) if isinstance(value, bool) else digits(value)
    if value.denominator == 1:
        return f"{digits(value.numerator)}.0"
    twos, rest = 0, value.denominator
    while rest % 10 in (0, 2, 4, 5, 6, 8) and rest > 1 and twos < 60:
        rest //= math.gcd(rest, 10)
        twos += 1
    if rest != 1:
        return shown_atom(value)
    decimal = digits(abs(value.numerator) * 10**twos // value.denominator).rjust(twos + 1, "0")
    return f"{'-' if value < 0 else ''}{decimal[:-twos]}.{decimal[-twos:]}"


def kind(value: Atom) -> str:
    """Return what kind of value it is: text, truth value, whole number or float."""
    if isinstance(value, str):
        return "text"
    if isinstance(value, bool):
        return "truth value"
    return "whole number" if isinstance(value, int) else "float"


def _refused(word: str, *values: Atom) -> ValueRefused:
    return ValueRefused(f"{word!r} cannot be applied to {' and '.join(f'the {kind(v)} {shown(v)}' for v in values)}")


def _two(sign: str, a: Atom, b: Atom) -> tuple[_Number, _Number]:
    """Return two numbers; raise `ValueRefused` if one of them is text."""
    if isinstance(a, str) or isinstance(b, str):
        raise _refused(sign, a, b)
    return a, b


def _add(a: Atom, b: Atom) -> Atom:
    if isinstance(a, str) and isinstance(b, str):
        if len(a) + len(b) > MOST_LETTERS:
            raise ValueRefused(f"the text has more than {MOST_LETTERS:,} characters")
        return a + b
    left, right = _two("+", a, b)
    return left + right


def _subtract(a: Atom, b: Atom) -> Atom:
    left, right = _two("-", a, b)
    return left - right


def _multiply(a: Atom, b: Atom) -> Atom:
    text, count = (a, b) if isinstance(a, str) else (b, a)
    if isinstance(text, str):
        if not isinstance(count, int):
            raise _refused("*", a, b)
        if len(text) * max(0, count) > MOST_LETTERS:
            raise ValueRefused(f"the text has more than {MOST_LETTERS:,} characters")
        return text * count
    left, right = _two("*", a, b)
    return _bounded(left * right)


def _divide(a: Atom, b: Atom) -> Atom:
    left, right = _two("/", a, b)
    if right == 0:
        raise ValueRefused("division by zero")
    return Fraction(left) / Fraction(right)


def _floor(a: Atom, b: Atom) -> Atom:
    left, right = _two("//", a, b)
    if right == 0:
        raise ValueRefused("division by zero")
    whole = left // right
    return whole if isinstance(a, int) and isinstance(b, int) else Fraction(whole)


def _modulo(a: Atom, b: Atom) -> Atom:
    left, right = _two("%", a, b)
    if right == 0:
        raise ValueRefused("remainder of a division by zero")
    rest = left % right
    return int(rest) if isinstance(rest, bool) else rest


def _bounded(number: Atom) -> Atom:
    if not isinstance(number, str) and number.numerator.bit_length() + number.denominator.bit_length() > MOST_BITS:
        raise ValueRefused(f"the number has more than {MOST_BITS:,} binary digits")
    return number


def _power(a: Atom, b: Atom) -> Atom:
    base, exact = map(Fraction, _two("^", a, b))
    if base == 0 and exact < 0:
        raise ValueRefused("division by zero: a power of 0 with a negative exponent")
    size = max(abs(base.numerator), base.denominator).bit_length()
    if size > 1 and size * abs(exact) > MOST_BITS:
        raise ValueRefused(f"the number has more than {MOST_BITS:,} binary digits")
    if exact.denominator == 1:
        power = base ** int(exact)
        return int(power) if isinstance(a, int) and isinstance(b, int) and b >= 0 else power
    if base < 0:
        raise ValueRefused(f"{shown(a)} ^ {shown(b)} is not a real number")
    roots = [_root(part, exact.denominator) for part in (base.numerator, base.denominator)]
    if None in roots:
        raise ValueRefused(f"{shown(a)} ^ {shown(b)} {IRRATIONAL}")
    return Fraction(roots[0] or 0, roots[1] or 1) ** exact.numerator


def _root(number: int, degree: int) -> int | None:
    """Return the whole root of a number that is not negative, or None if it is irrational."""
    low, high = 0, 1 << (number.bit_length() // degree + 1)
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if middle**degree < number else (low, middle)
    return low if low**degree == number else None


def _compare(sign: str, relation: Callable[..., bool]) -> Callable[[Atom, Atom], Atom]:
    def compared(a: Atom, b: Atom) -> Atom:
        if isinstance(a, str) != isinstance(b, str):
            raise _refused(sign, a, b)
        return bool(relation(a, b))

    return compared


def _number(word: str, of: Callable[[_Number], _Number]) -> Callable[[Atom], Atom]:
    def made(a: Atom) -> Atom:
        if isinstance(a, str):
            raise _refused(word, a)
        return of(a)

    return made


UNARY: dict[str, Callable[[Atom], Atom]] = {
    "not": operator.not_,
    "neg": _number("-", lambda a: -a),
    "pos": _number("+", lambda a: +a),
    "round": _number("round", round),
    "indicator": lambda a: 1 if a else 0,
}
BINARY: dict[str, Callable[[Atom, Atom], Atom]] = {
    "+": _add,
    "-": _subtract,
    "*": _multiply,
    "/": _divide,
    "//": _floor,
    "^": _power,
    "%": _modulo,
    "==": operator.eq,
    "<": _compare("<", operator.lt),
    "<=": _compare("<=", operator.le),
    ">": _compare(">", operator.gt),
    ">=": _compare(">=", operator.ge),
    "and": lambda a, b: bool(a) and bool(b),
    "or": lambda a, b: bool(a) or bool(b),
}
"""Of s-ops. Of atoms alone, ``and`` and ``or`` give one of their operands, as in Python."""
RELATIONS: dict[str, Callable[[Atom, Atom], object]] = {**BINARY, "!=": operator.ne}
"""Of ``select``: of a key and a query."""


def _whole(value: Atom) -> Atom:
    try:
        return int(value)
    except ValueError:
        raise ValueRefused(f"the token {shown(value)} is not a whole number") from None


def _float(value: Atom) -> Atom:
    if not isinstance(value, str):
        return Fraction(value)
    try:
        if math.isfinite(float(value)):
            return Fraction(value.strip().replace("_", ""))
    except ValueError:
        pass
    raise ValueRefused(f"the token {shown(value)} is not a number")


def _text(value: Atom) -> Atom:
    return str(float(value)) if isinstance(value, Fraction) else str(value)


CONVERSIONS: dict[Conversion, Callable[[Atom], Atom]] = {
    "str": _text,
    "int": _whole,
    "float": _float,
    "bool": bool,
    "asis": lambda value: value,
}


def one_type(values: tuple[Atom, ...]) -> bool:
    """Return whether these may be a sequence: all of them text, or none."""
    first = type(values[0]) is str
    return all((type(value) is str) is first for value in values)


def averaged(values: tuple[Atom, ...]) -> bool:
    """Return whether a mean may be taken of some of these: numbers, not all of them truth values."""
    return not any(type(v) is str for v in values) and not all(type(v) is bool for v in values)


# ── values as labels have them ──────────────────────────────────────────────────────────────────────────────
def shown_value(value: Atom, numeric: bool) -> str:
    """Return a value as labels have it; a truth value among numbers is 0 or 1."""
    return str(int(value)) if numeric and isinstance(value, bool) else shown_atom(value)


def _kinds(sop: SOp, known: Mapping[SOp, frozenset[str]]) -> frozenset[str]:
    """Return the kinds that the values of an s-op may have by its definition: ``bool``, ``number``, ``text``.

    Args:
        known: those of the s-ops that it is made of.
    """
    if isinstance(sop, Tokens):
        return frozenset([{"int": "number", "float": "number", "bool": "bool"}.get(sop.conversion, "text")])
    if isinstance(sop, Constant):
        return frozenset([_kind(sop.value)])
    if isinstance(sop, Aggregate):
        return known[sop.values] | {_kind(sop.default)}
    if isinstance(sop, State | Looped):
        return known[sop.initial if isinstance(sop, State) else sop.value]
    return _kinds_of_function(sop, known) if isinstance(sop, Elementwise) else frozenset(["number"])


def _kinds_of_function(sop: Elementwise, known: Mapping[SOp, frozenset[str]]) -> frozenset[str]:
    if sop.operator == "if":
        return known[sop.arguments[0]] | known[sop.arguments[-1]]
    if sop.operator == "table":
        return frozenset(_kind(value) for _, value in sop.entries)
    if sop.operator == "+":
        return frozenset[str]().union(*(known[a] for a in sop.arguments)) - {"bool"} or frozenset(["number"])
    if sop.operator == "*":  # a text times a whole number is a text
        factors = [known[argument] for argument in sop.arguments]
        products = frozenset(["number"]) if all(factor - _TEXT for factor in factors) else frozenset[str]()
        return products | (frozenset[str]().union(*factors) & _TEXT)
    return frozenset(["bool" if sop.operator in _TRUTHS else "number"])


def numeric(sops: Iterable[SOp]) -> dict[SOp, bool]:
    """Return for each of some s-ops, with all that they are made of, whether its truth values count as numbers."""
    return {node: {"bool", "number"} <= found for node, found in kinds_of(sops).items()}


def kinds_of(sops: Iterable[SOp]) -> dict[SOp, frozenset[str]]:
    """Return for each of some s-ops, with all that they are made of, the kinds that its values may have, see `_kinds`."""
    known: dict[SOp, frozenset[str]] = {}
    every = sorted(sops, key=lambda each: each.number)
    handed: dict[SOp, SOp] = {
        state: following
        for sop in every
        if isinstance(sop, Looped)
        for state, following in zip(sop.loop.states, sop.loop.nexts, strict=True)
    }
    grows = True
    while grows:  # more than once only for loops, whose states have the kinds of what comes back
        grows = False
        for node in every:
            kinds = _kinds(node, known) | known.get(handed.get(node, node), frozenset())
            grows = grows or (bool(handed) and kinds != known.get(node))
            known[node] = kinds
    return known


_TEXT = frozenset(["text"])
_TRUTHS = frozenset(["==", "<=", ">=", "<", ">", "and", "or", "not", "in"])


def _kind(value: Atom) -> str:
    return "bool" if isinstance(value, bool) else "text" if isinstance(value, str) else "number"


def number(value: Atom) -> Fraction:
    """Return a number or a truth value as a rational number.

    Raises:
        ValueError: for a text.
    """
    if isinstance(value, str):
        raise ValueError(f"{value!r} is not a number")
    return Fraction(int(value) if isinstance(value, bool) else value)
