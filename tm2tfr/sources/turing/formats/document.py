"""A native document -> a draft of its machine: the keys at the top, and the examples."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from tm2tfr.base.text.nodes import Fields, List, Map, Node, Scalar, kind
from tm2tfr.sources.turing.formats.draft import Draft
from tm2tfr.sources.turing.spec import OUTCOMES, Example, Rule

# ── the table of a native document: states, symbols, instructions and the synonyms for them ───────────
LETTERS: Mapping[str, int] = {"L": -1, "R": +1, "S": 0, "N": 0}
"""The moves; N is how later versions of turingmachine.io spell S."""

_REMEDY = "write L, R, S, a synonym, or a mapping such as {write: 1, R: state}"
_SPELLED = "an instruction has one of L, R and S, and optionally write, as in {write: 1, R: state}"
_INSTRUCTION_MEANT = {
    **dict.fromkeys(("l", "left", "<", "<-"), "L"),
    **dict.fromkeys(("r", "right", ">", "->"), "R"),
    **dict.fromkeys(("s", "n", "stay", "stop", "none", "-"), "S"),
}


class Instruction(NamedTuple):
    """The effect of a rule; None means "unchanged"."""

    move: int
    write: Scalar | None = None
    state: Scalar | None = None


@dataclass
class Table:
    """Reads the rules of a document into a draft."""

    draft: Draft
    states: frozenset[str] = frozenset()
    rules: dict[tuple[str, str], Rule] = field(default_factory=dict)
    synonyms: dict[str, Instruction | None] | None = field(default_factory=dict)
    """None for one that could not be read, or for all of them: this has been reported in its place."""

    def read(self, node: Node, synonyms: Node | None) -> None:
        """Read the states of the table `node` and their rules."""
        if not isinstance(node, Map) or not node.pairs:
            empty = isinstance(node, Map) or (isinstance(node, Scalar) and node.null)
            problem = "the table has no states" if empty else f"the table is {kind(node)}, not a mapping"
            remedy = "write a line 'STATE:' for each state, and its rules below it, 'SYMBOL: INSTRUCTION'"
            self.draft.error(self.draft.marks["table",], problem, remedy)
            return
        entries = self.draft.entries(node, "state")
        self.states = frozenset(key.text for key, _ in entries)
        if len(entries) == len(node.pairs):
            self.draft.values["states"] = tuple(key.text for key, _ in entries)
        self.read_synonyms(synonyms)
        for key, value in entries:
            self.draft.marks.setdefault(("table", key.text), key)
            self.read_state(key.text, value)
            self.draft.log.too_many(len(self.rules))
        self.draft.values["transitions"] = self.rules

    def read_synonyms(self, node: Node | None) -> None:
        """Read the synonyms, none of which may use another."""
        if node is None or (isinstance(node, Scalar) and node.null):
            return
        if not isinstance(node, Map):
            remedy = "write lines such as 'accept: {R: accept}' below it"
            self.draft.error(node, f"the synonyms are {kind(node)}, not a mapping", remedy)
            self.synonyms = None
            return
        read: dict[str, Instruction | None] = {}
        for key, value in self.draft.entries(node, "synonym"):
            read.setdefault(key.text, self.instruction(key, value))
        self.synonyms = read

    def read_state(self, state: str, node: Node) -> None:
        """Read the rules of one state; a symbol must have only one rule, alone or in a list."""
        if isinstance(node, Scalar) and node.null:
            return
        if not isinstance(node, Map):
            remedy = "write lines 'SYMBOL: INSTRUCTION' below it, or nothing if it halts"
            self.draft.error(node, f"the entry of state {state!r} is {kind(node)}, not a mapping", remedy)
            return
        first: dict[str, Scalar] = {}
        for key, value in node.pairs:
            instruction = self.instruction(key, value)
            for symbol in self.symbols(key):
                if first.setdefault(symbol.text, symbol) is not symbol:
                    problem = f"the rule for state {state!r} and symbol {symbol.text!r}"
                    self.draft.twice(symbol, first[symbol.text], problem)
                elif instruction is not None and (state, symbol.text) not in self.rules:
                    self.add(state, symbol, instruction)

    def symbols(self, key: Node) -> list[Scalar]:
        """Return the symbols that a key lists; as on turingmachine.io, '0,1' is the list [0, 1]."""
        found = self.draft.scalars(key, "a symbol") or []
        parts = found[0].text.split(",") if isinstance(key, Scalar) else []
        if len(parts) < 2 or any(len(part) != 1 for part in parts):
            return found
        return [self.draft.part(found[0], 2 * k, 2 * k + 1) for k in range(len(parts))]

    def add(self, state: str, symbol: Scalar, instruction: Instruction) -> None:
        """Add δ(state, symbol), and the marks of its parts."""
        move, write, target = instruction
        at, marks = ("table", state, symbol.text), self.draft.marks
        self.rules[state, symbol.text] = Rule(target.text if target else state, write.text if write else symbol.text, move)
        marks[at] = symbol
        if write:
            marks[*at, "write"] = write
        if target:
            marks[*at, "state"] = target

    def instruction(self, key: Node, node: Node) -> Instruction | None:
        """Return the instruction of a rule or a synonym; if there is none, report it and return None."""
        if isinstance(node, Map):
            return self.spelled(node)
        if not isinstance(node, Scalar):
            self.draft.error(node, f"an instruction cannot be {kind(node)}", _REMEDY)
        elif node.text in ("L", "R", "N"):
            return Instruction(LETTERS[node.text])
        elif self.synonyms is None or node.text in self.synonyms:
            return self.synonyms[node.text] if self.synonyms else None
        elif node.text == "S":  # last, since it may be a synonym on turingmachine.io
            return Instruction(LETTERS["S"])
        elif node.null:
            self.draft.error(key, "the instruction is missing", _REMEDY)
        elif node.text in self.states:
            remedy = f"to go there, write {{L: {node.text}}}, {{R: {node.text}}} or {{S: {node.text}}}"
            self.draft.error(node, f"{node.text!r} is a state, not an instruction", remedy)
        else:
            close = self.draft.nearest(node.text, self.synonyms, _INSTRUCTION_MEANT)
            problem = f"{node.text!r} is neither a move nor a synonym{close}"
            self.draft.error(node, problem, _REMEDY)
        return None

    def spelled(self, node: Map) -> Instruction | None:
        """Return the instruction ``{write: s, L: state}``; if something is wrong with it, report it and return None."""
        fields = self.draft.fields(node, "an instruction", ("write", *LETTERS), _SPELLED, _INSTRUCTION_MEANT)
        moves = [key for name, (key, _) in fields.items() if name in LETTERS]
        if len(moves) > 1:
            problem = f"this instruction has two moves, {moves[0].text} and {moves[1].text}"
            self.draft.error(moves[1], problem, "keep one of them")
        elif not moves and len(fields) == len(node.pairs):  # otherwise an unknown key may be the move
            self.draft.error(node, "this instruction has no move", "add L, R or S, as in {write: 1, R}")
        write, target = fields.get("write"), fields.get(moves[0].text) if moves else None
        symbol = self.symbol(*write) if write else None
        if target is None or len(moves) > 1 or (write and symbol is None):
            return None
        _, state = target
        if not isinstance(state, Scalar):
            self.draft.error(state, f"expected a state, found {kind(state)}", "write the name of a state")
            return None
        stays = state.null and state.text not in self.states
        return Instruction(LETTERS[moves[0].text], symbol, None if stays else state)

    def symbol(self, key: Scalar, node: Node) -> Scalar | None:
        """Return the symbol that an instruction writes; if it is not one, report it and return None."""
        if isinstance(node, Scalar) and not node.empty:
            return node
        problem = "the symbol to write is missing" if isinstance(node, Scalar) else f"expected a symbol, found {kind(node)}"
        self.draft.error(key if isinstance(node, Scalar) else node, problem, "quote the symbol, as in write: ' '")
        return None


TEXTS: Mapping[str, str] = {
    "name": "name",
    "description": "description",
    "source": "source",
    "tape": "tape",
    "blank": "blank",
    "start state": "start",
    "input": "input",
}
"""The keys with a text as value, and the keywords of `Machine` for them."""

NAMES: Mapping[str, tuple[str, str]] = {
    "accept": ("accept", "a state"),
    "reject": ("reject", "a state"),
    "input alphabet": ("input_alphabet", "a symbol"),
    "tape alphabet": ("tape_alphabet", "a symbol"),
}
"""The keys with a name or a list of names as value, the keywords of `Machine` for them, and the kind of name."""

KEYS = (*TEXTS, *NAMES, "synonyms", "table", "examples")
EXAMPLE_KEYS = ("input", "outcome", "steps", "tape", "max steps")

_SEPARATORS = "_ ␣,;|#/:xyz"
"""The letters for a blank within an input, the first of them that is not in use."""

_ELSEWHERE = {
    "accept": "final, final state, final states, accept state, accept states, accepting, halt, end state",
    "reject": "reject state, reject states, rejecting, trap state",
    "start state": "start, initial, initial state, init, q0, startstate, start_state",
    "input alphabet": "alphabet, sigma, input symbols, input_alphabet",
    "tape alphabet": "gamma, symbols, tape symbols, tape_alphabet",
    "table": "transitions, transition table, rules, delta, states",
    "blank": "blank symbol, empty",
    "examples": "tests, cases",
    "input": "word, initial tape",
    "name": "title",
    "source": "author, url, reference",
}
_TAPES, _NUMBER = ("type", "tapes", "num_tapes", "number of tapes"), re.compile(r"0*([1-9][0-9]{0,8})(?:[ -]?tapes?)?")
"""The keys with which other programs state the number of tapes, and such a number."""
_MEANT = {other: ours for ours, others in _ELSEWHERE.items() for other in others.split(", ")}


def read_document(root: Map, draft: Draft) -> None:
    """Read the keys of a document into `draft`; an unknown one is a warning, as turingmachine.io ignores it."""
    found: Fields = {}
    for key, value in draft.entries(root, "key"):
        if key.text in KEYS:
            found.setdefault(key.text, (key, value))
        elif key.text in _TAPES and isinstance(value, Scalar) and (number := _NUMBER.fullmatch(value.text)):
            draft.one_tape(value, number[1])
        else:
            draft.warn(
                key,
                f"unknown key {key.text!r}{draft.nearest(key.text, KEYS, _MEANT)}",
                "it is ignored: fix it, or make it a comment",
            )
    for name in found:
        key, value = found[name]
        draft.marks[name,] = key if isinstance(value, Scalar) and value.empty else value
    _read_texts(draft, found)
    _read_names(draft, found)
    if "table" in found:
        synonyms = found["synonyms"][1] if "synonyms" in found else None
        Table(draft).read(found["table"][1], synonyms)
    else:
        draft.error(None, "there is no table", "add a line 'table:', and below it the states with their rules")
    if "examples" in found:
        draft.values["examples"] = _examples(draft, found["examples"][1])
    _separate(draft)


def _read_texts(draft: Draft, found: Fields) -> None:
    draft.values |= {"transitions": {}, "start": "", "blank": ""}
    for name, keyword in TEXTS.items():
        if name not in found:
            continue
        value = found[name][1]
        if isinstance(value, Scalar):
            if not (value.empty and name in ("name", "description", "source")):
                draft.values[keyword] = value.text
        else:
            draft.error(value, f"{name} is {kind(value)}, not text", "write it as text, in quotes if necessary")
            draft.unreadable.add(name)


def _read_names(draft: Draft, found: Fields) -> None:
    for name, (keyword, noun) in NAMES.items():
        if name not in found:
            continue
        key, value = found[name]
        if isinstance(value, Scalar) and value.empty:
            remedy = f"write {noun}, or a list of them ([] for none), or remove the line"
            draft.error(key, f"nothing follows {name!r}", remedy)
            names = None
        else:
            names = draft.scalars(value, noun)
        if names is None:
            draft.unreadable.add(name)
            continue
        draft.values[keyword] = tuple(n.text for n in names)
        for node in names:
            draft.marks.setdefault((name, node.text), node)


def _separate(draft: Draft) -> None:
    """Give a blank within the input a letter of its own, which every state treats as the blank; unless Σ is declared.

    A blank within an input is legal on turingmachine.io, but no word over an input alphabet contains it. With the letter s,
    δ(q, s) = δ(q, blank): no run differs, but that its tape has s where the blank of the input was never overwritten.
    """
    word, blank = draft.values.get("input", ""), draft.values["blank"]
    if len(blank) != 1 or blank not in word:
        return
    span = draft.span(draft.marks["input",], word.index(blank))
    if blank not in (word := word.rstrip(blank)):
        draft.values["input"] = word
        problem, remedy = f"the input ends with the blank {blank!r}", "it is read without it: an empty cell is blank anyway"
        draft.log.add(span, problem, remedy, "warning")
        return
    problem = f"position {word.index(blank)} of the input is the blank {blank!r}"
    rules = draft.values["transitions"]
    taken = {*word, *draft.values.get("tape_alphabet", ())}
    taken |= {symbol for (_, a), rule in rules.items() for symbol in (a, rule.write)}
    taken |= {a for example in draft.values.get("examples", ()) for a in example.input}
    letter = next((a for a in _SEPARATORS if a not in taken), None)
    if "input_alphabet" in draft.values or letter is None:
        remedy = "use another symbol there, which every state treats as the blank"
        draft.log.add(span, f"{problem}, which is not in the input alphabet", remedy)
        return
    warning = f"{problem}: it is read as the symbol {letter!r}, which every state treats as the blank"
    draft.log.add(span, warning, f"no run differs; write {letter!r} for the blank in other inputs", "warning")
    for (q, a), rule in tuple(rules.items()):
        if a == blank:
            rules[q, letter] = rule
            draft.marks["table", q, letter] = draft.marks["table", q, a]
    draft.values["input"] = word.replace(blank, letter)
    draft.values["about_input"] = f"write {letter!r} for the blank"
    if "tape_alphabet" in draft.values:
        draft.values["tape_alphabet"] += (letter,)


def _examples(draft: Draft, node: Node) -> tuple[Example, ...]:
    if isinstance(node, Scalar) and node.null:
        return ()
    if not isinstance(node, List):
        remedy = "write lines such as '- {input: 11, outcome: accept}' below it"
        draft.error(node, f"the examples are {kind(node)}, not a list", remedy)
        return ()
    read: list[Example] = []
    for item in node.items:
        example = _example(draft, item, str(len(read)))
        if example is not None:
            read.append(example)
    return tuple(read)


def _example(draft: Draft, node: Node, place: str) -> Example | None:
    if not isinstance(node, Map):
        remedy = "write a mapping such as {input: 11, outcome: accept}"
        draft.error(node, f"an example cannot be {kind(node)}", remedy)
        return None
    fields = draft.fields(node, "an example", EXAMPLE_KEYS, f"an example has the keys {', '.join(EXAMPLE_KEYS)}", {})
    texts: dict[str, str] = {}
    for name, (key, value) in fields.items():
        if isinstance(value, Scalar):
            texts[name] = value.text
            draft.marks["examples", place, name] = key if value.empty else value
        else:
            draft.error(value, f"{name} is {kind(value)}, not text", "write it as text, in quotes if necessary")
    for name, remedy in (("input", "add input: WORD"), ("outcome", f"add outcome: {', '.join(OUTCOMES)}")):
        if name not in fields and len(fields) == len(node.pairs):
            draft.error(node, f"the example has no {name}", remedy)
    numbers = {name: _count(draft, fields, name) for name in ("steps", "max steps")}
    if not {"input", "outcome"} <= texts.keys():
        return None
    return Example(
        input=texts["input"],
        outcome=texts["outcome"],  # type: ignore[arg-type]  # checked with the machine
        steps=numbers["steps"],
        tape=texts.get("tape"),
        max_steps=numbers["max steps"],
    )


def _count(draft: Draft, fields: Fields, name: str) -> int | None:
    key, value = fields.get(name, (None, None))
    if not isinstance(value, Scalar):
        return None
    if not re.fullmatch("[0-9]{1,18}", value.text):
        node = key if value.empty else value
        draft.error(node, f"{name} is {value.text!r}, not a number of steps", "write a number such as 100")
        return None
    return int(value.text)
