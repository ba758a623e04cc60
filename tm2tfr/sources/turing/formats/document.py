"""A native document -> a draft of its machine: the keys at the top, and the examples."""

from __future__ import annotations

import re
from collections.abc import Mapping

from tm2tfr.sources.turing.formats.draft import Draft
from tm2tfr.sources.turing.formats.rules import Table
from tm2tfr.sources.turing.spec import OUTCOMES, Example
from tm2tfr.text.nodes import List, Map, Node, Scalar, kind
from tm2tfr.text.reading import Fields

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
"""The keys with a name or a list of names as value, the keywords of `Machine` for them, and what is named."""

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
"""The keys with which other programs say how many tapes a machine has, and such a number."""
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
        what, remedy = f"the input ends with the blank {blank!r}", "it is read without it: an empty cell is blank anyway"
        draft.log.add(span, what, remedy, "warning")
        return
    what = f"position {word.index(blank)} of the input is the blank {blank!r}"
    rules = draft.values["transitions"]
    taken = {*word, *draft.values.get("tape_alphabet", ())}
    taken |= {symbol for (_, a), rule in rules.items() for symbol in (a, rule.write)}
    taken |= {a for example in draft.values.get("examples", ()) for a in example.input}
    letter = next((a for a in _SEPARATORS if a not in taken), None)
    if "input_alphabet" in draft.values or letter is None:
        remedy = "use another symbol there, which every state treats as the blank"
        draft.log.add(span, f"{what}, which is not in the input alphabet", remedy)
        return
    said = f"{what}: it is read as the symbol {letter!r}, which every state treats as the blank"
    draft.log.add(span, said, f"no run differs; write {letter!r} for the blank in other inputs", "warning")
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
