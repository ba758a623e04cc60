"""JFLAP's ``.jff`` files (https://www.jflap.org) for Turing machines with one tape.

An empty read or write is the blank, a missing move is R. A final state accepts on entry, every other halt rejects;
the tape is two-way. ``!x`` reads any symbol but x; ``~`` reads any symbol, and written it leaves the symbol unchanged.
Rules that overlap are a choice in JFLAP, and are refused unless they do the same. JFLAP does not name the blank: it
is ``_`` here, or the first of a few other signs that is not a symbol, unless a comment names it: ``<!-- blank: # -->``.
Files of the type ``turingbb``, which JFLAP 7.1 writes, may have building blocks: see `jflap_blocks`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape, quoteattr

from tm2tfr.base.text.nodes import Node
from tm2tfr.base.text.source import Log, SourceText
from tm2tfr.sources.turing.formats import lossless
from tm2tfr.sources.turing.formats.draft import Draft, Loaded, stem
from tm2tfr.sources.turing.formats.jflap_blocks import DEEPEST, Flat, Level, Move, by_tag, machine_within
from tm2tfr.sources.turing.spec import MOVES, Machine

if TYPE_CHECKING:
    from tm2tfr.base.text import xml

SQUARE = "□"  # how JFLAP draws the blank
BLANKS = ("_", SQUARE, "␣", " ", "▢", "◻")
TYPED = ("_", "λ", "ε")
"""Letters that are typed for the blank by mistake."""
ANY, NOT = "~", "!"
TYPES = ("turing", WITH_BLOCKS := "turingbb")
MEANING = (ANY, NOT, "}", "{", ",", ";", SQUARE)

_COMMENT = re.compile(r"(?P<key>name|blank|input|alphabet|input alphabet|tape alphabet): *(?P<value>.*)")


def looks_like(text: str) -> bool:
    """Return whether a text is XML, and no page or picture of the web."""
    return text.lstrip().startswith("<") and not re.search("<(!doctype )?(html|svg)", text, re.IGNORECASE)


def read(source: SourceText) -> Loaded:
    """Read a machine from a ``.jff`` file.

    Raises:
        SpecError: with every error.
    """
    from tm2tfr.base.text import xml  # noqa: PLC0415  (defusedxml is needed for nothing else)

    document = xml.parse(source)
    draft = Draft(Log(source), values={"name": stem(source.file)})
    comments = ((match, node) for text, node in document.comments if (match := _COMMENT.fullmatch(text)))
    return _Reader(draft, document.root, {m["key"]: (m["value"], node) for m, node in comments}).read()


@dataclass
class _Reader:
    draft: Draft
    root: xml.Element
    comments: dict[str, tuple[str, Node]]
    older: bool = False
    """Whether the file is not of the type that JFLAP 7.1 writes for machines with blocks."""
    blocks: bool = False
    """Whether JFLAP 7 opens the file as one with blocks: there a transition that reads ``!x`` comes after the others."""
    tagged: dict[str, list[xml.Element]] = field(default_factory=dict)
    levels: dict[int, Level] = field(default_factory=dict)
    """The machines of blocks that have been read, by the identity of their element."""
    typed: dict[str, Node] = field(default_factory=dict)
    """The letters of `TYPED` in transitions, each where it is first."""

    def read(self) -> Loaded:
        self.kind()
        self.tagged = by_tag(self.root)
        self.blocks = not self.older or "block" in self.tagged
        top = self.level(self.root.first("automaton") or self.root, ())
        self.draft.log.conclude()
        self.machine(top)
        return self.draft.loaded()

    def kind(self) -> None:
        """Refuse anything but a Turing machine with one tape."""
        kind = self.root.first("type")
        if self.root.tag == "structure" and kind is None and "type" in self.root.attributes:
            problem = "this is a file of JFLAP 8, whose files are not read"
            self.draft.refuse(self.root.node, problem, "draw the machine in JFLAP 7.1, and save it there")
        if self.root.tag != "structure" or kind is None:
            self.draft.refuse(self.root.node, f"<{self.root.tag}> is not a JFLAP file", "save a Turing machine in JFLAP")
        name = kind.text.strip()
        if name not in TYPES:
            other = "; finite automata are run by: tm2tfr explore FILE" if name == "fa" else ""
            remedy = f"save a Turing machine in JFLAP{other}"
            self.draft.refuse(kind.node, f"this is JFLAP's {name!r}, not a Turing machine", remedy)
        self.older = name != WITH_BLOCKS
        tapes = self.root.first("tapes")
        if tapes is not None and tapes.text.strip():
            self.draft.one_tape(tapes.node, tapes.text.strip())

    def level(self, body: xml.Element, around: tuple[xml.Element, ...]) -> Level:
        """Read one machine of the file; `around`: the machines of the blocks that it is in."""
        level, marks = Level(), {"initial": list[str](), "final": list[str]()}
        for element in body.all("state", "block"):
            self.state(element, level, marks)
            self.block(element, body, level, around)
        if len(marks["initial"]) != 1:
            many = "two states are" if marks["initial"] else "no state is"
            where = " in the machine of a block" if around else ""
            remedy = "mark the state in which a run starts as initial, and no other"
            self.draft.error(body.node, f"{many} initial{where}", remedy)
        level.initial, level.final = next(iter(marks["initial"]), ""), tuple(dict.fromkeys(marks["final"]))
        for element in body.all("transition"):
            self.transition(element, level)
        return level

    def state(self, element: xml.Element, level: Level, marks: dict[str, list[str]]) -> None:
        """Read a state, or a block as a state."""
        number = element.attributes.get("id")
        if number is None:
            self.draft.error(element.node, "the state has no id", 'add id="…"')
            return
        if number in level.names:
            self.draft.error(element.node, f"the id {number!r} is used a second time", "give each state an id of its own")
            return
        level.names[number] = element.attributes.get("name", "").strip() or f"q{number}"
        level.nodes[number] = element.node
        for mark, named in marks.items():
            if element.first(mark) is not None:
                named.append(number)

    def block(self, element: xml.Element, body: xml.Element, level: Level, around: tuple[xml.Element, ...]) -> None:
        """Read the machine of a block, if it has one; blocks that name the same element share it."""
        found = machine_within(element, body, self.tagged) if element.tag == "block" else ()
        number, name = element.attributes.get("id", ""), element.attributes.get("name", "")
        if len(found) > 1:
            problem = (
                f"two machines in this file are tagged {found[0].tag!r}, and JFLAP takes the first for the block {name!r}"
            )
            self.draft.error(element.node, problem, "give each of them a tag of its own")
            return
        if not found or not any(found[0].all("state", "block", "transition", "automaton")):
            return
        inside = (*around, found[0])
        if found[0] in around or len(inside) > DEEPEST:
            deep = "contains itself" if found[0] in around else f"is in more than {DEEPEST} other blocks"
            self.draft.error(element.node, f"the building block {name!r} {deep}", "remove it: no run could enter it")
            return
        if id(found[0]) not in self.levels:
            self.levels[id(found[0])] = self.level(found[0].first("automaton") or found[0], inside)
            if self.older:
                problem = f"the building block {name!r} is read as JFLAP 7 runs it: it is left where its machine halts"
                self.draft.warn(
                    element.node, problem, "check it if you made it for JFLAP 6, which waited for a final state"
                )
        level.inner[number] = self.levels[id(found[0])]

    def transition(self, element: xml.Element, level: Level) -> None:
        """Read a transition as it is written."""
        ends = []
        for tag in ("from", "to"):
            end = element.first(tag)
            if end is None:
                self.draft.error(element.node, f"the transition has no <{tag}>", "add it, with the id of a state")
            elif end.text.strip() not in level.names:
                self.draft.error(end.node, f"no state has the id {end.text.strip()!r}", "use the id of a state")
            else:
                ends.append(end.text.strip())
        several = next((e for e in element.children if e.attributes.get("tape", "1") != "1"), None)
        if several is not None:
            self.draft.error(several.node, "this is for a second tape", "remove it: machines here have one tape")
            return
        texts, arrow = {}, "the transition"
        if len(ends) == 2:
            arrow += f" from {level.names[ends[0]]} to {level.names[ends[1]]}"
        for tag, default in (("read", ""), ("write", ""), ("move", "R")):
            found = element.first(tag)
            texts[tag] = (found.text.strip() if found is not None else "") or default
            if found is not None and (wrong := _wrong(tag, texts[tag], arrow)) is not None:
                self.draft.error(found.node, *wrong)
                return
            if found is not None and texts[tag] in TYPED:
                self.typed.setdefault(texts[tag], found.node)
        if element.attributes.get("block") == "true":  # it reads, and nothing else
            texts |= {"write": ANY, "move": "S"}
        if len(ends) == 2:
            level.transitions.append((element, ends[0], ends[1], texts["read"], texts["write"], MOVES[texts["move"]]))

    # ── what the transitions mean ───────────────────────────────────────────────────────────────────────
    def machine(self, top: Level) -> None:
        """Put the machine into the draft."""
        draft, named, count, wild = self.draft, dict[str, None](), 0, False
        for level in top.levels():
            for _, _, _, symbol, write, _ in level.transitions:
                named |= dict.fromkeys(a for a in (symbol.removeprefix(NOT), write) if a not in ("", ANY, SQUARE))
            count += len(level.transitions)
            wild = wild or any(symbol[:1] in (ANY, NOT) for _, _, _, symbol, _, _ in level.transitions)
        blank = self.comment("blank")
        blank = blank if len(blank) == 1 and blank not in named else next(a for a in BLANKS if a not in named)
        if "alphabet" in self.comments:  # that of a finite automaton
            self.draft.warn(self.comments["alphabet"][1], "this comment is not used", "write 'input alphabet: a b'")
        sigma, listed = (self.alphabet(key) for key in ("input alphabet", "tape alphabet"))
        gamma = tuple(dict.fromkeys([*(listed or ()), *(sigma or ()), *named, blank]))
        for a, node in self.typed.items():
            if a not in (*(listed or ()), *(sigma or ())):
                draft.warn(node, f"{a!r} is a letter in JFLAP, not the blank", "for the blank leave the field empty")
        blocks = any(level.inner for level in top.levels())
        draft.log.too_many(max(count, top.size()) * len(gamma) if wild or blocks else count)
        for level in top.levels():
            self.moves(level, gamma, blank, top)
        draft.log.conclude()
        if not top.final and not self.comment("name"):  # with a name, tm2tfr wrote it, and a machine may reject everything
            place = (self.root.first("automaton") or self.root).node
            draft.warn(place, "no state is final, so every run rejects", "mark the accepting state as final")
        flat = Flat(top)
        draft.marks |= {("table", q): node for q, node in flat.nodes.items()}
        draft.marks |= {("table", q, a): node for (q, a), (_, node) in flat.rules.items()}
        draft.values |= {
            "transitions": {key: rule for key, (rule, _) in flat.rules.items()},
            "start": flat.start,
            "blank": blank,
            "states": tuple(flat.nodes),
            "tape_alphabet": gamma,
            "input_alphabet": sigma,
            "accept": tuple(flat.names[q,] for q in top.final),
        }
        if wild:
            known = " ".join([*(a for a in sigma or gamma if a != blank), "x"])
            draft.values["about_input"] = f"list others in the file, as in '<!-- input alphabet: {known} -->'"
        if self.comment("name"):
            draft.values["name"] = self.comment("name")
        if (word := self.comment("input")) and set(word) <= {*(sigma or gamma)} - {blank}:
            draft.values["input"] = word

    def moves(self, level: Level, gamma: tuple[str, ...], blank: str, top: Level) -> None:
        """Work out the transitions of a level for each symbol."""
        order = sorted(level.transitions, key=lambda t: t[3].startswith(NOT)) if self.blocks else level.transitions
        for element, q, r, symbol, write, move in order:
            if level is top and q in level.final:
                problem = f"{level.names[q]!r} is final, so a run stops there: this transition is never taken"
                self.draft.warn(element.node, problem, "remove it, or unmark the state")
                continue
            known, negated = level.moves.setdefault(q, {}), symbol.startswith(NOT)
            for a in _matching(symbol, gamma, blank):
                written = {"": blank, SQUARE: blank, ANY: a}.get(write, write)
                before = known.setdefault(a, Move(r, written, move, element.node, negated))
                if before[:3] == (r, written, move) or (self.blocks and negated and not before.negated):
                    continue
                first = f"to {level.names[before.target]!r} in line {before.node.start.line + 1}"
                problem = f"state {level.names[q]!r} has two transitions for {a!r}: {first} and to {level.names[r]!r} here"
                self.draft.error(element.node, f"{problem}, and machines here are deterministic", "keep one of the two")

    def comment(self, key: str) -> str:
        """Return the value that a comment has for a key, or the empty string if there is no such comment."""
        return self.comments[key][0].strip() if key in self.comments else ""

    def alphabet(self, key: str) -> tuple[str, ...] | None:
        """Return the symbols that a comment lists, or None if there is no such list; warn of one that is malformed."""
        if key not in self.comments:
            return None
        symbols = self.comment(key).split()
        if all(len(a) == 1 for a in symbols):
            return tuple(symbols)
        remedy = f"write symbols of one character with spaces between them, as in '{key}: a b'"
        self.draft.warn(self.comments[key][1], "this comment is not used", remedy)
        return None


def _wrong(tag: str, text: str, arrow: str) -> tuple[str, str] | None:
    """Return the error in a symbol or a move, and the remedy; None if it is valid.

    Args:
        arrow: how a message names the transition.
    """
    if tag == "move":
        return None if text in MOVES else (f"{arrow} moves {text!r}", "use L, R or S")
    if "}" in text:
        problem = f"{arrow} reads {text!r} into a variable, which machines here do not have"
        return problem, "write one transition per symbol"
    if tag == "read" and len(text) == 2 and text.startswith(NOT):
        return None
    if len(text) > 1:
        several = "; write one transition per symbol" if "," in text else ""
        return f"{arrow} {tag}s {text!r}", f"a symbol is exactly one character{several}"
    return None


def _matching(symbol: str, gamma: tuple[str, ...], blank: str) -> tuple[str, ...]:
    """Return the symbols that a read matches."""
    if symbol == ANY:
        return gamma
    if symbol.startswith(NOT):
        other = blank if symbol[1:] in ("", SQUARE) else symbol[1]
        return tuple(a for a in gamma if a != other)
    return (blank,) if symbol in ("", SQUARE) else (symbol,)


# ── out ─────────────────────────────────────────────────────────────────────────────────────────────────
def _symbol(a: str) -> bool:
    return a.isprintable() and not a.isspace() and a not in MEANING


def write(machine: Machine) -> lossless.Written:
    """Return `machine` as a ``.jff`` file.

    Raises:
        ConversionError: if it halts without verdicts, or may run into the end of a one-way tape.
    """
    t = lossless.two_way(lossless.with_verdicts(lossless.Translation(machine, "JFLAP")))
    t = lossless.with_symbols(t, _symbol, None if _symbol(machine.blank) else "_")
    t = lossless.with_states(t, lossless.renumbered(t.machine, lambda q: q.isprintable() and q == q.strip(), "q"))
    m = t.machine
    numbers = {q: k for k, q in enumerate(m.states)}
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        *_comments(m),
        "<structure>",
        "  <type>turing</type>",
        "  <automaton>",
    ]
    for q, k in numbers.items():
        marks = "<initial/>" * (q == m.start) + "<final/>" * (q in m.accept_states)
        place = f"<x>{100 + 150 * (k % 6)}.0</x><y>{100 + 150 * (k // 6)}.0</y>"
        lines.append(f'    <state id="{k}" name={quoteattr(q)}>{place}{marks}</state>')
    for (q, a), rule in m.transitions.items():
        parts = {"from": str(numbers[q]), "to": str(numbers[rule.state])}
        parts |= {"read": "" if a == m.blank else a, "write": "" if rule.write == m.blank else rule.write}
        inside = "".join(
            f"<{tag}>{escape(text)}</{tag}>" for tag, text in (parts | {"move": lossless.letter(rule)}).items()
        )
        lines.append(f"    <transition>{inside}</transition>")
    return t.written("\n".join([*lines, "  </automaton>", "</structure>", ""]))


def _comments(m: Machine) -> Iterator[str]:
    alphabets = {"input alphabet": " ".join(m.input_alphabet or ()), "tape alphabet": " ".join(m.tape_alphabet)}
    for key, value in {
        "name": m.name,
        "description": m.description,
        "blank": m.blank,
        "input": m.input or "",
        **alphabets,
    }.items():
        if (value or key == "input alphabet") and "--" not in value and value.isprintable():
            yield f"<!-- {key}: {value} -->"
