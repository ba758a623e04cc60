"""The shipped programs with the inputs on which a test tries them."""

from __future__ import annotations

from itertools import islice, product
from typing import Any

from tests.sources.rasp.headers import names
from tests.sources.rasp.running import shipped_program
from tm2tfr.sources.rasp.program import Program

__all__ = ["names", "shipped_program", "some", "words"]


def words(program: Program, longest: int, most: int) -> list[tuple[Any, ...]]:
    """Return inputs of 1 to `longest` tokens, the same number of each length: all of them, or some that are spread."""
    found: list[tuple[Any, ...]] = []
    for length in range(1, longest + 1):
        found += some(program.alphabet, length, most // longest)
    return found


def some(alphabet: tuple[Any, ...], length: int, most: int) -> list[tuple[Any, ...]]:
    """Return at most `most` inputs of this length: all of them, or every so-manieth."""
    step = -(-(len(alphabet) ** length) // max(1, most))
    step += step > 1 and step % len(alphabet) == 0  # so that the last token is not always the same
    return list(islice(product(alphabet, repeat=length), 0, None, step))
