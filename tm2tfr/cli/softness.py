"""Soft attention in the commands: the meaning of ``--attention`` and ``--temperature`` for a run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from tm2tfr.choices import AUTO
from tm2tfr.errors import CompileError

if TYPE_CHECKING:
    from tm2tfr.api.subject import Subject


def compiled(subject: Subject, attention: str | None, temperature: str | None, length: int | None) -> Subject:
    """Return `subject` with the requested attention; `length` is the number of positions that ``auto`` covers.

    Raises:
        CompileError: if the temperature is not valid, or the options cannot be combined.
    """
    if length is not None and (attention != "softmax" or temperature not in (None, AUTO)):
        raise CompileError("--length only applies to --attention softmax with --temperature auto: omit it")
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


def _softened(subject: Subject, attention: str | None, temperature: str | None, length: Callable[[], int]) -> Subject:
    if attention != "softmax":
        if temperature is not None:
            raise CompileError("--temperature only applies to softmax attention: add --attention softmax")
        if attention is not None and subject.decoder.soft:
            raise CompileError(f"{subject.name}: these weights already have softmax attention: omit --attention")
        return subject
    from tm2tfr.api.softness import soften

    given = value(temperature)
    if given is None or given == AUTO:
        return replace(subject, weights=soften(subject, length=length()))
    return replace(subject, weights=soften(subject, temperature=given))


def value(temperature: str | None) -> float | Literal["auto"] | None:
    """Return the value of ``--temperature``; see `parsed` for errors."""
    if temperature is None:
        return None
    return AUTO if temperature == AUTO else parsed(temperature)


def parsed(temperature: str) -> float:
    """Return a temperature given as text: ``0.001``, ``1e-3`` or ``2^-10``."""
    base, power, exponent = temperature.partition("^")
    try:
        return float(base) ** int(exponent) if power else float(base)
    except (ValueError, ArithmeticError) as error:
        raise CompileError(
            f"{temperature!r} is not a temperature: use auto, or a positive number such as 0.001 or 2^-10"
        ) from error


def length_of(subject: Subject, word: str | None, max_steps: int | None) -> int:
    """Return the number of positions of the run on `word`: those of the weights, if they have so many and no more.

    Of a machine: prompt, BOS, and one more than its steps.
    """
    from tm2tfr.api.runs import simulate
    from tm2tfr.runs.options import MAX_STEPS

    limit = MAX_STEPS if max_steps is None else max_steps
    given = subject.word(word)
    if (positions := subject.decoder.positions) is not None:
        return positions
    if subject.machine is None:
        return len(given) + limit + 2
    return len(given) + simulate(subject.machine, given, max_steps=limit).steps + 2
