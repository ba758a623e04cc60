"""Deterministic Turing machines from automata-lib (https://github.com/caleb531/automata): the class `DTM`.

Transitions are ``{state: {symbol: (new state, symbol written, "L" | "R" | "N")}}``, the tape is two-way, a final
state accepts on entry and has no rules, and every other halt rejects. Only `to_dtm` needs automata-lib.

A call ``DTM(states={…}, …)`` in Python code whose arguments are literals is read as text: no code is executed.
"""

from __future__ import annotations

import ast
import re
import warnings
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from typing import Any

from tm2tfr.base.errors import ConversionError, Diagnostic, SpecError
from tm2tfr.base.text.nodes import Node, Scalar
from tm2tfr.base.text.source import Log, Mark, SourceText
from tm2tfr.sources.turing.formats.draft import Draft, Loaded, stem
from tm2tfr.sources.turing.formats.lossless import Translation, Written, two_way, with_verdicts
from tm2tfr.sources.turing.spec import Machine, Rule

MOVES = {"L": -1, "N": 0, "R": +1}
LETTERS = {move: name for name, move in MOVES.items()}
_FIELDS = ("states", "input_symbols", "tape_symbols", "transitions", "initial_state", "blank_symbol", "final_states")


def from_dtm(dtm: object, *, name: str = "dtm") -> Machine:
    """Return a `DTM` as a machine; states that are not strings are named by their ``str``.

    Raises:
        SpecError: if it has several tapes, choices or clashing names, or is not a machine at all.
    """
    missing = [field for field in _FIELDS if not hasattr(dtm, field)]
    problem = f"{type(dtm).__name__} is not a DTM from automata-lib"
    if missing:
        raise _refusal(name, f"{problem}: it has no {', '.join(missing)}", "pass an automata.tm.dtm.DTM")
    if hasattr(dtm, "n_tapes"):
        raise _refusal(name, f"{problem}: it has {dtm.n_tapes} tapes", "machines here have one: pass a DTM")
    source: Any = dtm
    names = _names(source.states, name)
    rules: dict[tuple[str, str], Rule] = {}
    for q, row in source.transitions.items():
        for a, result in row.items():
            if isinstance(result, set | frozenset | list):
                remedy = "machines here are deterministic: pass a DTM"
                raise _refusal(name, f"state {names[q]!r} has a choice on {a!r} (nondeterminism)", remedy)
            r, b, move = result
            rules[names[q], a] = Rule(names[r], b, MOVES[move])
    gamma = _ordered(source.tape_symbols, (a for _, a in rules))
    return Machine(
        transitions=rules,
        start=names[source.initial_state],
        blank=source.blank_symbol,
        states=_ordered(names.values(), [names[source.initial_state], *(q for q, _ in rules)]),
        input_alphabet=_ordered(source.input_symbols, gamma),
        tape_alphabet=gamma,
        accept=_ordered((names[q] for q in source.final_states), ()),
        name=name,
    )


def _names(states: Iterable[object], name: str) -> dict[Any, str]:
    names = {q: q if isinstance(q, str) else str(q) for q in states}
    if len(set(names.values())) < len(names):
        twice = next(q for q in names.values() if list(names.values()).count(q) > 1)
        raise _refusal(name, f"two states are both called {twice!r}", "rename one of them")
    return names


def _ordered(some: Iterable[str], first: Iterable[str]) -> tuple[str, ...]:
    """Return the members of a set: those in `first`, in that order, then the others, sorted."""
    members = frozenset(some)
    return tuple(dict.fromkeys([*(a for a in first if a in members), *sorted(members)]))


def _refusal(name: str, what: str, remedy: str) -> SpecError:
    return SpecError([Diagnostic(what=what, remedy=remedy, file=name)])


