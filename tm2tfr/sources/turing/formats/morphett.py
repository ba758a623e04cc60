"""Programs for Anthony Morphett's Turing machine simulator (https://morphett.info/turing).

One rule per line, ``state read write l|r|* new-state``, optionally with a breakpoint ``!``; ``;`` begins a comment, ``_``
is the blank. ``*`` matches any symbol or state, and leaves the symbol, the head or the state as it is. The most
specific rule applies: (q, s), (q, *), (*, s), (*, *). A run starts in state 0 and stops in a state that begins with
``halt``: ``halt-accept`` accepts, ``halt-reject`` rejects. A program with neither, or with another one beside them, such as
``halt``, halts without a verdict.

Settings that the simulator takes apart from its program can be given here in comments: ``; name:``,
``; tape: one-way`` (its semi-infinite variant), ``; initial state: q``, ``; input: 0101``, ``; input alphabet: 0 1``,
``; tape alphabet: 0 1 x _``. ``$INITIAL_TAPE: 0101`` within a comment is the input as well, as on the site, and so is what
the JSON has that the site saves.

A space in an input is a blank there. Here no input has blanks: where the input has one, or the input alphabet lists
``_``, the space is a symbol of its own that every state treats as the blank, δ(q, space) = δ(q, _). So no run differs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from tm2tfr.base.errors import visible
from tm2tfr.base.text.json_nodes import compose_json
from tm2tfr.base.text.nodes import Map, Node, Scalar, kind
from tm2tfr.base.text.source import Log, Mark, SourceText
from tm2tfr.sources.turing.formats import lossless
from tm2tfr.sources.turing.formats.draft import Draft, Loaded, matched, stem
from tm2tfr.sources.turing.spec import TAPES, Machine, Rule

# ── what Morphett's simulator saves: a JSON object with the program, the tape and state to begin with, and the variant
# The state, the tape and the head's place at the moment of saving are in it too. A machine begins its runs at the
# beginning, so they are not used.
KEYS = (
    *("program", "initialtape", "initialstate", "variant"),
    *("state", "tape", "tapeoffset", "headposition", "steps", "fullspeed", "version"),
)
VARIANTS = {"0": "two-way", "1": "one-way", "2": "two-way"}
CHOICE = "2"
_LIKE = re.compile(r'"(?:initialtape|tapeoffset|headposition|initialstate|state|tape)"\s*:')


@dataclass(frozen=True, kw_only=True)
class SavedProgram:
    """A saved program and its settings.

    Args:
        source: the program.
        tape, state: the initial tape and state, if given.
        one_way: whether the tape is semi-infinite.
        chooses: whether one of several rules is chosen at random.
    """

    source: SourceText
    tape: Scalar | None = None
    state: Scalar | None = None
    one_way: bool = False
    chooses: bool = False


def is_snapshot(text: str) -> bool:
    """Return whether a text is such an object, as far as its beginning shows."""
    return text.lstrip()[:1] == "{" and '"program"' in text and _LIKE.search(text) is not None


def read_snapshot(draft: Draft) -> SavedProgram:
    """Return the saved program; warnings go to the draft.

    Raises:
        SpecError: if it is not such an object.
    """
    source = draft.log.source
    root = compose_json(source)
    if not isinstance(root, Map):
        draft.refuse(root, "this is not a JSON object", "save the machine again, or give its program as text")
    found: dict[str, Scalar] = {}
    for key, value in draft.entries(root, "key"):
        if key.text not in KEYS:
            draft.unknown_key(key, key.text, KEYS, {}, "remove it")
        elif isinstance(value, Scalar):
            found.setdefault(key.text, value)
        else:
            draft.error(value, f"{key.text} is {kind(value)}, not text or a number", "write it in quotes")
    program = found.get("program")
    given = any(isinstance(key, Scalar) and key.text == "program" for key, _ in root.pairs)
    if not given or (program is not None and program.plain):
        problem = "there is no program" if program is None else "the program is not text"
        draft.error(program, problem, "give it as text in quotes, with \\n at the end of each line")
    variant = found.get("variant")
    if variant is not None and variant.text not in VARIANTS:
        draft.error(variant, f"there is no variant {variant.text}", "use 0, 1 for a one-way tape, or 2 for choices")
    if draft.log.broken or program is None:
        raise draft.log.failure()
    steps = found.get("steps")
    if steps is not None and steps.text not in ("0", "null"):
        problem = f"this was saved after {steps.text} steps, and a run here begins at the beginning"
        draft.warn(steps, problem, "reset the machine before saving it")
    chosen = variant.text if variant is not None else "0"
    state, tape = found.get("initialstate"), found.get("initialtape")
    return SavedProgram(
        source=SourceText(program.text, f"{source.file} (program)"),
        tape=tape if tape is not None and not tape.plain and tape.text else None,
        state=state if state is not None and state.text.split() else None,
        one_way=VARIANTS[chosen] == "one-way",
        chooses=chosen == CHOICE,
    )


START, BLANK, ANY = "0", "_", "*"
ACCEPT, REJECT, HALT = "halt-accept", "halt-reject", "halt"
MOVES = {"l": -1, "r": 1, ANY: 0}

_FIELDS = ("state", "symbol to read", "symbol to write", "move", "new state")
_RULE = re.compile(r"\s*[^\s;]+\s+[^\s;]\s+[^\s;]\s+[lrLR*]\s+[^\s;]+(\s+!)?\s*(;.*)?")
_HEADER = re.compile(
    r"\s*;\s*(?P<key>name|tape|initial state|input|input alphabet|tape alphabet): *(?P<value>(?:.*\S)?)\s*"
)
_INITIAL_TAPE = re.compile(r"[^;]*;.*\$INITIAL_TAPE:? *(?P<value>\S(?:.*\S)?)\s*")
SPACE = " "
"""A blank within an input, as a symbol."""


def looks_like(text: str) -> bool:
    """Return whether some line of a text is a rule of this format, and most lines have as many parts as one."""
    if is_snapshot(text):
        return True
    lines = [line for line in text.splitlines() if line.split(";")[0].strip()]
    long = sum(4 <= len(line.split(";")[0].split()) <= 6 for line in lines)
    return long * 2 > len(lines) and any(_RULE.fullmatch(line) for line in lines)


def stops(state: str) -> bool:
    """Return whether the simulator stops in a state."""
    return state[:4].lower() == HALT


class _RuleLine(NamedTuple):
    """A rule as it is written, wildcards and all, and its tokens."""

    state: str
    read: str
    write: str
    move: int
    new: str
    tokens: tuple[Node, ...]


def read(source: SourceText) -> Loaded:
    """Read a machine from a program.

    Raises:
        SpecError: with every error.
    """
    draft = Draft(Log(source), values={"name": stem(source.file), "blank": BLANK, "start": START})
    if not is_snapshot(source.text):
        return _Program(draft).read()
    saved, outer = read_snapshot(draft), draft.log
    draft.log = outer.inside(saved.source)
    program = _Program(draft, chooses=saved.chooses)
    if saved.one_way:
        draft.values["tape"] = "one-way"
    for key, node in (("initial state", saved.state), ("input", saved.tape)):
        if node is not None:
            program.headers[key] = (node.text if key == "input" else node.text.split()[0], None)
    return program.read()


@dataclass
class _Program:
    draft: Draft
    lines: dict[tuple[str, str], _RuleLine] = field(default_factory=dict)
    headers: dict[str, tuple[str, Node | None]] = field(default_factory=dict)
    chooses: bool = False
    """Whether two rules for the same state and symbol are a choice, which is refused."""
    start: str = START
    spaces: bool = False
    """Whether an input may have spaces."""

    def read(self) -> Loaded:
        for number, text in enumerate(self.draft.log.source.lines):
            if (header := _HEADER.fullmatch(text)) is not None:
                self.headers.setdefault(header["key"], (header["value"], matched(number, header, "value")))
            elif (tape := _INITIAL_TAPE.fullmatch(text)) is not None:
                self.headers.setdefault("initial tape", (tape["value"], matched(number, tape, "value")))
            self.line(number, text.split(";")[0])
        if not self.lines and not self.draft.log.found:
            self.draft.error(None, "this text contains no rule", "write rules such as '0 1 _ r 0', one per line")
        self.draft.log.conclude()
        self.expand()
        return self.draft.loaded()

    def line(self, number: int, text: str) -> None:
        """Read one line without its comment."""
        found = list(re.finditer(r"\S+", text))
        if not found:
            return
        tokens = [m[0] for m in found]
        nodes = tuple(matched(number, m) for m in found)
        remedy = "a rule is 'state read write l|r|* new-state', optionally followed by !"
        if tokens[0].startswith("$INITIAL_TAPE"):
            self.draft.error(nodes[0], f"{tokens[0]!r} begins no rule", "put ; before it: ; $INITIAL_TAPE: 101")
            return
        if len(tokens) < 5:
            problem = f"the {_FIELDS[len(tokens)]} is missing"
            self.draft.error(Node(nodes[0].start, nodes[-1].end), problem, remedy)
            return
        if len(tokens) > 6 or (len(tokens) == 6 and tokens[5] != "!"):
            several = " (machines here have one tape)" if len(tokens) > 6 else ""
            self.draft.error(nodes[5], f"{tokens[5]!r} is one entry too many{several}", remedy)
            return
        state, symbol, write, move, new = tokens[:5]
        good = True
        for k in (1, 2):
            if len(tokens[k]) != 1:
                problem = f"the {_FIELDS[k]}, {tokens[k]!r}, is not one character"
                self.draft.error(nodes[k], problem, "a symbol is one character; _ is the blank, * is any")
                good = False
        if move.lower() not in MOVES:
            self.draft.error(nodes[3], f"{move!r} is not a move", "use l, r, or * to stay")
            good = False
        if good:
            self.add(_RuleLine(state, symbol, write, MOVES[move.lower()], new, nodes))

    def add(self, line: _RuleLine) -> None:
        """Add a rule: of two for the same state and symbol the last one applies, as in the simulator."""
        before = self.lines.get((line.state, line.read))
        if before is not None:
            what = f"the rule for state {line.state!r} and symbol {line.read!r} replaces the one in line "
            what += str(before.tokens[0].start.line + 1)
            if self.chooses:
                self.draft.error(line.tokens[0], f"{what}, and machines here are deterministic", "remove one of the two")
            else:
                self.draft.warn(line.tokens[0], what, "remove one of the two")
        if stops(line.state):
            self.draft.warn(
                line.tokens[0], f"no run continues from state {line.state!r}", "remove the rule, or rename the state"
            )
        self.lines[line.state, line.read] = line

    # ── what the program means ──────────────────────────────────────────────────────────────────────────
    def expand(self) -> None:
        """Put the machine into the draft, with a rule for each state and symbol in place of the wildcards."""
        draft, lines = self.draft, self.lines.values()
        named = dict.fromkeys(a for x in lines for a in (x.read, x.write) if a != ANY)
        self.headers_into(draft, frozenset(named))
        states = dict.fromkeys([self.start, *(q for x in lines for q in (x.state, x.new) if q != ANY)])
        if not any(x.state in (self.start, ANY) for x in lines):
            problem = f"there is no rule for state {self.start!r}, in which a run starts"
            remedy = f"name the start state {START!r}, or add a comment: '; initial state: NAME'"
            draft.error(next(iter(lines)).tokens[0], problem, remedy)
        sigma = [*draft.values.get("input_alphabet", ()), *draft.values.get("input", "")]
        gamma = tuple(dict.fromkeys([*draft.values.get("tape_alphabet", ()), *named, *sigma, BLANK]))
        draft.log.too_many(len(states) * len(gamma))
        rules: dict[tuple[str, str], Rule] = {}
        for q in states:
            for a in () if stops(q) else gamma:
                symbol = BLANK if a == SPACE else a
                line = self.rule_for(q, symbol)
                if line is not None:
                    new, write = (q if line.new == ANY else line.new), (symbol if line.write == ANY else line.write)
                    rules[q, a] = Rule(new, write, line.move)
                    draft.marks["table", q, a] = line.tokens[0]
        draft.values |= {"transitions": rules, "states": tuple(states), "tape_alphabet": gamma} | self.verdicts(states)
        draft.values["start"] = self.start
        known = [a for a in draft.values.get("input_alphabet", gamma) if a not in (BLANK, SPACE)]
        header, space = (f"'; input alphabet: {' '.join([*known, other])}'" for other in ("x", BLANK))
        draft.values["about_input"] = f"list others in the program, as in {header}, or {space} for spaces"

    def rule_for(self, state: str, symbol: str) -> _RuleLine | None:
        """Return the most specific rule."""
        keys = ((state, symbol), (state, ANY), (ANY, symbol), (ANY, ANY))
        return next((self.lines[key] for key in keys if key in self.lines), None)

    def verdicts(self, states: dict[str, None]) -> dict[str, object]:
        """Return the states with a verdict; none has one where another state halts without."""
        ends = [q for q in states if stops(q)]
        accept = tuple(q for q in ends if q.lower() == ACCEPT)
        reject = tuple(q for q in ends if q.lower() == REJECT)
        plain = [q for q in ends if q not in (*accept, *reject)]
        if not accept and not reject:
            return {}
        if plain:
            line = next(x for x in self.lines.values() if plain[0] in (x.state, x.new))
            problem = f"state {plain[0]!r} halts without a verdict, and where one halt has none, no halt has one here"
            self.draft.warn(line.tokens[4], problem, f"name it {ACCEPT} or {REJECT} to have all of them")
            return {}
        return {"accept": accept, "reject": reject}

    def headers_into(self, draft: Draft, named: frozenset[str]) -> None:
        """Read the settings given in comments, as far as they are meant for this program: its rules name these symbols."""
        for key in ("input alphabet", "tape alphabet"):
            value, node = self.headers.get(key, ("*", None))
            symbols = value.split()
            if node is not None and all(len(a) == 1 and a not in "*;" for a in symbols):
                if key == "input alphabet" and BLANK in symbols:
                    symbols[symbols.index(BLANK)] = SPACE
                draft.values[key.replace(" ", "_")] = tuple(symbols)
                draft.marks[key,] = node
        if "name" in self.headers and self.headers["name"][0]:
            draft.values["name"] = self.headers["name"][0]
        if "tape" in self.headers and self.headers["tape"][0].split(" ")[0] in TAPES:
            draft.values["tape"] = self.headers["tape"][0].split(" ")[0]
        state, node = self.headers.get("initial state", (START, None))
        if state.split() == [state]:
            self.start = state
            if node is not None:
                draft.marks["start state",] = node
        own = self.headers.get("input")
        if own is not None and (SPACE not in own[0] or {*own[0]} <= {*named, SPACE, ANY, BLANK}):  # not prose about it
            self.input(*own)
        elif "initial tape" in self.headers:
            self.input(*self.headers["initial tape"])

    def input(self, word: str, node: Node | None) -> None:
        """Read the input of the program, in which spaces are blanks, and * is where the head begins."""
        if node is not None:
            self.draft.marks["input",] = node
        if (at := word.find(ANY)) > 0:
            mark = node
            if node is not None:
                mark = Node(*(Mark(node.start.line, node.start.column + at + k) for k in (0, 1)))
            problem = f"the mark '*' starts the head at cell {at}, but runs here start at cell 0, on the first symbol"
            self.draft.error(mark, problem, "move the mark to the front, or add rules that move the head there")
        word = word.replace(ANY, "").replace(BLANK, SPACE).rstrip(SPACE)
        if SPACE in word and SPACE not in self.draft.values.get("input_alphabet", ()):
            problem = (
                "the input has blanks in it: a space is a symbol of its own here, which every state treats as the blank"
            )
            self.draft.warn(node, problem, "no run differs; if inputs are to have none, use another symbol there")
            if "input_alphabet" in self.draft.values:
                self.draft.values["input_alphabet"] += (SPACE,)
        self.draft.values["input"] = word


# ── out ─────────────────────────────────────────────────────────────────────────────────────────────────
def _symbol(a: str) -> bool:
    return a.isprintable() and not a.isspace() and a not in (";", ANY) and ord(a) < 0x10000


def _state(q: str) -> bool:
    return q.isprintable() and not re.search(r"[\s;]", q) and q != ANY and not stops(q)


def write(machine: Machine) -> lossless.Written:
    """Return `machine` as a program.

    Raises:
        ConversionError: if it halts before its first step, which the state named 0 cannot do.
    """
    t = lossless.with_symbols(lossless.Translation(machine, "Morphett's simulator"), _symbol, BLANK)
    m = t.machine
    if m.start in m.halting_states:
        raise t.refusal("it halts before its first step", "add a rule for the start state")
    names = {"accept": ACCEPT, "reject": REJECT, "halt": HALT}
    ends = {q: names[outcome] for q in m.states if (outcome := m.outcome_of(q)) is not None}
    odd = lossless.renumbered(m, lambda q: q in ends or _state(q), "q")
    t = lossless.with_states(t, {**ends, **odd, m.start: START})
    m = t.machine
    rules = [f"{q} {a} {_written(a, r)} {_move(r)} {r.state}" for (q, a), r in m.transitions.items()]
    notes = list(t.notes)
    if m.decides and not {ACCEPT, REJECT} & {rule.state for rule in m.transitions.values()}:
        rules.append(f"never _ * * {REJECT}" if "never" not in m.states else f"never-entered _ * * {REJECT}")
        notes.append("a rule for a state that no run enters declares that the other halts reject")
    if m.tape == "one-way":
        notes.append("the tape is one-way: choose the simulator's semi-infinite variant")
    return lossless.Written("\n".join([*_header(m), "", *rules, ""]), tuple(notes), t.symbols)


def _header(m: Machine) -> Iterator[str]:
    yield f"; name: {visible(' '.join(m.name.split())) or 'machine'}"  # no text may hold what cannot be printed
    for line in map(visible, f"{m.description}\n{m.source}".splitlines()):
        if line.strip() and not _HEADER.fullmatch(f"; {line}"):
            yield f"; {line}"
    if m.tape == "one-way":
        yield "; tape: one-way (choose the semi-infinite variant)"
    if m.input:
        yield f"; input: {m.input}"
    yield f"; input alphabet: {' '.join(m.input_alphabet or ())}"
    yield f"; tape alphabet: {' '.join(m.tape_alphabet)}"


def _written(symbol: str, rule: Rule) -> str:
    return ANY if rule.write == symbol else rule.write


def _move(rule: Rule) -> str:
    return {-1: "l", 0: ANY, 1: "r"}[rule.move]
