"""Machines for David Doty's automata simulator (https://web.cs.ucdavis.edu/~doty/automata/), with one tape.

In its present form a machine is YAML with the keys ``states``, ``input_alphabet``, ``tape_alphabet_extra``,
``start_state``, ``accept_state``, ``reject_state`` and ``delta: {q: {0: [r, x, R]}}``, in a file of any ending;
`doty_braces` reads the older form. In both, ``_`` is the blank, and ``?`` reads any symbol without a rule of its own, and
written it leaves the symbol unchanged. The tape is one-way, the head stays at cell 0 when it moves left there, and where a
rule is missing, a run rejects.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from tm2tfr.base.errors import visible
from tm2tfr.base.text.nodes import LOADERS, Fields, List, Map, Node, Scalar, compose, kind
from tm2tfr.base.text.source import FEW_DIAGNOSTICS, Log, SourceText
from tm2tfr.base.text.words import flow_list, scalar
from tm2tfr.sources.turing.formats import lossless
from tm2tfr.sources.turing.formats.doty_braces import ANY, BLANK, Braces, Rules
from tm2tfr.sources.turing.formats.draft import Draft, Loaded, stem
from tm2tfr.sources.turing.spec import Machine

KEYS = ("states", "input_alphabet", "tape_alphabet_extra", "start_state", "accept_state", "reject_state", "delta")

_DELTA = re.compile(r"^[^\S\n]*delta\s*=", re.MULTILINE)
_RULE = re.compile(r"^[^\S\n]*(?!//)[^\s,]+\s*,\s*\S+\s*->", re.MULTILINE)
_HEADER = re.compile(rf"^[^\S\n]*(?:{'|'.join((*KEYS, 'num_tapes'))})\s*=", re.MULTILINE)
_YAML = re.compile(
    r"^[ \t]*(input_alphabet|tape_alphabet_extra|start_state|accept_state|reject_state|table)[ \t]*:", re.MULTILINE
)
_ELSEWHERE = {
    **dict.fromkeys(("start", "start state", "initial_state"), "start_state"),
    **dict.fromkeys(("accept", "accept_states", "final_states"), "accept_state"),
    **dict.fromkeys(("reject", "reject_states"), "reject_state"),
    **dict.fromkeys(("tape_alphabet", "extra"), "tape_alphabet_extra"),
    **dict.fromkeys(("transitions", "table", "rules"), "delta"),
}
_BARE = re.compile(r"^[ \t]*\?:", re.MULTILINE)
"""The key ``?``, which the fast parser of YAML takes for something else."""
_SPELLED = "a rule is 'symbol: [new state, symbol, L|R|S]'"


def is_yaml(text: str) -> bool:
    """Return whether a text has two of the keys of the present form, as YAML."""
    keys = {key[1] for key in _YAML.finditer(text)}
    return len(keys) > 1 and "table" not in keys


def looks_like(text: str) -> bool:
    """Return whether a text has the keys of the present form, or of the older one a rule and a key, or ``delta =``."""
    older = _RULE.search(text) is not None and _HEADER.search(text) is not None
    return is_yaml(text) or older or _DELTA.search(text) is not None


def read(source: SourceText) -> Loaded:
    """Read a machine in either form.

    Raises:
        SpecError: with the first errors.
    """
    values = {"name": stem(source.file), "blank": BLANK, "tape": "one-way"}
    draft = Draft(Log(source, most=FEW_DIAGNOSTICS), values=values)
    if not is_yaml(source.text):
        return Braces(draft).read()
    loaders = LOADERS[-1:] if _BARE.search(source.text) else LOADERS
    return _Yaml(Rules(draft, _SPELLED)).read(compose(source, loaders))


class _Yaml:
    def __init__(self, rules: Rules) -> None:
        self.rules, self.draft = rules, rules.draft

    def read(self, root: Node | None) -> Loaded:
        if not isinstance(root, Map):
            what = "the document is empty" if root is None else f"the document is {kind(root)}, not a mapping"
            self.draft.refuse(root, what, f"write the keys {', '.join(KEYS)}")
        found = self.keys(root)
        self.names(found)
        for key, ours in (("start_state", "start"), ("accept_state", "accept"), ("reject_state", "reject")):
            state = self.text(found[key][1], "a state") if key in found else None
            if state is not None:
                self.draft.values[ours] = state.text if ours == "start" else (state.text,)
                self.draft.marks[("start state",) if ours == "start" else (ours, state.text)] = state
        if "delta" in found:
            self.delta(found["delta"][1])
        return self.rules.loaded()

    def keys(self, root: Map) -> Fields:
        """Return the entries of the document; one that is missing is an error, one that is unknown a warning."""
        found: Fields = {}
        for key, value in self.draft.entries(root, "key"):
            if key.text in KEYS:
                found.setdefault(key.text, (key, value))
            elif key.text == "num_tapes" and isinstance(value, Scalar):  # as in the older form
                self.draft.one_tape(value, value.text)
            else:
                close = self.draft.nearest(key.text, KEYS, _ELSEWHERE)
                self.draft.warn(key, f"unknown key {key.text!r}{close}", "it is ignored: correct it, or make it a comment")
        lacking = [key for key in KEYS if key not in found and key != "tape_alphabet_extra"]
        if lacking:
            what = f"there is no key {lacking[0]!r}" if len(lacking) == 1 else f"there are no keys {', '.join(lacking)}"
            self.draft.error(root, what, "add it" if len(lacking) == 1 else "add them")
        return found

    def names(self, found: Fields) -> None:
        """Read the states and the alphabets."""
        for key, place in (
            ("states", "table"),
            ("input_alphabet", "input alphabet"),
            ("tape_alphabet_extra", "tape alphabet"),
        ):
            if key not in found or (key == "states" and _is_any(found[key][1])):
                continue
            node = found[key][1]
            if not isinstance(node, List):
                self.draft.error(
                    node if not _empty(node) else found[key][0], f"{key} is {kind(node)}, not a list", "write [a, b]"
                )
                continue
            nodes = [text for item in node.items if (text := self.text(item, "a name")) is not None]
            self.draft.values[key] = tuple(dict.fromkeys(text.text for text in nodes))
            for text in nodes:
                self.draft.marks.setdefault((place, text.text), text)
                if key != "states" and len(text.text) != 1:
                    what = f"the symbol {text.text!r} is not one character"
                    self.draft.error(text, what, "a symbol is exactly one character")

    def text(self, node: Node, noun: str) -> Scalar | None:
        """Return a node that must be text; report any other."""
        if isinstance(node, Scalar) and not node.empty:
            return node
        line = self.draft.log.source.lines[node.start.line]
        if isinstance(node, Map) and line.startswith(ANY, node.start.column):
            self.draft.error(node, "'?' without quotes begins a key in YAML", "put it in quotes: '?'")
            return None
        self.draft.error(node, f"expected {noun}, found {kind(node)}", "write it as text, in quotes if necessary")
        return None

    def delta(self, node: Node) -> None:
        """Read the rules of every state."""
        if not isinstance(node, Map):
            self.draft.error(node, f"delta is {kind(node)}, not a mapping", "write 'STATE:', and below it its rules")
            return
        for state, rules in self.draft.entries(node, "state"):
            if isinstance(rules, Scalar) and rules.null:
                continue
            if not isinstance(rules, Map):
                what = f"the entry of state {state.text!r} is {kind(rules)}, not a mapping"
                self.draft.error(rules, what, f"write its rules below it: {_SPELLED}")
                continue
            for symbol, rule in rules.pairs:
                self.rule(state, symbol, rule)

    def rule(self, state: Scalar, symbol: Node, node: Node) -> None:
        """Read one rule."""
        read = self.text(symbol, "a symbol")
        if not isinstance(node, List) or len(node.items) != 3:
            much = f"a list of {len(node.items)}" if isinstance(node, List) else kind(node)
            self.draft.error(symbol if _empty(node) else node, f"a rule is a list of three, not {much}", _SPELLED)
            return
        parts = [self.text(item, noun) for item, noun in zip(node.items, ("a state", "a symbol", "a move"), strict=True)]
        new, write, move = parts
        if read is None or new is None or write is None or move is None:
            return
        if not self.rules.rules and len(read.text) == len(write.text) == len(move.text) > 1:
            self.draft.one_tape(read, str(len(read.text)))
        self.rules.add({"state": state, "read": read, "new": new, "write": write, "move": move})


def _empty(node: Node) -> bool:
    return isinstance(node, Scalar) and node.empty


def _is_any(node: Node) -> bool:
    return isinstance(node, Scalar) and node.text == ANY


# ── out ─────────────────────────────────────────────────────────────────────────────────────────────────
def write(machine: Machine) -> lossless.Written:
    """Return `machine` as a document in the present form.

    Raises:
        ConversionError: if it halts without verdicts, may move left of the first cell, or has no input alphabet.
    """
    t = lossless.one_way(lossless.with_verdicts(lossless.Translation(machine, "Doty's simulator")))
    if not machine.input_alphabet:
        raise t.refusal("its input alphabet is empty, but there it has at least one symbol", "choose another format")
    t = lossless.with_symbols(t, lambda a: a.isprintable() and not a.isspace() and a != ANY, BLANK)
    t = _with_one_end_each(
        lossless.with_states(
            t, lossless.renumbered(t.machine, lambda q: re.fullmatch(r"[\w().'-]+", q, re.ASCII) is not None)
        )
    )
    return t.written("".join(f"{line}\n" for line in _lines(t.machine)))


def _with_one_end_each(t: lossless.Translation) -> lossless.Translation:
    """Return the machine with exactly one accepting and one rejecting state."""
    ends = []
    for key, name in (("accept_states", "qA"), ("reject_states", "qR")):
        found = getattr(t.machine, key)
        ends.append(found[:1] or (name if name not in t.machine.states else lossless.fresh(name, t.machine.states),))
        t = lossless.with_states(t, dict.fromkeys(found, ends[-1][0]))
    m = t.machine
    return t.to(replace(m, states=tuple(dict.fromkeys([*m.states, *ends[0], *ends[1]])), accept=ends[0], reject=ends[1]))


def _lines(m: Machine) -> Iterator[str]:
    yield f"# {' '.join(m.name.split()) if m.name.isprintable() else 'machine'}"
    yield from (f"# {visible(line)}" for line in m.description.splitlines() if line.strip())
    yield f"states: {flow_list(m.states)}"
    yield f"input_alphabet: {flow_list(m.input_alphabet or ())}"
    yield f"tape_alphabet_extra: {flow_list(a for a in m.tape_alphabet if a not in (m.input_alphabet or ()))}"
    yield f"start_state: {scalar(m.start)}"
    yield f"accept_state: {scalar(m.accept_states[0])}"
    yield f"reject_state: {scalar(m.reject_states[0])}"
    yield "delta:" if m.transitions else "delta: {}"
    known = dict.fromkeys(q for q, _ in m.transitions)
    for state in known:
        yield f"  {scalar(state)}:"
        for (q, a), rule in m.transitions.items():
            if q == state:
                yield f"    {scalar(a)}: [{scalar(rule.state)}, {scalar(rule.write)}, {lossless.letter(rule)}]"
