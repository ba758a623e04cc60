"""Runs a text as the tests of the language need it: variables of the meta level, and s-ops on an input."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tm2tfr.base.text.source import Log, SourceText
from tm2tfr.sources.rasp.evaluate import evaluate
from tm2tfr.sources.rasp.language.parse import parse
from tm2tfr.sources.rasp.program import Program
from tm2tfr.sources.rasp.read import elaborated, read


def variables(text: str) -> dict[str, Any]:
    """Return the variables that a text leaves at its top."""
    log = Log(SourceText(text, "x.rasp"))
    made = elaborated(log, parse(log), library=True, folder=None)
    log.conclude()
    return made.top.names


def program(text: str) -> Program:
    """Return the program of a text."""
    return read(text, file="x.rasp").program


def on(text: str, word: Iterable[Any] = "hello") -> list[Any]:
    """Return the values of the expression or the last s-op of a text on an input."""
    made = program(text if ";" in text else f"answer = {text};")
    return list(evaluate(made, word).values[made.sop])


def rows(text: str, word: Iterable[Any]) -> list[str]:
    """Return the rows of the selector that an expression gives, with T and F."""
    selector = program(f"chosen = {text}; answer = indices;").selectors["chosen"]
    return ["".join("FT"[entry] for entry in row) for row in evaluate(selector, word).matrices[selector]]
