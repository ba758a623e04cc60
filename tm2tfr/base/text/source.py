"""A text with its lines, and the complaints about it: the starting point of every reader of a format."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from typing import NamedTuple

from tm2tfr.base.errors import Diagnostic, Severity, Span, SpecError, did_you_mean

MAX_BYTES = 1 << 20
"""The size of the largest text of most kinds: specs, programs, formulas, prompts."""
MACHINE_BYTES = 8 << 20
"""The size of the largest machine. Reading takes 1 to 4 s and 50 to 130 MB per MiB, of Python code 290 MB: about half a
minute and 1 GB at this size. The largest public ones, universal machines in JSON, have 2.5 and 3.7 MB."""
MOST_DIAGNOSTICS = 100
"""A reader may stop after this many complaints."""
MOST_SHOWN = 20
"""The most complaints that are shown at once: nobody reads more."""
FEW_DIAGNOSTICS = 10
"""For formats of other programs: a text that is something else gets no more."""
MOST_COMPARED = 30_000
"""The most names that are compared for the suggestions about one text: more than 20 times 1,000."""
MOST_RULES = 1_000_000
"""What is read of one machine; lists of symbols and wildcards can spell out more in a text of `MACHINE_BYTES`."""

_BOM = "\ufeff"
_LINE_BREAK = re.compile("\r\n|[\n\r\x85\u2028\u2029]")  # YAML's, which are not quite str.splitlines()
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufeff\ufffe\uffff]")
"""What YAML does not allow. The set of what it allows would take 3 ms to compile: re lists it up to U+FFFF."""


class Mark(NamedTuple):
    """A place in a text: line and column, both from 0."""

    line: int
    column: int


@dataclass(frozen=True)
class SourceText:
    """A text and the file it came from; `outer` is set if the text is a block of lines within a larger one.

    ``outer = (source, first)``: line 0 of this text is line `first` of that source, indented by some blanks.
    """

    text: str
    file: str
    outer: tuple[SourceText, int] | None = None

    @cached_property
    def lines(self) -> list[str]:
        """The lines, without their breaks."""
        return _LINE_BREAK.split(self.text)

    @cached_property
    def printable(self) -> list[str]:
        """The lines, with a sign in the place of each character that a terminal would interpret, or refuse to print."""
        return [_UNPRINTABLE.sub("\ufffd", line) for line in self.lines] if _UNPRINTABLE.search(self.text) else self.lines

    @cached_property
    def beginnings(self) -> list[int]:
        """The offset of each line's first character."""
        return [0, *(match.end() for match in _LINE_BREAK.finditer(self.text))]

    def mark(self, offset: int) -> Mark:
        """Return the place of the character at `offset`."""
        line = bisect_right(self.beginnings, offset) - 1
        return Mark(line, offset - self.beginnings[line])

    def stretch(self, start: int, end: int) -> Span:
        """Return the span from one offset to another, limited to its first line."""
        return self.span(self.mark(start), self.mark(end))

    def span(self, start: Mark, end: Mark | None = None) -> Span:
        """Return the span from `start` to `end`, limited to its first line; without an `end`, one character."""
        line = min(start.line, len(self.lines) - 1)
        text = self.lines[line]
        if self.outer is not None:
            source, first = self.outer
            indent = len(source.lines[min(first + line, len(source.lines) - 1)]) - len(text)
            return source.span(*(Mark(first + m.line, m.column + indent) for m in (start, end) if m is not None))
        column = min(start.column, len(text)) if line == start.line else len(text)
        last = column if end is None else end.column if end.line == start.line else len(text.rstrip())
        return Span(line=line + 1, column=column + 1, length=max(1, last - column), text=self.printable[line])


