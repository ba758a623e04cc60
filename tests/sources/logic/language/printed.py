"""Random programs as trees of text, and what they mean: read off the text alone, position by position.

It knows nothing of nodes. An expression is about the positions i and j; at a pair of them it has a value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

Places = Mapping[str, int]
"""Where the positions i and j are, from 1."""
RELATIONS: Mapping[str, Callable[[int, int], bool]] = {
    "<=": lambda x, y: x <= y,
    "≤": lambda x, y: x <= y,
    "<": lambda x, y: x < y,
    ">=": lambda x, y: x >= y,
    ">": lambda x, y: x > y,
    "=": lambda x, y: x == y,
    "==": lambda x, y: x == y,
    "!=": lambda x, y: x != y,
}


@dataclass(frozen=True)
class Expression:
    """Text, and the value at positions of a word."""

    text: str
    value: Callable[[str, Places], Any]


@dataclass(frozen=True)
class Written:
    """A program: its text, and what its definitions are of, by name."""

    text: str
    definitions: Mapping[str, Expression]

    def values(self, name: str, word: str) -> tuple[Any, ...]:
        """Return what a definition is at all positions of a word."""
        return tuple(self.definitions[name].value(word, {"i": i}) for i in range(1, len(word) + 1))


def written(seed: int, language: str) -> Written:
    """Return a random program (``srasp``), or a formula with names for its parts (``tl``)."""
    writer = _Writer(Random(f"{language} {seed}"), language)
    for n in range(writer.random.choice((1, 2, 3, 4))):
        writer.define(n)
    return Written("\n".join(writer.lines), writer.definitions)


class _Writer:
    def __init__(self, random: Random, language: str) -> None:
        self.random, self.program = random, language == "srasp"
        self.lines: list[str] = []
        self.definitions: dict[str, Expression] = {}
        self._known: dict[str, list[str]] = {"bit": [], "number": [], "label": []}

    def define(self, n: int) -> None:
        kind = self.random.choice(("bit", "bit", "bit", "number", "label") if self.program else ("bit", "bit", "number"))
        if kind == "bit" and self.program and self.random.random() < 0.6:
            body = self.attention()
        elif kind == "label" and self.random.random() < 0.6:
            body = self.carried_label()
        else:
            body = {"bit": self.bit, "number": self.number, "label": self.label}[kind]("i", 3)
        name = f"{kind[0]}{n}"
        self.lines.append(f"{name}(i) = {body.text}" if self.program else f"{name} := {body.text}")
        self.definitions[name] = body
        self._known[kind].append(name)

    def at(self, p: str) -> str:
        return f"({p})" if self.program else ""

    def named(self, kind: str, p: str) -> Expression | None:
        """Return a name, at i or j, of what was defined before."""
        if not self._known[kind] or self.random.random() < 0.5:
            return None
        name = self.random.choice(self._known[kind])
        body = self.definitions[name]
        return Expression(f"{name}{self.at(p)}", lambda word, at: body.value(word, {"i": at[p]}))

    # ── bits ────────────────────────────────────────────────────────────────────────────────────────────
    def bit(self, p: str, depth: int) -> Expression:
        """Return a bit about p."""
        if depth == 0 or self.random.random() < 0.1:
            return self.named("bit", p) or self.letter(p)
        kinds = [self.boolean, self.boolean, self.temporal, self.temporal, self.compared, self.property]
        return self.random.choice(kinds + [self.labels_compared] * self.program)(p, depth - 1)

    def letter(self, p: str) -> Expression:
        token = self.random.choice("ab")
        if self.random.random() < 0.1:
            end, n = self.random.choice((("first", 1), ("last", 0)))
            return Expression(f"{end}{self.at(p)}", lambda word, at: at[p] == (n or len(word)))
        return Expression(f"Q[{token}]{self.at(p)}", lambda word, at: word[at[p] - 1] == token)

    def boolean(self, p: str, depth: int, other: str = "") -> Expression:
        """Return a Boolean combination of two or three bits, about p, or about p and another position."""
        x, y, z = self.bit(p, depth), self.bit(other or p, depth), self.bit(p, depth)
        return self.random.choice(
            (
                Expression(f"!{x.text}", lambda word, at: not x.value(word, at)),
                Expression(f"({x.text} & {y.text})", lambda word, at: x.value(word, at) and y.value(word, at)),
                Expression(f"({x.text} | {y.text})", lambda word, at: x.value(word, at) or y.value(word, at)),
                Expression(f"({x.text} -> {y.text})", lambda word, at: not x.value(word, at) or y.value(word, at)),
                Expression(f"({x.text} <-> {y.text})", lambda word, at: x.value(word, at) is y.value(word, at)),
                Expression(f"(({x.text}) = ({y.text}))", lambda word, at: x.value(word, at) is y.value(word, at)),
                Expression(f"(({x.text}) != ({y.text}))", lambda word, at: x.value(word, at) is not y.value(word, at)),
                Expression(
                    f"({x.text} ? {y.text} : {z.text})",
                    lambda word, at: y.value(word, at) if x.value(word, at) else z.value(word, at),
                ),
                Expression(
                    f"({y.text} if {x.text} else {z.text})",
                    lambda word, at: y.value(word, at) if x.value(word, at) else z.value(word, at),
                ),
            )
        )

    def temporal(self, p: str, depth: int) -> Expression:
        x, y = self.bit(p, depth), self.bit(p, depth)

        def spans(word: str, at: Places, step: int, usual: bool) -> bool:
            """Walk from p to the left or right while φ1 holds."""
            k = at[p]
            while 1 <= k <= len(word):
                there = {**at, p: k}
                if y.value(word, there) and (usual or x.value(word, there)):
                    return True
                if not x.value(word, there):
                    return False
                k += step
            return False

        def sees(word: str, at: Places, step: int) -> list[bool]:
            positions = range(1, at[p] + 1) if step < 0 else range(at[p], len(word) + 1)
            return [x.value(word, {**at, p: k}) for k in positions]

        def beside(word: str, at: Places, step: int) -> bool:
            return 1 <= at[p] + step <= len(word) and x.value(word, {**at, p: at[p] + step})

        return self.random.choice(
            (
                Expression(f"prev {x.text}", lambda word, at: beside(word, at, -1)),
                Expression(f"next {x.text}", lambda word, at: beside(word, at, 1)),
                Expression(f"once {x.text}", lambda word, at: any(sees(word, at, -1))),
                Expression(f"historically {x.text}", lambda word, at: all(sees(word, at, -1))),
                Expression(f"eventually {x.text}", lambda word, at: any(sees(word, at, 1))),
                Expression(f"always {x.text}", lambda word, at: all(sees(word, at, 1))),
                Expression(f"({x.text} since {y.text})", lambda word, at: spans(word, at, -1, False)),
                Expression(f"({x.text} S {y.text})", lambda word, at: spans(word, at, -1, True)),
                Expression(f"({x.text} until {y.text})", lambda word, at: spans(word, at, 1, False)),
                Expression(f"({x.text} U {y.text})", lambda word, at: spans(word, at, 1, True)),
            )
        )

    def compared(self, p: str, depth: int) -> Expression:
        left, right = self.cases(p, depth), self.cases(p, depth)
        relation = self.random.choice(list(RELATIONS))
        return Expression(
            f"({left.text} {relation} {right.text})",
            lambda word, at: RELATIONS[relation](left.value(word, at), right.value(word, at)),
        )

    def property(self, p: str, depth: int) -> Expression:
        count = self.counted(p, depth) if self.random.random() < 0.6 else self.position(p)
        m = self.random.choice((2, 3))
        return self.random.choice(
            (
                Expression(f"odd({count.text})", lambda word, at: count.value(word, at) in (1, 3, 5, 7)),
                Expression(f"even({count.text})", lambda word, at: count.value(word, at) in (0, 2, 4, 6)),
                Expression(f"prime({count.text})", lambda word, at: count.value(word, at) in (2, 3, 5, 7)),
                Expression(f"square({count.text})", lambda word, at: count.value(word, at) in (0, 1, 4)),
                Expression(f"power_of_2({count.text})", lambda word, at: count.value(word, at) in (1, 2, 4)),
                Expression(f"mod({count.text}, {m}, 1)", lambda word, at: count.value(word, at) in range(1, 8, m)),
            )
        )

    # ── numbers ─────────────────────────────────────────────────────────────────────────────────────────
    def cases(self, p: str, depth: int) -> Expression:
        """Return a number, now and then in cases."""
        if self.random.random() < 0.75:
            return self.number(p, depth)
        c, x, y = self.bit(p, depth), self.number(p, depth), self.number(p, depth)
        return Expression(
            f"({c.text} ? {x.text} : {y.text})",
            lambda word, at: int(x.value(word, at) if c.value(word, at) else y.value(word, at)),
        )

    def number(self, p: str, depth: int) -> Expression:
        """Return a sum of up to three terms; on its own, with at least one term that varies, and no bit."""
        terms = [self.term(p, depth) for _ in range(self.random.choice((1, 1, 2)))]
        text, values = terms[0].text, [(1, terms[0])]
        for each in terms[1:]:
            sign = self.random.choice((1, -1))
            text, values = f"{text} {'+' if sign > 0 else '-'} {each.text}", [*values, (sign, each)]
        added = self.random.choice((0, 0, 0, 1, 2, 3))
        text += f" + {added}" if added else ""
        if self.random.random() < 0.2:
            text, values, added = f"2 * ({text})", [(2 * sign, each) for sign, each in values], 2 * added
        return Expression(text, lambda word, at: added + sum(sign * each.value(word, at) for sign, each in values))

    def term(self, p: str, depth: int) -> Expression:
        shape = self.random.randrange(5)
        if shape == 0:
            return self.position(p)
        if shape == 1 and self.program and p == "i":
            return self.summed(depth)
        return (self.named("number", p) if shape == 2 else None) or self.counted(p, depth)

    def position(self, p: str) -> Expression:
        return Expression(f"pos({p})" if self.program else "position", lambda word, at: at[p])

    def counted(self, p: str, depth: int) -> Expression:
        x = self.bit(p, min(depth, 2))

        def count(word: str, at: Places, positions: range) -> int:
            return sum(bool(x.value(word, {**at, p: k})) for k in positions)

        left = self.random.choice(("count({})", "count_left({})", "#<-[{}]"))
        right = self.random.choice(("count_right({})", "#→[{}]"))
        return self.random.choice(
            (
                Expression(left.format(x.text), lambda word, at: count(word, at, range(1, at[p] + 1))),
                Expression(right.format(x.text), lambda word, at: count(word, at, range(at[p], len(word) + 1))),
            )
        )

    def summed(self, depth: int) -> Expression:
        """``psum_j [M(i,j)] (x(j) - 2*y(j) + 1)``."""
        x, y, (sight, sees) = self.bit("j", min(depth, 1)), self.bit("j", 0), self.sight()
        factor, added = self.random.choice((1, -1, 2)), self.random.choice((0, 1))

        def total(word: str, at: Places) -> int:
            inside = [{"j": j} for j in range(1, len(word) + 1) if sees(at["i"], j)]
            return sum(bool(x.value(word, k)) + factor * bool(y.value(word, k)) + added for k in inside)

        return Expression(f"psum_j [{sight}] (({x.text}) + {factor}*{y.text} + {added})", total)

    def sight(self) -> tuple[str, Callable[[int, int], bool]]:
        sights: dict[str, Callable[[int, int], bool]] = {
            "j <= i": lambda i, j: j <= i,
            "j < i": lambda i, j: j < i,
            "i > j": lambda i, j: j < i,
            "j >= i": lambda i, j: j >= i,
            "j > i": lambda i, j: j > i,
            "true": lambda i, j: True,
        }
        return self.random.choice(list(sights.items()))

    # ── labels ──────────────────────────────────────────────────────────────────────────────────────────
    def label(self, p: str, depth: int, *, constant: bool = True) -> Expression:
        """Return a label about p, or, unless it may not be `constant`, a text."""
        shape = self.random.randrange(0 if constant else 1, 4)
        if shape == 0:
            text = self.random.choice("abx")
            return Expression(f"'{text}'", lambda word, at: text)
        if shape == 1 and depth:
            c, x, y = self.bit(p, depth - 1), self.label(p, depth - 1), self.label(p, depth - 1)
            return Expression(
                f"({x.text} if {c.text} else {y.text})",
                lambda word, at: x.value(word, at) if c.value(word, at) else y.value(word, at),
            )
        return (self.named("label", p) if shape == 2 else None) or Expression(f"in({p})", lambda word, at: word[at[p] - 1])

    def labels_compared(self, p: str, depth: int, other: str = "") -> Expression:
        x, y = self.label(p, depth, constant=False), self.label(other or p, depth)
        if self.random.random() < 0.2 and not other:
            return Expression(f"({x.text} in {{'a', 'x'}})", lambda word, at: x.value(word, at) in "ax")
        if self.random.random() < 0.3:
            return Expression(f"({x.text} != {y.text})", lambda word, at: x.value(word, at) != y.value(word, at))
        return Expression(f"({x.text} = {y.text})", lambda word, at: x.value(word, at) == y.value(word, at))

    # ── attention ───────────────────────────────────────────────────────────────────────────────────────
    def attention(self) -> Expression:
        """``latest_j [M(i,j), S(i,j)] V(i,j) : D(i)`` of a bit, where V may be about both positions."""
        values = self.boolean("j", 1, "i") if self.random.random() < 0.4 else self.bit("j", 2)
        return self.attended(values, self.bit("i", 1) if self.random.random() < 0.7 else None)

    def carried_label(self) -> Expression:
        return self.attended(self.label("j", 1), self.label("i", 1))

    def attended(self, values: Expression, default: Expression | None) -> Expression:
        choice, (sight, sees), score = self.random.choice(("latest", "earliest")), self.sight(), self.score(2)

        def value(word: str, at: Places) -> Any:
            i = at["i"]
            found = [j for j in range(1, len(word) + 1) if sees(i, j) and score.value(word, {"i": i, "j": j})]
            if found:
                return values.value(word, {"i": i, "j": found[-1] if choice == "latest" else found[0]})
            return default.value(word, at) if default else False

        unless = f" : {default.text}" if default else ""
        return Expression(f"{choice}_j [{sight}, {score.text}] {values.text}{unless}", value)

    def score(self, depth: int) -> Expression:
        shape = self.random.randrange(7 if depth else 5)
        if shape == 0:
            return self.labels_compared("j", 0, "i")
        if shape == 1:
            return self.numbers_equal()
        if shape < 5:
            return self.bit("ijj"[shape - 2], 2)
        x, y = self.score(depth - 1), self.score(depth - 1)
        return self.random.choice(
            (
                Expression(f"!({x.text})", lambda word, at: not x.value(word, at)),
                Expression(f"({x.text} & {y.text})", lambda word, at: x.value(word, at) and y.value(word, at)),
                Expression(f"({x.text} | {y.text})", lambda word, at: x.value(word, at) or y.value(word, at)),
                Expression(f"({x.text} -> {y.text})", lambda word, at: not x.value(word, at) or y.value(word, at)),
                Expression(f"({x.text} <-> {y.text})", lambda word, at: bool(x.value(word, at)) == bool(y.value(word, at))),
            )
        )

    def numbers_equal(self) -> Expression:
        """``d(j) + c = d(i)``, with sides exchanged, or with what is about i on both."""
        key, query, moved = self.number("j", 1), self.number("i", 1), self.random.choice((0, 1))
        text = self.random.choice(
            (
                f"{key.text} + {moved} = {query.text}",
                f"{query.text} - {moved} = {key.text}",
                f"{query.text} - ({key.text}) = {moved}",
                f"{key.text} - ({query.text}) + {moved} = 0",
            )
        )
        return Expression(f"({text})", lambda word, at: key.value(word, at) + moved == query.value(word, at))
