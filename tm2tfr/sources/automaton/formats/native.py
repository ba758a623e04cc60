"""Our YAML for automata, deterministic or not.

::

    automaton: ends-in-ab          # its name
    title: Words that end in ab    # the title, the alphabet and the words at the end are optional
    alphabet: [a, b]
    start: none
    accept: [ab]
    table:
      none: {a: a, b: none}        # a token and the next state, or a list of next states
      a: {a: a, b: ab}             # the key '' reads nothing
      ab: {a: a, b: none}
    accepts: [ab, bab]             # words: one token per character, or lists of tokens
    rejects: [ba]
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tm2tfr.base.text.nodes import List, Map, Node, Reading, Scalar, Section, compose, kind
from tm2tfr.base.text.source import Log, SourceText
from tm2tfr.base.text.words import flow_list, paragraph, scalar
from tm2tfr.sources.automaton.automaton import Automaton
from tm2tfr.sources.automaton.formats.draft import AutomatonDraft, Edge, LoadedAutomaton, stem, verdicts

KEYS = ("automaton", "title", "alphabet", "start", "accept", "table", "accepts", "rejects")
_TOP = re.compile(r"^automaton[ \t]*:", re.MULTILINE)
_LONGEST_KEY = 1000  # YAML finds the colon of a key only within 1,024 characters


def looks_like(text: str) -> bool:
    """Return whether a text has the key that only automata have."""
    return _TOP.search(text) is not None


def read(source: SourceText) -> LoadedAutomaton:
    """Read an automaton.

    Raises:
        SpecError: with every error of the document.
    """
    draft = AutomatonDraft(Log(source))
    root = compose(source)
    if not isinstance(root, Map):
        problem = "the document is empty" if root is None else f"it is {kind(root)}"
        draft.refuse(root, problem, f"an automaton has the keys {', '.join(KEYS[:6])}")
    found = Section.of(draft, "an automaton", root, KEYS)
    for key, example in (("automaton", "my-automaton"), ("start", "q0"), ("accept", "[q0]"), ("table", "{q0: {a: q0}}")):
        found.needs(key, example)
    draft.log.conclude()
    draft.where = root.pairs[0][0]
    draft.name, draft.title = found.text("automaton", "") or stem(source.file), found.text("title", "")
    if "alphabet" in found:
        draft.alphabet = _alphabet(draft, found.found["alphabet"][1])
    _table(draft, found.found["table"][1])
    draft.start = _state(draft, found.found["start"][1], "the start state")
    accept = found.found["accept"][1]
    empty = isinstance(accept, Scalar) and accept.empty
    items = () if empty else accept.items if isinstance(accept, List) else (accept,)
    draft.accept = [_state(draft, item, "an accepting state") for item in items]
    for key in ("accepts", "rejects"):
        if key in found:
            words = found.found[key][1]
            every = words.items if isinstance(words, List) else (words,)
            draft.examples += verdicts(_words(draft, every), accepted=key == "accepts")
    return draft.loaded()


def _alphabet(draft: Reading, node: Node) -> tuple[str, ...]:
    if isinstance(node, Scalar):
        return tuple(dict.fromkeys(node.text))
    found: dict[str, Scalar] = {}
    for item in draft.scalars(node, "a token") or ():
        if not item.text:
            draft.error(item, "a token is empty", "remove it: only transitions may read nothing")
        elif found.setdefault(item.text, item) is not item:
            draft.twice(item, found[item.text], f"the token {item.text!r}")
    return tuple(found)


def _table(draft: AutomatonDraft, node: Node) -> None:
    if not isinstance(node, Map):
        draft.refuse(node, f"the table is {kind(node)}, not a mapping", "write for example 'table: {q0: {a: q0}}'")
    rows = draft.entries(node, "state")
    draft.states = {key.text: key for key, _ in rows}
    for state, row in rows:
        if not state.text:
            draft.error(state, "a state has no name", "name it")
        if isinstance(row, Scalar) and row.empty:
            continue
        if not isinstance(row, Map):
            draft.error(row, f"the row of {state.text!r} is {kind(row)}, not a mapping", "write for example {a: q1}")
            continue
        for token, targets in draft.entries(row, "token"):
            for target in targets.items if isinstance(targets, List) else (targets,):
                after = _state(draft, target, "the next state")
                draft.edges.append(Edge(state.text, token.text, after, target))


def _state(draft: AutomatonDraft, node: Node, noun: str) -> str:
    if not isinstance(node, Scalar):
        draft.error(node, f"{noun} is {kind(node)}, not text", "write the name of a state")
        return ""
    if node.text not in draft.states:
        close = draft.log.did_you_mean(node.text, draft.states)
        draft.error(node, f"{noun}, {node.text!r}, has no row in the table{close}", "add the row, or fix the name")
    return node.text


def _words(draft: Reading, nodes: tuple[Node, ...]) -> Iterator[tuple[str, ...]]:
    for node in nodes:
        if isinstance(node, Scalar):
            yield tuple(node.text)
        else:
            yield tuple(item.text for item in draft.scalars(node, "a token") or ())


# ── out ─────────────────────────────────────────────────────────────────────────────────────────────────────
def write(automaton: Automaton) -> str:
    """Return an automaton as a document that reads back to an equal one."""
    return "".join(f"{line}\n" for line in _lines(automaton))


def _lines(automaton: Automaton) -> Iterator[str]:
    yield f"automaton: {scalar(automaton.name)}"
    if automaton.title:
        yield f"title: {paragraph(automaton.title)}"
    yield f"alphabet: {flow_list(automaton.alphabet)}"
    yield f"start: {scalar(automaton.start)}"
    yield f"accept: {flow_list(automaton.accepting)}"
    yield "table:"
    trap = automaton.trap
    for state in automaton.states:
        if state == trap:
            continue
        row = [(a, automaton.transitions[state, a]) for a in automaton.alphabet]
        cells = [f"{_key(a)} {scalar(after)}" for a, after in row if not trap or after != trap]
        yield (
            f"  {_key(state)} {{{', '.join(cells)}}}"
            if all(len(c) < _LONGEST_KEY for c in cells)
            else "".join([f"  {_key(state)}", *(f"\n    {cell}" for cell in cells)])
        )
    for key, accepted in (("accepts", True), ("rejects", False)):
        words = [example.word for example in automaton.examples if example.accepted == accepted]
        if words:
            shown = (scalar("".join(w)) if all(len(a) == 1 for a in w) else flow_list(w) for w in words)
            yield f"{key}: [{', '.join(shown)}]"


def _key(name: str) -> str:
    key = scalar(name)
    return f"{key}:" if len(key) < _LONGEST_KEY else f"? {key}\n  :"
