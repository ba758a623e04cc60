"""The comments at the beginning of a program that say more about it, all optional.

``# title: one line`` · ``# alphabet: abc`` or ``["a", "bc", 3]`` · ``# length: 40`` · ``# sop: name`` ·
``# mask: future`` · ``# example: INPUT -> OUTPUT``,
``# example: sop(INPUT) -> OUTPUT``, ``-> error`` where the program is undefined.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Any

from tm2tfr.sources.rasp.program import Example
from tm2tfr.sources.rasp.sops import Atom
from tm2tfr.text.headers import header_alphabet, header_lines
from tm2tfr.text.source import Log, Mark
from tm2tfr.text.words import read_word

_KNOWN = ("title", "alphabet", "length", "example", "sop", "mask")
_CALL = re.compile(r"([a-zA-Z_][a-zA-Z_0-9]*)\((.*)\)")
_ERROR = "error"


@dataclass(frozen=True)
class Headers:
    """What the headers of a program say."""

    title: str = ""
    alphabet: tuple[Atom, ...] = ()
    length: int | None = None
    sop: str = ""
    mask: str = ""
    examples: tuple[Example, ...] = ()
    """With an empty name for the s-op that is compiled."""
    lines: dict[str, int] = field(default_factory=dict)
    """The number of the line, from 0, of each; examples as ``example 0``, ``example 1``, …."""


def headers(log: Log) -> Headers:
    """Return what the headers of the log's source say; what is wrong with them goes to the log."""
    found = Headers()
    for number, kind, text in header_lines(log.source, _KNOWN):
        span = log.source.span(Mark(number, 0), Mark(number, len(log.source.lines[number])))
        if kind == "example":
            example = _example(text)
            if example is None:
                log.add(span, "an example has no output", "write '# example: INPUT -> OUTPUT', or '-> error'")
                continue
            lines = {**found.lines, f"example {len(found.examples)}": number}
            found = replace(found, examples=(*found.examples, example), lines=lines)
            continue
        if kind in found.lines:
            log.add(span, f"the header {kind!r} is given a second time", "remove one of the two")
            continue
        value: object = text.strip()
        if kind == "alphabet":
            tokens = header_alphabet(text, span, log) if text.strip() else ()
            value = tokens
            if len(set(tokens)) != len(tokens) or not tokens:
                what = "the alphabet has no tokens" if not tokens else "the alphabet has a token twice"
                log.add(span, what, "write '# alphabet: abc', or a JSON list of tokens")
                continue
        elif kind == "length":
            if not re.fullmatch("[1-9][0-9]{0,5}", text.strip()):
                log.add(span, "the length is not a number from 1 to 999,999", "write for example '# length: 40'")
                continue
            value = int(text)
        elif kind == "mask" and value not in ("future", "none"):
            log.add(span, "the mask is neither 'future' nor 'none'", "write '# mask: future' or '# mask: none'")
            continue
        changed: dict[str, Any] = {kind: value}
        found = replace(found, **changed, lines={**found.lines, kind: number})
    return found


def _example(text: str) -> Example | None:
    left, arrow, right = text.rpartition("->")
    if not arrow:
        return None
    left, right = left.strip(), right.strip()
    call = _CALL.fullmatch(left)
    name, given = (call[1], call[2]) if call is not None else ("", left)
    error = right == _ERROR
    return Example(sop=name, input=read_word(given), output=() if error else read_word(right), error=error)
