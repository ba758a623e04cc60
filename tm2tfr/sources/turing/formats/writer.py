"""A machine -> our YAML. The text is read back as an equal machine, and every YAML reader reads it alike.

So text is unquoted only where no version of YAML would take it for something else.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import groupby, product

from tm2tfr.sources.turing.spec import MOVE_LETTERS, Example, Machine, Rule
from tm2tfr.text.source import escape

_PLAIN = re.compile("[A-Za-z][A-Za-z0-9_-]*|_|[0-9]")
_TAKEN = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})
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
        yield f"description: {_paragraph(m.description)}"
    if m.source:
        yield f"source: {_paragraph(m.source)}"
    if m.tape != "two-way":
        yield f"tape: {m.tape}"
    yield f"blank: {scalar(m.blank)}"
    yield f"start state: {scalar(m.start)}"
    for key, states in (("accept", m.accept), ("reject", m.reject)):
        if states is not None:
            yield f"{key}: {scalar(states[0]) if len(states) == 1 else _list(states)}"


def _alphabets(m: Machine) -> Iterator[str]:
    """The alphabets, unless they are the ones that the rules and the words imply."""
    for sigma, gamma in product((None, m.input_alphabet), ((), m.tape_alphabet)):
        derived = replace(m, input_alphabet=sigma, tape_alphabet=gamma)
        if (derived.input_alphabet, derived.tape_alphabet) == (m.input_alphabet, m.tape_alphabet):
            break
    if sigma is not None:
        yield f"input alphabet: {_list(sigma)}"
    if gamma:
        yield f"tape alphabet: {_list(gamma)}"
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
                yield f"    {scalar(some[0]) if len(some) == 1 else _list(some)}: {instruction}"


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


def scalar(text: str) -> str:
    """Return `text` as YAML, unquoted if it cannot be misread, otherwise in quotes."""
    if _PLAIN.fullmatch(text) and text.lower() not in _TAKEN:
        return text
    if text.isprintable():
        return "'" + text.replace("'", "''") + "'"
    return '"' + "".join(a if a.isprintable() and a not in '"\\' else escape(a) for a in text) + '"'


def _list(texts: Iterable[str]) -> str:
    return f"[{', '.join(map(scalar, texts))}]"


def _paragraph(text: str) -> str:
    """Return a long text as a block, of wrapped lines or of its own, where that preserves every character."""
    wrapped = textwrap.wrap(text, 96, break_long_words=False, break_on_hyphens=False)
    if len(wrapped) > 1 and text.isprintable() and " ".join(wrapped) == text:
        return "\n  ".join([">-", *wrapped])
    lines = text.removesuffix("\n").split("\n")
    simple = all(line.isprintable() for line in lines) and lines[0][:1].strip() and lines[-1].strip()
    if len(lines) == 1 or not simple:
        return scalar(text)
    return "\n  ".join(["|" if text.endswith("\n") else "|-", *lines])
