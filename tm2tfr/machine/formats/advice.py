"""Warnings about a document that is a machine, but perhaps not the one that its author meant."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tm2tfr.errors import listing
from tm2tfr.machine.formats.draft import Draft
from tm2tfr.machine.formats.source import Mark
from tm2tfr.machine.spec import Machine

_RULE_IN_COMMENT = re.compile(r"\s*(#)\s*:\s+(\{.*write|\{\s*[LRSN]\b|[LRSN]\s*(#|$))")


def advise(machine: Machine, draft: Draft) -> None:
    """Note the warnings about `machine`, which was read from `draft`."""
    for mark in _commented_rules(draft):
        span = draft.log.source.span(mark)
        remedy = "if this is a rule for the symbol, quote it: '#'"
        draft.log.add(span, "'#' begins a comment in YAML", remedy, "warning")
    _unreachable(machine, draft)
    _endless(machine, draft)
    _unread(machine, draft)


def _commented_rules(draft: Draft) -> Iterator[Mark]:
    lines, table = draft.log.source.lines, draft.marks["table",]
    for line in range(table.start.line, min(table.end.line + 1, len(lines))):
        if match := _RULE_IN_COMMENT.match(lines[line]):
            yield Mark(line, match.start(1))


def _unreachable(machine: Machine, draft: Draft) -> None:
    """States without a path from the start; the verdicts are named for completeness and may be unused."""
    from tm2tfr.machine.graph import reachable_states  # noqa: PLC0415  (networkx is slow to import)

    verdicts = {*machine.accept_states, *(machine.reject or ())}
    reached = reachable_states(machine) | verdicts
    states = [q for q in machine.states if q not in reached]
    if states:
        what = f"no rule leads from the start state to {_states(states)}"
        _warn(draft, states[0], what, "mend the rule that should, or remove what is not used")


def _endless(machine: Machine, draft: Draft) -> None:
    """States that no run leaves for a halt, unless an example says that this is meant."""
    from tm2tfr.machine.graph import dead_states, reachable_states  # noqa: PLC0415

    if any(example.outcome == "limit" for example in machine.examples):
        return
    dead = dead_states(machine)
    states = [q for q in machine.states if q in dead & reachable_states(machine)]
    if machine.start in dead:
        what = "no run of this machine ever halts"
        _warn(draft, machine.start, what, "add a rule that leads to a halt, or an example with outcome: limit")
    elif states:
        what = f"no run that enters {_states(states)} ever halts"
        _warn(draft, states[0], what, "add a rule that leads to a halt, or an example with outcome: limit")


def _unread(machine: Machine, draft: Draft) -> None:
    """Symbols that no rule reads although the head may meet them.

    It may if they are input symbols and input is read at all, or if the head, having written them, can come
    back: moves both ways, and goes on after writing them.
    """
    from tm2tfr.machine.graph import unread_symbols  # noqa: PLC0415

    unread = set(unread_symbols(machine))
    rules = machine.transitions.items()
    both_ways = len({rule.move for _, rule in rules if rule.move}) > 1
    reads_input = any(a != machine.blank for _, a in machine.transitions)
    words = {*(machine.input or ""), *(a for e in machine.examples for a in e.input)}
    if "input_alphabet" in draft.values:
        words |= {*(machine.input_alphabet or ())}
    for a in machine.tape_alphabet:
        if a not in unread:
            continue
        if a in words and reads_input:
            what = f"no rule reads the input symbol {a!r}"
            node = draft.marks.get(("input alphabet", a)) or draft.marks.get(("input",))
            draft.warn(node, what, "a run stops where it meets it: add rules for it, or take it out")
            continue
        for (q, b), rule in rules:
            if rule.write == a and both_ways and rule.state not in machine.halting_states:
                what = f"the symbol {a!r} is written and never read"
                remedy = "a run stops where it meets it again: add rules for it, if it is not a slip"
                draft.warn(draft.marks.get(("table", q, b, "write")), what, remedy)
                break


def _states(states: list[str]) -> str:
    return f"state {states[0]!r}" if len(states) == 1 else f"the states {listing(states)}"


def _warn(draft: Draft, state: str, what: str, remedy: str) -> None:
    draft.warn(draft.marks.get(("table", state)), what, remedy)
