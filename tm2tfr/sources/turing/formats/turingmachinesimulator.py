"""Programs for the simulator at https://turingmachinesimulator.com, with one tape.

First come ``name:``, ``init: q0`` and ``accept: q1, q2``, then rules of two lines each: ``state,symbol`` and below it
``new state,symbol,move``, with a move ``<``, ``>`` or ``-``. ``//`` begins a comment and ``_`` is the blank. The tape is
two-way; a state under ``accept`` accepts on entry, and every other halt rejects. With several tapes there are more fields.

Settings that a program cannot express can be given here in comments: ``// input alphabet: 0 1``,
``// tape alphabet: 0 1 x _``, ``// input: 0101``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from tm2tfr.base.errors import visible
from tm2tfr.base.text.nodes import Node, Scalar
from tm2tfr.base.text.source import FEW_DIAGNOSTICS, Log, SourceText
from tm2tfr.sources.turing.formats import lossless
from tm2tfr.sources.turing.formats.draft import Draft, Loaded, stem, stripped
from tm2tfr.sources.turing.spec import Machine, Rule

BLANK = "_"
MOVES: Mapping[str, int] = {"<": -1, "-": 0, ">": +1}
KEYS = ("name", "init", "accept")

_KEY = re.compile(r"\s*(?P<key>[A-Za-z]\w*)\s*:(?P<value>.*)")
_COMMENT = re.compile(r"\s*//\s*(?P<key>input|input alphabet|tape alphabet): *(?P<value>(?:.*\S)?)\s*")
_MEANT = {"initial": "init", "start": "init", "final": "accept", "title": "name"}
_FIRST, _SECOND = "'state,symbol'", "'new state,symbol,move'"
_LIKE = re.compile(r"^[ \t]*init[ \t]*:", re.MULTILINE)
_MOVED = re.compile(r"^[^:\n]*,[ \t]*[<>-][ \t]*(?://.*)?$", re.MULTILINE)
_OTHERS = re.compile(r"^[ \t]*(?:table|delta|states|transitions|blank|source code)[ \t]*[:=]", re.MULTILINE)


def looks_like(text: str) -> bool:
    """Return whether a text has the line ``init:``, and a line that ends with a move, or at least ``accept:``."""
    if _LIKE.search(text) is None or _OTHERS.search(text) is not None:
        return False
    return _MOVED.search(text) is not None or re.search(r"^[ \t]*accept[ \t]*:", text, re.MULTILINE) is not None


def read(source: SourceText) -> Loaded:
    """Read a machine from a program.

    Raises:
        SpecError: with the first errors.
    """
    draft = Draft(Log(source, most=FEW_DIAGNOSTICS), values={"name": stem(source.file), "blank": BLANK})
    return _Program(draft).read()


@dataclass
class _Program:
    draft: Draft
    found: dict[str, Scalar] = field(default_factory=dict)
    comments: dict[str, str] = field(default_factory=dict)
    waiting: list[Scalar] = field(default_factory=list)
    """The fields of the first line of a rule, until the second one is read."""
    rules: dict[tuple[str, str], Rule] = field(default_factory=dict)
    accept: dict[str, Scalar] = field(default_factory=dict)
    strange: int = 0
    """The number of lines that are not rules."""

    def read(self) -> Loaded:
        rules = []
        for number, line in enumerate(self.draft.log.source.lines):
            if (comment := _COMMENT.fullmatch(line)) is not None:
                self.comments.setdefault(comment["key"], comment["value"])
            text = line.split("//")[0]
            key = _KEY.fullmatch(text)
            if key is not None and (key["key"] in KEYS or "," not in key["key"] + key["value"]):
                self.header(number, key)
            elif text.strip():
                rules.append(_fields(number, text))
        self.headers(_whole(rules[0] if rules else [stripped(0, 0, self.draft.log.source.lines[0])]))
        self.one_tape(rules)
        for fields in rules:
            self.line(fields)
        self.unfinished()
        self.draft.log.conclude()
        self.machine()
        return self.draft.loaded()

    # ── the lines above the rules ───────────────────────────────────────────────────────────────────────
    def header(self, number: int, match: re.Match[str]) -> None:
        """Read ``key: value``."""
        key = stripped(number, match.start("key"), match["key"])
        value = stripped(number, match.start("value"), match["value"])
        if match["key"] not in KEYS:
            self.draft.unknown_key(key, match["key"], KEYS, _MEANT)
        elif match["key"] in self.found:
            self.draft.twice(key, self.found[match["key"]], f"the key {match['key']!r}")
        self.found.setdefault(match["key"], value)

    def headers(self, rule: Node) -> None:
        """Put the lines above the rules, the first of which is `rule` if there is any, into the draft."""
        for key in ("init", "accept"):
            if key not in self.found:
                self.draft.error(rule, f"there is no line '{key}: STATE'", "add it above the rules")
        if "name" in self.found and self.found["name"].text:
            self.draft.values["name"] = self.found["name"].text
        if "init" in self.found:
            start = self.found["init"]
            if not start.text or "," in start.text:
                self.draft.error(start, "a run starts in exactly one state", "write for example 'init: q0'")
            self.draft.values["start"], self.draft.marks["start state",] = start.text, start
        if "accept" in self.found:
            value = self.found["accept"]
            for state in _fields(value.start.line, value.text, value.start.column):
                if state.text:
                    self.accept.setdefault(state.text, state)

    # ── the rules ───────────────────────────────────────────────────────────────────────────────────────
    def one_tape(self, rules: list[list[Scalar]]) -> None:
        """Refuse a program for several tapes, at its first rule; its lines would be as many errors."""
        first, second = [*(fields for fields in rules if len(fields) > 1), [], []][:2]
        tapes = len(first) - 1
        if tapes > 1 and len(second) == 2 * tapes + 1 and not (len(first) == 3 and first[2].text in MOVES):
            self.draft.one_tape(_whole(first), str(tapes))

    def line(self, fields: list[Scalar]) -> None:
        """Read one of the two lines of a rule."""
        if len(fields) == 2:
            self.unfinished()
            self.waiting = fields
        elif len(fields) == 3:
            if self.waiting:
                self.rule(self.waiting, fields)
            else:
                problem = f"this is the second line of a rule, but the first, {_FIRST}, is not above it"
                self.draft.error(_whole(fields), problem, "add it")
            self.waiting = []
        else:
            problem = f"this is not a line of a rule: it has {len(fields)} field{'s' * (len(fields) != 1)}"
            remedy = f"a rule has two lines, {_FIRST} and {_SECOND}; a comment begins with //"
            self.draft.error(_whole(fields), problem, remedy)
            self.waiting = []
            self.strange += 1
            if self.strange == 3:  # this is something else
                raise self.draft.log.failure()

    def unfinished(self) -> None:
        """Report a rule without its second line."""
        if self.waiting:
            problem = f"the second line of this rule, {_SECOND}, is missing"
            self.draft.error(_whole(self.waiting), problem, "add it below, for example 'q1,1,>'")
            self.waiting = []

    def rule(self, first: list[Scalar], second: list[Scalar]) -> None:
        """Read a rule."""
        (state, symbol), (new, write, move) = first, second
        good = [self.is_symbol(symbol, "read"), self.is_symbol(write, "write")]
        for node in (state, new):
            if not node.text:
                self.draft.error(node, "the state is missing", "write it before the comma")
                good.append(False)
        if not move.text:
            self.draft.error(move, "the move is missing", "add < or >, or - to stay")
        elif move.text not in MOVES:
            meant = {"l": "<", "left": "<", "r": ">", "right": ">", "s": "-", "n": "-"}.get(move.text.lower())
            close = f" (did you mean {meant!r}?)" if meant else ""
            self.draft.error(move, f"{move.text!r} is not a move{close}", "use < or >, or - to stay")
        elif all(good):
            self.add(state, symbol, Rule(new.text, write.text, MOVES[move.text]))

    def is_symbol(self, node: Scalar, done: str) -> bool:
        """Return whether a field is a symbol; report any other."""
        if len(node.text) == 1:
            return True
        problem = (
            f"the symbol to {done}, {node.text!r}, is not one character"
            if node.text
            else f"the symbol to {done} is missing"
        )
        self.draft.error(node, problem, "a symbol is one character; _ is the blank")
        return False

    def add(self, state: Scalar, symbol: Scalar, rule: Rule) -> None:
        """Add a rule; a second one for the same state and symbol must be the same."""
        key, at = (state.text, symbol.text), ("table", state.text, symbol.text)
        self.draft.marks.setdefault(("table", state.text), state)
        if key in self.rules:
            self.draft.second_rule(state, key, self.draft.marks[at], same=self.rules[key] == rule)
            return
        self.draft.marks[at] = symbol
        self.rules[key] = rule
        if key[0] in self.accept:
            problem = f"a run accepts on entering state {key[0]!r}, so this rule is never used"
            self.draft.warn(state, problem, f"remove it, or remove {key[0]!r} from 'accept:'")

    def machine(self) -> None:
        """Put the machine into the draft."""
        values = self.draft.values
        rules = {key: rule for key, rule in self.rules.items() if key[0] not in self.accept}
        named = [q for (q, _), rule in rules.items() for q in (q, rule.state)]
        values["states"] = tuple(dict.fromkeys([values["start"], *(q for q, _ in rules), *named, *self.accept]))
        values["transitions"], values["accept"] = rules, tuple(self.accept)
        for node in self.accept.values():
            self.draft.marks["accept", node.text] = node
        if rules and values["start"] not in {*named, *self.accept}:
            close = self.draft.nearest(values["start"], tuple(dict.fromkeys(named)), {})
            problem = f"no rule is for the state {values['start']!r}, in which a run starts{close}"
            self.draft.warn(self.found["init"], problem, "correct it, or add a rule")
        for key in ("input alphabet", "tape alphabet"):
            symbols = self.comments.get(key, "*-").split()
            if all(len(a) == 1 for a in symbols):
                values[key.replace(" ", "_")] = tuple(symbols)
        if "tape_alphabet" in values:
            in_rules = (a for (_, a), rule in rules.items() for a in (a, rule.write))
            more = [*values["tape_alphabet"], *values.get("input_alphabet", ()), *in_rules, BLANK]
            values["tape_alphabet"] = tuple(dict.fromkeys(more))
        word = self.comments.get("input", "")
        sigma = values.get("input_alphabet") or {a for _, a in rules} - {BLANK}
        if word and set(word) <= {*sigma}:
            values["input"] = word


def _fields(number: int, text: str, column: int = 0) -> list[Scalar]:
    return [
        stripped(number, column + piece.start(), piece[0]) for piece in re.finditer(r"[^,]+|(?<=,)(?=,|$)|^(?=,)", text)
    ]


def _whole(fields: list[Scalar]) -> Node:
    return Node(fields[0].start, fields[-1].end)


# ── out ─────────────────────────────────────────────────────────────────────────────────────────────────
def _symbol(a: str) -> bool:
    return a.isprintable() and not a.isspace() and a != "," and ord(a) < 0x10000


def _state(q: str) -> bool:
    return q.isprintable() and not re.search(r"[\s,:]|//", q) and bool(q)


def write(machine: Machine) -> lossless.Written:
    """Return `machine` as a program.

    Raises:
        ConversionError: if it halts without verdicts, or may run into the end of a one-way tape.
    """
    t = lossless.two_way(lossless.with_verdicts(lossless.Translation(machine, "turingmachinesimulator.com")))
    t = lossless.with_symbols(t, _symbol, BLANK)
    t = lossless.with_states(t, lossless.renumbered(t.machine, _state, "q"))
    m = t.machine
    letters = {move: sign for sign, move in MOVES.items()}
    rules = [f"{q},{a}\n{r.state},{r.write},{letters[r.move]}\n" for (q, a), r in m.transitions.items()]
    return t.written("\n".join([*_header(m), "", *rules]))


def _header(m: Machine) -> Iterator[str]:
    for line in map(visible, f"{m.description}\n{m.source}".splitlines()):
        if line.strip() and not _COMMENT.fullmatch(f"// {line}"):
            yield f"// {line}"
    if m.input:
        yield f"// input: {m.input}"
    yield f"// input alphabet: {' '.join(m.input_alphabet or ())}"
    yield f"// tape alphabet: {' '.join(m.tape_alphabet)}"
    yield f"name: {visible(' '.join(m.name.split())).replace('//', '/ /') or 'machine'}"
    yield f"init: {m.start}"
    yield f"accept: {','.join(m.accept_states)}"
