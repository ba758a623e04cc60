"""Random programs, formulas and inputs for the references in the page; some programs are undefined on some inputs."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from tests.sources.logic.random_formulas import EVERYTHING, Kinds
from tests.sources.logic.random_formulas import random_program as random_formula
from tm2tfr.base.errors import SpecError
from tm2tfr.sources.rasp.program import Program
from tm2tfr.sources.rasp.read import read
from tm2tfr.sources.rasp.sops import Atom

ALPHABETS = (
    '["a", "b", "0", 1, 2.5]',
    "ab",
    '["1", "20", "x y", "-3"]',
    '["a", "é", "𝒳", "\\uffee", "it\'s"]',
    '["0.1", "2", 7]',
)
CALLS = ("num_prevs", "has_prev", "frac_prevs")


class Writer:
    """Writes random statements: most expressions are of the kinds that operators take, some are not."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.known: dict[str, list[str]] = {"number": [], "flag": [], "text": [], "selector": []}
        self.lines: list[str] = []

    def of(self, kind: str, depth: int) -> str:
        if kind != "selector" and self.chance.random() < 0.03:
            kind = self.chance.choice(["number", "flag", "text"])
        known = self.known[kind]
        if known and self.chance.random() < 0.35:
            return self.chance.choice(known)
        return f"({getattr(self, f'_{kind}')(depth)})"

    def pick(self, *choices: str) -> str:
        return self.chance.choice(choices)

    def _number(self, depth: int) -> str:
        if depth <= 0:
            return self.pick("indices", "0", "1", "3", "0.5", "-2", "1 / 3", "length", "indices + 1", "indices + 1")
        n, m, flag, text, selector = (self.of(kind, depth - 1) for kind in ("number", "number", "flag", "text", "selector"))
        return self.pick(
            f"{n} + {m}", f"{n} - {m}", f"{n} * {m}", f"{n} / {m}", f"{n} // {m}", f"{n} % {m}", f"{flag} + {flag}",
            f"{n} ^ {self.pick('2', '3', '0.5', m)}", f"-{n}", f"+{flag}", f"round({n})", f"round({n} / 2)",
            f"indicator({self.pick(flag, n, text)})", f"{n} if {flag} else {m}",
            f"aggregate({selector}, {n})", f"aggregate({selector}, {n}, {self.pick('-1', '0.5', 'True')})",
            f"selector_width({selector})", self.pick("tokens_int", "tokens_float", "indices"), f"{n} * 99991",
            f'{{"a": 1, "b": 0.25, "0": True, "1": 2, 1: 5, 2: 3}}[{self.pick(text, n)}]',
        )  # fmt: skip

    def _flag(self, depth: int) -> str:
        if depth <= 0:
            return self.pick('tokens == "a"', "indices == 0", "True", "tokens_bool")
        n, m, flag, other, text, selector = (
            self.of(kind, depth - 1) for kind in ("number", "number", "flag", "flag", "text", "selector")
        )
        relation = self.pick("==", "<", "<=", ">", ">=")
        return self.pick(
            f"{n} {relation} {m}", f"{text} {relation} {self.of('text', depth - 1)}", f"{flag} and {other}",
            f"{flag} or {other}", f"not {self.pick(flag, n, text)}", f"{n} in [0, 1, 0.5]",
            f'{text} in ["a", "1", "aa"]', f"has_focus({selector})",
            f"{flag} == {n}", f"{text} == {n}", f"aggregate({selector}, {flag}, {self.pick('False', '0', 'True')})",
        )  # fmt: skip

    def _text(self, depth: int) -> str:
        if depth <= 0:
            return self.pick("tokens", "tokens_str", "tokens_asis", '"b"', '""')
        n, flag, text, other, selector = (
            self.of(kind, depth - 1) for kind in ("number", "flag", "text", "text", "selector")
        )
        return self.pick(
            f"{text} + {other}", f"{text} * {self.pick('2', 'indices', flag, n)}", f"{text} if {flag} else {other}",
            f'aggregate({selector}, {text}, {self.pick(chr(34) + "-" + chr(34), "0")})',
            f'aggregate(select(indices, indices, ==), {text}, "-")', f'["x", "yz", "𝒳"][indices % 3] + {text}',
            '"abc"[indices % 3]',
        )  # fmt: skip

    def _selector(self, depth: int) -> str:
        relation = self.pick("==", "==", "!=", "<", "<=", ">", ">=")
        if depth <= 0:
            return self.pick("select(tokens, tokens, ==)", f"select(indices, indices, {relation})", "select(1, 1, ==)")
        kind = self.pick("number", "flag", "text")
        left, right = self.of(kind, depth - 1), self.of(kind, depth - 1)
        return self.pick(
            f"select({left}, {right}, {relation})", f"select({left}, {right}, {relation})",
            f"not {self.of('selector', depth - 1)}",
            f"{self.of('selector', depth - 1)} {self.pick('and', 'or')} {self.of('selector', depth - 1)}",
        )  # fmt: skip

    def statement(self, depth: int) -> None:
        kind = self.pick("number", "number", "flag", "text", "selector")
        name = f"{kind}_{len(self.lines)}"
        self.lines.append(f"{name} = {self.of(kind, depth)};")
        self.known[kind].append(name)

    def loop(self) -> None:
        name, flag = f"turn_{len(self.lines)}", f"stop_{len(self.lines)}"
        kind = self.pick("number", "flag", "text")
        self.lines.append(f"{name} = {self.of(kind, 1)};")
        self.known[kind].append(name)
        header = self.pick("repeat 3", f"repeat until {flag}", f"repeat 4 until {flag}", f"repeat 2 until {flag}")
        old = f"{name}_before"
        condition = self.pick(
            f"{name} == {old}", f"({name} == {old}) or ({self.of('flag', 1)})", self.of("flag", 1), f"{old}"
        )
        self.lines.append(f"{header} {{ {old} = {name}; {name} = {self.of(kind, 2)}; {flag} = {condition}; }}")


