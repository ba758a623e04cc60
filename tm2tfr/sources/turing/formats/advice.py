"""Warnings about a document that is a machine, but perhaps not the one its author meant."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tm2tfr.errors import listing
from tm2tfr.sources.turing.formats.draft import Draft
from tm2tfr.sources.turing.reach import dead_states, reachable_states, unread_symbols
from tm2tfr.sources.turing.spec import Machine
from tm2tfr.text.source import Mark

_RULE_IN_COMMENT = re.compile(r"\s*(#)(:(\s|$)|\s+:\s+(\{|[LRSN]\s*(#|$)))")


def advise(machine: Machine, draft: Draft) -> None:
    """Record the warnings about `machine`, which was read from `draft`."""
    for mark in _commented_rules(draft):
        remedy = "if this is a rule for that symbol, quote it: '#'"
        draft.log.add(draft.log.source.span(mark), "'#' begins a comment in YAML", remedy, "warning")
    reached = reachable_states(machine)
    _unreachable(machine, draft, reached)
    _endless(machine, draft, reached & dead_states(machine))
    _unread(machine, draft, frozenset(unread_symbols(machine)))


def _commented_rules(draft: Draft) -> Iterator[Mark]:
    lines, table = draft.log.source.lines, draft.marks["table",]
    for line in range(table.start.line, min(table.end.line + 1, len(lines))):
        if match := _RULE_IN_COMMENT.match(lines[line]):
            yield Mark(line, match.start(1))


def _unreachable(machine: Machine, draft: Draft, reached: frozenset[str]) -> None:
    """States without a path from the start, except accepting and rejecting ones, which may be declared and unused."""
    known = {*reached, *machine.accept_states, *(machine.reject or ())}
    states = [q for q in machine.states if q not in known]
    if states:
        what = f"no rule leads from the start state to {_named('state', states)}"
        _warn(draft, states[0], what, "fix the rule that should lead there, or remove what is unused")


def _endless(machine: Machine, draft: Draft, dead: frozenset[str]) -> None:
    """States from which no halt can be reached, unless an example shows that this is intended."""
    if any(example.outcome == "limit" for example in machine.examples):
        return
    states = [q for q in machine.states if q in dead]
    if machine.start in dead:
        what = "no run of this machine ever halts"
        _warn(draft, machine.start, what, "add a rule that leads to a halt, or an example with outcome: limit")
    elif states:
        what = f"no run that enters {_named('state', states)} ever halts"
        _warn(draft, states[0], what, "add a rule that leads to a halt, or an example with outcome: limit")


def _unread(machine: Machine, draft: Draft, unread: frozenset[str]) -> None:
    """Symbols that no rule reads although the head may come across them.

    That can happen if they are in the input and the input is read at all, or if a rule writes them and does not
    halt, in a machine that moves both ways.
    """
    words = {*(machine.input or ""), *(a for example in machine.examples for a in example.input)}
    if "input_alphabet" in draft.values:
        words |= {*(machine.input_alphabet or ())}
    if not any(a != machine.blank for _, a in machine.transitions):
        words = set()
    both_ways = len({rule.move for rule in machine.transitions.values() if rule.move}) > 1
    written: dict[str, tuple[str, ...]] = {}
    for (q, a), rule in machine.transitions.items():
        if both_ways and rule.state not in machine.halting_states:
            written.setdefault(rule.write, ("table", q, a, "write"))
    remedy = "a run stops where it reads one: add rules if this is not intended"
    met, lost = unread & words, (unread - words) & written.keys()
    if met:
        symbols = [a for a in machine.tape_alphabet if a in met]
        places = (("input alphabet", symbols[0]), ("input",) if symbols[0] in (machine.input or "") else ("examples",))
        node = next((draft.marks[place] for place in places if place in draft.marks), None)
        draft.warn(node, f"no rule reads {_named('input symbol', symbols)}", remedy)
    if lost:
        symbols = [a for a in machine.tape_alphabet if a in lost]
        node = draft.marks.get(written[symbols[0]])
        draft.warn(node, f"no rule reads {_named('symbol', symbols)}, which some rule writes", remedy)


def _named(noun: str, names: list[str]) -> str:
    return f"the {noun} {names[0]!r}" if len(names) == 1 else f"the {noun}s {listing(names)}"


def _warn(draft: Draft, state: str, what: str, remedy: str) -> None:
    draft.warn(draft.marks.get(("table", state)), what, remedy)
