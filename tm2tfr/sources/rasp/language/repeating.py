"""``repeat n until condition { … }``: the block is elaborated once, and what it assigns is a pass of a loop.

A variable that the block assigns and that existed before is a state: in the first pass the block sees what it was, in
every further pass what the last one has made of it. Behind the block, variables are what they were in the last pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Protocol

from tm2tfr.sources.rasp.language import scope as names
from tm2tfr.sources.rasp.language import syntax as s
from tm2tfr.sources.rasp.language.syntax import Maker, call_it
from tm2tfr.sources.rasp.sops import Looped, Repeat, SOp, State, needed

MOST_TIMES = 10_000
"""The most passes that a program may state."""


class _Elaborator(Protocol):
    """What `repeat` needs of the elaborator."""

    make: Maker
    requests: list[names.Request]
    repeating: bool

    @property
    def statement(self) -> Callable[[s.Statement, names.Scope], None]: ...

    @property
    def value(self) -> Callable[[s.Expression, names.Scope], names.Meta]: ...

    def at(self, part: s.TextPart) -> Maker: ...


def repeat(worker: _Elaborator, statement: s.Repetition, scope: names.Scope) -> None:
    """Run the block of a loop once, and bind its variables to what they are in the last pass."""
    if worker.repeating:
        what = "a loop cannot be repeated by another one"
        raise names.StatementRefused(statement, what, "use one loop that does a part of the work in each pass")
    times = None if statement.times is None else _times(worker.value(statement.times, scope), statement.times)
    assigned = list(dict.fromkeys(assigned_in(statement.body)))
    asked, states = len(worker.requests), dict[str, State]()
    for name in assigned:
        if (before := _known(name, scope)) is not None:
            states[name.name] = _state(worker, name, before, statement, scope)
    worker.repeating = True
    try:
        for inner in statement.body:
            worker.statement(inner, scope)
        until = None if statement.until is None else worker.value(statement.until, scope)
    finally:
        worker.repeating = False
    if len(worker.requests) > asked:
        what = "nothing is drawn or applied to an input within a loop"
        raise names.StatementRefused(
            worker.requests[asked].part, what, "do it behind the loop, where variables are its last values"
        )
    if until is not None and not isinstance(until, SOp):
        what = f"the condition of a loop is an s-op, not {names.sort_of(until)}"
        raise names.StatementRefused(statement.until or statement, what, "compare s-ops, for example until x == y")
    _bind(worker, statement, scope, assigned, states, times, until)


def _bind(
    worker: _Elaborator,
    statement: s.Repetition,
    scope: names.Scope,
    assigned: Sequence[s.Variable],
    states: dict[str, State],
    times: int | None,
    until: SOp | None,
) -> None:
    """Make the node of a loop, and assign its variables their s-ops of the last pass; other values stay within the loop."""
    ends: dict[str, SOp] = {}
    for name in assigned:
        value = _known(name, scope)
        if isinstance(value, SOp) or (name.name in states and names.is_atom(value)):
            ends[name.name] = worker.at(name).lifted(value)
        elif name.name in states:
            what = f"{name.name!r} is {names.sort_of(states[name.name])} before a pass, and {names.sort_of(value)} after it"
            raise names.StatementRefused(name, what, "assign an s-op, or use another name")
    needs = set(needed([*ends.values(), *([] if until is None else [until])]))
    used = {name: state for name, state in states.items() if state in needs}
    make = worker.at(statement)
    nexts = tuple(ends[name] for name in used)
    loop = make.node(Repeat, states=tuple(used.values()), nexts=nexts, times=times, until=until)
    for name in assigned:
        if name.name in ends:
            make = worker.at(name)
            last = make.node(Looped, loop=loop, value=ends[name.name])
            names.assign(name, last, scope)
            call_it(last, name.name, make.calls)
        else:
            scope.names.pop(name.name, None)
    scope.names.pop("out", None)


def _state(worker: _Elaborator, name: s.Variable, before: names.Meta, statement: s.Repetition, scope: names.Scope) -> State:
    """Make the state that stands for a variable in the block, and assign it."""
    if before is names.BROKEN:
        raise names.StatementRefused(name)
    if not isinstance(before, SOp) and not names.is_atom(before):
        what = f"{name.name!r} is {names.sort_of(before)} before the loop, which a pass cannot hand to the next"
        raise names.StatementRefused(name, what, "use an s-op or a single value, or another name within the block")
    make = worker.at(name)
    state = make.node(State, initial=make.lifted(before), name=name.name)
    names.assign(name, state, scope)
    return state


def _known(name: s.Variable, scope: names.Scope) -> names.Meta:
    """Return the value of a variable; None if there is none."""
    return next((owner.names[name.name] for owner in scope.chain() if name.name in owner.names), None)


def _times(value: names.Meta, part: s.Expression) -> int:
    number = value.numerator if isinstance(value, Fraction) and value.denominator == 1 else value
    if type(number) is not int:
        what = f"the number of passes is a whole number, not {names.sort_of(value)}"
        raise names.StatementRefused(part, what, "write for example repeat 200 { … }, or repeat until condition { … }")
    if not 1 <= number <= MOST_TIMES:
        what = f"the number of passes is from 1 to {MOST_TIMES:,}, not {number:,}"
        raise names.StatementRefused(part, what, "leave the block out where it is not to be run, or use a smaller number")
    return number


def assigned_in(statements: Sequence[s.Statement]) -> Iterator[s.Variable]:
    """Yield the variables that the statements of a block assign, each name once."""
    found: dict[str, s.Variable] = {}
    waiting = list(statements)
    while waiting:
        statement = waiting.pop(0)
        if isinstance(statement, s.Loading | s.Definition | s.Drawing | s.Setting):
            what = "within a loop there are assignments alone, 'for' among them"
            raise names.StatementRefused(statement, what, "move this before the loop or behind it")
        if isinstance(statement, s.Repetition):
            what = "a loop cannot be repeated by another one"
            raise names.StatementRefused(statement, what, "use one loop that does a part of the work in each pass")
        if isinstance(statement, s.Loop):
            waiting[:0] = statement.body
        if isinstance(statement, s.Assignment):
            for name in statement.names:
                found.setdefault(name.name, name)
    yield from found.values()
