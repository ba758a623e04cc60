"""Running a program that a test gives as text: values, matrices, heads."""

from __future__ import annotations

from functools import cache
from typing import Any

from tests.sources.rasp.headers import header
from tm2tfr.sources.rasp import read as reader
from tm2tfr.sources.rasp.analyse import analyse
from tm2tfr.sources.rasp.evaluate import Stages, Undefined, evaluate
from tm2tfr.sources.rasp.program import Program


@cache
def read(text: str) -> Program:
    """Return the program of a text."""
    return reader.read(text, file="text.rasp").program


def shipped_program(name: str) -> Program:
    """Return a shipped program."""
    return read(header(name).text)


def stages(program: Program, word: tuple[Any, ...]) -> Stages:
    """Return a run of everything that has a name in a program."""
    return evaluate((*program.sops.values(), *program.selectors.values()), word)


def values(text: str, name: str, word: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the values of an s-op of a program on an input."""
    sop = read(text).sops[name]
    return evaluate(sop, word).values[sop]


def matrix(text: str, name: str, word: tuple[Any, ...]) -> tuple[tuple[bool, ...], ...]:
    """Return the matrix of a selector of a program on an input."""
    selector = read(text).selectors[name]
    return evaluate(selector, word).matrices[selector]


def columns(program: Program, word: tuple[Any, ...]) -> dict[str, tuple[Any, ...] | None]:
    """Return the values of each s-op of a program on an input, None where it is undefined."""
    try:
        found = evaluate(tuple(program.sops.values()), word).values
    except Undefined:
        return {name: _alone(program, name, word) for name in program.sops}
    return {name: found[sop] for name, sop in program.sops.items()}


def _alone(program: Program, name: str, word: tuple[Any, ...]) -> tuple[Any, ...] | None:
    sop = program.sops[name]
    try:
        return evaluate(sop, word).values[sop]
    except Undefined:
        return None


def heads(text: str, name: str) -> list[int]:
    """Return the number of heads in each layer of an s-op of a program."""
    return list(analyse(read(text).sops[name]).heads)
