"""Programs for David Doty's automata simulator in its older form, with braces, equals signs and arrows; see `doty`.

First come ``states = {q,r}``, ``input_alphabet = {0,1}``, ``tape_alphabet_extra = {x,_}``, ``start_state = q``,
``accept_state``, ``reject_state`` and ``num_tapes = 1``, then ``delta =`` and rules ``q,0 -> r,x,R;``. ``//`` begins
a comment; a set may go on over several lines, and ``states = ?`` are those that the rules name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from tm2tfr.base.errors import did_you_mean
from tm2tfr.base.text.nodes import Scalar
from tm2tfr.base.text.source import Mark
from tm2tfr.sources.turing.formats.draft import Draft, Loaded, matched, stripped
from tm2tfr.sources.turing.spec import MOVES, Rule

BLANK, ANY = "_", "?"
KEYS = ("states", "input_alphabet", "tape_alphabet_extra", "start_state", "accept_state", "reject_state", "num_tapes")

_HEADER = re.compile(r"\s*+(?P<key>\w++)\s*+=\s*+")
_RULE = re.compile(
    r"\s*+(?P<state>[^\s,]++)\s*+,\s*+(?P<read>\S{1,40}?)\s*->\s*"
    r"(?P<new>[^\s,]++)\s*+,\s*+(?P<write>\S{1,40}?)\s*,\s*(?P<move>\S+?)\s*+"
)
_KEY = re.compile(r"\s*\w+\s*=")
_DELTA = re.compile(r"\s*delta\s*=")


@dataclass
class Rules:
    """The rules of a program in either form, wildcards and all, on their way into a draft."""

    draft: Draft
    remedy: str = "a rule is 'state, symbol -> new state, symbol, L|R|S;'"
    rules: dict[tuple[str, str], tuple[Rule, dict[str, Scalar]]] = field(default_factory=dict)
    """(state, symbol or ?) -> the rule, and where its parts are."""

    def add(self, nodes: dict[str, Scalar]) -> None:
        """Add a rule of these parts: state, read, new, write, move."""
        text = {part: node.text for part, node in nodes.items()}
        wrong = [part for part in ("read", "write", "move") if len(text[part]) != 1]
        for part in wrong:
            what = f"{text[part]!r} is not one character: machines here have one tape"
            self.draft.error(nodes[part], what, self.remedy)
        if not wrong and text["move"] not in MOVES:
            self.draft.error(nodes["move"], f"{text['move']!r} is not a move", "use L, R or S")
        elif not wrong and text["write"] == ANY != text["read"]:
            self.draft.error(nodes["write"], "'?' is written but not read", "write the symbol")
        elif not wrong:
            key, rule = (text["state"], text["read"]), Rule(text["new"], text["write"], MOVES[text["move"]])
            if key in self.rules:
                self.draft.second_rule(nodes["state"], key, self.rules[key][1]["read"])
            self.rules.setdefault(key, (rule, nodes))

    def loaded(self) -> Loaded:
        """Return the machine, with a rule for each symbol instead of the wildcards.

        Raises:
            SpecError: with all that is wrong.
        """
        draft, values, marks = self.draft, self.draft.values, self.draft.marks
        draft.log.conclude()
        extra = values.pop("tape_alphabet_extra", ())
        values["tape_alphabet"] = tuple(dict.fromkeys([*values.get("input_alphabet", ()), *extra, BLANK]))
        draft.log.too_many(sum(len(values["tape_alphabet"]) if symbol == ANY else 1 for _, symbol in self.rules))
        ends = {*values["accept"], *values["reject"]}
        rules: dict[tuple[str, str], Rule] = {}
        for (state, symbol), (rule, nodes) in self.rules.items():
            if state in ends:
                draft.warn(nodes["state"], f"no run continues from state {state!r}", "remove the rule")
                continue
            for a in self.matched(state, symbol):
                rules[state, a] = Rule(rule.state, a if rule.write == ANY else rule.write, rule.move)
                marks["table", state, a] = nodes["read"] if symbol != ANY else nodes["state"]
                marks["table", state, a, "write"], marks["table", state, a, "state"] = nodes["write"], nodes["new"]
            marks.setdefault(("table", state), nodes["state"])
        values["transitions"] = rules
        return draft.loaded()

    def matched(self, state: str, symbol: str) -> Iterator[str]:
        """Yield the symbols that a rule is for: an exact rule takes precedence over the wildcard."""
        if symbol != ANY:
            yield symbol
            return
        yield from (a for a in self.draft.values["tape_alphabet"] if (state, a) not in self.rules)


@dataclass
class Braces(Rules):
    """Reads a program in the older form."""

    found: dict[str, Scalar] = field(default_factory=dict)
    sets: dict[str, list[Scalar]] = field(default_factory=dict)
    """The pieces of each set, one for each of its lines."""
    unclosed: str = ""
    """The key of the set that goes on in the next line, if any."""

    def read(self) -> Loaded:
        """Return the machine.

        Raises:
            SpecError: with every error.
        """
        in_rules: Scalar | None = None
        for number, line in enumerate(self.draft.log.source.lines):
            text = line.split("//")[0]
            if self.unclosed and _KEY.match(text):
                self.draft.error(self.found[self.unclosed], "this set is never closed", "add } at its end")
                del self.sets[self.unclosed]
                self.unclosed = ""
            if in_rules is None and (delta := _DELTA.match(text)):
                in_rules = stripped(number, 0, text[: delta.end()])
                text = " " * delta.end() + text[delta.end() :]
            if in_rules is not None:
                for piece in re.finditer(r"[^;]+", text):
                    self.rule(number, piece.start(), piece[0])
            elif self.unclosed:
                self.piece(self.unclosed, stripped(number, 0, text))
            else:
                self.header(number, text)
        first = stripped(0, 0, self.draft.log.source.lines[0])
        if in_rules is None:
            self.draft.error(
                first, "there is no line 'delta ='", f"add it below the others, and below it the rules: {self.remedy}"
            )
        self.headers(in_rules or first)
        return self.loaded()

    def header(self, number: int, text: str) -> None:
        """Read ``key = value``."""
        match = _HEADER.match(text)
        if match is None:
            if text.strip():
                what = "this is neither 'key = value' nor a rule below 'delta ='"
                self.draft.error(stripped(number, 0, text), what, self.remedy)
            return
        value = text[match.end() :].rstrip().removesuffix(";").rstrip()
        node = Scalar(Mark(number, match.end()), Mark(number, match.end() + len(value)), value, plain=True)
        if match["key"] not in KEYS:
            what = f"unknown key {match['key']!r}{did_you_mean(match['key'], KEYS)}"
            self.draft.warn(matched(number, match, "key"), what, "it is ignored")
        elif match["key"] in self.found:
            self.draft.twice(node, self.found[match["key"]], f"the key {match['key']!r}")
        if match["key"] == "num_tapes":
            self.draft.one_tape(node, value)
        if match["key"] not in self.found:
            self.found[match["key"]] = node
            self.piece(match["key"], node)

    def piece(self, key: str, node: Scalar) -> None:
        """Add a line to a set; the set ends at its closing brace."""
        self.sets.setdefault(key, []).append(node)
        opened = self.found[key].text.startswith("{")
        self.unclosed = key if opened and "}" not in node.text else ""

    def headers(self, delta: Scalar) -> None:
        """Put the lines above the rules, which begin at `delta`, into the draft."""
        draft, values = self.draft, self.draft.values
        for key in ("start_state", "accept_state", "reject_state", "input_alphabet", "states"):
            if key not in self.found:
                draft.error(delta, f"there is no line '{key} = …'", "add it above 'delta ='")
        for key, ours in (("start_state", "start"), ("accept_state", "accept"), ("reject_state", "reject")):
            if key in self.found:
                text = self.found[key].text
                values[ours] = text if ours == "start" else (text,)
                draft.marks[("start state",) if ours == "start" else (ours, text)] = self.found[key]
        for key in ("states", "input_alphabet", "tape_alphabet_extra"):
            if key in self.sets and (key != "states" or self.found[key].text != ANY):
                values[key] = self.names(key)

    def names(self, key: str) -> tuple[str, ...]:
        """Return the names in ``{a,b}``."""
        first = self.found[key]
        whole = " ".join(node.text for node in self.sets[key]).strip().removesuffix(";").rstrip()
        if re.fullmatch(r"\{[^{}]*\}", whole) is None:
            self.draft.error(first, f"{first.text!r} is not a set", "write it as {a,b}")
            return ()
        place = {"states": "table", "input_alphabet": "input alphabet"}.get(key, "tape alphabet")
        found = []
        for node in self.sets[key]:
            for name in re.finditer(r"[^\s,{};][^,{};]*(?<!\s)", node.text):
                found.append(name[0])
                column = node.start.column + name.start()
                self.draft.marks[place, name[0]] = stripped(node.start.line, column, name[0])
        return tuple(dict.fromkeys(found))

    def rule(self, number: int, start: int, text: str) -> None:
        """Read ``state, symbol -> new state, symbol, move``."""
        if not text.strip():
            return
        match = _RULE.fullmatch(text)
        if match is None:
            self.draft.error(stripped(number, start, text), "this is not a rule", self.remedy)
            return
        self.add({part: stripped(number, start + match.start(part), match[part]) for part in match.groupdict()})
