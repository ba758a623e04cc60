"""Our YAML: a superset of turingmachine.io's. A document that loads there loads here and means the same.

It adds the keys ``name``, ``description``, ``source``, ``tape``, ``accept``, ``reject``,
``input alphabet``, ``tape alphabet`` and ``examples``, and the move S. It is stricter in that a rule given twice
is an error, and so is a misspelt key within a rule.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import chain, groupby, product

from tm2tfr.base.errors import SpecError, listing
from tm2tfr.base.text.nodes import Map, Node, Scalar, compose, kind
from tm2tfr.base.text.source import MACHINE_BYTES, Log, Mark, SourceText, decoded
from tm2tfr.base.text.words import flow_list, paragraph, scalar
from tm2tfr.sources.turing.formats.document import read_document
from tm2tfr.sources.turing.formats.draft import Draft, Loaded, stem
from tm2tfr.sources.turing.graph import dead_states, reachable_states, unread_symbols
from tm2tfr.sources.turing.spec import MOVE_LETTERS, Example, Machine, Rule, alphabets

# ── a machine -> our YAML. The text is read back as an equal machine, and every YAML reader reads it alike
_LONGEST_KEY = 1000  # YAML finds the colon of a key only within 1,024 characters


def write(machine: Machine) -> str:
    """Return `machine` as a document: ``read(write(machine), file=…).machine == machine``."""
    parts = _head(machine), _alphabets(machine), _table(machine), _examples(machine)
    return "".join([f"{line}\n" for line in chain.from_iterable(parts)])


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
    place = {q: i for i, q in enumerate(m.states)}
    written = sorted(m.transitions.items(), key=lambda item: place[item[0][0]])  # in the order of the table
    in_rules = [a for (_, a), _ in written] + [rule.write for _, rule in written]
    words = [m.input or "", *(example.input for example in m.examples)]
    for sigma, gamma in product((None, m.input_alphabet), ((), m.tape_alphabet)):
        if alphabets(in_rules, m.blank, words, sigma, gamma) == (m.input_alphabet, m.tape_alphabet):
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


# ── Warnings about a document that is a machine, but perhaps not the one its author meant.
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
        problem = f"no rule leads from the start state to {_named('state', states)}"
        _warn(draft, states[0], problem, "fix the rule that should lead there, or remove what is unused")


def _endless(machine: Machine, draft: Draft, dead: frozenset[str]) -> None:
    """States from which no halt can be reached, unless an example shows that this is intended."""
    if any(example.outcome == "limit" for example in machine.examples):
        return
    states = [q for q in machine.states if q in dead]
    if machine.start in dead:
        problem = "no run of this machine ever halts"
        _warn(draft, machine.start, problem, "add a rule that leads to a halt, or an example with outcome: limit")
    elif states:
        problem = f"no run that enters {_named('state', states)} ever halts"
        _warn(draft, states[0], problem, "add a rule that leads to a halt, or an example with outcome: limit")


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


__all__ = ["Loaded", "read", "write"]

_LIKE = re.compile(
    r"""^ [^\S\n]* (?:[{,] [^\S\n]*)? ["']? (?:blank | start\ state | table | source\ code) ["']? \s* :""",
    re.MULTILINE | re.VERBOSE,
)
_NOTHING = re.compile(r"(?:---(?=\s|$)|\s|#.*)*")
"""What a document without contents consists of."""
_WRAPPER = ("name", "source code", "positions", "editor contents")


def looks_like(text: str) -> bool:
    """Return whether a text has one of the keys of a document, or is an empty one."""
    return _NOTHING.fullmatch(text) is not None or _LIKE.search(text) is not None


def read(text: str | bytes, *, file: str, most: int = MACHINE_BYTES) -> Loaded:
    """Read a machine from YAML.

    Args:
        file: the name of the text in error messages.
        most: the size of the largest text, in bytes.

    Raises:
        SpecError: with every error of the document, in the order of the text.
    """
    source = decoded(text, file=file, most=most)
    draft = Draft(Log(source), values={"name": stem(file), "yaml": source.text})
    root = _unwrapped(_mapping(compose(source), draft), draft)
    read_document(root, draft)
    machine = draft.machine()
    vars(machine)[_AS_READ] = True  # a machine that is changed is another object, without it
    advise(machine, draft)
    return Loaded(machine=machine, warnings=draft.log.conclude())


def text_of(machine: Machine) -> str:
    """Return the text that `machine` was read from; a new one if there is none, or the machine has been changed since."""
    if machine.yaml is None:
        return write(machine)
    unchanged = _AS_READ in vars(machine) or _read_before(machine.yaml, machine.name) == machine
    return machine.yaml if unchanged else write(machine)


_AS_READ = "_as_read"
"""The attribute of a machine that equals its text, so that the text need not be read again."""


@lru_cache(maxsize=64)
def _read_before(text: str, name: str) -> Machine | None:
    try:
        return read(text, file=f"{name}.yaml").machine
    except SpecError:
        return None


def _mapping(root: Node | None, draft: Draft) -> Map:
    """Return the root of a document, which must be a mapping."""
    if not isinstance(root, Map):
        empty = root is None or (isinstance(root, Scalar) and root.null)
        problem = "the document is empty" if root is None or empty else f"the document is {kind(root)}, not a mapping"
        draft.refuse(None if empty else root, problem, "a machine has at least the keys 'blank', 'start state' and 'table'")
    return root


def _unwrapped(root: Map, draft: Draft) -> Map:
    """Return the document within a file downloaded from turingmachine.io, or `root` if this is not one."""
    keys = {key.text for key, _ in root.pairs if isinstance(key, Scalar)}
    if "source code" not in keys or "table" in keys:
        return root
    fields: dict[str, Node] = {}
    for key, value in draft.entries(root, "key"):
        fields.setdefault(key.text, value)
        if key.text not in _WRAPPER:
            draft.warn(key, f"unknown key {key.text!r} around the source code", "it is ignored: move it inside")
    name, code, source = fields.get("name"), fields["source code"], draft.log.source
    if not isinstance(code, Scalar):
        remedy = "write 'source code: |', and the document below it, indented"
        draft.refuse(code, f"the source code is {kind(code)}, not text", remedy)
    if isinstance(name, Scalar) and not name.empty:
        draft.values["name"] = name.text
    if code.block:
        inner = SourceText(code.text, source.file, outer=(source, code.start.line + 1))
    else:
        inner = SourceText(code.text, f"{source.file} (source code)")
    draft.log = draft.log.inside(inner)
    return _mapping(compose(inner), draft)
