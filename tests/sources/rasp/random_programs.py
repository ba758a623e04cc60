"""Random RASP programs that compile, from a seed: variables, functions, calls of the library, and what has no name."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import suppress

import tm2tfr
from tm2tfr.base.errors import Tm2tfrError
from tm2tfr.sources.rasp.program import Program
from tm2tfr.sources.rasp.read import read
from tm2tfr.transformer.weights import Decoder

LENGTH = 4
FUNCTIONS = """def share_of(flag) { seen = select(indices, indices, <=); return aggregate(seen, indicator(flag)); }
def twins(seq) { same = select(seq, seq, ==); many = selector_width(same); return many; }
def both(left, right) { joined = left and right; return has_focus(joined); }
"""


class _Writer:
    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self.known: dict[str, list[str]] = {"number": [], "flag": [], "selector": []}

    def of(self, kind: str, depth: int) -> str:
        """Return an expression of a kind."""
        chance, known = self._chance, self.known[kind]
        if known and chance.random() < 0.4:
            return chance.choice(known)
        return getattr(self, f"_{kind}")(depth)  # type: ignore[no-any-return]

    def _number(self, depth: int) -> str:
        if depth == 0:
            return "indices"
        number, flag, selector = (self.of(kind, depth - 1) for kind in ("number", "flag", "selector"))
        return self._chance.choice(
            [
                "indices",
                f"({number} + {self._chance.randint(1, 3)})",
                f"(2 * {number})",
                f"({number} - {self.of('number', depth - 1)})",
                f"(1 if {flag} else 0)",
                f"round(share_of({flag}))",
                f"aggregate({selector}, indicator({flag}))",
                f"aggregate({selector}, {number}, {self._chance.randint(0, 2)})",
                f"selector_width({selector})",
                "twins(tokens)",
            ]
        )

    def _flag(self, depth: int) -> str:
        if depth == 0:
            return '(tokens == "a")'
        number, flag, selector = (self.of(kind, depth - 1) for kind in ("number", "flag", "selector"))
        return self._chance.choice(
            [
                '(tokens == "b")',
                f"({number} == {self._chance.randint(0, 2)})",
                f"({number} < {self.of('number', depth - 1)})",
                f"(not {flag})",
                f"({flag} and {self.of('flag', depth - 1)})",
                f"has_focus({selector})",
                f"both({selector}, {self.of('selector', depth - 1)})",
            ]
        )

    def _selector(self, depth: int) -> str:
        relation = self._chance.choice(["==", "<", "<="])
        if depth == 0:
            return self._chance.choice(["select(tokens, tokens, ==)", f"select(indices, indices, {relation})"])
        number, flag, selector = (self.of(kind, depth - 1) for kind in ("number", "flag", "selector"))
        return self._chance.choice(
            [
                "select(tokens, tokens, ==)",
                f"select(indices, {number}, {relation})",
                f"select({flag}, True, ==)",
                f"({selector} and {self.of('selector', depth - 1)})",
                f"({selector} or select(indices, 0, ==))",
            ]
        )


def text_of(seed: int) -> str:
    """Return the text of a random program."""
    chance = random.Random(seed)
    writer, lines = _Writer(chance), ["# alphabet: ab", "", FUNCTIONS]
    for n in range(chance.randint(2, 5)):
        kind = chance.choice(["number", "flag", "selector"])
        name = f"{kind}_{'abcdef'[n]}"
        lines.append(f"{name} = {writer.of(kind, 2)};")
        writer.known[kind].append(name)
    lines.append(f"answer_of_all = {writer.of('number', 2)};")
    return "\n".join(lines) + "\n"


def compiled(count: int, *, seed: int = 0) -> Iterator[tuple[Program, Decoder]]:
    """Yield random programs with their weights; those that cannot be compiled are left out."""
    while count:
        with suppress(Tm2tfrError):
            program = read(text_of(seed), file="random.rasp").program
            yield program, tm2tfr.compile(program, max_length=LENGTH)
            count -= 1
        seed += 1
