"""Random inputs balanced by outcome: the same number of inputs for each outcome of the reference."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

from tm2tfr.base.errors import InputError, visible
from tm2tfr.sources.registry import of_program

Outcomes = Callable[[Sequence[str]], Sequence[str | None]]
"""inputs -> the outcome of each, see `tm2tfr.contract.source.Source.outcomes`."""
_Placed = tuple[int, str]
_Found = Mapping[str, Sequence[_Placed]]
"""Outcome -> the words that have it, each with its place among those drawn."""
MOST_OUTCOMES = 10
"""Inputs are balanced for at most this many outcomes."""
LEAST_DRAWN, DRAWN_EACH = 2_000, 200
"""At most `DRAWN_EACH` times as many inputs are drawn as are asked for, or `LEAST_DRAWN` if that is more."""
TOGETHER = 1_000
"""The number of inputs whose outcomes are computed at once."""


def most_drawn(count: int) -> int:
    """Return the most inputs that are drawn to get `count` balanced ones."""
    return max(LEAST_DRAWN, DRAWN_EACH * count)


class Judged(NamedTuple):
    """A program by whose outcomes random inputs are balanced.

    Args:
        name: of the program, for messages.
        outcomes: inputs -> their outcomes.
        written: a word over letters -> the input, see `InputSpace`.
    """

    name: str
    outcomes: Outcomes
    written: Callable[[str], str] = str

    def letters(self, words: Sequence[str]) -> Sequence[str | None]:
        """Return the outcomes of words over letters."""
        return self.outcomes([*map(self.written, words)])


def _no_outcomes(words: Sequence[str]) -> list[str | None]:
    return [None] * len(words)


UNJUDGED = Judged("the inputs", _no_outcomes)
"""No program: inputs have no outcome."""


def judged(program: Any, max_steps: int | None = None) -> Judged:
    """Return a program as one by whose outcomes inputs are balanced; max_steps: at most this many steps of a machine."""
    source = of_program(program)
    if source is None:  # never: every program has a source
        return UNJUDGED
    return Judged(program.name, lambda words: source.outcomes(program, words, max_steps))


def balanced(program: Judged, words: Iterator[str], count: int) -> list[str]:
    """Return `count` inputs, the same number for each outcome, or one more for some, in the order of `words`.

    Args:
        program: inputs on which it has no outcome are not taken.
        words: different random words over letters.

    Raises:
        InputError: if there is one outcome, if there are more than `MOST_OUTCOMES`, or if one is too rare.
    """
    found, drawn = defaultdict[str, list[_Placed]](list), 0
    for some in iter(lambda: list(islice(words, TOGETHER)), []):
        for place, (word, outcome) in enumerate(zip(some, program.letters(some), strict=True), start=drawn):
            if outcome is not None:
                found[outcome].append((place, word))
        drawn += len(some)
        if len(found) > MOST_OUTCOMES:
            some_of = ", ".join(map(visible, sorted(found)[:3]))
            what = f"{visible(program.name)}: there are more than {MOST_OUTCOMES} outcomes, such as {some_of}"
            raise InputError(f"{what}: draw the inputs without balanced outcomes")
        if len(found) > 1 and not _lacking(found, count):
            break
    if len(found) < 2:
        every = f"have the outcome {visible(next(iter(found)))}, or none" if found else "have no outcome"
        what = f"{visible(program.name)}: all {drawn:,} random inputs that were drawn {every}"
        raise InputError(f"{what}: draw inputs of other lengths, or without balanced outcomes")
    if (lacking := _lacking(found, count)) is not None:
        there, most = len(found[lacking]), len(found) * len(found[lacking])
        what = f"{visible(program.name)}: the outcome {visible(lacking)} has {there:,} of {drawn:,} random inputs, too few"
        among = f"for {count:,} inputs with {len(found)} outcomes"
        raise InputError(f"{what} {among}: ask for at most {most:,}, or for inputs of other lengths")
    taken = [each for outcome, number in _shares(found, count).items() for each in found[outcome][:number]]
    return [word for _, word in sorted(taken)]


def _shares(found: _Found, count: int) -> dict[str, int]:
    """Return outcome -> the number of inputs to be taken."""
    every, rest = divmod(count, len(found))
    return {outcome: every + (place < rest) for place, outcome in enumerate(sorted(found))}


def _lacking(found: _Found, count: int) -> str | None:
    """Return the rarest outcome if it has too few inputs."""
    short = [outcome for outcome, number in _shares(found, count).items() if len(found[outcome]) < number]
    return min(short, key=lambda outcome: len(found[outcome]), default=None)


def numbers(outcomes: Sequence[str | None]) -> dict[str, int]:
    """Return the number of inputs with each outcome, the most frequent first; the others count as ``none``."""
    count = Counter("none" if outcome is None else outcome for outcome in outcomes)
    ordered = sorted(count.items(), key=lambda item: (-item[1], item[0]))
    return dict(ordered)
