"""Blueprints in English, as in Advent of Code 2017, day 25 (https://adventofcode.com/2017/day/25).

``Begin in state A. Perform a diagnostic checksum after 6 steps. In state A: If the current value is 0: - Write the
value 1. - Move one slot to the right. - Continue with state B.``, one sentence or several per line. The tape is two-way and
its blank is 0; a state without rules and a value without a rule halt, which no machine of the puzzle does. The checksum,
the number of cells that hold 1, is not part of a machine: the number of steps is in its description and, if it is at most
`MOST_STEPS` and no run can halt, in an example that the limit cuts off.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from tm2tfr.base.text.nodes import Node, Scalar
from tm2tfr.base.text.source import Log, Mark, SourceText
from tm2tfr.sources.turing.formats import lossless
from tm2tfr.sources.turing.formats.draft import Draft, Loaded, matched, stem
from tm2tfr.sources.turing.spec import Example, Machine, Rule

BLANK = "0"
MOST_STEPS = 10_000
"""A longer run takes longer than anybody wants to wait for an example."""

_NAME = r"(?P<value>[^\s.:]+)"
_LINES = {
    "start": (rf"Begin in state {_NAME}\.?", "Begin in state A."),
    "steps": (r"Perform a diagnostic checksum after (?P<value>\S+) steps?\.?", ""),
    "state": (rf"In state {_NAME}:?", "In state A:"),
    "read": (r"If the current value is (?P<value>\S+?):?", "If the current value is 0:"),
    "write": (r"-? *Write the value (?P<value>\S+?)\.?", "- Write the value 1."),
    "move": (r"-? *Move one slot to the (?P<value>\w+)\.?", "- Move one slot to the right."),
    "new": (rf"-? *Continue with state {_NAME}\.?", "- Continue with state A."),
}
_PATTERNS = {kind: re.compile(rf"{pattern}(?:$|(?<=[.:])(?=\s))", re.IGNORECASE) for kind, (pattern, _) in _LINES.items()}
_SPACE = re.compile(r"\s*")
_LIKE = re.compile(
    r"^[ \t]*(?:In state [^\s.:]+:|If the current value is \S+:)(?:[ \t]*\r?$|\s+-? *(?:Write the value|If the current) )"
    r"|\bIn state [^\s.:]+:\s+If the current value is \S+:\s",
    re.MULTILINE | re.IGNORECASE,
)
_KNOWN = "; ".join(f"'{example}'" for _, example in _LINES.values() if example)
_COUNT = re.compile(r"checksum after ([0-9,]{1,24}) steps")
_MOVES = {"left": -1, "right": +1}


def looks_like(text: str) -> bool:
    """Return whether two headings of a blueprint are in a text, each on a line of its own or before what belongs to it."""
    return len(_LIKE.findall(text)) > 1


def read(source: SourceText) -> Loaded:
    """Read a machine from a blueprint.

    Raises:
        SpecError: with every error.
    """
    draft = Draft(Log(source), values={"name": stem(source.file), "blank": BLANK})
    return _Blueprint(draft).read()


@dataclass
class _Blueprint:
    draft: Draft
    start: Scalar | None = None
    steps: int | None = None
    state: Scalar | None = None
    reads: Scalar | None = None
    parts: dict[str, Scalar] = field(default_factory=dict)
    """The parts of the current rule: the value written, the move and the next state."""
    states: dict[str, Scalar] = field(default_factory=dict)
    rules: dict[tuple[str, str], tuple[Rule, dict[str, Scalar]]] = field(default_factory=dict)

    def read(self) -> Loaded:
        for number, line in enumerate(self.draft.log.source.lines):
            if line.strip():
                self.line(number, line)
        self.conclude_rule()
        if self.start is None:
            self.draft.error(None, "no line says in which state a run begins", "add 'Begin in state A.'")
        elif not self.states:
            self.draft.error(None, "there are no states", "add 'In state A:', and below it what is done there")
        elif self.start.text not in self.states:
            remedy = f"add 'In state {self.start.text}:', and below it what is done there"
            self.draft.error(self.start, f"the state {self.start.text!r} is not described", remedy)
        self.draft.log.conclude()
        self.draft.values |= self.values()
        machine = self.draft.machine()
        self.without_rules()
        return Loaded(machine=machine, warnings=self.draft.log.conclude())

    def line(self, number: int, line: str) -> None:
        """Read the sentences of one line."""
        at, end = len(line) - len(line.lstrip()), len(line.rstrip())
        while at < end:
            sentences = ((kind, pattern.match(line, at, end)) for kind, pattern in _PATTERNS.items())
            kind, found = next((sentence for sentence in sentences if sentence[1] is not None), ("", None))
            if found is None:
                node = Node(Mark(number, at), Mark(number, end))
                self.draft.error(node, "this is not a sentence of a blueprint", f"write one of {_KNOWN}")
                return
            getattr(self, f"read_{kind}")(matched(number, found, "value"))
            space = _SPACE.match(line, found.end())
            at = space.end() if space else end

    def read_start(self, value: Scalar) -> None:
        """Read the state in which a run begins."""
        if self.start is not None:
            self.draft.twice(value, self.start, "the state in which a run begins")
        self.start = self.start or value

    def read_steps(self, value: Scalar) -> None:
        """Read the number of steps before the checksum."""
        text = value.text.replace(",", "")
        if not re.fullmatch("[0-9]{1,18}", text):
            self.draft.error(value, f"{value.text!r} is not a number of steps", "write a number such as 6")
        else:
            self.steps = int(text)

    def read_state(self, value: Scalar) -> None:
        """Begin the rules of a state."""
        self.conclude_rule()
        if value.text in self.states:
            self.draft.twice(value, self.states[value.text], f"the state {value.text!r}")
        self.states.setdefault(value.text, value)
        self.state, self.reads = value, None

    def read_read(self, value: Scalar) -> None:
        """Begin a rule."""
        self.conclude_rule()
        if self.state is None:
            self.draft.error(value, "this value is read in no state", "write 'In state A:' above it")
        self.reads = value
        self.symbol(value)

    def symbol(self, value: Scalar) -> None:
        """Report a symbol of several characters."""
        if len(value.text) != 1:
            self.draft.error(value, f"the value {value.text!r} is not one character", "write a digit, such as 0 or 1")

    def read_write(self, value: Scalar) -> None:
        """Read the value that a rule writes."""
        self.symbol(value)
        self.part("write", value)

    def read_move(self, value: Scalar) -> None:
        """Read the move of a rule."""
        if value.text.lower() not in _MOVES:
            self.draft.error(value, f"{value.text!r} is not a move", "write left or right")
        self.part("move", value)

    def read_new(self, value: Scalar) -> None:
        """Read the state that a rule continues with."""
        self.part("new", value)

    def part(self, kind: str, value: Scalar) -> None:
        if self.reads is None:
            self.draft.error(value, "this belongs to no rule", "write 'If the current value is 0:' above it")
        elif kind in self.parts:
            self.draft.twice(value, self.parts[kind], "this part of the rule")
        self.parts.setdefault(kind, value)

    def conclude_rule(self) -> None:
        """Add the rule that has been read, if it is whole."""
        missing = [_LINES[kind][1] for kind in ("write", "move", "new") if kind not in self.parts]
        if self.reads is not None and self.state is not None:
            key = (self.state.text, self.reads.text)
            if missing:
                self.draft.error(self.reads, f"the rule for {self.reads.text!r} is not complete", f"add '{missing[0]}'")
            elif key in self.rules:
                self.draft.twice(self.reads, self.rules[key][1]["read"], f"the rule for state {key[0]!r} and {key[1]!r}")
            elif self.parts["move"].text.lower() in _MOVES:
                rule = Rule(self.parts["new"].text, self.parts["write"].text, _MOVES[self.parts["move"].text.lower()])
                self.rules[key] = rule, {**self.parts, "read": self.reads}
        self.reads, self.parts = None, {}

    def values(self) -> dict[str, Any]:
        """Return the keywords of the machine, and put marks where its parts are."""
        marks = self.draft.marks
        for (q, a), (_, nodes) in self.rules.items():
            marks["table", q, a] = nodes["read"]
            marks["table", q, a, "write"], marks["table", q, a, "state"] = nodes["write"], nodes["new"]
        if self.start is not None:
            marks["start state",] = self.start
        found: dict[str, Any] = {
            "transitions": {key: rule for key, (rule, _) in self.rules.items()},
            "start": self.start.text if self.start else "",
        }
        used = (a for (_, a), (rule, _) in self.rules.items() for a in (a, rule.write))
        found["tape_alphabet"] = tuple(dict.fromkeys([BLANK, "1", *used]))
        if self.steps is not None:
            found["description"] = f"A blueprint with a diagnostic checksum after {self.steps:,} steps."
            if 0 < self.steps <= MOST_STEPS and self.endless(found["tape_alphabet"]):
                found["examples"] = (Example(input="", outcome="limit", max_steps=self.steps),)
        return found

    def endless(self, symbols: tuple[str, ...]) -> bool:
        """Return whether no run can halt: there is a rule for every state that is named and every symbol."""
        named = {*self.states, *(rule.state for rule, _ in self.rules.values())}
        return len(self.rules) == len(named) * len(symbols)

    def without_rules(self) -> None:
        """Warn of states that are named and not described."""
        for rule, nodes in self.rules.values():
            if rule.state not in self.states:
                problem = f"state {rule.state!r} is not described, and a run halts there"
                self.draft.warn(nodes["new"], problem, f"add 'In state {rule.state}:' if this is not intended")


# ── out ─────────────────────────────────────────────────────────────────────────────────────────────────
def write(machine: Machine) -> lossless.Written:
    """Return `machine` as a blueprint.

    Raises:
        ConversionError: if it has verdicts, more than two symbols, a rule that stays and does not halt, or a one-way
            tape whose end it may run into.
    """
    t = lossless.Translation(machine, "a blueprint")
    if machine.decides:
        raise t.refusal("it accepts and rejects, but the format has only one kind of halt", "choose another format")
    symbols = [machine.blank, *(a for a in machine.tape_alphabet if a != machine.blank)]
    if len(symbols) > 2:
        raise t.refusal(f"it has {len(symbols)} symbols, but a value is 0 or 1", "choose another format")
    t = lossless.with_names(lossless.without_stays(lossless.two_way(t)), dict(zip(symbols, "01", strict=False)))
    t = lossless.with_states(
        t, lossless.renumbered(t.machine, lambda q: re.fullmatch(r"[^\s.:]+", q) is not None and q.isprintable(), "S")
    )
    m = t.machine
    steps, ours = _steps(m)
    notes = [*([f"the machine does not say after how many steps its checksum is: {steps:,} here"] * ours)]
    ends = [q for q in m.states if q in m.halting_states and q != m.start]
    if ends or m.missing_rules:
        problem = f"state {ends[0]!r} has no rules" if ends else "some values have no rule"
        notes.append(f"{problem}, where a run halts: no machine of the puzzle does")
    lines = [f"Begin in state {m.start}.", f"Perform a diagnostic checksum after {steps} steps."]
    for q in m.states:
        lines += ["", f"In state {q}:"]
        rules = [(a, m.transitions[q, a]) for a in "01" if (q, a) in m.transitions]
        for a, rule in rules:
            side = {"L": "left", "R": "right"}[lossless.letter(rule)]
            lines += [
                f"  If the current value is {a}:",
                f"    - Write the value {rule.write}.",
                f"    - Move one slot to the {side}.",
                f"    - Continue with state {rule.state}.",
            ]
    return t.written("\n".join([*lines, ""]), *notes)


def _steps(machine: Machine) -> tuple[int, bool]:
    """Return the number of steps before the checksum, and whether the machine does not say it."""
    cut = [e.max_steps for e in machine.examples if e.outcome == "limit" and not e.input and e.max_steps]
    count = _COUNT.search(machine.description)
    if count is not None and count[1].replace(",", ""):
        return int(count[1].replace(",", "")), False
    return (cut[0], False) if cut else (MOST_STEPS, True)
