"""Which states a run can reach, and from which it can halt, whatever the tape says.

A walk over the rules, without networkx, which takes longer to import than a short run takes to be checked.
What is ruled out here (a state without a path from the start, a state without a path to a halt) is ruled out
for every input.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tm2tfr.sources.turing.spec import Machine


def reachable_states(machine: Machine) -> frozenset[str]:
    """Return the states that have a path from the start state, the start state included."""
    after: dict[str, set[str]] = {}
    for (q, _), rule in machine.transitions.items():
        after.setdefault(q, set()).add(rule.state)
    return _closure([machine.start], after)


def dead_states(machine: Machine) -> frozenset[str]:
    """Return the states from which no halt can be reached: a run that enters one never ends.

    A run halts in a halting state, and in a state without a rule for the symbol read.
    """
    before: dict[str, set[str]] = {}
    for (q, _), rule in machine.transitions.items():
        before.setdefault(rule.state, set()).add(q)
    hopeful = _closure([*machine.halting_states, *(q for q, _ in machine.missing_rules)], before)
    return frozenset(machine.states) - hopeful


def unread_symbols(machine: Machine) -> tuple[str, ...]:
    """Return the tape symbols, the blank apart, that no rule reads."""
    read = {a for _, a in machine.transitions}
    return tuple(a for a in machine.tape_alphabet if a != machine.blank and a not in read)


def _closure(first: Iterable[str], following: Mapping[str, set[str]]) -> frozenset[str]:
    """Return the states that can be come to from the `first` ones, these included."""
    found = set(first)
    waiting = list(found)
    while waiting:
        new = following.get(waiting.pop(), set()) - found
        found |= new
        waiting += new
    return frozenset(found)
