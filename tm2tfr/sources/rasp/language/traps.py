"""Warnings where RASP reads a text unlike Python, and of definitions that the authors' interpreter refuses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import fields

from tm2tfr.errors import Span
from tm2tfr.sources.rasp.analyse import shapes_of
from tm2tfr.sources.rasp.evaluate import Undefined, attempt, shown_word
from tm2tfr.sources.rasp.graph import needed
from tm2tfr.sources.rasp.language import syntax as s
from tm2tfr.sources.rasp.program import Program, Word
from tm2tfr.sources.rasp.sops import Aggregate, Select, SOp
from tm2tfr.sources.rasp.values import IRRATIONAL
from tm2tfr.text.source import Log

COMPARISONS = ("==", "<=", ">=", ">", "<")
Warned = tuple[Span, str, str]


def precedence(statements: Iterable[s.Statement]) -> Iterator[Warned]:
    """Yield where brackets are missing that a reader of Python would expect."""
    for part in _parts(statements):
        for rule in (_not, _minus, _levels, _powers, _chains, _remainders, _contained, _conditionals):
            if isinstance(part, s.Expression) and (found := rule(part)) is not None:
                yield (part.span, *found)


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


def _not(part: s.Expression) -> tuple[str, str] | None:
    if isinstance(part, s.Between) and part.operator not in ("and", "or") and _is(part.left, s.Prefixed, "not"):
        inner: s.Prefixed = part.left  # type: ignore[assignment]
        left, rest = _text(inner.operand), f"{part.operator} {_text(part.right)}"
        what = f"'not' binds tighter than {part.operator!r}: this is (not {left}) {rest}"
        return what, f"write not ({left} {rest}), or brackets around the 'not'"
    return None


def _is(part: s.Expression, kind: type[s.Expression], *operators: str) -> bool:
    return isinstance(part, kind) and (not operators or getattr(part, "operator", "") in operators)


def _minus(part: s.Expression) -> tuple[str, str] | None:
    if _is(part, s.Between, "^") and isinstance(part, s.Between) and _is(part.left, s.Prefixed, "neg", "pos"):
        what = f"the sign binds tighter than '^': this is ({_text(part.left)})^{_text(part.right)}"
        return what, "put brackets around the sign and the number, or around the power"
    return None


def _levels(part: s.Expression) -> tuple[str, str] | None:
    if isinstance(part, s.Between) and part.operator == "and" and _is(part.left, s.Between, "or"):
        what = f"'and' and 'or' are read from left to right: this is ({_text(part.left)}) and {_text(part.right)}"
        return what, "put brackets around one of the two"
    return None


def _powers(part: s.Expression) -> tuple[str, str] | None:
    if isinstance(part, s.Between) and part.operator == "^" and _is(part.left, s.Between, "^"):
        what = f"powers are read from left to right: this is ({_text(part.left)})^{_text(part.right)}"
        return what, "put brackets around one of the two"
    return None


def _chains(part: s.Expression) -> tuple[str, str] | None:
    if isinstance(part, s.Between) and part.operator in COMPARISONS and _is(part.left, s.Between, *COMPARISONS):
        what = f"comparisons are not chained: this is ({_text(part.left)}) {part.operator} {_text(part.right)}"
        return what, "write a < b and b < c with brackets: (a < b) and (b < c)"
    return None


def _remainders(part: s.Expression) -> tuple[str, str] | None:
    if isinstance(part, s.Between) and part.operator == "%" and _is(part.right, s.Between, "*", "/"):
        what = f"'*' and '/' bind tighter than '%': this is {_text(part.left)} % ({_text(part.right)})"
        return what, "put brackets around one of the two"
    return None


def _contained(part: s.Expression) -> tuple[str, str] | None:
    if isinstance(part, s.Between) and part.operator == "in":
        for operand in (part.left, part.right):
            if _is(operand, s.Between, "and", "or", *COMPARISONS) or isinstance(operand, s.Ternary):
                brackets = [f"({_text(x)})" if x is operand else _text(x) for x in (part.left, part.right)]
                what = f"'in' binds looser than everything else: this is {' in '.join(brackets)}"
                return what, "put brackets around the 'in'"
    return None


def _conditionals(part: s.Expression) -> tuple[str, str] | None:
    if isinstance(part, s.Ternary) and isinstance(part.then, s.Ternary):
        what = f"conditionals are read from left to right: this is ({_text(part.then)}) if {_text(part.condition)} else …"
        return what, "put brackets around the second conditional: a if b else (c if d else e)"
    return None


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


def equal_selectors(sops: Iterable[SOp], log: Log) -> None:
    """Warn where a ``select(…)`` that heads attend by says the same as another one."""
    nodes = needed(sops)
    shapes = shapes_of(nodes)
    first: dict[int, Select] = {}
    for node in nodes:
        if not isinstance(node, Aggregate) or not isinstance(node.selector, Select) or not _written(node.selector, log):
            continue
        other = first.setdefault(shapes[node.selector.number], node.selector)
        if other is not node.selector and other.span is not None and node.selector.span is not None:
            what = f"this says the same as the 'select' of line {other.span.line}, and is a head of its own all the same"
            log.add(node.selector.span, what, "assign the first one to a variable and use that", "warning")


def _written(selector: Select, log: Log) -> bool:
    """Return whether the program's own text has this ``select``."""
    span = selector.span
    return (
        span is not None
        and log.source.lines[span.line - 1 : span.line] == [span.text]
        and span.text[span.column - 1 :].startswith("select(")
    )
