"""Operators between values of the meta level: of atoms and lists at once, of s-ops and selectors as new nodes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from fractions import Fraction

from tm2tfr.base.errors import Span
from tm2tfr.base.text.source import Log
from tm2tfr.sources.rasp.evaluate import Undefined, attempt, shown_word
from tm2tfr.sources.rasp.language import syntax as s
from tm2tfr.sources.rasp.language.scope import Meta, RaspFunction, is_atom, sort_of
from tm2tfr.sources.rasp.language.syntax import Maker
from tm2tfr.sources.rasp.program import Program, Word
from tm2tfr.sources.rasp.sops import Aggregate, Selector, SOp
from tm2tfr.sources.rasp.values import BINARY, IRRATIONAL, UNARY, ValueRefused, shown

MOST_ITEMS = 1_000_000
"""Of a list."""


class OperandRefused(Exception):  # noqa: N818  (it is caught, and its text becomes part of an error with a place)
    """An operator cannot be applied to these; `remedy` says what to do."""

    def __init__(self, what: str, remedy: str) -> None:
        self.remedy = remedy
        super().__init__(what)


def prefixed(operator: str, value: Meta, make: Maker) -> Meta:
    """Return ``not``, ``-``, ``+``, ``round`` or ``indicator`` of a value."""
    sign = {"neg": "-", "pos": "+"}.get(operator, operator)
    if isinstance(value, SOp):
        return make.elementwise(operator, value)
    if operator == "indicator":
        raise OperandRefused(f"'indicator' takes an s-op, not {sort_of(value)}", "use 1 if … else 0")
    if isinstance(value, Selector) and operator == "not":
        return make.combined("not", value)
    if is_atom(value):
        return UNARY[operator](value)
    if operator == "not" and isinstance(value, list | dict):
        return not value
    raise OperandRefused(f"{sign!r} cannot be applied to {sort_of(value)}", "apply it to a number or an s-op")


def between(operator: str, left: Meta, right: Meta, make: Maker) -> Meta:
    """Return the result of a binary operator on two values."""
    if isinstance(left, Selector) or isinstance(right, Selector):
        return _selectors(operator, left, right, make)
    if isinstance(left, SOp) or isinstance(right, SOp):
        for value in (left, right):
            if not (isinstance(value, SOp) or is_atom(value)):
                what = f"{operator!r} cannot be applied to an s-op and {sort_of(value)}"
                raise OperandRefused(what, "use s-ops and single values")
        return make.elementwise(operator, left, right)
    if operator in ("and", "or"):
        return (left and right) if operator == "and" else (left or right)
    if is_atom(left) and is_atom(right):
        return BINARY[operator](left, right)
    return _lists(operator, left, right)


def _selectors(operator: str, left: Meta, right: Meta, make: Maker) -> Meta:
    if operator not in ("and", "or"):
        raise OperandRefused(f"{operator!r} cannot be applied to a selector", "combine selectors with and, or, not")
    if not (isinstance(left, Selector) and isinstance(right, Selector)):
        other = right if isinstance(left, Selector) else left
        what = f"{operator!r} cannot be applied to a selector and {sort_of(other)}"
        raise OperandRefused(what, "make a selector of it: select(…, True, ==)")
    return make.combined(operator, left, right)


def _lists(operator: str, left: Meta, right: Meta) -> Meta:
    if operator == "==" and not isinstance(left, RaspFunction) and not isinstance(right, RaspFunction):
        return bool(left == right)
    if operator == "+" and isinstance(left, list) and isinstance(right, list):
        made = left + right
    elif operator == "*" and {type(left), type(right)} & {int, bool} and {type(left), type(right)} & {list}:
        items, count = (left, right) if isinstance(left, list) else (right, left)
        if len(items) * count > MOST_ITEMS:
            raise OperandRefused(f"the list has more than {MOST_ITEMS:,} items", "use a smaller number")
        made = items * count
    else:
        what = f"{operator!r} cannot be applied to {sort_of(left)} and {sort_of(right)}"
        raise OperandRefused(what, "apply it to single values, or to each item: [… for x in list]")
    if len(made) > MOST_ITEMS:
        raise OperandRefused(f"the list has more than {MOST_ITEMS:,} items", "use a shorter one")
    return made


def contained(item: Meta, whole: Meta, make: Maker) -> Meta:
    """Return ``item in whole``: elementwise for an s-op in a list, an attention for an atom in an s-op."""
    if isinstance(item, SOp):
        if not isinstance(whole, list):
            what = f"'s-op in …' takes a list, not {sort_of(whole)}"
            raise OperandRefused(what, "write s-op in [a, b]" if not isinstance(whole, SOp) else "compare with ==")
        if (other := next((value for value in whole if not is_atom(value)), None)) is not None:
            raise OperandRefused(
                f"'s-op in list' takes a list of single values, and this one has {sort_of(other)}", "remove it"
            )
        return make.elementwise("in", item, entries=dict.fromkeys(whole, True))
    if not is_atom(item):
        raise OperandRefused(
            f"'in' looks for an s-op or a single value, not for {sort_of(item)}", "compare with == instead"
        )
    if isinstance(whole, list):
        return item in [value for value in whole if is_atom(value)]
    if isinstance(whole, SOp):
        return make.anywhere(item, whole)
    remedy = "write it in [k for k in dictionary]" if isinstance(whole, dict) else "write it in a list"
    raise OperandRefused(f"'in' looks in a list or an s-op, not in {sort_of(whole)}", remedy)


def indexed(whole: Meta, index: Meta, make: Maker, length: SOp | None) -> Meta:
    """Return ``whole[index]``: of a list, a text or a dictionary; of an s-op, what it is at that position, by attention.

    Args:
        length: the s-op ``length``, for positions from the end.
    """
    if isinstance(whole, SOp):
        return _position(whole, index, make, length)
    if not isinstance(whole, list | str | dict):
        raise OperandRefused(f"{sort_of(whole)} has no items", "index a list, a dictionary, a text or an s-op")
    if isinstance(index, SOp):
        return make.elementwise("table", index, entries=_entries(whole))
    if isinstance(whole, dict):
        if not is_atom(index):
            raise OperandRefused(
                f"a dictionary is indexed by a single value or an s-op, not by {sort_of(index)}", "use a key"
            )
        if index not in whole:
            known = ", ".join(shown(key) for key in list(whole)[:8]) or "nothing"
            raise OperandRefused(f"the dictionary has no key {shown(index)}", f"use one of its keys: {known}")
        return whole[index]
    noun = "list" if isinstance(whole, list) else "text"
    if not isinstance(index, int):
        raise OperandRefused(f"a {noun} is indexed by a whole number or an s-op, not by {sort_of(index)}", "use 0, 1, …")
    if not -len(whole) <= index < len(whole):
        raise OperandRefused(f"there is no item {index} in a {noun} of {len(whole)}", f"use 0 to {len(whole) - 1}")
    return whole[index]


def _entries(whole: list[Meta] | str | Mapping[Meta, Meta]) -> dict[Meta, Meta]:
    """Return keys and values of a table; those of a list are also counted from its end: -1, -2, …."""
    if isinstance(whole, Mapping):
        found = dict(whole)
    else:
        found = {**dict(enumerate(whole)), **{place - len(whole): value for place, value in enumerate(whole)}}
    for value in found.values():
        if not is_atom(value):
            what = f"a table that an s-op looks up has single values, and this one has {sort_of(value)}"
            raise OperandRefused(what, "choose with 'a if condition else b'")
    return found


def _position(whole: SOp, index: Meta, make: Maker, length: SOp | None) -> SOp:
    if not isinstance(index, int):
        what = f"an s-op is indexed by a whole number, not by {sort_of(index)}"
        raise OperandRefused(what, "use aggregate(select(indices, positions, ==), values)")
    if index >= 0 or length is None:
        query: SOp = make.constant(index)
    else:
        query = make.elementwise("+", length, index)
    keys = make.positions
    return make.aggregate(make.select(keys, query, "=="), whole)


def ranged(bounds: list[Meta]) -> list[int]:
    """Return ``range(…)`` as a list."""
    if not 1 <= len(bounds) <= 3:
        raise OperandRefused(
            f"'range' takes 1 to 3 whole numbers, not {len(bounds)}", "write range(first, behind_last, step)"
        )
    for bound in bounds:
        if not isinstance(bound, int):
            word = shown(bound) if isinstance(bound, Fraction) else sort_of(bound)
            raise OperandRefused(f"'range' takes whole numbers, not {word}", "use a whole number")
    if len(bounds) == 3 and bounds[2] == 0:
        raise OperandRefused("the step of 'range' must not be 0", "use 1 or -1")
    made = range(*bounds)
    if len(made) > MOST_ITEMS:
        raise OperandRefused(f"the range has more than {MOST_ITEMS:,} items", "use a smaller one")
    return list(made)


def zipped(lists: list[Meta]) -> list[list[Meta]]:
    """Return ``zip(…)`` as a list of lists."""
    for number, value in enumerate(lists, 1):
        if not isinstance(value, list):
            raise OperandRefused(f"'zip' takes lists, and argument {number} is {sort_of(value)}", "use a list")
        if len(value) != len(lists[0]):
            what = (
                f"'zip' takes lists of one length, and argument {number} has {len(value)} items instead of {len(lists[0])}"
            )
            raise OperandRefused(what, "use lists of one length")
    return [list(items) for items in zip(*lists, strict=True)]


def counted_items(value: Meta) -> int:
    """Return ``len(list)``."""
    if not isinstance(value, list):
        remedy = "'length' is the s-op that has the length of the input" if isinstance(value, SOp) else "use a list"
        raise OperandRefused(f"'len' takes a list, not {sort_of(value)}", remedy)
    return len(value)


REFUSALS = (OperandRefused, ValueRefused)


def why(error: Exception) -> tuple[str, str]:
    """Return what is wrong and what to do, of one of the `REFUSALS`."""
    return str(error), error.remedy if isinstance(error, OperandRefused) else "change one of the values"


# ── Warnings where RASP reads a text unlike Python, and of definitions that the authors' interpreter refuses.
COMPARISONS = ("==", "<=", ">=", ">", "<")
Warned = tuple[Span, str, str]


def precedence(statements: Iterable[s.Statement]) -> Iterator[Warned]:
    """Yield where brackets are missing that a reader of Python would expect."""
    for part in _parts(statements):
        if isinstance(part, s.Between):
            yield from ((part.span, *warned) for warned in _misread(part.left, part.right, part.operator))
        elif isinstance(part, s.Ternary) and isinstance(part.then, s.Ternary):
            what = f"({_text(part.then)}) if {_text(part.condition)} else …"
            what = f"conditionals are read from left to right: this is {what}"
            yield part.span, what, "put brackets around the second conditional: a if b else (c if d else e)"


def _parts(parts: Iterable[object]) -> Iterator[s.TextPart]:
    waiting = [*parts]
    while waiting:
        part = waiting.pop()
        if isinstance(part, s.TextPart):
            yield part
            waiting.extend(
                getattr(part, field.name) for field in fields(part) if field.name not in ("source", "start", "end")
            )
        elif isinstance(part, tuple):
            waiting.extend(part)


def _text(part: s.TextPart) -> str:
    return " ".join(part.source.text[part.start : part.end].split())


def _misread(left: s.Expression, right: s.Expression, operator: str) -> Iterator[tuple[str, str]]:
    """Yield what a reader of Python would take an operator for, and what to do."""
    first, second, around = _text(left), _text(right), "put brackets around one of the two"
    sign = left.operator if isinstance(left, s.Prefixed) else ""
    before, behind = (side.operator if isinstance(side, s.Between) else "" for side in (left, right))
    if isinstance(left, s.Prefixed) and sign == "not" and operator not in ("and", "or"):
        inner, rest = _text(left.operand), f"{operator} {second}"
        what = f"'not' binds tighter than {operator!r}: this is (not {inner}) {rest}"
        yield what, f"write not ({inner} {rest}), or brackets around the 'not'"
    if operator == "^" and sign in ("neg", "pos"):
        what = f"the sign binds tighter than '^': this is ({first})^{second}"
        yield what, "put brackets around the sign and the number, or around the power"
    if operator == "and" and before == "or":
        yield f"'and' and 'or' are read from left to right: this is ({first}) and {second}", around
    if operator == before == "^":
        yield f"powers are read from left to right: this is ({first})^{second}", around
    if operator in COMPARISONS and before in COMPARISONS:
        what = f"comparisons are not chained: this is ({first}) {operator} {second}"
        yield what, "write a < b and b < c with brackets: (a < b) and (b < c)"
    if operator == "%" and behind in ("*", "/", "//"):
        yield f"'*', '/' and '//' bind tighter than '%': this is {first} % ({second})", around
    if operator == "in":
        for side, found in ((left, before), (right, behind)):
            if found in ("and", "or", *COMPARISONS) or isinstance(side, s.Ternary):
                brackets = [f"({_text(x)})" if x is side else _text(x) for x in (left, right)]
                what = f"'in' binds looser than everything else: this is {' in '.join(brackets)}"
                yield what, "put brackets around the 'in'"
                return


def undefined(program: Program, words: Iterable[Word], log: Log) -> None:
    """Warn where an s-op is undefined on each of these inputs.

    The authors' interpreter refuses its definition on them, but for an irrational number, which is a float there.
    """
    runs = [attempt(program.sops.values(), word) for word in words]
    warned = set()
    for sop in program.sops.values():
        found = [run[sop] for run in runs]
        if found and all(isinstance(one, Undefined) for one in found):
            first = next(one for one in found if isinstance(one, Undefined))
            if first.node.number in warned:
                continue
            warned.add(first.node.number)
            name = f"{sop.name!r} is undefined" if sop.name else "this is undefined"
            where = f"on the example {shown_word(first.word)!r} ({first.why})"
            theirs = "where the authors' interpreter has a float"
            theirs = theirs if first.why.endswith(IRRATIONAL) else "so that the authors' interpreter refuses it"
            what = f"{name} {where}, {theirs}"
            log.add(first.node.span or sop.span, what, _remedy(first), "warning")


def _remedy(error: Undefined) -> str:
    if isinstance(error.node, Aggregate) and "both texts and other values" in error.why:
        return 'give a default that is a text: aggregate(selector, s-op, "-")'
    return "give inputs on which it is defined: '# example: …', or 'set example …'"