@dataclass
class Log:
    """The complaints about a source, collected as it is read; an error shows the first `most` of them."""

    source: SourceText
    found: dict[Diagnostic, None] = field(default_factory=dict)
    most: int = MOST_SHOWN
    compared: list[int] = field(default_factory=list)
    """How many names each suggestion had to be compared with."""

    def add(self, span: Span | None, what: str, remedy: str, severity: Severity = "error") -> None:
        """Record a complaint, unless it is recorded already."""
        self.found[Diagnostic(what=what, remedy=remedy, file=self.source.file, span=span, severity=severity)] = None

    def did_you_mean(self, name: str, known: Iterable[str]) -> str:
        """Return `` (did you mean 'x'?)`` for the one of the first 1,000 `known` names that `name` resembles, if any.

        In a text with a mistake in every line, suggestions would take long and help nobody: after `MOST_COMPARED`
        names, the result is the empty string.
        """
        if sum(self.compared) >= MOST_COMPARED:
            return ""
        some = list(islice(known, 1000))
        self.compared.append(len(some))
        return did_you_mean(name, some)

    def too_many(self, rules: int) -> None:
        """Refuse a text with more than `MOST_RULES` rules, wildcards expanded.

        Raises:
            SpecError: with all the complaints.
        """
        if rules > MOST_RULES:
            self.add(None, f"these are {rules:,} rules, and at most {MOST_RULES:,} are read", "use fewer states or symbols")
            raise self.failure()

    def inside(self, source: SourceText) -> Log:
        """Return a log for a `source` within this one; both collect into the same place."""
        return replace(self, source=source)

    @property
    def broken(self) -> bool:
        """Whether one of the complaints is an error."""
        return any(d.severity == "error" for d in self.found)

    def conclude(self) -> tuple[Diagnostic, ...]:
        """Return the complaints, all of them warnings, in the order of the text.

        Raises:
            SpecError: with all of them, errors and warnings, if one is an error.
        """
        if self.broken:
            raise self.failure()
        return self.shown()

    def failure(self) -> SpecError:
        """Return the error with the complaints that are shown."""
        return SpecError(self.shown())

    def shown(self) -> tuple[Diagnostic, ...]:
        """Return at most `most` complaints, in the order of the text, errors first; and how many more there are."""
        found = tuple(sorted(self.found, key=lambda d: (d.span.line, d.span.column) if d.span else (0, 0)))
        if len(found) <= self.most:
            return found
        errors_first = sorted(found, key=lambda d: d.severity != "error")
        chosen, severity = frozenset(map(id, errors_first[: self.most])), errors_first[self.most].severity
        what = f"… and {len(found) - self.most:,} more"
        rest = Diagnostic(what=what, remedy="fix those above first", file=self.source.file, severity=severity)
        return (*(d for d in found if id(d) in chosen), rest)


def decoded(
    text: str | bytes,
    *,
    file: str,
    most: int = MAX_BYTES,
    noun: str = "machine",
    comments: re.Pattern[bytes] | None = None,
) -> SourceText:
    """Return `text` as a source, without a byte order mark.

    Args:
        most: the size of the largest text, in bytes.
        noun: what the text describes, for the complaints.
        comments: where comments begin that extend to the end and may contain any bytes: those that are not text become
            U+FFFD.

    Raises:
        SpecError: if it is not UTF-8, contains control characters, or is larger than `most`.
    """
    if len(text) > most // 4 and (len(text) if isinstance(text, bytes) else len(text.encode(errors="replace"))) > most:
        what = f"the text is larger than {most >> 20} MiB"
        remedy = f"no {noun} needs that much: check that this is the right file"
        if most == MACHINE_BYTES:
            what += ": reading it would take more than half a minute and 1 GB of memory"
            remedy = "remove its spaces and comments, or split it if it is a list"
        raise SpecError([Diagnostic(what=what, remedy=remedy, file=file)])
    if comments is not None:
        text = text.encode(errors="replace") if isinstance(text, str) else text
        if (found := comments.search(text)) is not None:
            start = found.start()
            text = text[:start] + _UNPRINTABLE.sub("\ufffd", text[start:].decode(errors="replace")).encode()
    try:
        text = text.decode() if isinstance(text, bytes) else text
    except UnicodeDecodeError as error:
        raise SpecError([_not_text(error, file)]) from None
    source = SourceText(text.removeprefix(_BOM), file)
    if not _UNPRINTABLE.search(source.text):  # in one go: most texts are sound, and circuits are long
        return source
    log = Log(source)
    for mark, character in islice(_unprintable(source), MOST_DIAGNOSTICS):
        what = f"the character U+{ord(character):04X} is not allowed in a text"
        quoted = f'; if it is a symbol, write it as "{escape(character)}", in double quotes' if noun == "machine" else ""
        log.add(source.span(mark), what, f"remove it{quoted}")
    log.conclude()
    return source


def _not_text(error: UnicodeDecodeError, file: str) -> Diagnostic:
    text = error.object
    *lines, last = _LINE_BREAK.split(text[: error.start].decode().removeprefix(_BOM))
    span = SourceText(text.decode(errors="replace").removeprefix(_BOM), file).span(Mark(len(lines), len(last)))
    what = f"byte {error.start} is 0x{text[error.start]:02x}, which is not UTF-8"
    return Diagnostic(what=what, remedy="check that it is a text file, and save it as UTF-8", file=file, span=span)


def _unprintable(source: SourceText) -> Iterator[tuple[Mark, str]]:
    for line, shown in enumerate(source.lines):
        for match in _UNPRINTABLE.finditer(shown):
            yield Mark(line, match.start()), match[0]


def escape(character: str) -> str:
    r"""Return a character as YAML writes it in double quotes: ``\x07``, ``\u2028``, ``\U0001f600``."""
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
