"""What a construction brings that labels words: its outputs on many of them, and the examples of a program's author."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Examined:
    """An example of a program's author, compared with the reference.

    Args:
        of: the name of what the example is of.
        word: its input, as people write it.
        expected, found: the author's values and those of the reference, as text; one text: that there are none.
        runs, why: whether the weights are to be run on it, and why not.
        kind, reference, numbers: what has the values, ``sop``; what says what is right; whether they are numbers.
    """

    of: str
    word: str
    expected: tuple[str, ...] | str
    found: tuple[str, ...] | str
    runs: bool
    why: str = ""
    kind: str = "sop"
    reference: str = "interpreter"
    numbers: bool = False

    @property
    def met(self) -> bool:
        """Whether the reference says what the author does."""
        return self.expected == self.found

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        plain: dict[str, Any] = {self.kind: self.of, "input": self.word, "met": self.met}
        said = (each if isinstance(each, str) else list(each) for each in (self.expected, self.found))
        return plain | dict(zip(("expected", self.reference), said, strict=True))
