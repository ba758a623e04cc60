"""JFLAP's ``.jff`` files (https://www.jflap.org) of the type ``fa``: deterministic and nondeterministic automata.

A transition without a token reads nothing. A text of several characters is read one after the other, and ``[a-d]`` is any
of these, as in JFLAP. Missing transitions reject. Comments say what JFLAP does not: ``<!-- name: x -->``, ``title``, and
``alphabet``, as characters or as a JSON list; what that lists is one token, even if it has several characters.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from math import cos, pi, sin
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape, quoteattr

from tm2tfr.base.errors import ConversionError, visible
from tm2tfr.base.text.nodes import Node
from tm2tfr.base.text.source import Log, SourceText
from tm2tfr.base.text.words import read_word
from tm2tfr.sources.automaton.automaton import Automaton
from tm2tfr.sources.automaton.formats.draft import AutomatonDraft, Edge, LoadedAutomaton, stem, verdicts

if TYPE_CHECKING:
    from tm2tfr.base.text import xml

_TYPE = re.compile(r"<type>\s*fa\s*</type>|<type>\s*fa\s*<!--")
_COMMENT = re.compile(r"(name|title|alphabet|accepts|rejects): *(.*)", re.DOTALL)
_RANGE = re.compile(r"\[(.)-(.)\]")
_LISTS = re.compile(r"\[(?:\"(?:\\.|[^\"\\])*\"|[^\]\"])*\]|\S+")


def looks_like(text: str) -> bool:
    """Return whether a text is a JFLAP file of this type."""
    return text.lstrip("\ufeff \t\r\n").startswith("<") and _TYPE.search(text) is not None


def read(source: SourceText) -> LoadedAutomaton:
    """Read an automaton.

    Raises:
        SpecError: with every error.
    """
    from tm2tfr.base.text import xml  # noqa: PLC0415  (defusedxml is needed for nothing else)

    document = xml.parse(source)
    draft, root = AutomatonDraft(Log(source), name=stem(source.file), where=document.root.node), document.root
    kind = root.first("type")
    if root.tag != "structure" or kind is None or kind.text.strip() != "fa":
        draft.refuse(root.node, "this is not a JFLAP file of a finite automaton", "save a finite automaton in JFLAP 7.1")
    for text, node in document.comments:
        if (match := _COMMENT.fullmatch(text)) is not None:
            _comment(draft, match[1], match[2].strip(), node)
    _body(draft, root.first("automaton") or root)
    return draft.loaded()


def _comment(draft: AutomatonDraft, key: str, text: str, node: Node) -> None:
    if key in ("name", "title"):
        draft.name, draft.title = (text or draft.name, draft.title) if key == "name" else (draft.name, text)
    elif key == "alphabet":
        tokens = tuple(map(str, read_word(text)))
        if not all(tokens) or len(set(tokens)) < len(tokens):
            draft.error(node, "the alphabet has a token twice, or an empty one", "list each token once")
        draft.alphabet = tokens
    else:
        words = [tuple(map(str, read_word(word))) for word in _LISTS.findall(text)]
        draft.examples += verdicts(words, accepted=key == "accepts")


def _body(draft: AutomatonDraft, body: xml.Element) -> None:
    names: dict[str, str] = {}
    first: list[str] = []
    for element in body.all("state"):
        number = element.attributes.get("id")
        if number is None:
            draft.error(element.node, "the state has no id", 'add id="…"')
            continue
        if number in names:
            draft.error(element.node, f"the id {number!r} is used a second time", "give each state an id of its own")
            continue
        name = element.attributes.get("name", "").strip() or f"q{number}"
        if name in draft.states:
            draft.error(element.node, f"the name {name!r} is used a second time", "give each state a name of its own")
        names[number], draft.states[name] = name, element.node
        if element.first("initial") is not None:
            first.append(name)
        if element.first("final") is not None:
            draft.accept.append(name)
    if len(first) != 1:
        many = f"{len(first)} states are" if first else "no state is"
        draft.error(body.node, f"{many} initial", "mark the state in which a run starts as initial, and no other")
    draft.start = first[0] if first else ""
    for element in body.all("transition"):
        _transition(draft, element, names)


def _transition(draft: AutomatonDraft, element: xml.Element, names: dict[str, str]) -> None:
    ends = []
    for tag in ("from", "to"):
        end = element.first(tag)
        if end is None:
            draft.error(element.node, f"the transition has no <{tag}>", "add it, with the id of a state")
        elif end.text.strip() not in names:
            draft.error(end.node, f"no state has the id {end.text.strip()!r}", "use the id of a state")
        else:
            ends.append(names[end.text.strip()])
    found = element.first("read")
    text, node = ("", element.node) if found is None else (_token(found.text), found.node)
    if len(ends) < 2:
        return
    if len(text) < 2 or text in (draft.alphabet or ()):
        draft.edges.append(Edge(ends[0], text, ends[1], node))
        return
    if (match := _RANGE.fullmatch(text)) is not None:
        some = [chr(code) for code in range(ord(match[1]), ord(match[2]) + 1)]
        if not 0 < len(some) <= 1000:
            draft.error(node, f"{text!r} is not a range of characters", "write for example [a-d]")
        draft.edges += [Edge(ends[0], sign, ends[1], node) for sign in some[:1000]]
        return
    at = ends[0]
    for number, sign in enumerate(text):  # JFLAP reads one after the other
        last, after = number == len(text) - 1, ends[1]
        if not last:
            after = f"{ends[0]} {text[: number + 1]}"
            while after in draft.states:
                after += "'"
            draft.states[after] = node
        draft.edges.append(Edge(at, sign, after, node))
        at = after


def _token(text: str) -> str:
    """Return the token that is read, without surrounding blanks, unless it is only blanks on one line."""
    return text if not text.strip() and not set(text) & set("\r\n") else text.strip()


# ── out ─────────────────────────────────────────────────────────────────────────────────────────────────────
def write(automaton: Automaton) -> str:
    """Return an automaton as a ``.jff`` file, in which missing transitions reject.

    Raises:
        ConversionError: if XML cannot have a token or a name.
    """
    hard = next(
        (t for t in (*automaton.alphabet, *automaton.states) if not t.isprintable() or (t != t.strip() and t.strip())), None
    )
    if hard is not None:
        problem = f"JFLAP's files cannot have {visible(repr(hard))} as a token or a name"
        raise ConversionError(f"{visible(automaton.name)}: {problem}: rename it, or write YAML")
    return "".join(f"{line}\n" for line in _lines(automaton))


def _lines(automaton: Automaton) -> Iterator[str]:
    states = [state for state in automaton.states if state != automaton.trap]
    numbers = {state: number for number, state in enumerate(states)}
    yield '<?xml version="1.0" encoding="UTF-8" standalone="no"?>'
    yield "<structure>"
    alphabet = json.dumps(list(automaton.alphabet), ensure_ascii=False).replace("--", "-\\u002d")
    for key, value in (("name", automaton.name), ("title", automaton.title), ("alphabet", alphabet)):
        if value and "--" not in value and not value.endswith("-") and value.isprintable():
            yield f"  <!-- {key}: {value} -->"
    for key, accepted in (("accepts", True), ("rejects", False)):
        words = [
            json.dumps(list(e.word), ensure_ascii=False).replace("--", "-\\u002d")
            for e in automaton.examples
            if e.accepted == accepted and e.word
        ]
        if words:
            yield f"  <!-- {key}: {' '.join(words)} -->"
    yield "  <type>fa</type>"
    yield "  <automaton>"
    radius = 40 * max(2, len(states))
    for state, number in numbers.items():
        angle = 2 * pi * number / len(states)
        yield f'    <state id="{number}" name={quoteattr(state)}>'
        yield f"      <x>{radius * (1.25 - cos(angle)):.1f}</x>"
        yield f"      <y>{radius * (1.25 - sin(angle)):.1f}</y>"
        yield from ["      <initial/>"] * (state == automaton.start)
        yield from ["      <final/>"] * (state in automaton.accepting)
        yield "    </state>"
    for (state, token), after in automaton.transitions.items():
        if state in numbers and after in numbers:
            yield "    <transition>"
            yield f"      <from>{numbers[state]}</from>"
            yield f"      <to>{numbers[after]}</to>"
            yield f"      <read>{escape(token)}</read>"
            yield "    </transition>"
    yield "  </automaton>"
    yield "</structure>"
