"""Machines of the exercise ``ft_turing`` of the school 42, in JSON.

An object with the keys ``name``, ``alphabet``, ``blank``, ``states``, ``initial``, ``finals`` and ``transitions``. The last
has for each state a list of ``{"read": "1", "to_state": "q", "write": "0", "action": "RIGHT"}``, where an action is LEFT or
RIGHT. The tape is two-way. A run stops in a final state, and where a rule is missing, which is called blocked. Neither
is a verdict, since a machine writes its answer on the tape; but a final state named ``accept`` accepts, as in our YAML.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from tm2tfr.base.text.json_nodes import compose_json
from tm2tfr.base.text.nodes import Fields, List, Map, Node, Scalar, kind
from tm2tfr.base.text.source import FEW_DIAGNOSTICS, Log, SourceText
from tm2tfr.sources.turing.formats import lossless
from tm2tfr.sources.turing.formats.draft import Draft, Loaded, stem
from tm2tfr.sources.turing.spec import Machine, Rule

BLANK = "."
ACTIONS: Mapping[str, int] = {"LEFT": -1, "RIGHT": +1}
KEYS = ("name", "alphabet", "blank", "states", "initial", "finals", "transitions")
FIELDS = ("read", "to_state", "write", "action")

_LIKE = re.compile(r'"(?:transitions|to_state|finals)"\s*:')
_HEAD = ("alphabet", "blank", "initial", "finals")
_KNOWN = re.compile(rf'"({"|".join((*_HEAD, *FIELDS))})"\s*:')
"""A key that few other files have."""
_ELSEWHERE = {
    "final": "finals",
    "start": "initial",
    "rules": "transitions",
    "to": "to_state",
    "move": "action",
    "symbol": "read",
}
_ONE = "a symbol is exactly one character"
_SPELLED = 'write for example {"read": "1", "to_state": "q", "write": "0", "action": "RIGHT"}'


def looks_like(text: str) -> bool:
    """Return whether a text is JSON with keys of this format, one or two of which no other file is likely to have.

    The beginning of a large machine may have nothing below its list of states.
    """
    if text.lstrip()[:1] != "{" or is_foreign(text):
        return False
    return _LIKE.search(text) is not None or len({key[1] for key in _KNOWN.finditer(text)} & {*_HEAD}) > 1


def is_foreign(text: str) -> bool:
    """Return whether a text is a JSON object with fewer than two of the keys that few other files have."""
    return text.lstrip()[:1] == "{" and len({key[1] for key in _KNOWN.finditer(text)}) < 2


def read(source: SourceText) -> Loaded:
    """Read a machine.

    Raises:
        SpecError: with the first errors.
    """
    draft = Draft(Log(source, most=FEW_DIAGNOSTICS), values={"name": stem(source.file)})
    return _Reader(draft).read(compose_json(source))


class _Reader:
    def __init__(self, draft: Draft) -> None:
        self.draft = draft
        self.rules: dict[tuple[str, str], Rule] = {}
        self.known: dict[str, frozenset[str]] = {}
        """The states, the finals and the alphabet, as far as they can be read."""

    def read(self, root: Node | None) -> Loaded:
        if not isinstance(root, Map):
            problem = "there is nothing in this text" if root is None else f"the document is {_kind(root)}, not an object"
            self.draft.refuse(root, problem, f"write an object with the keys {', '.join(KEYS)}")
        found = self.keys(root)
        self.lists(found)
        for key, ours, among in (("name", "name", ""), ("blank", "blank", "alphabet"), ("initial", "start", "states")):
            node = self.text(found, key)
            if node is None or (key == "name" and not node.text.strip()):
                continue
            self.draft.values[ours] = node.text
            if key == "blank" and len(node.text) != 1:
                self.draft.error(node, f"the blank must be one character, not {node.text!r}", _ONE)
            elif among:
                self.check(node, among)
        if "transitions" in found:
            self.transitions(found["transitions"][1])
        self.draft.log.conclude()
        self.draft.values["transitions"] = self.rules
        return self.draft.loaded()

    def lists(self, found: Fields) -> None:
        """Read the alphabet, the states and the finals."""
        for key, ours in (("alphabet", "tape_alphabet"), ("states", "states"), ("finals", "")):
            nodes = self.texts(found, key)
            if nodes is None:
                continue
            names = tuple(dict.fromkeys(node.text for node in nodes))
            self.known[key] = frozenset(names)
            if ours:
                self.draft.values[ours] = names
            first: dict[str, Scalar] = {}
            for node in nodes:
                if first.setdefault(node.text, node) is not node:
                    line = first[node.text].start.line + 1
                    problem = f"{node.text!r} is in the {key} a second time; the first is in line {line}"
                    self.draft.warn(node, problem, "remove one of the two")
                self.draft.marks.setdefault(("table", node.text), node)
                if key == "alphabet" and len(node.text) != 1:
                    self.draft.error(node, f"the symbol {node.text!r} is not one character", _ONE)
                elif key == "finals":
                    self.check(node, "states")

    def check(self, node: Scalar, among: str) -> bool:
        """Return whether a symbol is in the alphabet, or a state among the states; if not, report its first place."""
        known = self.known.get(among)
        if known is None or node.text in known:
            return True
        self.known[among] = known | {node.text}  # once is enough
        noun = "symbol" if among == "alphabet" else "state"
        if noun == "symbol" and len(node.text) != 1:
            self.draft.error(node, f"the symbol {node.text!r} is not one character", _ONE)
        else:
            close = self.draft.nearest(node.text, known, {}) if noun == "state" else ""
            problem = f"the {noun} {node.text!r} is not in {'the alphabet' if noun == 'symbol' else 'the list of states'}"
            self.draft.error(node, f"{problem}{close}", "add it there, or correct it")
        return False

    def keys(self, root: Map) -> Fields:
        """Return the entries of the document; one that is missing is an error, one that is unknown a warning."""
        if not any(isinstance(key, Scalar) and key.text in KEYS for key, _ in root.pairs):
            self.draft.refuse(root, "this object has none of the keys of ft_turing", f"write {', '.join(KEYS)}")
        found: Fields = {}
        for key, value in self.draft.entries(root, "key"):
            if key.text in KEYS:
                found.setdefault(key.text, (key, value))
            else:
                self.draft.unknown_key(key, key.text, KEYS, _ELSEWHERE, "remove it")
        self.draft.missing_keys(root, [key for key in KEYS if key not in found and key != "name"])
        if "name" not in found:
            name = self.draft.values["name"]
            self.draft.warn(root, "there is no key 'name'", f"add it: until then the machine is called {name!r}")
        return found

    def text(self, found: Fields, key: str) -> Scalar | None:
        """Return the value of a key, which must be text."""
        if key not in found:
            return None
        node = found[key][1]
        if isinstance(node, Scalar) and not node.plain:
            return node
        self.draft.error(node, f"{key} is {_kind(node)}, not text", "put it in double quotes")
        return None

    def texts(self, found: Fields, key: str) -> list[Scalar] | None:
        """Return the texts in a list; None if there is none, or something else is in it."""
        if key not in found:
            return None
        node = found[key][1]
        if not isinstance(node, List):
            self.draft.error(node, f"{key} is {_kind(node)}, not a list", 'write for example ["a", "b"]')
            return None
        for item in node.items:
            if not isinstance(item, Scalar) or item.plain:
                self.draft.error(item, f"expected text, found {_kind(item)}", "put it in double quotes")
        texts = [item for item in node.items if isinstance(item, Scalar) and not item.plain]
        return texts if len(texts) == len(node.items) else None

    def transitions(self, node: Node) -> None:
        """Read the rules of every state."""
        if not isinstance(node, Map):
            self.draft.error(node, f"the transitions are {_kind(node)}, not an object", 'write {"STATE": [RULE, …], …}')
            return
        finals = self.known.get("finals", frozenset())
        for state, rules in self.draft.entries(node, "state"):
            self.check(state, "states")
            self.draft.marks["table", state.text] = state
            if not isinstance(rules, List):
                problem = f"the rules of state {state.text!r} are {_kind(rules)}, not a list"
                self.draft.error(rules, problem, "put them in square brackets")
                continue
            final = state.text in finals
            if final and rules.items:
                problem = f"no run continues from the final state {state.text!r}"
                self.draft.warn(state, problem, "remove its rules, or remove it from the finals")
            for rule in rules.items:
                self.rule(state.text, rule, dead=final)

    def rule(self, state: str, node: Node, *, dead: bool) -> None:
        """Read one rule."""
        if not isinstance(node, Map):
            self.draft.error(node, f"a rule cannot be {_kind(node)}", _SPELLED)
            return
        fields = self.draft.fields(node, "a rule", FIELDS, _SPELLED, _ELSEWHERE)
        lacking = [key for key in FIELDS if key not in fields]
        if lacking and len(fields) == len(node.pairs):
            self.draft.error(node, f"this rule has no {' and no '.join(map(repr, lacking))}", _SPELLED)
        texts = {key: self.text(fields, key) for key in fields}
        symbol, write, target, action = (texts.get(key) for key in ("read", "write", "to_state", "action"))
        if action is not None and action.text not in ACTIONS:
            meant = {"l": "LEFT", "left": "LEFT", "r": "RIGHT", "right": "RIGHT", "<": "LEFT", ">": "RIGHT"}
            close = self.draft.nearest(action.text, tuple(ACTIONS), meant)
            stays = ": a machine there moves in every step" if action.text.lower() in _STAYS else ""
            self.draft.error(action, f"{action.text!r} is not an action{close}", f"use LEFT or RIGHT{stays}")
        elif symbol is not None and write is not None and target is not None and action is not None and not dead:
            good = [self.check(symbol, "alphabet"), self.check(write, "alphabet"), self.check(target, "states")]
            if all(good):
                self.add(state, symbol, Rule(target.text, write.text, ACTIONS[action.text]))

    def add(self, state: str, symbol: Scalar, rule: Rule) -> None:
        """Add a rule; a second one for the same state and symbol must be the same."""
        at, key = ("table", state, symbol.text), (state, symbol.text)
        if key in self.rules:
            self.draft.second_rule(symbol, key, self.draft.marks[at], same=self.rules[key] == rule)
            return
        self.draft.marks[at] = symbol
        self.rules[key] = rule


_STAYS = frozenset({"none", "stay", "s", "n", "stop", "-"})


def _kind(node: Node) -> str:
    """Return what JSON calls a node."""
    if isinstance(node, Scalar):
        return "text" if not node.plain else node.text if node.text in ("true", "false", "null") else "a number"
    return "an object" if isinstance(node, Map) else kind(node)


# ── out ─────────────────────────────────────────────────────────────────────────────────────────────────
def _symbol(a: str) -> bool:
    return a.isascii() and a.isprintable()


def write(machine: Machine) -> lossless.Written:
    """Return `machine` as a JSON document.

    Raises:
        ConversionError: if it stays in a cell without halting, or may move left at the end of a one-way tape.
    """
    t = lossless.without_stays(lossless.two_way(lossless.Translation(machine, "ft_turing")))
    t = lossless.accepting_by_name(lossless.with_symbols(t, _symbol, None if _symbol(machine.blank) else BLANK))
    m = t.machine
    notes = list(t.notes)
    if set(m.input_alphabet or ()) != {*m.tape_alphabet} - {m.blank}:
        lost = ", ".join(a for a in m.tape_alphabet if a not in (*(m.input_alphabet or ()), m.blank))
        notes.append(f"the input alphabet is lost: {lost} can be input as well")
    if m.missing_rules:
        notes.append(f"where a rule is missing, this machine {m.missing_outcome}s; ft_turing says 'blocked'")
    rows: dict[str, list[dict[str, str]]] = {q: [] for q, _ in m.transitions}
    names = {move: action for action, move in ACTIONS.items()}
    for (q, a), rule in m.transitions.items():
        rows[q].append({"read": a, "to_state": rule.state, "write": rule.write, "action": names[rule.move]})
    head: dict[str, object] = {
        "name": m.name,
        "alphabet": list(m.tape_alphabet),
        "blank": m.blank,
        "states": list(m.states),
        "initial": m.start,
        "finals": [q for q in m.states if q in m.halting_states],
    }
    lines = ["{", *(f"  {_json(key)}: {_json(value)}," for key, value in head.items()), '  "transitions": {']
    states = [
        f"    {_json(q)}: [\n" + ",\n".join(f"      {_json(rule)}" for rule in rules) + "\n    ]"
        for q, rules in rows.items()
    ]
    return lossless.Written("\n".join([*lines, ",\n".join(states), "  }", "}", ""]), tuple(notes), t.symbols)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=not str(value).isprintable())