# ── code, which is read and not executed ────────────────────────────────────────────────────────────────────
_LIKE = re.compile(r"\bN?DTM\s*\(|\bMNTM\s*\(")
_OTHER = {"NTM": "may choose between rules", "MNTM": "has several tapes", "MultitapeNTM": "has several tapes"}
_LITERAL = "write it out: no code is executed, so the arguments must be literals such as {'q0', 'q1'}"


def looks_like(text: str) -> bool:
    """Return whether a text has a call of the class."""
    return _LIKE.search(text) is not None and "transitions" in text


def read(source: SourceText) -> Loaded:
    """Read the call ``DTM(…)`` in Python code.

    Raises:
        SpecError: with every error; also if there is no such call, or several, or an argument is not a literal.
    """
    return _Code(Draft(Log(source), values={"name": stem(source.file)})).read()


@dataclass
class _Code:
    draft: Draft
    bytes: dict[int, list[int]] = field(default_factory=dict)
    """Of a line that is not ASCII, where each of its characters ends, in bytes."""

    def read(self) -> Loaded:
        fields = self.fields(self.call())
        self.draft.log.conclude()
        values, marks = self.draft.values, self.draft.marks
        for ours, theirs, key in (
            ("states", "states", "states"),
            ("input_alphabet", "input_symbols", "input alphabet"),
            ("tape_alphabet", "tape_symbols", "tape alphabet"),
            ("accept", "final_states", "accept"),
        ):
            names = list(self.members(fields[theirs], theirs))
            values[ours] = tuple(dict.fromkeys(node.text for node in names))
            marks |= {("table" if key == "states" else key, node.text): node for node in names}
        for ours, theirs, key in (("start", "initial_state", "start state"), ("blank", "blank_symbol", "blank")):
            found = self.text(fields[theirs])
            values[ours], marks[key,] = (found.text if found else ""), self.node(fields[theirs])
        values["transitions"] = self.rules(fields["transitions"])
        values["input_alphabet"] = tuple(a for a in values["input_alphabet"] if a != values["blank"])
        self.draft.log.conclude()
        return self.draft.loaded()

    def call(self) -> ast.Call:
        """Return the only call of the class."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # about escapes in other people's strings
                tree = ast.parse(self.draft.log.source.text)
        except SyntaxError as error:
            at = Mark(max(0, (error.lineno or 1) - 1), max(0, (error.offset or 1) - 1))
            self.draft.error(Node(at, at), f"this is not Python ({error.msg})", "fix it, or save the file again")
            raise self.draft.log.failure() from None
        except (RecursionError, MemoryError, ValueError):
            self.draft.error(None, "this is nested too deeply", "check that this is the right file")
            raise self.draft.log.failure() from None
        calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
        found = [call for call in calls if _called(call) == "DTM"]
        for call in calls:
            if (why := _OTHER.get(_called(call))) is not None:
                self.draft.error(
                    self.node(call.func), f"{_called(call)} {why}", "machines here are deterministic, on one tape"
                )
        if not found and not self.draft.log.found:
            self.draft.error(
                None, "no call DTM(…) is in this code", "write the machine as DTM(states={…}, …), with literals"
            )
        for call in found[1:]:
            self.draft.error(self.node(call.func), "a second machine begins here", "keep one machine per file")
        if self.draft.log.found:
            raise self.draft.log.failure()
        return found[0]

    def fields(self, call: ast.Call) -> dict[str, ast.expr]:
        """Return the arguments by their names."""
        found: dict[str, ast.expr] = {}
        for given in call.args:
            self.draft.error(self.node(given), "this argument has no name", f"write it as one of {', '.join(_FIELDS)}")
        for keyword in call.keywords:
            if keyword.arg is None:
                self.draft.error(self.node(keyword.value), "these arguments are not written out", _LITERAL)
            elif keyword.arg in _FIELDS:
                found[keyword.arg] = keyword.value
            else:
                close = self.draft.nearest(keyword.arg, _FIELDS, {})
                self.draft.warn(self.node(keyword.value), f"unknown argument {keyword.arg!r}{close}", "it is ignored")
        missing = [name for name in _FIELDS if name not in found]
        if missing and not self.draft.log.broken:
            self.draft.error(self.node(call.func), f"there is no argument {missing[0]!r}", "add it")
        return found

    def members(self, node: ast.expr, name: str) -> Iterator[Scalar]:
        """Yield the members of a set, a list or a tuple, also within ``set(…)``."""
        inside = node
        if (
            isinstance(node, ast.Call)
            and _called(node) in ("set", "frozenset")
            and not node.keywords
            and len(node.args) < 2
        ):
            if not node.args:
                return
            inside = node.args[0]
            if isinstance(inside, ast.Constant) and isinstance(inside.value, str):
                yield from (Scalar(*self.place(inside), a, plain=False) for a in inside.value)
                return
        if not isinstance(inside, ast.Set | ast.List | ast.Tuple):
            self.draft.error(self.node(node), f"{name} is not a set of literals", _LITERAL)
            return
        yield from (found for element in inside.elts if (found := self.text(element)) is not None)

    def rules(self, node: ast.expr) -> dict[tuple[str, str], Rule]:
        """Return δ, and mark where its rules are."""
        found: dict[tuple[str, str], Rule] = {}
        first: dict[tuple[str, ...], Scalar] = {}
        for state, row in self.items(node, "transitions"):
            if first.setdefault((state.text,), state) is not state:
                self.draft.twice(state, first[state.text,], f"the state {state.text!r}")
            self.draft.marks.setdefault(("table", state.text), state)
            for symbol, result in self.items(row, f"the row of state {state.text!r}"):
                key = state.text, symbol.text
                if first.setdefault(key, symbol) is not symbol:
                    self.draft.twice(symbol, first[key], f"the rule for state {key[0]!r} and symbol {key[1]!r}")
                elif (rule := self.rule(result, key)) is not None:
                    found[key], self.draft.marks["table", *key] = rule, symbol
        return found

    def items(self, node: ast.expr, name: str) -> Iterator[tuple[Scalar, ast.expr]]:
        """Yield the keys and values of a dictionary."""
        if not isinstance(node, ast.Dict):
            self.draft.error(self.node(node), f"{name} is not a dictionary of literals", _LITERAL)
            return
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                self.draft.error(self.node(value), f"{name} is not written out", _LITERAL)
            elif (found := self.text(key)) is not None:
                yield found, value

    def rule(self, node: ast.expr, key: tuple[str, str]) -> Rule | None:
        """Return a rule, ``(state, symbol, move)``."""
        if isinstance(node, ast.Set) or (
            isinstance(node, ast.List | ast.Tuple) and any(isinstance(e, ast.Tuple) for e in node.elts)
        ):
            problem = f"state {key[0]!r} has a choice on {key[1]!r} (nondeterminism)"
            self.draft.error(self.node(node), problem, "keep one of the rules: machines here are deterministic")
            return None
        if not isinstance(node, ast.Tuple | ast.List) or len(node.elts) != 3:
            self.draft.error(
                self.node(node), "this is not a rule", "a rule is ('state', 'symbol', 'L'), or R, or N to stay"
            )
            return None
        parts = [self.text(element) for element in node.elts]
        if None in parts:
            return None
        state, symbol, move = (part for part in parts if part is not None)
        self.draft.marks["table", *key, "state"], self.draft.marks["table", *key, "write"] = state, symbol
        if move.text not in MOVES:
            self.draft.error(move, f"{move.text!r} is not a move", "use L, R or N")
            return None
        return Rule(state.text, symbol.text, MOVES[move.text])

    def text(self, node: ast.expr) -> Scalar | None:
        """Return a literal text or number as text; report anything else."""
        value = node.value if isinstance(node, ast.Constant) else None
        if isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool) and abs(value) < 10**18):
            return Scalar(*self.place(node), str(value), plain=False)
        self.draft.error(self.node(node), "this is not a literal text", _LITERAL)
        return None

    def node(self, node: ast.expr) -> Node:
        return Node(*self.place(node))

    def place(self, node: ast.expr) -> tuple[Mark, Mark]:
        """Return where code is, in characters: Python counts bytes of UTF-8."""
        ends = ((node.lineno, node.col_offset), (node.end_lineno or node.lineno, node.end_col_offset or 0))
        first, last = (Mark(n - 1, self.column(n - 1, k)) for n, k in ends)
        return first, last

    @cached_property
    def lines(self) -> list[str]:
        """The lines of the code, as Python counts them."""
        return re.split("\r\n|[\r\n]", self.draft.log.source.text)

    def column(self, line: int, offset: int) -> int:
        """Return the number of the characters before a byte of a line."""
        if self.lines[line].isascii():
            return offset
        if line not in self.bytes:
            self.bytes[line] = list(accumulate(len(sign.encode()) for sign in self.lines[line]))
        return bisect_right(self.bytes[line], offset)


def _called(call: ast.Call) -> str:
    """Return the name that is called, without its module."""
    return call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")


# ── out ─────────────────────────────────────────────────────────────────────────────────────────────────
def arguments(machine: Machine) -> dict[str, Any]:
    """Return the keyword arguments that make `machine` as a `DTM`.

    Raises:
        ConversionError: if it halts without verdicts, or may run into the end of a one-way tape.
    """
    return _arguments(_translated(machine).machine)


def to_dtm(machine: Machine) -> Any:
    """Return `machine` as a `DTM`.

    Raises:
        ConversionError: as for `arguments`, and if automata-lib is not installed.
    """
    given = arguments(machine)
    try:
        from automata.tm.dtm import DTM  # noqa: PLC0415
    except ImportError:
        raise ConversionError("automata-lib is not installed: pip install automata-lib") from None
    return DTM(**given)


def write(machine: Machine) -> Written:
    """Return Python code that makes `machine` with automata-lib.

    Raises:
        ConversionError: as for `arguments`.
    """
    t = _translated(machine)
    given = _arguments(t.machine)
    lines = [f'"""{_docstring(t.machine)}"""', "", "from automata.tm.dtm import DTM", "", "dtm = DTM("]
    for key, value in given.items():
        if key == "transitions":
            lines += ["    transitions={"]
            for q, row in value.items():
                lines += [f"        {q!r}: {{", *(f"            {a!r}: {rule!r}," for a, rule in row.items()), "        },"]
            lines += ["    },"]
        else:
            shown = repr(value) if isinstance(value, str) else _set(value)
            lines += [f"    {key}={shown},"]
    return t.written("\n".join([*lines, ")", ""]))


def _translated(machine: Machine) -> Translation:
    t = two_way(with_verdicts(Translation(machine, "automata-lib")))
    if machine.start in machine.accept_states:
        raise t.refusal("its start state accepts, which it does not allow", "choose another format")
    return t


def _arguments(m: Machine) -> dict[str, Any]:
    rows: dict[str, dict[str, tuple[str, str, str]]] = {q: {} for q in m.states if q not in m.halting_states}
    rows.setdefault(m.start, {})  # a DTM insists on it
    for (q, a), rule in m.transitions.items():
        rows[q][a] = (rule.state, rule.write, LETTERS[rule.move])
    return {
        "states": set(m.states),
        "input_symbols": set(m.input_alphabet or ()),
        "tape_symbols": set(m.tape_alphabet),
        "transitions": rows,
        "initial_state": m.start,
        "blank_symbol": m.blank,
        "final_states": set(m.accept_states),
    }


def _set(members: set[str]) -> str:
    return f"{{{', '.join(map(repr, sorted(members)))}}}" if members else "set()"


def _docstring(m: Machine) -> str:
    text = " ".join(f"{m.name}: {m.description}".split()).rstrip(": ") or "A machine"
    return text.replace("\\", "\\\\").replace('"', "'") + ("" if text.endswith(".") else ".")
