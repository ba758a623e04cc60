"""S-ops written in Python: ``program("reverse", aggregate(select(indices, length - 1 - indices, "=="), tokens))``.

Names and results are those of RASP. Operators on s-ops work position by position, on
selectors entry by entry: ``&``, ``|`` and ``~`` stand for ``and``, ``or`` and ``not``, ``**`` for ``^``,
``where(c, a, b)`` for ``a if c else b``, ``x.isin([…])`` for ``x in […]``, ``x.table({…})`` for ``{…}[x]``. Floats are
exact: 0.1 is a tenth.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import replace
from fractions import Fraction
from math import inf, isfinite
from typing import Any, NoReturn

import numpy as np

from tm2tfr.base.errors import CompileError
from tm2tfr.base.text.source import Log, SourceText
from tm2tfr.base.text.words import read_alphabet
from tm2tfr.sources.rasp.language import operators
from tm2tfr.sources.rasp.language.lexemes import words
from tm2tfr.sources.rasp.language.scope import RESERVED, RaspFunction, StatementRefused, is_atom, sort_of
from tm2tfr.sources.rasp.language.syntax import MOST_NODES, TooManyNodes
from tm2tfr.sources.rasp.program import Program
from tm2tfr.sources.rasp.read import elaborated, library_names, read
from tm2tfr.sources.rasp.sops import Atom, Node, Relation, Selector, SOp, needed
from tm2tfr.sources.rasp.write import write

_LIBRARY = elaborated(Log(SourceText("", "library")), (), library=True, folder=None)
_MAKE = _LIBRARY.elaborator.make
_MAKE.most = inf  # it makes the nodes of all programs of this process: `program` counts those of each
_NAMES = {name: value for scope in _LIBRARY.top.chain() for name, value in scope.names.items()}


def _plain(value: Any) -> Any:
    """Return the node of an s-op or selector, or an atom in RASP's own type."""
    if isinstance(value, SequenceOp | SelectorOp):
        return value.node
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        if not isfinite(value):
            raise CompileError(f"{value} is not a number that RASP has: use a finite one")
        return Fraction(repr(value))
    if isinstance(value, dict):
        return value
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if not isinstance(value, str | bool | int | Fraction):
        raise CompileError(f"{type(value).__name__} is not an s-op or a single value: use one of them")
    return value


def _atom(value: Any, noun: str) -> Any:
    """Return a single value in RASP's own type.

    Raises:
        CompileError: if it is not a single value.
    """
    if value is None or not is_atom(plain := _plain(value)):
        what = "None" if value is None else sort_of(_plain(value))
        raise CompileError(f"{noun} must be a text, a truth value or a number, not {what}: use for example 0 or '-'")
    return plain


def _wrapped(value: Any) -> Any:
    if isinstance(value, SOp):
        return SequenceOp(value)
    return SelectorOp(value) if isinstance(value, Selector) else value


def _made(operation: Callable[..., Any], *values: Any) -> Any:
    """Return the result of an operation on values.

    Raises:
        CompileError: if it cannot be applied to them.
    """
    try:
        return _wrapped(operation(*(_plain(value) for value in values)))
    except operators.REFUSALS as error:
        what, remedy = operators.why(error)
        raise CompileError(f"{what}: {remedy}") from None


def _binary(operator: str, *, swapped: bool = False) -> Callable[[Any, Any], Any]:
    def operation(self: Any, other: Any) -> Any:
        left, right = (other, self) if swapped else (self, other)
        return _made(lambda a, b: operators.between(operator, a, b, _MAKE), left, right)

    return operation


def _unary(operator: str) -> Callable[[Any], Any]:
    return lambda self: _made(lambda value: operators.prefixed(operator, value, _MAKE), self)


def _named(self: Any, name: str) -> NoReturn:
    """Refuse: names are given to `program`."""
    raise CompileError(f"names are given to 'program': use program('name', {{{name!r}: s-op or selector}}, alphabet='ab')")


