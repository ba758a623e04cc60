"""Texts by name that cannot be changed, one of which is written when it is read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property


class TextLater(Mapping[str, str]):
    """Texts by name, of which one takes time to write.

    Args:
        name: that of this text; its place is the one that it has among `others`.
        write: returns it, always the same.
        others: all texts, with anything in place of this one.
    """

    def __init__(self, name: str, write: Callable[[], str], others: Mapping[str, str]) -> None:
        self._name, self._write, self._others = name, write, dict(others)

    @cached_property
    def _whole(self) -> dict[str, str]:
        return {**self._others, self._name: self._write()}

    def __getitem__(self, key: str) -> str:
        return self._whole[key] if key == self._name else self._others[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._others)

    def __len__(self) -> int:
        return len(self._others)

    def __repr__(self) -> str:
        return repr(self._whole)

    def __reduce__(self) -> tuple[type[dict[str, str]], tuple[dict[str, str]]]:
        return dict, (self._whole,)
