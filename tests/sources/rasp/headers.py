"""What the tests read of a shipped program without the package: its text, and its header by a reader of their own."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

FOLDER = Path(__file__).parents[3] / "programs"
Token = str | int
Word = tuple[Token, ...]
"""An input: one token per position."""


@dataclass(frozen=True)
class Header:
    """The header of a program.

    Args:
        name: that of its file.
        text: the whole text.
        title: one line about it.
        alphabet: the tokens of its inputs.
        chosen: the s-op that is assigned last.
        examples: the s-op; the input; what has to come out, as tables show it, None for an error.
    """

    name: str
    text: str
    title: str
    alphabet: Word
    chosen: str
    examples: tuple[tuple[str, Word, tuple[str, ...] | None], ...]


def names() -> tuple[str, ...]:
    """Return the names of the shipped programs, sorted."""
    return tuple(sorted(path.stem for path in FOLDER.glob("*.rasp")))


def looped() -> tuple[str, ...]:
    """Return the names of those with a loop, which the authors' interpreter cannot read: nothing is recorded of them."""
    return tuple(name for name in names() if re.search(r"(?m)^ *repeat\b", (FOLDER / f"{name}.rasp").read_text("utf-8")))


def theirs() -> tuple[str, ...]:
    """Return the names of those in the authors' own language."""
    return tuple(name for name in names() if name not in looped())


def shown(value: object) -> str:
    """Return a value as tables show it: text as it is, T and F, whole numbers, and fractions as a/b."""
    if isinstance(value, bool):
        return "T" if value else "F"
    return str(Fraction(value)) if isinstance(value, float) else str(value)


def word(text: str) -> Word:
    """Return the tokens that a header's text stands for: a JSON list, or one character each."""
    return (
        tuple(json.loads(text))
        if text.startswith("[") and text.endswith("]") and len(text) > 2 and _is_json(text)
        else tuple(text)
    )


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def header(name: str) -> Header:
    """Return the header of a shipped program."""
    text = (FOLDER / f"{name}.rasp").read_text(encoding="utf-8")
    fields = [line[2:].split(": ", 1) for line in text.split("\n\n")[0].splitlines()]
    one = {key: value for key, value in fields if key != "example"}
    chosen = re.findall(r"^\s*(\w+) = ", text, re.MULTILINE)[-1]
    examples = tuple(_example(value, chosen) for key, value in fields if key == "example")
    return Header(name, text, one["title"], word(one["alphabet"]), chosen, examples)


def _example(text: str, chosen: str) -> tuple[str, Word, tuple[str, ...] | None]:
    given, wanted = text.split(" -> ")
    head, inside, _ = given.partition("(")
    sop = head if inside and head.isidentifier() and given.endswith(")") else ""
    output = None if wanted == "error" else tuple(shown(value) for value in word(wanted))
    return sop or chosen, word(given[len(sop) + 1 : -1] if sop else given), output