class SequenceOp:
    """An s-op with the operators of Python; `node` is the s-op itself."""

    __add__, __radd__ = _binary("+"), _binary("+", swapped=True)
    __sub__, __rsub__ = _binary("-"), _binary("-", swapped=True)
    __mul__, __rmul__ = _binary("*"), _binary("*", swapped=True)
    __truediv__, __rtruediv__ = _binary("/"), _binary("/", swapped=True)
    __floordiv__, __rfloordiv__ = _binary("//"), _binary("//", swapped=True)
    __mod__, __rmod__ = _binary("%"), _binary("%", swapped=True)
    __pow__, __rpow__ = _binary("^"), _binary("^", swapped=True)
    __and__, __rand__ = _binary("and"), _binary("and", swapped=True)
    __or__, __ror__ = _binary("or"), _binary("or", swapped=True)
    __lt__, __le__, __gt__, __ge__ = _binary("<"), _binary("<="), _binary(">"), _binary(">=")
    __neg__, __pos__, __invert__, __round__ = _unary("neg"), _unary("pos"), _unary("not"), _unary("round")
    __hash__ = object.__hash__
    __iter__ = None  # otherwise Python goes through s[0], s[1], …, and an s-op has no last item
    __array_ufunc__ = None  # numpy leaves ``np.int64(3) + indices`` to the s-op
    not_a_program = "an s-op alone has no name and no alphabet: use program('name', s-op, alphabet='ab')"

    named = _named

    def __init__(self, node: SOp) -> None:
        self.node = node

    def __abs__(self) -> Any:
        """Return the absolute value of the s-op."""
        return maximum(self, -self)

    def __eq__(self, other: object) -> Any:
        """Return the s-op that is true where the two are equal."""
        return _EQUAL(self, other)

    def __ne__(self, other: object) -> Any:
        """Return the s-op that is true where the two differ."""
        return ~_EQUAL(self, other)

    def __bool__(self) -> bool:
        """Refuse: an s-op has a truth value at each position."""
        raise CompileError("an s-op has a truth value at each position only: use where(…), &, | and ~")

    def __contains__(self, atom: object) -> bool:
        """Refuse: Python needs one truth value, but whether an s-op contains an atom depends on the input."""
        raise CompileError("whether a value is in an s-op depends on the input: use contained(value, s-op)")

    def __getitem__(self, position: int) -> SequenceOp:
        """Return the value of the s-op at a position, by attention: negative positions count from the end; 0 beyond."""
        made: SequenceOp = _made(lambda whole, i: operators.indexed(whole, i, _MAKE, _NAMES["length"]), self, position)
        return made

    def isin(self, values: Iterable[Any]) -> SequenceOp:
        """Return the s-op that is true where the value is one of these.

        Raises:
            CompileError: if they are not single values.
        """
        if not isinstance(values, Iterable):
            raise CompileError(f"'isin' takes a list of values, not {sort_of(_plain(values))}: use for example ['a', 'b']")
        listed = [_plain(value) for value in values]
        made: SequenceOp = _made(lambda whole: operators.contained(whole, listed, _MAKE), self)
        return made

    def table(self, entries: Mapping[Any, Any]) -> SequenceOp:
        """Return the s-op that looks the value up in a table; it is undefined for values without a key.

        Raises:
            CompileError: if the keys and their values are not single values.
        """
        if not isinstance(entries, Mapping):
            remedy = "list what it gives for each value, for example {'a': 1, 'b': 2}"
            raise CompileError(f"'table' takes a dictionary, not {type(entries).__name__}: {remedy}")
        known = {_atom(key, "a key of 'table'"): _plain(value) for key, value in entries.items()}
        made: SequenceOp = _made(lambda index: operators.indexed(known, index, _MAKE, None), self)
        return made


class SelectorOp:
    """A selector with ``&``, ``|`` and ``~``; `node` is the selector itself."""

    __and__, __or__, __invert__ = _binary("and"), _binary("or"), _unary("not")
    __array_ufunc__ = None
    not_a_program = "a selector alone gives no values: use program('name', aggregate(selector, s-op), alphabet='ab')"

    named = _named

    def __init__(self, node: Selector) -> None:
        self.node = node

    def __bool__(self) -> bool:
        """Refuse: a selector has a truth value for each pair of positions."""
        raise CompileError(
            "a selector has a truth value for each pair of positions only: combine selectors with &, | and ~"
        )


_EQUAL = _binary("==")


