"""Expressions in a position i and a length n: the rules of monadic predicates (Definition 19), and claims of features.

A rule is translated to an expression of Python and evaluated by walking its syntax tree, in whole numbers and fractions.
This shares nothing with `tm2tfr.transformer.expressions`, by which engines compute the same text.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

RuleValue = int | Fraction
_WORD = re.compile(r"\s*(?:(\d{1,12})(?!\d)|(in\b|[in]\b|!=|<=|>=|[-+*/%^()=<>!&|{},]))\s*", re.ASCII)
_PYTHON = {"^": " ** ", "=": " == ", "&": " and ", "|": " or ", "!": " not ", "in": " in "}
LONGEST, LARGEST_POWER = 1_200, 9
WRITTEN, DEEPEST = 200, 16
"""A rule in a program has at most this many characters, and brackets this deep, so that engines read it, see `weighed`."""


class RuleError(Exception):
    """A text is not a rule: what is wrong, at which character, from 0, and how to fix it."""

    def __init__(self, what: str, at: int, remedy: str) -> None:
        super().__init__(what)
        self.what, self.at, self.remedy = what, at, remedy


@dataclass(frozen=True)
class ThetaRule:
    """A rule.

    Args:
        text: as it was written; `tree`: its syntax tree in Python.
    """

    text: str
    tree: ast.expr

    @property
    def of_length(self) -> bool:
        """Whether it depends on n."""
        return any(isinstance(node, ast.Name) and node.id == "n" for node in ast.walk(self.tree))

    @property
    def truth(self) -> bool:
        """Whether it says whether something holds, so that its values are 0 and 1."""
        tree = self.tree
        return isinstance(tree, ast.Compare | ast.BoolOp) or (
            isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.Not)
        )

    def at(self, i: int, n: int) -> RuleValue:
        """Return its value at position i for the length n; what holds is 1."""
        return _value(self.tree, {"i": i, "n": n})


@lru_cache(maxsize=4_096)
def rule(text: str) -> ThetaRule:
    """Return the rule that a text states.

    Raises:
        RuleError: if it is not a rule.
    """
    if len(text) > LONGEST:
        raise RuleError(f"this rule has more than {LONGEST} characters", LONGEST, "write a shorter one")
    python, places, start = "", [], 0
    while start < len(text):
        if (found := _WORD.match(text, start)) is None:
            at = len(text) - len(text[start:].lstrip())
            wrong = re.match(r"\w+|.", text[at:])
            what = f"{wrong[0]!r} is not part of a rule" if wrong else "the rule ends here"
            raise RuleError(what, at, "use i, n, whole numbers, + - * % ^, comparisons, & | ! and in {1, 2}")
        word = found[1] or found[2]
        written = _PYTHON.get(word, str(int(word)) if word.isdecimal() else word)
        places += [found.start() + len(found[0]) - len(found[0].lstrip())] * len(written)
        python += written
        start = found.end()
    try:
        tree = ast.parse(python.strip(), mode="eval").body
        _check(tree)
    except (SyntaxError, _WrongError, RecursionError, MemoryError) as error:
        column = error.column if isinstance(error, _WrongError) else (getattr(error, "offset", 1) or 1) - 1
        column += len(python) - len(python.lstrip())
        what = str(error) if isinstance(error, _WrongError) else "this is not an expression"
        where = places[min(max(column, 0), len(places) - 1)] if places else 0
        raise RuleError(what, where, "write a rule such as i % 3 = 0, i in {1, 2, 5} or 2*i <= n") from error
    return ThetaRule(text, tree)


def stated(text: str) -> ThetaRule:
    """Return the rule of a predicate, as it stands in a program.

    Raises:
        RuleError: if it is not a condition, divides, or is too long or too deep.
    """
    if "/" in text:
        raise RuleError("'/' is not part of a rule", text.index("/"), "multiply the other side: numbers are whole")
    if len(text) > WRITTEN or max(depth(text), default=0) > DEEPEST:
        raise RuleError(f"this rule has more than {WRITTEN} characters, or brackets too deep", 0, "write a shorter one")
    found = rule(text)
    if not found.truth:
        raise RuleError("this rule is a number, and has to say whether something holds", 0, "compare it: i % 3 = 0")
    return found


def depth(text: str) -> Iterator[int]:
    """Yield the number of open brackets and signs ``!`` at each character."""
    opened = 0
    for character in text:
        opened += (character in "(!") - (character == ")")
        yield opened


def weighed(text: str) -> str:
    """Return a rule as weights have it, where n is the number of positions, with BOS and EOS."""
    return re.sub(r"\bn\b", "(n-2)", " ".join(text.split()))


class _WrongError(Exception):
    def __init__(self, what: str, node: ast.expr) -> None:
        super().__init__(what)
        self.column = node.col_offset


_ARITHMETIC: Mapping[type[ast.operator], Callable[[RuleValue, RuleValue], RuleValue]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: Fraction,
    ast.Mod: lambda x, y: x % y if y else x,
    ast.Pow: operator.pow,
}
_COMPARED: Mapping[type[ast.cmpop], Callable[[RuleValue, RuleValue], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


def _check(node: ast.expr) -> None:
    """Raise _WrongError for a part of Python that is not part of rules."""
    parts: list[ast.expr]
    match node:
        case ast.Constant() | ast.Name():
            parts = []
        case ast.BinOp(op=ast.Pow(), right=ast.Constant(value=int(exponent))) if exponent <= LARGEST_POWER:
            parts = [node.left]
        case ast.BinOp(op=ast.Pow()):
            raise _WrongError(f"an exponent is a whole number up to {LARGEST_POWER}", node.right)
        case ast.BinOp() if type(node.op) in _ARITHMETIC:
            parts = [node.left, node.right]
        case ast.UnaryOp(op=ast.Not() | ast.USub()):
            parts = [node.operand]
        case ast.BoolOp():
            parts = node.values
        case ast.Compare(ops=[ast.In()], comparators=[ast.Set(elts=elements)]):
            if wrong := [each for each in elements if not isinstance(each, ast.Constant)]:
                raise _WrongError("a set consists of whole numbers", wrong[0])
            parts = [node.left]
        case ast.Compare(ops=[one]) if type(one) in _COMPARED:
            parts = [node.left, *node.comparators]
        case ast.Compare():
            raise _WrongError("two comparisons in one", node.comparators[-1])
        case _:
            raise _WrongError("this is not an expression", node)
    for part in parts:
        _check(part)


def _value(node: ast.expr, names: Mapping[str, int]) -> RuleValue:  # noqa: PLR0911
    match node:
        case ast.Constant(value=int(number)):
            return number
        case ast.Name():
            return names[node.id]
        case ast.BinOp():
            return _ARITHMETIC[type(node.op)](_value(node.left, names), _value(node.right, names))
        case ast.UnaryOp(op=ast.Not()):
            return int(not _value(node.operand, names))
        case ast.UnaryOp():
            return -_value(node.operand, names)
        case ast.BoolOp():
            parts = (bool(_value(part, names)) for part in node.values)
            return int(all(parts) if isinstance(node.op, ast.And) else any(parts))
        case ast.Compare(ops=[ast.In()], comparators=[ast.Set(elts=elements)]):
            return int(_value(node.left, names) in [_value(element, names) for element in elements])
        case ast.Compare():
            return int(_COMPARED[type(node.ops[0])](_value(node.left, names), _value(node.comparators[0], names)))
    raise TypeError(f"{ast.dump(node)} is not part of a rule")
