"""The errors, each with a message to act on: where, what is wrong, and what to do.

Every error that a user can cause is a `Tm2tfrError`; the command line prints it and exits with 2.
A `Diagnostic` is one complaint about one place in a text and shows the source line with ``^~~~`` below
the offending part; a `SpecError` carries all the complaints about a machine at once.
"""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import Literal

from tm2tfr.base.choices import (
    AUTOMATON_WAYS,
    CIRCUIT_VARIANTS,
    DTYPES,
    ENGINES,
    HALT_VERDICTS,
    LOGIC_COMPARE,
    TARGETS,
    TEMPERATURES,
    WEIGHTINGS,
)

Severity = Literal["error", "warning"]
LONGEST_NAME = 200
"""No suggestion is offered for names longer than this."""


@dataclass(frozen=True, kw_only=True)
class Span:
    """A part of one line of a text: 1-based line and column, and its length in characters."""

    line: int
    column: int
    length: int
    text: str
    """The whole source line, without its line break."""
    widest: int = 160
    """The number of characters shown of a longer line, around this part."""

    def underline(self) -> str:
        """Return the source line with ``^~~~`` below this part."""
        shown = self.text.replace("\t", " ")
        column = min(self.column - 1, len(shown))
        length = max(1, min(self.length, len(shown) - column))
        if len(shown) > self.widest:  # a very long line: show only the neighbourhood
            cut = max(0, column - 3 * self.widest // 8)
            shown, column = shown[cut : cut + self.widest], column - cut
            length = min(length, max(1, self.widest - column))
        pad = "".join("  " if unicodedata.east_asian_width(c) in "WF" else " " for c in shown[:column])
        return f"  {shown}\n  {pad}^{'~' * (length - 1)}"


@dataclass(frozen=True, kw_only=True)
class Diagnostic:
    """One complaint: what is wrong, what to do, and where (a file and a span, if known)."""

    what: str
    remedy: str
    file: str | None = None
    span: Span | None = None
    severity: Severity = "error"

    def __str__(self) -> str:
        """Return ``file:line:col: what is wrong: what to do`` and the marked source line."""
        place = visible(self.file or "")
        if self.span is not None:
            place = f"{place or '<text>'}:{self.span.line}:{self.span.column}"
        tag = "warning: " if self.severity == "warning" else ""
        head = f"{place}: {tag}" if place else tag
        text = f"{head}{addressed(f'{self.what}: {self.remedy}')}"
        return text if self.span is None else f"{text}\n{self.span.underline()}"


# ── messages name options as they are typed; callers of the library read their parameters instead ───────────
class _Readers:
    """The readers of this process's messages, a global setting since errors have no argument for it."""

    type_options = False


@contextmanager
def for_command_line() -> Iterator[None]:
    """Make messages name options as they are typed."""
    before, _Readers.type_options = _Readers.type_options, True
    try:
        yield
    finally:
        _Readers.type_options = before


_PARAMETERS = {"input": "word", "from": "format", "output": "out", "all": "every", "set": "settings"}
"""The options whose names differ from their parameters."""
_WORDS = "|".join(
    (
        "future",
        *ENGINES,
        *DTYPES,
        *WEIGHTINGS,
        *TEMPERATURES,
        *CIRCUIT_VARIANTS,
        *HALT_VERDICTS,
        *LOGIC_COMPARE,
        *TARGETS,
        *AUTOMATON_WAYS,
    )
)
_TYPED = (
    r"^tm2tfr [\w-]+: "  # the command, which is not what was called
    r"|(?P<command>tm2tfr [a-z][\w-]* (?:[^:;,'`]|,(?! ))*)"  # a command to type remains one
    r"|(?:(?P<example>\b(?:example|give) )|(?<![^\s(]))--(?P<option>[a-z][a-z-]*)"
    rf"(?: (?P<value>\d+|'[^']*'|(?P<words>(?:{_WORDS})(?:, (?:{_WORDS}))*(?: or (?:{_WORDS}))?(?![\w-]))"
    rf"|[^\s,;:]*[./]\w+|(?(example)[^\s,;:]+|\d)))?"
)
_FLAGS = frozenset(("cut-registers", "keep-rows", "resume", "unbounded"))
"""Options without a value: parameters that are True."""


def addressed(message: str) -> str:
    """Return a message for its readers: with ``--max-length 5``, or ``max_length=5`` for callers of the library."""
    return message if _Readers.type_options else re.sub(_TYPED, _as_parameter, message)


def _as_parameter(typed: re.Match[str]) -> str:
    if typed["option"] is None:
        return typed["command"] or ""
    option, value = typed["option"], typed["value"]
    if option.startswith("no-"):
        option, value = option.removeprefix("no-"), "False"
    elif option in _FLAGS and value is None:
        value = "True"
    elif typed["words"] is not None:
        value = re.sub(rf"(?<![\w-])(?:{_WORDS})(?![\w-])", lambda word: repr(word[0]), value)
    elif value is not None and not value.isdecimal() and not value.startswith("'"):
        value = repr(value)
    name = _PARAMETERS.get(option, option).replace("-", "_")
    return f"{typed['example'] or ''}{name}{'' if value is None else f'={value}'}"


class Tm2tfrError(Exception):
    """An error that the user can correct. Its ``str`` is the whole message: where, what, and what to do."""

    def __str__(self) -> str:
        return addressed(self.typed)

    @property
    def typed(self) -> str:
        """The message with options as they are typed."""
        return super().__str__()


class SpecError(Tm2tfrError):
    """An invalid text or object of any source; `diagnostics` has every complaint, in the order of the text."""

    def __init__(self, diagnostics: Iterable[Diagnostic]) -> None:
        self.diagnostics: tuple[Diagnostic, ...] = tuple(diagnostics)
        super().__init__("\n".join(str(d) for d in self.diagnostics))

    def __str__(self) -> str:
        return "\n".join(map(str, self.diagnostics))


class SpecWarning(UserWarning):
    """Something in a source that is legal but probably not intended."""


class InputError(Tm2tfrError):
    """An input word with symbols outside the input alphabet."""


class UndefinedError(Tm2tfrError):
    """A program that is undefined on an input."""


class UsageError(Tm2tfrError):
    """Invalid usage: an unknown command or option, an extra word, an invalid value."""


class NotFoundError(Tm2tfrError):
    """An argument that is neither a file nor the name of a shipped source."""


class ReadError(Tm2tfrError):
    """A file that cannot be read: a directory, no permission, not text."""


class OutputError(Tm2tfrError):
    """A file that cannot be written, or a drawing that cannot be made."""


class ConversionError(Tm2tfrError):
    """A program that a format cannot express, or a format that cannot be read or written."""


class ShapeError(Tm2tfrError):
    """Weights that do not fit together: a matrix of the wrong shape, an unknown direction, a NaN."""


class WeightFileError(Tm2tfrError):
    """A weight file that is truncated, foreign, tampered with or from another version."""


class EngineError(Tm2tfrError):
    """An option that an engine does not support, an unknown engine, or an unknown token."""


class CheckpointError(Tm2tfrError):
    """A checkpoint that cannot be resumed: not a checkpoint, damaged, or from a different run."""


class CompileError(Tm2tfrError):
    """A program that cannot be compiled, or an option that does not apply to it."""


class ExportError(Tm2tfrError):
    """Weights that another program cannot represent, or not precisely enough; or that program is missing."""


class DisguiseError(Tm2tfrError):
    """Weights that cannot be hidden, a key that does not fit them, or a claim about them that cannot be read."""


class DatasetError(Tm2tfrError):
    """A data set or a sweep that cannot be made: a folder in use, lost workers, or a missing extra."""


class TrainingError(Tm2tfrError):
    """A model that cannot be trained or compared: options out of range, no examples, or a run that is damaged."""


class Interrupted(Tm2tfrError):  # noqa: N818  (it is not an error)
    """Ctrl-C during a run; its ``str`` says how far the run got and how to resume it. The exit code is 130."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return `` (did you mean 'x'?)`` if one of the `known` names resembles `name`, otherwise the empty string.

    Longer names than `LONGEST_NAME` are rarely typing errors, and comparing them would take long.
    """
    if len(name) > LONGEST_NAME:
        return ""
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f" (did you mean {close[0]!r}?)" if close and close[0] != name else ""


def first_line(error: Exception) -> str:
    """Return the type of another program's error and the first line of its message."""
    return f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"


def visible(text: str) -> str:
    r"""Return `text` for a line that people read, with unprintable characters escaped: ``\n``, ``\x1b``.

    Names may come from untrusted files: no name may end a line or control a terminal.
    """
    return text if text.isprintable() else "".join(map(_escaped, text))


def _escaped(sign: str) -> str:
    return sign if sign.isprintable() else sign.encode("unicode_escape").decode()


def counted(number: int, noun: str) -> str:
    """Return ``1 run`` or ``1,024 runs``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def plural(noun: str) -> str:
    """Return ``machines`` or ``automata``."""
    return "automata" if noun == "automaton" else f"{noun}s"


def a_or_an(noun: str) -> str:
    """Return ``a machine`` or ``an automaton``."""
    return f"{'an' if noun[:1] in 'aeiou' else 'a'} {noun}"


def listing(names: Sequence[str], *, most: int = 8) -> str:
    """Return ``'a', 'b', … and 5 more``: a list of names that stays readable when it is long."""
    shown = ", ".join(repr(n) for n in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def spaced(symbol: str) -> str:
    """Return text in which spaces and unprintable characters are visible."""
    return visible(symbol).replace(" ", "␣")


def shortened(tape: str) -> str:
    """Return a tape's text in quotes, shortened in the middle to 58 cells if it has more than 60."""
    if len(tape) > 60:
        half = 29
        return f"'{spaced(tape[:half])} … {spaced(tape[-half:])}' ({len(tape):,} cells)"
    return f"'{spaced(tape)}'"


def indented(text: str) -> str:
    """Return a text with all lines after the first indented."""
    return text.replace("\n", "\n      ")


# ── packages that only some commands need: imported on use ──────────────────────────────────────────────────
def required(
    what: str, modules: Sequence[str], extra: str, *, otherwise: str = "", error: type[Tm2tfrError] = ExportError
) -> tuple[ModuleType, ...]:
    """Return `modules`, imported.

    Args:
        what: the need, as a clause: ``running a GPT-2 needs torch and transformers``.
        extra: the extra of this package that installs them.
        otherwise: how to do without them, if possible: ``export it with --no-verify``.
        error: the class of the error to raise.

    Raises:
        Tm2tfrError: if one of them is not installed, or its installation is broken.
    """
    try:
        return tuple(import_module(module) for module in modules)
    except Exception as fault:  # a package that is there and broken fails in any way it likes
        remedy = f"pip install 'tm2tfr[{extra}]'" + (f", or {otherwise}" if otherwise else "")
        raise error(f"{what} ({first_line(fault)}): {remedy}") from fault
