"""What is asked of the playground, checked: a source, an input, and options."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self

from tm2tfr.base.errors import UsageError, counted, did_you_mean
from tm2tfr.contract.options import everything
from tm2tfr.contract.shown import PlainData

MOST_SOURCE = 1 << 20
"""The longest source, in characters."""
MOST_INPUT = 10_000
"""The longest input, in characters."""
STEPS = 300
"""The steps of a machine that are run where none are asked for: a run while one types."""
GATES = 2_000
"""The gates of a circuit that are run where no number of steps is asked for."""
MOST_STEPS = 5_000
"""The most steps that can be asked for."""
EXPORTS: tuple[str, ...] = ("weights", "latex", "csv", "page", "source")
"""What can be exported."""

_KINDS = {name: known[0].kind for name, known in everything().items() if not known[0].about.aside | known[0].about.hidden}
_KNOWN = ("max_steps", *_KINDS)
_FIELDS = ("source", "format", "input", "options", "name", "what", "to")
_LONGEST = 1_000
_NAME = re.compile(r"[^\w-]+")


@dataclass(frozen=True, kw_only=True)
class Query:
    """A source with an input and options.

    Args:
        source: the text.
        format: its format, if it is not to be guessed; empty: it is.
        input: the input; None: the source's own.
        options: those of its compiler, such as ``left_boundary``, and ``max_steps``; None in place of a value: the default.
        name: that of the source, where its text does not say it.

    Raises:
        UsageError: if one of them is of another type, too long, or unknown.
    """

    source: str
    format: str = ""
    input: str | None = None
    options: PlainData = field(default_factory=dict)
    name: str = ""

    def __post_init__(self) -> None:
        _text("source", self.source, MOST_SOURCE)
        _text("format", self.format, _LONGEST)
        _text("name", self.name, _LONGEST)
        if self.input is not None:
            _text("input", self.input, MOST_INPUT)
        if not isinstance(self.options, Mapping):
            raise UsageError(f"options must be an object, not {_shown(self.options)}: use {{}} for none")
        for name, value in self.options.items():
            _check_option(name, value)
        object.__setattr__(self, "name", _NAME.sub("-", self.name)[:60].strip("-"))
        object.__setattr__(self, "options", {n: v for n, v in self.options.items() if v is not None})

    @classmethod
    def of(cls, given: object) -> Self:
        """Return the request that JSON describes.

        Raises:
            UsageError: if it does not describe one.
        """
        if not isinstance(given, Mapping):
            raise UsageError(f'a request must be an object, not {_shown(given)}: send {{"source": …}}')
        for name in given:
            if name not in _FIELDS:
                raise UsageError(
                    f"unknown field {_shown(name)}{did_you_mean(str(name), _FIELDS)}: use {', '.join(_FIELDS)}"
                )
        if "source" not in given:
            raise UsageError('a request must have a source: send {"source": …}')
        return cls(
            source=given["source"],
            format=given.get("format") or "",
            input=given.get("input"),
            options=given.get("options") or {},
            name=given.get("name") or "",
        )

    @property
    def compiling(self) -> PlainData:
        """The options of the compiler."""
        return {name: value for name, value in self.options.items() if name != "max_steps"}

    def steps(self, default: int) -> int:
        """Return the most steps of the run, `default` if none are asked for."""
        return int(self.options.get("max_steps", default))


def _text(name: str, value: object, most: int) -> None:
    if not isinstance(value, str):
        raise UsageError(f"{name} must be text, not {_shown(value)}: put it in quotes")
    if len(value) > most:
        raise UsageError(f"{name} has {counted(len(value), 'character')}: use at most {most:,}")


def _check_option(name: object, value: object) -> None:
    if name not in _KNOWN:
        raise UsageError(f"unknown option {_shown(name)}{did_you_mean(str(name), _KNOWN)}: use {', '.join(_KNOWN)}")
    if value is None:
        return
    kind = _KINDS.get(str(name), "count")
    if kind == "flag":
        if not isinstance(value, bool):
            raise UsageError(f"{name} must be true or false, not {_shown(value)}: omit it, or send true")
    elif kind != "count":
        _text(str(name), value, _LONGEST)
    elif not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= MOST_STEPS:
        called = "the step limit" if name == "max_steps" else name
        raise UsageError(
            f"{called} must be a whole number from 0 to {MOST_STEPS:,}, not {_shown(value)}: use for example {STEPS}"
        )


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:40]}…"
