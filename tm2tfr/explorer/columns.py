"""Columns of numbers in one compressed buffer, so that a page can contain every number of a long run."""

from __future__ import annotations

import base64
import zlib
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

INTEGERS = ("u1", "i1", "u2", "i2", "i4")
"""Little-endian integer dtypes, the smallest first; values that fit none of them are ``f8``."""


class PackedColumns:
    """Consecutive arrays; each is identified by the plain data that `add` returns for it.

    Floats are stored by significance: all first bytes, then all second bytes. The bytes of neighbours are alike, so a
    page becomes a third smaller. Nothing is rounded.
    """

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0

    def add(self, values: ArrayLike) -> dict[str, Any]:
        """Append a column of numbers, (count,), and return where it is: ``{"type": "u1", "at": 0, "count": 9}``."""
        array = _smallest(np.asarray(values))
        kind = array.dtype.str[1:]
        data = array.tobytes()
        if kind == "f8":
            data = array.view(np.uint8).reshape(-1, 8).T.tobytes()
        place = {"type": kind, "at": self._size, "count": len(array)}
        self._parts.append(data)
        self._size += len(data)
        return place

    def add_text(self, text: str) -> dict[str, Any]:
        """Append a long text as the column of its UTF-8 bytes, since repetitive text compresses to a fraction."""
        return self.add(np.frombuffer(text.encode(), np.uint8))

    def packed(self) -> str:
        """Return the whole buffer, deflated (RFC 1950), as base64."""
        return base64.b64encode(zlib.compress(b"".join(self._parts), 9)).decode("ascii")


def _smallest(array: NDArray[Any]) -> NDArray[Any]:
    """Return the same numbers in the smallest dtype that represents them exactly."""
    if not len(array):
        return array.astype("<u1")
    values = array.astype("<f8")
    if np.isfinite(values).all() and (values == np.rint(values)).all() and not (np.signbit(values) & (values == 0)).any():
        low, high = values.min(), values.max()
        for kind in INTEGERS:
            if np.iinfo(kind).min <= low and high <= np.iinfo(kind).max:
                return values.astype(f"<{kind}")
    return values
