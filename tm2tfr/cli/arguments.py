"""How the command line's values are read: a count, seconds, a word of several; and what a shell completes them to.

A reader takes what was typed, and raises `ValueError` with what is wrong with it and what to write instead.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from tm2tfr.base.errors import UsageError, did_you_mean

MOST = 10**18
"""No run is as long as this; a larger count is a typing error."""
LEAST = "least"
"""In place of a number of dimensions: as few as are found."""
_PLAIN = re.compile(r"\d+(_\d+)*|\d{1,3}(,\d{3})+", re.ASCII)
_SECONDS = re.compile(r"\d+(\.\d*)?([eE][-+]?\d{1,3})?|\.\d+", re.ASCII)
_POWER = re.compile(r"(\d+)(?:\.(\d+))?[eE]\+?(\d{1,3})", re.ASCII)


def whole_number(text: str) -> int | None:
    """Return `text` as a whole number, None if it is not one: ``10000``, ``10_000``, ``10,000``, ``1e4``."""
    if sign := text.startswith("-"):
        text = text[1:]
    if _PLAIN.fullmatch(text) and len(text) < 100:
        number = int(re.sub("[_,]", "", text))
    elif found := _POWER.fullmatch(text):
        whole, fraction, power = found[1], (found[2] or "").rstrip("0"), int(found[3])
        if len(fraction) > power or len(whole) > 100:
            return None
        number = int(whole + fraction) * 10 ** (power - len(fraction))
    else:
        return None
    return -number if sign else number


def counted_from(least: int) -> Callable[[str], int]:
    """Return the reader of whole numbers from `least` on."""

    def count(text: str) -> int:
        number = whole_number(text.strip())
        if number is None:
            raise ValueError(f"{text!r} is not a whole number: write for example 10000, 10_000, 10,000 or 1e4")
        if not least <= number <= MOST:
            raise ValueError(f"{text} is out of range: use a whole number from {least} to 1e18")
        return number

    return count


def dimensions(text: str) -> int | str:
    """Return a whole number from 1 on, or the word ``least``."""
    if text == LEAST:
        return LEAST
    if whole_number(text.strip()) is None:
        raise ValueError(f"{text!r} is neither a whole number nor {LEAST!r}: use one of them")
    return counted_from(1)(text)


def seed_number(text: object, command: str) -> int:
    """Return the seed that `text` says.

    Args:
        command: the words of the command, for the message: ``tm2tfr check``.

    Raises:
        UsageError: if it is not a whole number from 0 to 1e18.
    """
    number = whole_number(str(text))
    if number is None or not 0 <= number <= MOST:
        raise UsageError(f"{command}: --seed: {str(text)[:40]!r} is not a seed: use a whole number from 0 to 1e18")
    return number


def seconds(text: str) -> float:
    """Return a length of time: 0 or more seconds."""
    number = float(text) if _SECONDS.fullmatch(text.strip()) else math.nan
    if not 0 <= number < math.inf:
        raise ValueError(f"{text!r} is not a number of seconds: use 0 or more, for example 60")
    return number


def real_number(text: str) -> float:
    """Return a number, such as ``3e-3``."""
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"{text!r} is not a number: write for example 0.003 or 3e-3") from None


def one_of(words: Sequence[str], commands: Mapping[str, str]) -> Callable[[str], str]:
    """Return the reader of one of a few words; `commands` has others, and the command that is meant by each."""

    def word(text: str) -> str:
        if text in commands:
            raise ValueError(f"{text!r} is written by a command of its own: use {commands[text]}")
        if text not in words:
            raise ValueError(f"unknown value {text!r}{did_you_mean(text, words)}: use one of {', '.join(words)}")
        return text

    return word


# ── what a shell is offered ─────────────────────────────────────────────────────────────────────────────────
def among(words: Sequence[str]) -> Callable[[str], list[str]]:
    """Return what completes one of a few words."""

    def complete(incomplete: str) -> list[str]:
        return [word for word in words if word.startswith(incomplete)]

    return complete


def machines(incomplete: str) -> list[str]:
    """Return machines, circuits, programs and formulas with this beginning; behind ``kind:``, those of the kind."""
    return _or_files(_names(incomplete), incomplete)


def listed(incomplete: str) -> list[str]:
    """Return what ``list`` takes, with this beginning."""
    return _or_files(("machines", "circuits", "programs", "formulas", *_names(incomplete)), incomplete)


def specs(incomplete: str) -> list[str]:
    """Return the shipped specs with this beginning."""
    from tm2tfr.base.resources import SPECS, shipped

    return _or_files(shipped(SPECS), incomplete)


def _names(incomplete: str) -> Iterable[str]:
    from tm2tfr.sources import names

    kind, colon, _ = incomplete.partition(":")
    if colon:
        return [f"{kind}:{name}" for name in names.of_kind(kind)] if kind in names.KINDS else ()
    return names.every()


def _or_files(known: Iterable[str], incomplete: str) -> list[str]:
    """Return the names with this beginning and the files of this folder; without a name none: the shell knows files."""
    names = [name for name in known if name.startswith(incomplete)]
    return list(dict.fromkeys([*names, *_files(incomplete)])) if names else []


def _files(beginning: str) -> list[str]:
    """Return the files of this folder with this beginning; hidden ones only if it is not empty."""
    try:
        names = sorted(os.listdir())
    except OSError:
        return []
    shown = [name for name in names if name.startswith(beginning) and (beginning or not name.startswith("."))]
    return [f"{name}/" if os.path.isdir(name) else name for name in shown]
