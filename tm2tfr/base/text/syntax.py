"""Explains what is wrong with a text that is not YAML, to a reader who does not know YAML.

Most such texts contain an unquoted symbol that has a meaning in YAML: a star, a bar, a bracket.
"""

from __future__ import annotations

import re

import yaml

from tm2tfr.base.errors import Span
from tm2tfr.base.text.source import Mark, SourceText

MAX_DEPTH = 16

Complaint = tuple[Span | None, str, str]

_BARE = "*&!|>%@`"
_BRACKETS = "[]{},:?"
_BIG_ESCAPE = re.compile(r"\\U(?!000[0-9A-Fa-f]{5}|0010[0-9A-Fa-f]{4})[0-9A-Fa-f]{8}")
_COMMENT = re.compile(r"(?<=[\s\[{,])#")
_CUT, _QUOTED = re.compile(r"[\[{,:]\s*$"), re.compile(r"'[^']*'|\"[^\"]*\"")


class TooDeepError(yaml.YAMLError):
    """A text nested more than `MAX_DEPTH` levels deep, at `mark`."""

    def __init__(self, mark: Mark) -> None:
        self.mark = mark
        super().__init__()


def explain(error: Exception, source: SourceText) -> Complaint:
    """Return the place, the cause and the remedy of an error that PyYAML raised on `source`."""
    if isinstance(error, TooDeepError):
        what = f"the text is nested more than {MAX_DEPTH} levels deep"
        return (
            source.span(error.mark),
            what,
            "quote the bracket if it is a symbol; a machine has at most 5 levels",
        )
    if not isinstance(error, yaml.MarkedYAMLError) or error.problem_mark is None:
        return _unmarked(error, source)
    problem, at = error.problem or "", Mark(error.problem_mark.line, error.problem_mark.column)
    begun = error.context_mark
    since = Mark(begun.line, begun.column) if begun is not None else at
    for rule in (_bare, _tab, _quote, _bracket, _unclosed, _colon, _indentation):
        complaint = rule(source, since, at, problem)
        if complaint is not None:
            return complaint
    context = f"{error.context}, " if error.context else ""
    return source.span(at), f"this is not YAML ({context}{problem})", "fix it, or quote it if it is a symbol"


def _unmarked(error: Exception, source: SourceText) -> Complaint:
    for line, text in enumerate(source.lines):
        if escape := _BIG_ESCAPE.search(text):
            span = source.span(Mark(line, escape.start()), Mark(line, escape.end()))
            return span, f"{escape[0]} is not a character", "the last one is \\U0010ffff"
    return None, f"this is not YAML ({error})", "fix it, or quote it if it is a symbol"


def _character(source: SourceText, at: Mark) -> str:
    line = source.lines[at.line] if at.line < len(source.lines) else ""
    return line[at.column] if at.column < len(line) else ""


def _bare(source: SourceText, since: Mark, at: Mark, problem: str) -> Complaint | None:
    """``*: R``: a character with a meaning at the start of a YAML value."""
    for mark in (since, at):
        character = _character(source, mark)
        if character and character in _BARE and not re.search("block end|document", problem):
            return _meaningful(source, mark)
    if problem.startswith("sequence entries"):  # `blank: -`
        return _meaningful(source, at)
    before = source.lines[max(0, at.line - 1)].lstrip()
    if problem.startswith("mapping values") and before.startswith("!"):  # `!: R` is a tag, noticed a line later
        return _meaningful(source, Mark(at.line - 1, source.lines[at.line - 1].index("!")))
    return None


def _meaningful(source: SourceText, at: Mark) -> Complaint:
    character = _character(source, at)
    what = f"{character!r} has a meaning in YAML and must be quoted here"
    return source.span(at), what, f"if it is a symbol, write '{character}'"


def _tab(source: SourceText, since: Mark, at: Mark, problem: str) -> Complaint | None:
    """A tab in the indentation."""
    if _character(source, at) != "\t" or "cannot start any token" not in problem:
        return None
    return source.span(at), "YAML does not allow a tab as indentation", "indent with spaces"


