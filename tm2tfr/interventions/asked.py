"""Settings as people write them: ``q@5=q3``, and ``h@6 from 111@6`` for a value of another run."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from tm2tfr.errors import UsageError
from tm2tfr.interventions.intervened import From

_VALUE = re.compile(r"\s*(?P<name>.+?)\s*@\s*(?P<at>\d{1,9})\s*=(?P<value>.*)", re.DOTALL | re.ASCII)
_FROM = re.compile(
    r"\s*(?P<name>.+?)\s*@\s*(?P<at>\d{1,9})\s+from\s*(?P<input>.*?)\s*(@\s*(?P<there>\d{1,9}))?\s*", re.DOTALL | re.ASCII
)


def read_settings(texts: Sequence[str]) -> dict[tuple[str, int] | str, Any]:
    """Return what is to be set: (variable, position) -> a value as text, None for ``⊥`` or nothing, or `From`.

    >>> read_settings(["q@5=q3", "h@6 from 111@6", "a @ 7 from @9"])  # doctest: +NORMALIZE_WHITESPACE
    {('q', 5): 'q3', ('h', 6): From(input='111', position=6, variable=None),
     ('a', 7): From(input=None, position=9, variable=None)}

    Raises:
        UsageError: for a text that says neither, and for a variable that is set twice at a position.
    """
    found: dict[tuple[str, int] | str, Any] = {}
    for text in texts:
        if (match := _FROM.fullmatch(text)) and "=" not in text.partition(" from")[0]:
            there = match["there"]
            value: Any = From(match["input"] or None, None if there is None else int(there))
        elif match := _VALUE.fullmatch(text):
            value = match["value"].strip() or None
        else:
            what = f"{text!r} does not say what is to be set"
            raise UsageError(f"{what}: write for example 'q@5=q3', or 'q@5 from 111@6' for the value in another run")
        key = match["name"], int(match["at"])
        if key in found:
            raise UsageError(f"{key[0]}@{key[1]} is set twice: set it once")
        found[key] = value
    return found
