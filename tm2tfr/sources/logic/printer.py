"""From nodes to text with as few brackets as the grammar allows, bottom up, so that no depth is too much."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from tm2tfr.base.text import tex
from tm2tfr.sources.logic import nodes as tl
from tm2tfr.sources.sequence.naming import CUT, shortened

# ── How operators, names and tokens are written: in ASCII, in the signs of Yang et al. (2025), in LaTeX.
StyleName = Literal["ascii", "paper", "latex"]
"""Of these, ``ascii`` and ``paper`` read back."""


def escaped(text: str, quote: str = "'") -> str:
    """Return a text as it stands between quotes."""
    breaks = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\\": "\\\\", quote: f"\\{quote}"}
    return "".join(breaks.get(sign, sign) for sign in text)


@dataclass(frozen=True)
class Style:
    """A way of writing.

    Args:
        name: see `StyleName`.
        signs: operators in ASCII -> their signs.
        usual: whether to write ``once``, ``historically``, ``S``, … for nodes that equal them.
    """

    name: StyleName
    signs: dict[str, str] = field(default_factory=dict)
    usual: bool = True

    def sign(self, operator: str) -> str:
        """Return the sign for an operator in ASCII."""
        return self.signs.get(operator, operator)

    def word(self, name: str) -> str:
        """Return a name."""
        if self.name != "latex":
            return name
        return rf"\mathit{{{tex.text(name)}}}" if len(name) > 1 else name

    def label(self, value: str) -> str:
        """Return a label, in quotes."""
        if self.name == "latex":
            return rf"\textrm{{`{tex.text(value)}'}}"
        return f"'{escaped(value)}'"

    def letter(self, token: str) -> str:
        """Return Q_σ."""
        if self.name == "latex":
            return f"Q_{{{tex.maths(token)}}}"
        if self.name == "paper" and re.fullmatch(r"\w+|[^\s\w\"'()\[\]{},;]", token):
            return f"Q_{token}"
        plain = re.fullmatch(r"[^\s\"']|[^\s\"'\[\](){}&|!,;]+", token) and token.isprintable()
        quoted = escaped(token, quote='"')
        return f"Q[{token}]" if plain else f'Q["{quoted}"]'

    def called(self, function: str, *arguments: str) -> str:
        """Return a function with arguments in brackets."""
        counts = {"count": self.sign("count"), "count_right": self.sign("count_right")}
        if counts.get(function, function) != function:
            return f"{counts[function]}[{', '.join(arguments)}]"
        shown = function if self.name != "latex" else rf"\mathrm{{{tex.text(function)}}}"
        return f"{shown}({', '.join(arguments)})"


STYLES: dict[StyleName, Style] = {
    "ascii": Style("ascii"),
    "paper": Style(
        "paper",
        {
            "!": "¬", "&": "∧", "|": "∨", "prev": "⊖", "next": "⊕", "<=": "≤", ">=": "≥", "!=": "≠", "true": "⊤",
            "false": "⊥", "in": "∈", "latest": "▶_j", "earliest": "◀_j", "count": "#←", "count_right": "#→",
        },
        usual=False,
    ),
    "latex": Style(
        "latex",
        {
            "!": r"\lnot ", "&": r"\land", "|": r"\lor", "prev": r"\ominus ", "next": r"\oplus ", "<=": r"\leq",
            ">=": r"\geq", "!=": r"\neq", "true": r"\top", "false": r"\bot", "in": r"\in", "*": r" \cdot ",
            "since": r"\mathbin{\mathbf{since}}", "until": r"\mathbin{\mathbf{until}}", "S": r"\mathbin{\mathbf{S}}",
            "U": r"\mathbin{\mathbf{U}}", "once": r"\mathbf{once}\ ", "historically": r"\mathbf{historically}\ ",
            "eventually": r"\mathbf{eventually}\ ", "always": r"\mathbf{always}\ ", "first": r"\mathit{first}",
            "last": r"\mathit{last}", "position": r"\mathit{position}", "if": r"\ \textrm{if}\ ",
            "else": r"\ \textrm{else}\ ", "latest": r"\blacktriangleright_j",
            "earliest": r"\blacktriangleleft_j", "{": r"\{", "}": r"\}",
            "count": r"\overleftarrow{\#}", "count_right": r"\overrightarrow{\#}",
        },
    ),
}  # fmt: skip


ATTENTION, CHOICE, BICONDITIONAL, OR, AND, TEMPORAL, PREFIX, COMPARISON, SUM, PRODUCT, NEGATIVE, PRIMARY = range(12)
"""The levels of the grammar, from the loosest to the tightest; ``->`` and ``<->`` are not written."""
LONGEST = 300
"""A part with more characters than this is shortened."""
_SEEN = {tl.Since: ("once", "historically", "since", "S"), tl.Until: ("eventually", "always", "until", "U")}
_PREDICATES = {"prime": "prime", "square": "square", "power of 2": "power_of_2"}


def short(text: str) -> str:
    """Return a text in at most 40 characters."""
    half = 3 * LONGEST
    return shortened(text if len(text) <= 2 * half else f"{text[:half]}{CUT}{text[-half:]}")


@dataclass(frozen=True)
class Worded:
    """A text, and the level of its loosest operator."""

    text: str
    level: int = PRIMARY


@dataclass
class Printer:
    """Writes nodes.

    Args:
        style: the way of writing.
        positions: whether positions are written, as in programs.
        names: nodes that are written by name where they are part of another.
        abbreviate: whether parts that are too long, or stand where no text can, are shortened, in brackets.
    """

    style: Style
    positions: bool
    names: Mapping[tl.Node, str] = field(default_factory=dict)
    abbreviate: bool = True
    _known: dict[tuple[tl.Node, str], Worded] = field(default_factory=dict)

    def text(self, node: tl.Node) -> str:
        """Return a node as text; itself never by name."""
        self._prepare(tl.parents(node))
        return self._made(node, "i").text

    def condition(self, node: tl.Retrieve, parts: Sequence[tl.Score]) -> str:
        """Return the conjunction of some conditions of a retrieval as text."""
        self._prepare(tl.parents(node))
        return self._score(parts[0] if len(parts) == 1 else tl.AllOf(tuple(parts))).text

    def forget(self, node: tl.Node) -> None:
        """Write a node anew where it is part of another, since it has got a name."""
        for at in ("i", "j"):
            self._known.pop((node, at), None)

    def _prepare(self, nodes: Iterable[tl.Node]) -> None:
        """Write the parts of other nodes, the smallest first, each once."""
        waiting, found = [*nodes], set[tl.Node]()
        while waiting:
            node = waiting.pop()
            if node not in found and (node, "i") not in self._known:
                found.add(node)
                waiting += () if node in self.names else tl.parents(node)
        for node in sorted(found, key=lambda node: node.number):
            for at in ("i", "j") if self.positions else ("i",):
                self._known[node, at] = self._part(node, at)

    def _part(self, node: tl.Node, at: str) -> Worded:
        """Return a node as it is written where it is part of another."""
        if node in self.names:
            return Worded(self.style.word(self.names[node]) + self._at(at))
        made = self._made(node, at)
        elsewhere = isinstance(node, tl.Retrieve) and at == "j"
        if self.abbreviate and (elsewhere or len(made.text) > LONGEST):
            return Worded(f"({self._short(made.text)}){self._at(at)}")
        return made

    def _short(self, text: str) -> str:
        return r"\ldots" if self.style.name == "latex" else short(text)

    def _at(self, at: str) -> str:
        return f"({at})" if self.positions else ""

    def _get(self, node: tl.Node, at: str, level: int) -> str:
        """Return a part for a place where the loosest operator may be of a level."""
        piece = self._known[node, at]
        return piece.text if piece.level >= level else f"({piece.text})"

    def _made(self, node: tl.Node, at: str) -> Worded:  # noqa: PLR0911, PLR0912
        sign, at_text = self.style.sign, self._at(at)
        match node:
            case tl.Input():
                return Worded(f"{self._in()}{at_text}")
            case tl.Text():
                return Worded(self.style.label(node.value))
            case tl.Always():
                return Worded(sign("true" if node.value else "false"))
            case tl.Place():
                return Worded(f"{self.style.word('pos')}{at_text}" if self.positions else sign("position"))
            case tl.OneOf():
                return self._one_of(node, at)
            case tl.Same():
                return self._between("=", node.left, node.right, at, COMPARISON, SUM)
            case tl.Not():
                return self._negation(node, at)
            case tl.And():
                return Worded(f" {sign('&')} ".join(self._get(part, at, AND + 1) for part in node.parts), AND)
            case tl.Or():
                return Worded(f" {sign('|')} ".join(self._get(part, at, OR + 1) for part in node.parts), OR)
            case tl.Previous() | tl.Next():
                return self._prefix("prev" if isinstance(node, tl.Previous) else "next", node.of, at)
            case tl.Since() | tl.Until():
                return self._nearest(node, at)
            case tl.Comparison():
                relation = "=" if node.relation == "==" else node.relation
                return self._between(relation, node.left, node.right, at, COMPARISON, SUM)
            case tl.Predicate():
                return self._predicate(node, at)
            case tl.CountLeft() | tl.CountRight():
                function = "count" if isinstance(node, tl.CountLeft) else "count_right"
                return Worded(self.style.called(function, self._get(node.of, at, ATTENTION)))
            case tl.Sum():
                return self._sum(node, at)
            case tl.Choose():
                then, condition = self._get(node.then, at, BICONDITIONAL), self._get(node.condition, at, BICONDITIONAL)
                other = self._get(node.other, at, CHOICE)
                return Worded(f"{then} {sign('if')} {condition} {sign('else')} {other}", CHOICE)
            case tl.Retrieve():
                return self._retrieve(node)
        raise TypeError(f"{type(node).__name__} is not a node that can be written")

    def _in(self) -> str:
        return "in" if self.style.name != "latex" else r"\mathit{in}"

    def _between(self, operator: str, left: tl.Node, right: tl.Node, at: str, level: int, inner: int) -> Worded:
        return Worded(f"{self._get(left, at, inner)} {self.style.sign(operator)} {self._get(right, at, inner)}", level)

    def _prefix(self, operator: str, of: tl.Node, at: str) -> Worded:
        written = self.style.sign(operator)
        blank = " " if written[-1].isalpha() else ""
        return Worded(f"{written}{blank}{self._get(of, at, PREFIX)}", PREFIX)

    def _one_of(self, node: tl.OneOf, at: str, equal: str = "=") -> Worded:
        single = len(node.values) == 1
        if isinstance(node.of, tl.Input) and single and node.of not in self.names and equal == "=":
            return Worded(self.style.letter(node.values[0]) + self._at(at))
        of = self._get(node.of, at, SUM)
        if single:
            return Worded(f"{of} {self.style.sign(equal)} {self.style.label(node.values[0])}", COMPARISON)
        labels = ", ".join(map(self.style.label, node.values))
        sign = self.style.sign
        return Worded(f"{of} {sign('in')} {sign('{')}{labels}{sign('}')}", COMPARISON)

    def _negation(self, node: tl.Not, at: str) -> Worded:
        of = node.of
        if of not in self.names:
            if isinstance(of, tl.Previous | tl.Next) and of.of not in self.names and _is_true(of.of) and self.style.usual:
                return Worded(self.style.sign("first" if isinstance(of, tl.Previous) else "last") + self._at(at))
            if isinstance(of, tl.Since | tl.Until) and self._nowhere(of):
                return self._prefix(_SEEN[type(of)][1], of.right.of, at)  # type: ignore[attr-defined]
            if isinstance(of, tl.Same):
                return self._between("!=", of.left, of.right, at, COMPARISON, SUM)
            if isinstance(of, tl.OneOf) and len(of.values) == 1 and not isinstance(of.of, tl.Input):
                return self._one_of(of, at, "!=")
        return self._prefix("!", of, at)

    def _nowhere(self, node: tl.Since | tl.Until) -> bool:
        """Return whether ``!`` of a node is ``historically`` or ``always`` something, and nobody typed it otherwise."""
        bare = node.left not in self.names and node.right not in self.names and self.style.usual
        bare = bare and node.typed in ("", _SEEN[type(node)][1])
        return bare and _is_true(node.left) and isinstance(node.right, tl.Not)

    def _nearest(self, node: tl.Since | tl.Until, at: str) -> Worded:
        once, _, strict, usual = _SEEN[type(node)]
        if node.left not in self.names and self.style.usual and node.typed != strict:
            if _is_true(node.left):
                return self._prefix(once, node.right, at)
            if isinstance(node.left, tl.Or) and len(node.left.parts) == 2 and node.left.parts[1] is node.right:
                return self._between(usual, node.left.parts[0], node.right, at, TEMPORAL, PREFIX)
        return self._between(strict, node.left, node.right, at, TEMPORAL, PREFIX)

    def _predicate(self, node: tl.Predicate, at: str) -> Worded:
        of = self._get(node.of, at, ATTENTION)
        if node.predicate != "mod":
            return Worded(self.style.called(node.theta or _PREDICATES[node.predicate], of))
        if node.modulus == 2:
            return Worded(self.style.called("odd" if node.remainder else "even", of))
        return Worded(self.style.called("mod", of, str(node.modulus), str(node.remainder)))

    def _sum(self, node: tl.Sum, at: str) -> Worded:
        if not node.terms:
            return Worded(str(node.constant), PRIMARY if node.constant >= 0 else NEGATIVE)
        times = self.style.sign("*")
        parts = []
        alone = len(node.terms) == 1 and not node.constant
        for factor, term in node.terms:
            size = "" if abs(factor) == 1 and not (alone and factor == 1) else f"{abs(factor)}{times}"
            written = self._get(term, at, PRIMARY)
            parts.append(("- " if factor < 0 else "+ ") + size + written)
        if node.constant:
            parts.append(f"{'-' if node.constant < 0 else '+'} {abs(node.constant)}")
        text = " ".join(parts)
        text = text.removeprefix("+ ") if text.startswith("+") else "-" + text.removeprefix("- ")
        return Worded(text, PRODUCT if alone else SUM)

    # ── attention ───────────────────────────────────────────────────────────────────────────────────────
    def _retrieve(self, node: tl.Retrieve) -> Worded:
        sign = self.style.sign
        word = sign(node.choice) if sign(node.choice) != node.choice else f"{node.choice}_j"
        sight = sign("true") if node.sight == "any" else f"j {sign(node.sight)} i"
        score = self._score(node.score).text
        values, default = self._get(node.values, "j", BICONDITIONAL), self._get(node.default, "i", CHOICE)
        return Worded(f"{word} [{sight}, {score}] {values} : {default}", ATTENTION)

    def _score(self, score: tl.Score) -> Worded:
        sign = self.style.sign
        match score:
            case tl.AtKey():
                return self._known[score.bit, "j"]
            case tl.AtQuery():
                return self._known[score.bit, "i"]
            case tl.AllOf() | tl.AnyOf():
                level, operator, empty = (AND, "&", "true") if isinstance(score, tl.AllOf) else (OR, "|", "false")
                parts = [self._inside(part, level + 1) for part in score.parts]
                return Worded(f" {sign(operator)} ".join(parts), level) if parts else Worded(sign(empty))
            case tl.NotOf():
                return self._not(score)
        return Worded(f"{self._get(score.key, 'j', SUM)} = {self._get(score.query, 'i', SUM)}", COMPARISON)

    def _not(self, score: tl.NotOf) -> Worded:
        if not isinstance(score.part, tl.AtKey | tl.AtQuery | tl.AllOf | tl.AnyOf | tl.NotOf):
            sides = self._get(score.part.key, "j", SUM), self._get(score.part.query, "i", SUM)
            return Worded(f" {self.style.sign('!=')} ".join(sides), COMPARISON)
        return Worded(f"{self.style.sign('!')}{self._inside(score.part, PREFIX)}", PREFIX)

    def _inside(self, score: tl.Score, level: int) -> str:
        piece = self._score(score)
        return piece.text if piece.level >= level else f"({piece.text})"


def _is_true(node: tl.Node) -> bool:
    return isinstance(node, tl.Always) and node.value
