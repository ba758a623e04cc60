"""Runs the statements of a program: variables, functions and loops are gone afterwards, s-ops and selectors are left.

As in the authors' interpreter: a function sees later assignments of the scope that it was defined in, a loop leaks its
variables, a conditional on a single value evaluates one branch and one on an s-op both, ``a, b = f()`` takes a list apart,
a name of the library cannot be assigned, ``out`` is the value of the last expression. Unlike it:

- definitions are not tried out on an example: an s-op may be undefined on some inputs (`tm2tfr.sources.rasp.evaluate`);
- ``load "x";`` looks in the folder of the file that says it, then in that of the program, then in the current one;
- calls may be nested 1,000 deep;
- ``s-op == list``, ``"…" % value`` and lists compared with ``<`` are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from tm2tfr.base.errors import Tm2tfrError, did_you_mean
from tm2tfr.base.text.source import Log, SourceText
from tm2tfr.sources.rasp.language import operators
from tm2tfr.sources.rasp.language import scope as names
from tm2tfr.sources.rasp.language import syntax as s
from tm2tfr.sources.rasp.language.parse import parse
from tm2tfr.sources.rasp.language.repeating import repeat
from tm2tfr.sources.rasp.language.syntax import Maker, TooManyNodes, call_it
from tm2tfr.sources.rasp.sops import Call, Node, Selector, SOp

MOST_CALLS = 1000
"""That may be nested."""
MOST_STEPS = 500_000
"""Expressions that are evaluated."""
EXIT = "exit"
Files = Callable[[str, SourceText], SourceText]
"""``load "x";`` in a source -> the source of that file."""


@dataclass
class Elaborator:
    """A program that is being elaborated.

    Args:
        log: of its text.
        files: how ``load`` finds a file.
        make: makes its nodes.
        base: the scope that every file begins with.
        foreign: sources whose parts are not shown: those of the library.
        example: what ``draw`` without an input is drawn on.
    """

    log: Log
    files: Files
    make: Maker
    base: names.Scope
    foreign: set[SourceText] = field(default_factory=set)
    example: names.Meta = "hello"
    requests: list[names.Request] = field(default_factory=list)
    last: names.Meta = None
    """The value of the last statement that is only an expression, if no assignment came after it."""
    site: s.TextPart | None = None
    calls: int = 0
    steps: int = 0
    loading: tuple[str, ...] = ()
    repeating: bool = False
    watch: Callable[[s.Statement, names.Scope], None] = lambda statement, scope: None
    """Called after each statement of a program, or of a file that it loads, that was carried out."""

    def __post_init__(self) -> None:
        self.expressions: dict[type[s.Expression], Callable[[Any, names.Scope], names.Meta]] = {
            s.Literally: lambda e, scope: e.value,
            s.Variable: self._variable,
            s.Bracketed: lambda e, scope: self.value(e.inner, scope),
            s.Prefixed: self._prefixed,
            s.Between: self._between,
            s.Ternary: self._ternary,
            s.Indexed: self._indexed,
            s.Applied: self._applied,
            s.Primitive: self._primitive,
            s.SelectCall: self._selection,
            s.Listed: lambda e, scope: [self.value(item, scope) for item in e.items],
            s.Dictionary: self._dictionary,
            s.Comprehension: self._comprehension,
            s.Broken: self._broken,
        }
        self.statements: dict[type[s.Statement], Callable[[Any, names.Scope], None]] = {
            s.Alone: self._alone,
            s.Assignment: self._assignment,
            s.Drawing: self._drawing,
            s.Loading: self._loading,
            s.Definition: lambda d, scope: names.assign(d.name, names.RaspFunction(d, scope), scope),
            s.Loop: self._loop,
            s.Repetition: lambda r, scope: repeat(self, r, scope),
            s.Setting: self._setting,
        }

    # ── statements ──────────────────────────────────────────────────────────────────────────────────────
    def run(self, statements: Sequence[s.Statement], scope: names.Scope) -> None:
        """Run statements one by one, up to ``exit``; a statement that is refused is reported, and breaks its variables."""
        for statement in statements:
            if isinstance(statement, s.Setting) and statement.kind == EXIT:
                return
            if self.attempt(statement, scope):
                self.watch(statement, scope)
            else:
                names.break_names(statement, scope)

    def attempt(self, statement: s.Statement, scope: names.Scope) -> bool:
        """Run a statement, and return whether it was carried out; why it was refused goes to the log."""
        with names.deeply():
            try:
                self.statement(statement, scope)
            except names.StatementRefused as refused:
                self._report(refused)
            except (TooManyNodes, RecursionError, MemoryError) as error:
                why = (error.what, error.remedy) if isinstance(error, TooManyNodes) else _TOO_DEEP
                self._report(names.StatementRefused(statement, *why))
            else:
                return True
        return False

    def statement(self, statement: s.Statement, scope: names.Scope) -> None:
        """Run one statement."""
        self.statements[type(statement)](statement, scope)

    def _report(self, refused: names.StatementRefused) -> None:
        if refused.what:
            self.log.inside(refused.part.source).add(refused.part.span, refused.what, refused.remedy)

    def _alone(self, statement: s.Alone, scope: names.Scope) -> None:
        self.make.statement = self.make.statement if self.calls else ""
        self.last = self.value(statement.expression, scope)

    def _assignment(self, statement: s.Assignment, scope: names.Scope) -> None:
        if not self.calls:
            self.make.statement = statement.names[0].name
        values = [self.value(expression, scope) for expression in statement.values]
        value = values[0] if len(values) == 1 else values
        several = len(statement.names) > 1
        inside = self.calls > 0 and statement.source in self.foreign  # what the library calls its parts is its own affair
        items = names.items_of(statement.names, value, statement) if several else [value]
        for name, item in zip(statement.names, items, strict=True):
            names.assign(name, item, scope)
            if isinstance(item, Node):
                call_it(item, name.name, self.make.calls, known=several or not inside)
        self.last = None

    def _loop(self, statement: s.Loop, scope: names.Scope) -> None:
        for item in self._items(statement.iterable, scope, "a loop"):
            names.bind(statement.names, item, statement.iterable, scope)
            for inner in statement.body:
                self.statement(inner, scope)

    def _items(self, iterable: s.Expression, scope: names.Scope, noun: str) -> list[names.Meta]:
        value = self.value(iterable, scope)
        if not isinstance(value, list | dict):
            remedy = f"write its characters as a list: {[*value][:3]}" if isinstance(value, str) else ""
            what = f"{noun} goes over a list or a dictionary, not over {names.sort_of(value)}"
            raise names.StatementRefused(iterable, what, remedy.replace("'", '"') or "use a list, for example range(3)")
        return list(value)

    def _setting(self, statement: s.Setting, scope: names.Scope) -> None:
        if statement.example is not None:
            value = self.value(statement.example, scope)
            self._word(value, statement.example)
            if statement.subject != "selector":
                self.example = value

    def _drawing(self, statement: s.Drawing, scope: names.Scope) -> None:
        value = self.example if statement.input is None else self.value(statement.input, scope)
        node = self.value(statement.expression, scope)
        if not isinstance(node, SOp):
            what = f"'draw' takes an s-op, not {names.sort_of(node)}"
            raise names.StatementRefused(statement.expression, what, "name an s-op")
        word = self._word(value, statement.input or statement)
        self.requests.append(names.Request(node, word, statement, drawn=True))

    def _loading(self, statement: s.Loading, scope: names.Scope) -> None:
        file = statement.file
        if file in self.loading:
            raise names.StatementRefused(statement, f"{file!r} is being loaded already", "remove one of the two 'load'")
        try:
            source = self.files(file, statement.source)
        except Tm2tfrError as error:
            scope.unknown = True
            raise names.StatementRefused(statement, str(error), "fix the name, or add the file") from None
        log = self.log.inside(source)
        outside, self.loading = (self.loading, (*self.loading, file))
        self.run(parse(log), names.Scope(self.base, taker=scope))
        self.loading = outside
        self.last = None

    # ── expressions ─────────────────────────────────────────────────────────────────────────────────────
    def value(self, expression: s.Expression, scope: names.Scope) -> names.Meta:
        """Return the value of an expression, which is then ``out``."""
        self.steps += 1
        if self.steps > MOST_STEPS:
            what = f"the program evaluates more than {MOST_STEPS:,} expressions"
            raise names.StatementRefused(expression, what, "check that its recursion ends, or use shorter lists")
        found = self.expressions[type(expression)](expression, scope)
        if type(found) is not names.Answer:
            scope.names["out"] = found
        return found

    def _values(self, expressions: Sequence[s.Expression], scope: names.Scope) -> list[names.Meta]:
        return [self.value(expression, scope) for expression in expressions]

    def at(self, part: s.TextPart) -> Maker:
        """Return the maker of nodes, for nodes that this part of the text makes."""
        self.make.part = None if self.site is None and part.source in self.foreign else self.site or part
        return self.make

    @contextmanager
    def _refusing(self, part: s.TextPart) -> Iterator[None]:
        try:
            yield
        except operators.REFUSALS as error:
            raise names.StatementRefused(part, *operators.why(error)) from None

    def _broken(self, expression: s.Broken, scope: names.Scope) -> names.Meta:
        raise names.StatementRefused(expression)

    def _variable(self, expression: s.Variable, scope: names.Scope) -> names.Meta:
        name = expression.name
        for owner in scope.chain():
            if name in owner.names:
                value = owner.names[name]
                if value is names.BROKEN:
                    raise names.StatementRefused(expression)
                return value
        if any(owner.unknown for owner in scope.chain()):
            raise names.StatementRefused(expression)
        known = scope.known()
        if name in _CALLED:
            what = f"{name!r} is a word only with its bracket: '{name}('"
            raise names.StatementRefused(expression, what, f"write {name}(…) without a blank before the bracket")
        what = f"there is no variable {name!r}{did_you_mean(name, known)}"
        raise names.StatementRefused(expression, what, "define it before this line, or fix its name")

    def _prefixed(self, expression: s.Prefixed, scope: names.Scope) -> names.Meta:
        value = self.value(expression.operand, scope)
        if expression.operator == "round" and isinstance(value, Fraction) and value.denominator == 2:
            what = f"halves are rounded to the even neighbour: this is {round(value)}"
            log = self.log.inside(expression.source)
            log.add(expression.span, what, "add a small number before rounding to round up", "warning")
        with self._refusing(expression):
            return operators.prefixed(expression.operator, value, self.at(expression))

    def _between(self, expression: s.Between, scope: names.Scope) -> names.Meta:
        left = self.value(expression.left, scope)
        right = self.value(expression.right, scope)
        try:
            if expression.operator == "in":
                return operators.contained(left, right, self.at(expression))
            return operators.between(expression.operator, left, right, self.at(expression))
        except operators.REFUSALS as error:
            raise names.StatementRefused(expression, *operators.why(error)) from None

    def _ternary(self, expression: s.Ternary, scope: names.Scope) -> names.Meta:
        condition = self.value(expression.condition, scope)
        if not isinstance(condition, Node):
            return self.value(expression.then if condition else expression.otherwise, scope)
        then = self.value(expression.then, scope)
        other = self.value(expression.otherwise, scope)
        parts = ((expression.condition, condition), (expression.then, then), (expression.otherwise, other))
        for part, value in parts:
            if not isinstance(value, SOp) and not names.is_atom(value):
                what = f"a conditional on an s-op chooses between values at each position, not {names.sort_of(value)}"
                raise names.StatementRefused(part, what, "use s-ops and single values; combine selectors with and, or, not")
        chosen: names.Meta = condition
        return self.at(expression).elementwise("if", then, chosen, other)

    def _indexed(self, expression: s.Indexed, scope: names.Scope) -> names.Meta:
        whole = self.value(expression.whole, scope)
        index = self.value(expression.index, scope)
        length = None
        if isinstance(whole, SOp) and isinstance(index, int) and index < 0:
            length = next((owner.names["length"] for owner in scope.chain() if "length" in owner.names), None)
        with self._refusing(expression):
            return operators.indexed(whole, index, self.at(expression), length if isinstance(length, SOp) else None)

    def _selection(self, expression: s.SelectCall, scope: names.Scope) -> names.Meta:
        found = []
        for part in (expression.key, expression.query):
            value = self.value(part, scope)
            if not isinstance(value, SOp) and not names.is_atom(value):
                what = f"'select' compares s-ops, not {names.sort_of(value)}"
                raise names.StatementRefused(part, what, "write select(keys, queries, relation) with two s-ops")
            found.append(value)
        return self.at(expression).select(found[0], found[1], expression.relation)

    def _primitive(self, expression: s.Primitive, scope: names.Scope) -> names.Meta:
        values = self._values(expression.arguments, scope)
        with self._refusing(expression):
            if expression.name == "range":
                return operators.ranged(values)
            if expression.name == "zip":
                return operators.zipped(values)
            if expression.name == "len":
                return operators.counted_items(values[0])
        return self._aggregate(expression, values)

    def _aggregate(self, expression: s.Primitive, values: Sequence[names.Meta]) -> names.Meta:
        selector, carried, *rest = values
        parts = expression.arguments
        if not isinstance(selector, Selector):
            what = f"'aggregate' takes a selector first, not {names.sort_of(selector)}"
            raise names.StatementRefused(parts[0], what, "write aggregate(selector, s-op)")
        if not isinstance(carried, SOp) and not names.is_atom(carried):
            what = f"'aggregate' averages an s-op, not {names.sort_of(carried)}"
            raise names.StatementRefused(parts[1], what, "name an s-op")
        if rest and not names.is_atom(rest[0]):
            what = f"the default of 'aggregate' is a single value, not {names.sort_of(rest[0])}"
            raise names.StatementRefused(parts[2], what, "choose with 'if has_focus(selector)' instead")
        return self.at(expression).aggregate(selector, carried, *rest)

    def _dictionary(self, expression: s.Dictionary, scope: names.Scope) -> names.Meta:
        found = {}
        for key, value in expression.pairs:
            name = self._key(key, scope)
            found[name] = self.value(value, scope)
        return found

    def _key(self, expression: s.Expression, scope: names.Scope) -> names.Meta:
        key = self.value(expression, scope)
        if not names.is_atom(key):
            what = f"a key of a dictionary is a single value, not {names.sort_of(key)}"
            raise names.StatementRefused(expression, what, "use an atom")
        return key

    def _comprehension(self, expression: s.Comprehension, scope: names.Scope) -> names.Meta:
        pairs = []
        for item in self._items(expression.iterable, scope, "a comprehension"):
            inner = scope.inner()
            names.bind(expression.names, item, expression.iterable, inner)
            key = None if expression.key is None else self._key(expression.key, inner)
            pairs.append((key, self.value(expression.value, inner)))
        return [value for _, value in pairs] if expression.key is None else dict(pairs)

    # ── calls ───────────────────────────────────────────────────────────────────────────────────────────
    def _applied(self, expression: s.Applied, scope: names.Scope) -> names.Meta:
        function = self.value(expression.function, scope)
        values = self._values(expression.arguments, scope)
        if isinstance(function, names.RaspFunction):
            return self.call(function, values, expression)
        if not isinstance(function, SOp | Selector):
            what = f"{names.sort_of(function)} cannot be called"
            raise names.StatementRefused(expression.function, what, "name a function, or an s-op to apply it to an input")
        if len(values) != 1:
            what = f"{names.sort_of(function)} is applied to one input, not to {len(values)}"
            raise names.StatementRefused(expression, what, 'write for example tokens("hello")')
        request = names.Request(function, self._word(values[0], expression.arguments[0]), expression)
        self.requests.append(request)
        return names.Answer(request)

    def _word(self, value: names.Meta, part: s.TextPart) -> tuple[Any, ...]:
        """Return an input from a text or a list of atoms."""
        if not isinstance(value, str | list | dict) or not all(names.is_atom(token) for token in value):
            raise names.StatementRefused(
                part, f"an input is a text or a list of atoms, not {names.sort_of(value)}", 'write "hello"'
            )
        if not value:
            raise names.StatementRefused(part, "an input has at least one token", 'write for example "hello"')
        return tuple(value)

    def call(self, function: names.RaspFunction, values: Sequence[names.Meta], call: s.TextPart) -> names.Meta:
        """Return the result of a function on values; `call` is the part of the text that calls it."""
        definition = function.definition
        if any(isinstance(result, s.Broken) for result in definition.results):
            raise names.StatementRefused(call)
        if len(values) != len(definition.parameters):
            wanted = ", ".join(parameter.name for parameter in definition.parameters)
            counted = f"{len(definition.parameters)} argument{'s' * (len(definition.parameters) != 1)}"
            what = f"{function.name!r} takes {counted}, not {len(values)}"
            raise names.StatementRefused(call, what, f"write {function.name}({wanted})")
        if self.calls >= MOST_CALLS:
            what = f"calls of {function.name!r} are nested more than {MOST_CALLS:,} deep"
            raise names.StatementRefused(call, what, "check that the recursion ends: its condition must not be an s-op")
        scope = function.scope.inner()
        foreign = definition.source in self.foreign
        outside, self.calls = self.site, self.calls + 1
        around = self.make.calls
        self.make.calls = calls = (*around, Call(function.name, tuple(values)))
        if foreign and self.site is None and call.source not in self.foreign:
            self.site = call
        try:
            for name, value in zip(definition.parameters, values, strict=True):
                names.assign(name, value, scope)
            for statement in definition.body:
                self.statement(statement, scope)
            results = self._values(definition.results, scope)
        except names.StatementRefused as refused:
            if refused.what and refused.part.source in self.foreign and call.source not in self.foreign:
                raise names.StatementRefused(call, f"in {function.name!r}: {refused.what}", refused.remedy) from None
            raise
        finally:
            self.site, self.calls, self.make.calls = outside, self.calls - 1, around
        result = results[0] if len(results) == 1 else results
        if isinstance(result, Node) and not function.name.startswith("_"):
            call_it(result, "", calls)
        if foreign and isinstance(result, Node) and result.returned is None and result.made_in[: len(calls)] == calls:
            object.__setattr__(result, "returned", calls[-1])
        return result


_CALLED = ("select", "aggregate", "range", "zip", "len")
_TOO_DEEP = "the statement is nested too deeply", "use variables for its parts, and check that its recursion ends"