def _quote(source: SourceText, since: Mark, at: Mark, problem: str) -> Complaint | None:
    """A quote that is never closed, or closed too early, or a backslash within double quotes."""
    quote, before = _character(source, since), source.lines[min(at.line, len(source.lines) - 1)][: at.column].rstrip()
    if "unknown escape" in problem or "escape sequence" in problem:
        remedy = "write a backslash twice in double quotes, or once in single quotes"
        backslash = source.lines[at.line].rfind("\\", 0, at.column + 1)
        return source.span(Mark(at.line, max(0, backslash)), at), "this is not an escape sequence of YAML", remedy
    if re.search("found '<(scalar|anchor|alias|tag)>'", problem) and before.endswith(("'", '"')):
        remedy = "if the quote is part of the text, write it twice: 'it''s'"
        return source.span(Mark(at.line, len(before) - 1)), "there is text after the closing quote", remedy
    if not quote or quote not in "'\"" or "found unexpected" not in problem:
        return None
    other = {"'": '"', '"': "'"}[quote]
    return (
        source.span(since),
        f"this {quote} is never closed",
        f"close it, or write {other}{quote}{other} for the symbol",
    )


def _bracket(source: SourceText, since: Mark, at: Mark, problem: str) -> Complaint | None:
    """``[0, ]]: R`` or ``{: R``: a bracket, a comma or a colon that is a symbol."""
    if not re.search("expected (the node content|<block end>), but found '[^<]", problem):
        return None
    opened = Mark(at.line, max(0, at.column - 1))
    if _character(source, opened) in ("[", "{"):
        at = opened
    return _meaningful(source, at) if _character(source, at) in (*_BRACKETS,) else None


def _unclosed(source: SourceText, since: Mark, at: Mark, problem: str) -> Complaint | None:
    """A bracket that is not closed, perhaps because the rest of the line is a comment."""
    bracket = _character(source, since)
    if problem.startswith("expected the node content, but found") and (mark := _hidden(source, at)) is not None:
        return _comment(source, mark)
    if problem == "expected the node content, but found '<stream end>'":
        return source.span(at), "the text ends before a bracket is closed", "close it, or quote it if it is a symbol"
    if bracket not in ("[", "{") or not problem.startswith("expected ',' or"):
        return None
    if comment := _COMMENT.search(source.lines[since.line], since.column):
        return _comment(source, Mark(since.line, comment.start()))
    closing = {"[": "]", "{": "}"}[bracket]
    remedy = f"close it with {closing!r}, separate its parts by commas, or quote it if it is a symbol"
    return source.span(since), f"this {bracket!r} is not closed properly", remedy


def _comment(source: SourceText, at: Mark) -> Complaint:
    what = "'#' begins a comment that runs to the end of the line"
    return source.span(at), what, "quote it if it is a symbol: '#'"


def _hidden(source: SourceText, before: Mark) -> Mark | None:
    """Return the first '#' before a place that stands for a part of a bracket, and hides where the bracket is closed."""
    for line, text in enumerate(source.lines[: before.line]):
        comment = _COMMENT.search(_QUOTED.sub(lambda quoted: "'" * len(quoted[0]), text))
        if comment and _CUT.search(text[: comment.start()]) and re.search(r"[]}]", text[comment.end() :]):
            return Mark(line, comment.start())
    return None


def _colon(source: SourceText, since: Mark, at: Mark, problem: str) -> Complaint | None:
    """One colon too many, or one without a space after it."""
    if problem.startswith("could not find expected ':'"):
        return (
            source.span(since, at),
            "there is no ':' after this key",
            "write 'key: value', with a space after the colon",
        )
    if not problem.startswith("mapping values"):
        return None
    if ": " in source.lines[at.line][: at.column]:
        return source.span(at), "this line has a second ':'", "quote the text, or write a mapping as {R: state}"
    above = max(0, at.line - 1)
    if ": " in source.lines[above]:
        what = "this line is indented as if it were part of the text above"
        indent = len(source.lines[at.line]) - len(source.lines[at.line].lstrip())
        return (
            source.span(Mark(at.line, indent), at),
            what,
            "indent it like the line above, or remove the text after that line's colon",
        )
    what = "this line is not 'key: value', so the next one is read as part of it"
    return (
        source.span(Mark(above, 0), Mark(at.line, 0)),
        what,
        "put a space after its colon, or fix the indentation",
    )


def _indentation(source: SourceText, since: Mark, at: Mark, problem: str) -> Complaint | None:
    """A line whose indentation matches no line above it."""
    if not problem.startswith("expected <block end>, but found"):
        return None
    what = "the indentation of this line matches none of the lines above"
    return source.span(at), what, "indent all the entries of one mapping by the same number of spaces"
