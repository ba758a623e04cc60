"""Machines for David Doty's automata simulator (https://web.cs.ucdavis.edu/~doty/automata/), with one tape.

In its present form a machine is YAML with the keys ``states``, ``input_alphabet``, ``tape_alphabet_extra``,
``start_state``, ``accept_state``, ``reject_state`` and ``delta: {q: {0: [r, x, R]}}``, in a file of any ending.

The older form has braces, equals signs and arrows: first ``states = {q,r}``, ``input_alphabet = {0,1}``,
``tape_alphabet_extra = {x,_}``, ``start_state = q``, ``accept_state``, ``reject_state`` and ``num_tapes = 1``, then
``delta =`` and rules ``q,0 -> r,x,R;``. ``//`` begins a comment; a set may go on over several lines, and ``states = ?``
are those that the rules name.

In both, ``_`` is the blank, and ``?`` reads any symbol without a rule of its own, and written it leaves the symbol
unchanged. The tape is one-way, the head stays at cell 0 when it moves left there, and where a rule is missing, a run
rejects.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from tm2tfr.base.errors import did_you_mean, visible
from tm2tfr.base.text.nodes import LOADERS, Fields, List, Map, Node, Scalar, compose, kind
from tm2tfr.base.text.source import FEW_DIAGNOSTICS, Log, Mark, SourceText
from tm2tfr.base.text.words import flow_list, scalar
from tm2tfr.sources.turing.formats import lossless
from tm2tfr.sources.turing.formats.draft import Draft, Loaded, matched, stem, stripped
from tm2tfr.sources.turing.spec import MOVES, Machine, Rule

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
            problem = "the document is empty" if root is None else f"the document is {kind(root)}, not a mapping"
            self.draft.refuse(root, problem, f"write the keys {', '.join(KEYS)}")
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
                self.draft.unknown_key(key, key.text, KEYS, _ELSEWHERE)
        self.draft.missing_keys(root, [key for key in KEYS if key not in found and key != "tape_alphabet_extra"])
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
                    problem = f"the symbol {text.text!r} is not one character"
                    self.draft.error(text, problem, "a symbol is exactly one character")

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
                problem = f"the entry of state {state.text!r} is {kind(rules)}, not a mapping"
                self.draft.error(rules, problem, f"write its rules below it: {_SPELLED}")
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


# ── the older form
BLANK, ANY = "_", "?"
OLDER_KEYS = ("states", "input_alphabet", "tape_alphabet_extra", "start_state", "accept_state", "reject_state", "num_tapes")

_OLDER_HEADER = re.compile(r"\s*+(?P<key>\w++)\s*+=\s*+")
_OLDER_RULE = re.compile(
    r"\s*+(?P<state>[^\s,]++)\s*+,\s*+(?P<read>\S{1,40}?)\s*->\s*"
    r"(?P<new>[^\s,]++)\s*+,\s*+(?P<write>\S{1,40}?)\s*,\s*(?P<move>\S+?)\s*+"
)
_KEY = re.compile(r"\s*\w+\s*=")
_OLDER_DELTA = re.compile(r"\s*delta\s*=")


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
            problem = f"{text[part]!r} is not one character: machines here have one tape"
            self.draft.error(nodes[part], problem, self.remedy)
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
    """The key of the set that continues in the next line, if any."""

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
            if in_rules is None and (delta := _OLDER_DELTA.match(text)):
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
        match = _OLDER_HEADER.match(text)
        if match is None:
            if text.strip():
                problem = "this is neither 'key = value' nor a rule below 'delta ='"
                self.draft.error(stripped(number, 0, text), problem, self.remedy)
            return
        value = text[match.end() :].rstrip().removesuffix(";").rstrip()
        node = Scalar(Mark(number, match.end()), Mark(number, match.end() + len(value)), value, plain=True)
        if match["key"] not in OLDER_KEYS:
            problem = f"unknown key {match['key']!r}{did_you_mean(match['key'], OLDER_KEYS)}"
            self.draft.warn(matched(number, match, "key"), problem, "it is ignored")
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
        match = _OLDER_RULE.fullmatch(text)
        if match is None:
            self.draft.error(stripped(number, start, text), "this is not a rule", self.remedy)
            return
        self.add({part: stripped(number, start + match.start(part), match[part]) for part in match.groupdict()})
