"""Soft attention in the commands: the meaning of ``--attention`` and ``--temperature`` for a run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from tm2tfr.choices import AUTO, LOCAL, TEMPERATURES, THEOREM_26
from tm2tfr.errors import CompileError

if TYPE_CHECKING:
    from tm2tfr.api.subject import Subject
    from tm2tfr.choices import Temperature


def compiled(subject: Subject, attention: str | None, temperature: str | None, length: int | None) -> Subject:
    """Return `subject` with the requested attention; `length` is the number of positions that ``auto`` covers.

    Raises:
        CompileError: if the temperature is not valid, or the options cannot be combined.
    """
    if length is not None and (attention != "softmax" or temperature not in (None, AUTO, LOCAL, THEOREM_26)):
        what = "--length only applies to --attention softmax with --temperature auto, local or theorem-26"
        raise CompileError(f"{what}: omit it")
    from tm2tfr.api.softness import SOFT_LENGTH

    return _softened(subject, attention, temperature, lambda: length or subject.decoder.positions or SOFT_LENGTH)


def for_run(
    subject: Subject, attention: str | None, temperature: str | None, word: str | None, max_steps: int | None
) -> Subject:
    """Return `subject` with the requested attention, where ``auto`` covers the length of the run on `word`.

    Raises:
        CompileError: if the temperature is not valid, or given without softmax.
    """
    return _softened(subject, attention, temperature, lambda: length_of(subject, word, max_steps))


def for_words(subject: Subject, attention: str | None, temperature: str | None, longest: int) -> Subject:
    """Return `subject` with the requested attention, where ``auto`` covers words of up to `longest` tokens, BOS and EOS.

    Raises:
        CompileError: see `for_run`.
    """
    return _softened(subject, attention, temperature, lambda: subject.decoder.positions or longest + 2)


def _softened(subject: Subject, attention: str | None, temperature: str | None, length: Callable[[], int]) -> Subject:
    if attention != "softmax":
        if temperature is not None:
            raise CompileError("--temperature only applies to softmax attention: add --attention softmax")
        if attention is not None and subject.decoder.soft:
            raise CompileError(f"{subject.name}: these weights already have softmax attention: omit --attention")
        return subject
    from tm2tfr.api.softness import soften

    given = AUTO if temperature is None else value(temperature)
    covered = length() if given in (AUTO, LOCAL, THEOREM_26) else None
    return replace(subject, weights=soften(subject, temperature=given, length=covered))


def value(temperature: str) -> float | Temperature:
    """Return the value of ``--temperature``; see `parsed` for errors."""
    return next((word for word in TEMPERATURES if temperature == word), None) or parsed(temperature)


def parsed(temperature: str) -> float:
    """Return a temperature given as text: ``0.001``, ``1e-3`` or ``2^-10``."""
    base, power, exponent = temperature.partition("^")
    try:
        return float(base) ** int(exponent) if power else float(base)
    except (ValueError, ArithmeticError) as error:
        raise CompileError(
            f"{temperature!r} is not a temperature: use {', '.join(TEMPERATURES)}, or a positive number such as 2^-10"
        ) from error


def length_of(subject: Subject, word: str | None, max_steps: int | None) -> int:
    """Return the number of positions of the run on `word`: those of the weights, if they have so many and no more.

    Of a machine: prompt, BOS, and one more than its steps; of what labels a word: one for each token, BOS and EOS.
    """
    from tm2tfr.api.runs import simulate
    from tm2tfr.runs.options import MAX_STEPS

    limit = MAX_STEPS if max_steps is None else max_steps
    given = subject.word(word)
    if (positions := subject.decoder.positions) is not None:
        return positions
    if subject.decoder.labeller:
        return len(given) + 2
    if subject.machine is None:
        return len(given) + limit + 2
    return len(subject.prompt(given)) + simulate(subject.machine, given, max_steps=limit).steps + 2
