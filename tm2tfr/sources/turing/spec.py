"""Turing machines: the frozen `Machine`, the textbook 7-tuple and the few conventions around it.

Source of the definition: Sipser, *Introduction to the Theory of Computation*, Definition 3.3, as the chapter
uses it; moves are ``-1, 0, +1`` (construction, repair 1), δ may be partial (repair 7).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, islice
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast
from unicodedata import east_asian_width

from tm2tfr.base.errors import Diagnostic, InputError, SpecError, counted, did_you_mean, listing, visible

Outcome = Literal["accept", "reject", "halt", "limit"]
TapeKind = Literal["one-way", "two-way"]

OUTCOMES: tuple[Outcome, ...] = ("accept", "reject", "halt", "limit")
TAPES: tuple[TapeKind, ...] = ("one-way", "two-way")
MOVES: Mapping[str, int] = {"L": -1, "S": 0, "R": +1}
MOVE_LETTERS: Mapping[int, str] = {-1: "L", 0: "S", +1: "R"}


class Rule(NamedTuple):
    """δ(q, a) = (r, b, m): go to `state`, write `write`, move the head by `move` cells (-1, 0 or +1)."""

    state: str
    write: str
    move: int


MOST_PROBLEMS = 100
"""Nobody reads more at once, and suggestions for a hundred thousand problems would take minutes."""


class Problem(NamedTuple):
    """One thing wrong with a machine.

    `at` is a path such as ``("table", "q0", "1", "state")``; a path to a word may end in a position in it,
    ``("input", "3")``.
    """

    at: tuple[str, ...]
    what: str
    remedy: str


class MachineError(SpecError):
    """Raised by `Machine`; `problems` has the path of each complaint, for readers that know its place in a text."""

    def __init__(self, name: str, problems: Iterable[Problem]) -> None:
        self.problems: tuple[Problem, ...] = tuple(problems)
        found = (Diagnostic(what=p.what, remedy=p.remedy, file=name) for p in self.problems)
        super().__init__(dict.fromkeys(found))


@dataclass(frozen=True, kw_only=True)
class Example:
    """An input with its expected outcome and, if its author states them, steps and final tape."""

    input: str
    outcome: Outcome
    steps: int | None = None
    tape: str | None = None
    max_steps: int | None = None


class Transitions(Mapping[tuple[str, str], Rule]):
    """δ as an immutable, hashable mapping ``(state, symbol) -> Rule``, in the order it was written."""

    __slots__ = ("_rules",)

    def __init__(self, rules: Mapping[tuple[str, str], tuple[str, str, int | str]]) -> None:
        self._rules = {
            (q, a): Rule(r, b, MOVES.get(m, m) if isinstance(m, str) else m)  # type: ignore[arg-type]
            for (q, a), (r, b, m) in rules.items()
        }

    def __getitem__(self, key: tuple[str, str]) -> Rule:
        return self._rules[key]

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return iter(self._rules)

    def __len__(self) -> int:
        return len(self._rules)

    def __hash__(self) -> int:
        return hash(frozenset(self._rules.items()))

    def __repr__(self) -> str:
        return repr(self._rules)


@dataclass(frozen=True, kw_only=True, repr=False)
class Machine:
    """A deterministic one-tape Turing machine (Q, Σ, Γ, δ, q_start, q_accept, q_reject).

    Args:
        transitions: δ, ``{(state, symbol): (new state, symbol written, move)}``; a move is -1, 0, +1 or
            one of the letters ``L S R``. δ may be partial.
        start: q_start.
        blank: the blank symbol, one character, in Γ but not in Σ.
        states: Q; by default every state that is named anywhere; if given, no other state may be named.
        input_alphabet: Σ; by default every symbol but the blank.
        tape_alphabet: Γ; by default every symbol that is named anywhere; if given, no other symbol may be named.
        accept, reject: states with a verdict on entry. ``None`` means "not stated", see `decides`.
        tape: ``"one-way"`` (the head stays at cell 0 when it moves left there) or ``"two-way"``.
        input: the default input.
        yaml: the text that the machine was read from, if any; ignored by ``==``.
        about_input: for errors: how to write an input with other symbols in the machine's format; ignored by ``==``.

    Raises:
        MachineError: a `SpecError` with every problem found, not only the first.
    """

    transitions: Mapping[tuple[str, str], Rule]
    start: str
    blank: str
    states: tuple[str, ...] = ()
    input_alphabet: tuple[str, ...] | None = None
    tape_alphabet: tuple[str, ...] = ()
    accept: tuple[str, ...] | None = None
    reject: tuple[str, ...] | None = None
    tape: TapeKind = "two-way"
    name: str = "machine"
    description: str = ""
    source: str = ""
    input: str | None = None
    examples: tuple[Example, ...] = ()
    yaml: str | None = field(default=None, compare=False)
    about_input: str = field(default="", compare=False, repr=False)

    def __post_init__(self) -> None:
        rules = Transitions(cast(Any, self.transitions))
        accept, reject = _names(self.accept), _names(self.reject)
        shown = [self.input or "", *(e.input for e in self.examples)]
        in_rules = [a for _, a in rules] + [rule.write for rule in rules.values()]
        sigma, gamma = alphabets(in_rules, self.blank, shown, self.input_alphabet, self.tape_alphabet)
        in_rules = [q for q, _ in rules] + [rule.state for rule in rules.values()]
        states = self.states or [self.start, *in_rules, *(accept or ()), *(reject or ())]
        normal: dict[str, object] = {
            "transitions": rules,
            "accept": accept,
            "reject": reject,
            "states": _distinct(states),
            "input_alphabet": sigma,
            "tape_alphabet": gamma,
            "examples": tuple(self.examples),
        }
        for name, value in normal.items():
            object.__setattr__(self, name, value)
        found = problems(self)
        if found:
            raise MachineError(self.name, found)

    # ── doors to the formats, which build on this module: for users; tests/house/test_imports.py ──────────────
    @classmethod
    def from_yaml(cls, text: str, *, file: str = "<yaml>") -> Machine:
        """Read a machine from YAML `text`; `file` is its name in error messages.

        Raises:
            SpecError: with every error of the document.
        """
        from tm2tfr.sources.turing.formats import native  # noqa: PLC0415

        return native.read(text, file=file).machine

    @classmethod
    def from_automata(cls, dtm: object, *, name: str = "dtm") -> Machine:
        """Return a `DTM` from automata-lib as a machine; the inverse of `to_automata`.

        Raises:
            SpecError: if it has several tapes or choices, or is not a `DTM`.
        """
        from tm2tfr.sources.turing.formats import automata_lib  # noqa: PLC0415

        return automata_lib.from_dtm(dtm, name=name)

    def to_automata(self) -> Any:
        """Return this machine as a `DTM` from automata-lib, or raise ConversionError if that cannot express it."""
        from tm2tfr.sources.turing.formats import automata_lib  # noqa: PLC0415

        return automata_lib.to_dtm(self)

    @classmethod
    def load(cls, where: str | Path) -> Machine:
        """Load a machine from a path, or a shipped one by its name. See `tm2tfr.sources.turing.library.load`."""
        from tm2tfr.sources.turing.library import load  # noqa: PLC0415

        return load(where)

    # ── the textbook ────────────────────────────────────────────────────────────────────────────────────
    @property
    def seven_tuple(self) -> tuple[object, ...]:
        """(Q, Σ, Γ, δ, q_start, q_accept, q_reject), the last two as tuples of states."""
        return (
            self.states,
            self.input_alphabet,
            self.tape_alphabet,
            self.transitions,
            self.start,
            self.accept_states,
            self.reject_states,
        )

    @cached_property
    def decides(self) -> bool:
        """Whether halting is a verdict: some state accepts or rejects, by key or by the name ``accept``."""
        return self.accept is not None or self.reject is not None or bool(self.accept_states)

    @cached_property
    def accept_states(self) -> tuple[str, ...]:
        """The states that accept on entry; without any key, a state named ``accept`` that has no rules."""
        if self.accept is not None or self.reject is not None:
            return self.accept or ()
        return tuple(q for q in self._ruleless if q == "accept")

    @cached_property
    def reject_states(self) -> tuple[str, ...]:
        """The states that reject on entry: those listed and, in a machine that decides, every other dead end."""
        if not self.decides:
            return ()
        return _distinct([*(self.reject or ()), *(q for q in self._ruleless if q not in self.accept_states)])

    @cached_property
    def halting_states(self) -> frozenset[str]:
        """The states in which no step is ever made."""
        return frozenset({*self.accept_states, *self.reject_states, *self._ruleless})

    @cached_property
    def _ruleless(self) -> tuple[str, ...]:
        busy = {q for q, _ in self.transitions}
        return tuple(q for q in self.states if q not in busy)

    @cached_property
    def missing_rules(self) -> tuple[tuple[str, str], ...]:
        """The (state, symbol) pairs without a rule, except in halting states (construction, repair 7)."""
        working = [q for q in self.states if q not in self.halting_states]
        return tuple((q, a) for q in working for a in self.tape_alphabet if (q, a) not in self.transitions)

    @property
    def missing_outcome(self) -> Outcome:
        """The outcome where a rule is missing: ``reject`` in a machine that decides, otherwise ``halt``."""
        return "reject" if self.decides else "halt"

    def outcome_of(self, state: str) -> Outcome | None:
        """Return the outcome on entering `state`, or None if it is not a halting state."""
        if state in self.accept_states:
            return "accept"
        if state in self.reject_states:
            return "reject"
        return "halt" if state in self.halting_states else None

    def check_input(self, word: str) -> str:
        """Return `word` if it is over the input alphabet.

        Raises:
            InputError: for a symbol outside the alphabet; it names the first, and marks those near it.
        """
        sigma = self.input_alphabet or ()
        known = frozenset(sigma)
        first = next((i for i, a in enumerate(word) if a not in known), None)
        if first is None:
            return word
        near = word[max(0, first - 60) : first + 60]
        shown = "".join(a if a.isprintable() else "\N{REPLACEMENT CHARACTER}" for a in near)
        marks = "".join(("^" if a not in known else " ") * (1 + (east_asian_width(a) in "WF")) for a in near)
        symbols = "{" + ", ".join(map(visible, sigma)) + "}" if sigma else "empty"
        why = " (it is the blank)" if word[first] == self.blank else ""
        others = self.about_input and f", or {self.about_input}"
        raise InputError(
            f"input of {visible(self.name)}: position {first}: {word[first]!r} is not in the input alphabet{why}: "
            f"use only its symbols ({symbols}){others}\n  {shown}\n  {marks.rstrip()}"
        )

    # ── shown to people ─────────────────────────────────────────────────────────────────────────────────
    def __repr__(self) -> str:
        alphabets = (("Σ", self.input_alphabet), ("Γ", self.tape_alphabet))
        sets = " ".join(f"{n}={{{', '.join('␣' if a == ' ' else a for a in s)}}}" for n, s in alphabets if s)
        ends = [f"{n}={', '.join(q)}" for n, q in (("accept", self.accept_states), ("reject", self.reject_states)) if q]
        sizes = counted(len(self.states), "state"), counted(len(self.transitions), "rule")
        parts = [*sizes, sets, f"blank {self.blank!r}"]
        return visible(f"<Machine {self.name}: {', '.join([*parts, f'{self.tape} tape', f'start {self.start}', *ends])}>")

    def _repr_html_(self) -> str:
        """Return the state graph, if Graphviz's ``dot`` is there to draw it, and δ as a table, for notebooks."""
        from tm2tfr.sources.turing.drawing import html  # noqa: PLC0415

        return html(self)


