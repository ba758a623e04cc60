"""Inputs to try on a program: those of its examples, otherwise short ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice, product
from typing import Any

from tm2tfr.api.subject import Subject
from tm2tfr.playground.query import MOST_INPUT
from tm2tfr.sources.circuit.netlist import Circuit
from tm2tfr.sources.logic.program import LogicProgram
from tm2tfr.sources.rasp.program import Program
from tm2tfr.sources.turing.spec import Machine
from tm2tfr.text.words import written

MOST_SUGGESTED = 12
_FEW, _LONGEST = 8, 3


def suggested(found: Subject) -> list[str]:
    """Return inputs to try, the program's own first, as they are typed; at most `MOST_SUGGESTED`, none that is refused."""
    others = _examples(found) or _short(found)
    known = dict.fromkeys(word for word in (found.word(None), *others) if len(word) <= MOST_INPUT)
    return list(known)[:MOST_SUGGESTED]


def _examples(found: Subject) -> list[str]:
    program = found.program
    if isinstance(program, Program):
        known = set(program.alphabet)
        return [written(e.input) for e in program.examples if not e.error and set(e.input) <= known]
    if isinstance(program, LogicProgram):
        known = set(program.alphabet)
        return [written(e.word) for e in program.examples if set(e.word) <= known]
    examples = found.examples if isinstance(program, Circuit) else found.right.examples
    return [example.input for example in examples]


def _short(found: Subject) -> Iterator[str]:
    program: Any = found.program
    if isinstance(program, Circuit):
        return _bits(program)
    if isinstance(program, Machine):
        return islice(map("".join, _words(program.input_alphabet or ())), _FEW)
    return islice(map(written, _words(program.alphabet)), _FEW)


def _bits(circuit: Circuit) -> Iterator[str]:
    if circuit.encoding:
        yield "abc"
        return
    width = len(circuit.inputs)
    if width <= _LONGEST:
        yield from map("".join, product("01", repeat=width))
    yield from ("1" * width, ("01" * width)[:width], ("10" * width)[:width])


def _words(letters: Iterable[Any]) -> Iterator[tuple[Any, ...]]:
    some = tuple(islice(letters, _FEW))
    for length in range(1, _LONGEST + 1):
        yield from product(some, repeat=length)
