"""A machine -> our YAML. The text is read back as an equal machine, and every YAML reader reads it alike."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby, product

from tm2tfr.sources.turing.spec import MOVE_LETTERS, Example, Machine, Rule
from tm2tfr.text.words import flow_list, paragraph, scalar

_LONGEST_KEY = 1000  # YAML finds the colon of a key only within 1,024 characters


def write(machine: Machine) -> str:
    """Return `machine` as a document: ``read(write(machine), file=…).machine == machine``."""
    m = _ordered(machine)
    return "".join(f"{line}\n" for line in (*_head(m), *_alphabets(m), *_table(m), *_examples(m)))


def _ordered(m: Machine) -> Machine:
    """Return the machine with its rules in the order of its states, in which they are written."""
    place = {q: i for i, q in enumerate(m.states)}
    return replace(m, transitions=dict(sorted(m.transitions.items(), key=lambda item: place[item[0][0]])))


def _head(m: Machine) -> Iterator[str]:
    yield f"name: {scalar(m.name)}"
    if m.description:
        yield f"description: {paragraph(m.description)}"
    if m.source:
        yield f"source: {paragraph(m.source)}"
    if m.tape != "two-way":
        yield f"tape: {m.tape}"
    yield f"blank: {scalar(m.blank)}"
    yield f"start state: {scalar(m.start)}"
    for key, states in (("accept", m.accept), ("reject", m.reject)):
        if states is not None:
            yield f"{key}: {scalar(states[0]) if len(states) == 1 else flow_list(states)}"


def _alphabets(m: Machine) -> Iterator[str]:
    """The alphabets, unless they are the ones that the rules and the words imply."""
    for sigma, gamma in product((None, m.input_alphabet), ((), m.tape_alphabet)):
        derived = replace(m, input_alphabet=sigma, tape_alphabet=gamma)
        if (derived.input_alphabet, derived.tape_alphabet) == (m.input_alphabet, m.tape_alphabet):
            break
    if sigma is not None:
        yield f"input alphabet: {flow_list(sigma)}"
    if gamma:
        yield f"tape alphabet: {flow_list(gamma)}"
    if m.input is not None:
        yield f"input: {scalar(m.input)}"


def _table(m: Machine) -> Iterator[str]:
    yield "table:"
    rules: dict[str, list[tuple[str, Rule]]] = {q: [] for q in m.states}
    for (q, a), rule in m.transitions.items():
        rules[q].append((a, rule))
    for q in m.states:
        key = scalar(q)
        yield f"  {key}:" if len(key) < _LONGEST_KEY else f"  ? {key}\n  :"
        for instruction, group in groupby(rules[q], key=lambda rule: _instruction(q, *rule)):
            symbols = [a for a, _ in group]
            for first in range(0, len(symbols), 16):
                some = symbols[first : first + 16]
                yield f"    {scalar(some[0]) if len(some) == 1 else flow_list(some)}: {instruction}"


def _instruction(state: str, symbol: str, rule: Rule) -> str:
    written = f"write: {scalar(rule.write)}, " if rule.write != symbol else ""
    move = MOVE_LETTERS[rule.move]
    if rule.state != state:
        return f"{{{written}{move}: {scalar(rule.state)}}}"
    return f"{{{written}{move}}}" if written else move


def _examples(m: Machine) -> Iterator[str]:
    if m.examples:
        yield "examples:"
    for example in m.examples:
        yield f"  - {{{', '.join(f'{key}: {value}' for key, value in _facts(example))}}}"


def _facts(example: Example) -> Iterator[tuple[str, str]]:
    yield "input", scalar(example.input)
    yield "outcome", example.outcome
    if example.tape is not None:
        yield "tape", scalar(example.tape)
    for key, number in (("steps", example.steps), ("max steps", example.max_steps)):
        if number is not None:
            yield key, str(number)