def alphabets(
    in_rules: list[str], blank: str, words: list[str], sigma: Iterable[str] | None, gamma: Iterable[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return Σ and Γ of a machine, of which perhaps neither is stated; words: those that are shown with it."""
    known = _distinct(sigma or ())
    full = _distinct(gamma or [*known, *in_rules, blank])
    if sigma is None:
        full = full if gamma else _distinct([*full, *"".join(words)])
        known = tuple(a for a in full if a != blank)
    return known, full


def problems(machine: Machine) -> list[Problem]:
    """Return the reasons why `machine` is not a Turing machine, in reading order, at most `MOST_PROBLEMS`."""
    found = chain(_symbol_problems(machine), _state_problems(machine), _rule_problems(machine), _example_problems(machine))
    return list(islice(found, MOST_PROBLEMS))


def _symbol_problems(m: Machine) -> Iterator[Problem]:
    sigma, gamma = frozenset(m.input_alphabet or ()), frozenset(m.tape_alphabet)
    in_rules = {a for _, a in m.transitions} | {rule.write for rule in m.transitions.values()}  # see there
    if len(m.blank) != 1:
        yield Problem(
            ("blank",),
            f"the blank must be one character, not {m.blank!r}" if m.blank else "there is no blank",
            "write for example blank: ' ' (with the quotes) or blank: _",
        )
    elif m.blank not in gamma:
        problem = f"the blank {m.blank!r} is not in the tape alphabet"
        yield Problem(("tape alphabet",), problem, "add it there")
    for a in m.input_alphabet or ():
        at = ("input alphabet", a)
        if len(a) != 1 and a not in in_rules:
            yield Problem(at, f"the symbol {a!r} is not one character", "a symbol is exactly one character")
        elif a == m.blank:
            yield Problem(
                at,
                f"the blank {a!r} is in the input alphabet",
                "remove it, or choose another blank: a word could not be distinguished from the empty cells after it",
            )
        elif a not in gamma:
            yield Problem(at, f"the symbol {a!r} is not in the tape alphabet", "add it there, or correct it")
    for a in m.tape_alphabet:
        if len(a) != 1 and a not in {*in_rules, *sigma, m.blank}:
            problem = f"the symbol {a!r} is not one character"
            yield Problem(("tape alphabet", a), problem, "a symbol is exactly one character")
    yield from _word_problems(m, ("input",), m.input or "", sigma | {m.blank})
    if m.tape not in TAPES:
        problem = f"unknown kind of tape {m.tape!r}{did_you_mean(m.tape, TAPES)}"
        yield Problem(("tape",), problem, "write one-way or two-way")


def _word_problems(m: Machine, at: tuple[str, ...], word: str, known: frozenset[str]) -> Iterator[Problem]:
    for i, a in enumerate(word):
        if a not in known:
            problem = f"position {i} of the input, {a!r}, is not in the input alphabet"
            yield Problem((*at, str(i)), problem, f"use only {listing(m.input_alphabet or ()) or 'the empty word'}")
            return


def _state_problems(m: Machine) -> Iterator[Problem]:
    states, busy, accept = frozenset(m.states), {q for q, _ in m.transitions}, frozenset(m.accept or ())
    if not m.start:
        yield Problem(("start state",), "there is no start state", "add a line 'start state: NAME'")
    elif m.start not in states:
        yield _unknown(("start state",), m.start, m)
    if "" in states and m.start:
        yield Problem(("table", ""), "a state has an empty name", "name every state")
    for key, named in (("accept", m.accept or ()), ("reject", m.reject or ())):
        for q in named:
            if q not in states:
                yield _unknown((key, q), q, m)
            if q in busy:
                yield Problem(
                    (key, q),
                    f"the {key} state {q!r} has rules",
                    f"the machine stops on entering it: remove its rules, or remove it from {key}",
                )
    for q in m.reject or ():
        if q in accept:
            yield Problem(("reject", q), f"state {q!r} both accepts and rejects", "list it under one of the two keys")


def _rule_problems(m: Machine) -> Iterator[Problem]:
    states, gamma = frozenset((*m.states, *(m.accept or ()), *(m.reject or ()))), frozenset(m.tape_alphabet)
    for (q, a), rule in m.transitions.items():
        at = ("table", q, a)
        if q not in states:
            yield _unknown(("table", q), q, m)
        for place, symbol in ((at, a), ((*at, "write"), rule.write)):
            if len(symbol) != 1:
                several = "; write several symbols as a list, [0, 1]" if "," in symbol else ""
                remedy = f"a symbol is exactly one character{several}"
                yield Problem(place, f"the symbol {symbol!r} is not one character", remedy)
            elif symbol not in gamma:
                yield Problem(place, f"the symbol {symbol!r} is not in the tape alphabet", "add it there, or correct it")
        if rule.move not in MOVE_LETTERS:
            yield Problem((*at, "move"), f"{rule.move!r} is not a move", "use L, R or S")
        if rule.state not in states:
            yield _unknown((*at, "state"), rule.state, m)


def _unknown(at: tuple[str, ...], state: str, m: Machine) -> Problem:
    close = "" if state == at[0] else did_you_mean(state, m.states[:1000])  # not for `reject: reject`
    how = ", without rules" if at[0] in ("accept", "reject") else ""
    return Problem(at, f"unknown state {state!r}{close}", f"use a state in the table, or add this one to it{how}")


def _example_problems(m: Machine) -> Iterator[Problem]:
    sigma = frozenset(m.input_alphabet or ())
    for k, example in enumerate(m.examples):
        yield from _word_problems(m, ("examples", str(k), "input"), example.input, sigma)
        if example.outcome not in OUTCOMES:
            close = did_you_mean(example.outcome, OUTCOMES)
            problem = f"unknown outcome {example.outcome!r}{close}"
            yield Problem(("examples", str(k), "outcome"), problem, "write accept, reject, halt or limit")


def _names(named: str | Iterable[str] | None) -> tuple[str, ...] | None:
    return (named,) if isinstance(named, str) else None if named is None else _distinct(named)


def _distinct(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))
