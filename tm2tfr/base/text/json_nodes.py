"""JSON text -> nodes that know their place (RFC 8259), for documents that people write by hand.

A string becomes a scalar that is not `plain`; a number and the words true, false and null become plain ones, as written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from json.decoder import JSONDecodeError, scanstring  # type: ignore[attr-defined]
from typing import Any, NoReturn, TypeVar

from tm2tfr.base.errors import WeightFileError, did_you_mean
from tm2tfr.base.text.nodes import List, Map, Node, Scalar
from tm2tfr.base.text.source import Log, SourceText
from tm2tfr.base.text.syntax import MAX_DEPTH

_SPACE = re.compile(r"[ \t\r\n]*")
_WORD = re.compile(r"(?:-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null)(?=[\s,:\]}]|$)")
_BARE = re.compile(r"[^\s,:\[\]{}\"]{1,40}|\"[^\"\n]{0,40}\"?|.")
_COMMENT = re.compile(r"//|/\*|#")


def compose_json(source: SourceText) -> Node | None:
    """Return the root node of a JSON text, or None if there is nothing in it.

    Raises:
        SpecError: if it is not JSON, or nested deeper than `MAX_DEPTH`: with the first such place.
    """
    return _Composer(source).document()


class _Composer:
    def __init__(self, source: SourceText) -> None:
        self.source, self.text, self.at = source, source.text, 0

    def document(self) -> Node | None:
        self.skip()
        if self.at == len(self.text):
            return None
        root = self.value(0)
        self.skip()
        if self.at < len(self.text):
            self.fail("the document ends before this", "remove what follows, or the bracket that closes it too early")
        return root

    def skip(self) -> str:
        """Go to the next sign that is not a space, and return it; at the end of the text, the empty string."""
        found = _SPACE.match(self.text, self.at)
        self.at = found.end() if found else self.at
        return self.text[self.at : self.at + 1]

    def node(self, start: int) -> Node:
        return Node(self.source.mark(start), self.source.mark(self.at))

    def value(self, depth: int) -> Node:
        if depth > MAX_DEPTH:
            self.fail(f"the text is nested more than {MAX_DEPTH} levels deep", "check that this is the right file")
        sign = self.skip()
        if sign == '"':
            return self.string()
        if sign in ("{", "["):
            return self.collection(sign, depth)
        start, word = self.at, _WORD.match(self.text, self.at)
        if word is None:
            self.expected("a value")
        self.at = word.end()
        span = self.node(start)
        return Scalar(span.start, span.end, word[0], plain=True)

    def string(self) -> Scalar:
        start = self.at
        try:
            text, self.at = scanstring(self.text, start + 1, True)
        except JSONDecodeError as error:
            self.at = error.pos
            if error.msg.startswith("Unterminated") or self.text[error.pos : error.pos + 1] in ("\r", "\n"):
                self.at = start
                self.fail("this string is never closed", 'add the quotation mark at its end: "')
            self.fail(
                "this is not allowed in a string", 'write \\" for a quotation mark, \\\\ for a backslash, \\t for a tab'
            )
        span = self.node(start)
        if re.search("[\ud800-\udfff]", text):
            self.at = start
            self.fail("a surrogate (U+D800 to U+DFFF) is not a character", "write the character itself")
        return Scalar(span.start, span.end, text, plain=False)

    def collection(self, opening: str, depth: int) -> Node:
        """Read an object or a list, from its opening bracket to its closing one."""
        start, closing = self.at, {"{": "}", "[": "]"}[opening]
        items: list[Node] = []
        self.at += 1
        comma = False
        while (sign := self.skip()) != closing or comma:
            if not sign:
                self.at = len(self.text.rstrip())
                line = self.source.mark(start).line + 1
                self.fail(f"the text ends, but the {opening!r} in line {line} is not closed", f"add {closing!r}")
            if comma and sign == closing:
                self.fail(f"there is a comma before this {closing!r}", "remove the comma")
            items += self.pair(depth) if opening == "{" else [self.value(depth + 1)]
            sign = self.skip()
            comma = sign == ","
            if comma:
                self.at += 1
            elif sign and sign != closing:
                self.expected(f"a comma or {closing!r}")
        self.at += 1
        span = self.node(start)
        if opening == "[":
            return List(span.start, span.end, tuple(items))
        return Map(span.start, span.end, tuple(zip(items[::2], items[1::2], strict=True)))

    def pair(self, depth: int) -> list[Node]:
        """Read a key and its value."""
        if self.skip() != '"':
            self.expected("a key in double quotes")
        key = self.string()
        if self.skip() != ":":
            self.expected("a colon after the key")
        self.at += 1
        return [key, self.value(depth + 1)]

    def expected(self, what: str) -> NoReturn:
        """Report the expected kind and the one found."""
        found = _BARE.match(self.text, self.at)
        if found is None:
            self.fail(f"expected {what}, but the text ends", "complete it")
        shown = found[0]
        remedy = "add it, or remove what is not JSON"
        if _COMMENT.match(shown):
            remedy = "JSON has no comments: remove it"
        elif shown.startswith("'"):
            remedy = 'write double quotes: "'
        elif shown[0].isalpha():
            remedy = "put the text in double quotes"
        self.fail(f"expected {what}, found {shown!r}", remedy, len(shown))

    def fail(self, what: str, remedy: str, length: int = 1) -> NoReturn:
        log = Log(self.source)
        log.add(self.source.stretch(self.at, self.at + length), what, remedy)
        raise log.failure()


# ── a value of a JSON document that knows its place, so that an error can name it ─────────────────────
_Choice = TypeVar("_Choice", bound=str)
_Kind = TypeVar("_Kind")
_NAMES = {
    dict: "an object",
    list: "a list",
    str: "text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    type(None): "null",
}


@dataclass(frozen=True)
class JsonValue:
    """`value` at the place `at` (``layers[2].name``) of the metadata of `file`.

    Every method raises `WeightFileError` if the value is not of the requested kind.
    """

    value: Any
    file: str
    at: str = ""

    def __getitem__(self, key: str) -> JsonValue:
        """Return the value of an object under `key`."""
        if key not in self._of(dict):
            raise self.error(f"has no {key!r}")
        return JsonValue(self.value[key], self.file, f"{self.at}.{key}" if self.at else key)

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of an object."""
        return tuple(self._of(dict))

    def items(self) -> Iterator[JsonValue]:
        """Yield the items of a list."""
        return (JsonValue(item, self.file, f"{self.at}[{n}]") for n, item in enumerate(self._of(list)))

    def text(self) -> str:
        """Return a text."""
        return str(self._of(str))

    def texts(self) -> tuple[str, ...]:
        """Return a list of texts."""
        return tuple(item.text() for item in self.items())

    def number(self, *, most: int) -> int:
        """Return a whole number from 0 to `most`."""
        number: int = self._of(int)
        if not 0 <= number <= most:
            raise self.error(f"should be a number from 0 to {most}, is {number}")
        return number

    def whole(self) -> int:
        """Return a whole number of either sign."""
        return int(self._of(int))

    def real(self) -> float:
        """Return a number with a decimal point, as Python writes a float."""
        return float(self._of(float))

    def truth(self) -> bool:
        """Return true or false."""
        return bool(self._of(bool))

    def choice(self, choices: Sequence[_Choice]) -> _Choice:
        """Return a text that is one of `choices`."""
        text = self.text()
        for choice in choices:
            if choice == text:
                return choice
        close = did_you_mean(text, choices)
        raise self.error(f"should be {' or '.join(choices)}, is {text!r}{close}")

    def error(self, what: str) -> WeightFileError:
        """Return an error about this place; `what` is its predicate, such as ``should be text``."""
        place = f"{self.at} in the metadata" if self.at else "the metadata"
        return WeightFileError(f"{self.file}: {place} {what}: make the file again with 'tm2tfr compile'")

    def _of(self, kind: type[_Kind]) -> _Kind:
        if type(self.value) is not kind:
            raise self.error(f"should be {_NAMES[kind]}, is {_NAMES[type(self.value)]}")
        return self.value
