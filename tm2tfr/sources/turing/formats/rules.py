"""The table of a native document: states, symbols, instructions and the synonyms for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from tm2tfr.sources.turing.formats.draft import Draft
from tm2tfr.sources.turing.spec import Rule
from tm2tfr.text.nodes import Map, Node, Scalar, kind

LETTERS: Mapping[str, int] = {"L": -1, "R": +1, "S": 0, "N": 0}
"""The moves; N is how later versions of turingmachine.io spell S."""

_REMEDY = "write L, R, S, a synonym, or a mapping such as {write: 1, R: state}"
_SPELLED = "an instruction has one of L, R and S, and optionally write, as in {write: 1, R: state}"
_MEANT = {
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
            what = "the table has no states" if empty else f"the table is {kind(node)}, not a mapping"
            remedy = "write a line 'STATE:' for each state, and its rules below it, 'SYMBOL: INSTRUCTION'"
            self.draft.error(self.draft.marks["table",], what, remedy)
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
                    what = f"the rule for state {state!r} and symbol {symbol.text!r}"
                    self.draft.twice(symbol, first[symbol.text], what)
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
            close = self.draft.nearest(node.text, self.synonyms, _MEANT)
            what = f"{node.text!r} is neither a move nor a synonym{close}"
            self.draft.error(node, what, _REMEDY)
        return None

    def spelled(self, node: Map) -> Instruction | None:
        """Return the instruction ``{write: s, L: state}``; if something is wrong with it, report it and return None."""
        fields = self.draft.fields(node, "an instruction", ("write", *LETTERS), _SPELLED, _MEANT)
        moves = [key for name, (key, _) in fields.items() if name in LETTERS]
        if len(moves) > 1:
            what = f"this instruction has two moves, {moves[0].text} and {moves[1].text}"
            self.draft.error(moves[1], what, "keep one of them")
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
        what = "the symbol to write is missing" if isinstance(node, Scalar) else f"expected a symbol, found {kind(node)}"
        self.draft.error(key if isinstance(node, Scalar) else node, what, "quote the symbol, as in write: ' '")
        return None
