"""Programs for David Doty's automata simulator, ``.tm``, with one tape.

First come ``states = {q,r}``, ``input_alphabet = {0,1}``, ``tape_alphabet_extra = {x,_}``, ``start_state = q``,
``accept_state``, ``reject_state`` and ``num_tapes = 1``, then ``delta =`` and rules ``q,0 -> r,x,R;``. ``//`` begins
a comment and ``_`` is the blank; ``?`` reads any symbol without a rule of its own, and written it leaves the symbol
unchanged. The tape is one-way, the head stays at cell 0 when it moves left there, and a missing rule rejects.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from tm2tfr.errors import did_you_mean
from tm2tfr.sources.turing.formats.draft import Draft
from tm2tfr.sources.turing.formats.loaded import Loaded, stem
from tm2tfr.sources.turing.spec import MOVES, Rule
from tm2tfr.text.nodes import Node, Scalar
from tm2tfr.text.source import Log, Mark, Source

BLANK, ANY = "_", "?"
KEYS = ("states", "input_alphabet", "tape_alphabet_extra", "start_state", "accept_state", "reject_state", "num_tapes")

_HEADER = re.compile(r"\s*(?P<key>\w+)\s*=\s*(?P<value>.*?)\s*;?\s*")
_RULE = re.compile(
    r"\s*(?P<state>[^\s,]+)\s*,\s*(?P<read>\S+?)\s*->\s*(?P<new>[^\s,]+)\s*,\s*(?P<write>\S+?)\s*,\s*(?P<move>\S+?)\s*"
)
_LIKE = re.compile(r"^\s*(?:delta\s*=|[^\s,]+\s*,\s*\S+\s*->)", re.MULTILINE)
_REMEDY = "a rule is 'state, symbol -> new state, symbol, L|R|S;'"


def looks_like(text: str) -> bool:
    """Return whether a text contains a rule of this format, or the line above the rules."""
    return _LIKE.search(text) is not None


def read(source: Source) -> Loaded:
    """Read a machine from a ``.tm`` program.

    Raises:
        SpecError: with every error.
    """
    draft = Draft(Log(source), values={"name": stem(source.file), "blank": BLANK, "tape": "one-way"})
    return _Program(draft).read()


@dataclass
class _Program:
    draft: Draft
    found: dict[str, Scalar] = field(default_factory=dict)
    rules: dict[tuple[str, str], tuple[Rule, str, dict[str, Node]]] = field(default_factory=dict)
    """(state, symbol or ?) -> the rule, what it writes (? for what it reads), and where its parts are."""

    def read(self) -> Loaded:
        in_rules = False
        for number, line in enumerate(self.draft.log.source.lines):
            text = line.split("//")[0]
            if not in_rules and (delta := re.match(r"\s*delta\s*=", text)):
                in_rules = True
                text = " " * delta.end() + text[delta.end() :]
            if in_rules:
                for piece in re.finditer(r"[^;]+", text):
                    self.rule(number, piece.start(), piece[0])
            else:
                self.header(number, text)
        self.headers()
        if any(d.severity == "error" for d in self.draft.log.found):
            raise self.draft.log.failure()
        self.expand()
        return Loaded(machine=self.draft.machine(), warnings=self.draft.log.conclude())

    def header(self, number: int, text: str) -> None:
        """Read ``key = value``."""
        match = _HEADER.fullmatch(text)
        if match is None:
            if text.strip():
                node = _node(number, len(text) - len(text.lstrip()), text.strip())
                self.draft.error(node, "this is neither 'key = value' nor a rule below 'delta ='", _REMEDY)
            return
        start = match.start("value")
        node = Scalar(Mark(number, start), Mark(number, match.end("value")), match["value"], plain=True)
        if match["key"] not in KEYS:
            what = f"unknown key {match['key']!r}{did_you_mean(match['key'], KEYS)}"
            self.draft.warn(_node(number, match.start("key"), match["key"]), what, "it is ignored")
        elif match["key"] in self.found:
            self.draft.twice(node, self.found[match["key"]], f"the key {match['key']!r}")
        self.found.setdefault(match["key"], node)

    def headers(self) -> None:
        """Put the lines above the rules into the draft."""
        draft, values = self.draft, self.draft.values
        for key in ("start_state", "accept_state", "reject_state", "input_alphabet", "states"):
            if key not in self.found:
                draft.error(None, f"there is no line '{key} = …'", "add it above 'delta ='")
        tapes = self.found.get("num_tapes")
        if tapes is not None and tapes.text != "1":
            what = f"this machine has {tapes.text} tapes, but machines here have one"
            draft.error(tapes, what, "convert it to one tape first")
        for key, ours in (("start_state", "start"), ("accept_state", "accept"), ("reject_state", "reject")):
            if key in self.found:
                text = self.found[key].text
                values[ours] = text if ours == "start" else (text,)
                draft.marks[("start state",) if ours == "start" else (ours, text)] = self.found[key]
        for key in ("states", "input_alphabet", "tape_alphabet_extra"):
            if key in self.found:
                values[key] = self.names(self.found[key])
                for name in values[key]:
                    draft.marks["input alphabet" if key == "input_alphabet" else "tape alphabet", name] = self.found[key]
        extra = values.pop("tape_alphabet_extra", ())
        values["tape_alphabet"] = tuple(dict.fromkeys([*values.get("input_alphabet", ()), *extra, BLANK]))

    def names(self, node: Scalar) -> tuple[str, ...]:
        """Return the names in ``{a,b}``."""
        inside = re.fullmatch(r"\{(.*)\}", node.text)
        if inside is None:
            self.draft.error(node, f"{node.text!r} is not a set", "write it as {a,b}")
            return ()
        return tuple(dict.fromkeys(name.strip() for name in inside[1].split(",") if name.strip()))

    def rule(self, number: int, start: int, text: str) -> None:
        """Read ``state, symbol -> new state, symbol, move``."""
        if not text.strip():
            return
        match = _RULE.fullmatch(text)
        if match is None:
            column = start + len(text) - len(text.lstrip())
            self.draft.error(_node(number, column, text.strip()), "this is not a rule", _REMEDY)
            return
        nodes = {part: _node(number, start + match.start(part), match[part]) for part in match.groupdict()}
        wrong = [part for part in ("read", "write", "move") if len(match[part]) != 1]
        for part in wrong:
            what = f"{match[part]!r} is not one character: machines here have one tape"
            self.draft.error(nodes[part], what, _REMEDY)
        if not wrong and match["move"] not in MOVES:
            self.draft.error(nodes["move"], f"{match['move']!r} is not a move", "use L, R or S")
        elif not wrong and match["write"] == ANY != match["read"]:
            self.draft.error(nodes["write"], "'?' is written but not read", "write the symbol")
        elif not wrong:
            key, rule = (match["state"], match["read"]), Rule(match["new"], match["write"], MOVES[match["move"]])
            if key in self.rules:
                first = self.rules[key][2]["state"].start.line + 1
                what = f"state {key[0]!r} already has a rule for {key[1]!r} in line {first}: a choice (nondeterminism)"
                self.draft.error(nodes["state"], what, "keep one of them: machines here are deterministic")
            self.rules.setdefault(key, (rule, match["write"], nodes))

    def expand(self) -> None:
        """Put the rules into the draft, with a rule for each symbol instead of the wildcards."""
        values, marks = self.draft.values, self.draft.marks
        self.draft.log.too_many(len(self.rules), len(values["tape_alphabet"]))
        ends = {*values["accept"], *values["reject"]}
        rules: dict[tuple[str, str], Rule] = {}
        for (state, symbol), (rule, write, nodes) in self.rules.items():
            if state in ends:
                self.draft.warn(nodes["state"], f"no run continues from state {state!r}", "remove the rule")
                continue
            for a in self.matched(state, symbol):
                rules[state, a] = Rule(rule.state, a if write == ANY else write, rule.move)
                marks["table", state, a] = nodes["read"] if symbol != ANY else nodes["state"]
                marks["table", state, a, "write"], marks["table", state, a, "state"] = nodes["write"], nodes["new"]
            marks.setdefault(("table", state), nodes["state"])
        values["transitions"] = rules

    def matched(self, state: str, symbol: str) -> Iterator[str]:
        """Yield the symbols that a rule is for: an exact rule takes precedence over the wildcard."""
        if symbol != ANY:
            yield symbol
            return
        yield from (a for a in self.draft.values["tape_alphabet"] if (state, a) not in self.rules)


def _node(number: int, column: int, text: str) -> Node:
    return Node(Mark(number, column), Mark(number, column + len(text)))
