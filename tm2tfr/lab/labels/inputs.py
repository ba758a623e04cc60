"""The inputs whose runs are labelled or intervened on: listed, all up to a length, or random."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from tm2tfr.base.errors import InputError, counted, visible
from tm2tfr.base.text.words import InputSpace, number_of
from tm2tfr.lab.datasets.balance import Judged, numbers
from tm2tfr.lab.datasets.spec import MOST_WORDS, Inputs, Random

MOST_BY_DEFAULT, LONGEST_BY_DEFAULT = 1_000, 10
"""By default, this many random inputs of up to this many tokens, or all inputs if there are no more."""


@dataclass(frozen=True, kw_only=True)
class LabelInputs:
    """The inputs that a user asks for; without any, a default.

    Args:
        words: listed inputs, as people write them; None: no list, which differs from an empty list.
        up_to: all inputs of up to this many tokens; for a circuit: all inputs, if it has at most this many bits.
        count, shortest, longest, seed: this many different random inputs, of these lengths; None: a default.
        balanced: whether each outcome has the same number of random inputs.
    """

    words: tuple[str, ...] | None = None
    up_to: int | None = None
    count: int | None = None
    shortest: int | None = None
    longest: int | None = None
    seed: int = 0
    balanced: bool = False

    @property
    def nothing(self) -> bool:
        """Whether nothing is asked for."""
        return self.words is None and self.up_to is None and self.count is None

    @property
    def ways(self) -> tuple[str, ...]:
        """The choice of inputs, in words; a default has none."""
        listed = None if self.words is None else f"{len(self.words):,} listed"
        every = None if self.up_to is None else f"all of up to {counted(self.up_to, 'token')}"
        drawn = None if self.count is None else f"{self.count:,} random with seed {self.seed}"
        return tuple(each for each in (listed, every, drawn) if each is not None)


class Chosen(NamedTuple):
    """The inputs that are labelled: words, in the order listed, all, random, and how they were chosen, as plain data."""

    words: tuple[str, ...]
    how: Mapping[str, Any]


def chosen(program: Judged, noun: str, space: InputSpace, positions: int | None, asked: LabelInputs) -> Chosen:
    """Return the different inputs, and how they were chosen.

    Args:
        program: whose name and outcomes these are; noun: what it is called; space: what its inputs are made of.
        positions: the most tokens of an input that the weights take; None: any number.

    Raises:
        InputError: for an invalid input or invalid lengths, or for too many inputs.
    """
    if space.length is not None:
        return _of_length(program, noun, space, space.length, asked)
    inputs = _inputs(visible(program.name), space, positions, asked)
    drawn = [(source.count, source.shortest, source.longest) for source in inputs.random]
    how = _how(len(inputs.words), inputs.up_to if inputs.up_to >= 0 else None, drawn, asked)
    return _chosen(inputs, space, program, how)


def _chosen(inputs: Inputs, space: InputSpace, program: Judged, how: dict[str, object]) -> Chosen:
    words = inputs.of(space, program)
    return Chosen(words, how | ({"outcomes": numbers(program.outcomes(words))} if inputs.balanced else {}))


def _how(listed: int, up_to: int | None, drawn: Sequence[tuple[int, int, int]], asked: LabelInputs) -> dict[str, object]:
    """Return how inputs were chosen; drawn: (count, shortest, longest) of random ones."""
    names = ("count", "shortest", "longest", "seed")
    random = [dict(zip(names, (*each, asked.seed), strict=True)) for each in drawn]
    chosen: dict[str, object] = {"listed": listed, "all_up_to": up_to, "random": random, "default": asked.nothing}
    return chosen | {"balanced_outcomes": asked.balanced}


def _inputs(name: str, space: InputSpace, positions: int | None, asked: LabelInputs) -> Inputs:
    """Return the inputs where they have any length."""
    letters, least = len(space.letters), space.shortest
    shortest = least if asked.shortest is None else max(asked.shortest, least)
    longest = LONGEST_BY_DEFAULT if asked.longest is None else asked.longest
    longest = max(shortest, longest) if positions is None or asked.longest is not None else min(longest, positions)
    if shortest > longest:
        raise InputError(f"{name}: there are no lengths from {shortest} to {longest}: give the shorter one first")
    for most in (asked.up_to, longest if asked.count is not None else None):
        if positions is not None and most is not None and most > positions:
            raise InputError(f"{name}: the weights have {positions} positions, not {most}: ask for shorter inputs")
    count, there = asked.count, number_of(letters, shortest, longest)
    if asked.nothing:
        if there <= MOST_BY_DEFAULT:
            return Inputs(up_to=longest)
        count = MOST_BY_DEFAULT
    if count is not None and count > there:
        what = f"{name}: there are {there:,} inputs of {shortest} to {longest} tokens, and not {count:,}"
        raise InputError(f"{what}: ask for fewer, or for longer ones")
    drawn = (
        () if count is None else (Random(count, shortest, longest, f"labels, seed {asked.seed}", balanced=asked.balanced),)
    )
    found = Inputs(asked.words or (), -1 if asked.up_to is None else asked.up_to, drawn)
    if found.number(letters) > MOST_WORDS:
        raise InputError(f"{name}: these are more than {MOST_WORDS:,} inputs: ask for fewer")
    return found


def _of_length(program: Judged, noun: str, space: InputSpace, bits: int, asked: LabelInputs) -> Chosen:
    """Return the inputs where all have the same number of bits."""
    name = visible(program.name)
    if asked.shortest is not None or asked.longest is not None:
        raise InputError(f"{name}: every input of this {noun} has {bits} bits: omit the length")
    everything = asked.up_to is not None or (asked.nothing and 2**bits <= MOST_BY_DEFAULT)
    if asked.up_to is not None and asked.up_to < bits:
        raise InputError(f"{name}: the inputs of this {noun} have {bits} bits, not up to {asked.up_to}: ask for {bits}")
    if everything and 2**bits > MOST_WORDS:
        raise InputError(f"{name}: there are 2^{bits} inputs: ask for random ones")
    count = MOST_BY_DEFAULT if asked.nothing and not everything else asked.count
    if count is not None and count > min(2**bits, MOST_WORDS):
        raise InputError(f"{name}: there are {min(2**bits, MOST_WORDS):,} inputs at most, and not {count:,}: ask for fewer")
    drawn = () if count is None else (Random(count, bits, bits, f"labels, seed {asked.seed}", balanced=asked.balanced),)
    inputs = Inputs(asked.words or (), bits if everything else -1, drawn)
    how = _how(len(inputs.words), bits if everything else None, [(each.count, bits, bits) for each in drawn], asked)
    return _chosen(inputs, space, program, how)
