"""The types of the command line's values: a count, seconds, a machine, a spec, a file. Errors say what is valid."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tm2tfr.errors import UsageError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

MOST = 10**18
"""No run is as long as this; a larger count is a typing error."""
_PLAIN = re.compile(r"\d+(_\d+)*|\d{1,3}(,\d{3})+", re.ASCII)
_SECONDS = re.compile(r"\d+(\.\d*)?([eE][-+]?\d{1,3})?|\.\d+", re.ASCII)
_POWER = re.compile(r"(\d+)(?:\.(\d+))?[eE]\+?(\d{1,3})", re.ASCII)


class Count(click.ParamType):  # type: ignore[type-arg]  # not generic in older versions
    """A whole number, in any of the ways people write large ones: ``10000``, ``10_000``, ``10,000``, ``1e4``."""

    name = "N"

    def __init__(self, least: int = 0) -> None:
        self.least = least

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the number."""
        number = value if isinstance(value, int) else whole_number(str(value).strip())
        if number is None:
            self.fail(f"{value!r} is not a whole number: write for example 10000, 10_000, 10,000 or 1e4", param, ctx)
        if not self.least <= number <= MOST:
            self.fail(f"{value} is out of range: use a whole number from {self.least} to 1e18", param, ctx)
        return number


def whole_number(text: str) -> int | None:
    """Return `text` as a whole number, None if it is not one."""
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


class Seconds(click.ParamType):  # type: ignore[type-arg]  # not generic in older versions
    """A length of time: 0 or more seconds."""

    name = "SECONDS"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number."""
        number = float(value) if isinstance(value, int | float) or _SECONDS.fullmatch(value.strip()) else math.nan
        if not 0 <= number < math.inf:
            self.fail(f"{value!r} is not a number of seconds: use 0 or more, for example 60", param, ctx)
        return number


class RealNumber(click.ParamType):  # type: ignore[type-arg]  # not generic in older versions
    """A number, such as ``3e-3``."""

    name = "X"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number."""
        try:
            return float(value)
        except ValueError:
            self.fail(f"{value!r} is not a number: write for example 0.003 or 3e-3", param, ctx)


class Named(click.ParamType):  # type: ignore[type-arg]  # not generic in older versions
    """A file, or the name of something shipped; the shell completes both."""

    name = "NAME"

    def __init__(self, known: Callable[[str], Iterable[str]]) -> None:
        self._known = known

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the text unchanged: what loads it reports what is wrong with it."""
        return str(value)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Return the shipped names with this beginning, and the files; if there is no such name, leave it to the shell."""
        from click.shell_completion import CompletionItem

        names = [name for name in self._known(incomplete) if name.startswith(incomplete)]
        if not names:
            return [CompletionItem(incomplete, type="file")]
        return [CompletionItem(name) for name in dict.fromkeys([*names, *_files(incomplete)])]


def _files(beginning: str) -> list[str]:
    """Return the files of this folder with this beginning; hidden ones only if it is not empty."""
    try:
        names = sorted(os.listdir())
    except OSError:
        return []
    shown = [name for name in names if name.startswith(beginning) and (beginning or not name.startswith("."))]
    return [f"{name}/" if os.path.isdir(name) else name for name in shown]


def _machines(beginning: str) -> Iterable[str]:
    """Return the names of machines, circuits, programs and formulas; behind ``kind:``, those of the kind."""
    from tm2tfr.sources import names

    kind, colon, _ = beginning.partition(":")
    if colon:
        return [f"{kind}:{name}" for name in names.of_kind(kind)] if kind in names.KINDS else ()
    return names.every()


def _specs(_: str) -> Iterable[str]:
    from tm2tfr.shelf import SPECS, shipped

    return shipped(SPECS)


class OneOf(click.Choice[str]):
    """One of a few words; of others it may be known which command is meant."""

    def __init__(self, words: Sequence[str], commands: Mapping[str, str] | None = None) -> None:
        super().__init__(words)
        self.commands = commands or {}

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the word if it is one of them."""
        from tm2tfr.errors import did_you_mean

        if value in self.commands:
            self.fail(f"{value!r} is written by a command of its own: use {self.commands[value]}", param, ctx)
        if value not in self.choices:
            known = ", ".join(self.choices)
            self.fail(f"unknown value {value!r}{did_you_mean(str(value), self.choices)}: use one of {known}", param, ctx)
        return str(value)


def _listed(beginning: str) -> Iterable[str]:
    return ("machines", "circuits", "programs", "formulas", *_machines(beginning))


LISTED = Named(_listed)
"""What ``list`` takes."""
MACHINE, SPEC = Named(_machines), Named(_specs)
COUNT, ONE_OR_MORE = Count(), Count(1)
SECONDS, NUMBER = Seconds(), RealNumber()
FILE: click.Path = click.Path(path_type=Path)
