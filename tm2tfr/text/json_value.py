"""A value of a JSON document that knows its place, so that an error can name it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from tm2tfr.errors import WeightFileError, did_you_mean

_Choice = TypeVar("_Choice", bound=str)
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

    def _of(self, kind: type) -> Any:
        if type(self.value) is not kind:
            raise self.error(f"should be {_NAMES[kind]}, is {_NAMES[type(self.value)]}")
        return self.value