def select(
    key: Any, query: Any, relation: Relation | Callable[[Any, Any], Any], *, values: Iterable[Any] | None = None
) -> SelectorOp:
    """Return the selector of the positions whose key stands in a relation to the query.

    Args:
        relation: ``==``, ``!=``, ``<``, ``<=``, ``>``, ``>=``, or any function of the values of a key and a query.
        values: for a function, the possible values of keys and queries; other values neither select nor are selected,
            without an error: list every value that can occur.

    Raises:
        CompileError: for another relation, or a value that is neither an s-op nor a single value.
    """
    if callable(relation):
        _check(key, query)
        return _select_by(key, query, relation, values)
    if relation not in ("==", "!=", "<", "<=", ">", ">="):
        remedy = "use one of ==, !=, <, <=, >, >=, or the selector full_s, which selects every position"
        raise CompileError(f"{relation!r} is not a relation: {remedy}")
    _check(key, query)
    return SelectorOp(_MAKE.select(_plain(key), _plain(query), relation))


def _select_by(key: Any, query: Any, relation: Callable[[Any, Any], Any], values: Iterable[Any] | None) -> SelectorOp:
    """Return the selector of a function: the union of (keys × queries) over groups of keys with the same queries."""
    if values is None:
        raise CompileError(
            "a relation that is a function needs the possible values of keys and queries: use for example values='abc'"
        )
    asked = list(dict.fromkeys(_atom(value, "a value of 'select'") for value in values))
    asked.sort(key=lambda value: (type(value).__name__, value))  # the same function of the same values is the same selector
    keys, queries = (_plain(each) for each in (key, query))
    satisfied: dict[tuple[Any, ...], list[Any]] = {}
    for own in asked:
        chosen = tuple(other for other in asked if relation(own, other))
        satisfied.setdefault(chosen, []).append(own)
    found: Any = None
    for chosen, group in satisfied.items():
        if chosen:
            sides = [operators.contained(side, listed, _MAKE) for side, listed in ((keys, group), (queries, list(chosen)))]
            parts = _MAKE.select(sides[0], True, "=="), _MAKE.select(True, sides[1], "==")
            both = _MAKE.combined("and", *parts)
            found = both if found is None else _MAKE.combined("or", found, both)
    return SelectorOp(_MAKE.select(0, 1, "==") if found is None else found)


def aggregate(selector: SelectorOp, values: Any, default: Any = 0) -> SequenceOp:
    """Return the mean of the selected values: the value itself at one selected position, the default at none.

    Raises:
        CompileError: if they are not a selector, an s-op and a single value.
    """
    if not isinstance(selector, SelectorOp):
        raise CompileError("'aggregate' takes a selector first: use select(keys, queries, relation)")
    _check(values)
    return SequenceOp(_MAKE.aggregate(selector.node, _plain(values), _atom(default, "the default of 'aggregate'")))


def where(condition: Any, then: Any, otherwise: Any) -> SequenceOp:
    """Return ``then`` where the condition is true, and ``otherwise`` elsewhere.

    Raises:
        CompileError: if they are not s-ops or single values.
    """
    _check(condition, then, otherwise)
    return SequenceOp(_MAKE.elementwise("if", *(_plain(value) for value in (then, condition, otherwise))))


def indicator(condition: SequenceOp) -> SequenceOp:
    """Return 1 where the condition is true, and 0 elsewhere."""
    made: SequenceOp = _unary("indicator")(condition)
    return made


def contained(atom: Any, whole: SequenceOp) -> SequenceOp:
    """Return whether any position has this value: ``atom in whole``."""
    made: SequenceOp = _made(lambda a, b: operators.contained(a, b, _MAKE), atom, whole)
    return made


def _check(*values: Any) -> None:
    for value in values:
        if not isinstance(value, SequenceOp | str | bool | int | float | Fraction | np.generic):
            raise CompileError(f"{type(value).__name__} is not an s-op or a single value: use one of them")


def _refuse_name(name: str) -> None:
    """Raise CompileError if a program that is written as RASP cannot have a variable of this name."""
    if name in RESERVED | library_names() | words():
        remedy = f"choose another, for example '{name}_'"
        raise CompileError(f"{name!r} is a name of RASP and cannot name a program or s-op: {remedy}")
    if not (name.isidentifier() and name.isascii()) or name.startswith("_"):
        raise CompileError(f"{name!r} is not a name: use letters from a to z, digits and _, and a letter first")