def random_text(seed: int) -> str:
    """Return the text of a random program; one in four has a loop."""
    writer = Writer(seed)
    alphabet = writer.chance.choice(ALPHABETS)
    for _ in range(writer.chance.randint(2, 5)):
        writer.statement(2)
    if seed % 4 == 0:
        writer.loop()
        writer.statement(1)
    writer.lines.append(f"last = {writer.of(writer.pick('number', 'flag', 'text'), 2)};")
    return "\n".join([f"# alphabet: {alphabet}", "", *writer.lines, ""])


def random_programs(number: int) -> Iterator[Program]:
    """Yield random programs; texts that the language refuses are left out."""
    seed = 0
    while number:
        seed += 1
        try:
            program = read(random_text(seed), file="random.rasp").program
        except SpecError:
            continue
        yield program
        number -= 1


def random_formulas(number: int) -> Iterator[Any]:
    """Yield random formulas and programs of logic, of all operators; one in three with sums of any size."""
    kinds: Sequence[Kinds] = (EVERYTHING, Kinds(size=12), Kinds(alphabet=("a", "bc", "ü"), size=9, with_any_sums=True))
    for seed in range(number):
        yield random_formula(seed, kinds[seed % 3])


def random_words(alphabet: Sequence[Atom], seed: int, number: int) -> Iterator[tuple[Atom, ...]]:
    """Yield random inputs of 1 to 6 tokens."""
    chance = random.Random(seed)
    for _ in range(number):
        yield tuple(chance.choices(alphabet, k=chance.randint(1, 6)))


class ReferenceCase(NamedTuple):
    """The plain data of a program, the tokens of an input as text, and what Python says: a line per node, or an error."""

    spec: Mapping[str, Any]
    word: list[str]
    wanted: str
