"""Decoders of all kinds with one weight changed, and what `tm2tfr check` says of them."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import tm2tfr
from tests.web.explorer.reading import embedded
from tm2tfr.api.subject import Subject
from tm2tfr.contract.source import shown
from tm2tfr.transformer.changes import axes
from tm2tfr.transformer.weights import Decoder, matrices

STEPS = 60
"""The most steps of a run."""
KINDS: dict[str, tuple[str, dict[str, Any], tuple[str, ...]]] = {
    "chapter": ("chapter", {}, ("11", "1", "111")),
    "two-way tape": ("palindromes", {}, ("abba", "ab", "aba")),
    "without the repair": ("left-edge", {"left_boundary": "chapter"}, ("11", "1")),
    "with the repair": ("left-edge", {}, ("11", "111")),
    "no input": ("busy-beaver-3", {}, ("",)),
    "universal": ("palindromes", {"universal": tm2tfr.Universal(states=8, symbols=4)}, ("ab", "a")),
    "universal, one-way": ("left-edge", {"universal": tm2tfr.Universal(states=4, symbols=5)}, ("11", "1")),
    "circuit": ("binary-adder", {}, ("0x3+0x2", "0x1+0x0")),
    "full adder": ("full-adder", {}, ("110", "011")),
    "circuit of the paper": ("full-adder", {"variant": "paper-hard"}, ("110", "101")),
    "program": ("histogram", {}, ("§aab", "§abcab")),
    "program with a loop": ("looped-parity", {}, ("0110", "110")),
    "formula": ("since-b", {}, ("abab", "bba")),
    "formula with masks": ("starts-110", {}, ("0110", "110")),
    "formula as printed": ("after-a-until-b", {"variant": "paper"}, ("aabab", "bba")),
    "automaton": ("mod-3", {}, ("110", "1011")),
}
"""A kind -> a source, its options, and inputs."""


@dataclass(frozen=True)
class Sabotage:
    """A change of a weight, and an input.

    Args:
        text: the change as it is written.
        subject: the source with the changed weights.
    """

    text: str
    word: str
    subject: Subject

    def said(self) -> tuple[int, str, str, str, list[str]] | None:
        """The divergence that the check finds, with the lines of its cause; None if it finds none."""
        trace = tm2tfr.check(self.subject, self.word, max_steps=STEPS)
        found = trace.divergence
        if found is None:
            return None
        signed = any(column.signed for column in trace.columns if column.name == found.column)
        cells = (shown(cell, signed=signed) for cell in (found.expected, found.found))
        return (found.position, found.column, *cells, str(found.cause).split("\n") if found.cause else [])  # type: ignore[return-value]


def page(kind: str) -> tuple[Subject, Any, str]:
    """Return a source, and the data of its page."""
    name, options, words = KINDS[kind]
    subject = Subject.of(name, options=options)
    html = tm2tfr.explore(subject, words[0], max_steps=STEPS).html
    columns = re.search(r'id="columns">(.*?)</script>', html, re.DOTALL)
    assert columns is not None
    return subject, embedded(html), columns[1]


def sabotages(kind: str, subject: Subject, count: int, seed: int) -> Iterator[Sabotage]:
    """Yield so many changes of weights, every matrix as often as any other, half of them of weights that are not 0."""
    chance = random.Random(f"{kind} {seed}")
    decoder = subject.decoder
    paths = [path for path, matrix in matrices(decoder).items() if 0 not in matrix.shape]
    for n in range(count):
        path = paths[chance.randrange(len(paths))]
        text, changed = _changed(decoder, path, chance, there=n % 4 > 0)
        yield Sabotage(text, chance.choice(KINDS[kind][2]), replace(subject, weights=changed))


def _changed(decoder: Decoder, path: str, chance: random.Random, *, there: bool) -> tuple[str, Decoder]:
    matrix = matrices(decoder)[path]
    entries = list(matrix.entries())
    if there and entries:
        row, column, value = chance.choice(entries)
        value = chance.choice((-value, 0.0, value + 1, 2 * value, value / 4))
    else:
        row, column = (chance.randrange(size) for size in matrix.shape)
        value = chance.choice((-2.0, -1.0, 0.5, 1.0, 3.0))
    names = [axis.names[n] if axis.names else n for axis, n in zip(axes(decoder, path), (row, column), strict=True)]
    return f"{path}[{names[0]}, {names[1]}] = {value!r}", tm2tfr.with_weight(decoder, path, row, column, value)