def program(
    name: str,
    sops: SequenceOp | Mapping[str, SequenceOp | SelectorOp],
    *,
    alphabet: Iterable[Any] = (),
    title: str = "",
) -> Program:
    """Return the program that computes an s-op, or several s-ops and selectors by their names.

    Its `text` is RASP that says the same; places in messages are places in it.

    Args:
        name: the name of the program, and of its s-op if there is one only.
        sops: the s-op; or a dictionary, whose last s-op is the answer. Heads and subspaces are named after its keys. The
            name of an s-op or selector has letters from a to z, digits and ``_``, and is not a name of RASP: ``length``,
            ``sort``, ``out``.
        alphabet: the tokens of the inputs, in an order: text, a list, a tuple or a range.

    Raises:
        CompileError: if `sops` has no s-op or something else, if there are too many nodes, if the alphabet has no order,
            or has a token twice, or if a name or value cannot be written as RASP.
    """
    named = {name: sops} if isinstance(sops, SequenceOp) else sops
    known = isinstance(named, Mapping) and all(isinstance(each, SequenceOp | SelectorOp) for each in named.values())
    sequences = {key: each.node for key, each in named.items() if isinstance(each, SequenceOp)} if known else {}
    if not sequences:
        what = "a program must be an s-op, or a dictionary of s-ops and selectors by their names"
        raise CompileError(f"{name}: {what}: give at least one s-op")
    if not isinstance(alphabet, Iterable):
        raise CompileError(f"{name}: the alphabet must be tokens, not {alphabet!r}: use for example 'abc'")
    if isinstance(alphabet, Set):
        raise CompileError(f"{name}: the alphabet must have an order: use text or a list, not a set")
    selectors = {key: each.node for key, each in named.items() if isinstance(each, SelectorOp)}
    if len(needed([*selectors.values(), *sequences.values()])) > MOST_NODES:
        raise TooManyNodes(name)
    for key in (*selectors, *sequences):
        _refuse_name(key)
    given = tuple(_plain(each) for each in (read_alphabet(alphabet) if isinstance(alphabet, str) else alphabet))
    if len(set(given)) < len(given):
        raise CompileError(f"{name}: the alphabet has a token twice: list each token once")
    chosen = next(reversed(sequences))
    draft = Program(name=name, text="", sops=sequences, selectors=selectors, chosen=chosen, alphabet=given, title=title)
    # What its text reads as has the numbers and names that weights have; those of the nodes here depend on other programs.
    return replace(read(write(draft), file=f"{name}.rasp", name=name).program, alphabet=given)


def _function(name: str) -> Callable[..., Any]:
    function: RaspFunction = _NAMES[name]

    def called(*values: Any) -> Any:
        _LIBRARY.elaborator.steps = 0  # each call may take as many as a program
        try:
            return _wrapped(_LIBRARY.elaborator.call(function, [_plain(v) for v in values], function.definition))
        except StatementRefused as refused:
            raise CompileError(f"in {name!r}: {refused.what}: {refused.remedy}") from None

    called.__name__, called.__doc__ = name, f"The function {name!r} of RASP's library."
    return called


def _sop(name: str) -> SequenceOp:
    node: Node | Atom = _NAMES[name]
    if not isinstance(node, SOp):
        raise TypeError(f"{name} is not an s-op")
    return SequenceOp(node)


tokens, indices, length = _sop("tokens"), _sop("indices"), _sop("length")
tokens_int, tokens_float, tokens_bool, tokens_asis = map(_sop, ("tokens_int", "tokens_float", "tokens_bool", "tokens_asis"))
full_s = SelectorOp(_NAMES["full_s"])
selector_width, has_focus, count, contains = map(_function, ("selector_width", "has_focus", "count", "contains"))
average, maximum, minimum, sort, shift = map(_function, ("average", "max", "min", "sort", "shift"))
load_from_location, select_next_identical = map(_function, ("load_from_location", "select_next_identical"))
mark_first_instance, mark_last_instance = map(_function, ("mark_first_instance", "mark_last_instance"))
select_from_first, select_from_last = map(_function, ("select_from_first", "select_from_last"))
